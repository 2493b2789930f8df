/* stencil_ref.c - stencil5_f32: meaning and cycles. */
#include "programs/library/kernel/codelet_ref.h"

/* One element, rounded in the same order as by the codelet. */
static uint32_t point(const uint32_t *north, const uint32_t *row, const uint32_t *south, uint32_t c,
                      uint32_t c0, uint32_t c1)
{
    struct fp_env env = { 0 };
    uint32_t side = fp_f32_add(row[c - 1], row[c + 1], &env);
    uint32_t sum = fp_f32_add(side, fp_f32_add(north[c], south[c], &env), &env);

    return fp_f32_add(fp_f32_mul(c0, row[c], &env), fp_f32_mul(c1, sum, &env), &env);
}

void stencil5_f32_ref(const struct codelet_call *call)
{
    const uint32_t *x = call->arg[stencil5__x].data;
    uint32_t *y = call->arg[stencil5__y].data, h = call->arg[stencil5__h].value,
             w = call->arg[stencil5__w].value;

    for (uint32_t r = 0; r < h && w; r++) {
        const uint32_t *row = x + (size_t)(r + 1) * w;

        y[0] = row[0];
        for (uint32_t c = 1; c + 1 < w; c++)
            y[c] = point(row - w, row, row + w, c, call->arg[stencil5__c0].value,
                         call->arg[stencil5__c1].value);
        y[w - 1] = row[w - 1];
        y += w;
    }
}

struct stencil_shape {
    const struct arch *arch;
    uint32_t h, w;
};

static uint64_t stencil_slots(const void *shape, unsigned worker)
{
    const struct stencil_shape *s = shape;
    uint64_t pairs = s->w / 2, count = codelet_block(s->arch, pairs, worker);
    uint64_t first = (pairs + s->arch->workers - 1) / s->arch->workers * worker;

    enum { SETUP = 16, NONE = SETUP + 1, REST = 12, ROW = 3 + 8, FIRST = 5, LAST = 4, PAIR = 8 };
    if (!count)
        return NONE;
    if (!s->h)
        return NONE + 1;
    return SETUP + 1 + REST + 1 +
           s->h * (ROW + PAIR * count + (first ? 0 : FIRST) + (first + count < pairs ? 0 : LAST));
}

uint64_t stencil5_f32_cycles(const struct codelet_call *call)
{
    struct stencil_shape s = { call->arch, call->arg[stencil5__h].value,
                               call->arg[stencil5__w].value };

    return codelet_workers_cycles(call->arch, stencil_slots, &s);
}
