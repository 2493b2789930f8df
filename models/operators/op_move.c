/* op_move.c - elements by strides and by lists of indices. */
#include "models/operators/op_move.h"

/* All dimensions but the last; a scalar has one row. */
static struct op_shape rows_of(const struct op_shape *s)
{
    struct op_shape rows = *s;

    rows.rank = s->rank ? s->rank - 1 : 0;
    return rows;
}

void op_move_strides(const struct op_shape *s, int64_t stride[OP_RANK_MAX])
{
    int64_t step = 1;

    for (unsigned d = s->rank; d-- > 0;) {
        stride[d] = step;
        step *= s->dim[d];
    }
}

void op_move_strided(const struct op_shape *s, const op_bits *from,
                     const int64_t stride[OP_RANK_MAX], op_bits *to)
{
    const struct op_shape rows = rows_of(s);
    uint32_t index[OP_RANK_MAX] = { 0 }, width = s->rank ? s->dim[s->rank - 1] : 1;
    int64_t step = s->rank ? stride[s->rank - 1] : 0;

    if (!op_shape_count(s))
        return;
    do {
        int64_t at = 0;

        for (unsigned d = 0; d < rows.rank; d++)
            at += index[d] * stride[d];
        for (uint32_t k = 0; k < width; k++)
            *to++ = from[at + k * step];
    } while (op_index_next(&rows, index));
}

enum emu_status op_picks_new(const struct op_shape *result, struct op_picks *out)
{
    *out = (struct op_picks){ { NULL } };
    for (unsigned d = 0; d < result->rank; d++) {
        out->index[d] = emu_alloc((size_t)result->dim[d] + 1, sizeof(**out->index));
        if (!out->index[d])
            return FAIL(NO_MEMORY, "%u indices", result->dim[d]);
    }
    return EMU_OK;
}

void op_picks_free(struct op_picks *p)
{
    for (unsigned d = 0; d < OP_RANK_MAX; d++)
        ss_free(p->index[d]);
}

void op_move_picked(const struct op_shape *s, const struct op_shape *of, const struct op_picks *p,
                    const op_bits *from, op_bits rest, op_bits *to)
{
    static const int64_t scalar[] = { 0 };
    const struct op_shape rows = rows_of(s);
    const int64_t *last = s->rank ? p->index[s->rank - 1] : scalar;
    uint32_t index[OP_RANK_MAX] = { 0 }, width = s->rank ? s->dim[s->rank - 1] : 1;
    uint32_t of_width = s->rank ? of->dim[s->rank - 1] : 1;

    if (!op_shape_count(s))
        return;
    do {
        int64_t row = 0;

        for (unsigned d = 0; d < rows.rank && row >= 0; d++) {
            int64_t at = p->index[d][index[d]];

            row = at < 0 ? -1 : row * of->dim[d] + at;
        }
        for (uint32_t k = 0; k < width; k++)
            *to++ = row < 0 || last[k] < 0 ? rest : from[row * of_width + last[k]];
    } while (op_index_next(&rows, index));
}
