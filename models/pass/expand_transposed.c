/* expand_transposed.c - a transposed convolution as a convolution: of its input with zeros between
 * the numbers, the weights turned round; or, where windows do not overlap, of each number by
 * itself. */

#include "models/operators/op_window.h"
#include "models/pass/expand.h"

struct transposed {
    struct op_pass *p;
    const struct op_node *n;
    struct op_shape x, y, weights;
    struct op_window w;
    uint32_t groups;
};

static struct op_named_attr ints(const char *name, unsigned count, const int64_t *v)
{
    return (struct op_named_attr){ name, { .kind = OP_ATTR_INTS, .count = count, .ints = v } };
}

static enum emu_status pad(const struct transposed *t, uint32_t x, unsigned rank,
                           const int64_t *pads, uint32_t *out)
{
    const struct expand_part part = { .op = OP_Pad,
                                      .suffix = ".padded",
                                      .in = { x, OP_NONE, OP_NONE },
                                      .attr = { ints("pads", 2 * rank, pads) },
                                      .attrs = 1 };
    int some = 0;

    *out = x;
    for (unsigned k = 0; k < 2 * rank; k++)
        some |= pads[k] != 0;
    return some ? expand_put(t->p, t->n, &part, out) : EMU_OK;
}

/* Zeros between the numbers, and behind the last: each becomes the first of `stride`. */
static enum emu_status stuff(const struct transposed *t, uint32_t x, uint32_t *out)
{
    struct op_shape apart = { .type = t->x.type, .rank = 2 + 2 * t->w.dims }, joined = t->x;
    int64_t pads[2 * OP_RANK_MAX] = { 0 };

    apart.dim[0] = t->x.dim[0];
    apart.dim[1] = t->x.dim[1];
    for (unsigned d = 0; d < t->w.dims; d++) {
        apart.dim[2 + 2 * d] = t->x.dim[2 + d];
        apart.dim[3 + 2 * d] = 1;
        pads[apart.rank + 3 + 2 * d] = t->w.stride[d] - 1;
        joined.dim[2 + d] *= (uint32_t)t->w.stride[d];
    }
    TRY(expand_reshape(t->p, t->n, x, &apart, out));
    TRY(pad(t, *out, apart.rank, pads, out));
    return expand_reshape(t->p, t->n, *out, &joined, out);
}

/* What all windows see, from the first to the last. */
static enum emu_status frame(const struct transposed *t, uint32_t x, uint32_t *out)
{
    int64_t pads[2 * OP_RANK_MAX] = { 0 }, starts[OP_WINDOW_DIMS], ends[OP_WINDOW_DIMS],
                     axes[OP_WINDOW_DIMS];
    const struct expand_part cut = { .op = OP_Slice,
                                     .suffix = ".seen",
                                     .in = { x, OP_NONE, OP_NONE },
                                     .attr = { ints("starts", t->w.dims, starts),
                                               ints("ends", t->w.dims, ends),
                                               ints("axes", t->w.dims, axes) },
                                     .attrs = 3 };

    for (unsigned d = 0; d < t->w.dims; d++) {
        int64_t reach = op_window_reach(&t->w, d) - 1, before = reach - t->w.begin[d];
        int64_t size = (int64_t)t->x.dim[2 + d] * t->w.stride[d];
        int64_t behind = (int64_t)t->y.dim[2 + d] + reach - before - size;

        pads[2 + d] = before > 0 ? before : 0;
        pads[t->x.rank + 2 + d] = behind > 0 ? behind : 0;
        starts[d] = before < 0 ? -before : 0;
        ends[d] = size + (behind < 0 ? behind : 0);
        axes[d] = 2 + d;
    }
    TRY(expand_put(t->p, t->n, &cut, out));
    return pad(t, *out, t->x.rank, pads, out);
}

/* Weights [in][out of a group][taps] as [out][in of a group][taps], the last tap first. */
static enum emu_status turn_weights(const struct transposed *t, uint32_t *out)
{
    static const int64_t perm[] = { 0, 2, 1, 3 }, last = -1, first = INT64_MIN, axis = 3;
    uint32_t in = t->weights.dim[0] / t->groups, each = t->weights.dim[1];
    const struct op_shape apart = {
        .type = t->x.type,
        .rank = 4,
        .dim = { t->groups, in, each, (uint32_t)op_shape_span(&t->weights, 2, t->weights.rank) }
    };
    const struct expand_part flip = { .op = OP_Slice,
                                      .suffix = ".turned",
                                      .in = { OP_NONE, OP_NONE, OP_NONE },
                                      .attr = { ints("starts", 1, &last), ints("ends", 1, &first),
                                                ints("axes", 1, &axis), ints("steps", 1, &last) },
                                      .attrs = 4 };
    struct expand_part turned = flip;
    struct op_shape back = t->weights;

    back.dim[0] = t->groups * each;
    back.dim[1] = in;
    TRY(expand_reshape(t->p, t->n, op_pass_now(t->p, t->n->in[1]), &apart, out));
    TRY(expand_transpose(t->p, t->n, ".weights", 4, perm, *out, out));
    turned.in[0] = *out;
    TRY(expand_put(t->p, t->n, &turned, out));
    return expand_reshape(t->p, t->n, *out, &back, out);
}

enum emu_status expand_conv_transpose(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct transposed t = { .p = p,
                            .n = n,
                            .x = p->g->value[n->in[0]].shape,
                            .y = p->g->value[n->out[0]].shape,
                            .weights = p->g->value[n->in[1]].shape };
    struct op_call c = op_attrs_of(p->g, n);
    struct expand_part conv = { .op = OP_Conv, .suffix = "" };

    TRY(op_window_read(&c, &t.x, t.weights.dim + 2, &t.w));
    TRY(op_window_transposed(&c, &t.w));
    t.groups = (uint32_t)op_int(&c, "group");
    if (2 + 2 * t.w.dims > OP_RANK_MAX || !op_shape_count(&t.x) || !op_shape_count(&t.y))
        return EMU_OK;
    TRY(stuff(&t, op_pass_now(p, n->in[0]), &conv.in[0]));
    TRY(frame(&t, conv.in[0], &conv.in[0]));
    TRY(turn_weights(&t, &conv.in[1]));
    conv.in[2] = n->ins > 2 && n->in[2] != OP_NONE ? op_pass_now(p, n->in[2]) : OP_NONE;
    conv.attr[conv.attrs++] = ints("dilations", t.w.dims, t.w.dilation);
    conv.attr[conv.attrs++] =
        (struct op_named_attr){ "group", { .kind = OP_ATTR_INT, .i = t.groups } };
    return expand_put(p, n, &conv, out);
}

/* ---- windows that do not overlap ---- */

/* Whether every position of the input makes a window of the output of its own. */
static int windows_apart(const struct transposed *t)
{
    for (unsigned d = 0; d < t->w.dims; d++) {
        if (t->w.kernel[d] != t->w.stride[d] || t->w.dilation[d] != 1 || t->w.begin[d] ||
            t->y.dim[2 + d] != t->x.dim[2 + d] * (uint32_t)t->w.stride[d])
            return 0;
    }
    return t->w.dims == 2 && t->groups == 1;
}

/* Positions of a window. */
static uint32_t taps_of(const struct transposed *t)
{
    return t->weights.dim[2] * t->weights.dim[3];
}

/* Weights [in][out][rows][columns] as those of a convolution of one position, whose channels are
 * [out][rows][columns]. */
static enum emu_status weights_of_positions(const struct transposed *t, uint32_t *out)
{
    uint32_t in = t->weights.dim[0], channels = t->weights.dim[1] * taps_of(t);
    const struct op_shape shape = { .type = t->weights.type,
                                    .rank = 4,
                                    .dim = { channels, in, 1, 1 } };
    struct op_tensor from, to;
    enum emu_status s;

    TRY(op_value_read(t->p->g, t->n->in[1], &from));
    s = op_tensor_new(&shape, &to);
    for (uint32_t i = 0; s == EMU_OK && i < in; i++) {
        for (uint32_t k = 0; k < channels; k++)
            to.f[(size_t)k * in + i] = from.f[(size_t)i * channels + k];
    }
    if (s == EMU_OK)
        s = op_value_constant(t->p->g, NULL, &to, out);
    op_tensor_free(&from);
    op_tensor_free(&to);
    return s;
}

/* The bias of each channel, for all positions of its windows. */
static enum emu_status bias_of_positions(const struct transposed *t, uint32_t *out)
{
    uint32_t taps = taps_of(t);
    const struct op_shape shape = { .type = t->weights.type,
                                    .rank = 1,
                                    .dim = { t->weights.dim[1] * taps } };
    struct op_tensor from, to;
    enum emu_status s;

    TRY(op_value_read(t->p->g, t->n->in[2], &from));
    s = op_tensor_new(&shape, &to);
    for (uint32_t k = 0; s == EMU_OK && k < shape.dim[0]; k++)
        to.f[k] = from.f[k / taps];
    if (s == EMU_OK)
        s = op_value_constant(t->p->g, NULL, &to, out);
    op_tensor_free(&from);
    op_tensor_free(&to);
    return s;
}

/* Channels [out][rows][columns] of each position as its window: views. */
static enum emu_status windows_in_place(const struct transposed *t, uint32_t x, uint32_t *out)
{
    static const int64_t perm[] = { 0, 1, 4, 2, 5, 3 };
    const struct op_shape apart = { .type = t->x.type,
                                    .rank = 6,
                                    .dim = { t->x.dim[0], t->weights.dim[1], t->weights.dim[2],
                                             t->weights.dim[3], t->x.dim[2], t->x.dim[3] } };

    TRY(expand_reshape(t->p, t->n, x, &apart, out));
    TRY(expand_transpose(t->p, t->n, ".windows", 6, perm, *out, out));
    return expand_reshape(t->p, t->n, *out, &t->y, out);
}

/* Whether a value is a constant for good, and its numbers are there. */
static int has_numbers(const struct op_graph *g, uint32_t value)
{
    return op_value_settled(g, value) && g->value[value].data;
}

enum emu_status expand_upsampling(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct transposed t = { .p = p,
                            .n = n,
                            .x = p->g->value[n->in[0]].shape,
                            .y = p->g->value[n->out[0]].shape,
                            .weights = p->g->value[n->in[1]].shape };
    struct op_call c = op_attrs_of(p->g, n);
    struct expand_part conv = { .op = OP_Conv,
                                .suffix = ".positions",
                                .in = { op_pass_now(p, n->in[0]), OP_NONE, OP_NONE } };
    int biased = n->ins > 2 && n->in[2] != OP_NONE;
    uint32_t at;

    if (!has_numbers(p->g, n->in[1]) || (biased && !has_numbers(p->g, n->in[2])))
        return EMU_OK;
    TRY(op_window_read(&c, &t.x, t.weights.dim + 2, &t.w));
    TRY(op_window_transposed(&c, &t.w));
    t.groups = (uint32_t)op_int(&c, "group");
    if (!windows_apart(&t) || !op_shape_count(&t.y))
        return EMU_OK;
    TRY(weights_of_positions(&t, &conv.in[1]));
    if (biased)
        TRY(bias_of_positions(&t, &conv.in[2]));
    TRY(expand_put(p, n, &conv, &at));
    return windows_in_place(&t, at, out);
}
