/* host_options.h - how the link between host and chip differs from an ideal one. */
#ifndef EMU_HOST_OPTIONS_H
#define EMU_HOST_OPTIONS_H

#include <stdint.h>

#include "emu/base/api.h"

SUPERSTEP_API_BEGIN

struct host_options {
    uint64_t seed;      /* of the jitter */
    uint32_t jitter_ns; /* each packet is delayed by a random 0 .. jitter_ns; 0: no jitter */
    int keep_transfers; /* for host_transfers() (host.h) */
};

SUPERSTEP_API_END

#endif
