/* pipeline_turns.c - in which round and phase each stage works, by schedule. */
#include "models/pipeline/pipeline_turns.h"

/* Activations reach stage k in round k, the last stage takes the gradient of a micro batch right
 * after its activations, and gradients come back a stage in a round. */
static void turns_grouped(struct pipeline_schedule *s, unsigned exchanges)
{
    unsigned phase_b = exchanges - 1;

    s->phases = exchanges;
    for (unsigned k = 0; k < s->stages; k++) {
        s->f[k] = (struct pipeline_turn){ .round = k };
        s->b[k] = (struct pipeline_turn){ 2 * (s->stages - 1) - k, phase_b, phase_b };
    }
}

/* Rounds of F have no phase 1, those of B no phase 0. */
static void turns_gpipe(struct pipeline_schedule *s, unsigned exchanges)
{
    uint32_t filled = s->micros + s->stages - 1;

    (void)exchanges;
    s->phases = 2;
    for (unsigned k = 0; k < s->stages; k++) {
        s->f[k] = (struct pipeline_turn){ .round = k };
        s->b[k] = (struct pipeline_turn){ filled + s->stages - 1 - k, 1, 1 };
    }
}

/* Counted in phases, F of micro batch m is in 2 m + k, B in 2 (m + stages) - 1 - k: of one stage
 * the one is in even phases, the other in odd ones. */
static void turns_interleaved(struct pipeline_schedule *s, unsigned exchanges)
{
    (void)exchanges;
    s->phases = 2;
    for (unsigned k = 0; k < s->stages; k++) {
        unsigned f = k, b = 2 * s->stages - 1 - k;

        s->f[k] = (struct pipeline_turn){ f / 2, f % 2, (f + 1) % 2 };
        s->b[k] = (struct pipeline_turn){ b / 2, b % 2, (b + 1) % 2 };
    }
}

static void turns_sequential(struct pipeline_schedule *s, unsigned exchanges)
{
    unsigned last = 2 * s->stages - 1;

    (void)exchanges;
    s->phases = 2 * s->stages;
    for (unsigned k = 0; k < s->stages; k++) {
        s->f[k] = (struct pipeline_turn){ 0, k, k + 1 };
        s->b[k] = (struct pipeline_turn){ 0, last - k, (last - k + 1) % s->phases };
    }
}

void pipeline_turns(struct pipeline_schedule *s, unsigned exchanges)
{
    static void (*const turns[])(struct pipeline_schedule *, unsigned) = {
#define PIPELINE(name, text) [PIPELINE_##name] = turns_##name,
#include "models/pipeline/pipeline_kinds.def"
#undef PIPELINE
    };

    turns[s->kind](s, exchanges);
}
