/* observe.h - looks at one tile while it runs: every issue with what it did, and every word that
 * comes from elsewhere. The tile then executes its instructions one by one; others do not.
 */
#ifndef EMU_OBSERVE_H
#define EMU_OBSERVE_H

#include "emu/bsp/machine.h"
#include "emu/tile/tile_check.h"

enum { ISSUE_ACCESSES = 4 };

struct issue_access {
    uint32_t addr, bytes;
    int is_store;
};

/* One issue of a context: an instruction or a bundle. */
struct issue {
    uint64_t cycle;
    uint32_t tile, pc;
    unsigned lane;
    struct insn main, aux;
    int is_bundle;
    struct issue_access access[ISSUE_ACCESSES]; /* in order; what does not fit is left out */
    unsigned accesses;
};

/* NULL: not wanted. Calls come from the thread that runs the tile, or moves words to it; those for
 * one tile in order of cycles, but for words, which come when the last tile of their exchange is at
 * its RECV. */
struct observer_calls {
    void *ctx;
    /* Before it executes: no accesses yet. */
    void (*issues)(void *ctx, const struct tile *t, const struct issue *i);
    /* When the next instruction of the tile issues, or at observe_flush(): registers and memory
     * hold its results, unless it has faulted. */
    void (*issued)(void *ctx, const struct tile *t, const struct issue *i);
    void (*arrived)(void *ctx, const struct tile *t, const struct tile_arrival *a);
};

struct observed;

/* Begins and ends between two runs of the machine, which is borrowed. EMU_NO_MEMORY. */
enum emu_status observe_begin(struct machine *m, uint32_t tile, const struct observer_calls *calls,
                              struct observed **out) EMU_MUST_CHECK;
/* After a run: the last issue is over. */
void observe_flush(struct observed *o);
void observe_end(struct observed *o); /* NULL allowed */

/* Text of an issue: "{ ld32 ... ; f32add ... }". label, if not NULL, stands for an
 * address operand. */
void issue_text(const struct insn *main, const struct insn *aux, const char *label, char *out,
                size_t bytes);
/* What an issue has left: "$m2=0x4c010 $a0=1.5 [0x50000]:4=0x3fc00000": registers that it writes,
 * and memory that it has loaded or stored. */
void issue_values(const struct issue *i, const struct tile *t, char *out, size_t bytes);

/* The lane of "w0" .. "w5" or "s" (case_lane_name()); TILE_LANES for another text. */
unsigned lane_of_name(const char *text);

#endif
