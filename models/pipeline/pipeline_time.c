/* pipeline_time.c - sums over phases of what the slowest stage takes. */
#include "models/pipeline/pipeline_time.h"

/* f, b: whether the stage does F, B. */
static uint64_t stage_cycles(const struct pipeline_times *t, unsigned stage, int f, int b)
{
    return (t->arrive ? t->arrive[stage] : 0) + (f ? t->f[stage] : 0) + (b ? t->b[stage] : 0);
}

static uint64_t phase_cycles(const struct pipeline_schedule *s, const struct pipeline_times *t,
                             uint32_t round, unsigned phase)
{
    uint64_t longest = 0;

    if (!pipeline_has_phase(s, round, phase))
        return 0;
    for (unsigned k = 0; k < s->stages; k++) {
        struct pipeline_work w = pipeline_work_at(s, k, round, phase);
        uint64_t cycles = stage_cycles(t, k, w.f != PIPELINE_NONE, w.b != PIPELINE_NONE);

        longest = cycles > longest ? cycles : longest;
    }
    return t->exchange + longest;
}

uint64_t pipeline_cycles(const struct pipeline_schedule *s, const struct pipeline_times *t)
{
    uint32_t at[PIPELINE_SPANS], begin = 0;
    unsigned n = pipeline_spans(s, at);
    uint64_t all = 0;

    for (unsigned i = 0; i < n; begin = at[i++]) {
        for (unsigned p = 0; p < s->phases; p++)
            all += (at[i] - begin) * phase_cycles(s, t, begin, p);
    }
    return all;
}

uint64_t pipeline_slot(const struct pipeline_schedule *s, const struct pipeline_times *t)
{
    uint64_t all = 0;

    for (unsigned p = 0; p < s->phases; p++) {
        uint64_t longest = 0;

        for (unsigned k = 0; k < s->stages; k++) {
            uint64_t cycles = stage_cycles(t, k, s->f[k].phase == p, s->b[k].phase == p);

            longest = cycles > longest ? cycles : longest;
        }
        all += t->exchange + longest;
    }
    return all;
}

uint64_t pipeline_fill(const struct pipeline_schedule *s, const struct pipeline_times *t)
{
    return pipeline_cycles(s, t) - s->micros * pipeline_slot(s, t);
}

static double share(uint64_t part, uint64_t all)
{
    return all ? (double)part / (double)all : 0;
}

double pipeline_bubble(const struct pipeline_schedule *s, const struct pipeline_times *t)
{
    return share(pipeline_fill(s, t), pipeline_cycles(s, t));
}

double pipeline_idle(const struct pipeline_schedule *s, const struct pipeline_times *t,
                     uint32_t stage)
{
    unsigned first = stage == PIPELINE_NONE ? 0 : stage,
             end = stage == PIPELINE_NONE ? s->stages : stage + 1;
    uint64_t all = (end - first) * pipeline_cycles(s, t), work = 0;

    for (unsigned k = first; k < end; k++)
        work += s->micros * (t->f[k] + t->b[k]);
    return share(all - work, all);
}
