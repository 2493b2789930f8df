/* machine_superstep.h - what someone who watches a run is told at the end of every superstep. */
#ifndef EMU_MACHINE_SUPERSTEP_H
#define EMU_MACHINE_SUPERSTEP_H

#include <stdint.h>

#include "emu/base/api.h"

SUPERSTEP_API_BEGIN

/* A completed superstep of a group. All times are cycles. */
struct machine_superstep {
    uint32_t chip; /* of the system */
    unsigned group;
    uint64_t index;    /* from 0 */
    uint64_t release;  /* of the sync that began it; 0: the start of the run */
    uint64_t received; /* when the last tile had finished its exchange */
    uint64_t arrived;  /* when the last tile arrived at the sync that ends it */
    uint64_t end;      /* release of that sync */
    int wide;          /* that sync waited for all groups */
};

SUPERSTEP_API_END

#endif
