/* host_cost.h - what the host adds to a run of a network: starting the chip, waiting for its end,
 * sending the pictures and reading the scores. It is reported beside the run and is no part of its
 * cycles. */
#ifndef MODELS_HOST_COST_H
#define MODELS_HOST_COST_H

#include <jansson.h>

#include "emu/arch/arch.h"
#include "models/ask/model_facts.h"

/* Seconds of one batch; the parts follow one another. */
struct host_cost {
    double launch;        /* two syncs with the host: sync_host_cycles each */
    double input, output; /* over the link: host_link_mbytes_per_s, and host_latency_ns once */
    uint64_t input_bytes, output_bytes; /* of all inputs and outputs */
};

struct host_cost host_cost_of(const struct arch *a, const struct model_facts *n);
double host_cost_seconds(const struct host_cost *c);
/* One line: parts and sum, and the pictures a second of a run that takes `seconds` on the chip. */
void host_cost_print(const struct host_cost *c, const struct model_facts *n, double seconds,
                     FILE *f);
/* The same as a new object; NULL when out of memory. */
json_t *host_cost_json(const struct host_cost *c, const struct model_facts *n, double seconds);

#endif
