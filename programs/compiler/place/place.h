/* place.h - addresses for the objects of every tile.
 *
 * Code lies at the bottom of region 0, from the first byte that the loader fills. Objects are
 * packed from the top of the memory downwards, region 1 first, and overlap where their live sets
 * allow it. Those that the loader fills keep clear of the end of the memory that it cannot reach
 * (loader_tail_bytes). Objects that do not fit get addresses past the end of the memory, so that
 * the need of the tile is known.
 */
#ifndef PROGRAMS_PLACE_H
#define PROGRAMS_PLACE_H

#include "programs/compiler/lower/lowered.h"

/* The instructions send and setzi and the pointer field of receives hold addresses of 20 bits.
 * Where the memory of a tile is larger, the objects that they name must lie below this limit:
 * everything that is exchanged, vertex states, predicates. */
enum { PLACE_REACH = 1 << 20 };
/* Sets near[object] to 1 for objects that must lie below PLACE_REACH. near: [objects], zeroed. */
void place_mark_near(const struct lowered *l, uint8_t *near);

struct tile_place {
    uint32_t code_bytes; /* as given; code begins at ss_arch_loader_base() */
    uint32_t used_bytes; /* code and objects, overlapped ones once */
    uint32_t
        gap_bytes; /* lost to alignment, regions and element constraints, and before the code */
    uint64_t need_bytes; /* memory the tile would need; over arch->mem_bytes: it does not fit */
    uint64_t code_need; /* bytes of region 0 that code needs; over region0_bytes: it does not fit */
    uint32_t peak_step; /* step at which most bytes are in use */
    uint32_t peak_bytes;   /* in use then, code included */
    uint32_t shared_pairs; /* objects of which an exchange sends one and fills the other, and which
                              lie in one memory element, or one pair of interleaved ones */
    uint32_t beside_code;  /* objects into which words arrive, in an element with code */
};

struct placement {
    struct tile_place *tile; /* by index in lowered.used_tile; owned */
    uint32_t tiles;
    int fits;
    uint32_t fullest, longest; /* the first tile that needs most bytes, and most bytes of code */
};

/* Sets what follows from the needs of all tiles. */
void placement_conclude(struct placement *p, const struct arch *a);

/* What the tiles of a program will need whose exchanges have no schedules yet: code_need,
 * need_bytes and peak_step of them are set. codelet_bytes: of their code; message_bytes: of the
 * code of each message that a tile sends or hears, which is 5.7 to 7.0 in networks. Takes some
 * hundredths of the time of the lowering. EMU_NO_MEMORY. */
enum { OUTLOOK_LEAST = 5, OUTLOOK_TYPICAL = 6 };
enum emu_status place_outlook(const struct lowered *l, uint32_t codelet_bytes,
                              uint32_t message_bytes, unsigned threads,
                              struct placement *out) EMU_MUST_CHECK;

/* Sets object.addr of all objects. code_bytes: bytes of code of each used tile. The result is the
 * same for any number of threads (0: all cores). The only error is EMU_NO_MEMORY. */
enum emu_status place_objects(struct lowered *l, const uint32_t *code_bytes, unsigned threads,
                              struct placement *out) EMU_MUST_CHECK;
void placement_free(struct placement *p);

/* Proves a placement: every object lies inside the memory (where the tile fits), aligned, in its
 * region, before the end of what the loader fills if it is loaded, and apart from others where
 * demanded; no two objects that are in use at the same time share a byte; and the wishes that did
 * not come true are as many as the figures say. EMU_BAD_PROGRAM names both objects, the tile and
 * the bytes. threads as for place_objects().
 */
enum emu_status placement_check(const struct lowered *l, const struct placement *p,
                                unsigned threads) EMU_MUST_CHECK;

#endif
