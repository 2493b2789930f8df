/* train_schedule.c - formulas of schedules. */
#include "models/train/train_schedule.h"

#include <math.h>

double train_rate(const struct train_schedule *s, uint64_t step)
{
    double after = step < s->warmup ? 0 : (double)(step - s->warmup);
    double all = s->steps > s->warmup ? (double)(s->steps - s->warmup) : 1;
    double share = after < all ? after / all : 1;
    double periods = s->every ? after / (double)s->every : 0;

    if (step < s->warmup)
        return s->rate * (double)(step + 1) / (double)s->warmup;
    switch (s->kind) {
    case SCHEDULE_STEP:
        return s->rate * pow(s->factor, floor(periods));
    case SCHEDULE_EXPONENTIAL:
        return s->rate * pow(s->factor, periods);
    case SCHEDULE_POLYNOMIAL:
        return s->rate * (1 - share) * (1 - share);
    case SCHEDULE_COSINE:
        return s->rate * 0.5 * (1 + cos(M_PI * share));
    default:
        return s->rate;
    }
}
