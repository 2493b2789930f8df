/* reduce_pairs_ref.c - reduce_pairs_f32, reduce_onto_f32: meaning and cycles. */
#include "programs/library/kernel/codelet_ref.h"

/* Sums of columns; those of `onto` begin with what is in out. */
static void sum_columns(const uint32_t *x, uint32_t p, uint32_t *out, uint32_t n, int onto)
{
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        uint32_t sum = onto ? fp_f32_add(0, out[i], &env) : 0;

        for (uint32_t k = 0; k < p; k++)
            sum = fp_f32_add(sum, x[(size_t)k * n + i], &env);
        out[i] = sum;
    }
}

void reduce_pairs_f32_ref(const struct codelet_call *call)
{
    sum_columns(call->arg[reduce_pairs__partials].data, call->arg[reduce_pairs__p].value,
                call->arg[reduce_pairs__out].data, call->arg[reduce_pairs__n].value, 0);
}

void reduce_onto_f32_ref(const struct codelet_call *call)
{
    sum_columns(call->arg[reduce_onto__partials].data, call->arg[reduce_onto__p].value,
                call->arg[reduce_onto__out].data, call->arg[reduce_onto__n].value, 1);
}

/* ---- cycles ---- */

struct pairs {
    const struct arch *arch;
    uint64_t n, p;
    int onto;
};

static uint64_t pairs_slots(const void *shape, unsigned w)
{
    const struct pairs *s = shape;
    uint64_t mine = codelet_share(s->arch, s->n / 2, w);

    return mine ? 8 + mine * (8 + s->p + (unsigned)s->onto) + 1 : 6 + 1;
}

uint64_t reduce_pairs_f32_cycles(const struct codelet_call *call)
{
    struct pairs s = { call->arch, call->arg[reduce_pairs__n].value,
                       call->arg[reduce_pairs__p].value, 0 };

    return codelet_workers_cycles(call->arch, pairs_slots, &s);
}

uint64_t reduce_onto_f32_cycles(const struct codelet_call *call)
{
    struct pairs s = { call->arch, call->arg[reduce_onto__n].value, call->arg[reduce_onto__p].value,
                       1 };

    return codelet_workers_cycles(call->arch, pairs_slots, &s);
}
