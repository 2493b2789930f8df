/* row_ref.c - which parts of which rows a worker has, as rows.inc says, and the time that follows.
 */
#include "programs/library/rows/row_ref.h"

#define SAME_PLACE(state, field) ((int)state##__##field == (int)row_fold__##field)
#define SAME_PLACES(state)                                                                         \
    _Static_assert(SAME_PLACE(state, n) && SAME_PLACE(state, rows) && SAME_PLACE(state, parts) &&  \
                       SAME_PLACE(state, step) && SAME_PLACE(state, each),                         \
                   "FIELDS_rows come first")

SAME_PLACES(row_exp);
SAME_PLACES(row_scale);
SAME_PLACES(row_log);
SAME_PLACES(row_deviation);
SAME_PLACES(row_norm);

struct row_share row_share(const struct codelet_call *call, unsigned bits)
{
    struct row_share s = { .n = call->arg[row_fold__n].value,
                           .rows = call->arg[row_fold__rows].value,
                           .parts = call->arg[row_fold__parts].value,
                           .step = call->arg[row_fold__step].value,
                           .each = call->arg[row_fold__each].value,
                           .lanes = 64 / bits };

    s.pitch = (s.n + s.lanes - 1) / s.lanes * s.lanes;
    return s;
}

struct row_part row_part(const struct row_share *s, uint32_t part)
{
    uint32_t first = part * s->each * s->lanes, last = first + s->each * s->lanes;
    uint32_t full = s->n / s->lanes * s->lanes;
    struct row_part p;

    p.begin = first < full ? first : full;
    p.whole = last < full ? last : full;
    p.end = first <= full && full < last ? s->n : p.whole;
    return p;
}

uint32_t row_element(const void *data, unsigned bits, size_t i, struct fp_env *env)
{
    return bits == 16 ? fp_f16_to_f32(((const uint16_t *)data)[i], env)
                      : ((const uint32_t *)data)[i];
}

void row_write(void *data, unsigned bits, size_t i, uint32_t v, struct fp_env *env)
{
    if (bits == 16)
        ((uint16_t *)data)[i] = fp_f16_from_f32(v, 0, env);
    else
        ((uint32_t *)data)[i] = v;
}

uint32_t row_total(const void *partial, uint32_t p, uint32_t row, row_op *op, uint32_t first,
                   struct fp_env *env)
{
    const uint32_t *own = (const uint32_t *)partial + (size_t)row * p;

    for (uint32_t i = 0; i < p; i++)
        first = op(first, own[i], env);
    return first;
}

uint32_t row_add(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_add(a, b, env);
}

uint32_t row_max(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_max(a, b, env);
}

/* ---- cycles ---- */

enum { NO_ROWS_SLOTS = 13 }; /* of a worker without rows */

struct row_shape {
    struct row_share share;
    const struct row_slots *slots;
};

static uint64_t row_worker_slots(const void *shape, unsigned w)
{
    const struct row_shape *s = shape;
    uint32_t first = w / s->share.parts;
    struct row_part p = row_part(&s->share, w % s->share.parts);
    uint64_t vectors = (p.whole - p.begin) / s->share.lanes, rest = p.end - p.whole, row;

    if (first >= s->share.rows)
        return NO_ROWS_SLOTS;
    if (s->slots->padded)
        vectors += rest != 0;
    row = s->slots->row + vectors * s->slots->vector;
    if (!s->slots->padded && rest)
        row += s->slots->end + rest * s->slots->element;
    return s->slots->once + (s->share.rows - first + s->share.step - 1) / s->share.step * row + 1;
}

uint64_t row_cycles(const struct codelet_call *call, unsigned bits, const struct row_slots *slots)
{
    struct row_shape s = { row_share(call, bits), slots };

    return codelet_workers_cycles(call->arch, row_worker_slots, &s);
}
