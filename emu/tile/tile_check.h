/* tile_check.h - checking mode: what a real tile lets pass, but a program should not do.
 *
 * Bytes that nothing has written may be loaded, moved about and dropped, or put back where they
 * came from: kernels load words with what lies beside an element, and vectors beyond an end. They
 * are reported when something depends on them; emu/exec/exec_check.c finds out, by the shadow of
 * the registers kept here. The same holds for bytes outside the fields of a vertex, where a
 * compiler has said which vertices a tile has.
 *
 * Shadow state beside a tile's memory sees every access and keeps a bounded list of reports. It
 * raises no faults and changes no result, cycle or register. Off (t->check == NULL) it costs one
 * predictable branch per access.
 *
 * A run is the time from the launch of the first worker until the supervisor has waited for the
 * last one (sync LOCAL). Accesses in one run are ordered by the barrel alone, so two lanes that
 * touch the same byte, one of them writing, are a race even if the order happens to be right. From
 * one run to the next only one thing is remembered: which bytes were ever written.
 */
#ifndef EMU_TILE_CHECK_H
#define EMU_TILE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "emu/tile/tile.h"

enum tile_check_kind {
#define CHECK(name, text) TILE_CHECK_##name,
#include "emu/tile/tile_check.def"
#undef CHECK
    TILE_CHECK_KINDS
};

enum {
    TILE_CHECK_MAX = 256, /* reports kept per tile; further (kind, pc) pairs are only counted */
    TILE_CHECK_GUARD = 7, /* "lane" of a byte range that no store of any lane may touch */
    TILE_CHECK_NOBODY = 0xff
};

/* All occurrences of one kind at one pc; all members except count describe the first. */
struct tile_check_report {
    enum tile_check_kind kind;
    uint8_t lane;  /* which executed the access */
    uint8_t other; /* RACE*: lowest lane that touched the bytes before; STACK: owner of the range;
                      else TILE_CHECK_NOBODY */
    uint32_t pc;
    uint32_t addr;
    uint32_t addr2; /* CONFLICT: second address */
    uint32_t bytes; /* size of the access */
    uint32_t site;  /* of the vertex whose worker it was; 0: of none that is known */
    uint64_t cycle;
    uint64_t count;
};

const char *tile_check_name(enum tile_check_kind k); /* "UNWRITTEN" */
const char *tile_check_text(enum tile_check_kind k);

/* Switches the mode on: t->check, owned by the caller until tile_check_free(). All memory then
 * counts as unwritten, so call it before the program is loaded. Costs 2 bytes and one bit of host
 * memory per byte of tile memory, touched only where used. */
enum emu_status tile_check_new(struct tile *t) EMU_MUST_CHECK;
void tile_check_free(struct tile *t); /* switches it off; does nothing when it is off */

/* Declares [low, high) to be the stack of a lane, or, with TILE_CHECK_GUARD, a range that no lane
 * may store to. low == high: there is none.
 *
 * Reported are a supervisor's store to [$sp, low) when its $sp is below low, a worker's store into
 * the stack of another worker, and any store into the guard. A worker's other stores are not
 * judged: the base register of an access is not known here. */
void tile_check_stack(struct tile *t, unsigned lane, uint32_t low, uint32_t high);

/* Declares [low, low + bytes) to be memory that the program writes. From the first such call on a
 * store of a context to bytes that belong to nothing is reported, unless it puts back what the
 * context has read there. EMU_NO_MEMORY. */
enum emu_status tile_check_own(struct tile *t, uint32_t low, uint32_t bytes) EMU_MUST_CHECK;

/* What the workers of a vertex may use: a field, or a list that it gets. */
struct tile_check_use {
    uint32_t addr, bytes;
    uint8_t reads, writes;
};
/* Declares a vertex by its site, the address of the instruction with which the supervisor launches
 * its workers or calls the code that does; sites ascend. Site 0: what every vertex may use. From
 * the first one on, a store of such workers anywhere else is reported, unless it puts back what
 * they have read there, and so is what depends on bytes elsewhere. EMU_NO_MEMORY. */
enum emu_status tile_check_vertex(struct tile *t, uint32_t site, const struct tile_check_use *use,
                                  size_t uses) EMU_MUST_CHECK;

/* An outer sync has released the tile: what it accesses until tile_check_recv() is remembered, and
 * reported if words of another chip come there in that phase (tile_check_arrived()). */
void tile_check_outer(struct tile *t);
void tile_check_recv(struct tile *t);

/* Reports in order of first occurrence, i < tile_check_count(); borrowed until tile_check_free().
 */
size_t tile_check_count(const struct tile *t); /* 0 when the mode is off */
const struct tile_check_report *tile_check_report(const struct tile *t, size_t i);
uint64_t tile_check_dropped(const struct tile *t); /* occurrences that found the list full */

/* Who looks at one tile while it runs. Calls come from the thread that runs the tile, or moves
 * words to it. */
enum { TILE_FROM_HOST = 0xffffffff };
struct tile_arrival {
    uint32_t addr, bytes;
    uint32_t from, from_addr; /* the tile that sent the words, and where they were; or
                                 TILE_FROM_HOST */
    int is_far;               /* it is a tile of another chip: */
    uint32_t chip;            /* this one */
    uint64_t cycle;           /* of the host and of other chips; of words of the chip 0 */
};
struct tile_observer {
    void *ctx;
    /* The instruction that executes has loaded, or has stored. */
    void (*access)(void *ctx, const struct tile *t, unsigned lane, uint32_t addr, uint32_t bytes,
                   int is_store);
    /* Words or packets are in memory. */
    void (*arrived)(void *ctx, const struct tile *t, const struct tile_arrival *a);
};

/* Has a tile observed, which is copied: instructions are executed one by one then. NULL: no longer.
 * It has nothing to do with the checking mode, which may be on or off. EMU_NO_MEMORY. */
enum emu_status tile_observe(struct tile *t, const struct tile_observer *o) EMU_MUST_CHECK;

/* ---- bytes that mean nothing, in registers ---- */

enum { SHADOW_AUX = 16, SHADOW_REGISTERS = 32 /* $m0.. $m15, then $a0.. $a15 */ };

/* Where such bytes came from: the first load of them. kind: UNWRITTEN or FOREIGN. */
struct tile_shadow_origin {
    enum tile_check_kind kind;
    uint32_t pc, addr, bytes, site;
    uint64_t cycle;
};

/* An access of the instruction that executes. Bit n of mask: byte n means nothing; of a store, that
 * it meant nothing before. foreign: those of them that were written, but are not the vertex's. */
struct tile_shadow_access {
    uint32_t addr, bytes, mask, foreign;
    uint8_t before[16]; /* stores: what was there */
};

struct tile_shadow {
    /* exec_check.c collects accesses: nothing is reported, or not even collected. */
    enum { SHADOW_OFF, SHADOW_COLLECT, SHADOW_MUTE } mode;
    uint32_t registers[TILE_LANES];                /* bit r: register r has such bytes */
    uint8_t unknown[SHADOW_REGISTERS][TILE_LANES]; /* bit n: byte n of the register */
    struct tile_shadow_origin origin[SHADOW_REGISTERS][TILE_LANES]; /* of those with such bytes */
    unsigned loads, stores;
    struct tile_shadow_access load[3], store;
};

/* NULL: the mode is off. Borrowed until tile_check_free(). */
struct tile_shadow *tile_check_shadow(struct tile *t);
/* Reports that something depends on bytes of that origin, or on those of a load. */
void tile_check_used(struct tile *t, unsigned lane, const struct tile_shadow_origin *o);
/* Whether the last store left a byte as the lane had read it in this run. */
bool tile_check_put_back(const struct tile *t, unsigned lane, unsigned byte);
/* A byte of the last store still means nothing. */
void tile_check_unwrite(struct tile *t, uint32_t addr);
/* The site of the vertex that a lane works for; 0: of none that is known. */
uint32_t tile_check_site_of(const struct tile *t, unsigned lane);

/* Hooks of tile_memory.c, tile_code_written() and the barrel; t->check is not NULL. Accesses have
 * passed alignment and bounds.
 *
 *   written  bytes were written by anybody, the host and the exchange included
 *   site     the supervisor is about to launch workers, or to call code
 *   launch   a worker was launched: a run begins or goes on
 *   idle     a sync LOCAL is over: the run ends
 *   arrived  bytes came from another tile or from the host */
void tile_check_load(struct tile *t, unsigned lane, uint32_t addr, uint32_t bytes);
void tile_check_storing(struct tile *t, unsigned lane, uint32_t addr,
                        uint32_t bytes); /* is about to */
void tile_check_store(struct tile *t, unsigned lane, uint32_t addr, uint32_t bytes);
void tile_check_conflict(struct tile *t, unsigned lane, uint32_t addr1, uint32_t addr2);
void tile_check_written(struct tile *t, uint32_t off, uint32_t bytes);
void tile_check_site(struct tile *t, uint32_t pc);
void tile_check_launch(struct tile *t, unsigned worker);
void tile_check_idle(struct tile *t);
void tile_check_arrived(struct tile *t, const struct tile_arrival *a);

#endif
