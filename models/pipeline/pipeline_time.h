/* pipeline_time.h - how long a schedule takes when its stages take so and so long.
 *
 * A phase lasts as long as the exchange before it and the stage that has most to do in it. Rounds
 * that are alike are multiplied, so the cost depends on stages only, not on micro batches. Sums
 * must stay below 2^64.
 */
#ifndef MODELS_PIPELINE_TIME_H
#define MODELS_PIPELINE_TIME_H

#include "models/pipeline/pipeline_schedule.h"

/* Cycles, by stage; of one micro batch. */
struct pipeline_times {
    const uint64_t *f, *b;
    const uint64_t *arrive; /* from when all chips have met to when the stage has what others sent
                               it, in phases without work too; NULL: 0 */
    uint64_t exchange;      /* from the last chip's arrival to when all have met */
};

/* All micro batches, from the first exchange to the end of the last phase. */
uint64_t pipeline_cycles(const struct pipeline_schedule *s, const struct pipeline_times *t);
/* What one micro batch more adds. */
uint64_t pipeline_slot(const struct pipeline_schedule *s, const struct pipeline_times *t);
/* What the time is longer than a slot for each micro batch: filling and draining. */
uint64_t pipeline_fill(const struct pipeline_schedule *s, const struct pipeline_times *t);
/* Its share: (stages - 1) / (micros + stages - 1) of balanced stages. */
double pipeline_bubble(const struct pipeline_schedule *s, const struct pipeline_times *t);
/* The share of the time in which a stage, or PIPELINE_NONE: one on average, computes neither F nor
 * B. */
double pipeline_idle(const struct pipeline_schedule *s, const struct pipeline_times *t,
                     uint32_t stage);

#endif
