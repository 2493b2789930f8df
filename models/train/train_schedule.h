/* train_schedule.h - the rate of learning from step to step. */
#ifndef MODELS_TRAIN_SCHEDULE_H
#define MODELS_TRAIN_SCHEDULE_H

#include <stdint.h>

enum train_schedule_kind {
    SCHEDULE_CONSTANT,
    SCHEDULE_STEP,        /* times `factor` after each `every` steps */
    SCHEDULE_EXPONENTIAL, /* the same, in between, too: factor^(step / every) */
    SCHEDULE_POLYNOMIAL,  /* (1 - share of all steps)^2 */
    SCHEDULE_COSINE       /* half a cosine wave, down to 0 at the last step */
};

struct train_schedule {
    enum train_schedule_kind kind;
    double rate; /* after the warm-up */
    double factor;
    uint64_t every;  /* steps */
    uint64_t warmup; /* steps in which the rate rises from 0, in equal parts */
    uint64_t steps;  /* all steps of the training */
};

/* The rate of step `step`, the first being 0. */
double train_rate(const struct train_schedule *s, uint64_t step);

#endif
