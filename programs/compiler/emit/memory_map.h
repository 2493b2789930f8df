/* memory_map.h - what every byte of a tile is for, and what the memory holds at the start. */
#ifndef PROGRAMS_MEMORY_MAP_H
#define PROGRAMS_MEMORY_MAP_H

#include "programs/compiler/emit/code_buffer.h"
#include "programs/compiler/emit/emit_index.h"

struct memory_range {
    uint32_t addr, bytes;
    uint32_t category; /* enum category */
    uint32_t owner;    /* string of the lowered program */
};

struct memory_symbol {
    uint32_t addr, bytes;
    uint32_t name; /* string of the lowered program */
};

/* Initial contents of some bytes. */
struct memory_contents {
    uint32_t addr, bytes;
    const uint8_t *data; /* borrowed: from the memory's buffer or from an object */
};

/* The memory of one tile without the codelets, which are the same on all tiles. */
struct tile_memory {
    VEC(struct memory_range) range;       /* ascending, disjoint */
    VEC(struct memory_symbol) symbol;     /* by address; at equal addresses the outer one first */
    VEC(struct memory_contents) contents; /* disjoint; code first */
    uint8_t *buffer;                      /* owned */
    size_t room;                          /* bytes of buffer */
};

/* Describes the memory of a tile (index in used_tile) whose linked code lies at `base`. Where
 * objects share bytes, the one alive at step peak_step is named. b is borrowed and must outlive
 * *out, which is zeros, or an earlier result whose memory is used again. The only error is
 * EMU_NO_MEMORY. Free with tile_memory_free, also on failure. Cost: objects times the logarithm of
 * their number. */
enum emu_status tile_memory_init(const struct emit_index *p, uint32_t tile,
                                 const struct code_buffer *b, uint32_t base, uint32_t peak_step,
                                 struct tile_memory *out) EMU_MUST_CHECK;
void tile_memory_free(struct tile_memory *m);

#endif
