/* reduce_pairs_ref.c - reduce_pairs_f32, reduce_own_f32: meaning and cycles. */
#include "programs/library/kernel/codelet_ref.h"

/* Adds rows [p][n] to sums [n]. */
static void add_rows(uint32_t *sum, const uint32_t *x, uint32_t p, uint32_t n)
{
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < p; k++)
            sum[i] = fp_f32_add(sum[i], x[(size_t)k * n + i], &env);
    }
}

void reduce_pairs_f32_ref(const struct codelet_call *call)
{
    uint32_t n = call->arg[reduce_pairs__n].value, *out = call->arg[reduce_pairs__out].data;

    memset(out, 0, n * sizeof(*out));
    add_rows(out, call->arg[reduce_pairs__partials].data, call->arg[reduce_pairs__p].value, n);
}

void reduce_own_f32_ref(const struct codelet_call *call)
{
    uint32_t n = call->arg[reduce_own__n].value, *out = call->arg[reduce_own__out].data;
    uint32_t before = call->arg[reduce_own__before].value;
    const uint32_t *x = call->arg[reduce_own__partials].data;

    memset(out, 0, n * sizeof(*out));
    add_rows(out, x, before, n);
    add_rows(out, call->arg[reduce_own__own].data, 1, n);
    add_rows(out, x + (size_t)before * n, call->arg[reduce_own__p].value, n);
}

/* ---- cycles ---- */

struct pairs_call {
    const struct arch *arch;
    uint64_t n, rows;
    unsigned before, each; /* slots before the first pair, and of each besides its rows */
};

static uint64_t pairs_slots(const void *shape, unsigned w)
{
    const struct pairs_call *s = shape;
    uint64_t mine = codelet_share(s->arch, s->n / 2, w);

    return mine ? s->before + mine * (s->each + s->rows) + 1 : 6 + 1;
}

uint64_t reduce_pairs_f32_cycles(const struct codelet_call *call)
{
    struct pairs_call s = { call->arch, call->arg[reduce_pairs__n].value,
                            call->arg[reduce_pairs__p].value, 8, 8 };

    return codelet_workers_cycles(call->arch, pairs_slots, &s);
}

uint64_t reduce_own_f32_cycles(const struct codelet_call *call)
{
    uint64_t rows = (uint64_t)call->arg[reduce_own__before].value + call->arg[reduce_own__p].value;
    struct pairs_call s = { call->arch, call->arg[reduce_own__n].value, rows, 10, 10 };

    return codelet_workers_cycles(call->arch, pairs_slots, &s);
}
