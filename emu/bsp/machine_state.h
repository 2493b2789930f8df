/* machine_state.h - the state of a machine between two runs: for people who look, and for those who
 * go back.
 */
#ifndef EMU_MACHINE_STATE_H
#define EMU_MACHINE_STATE_H

#include "emu/base/byte_store.h"
#include "emu/bsp/machine.h"
#include "emu/bsp/record.h"

/* Where a tile is. */
struct machine_place {
    unsigned group;
    const char *waits; /* "for a sync of the chip"; NULL: it runs, or could */
    int received;      /* its exchange of this superstep is over, words of other chips included */
    int in_exchange;   /* it waits for the end of its exchange, or has faulted */
    int at_sync;       /* it waits in a sync with other tiles or the host */
    /* Cycles: of the sync that began its superstep, of the end of its exchange (the first
     * instruction after its RECV), of its arrival where it waits, of its next issue. */
    uint64_t release, received_at, arrived, clock;
    uint64_t settled; /* cycle by which all tiles of its exchange had come to their RECV: before it,
                         it could not go on, whatever its clock */
};
struct machine_place machine_place(const struct machine *m, uint32_t tile);

/* Lets a tile run no further than a cycle, while others do; UINT64_MAX: as far as they. One tile at
 * a time. */
void machine_hold(struct machine *m, uint32_t tile, uint64_t cycle);

/* Puts away the state of a machine between two runs, without the memory of its tiles, and puts it
 * back: the same machine, with the values engine, without checking mode, and after its first
 * machine_run(), which may have had no cycle to run. The record and what watches know nothing of
 * it. EMU_NO_MEMORY. */
void machine_save(const struct machine *m, struct byte_store *out);
enum emu_status machine_restore(struct machine *m, struct byte_store *from) EMU_MUST_CHECK;
/* Forgets all supersteps but the first n. */
void record_truncate(struct record *r, size_t n);

#endif
