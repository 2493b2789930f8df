/* elementwise_op.c - operations that treat each element alone: one vertex on each tile that has
 * elements of the result. */
#include <math.h>

#include "programs/library/kernel/kernel_choice.h"
#include "programs/library/layout/tile_parts.h"

static const struct typed_kernels fill = { "fill",
                                           { [ELEM_U8] = KERNEL_ROW(fill_u8),
                                             [ELEM_F16] = KERNEL_ROW(fill_f16),
                                             [ELEM_F32] = KERNEL_ROW(fill_f32) } };
static const struct typed_kernels axpy = FLOAT_KERNELS(axpy);

static const struct typed_kernels unary[] = {
    [UNARY_RELU] = FLOAT_KERNELS(relu),   [UNARY_SIGMOID] = FLOAT_KERNELS(sigmoid),
    [UNARY_SWISH] = FLOAT_KERNELS(swish), [UNARY_TANH] = FLOAT_KERNELS(tanh),
    [UNARY_EXP] = FLOAT_KERNELS(exp),     [UNARY_SQRT] = FLOAT_KERNELS(sqrt),
    [UNARY_RSQRT] = FLOAT_KERNELS(rsqrt), [UNARY_NEG] = FLOAT_KERNELS(mul_scalar), /* by -1 */
    [UNARY_ABS] = FLOAT_KERNELS(abs),     [UNARY_RECIPROCAL] = FLOAT_KERNELS(reciprocal),
    [UNARY_LOG] = FLOAT_KERNELS(log),     [UNARY_FLOOR] = FLOAT_KERNELS(floor),
    [UNARY_CEIL] = FLOAT_KERNELS(ceil),   [UNARY_ROUND] = FLOAT_KERNELS(round),
    [UNARY_SIGN] = FLOAT_KERNELS(sign),   [UNARY_ERF] = FLOAT_KERNELS(erf),
    [UNARY_GELU] = FLOAT_KERNELS(gelu),   [UNARY_HARD_SWISH] = FLOAT_KERNELS(hard_swish),
    [UNARY_SIN] = FLOAT_KERNELS(sin),     [UNARY_COS] = FLOAT_KERNELS(cos),
};
static const struct typed_kernels leaky_relu = FLOAT_KERNELS(leaky_relu);
static const struct typed_kernels clamp = FLOAT_KERNELS(clamp);
static const struct typed_kernels hard_sigmoid = FLOAT_KERNELS(hard_sigmoid);
static const struct typed_kernels choice = FLOAT_KERNELS(select);

/* By the type of the operand; in a row by the type of the result. */
static const struct typed_kernels cast[] = {
    [ELEM_U8] = FLOAT_KERNELS(cast_u8),
    [ELEM_F16] = { "cast_f16",
                   { [ELEM_F32] = KERNEL_ROW(cast_f16_f32),
                     [ELEM_I32] = KERNEL_ROW(cast_f16_i32) } },
    [ELEM_F32] = { "cast_f32",
                   { [ELEM_F16] = KERNEL_ROW(cast_f32_f16),
                     [ELEM_I32] = KERNEL_ROW(cast_f32_i32) } },
    [ELEM_I32] = { "cast_i32",
                   { [ELEM_F16] = KERNEL_ROW(cast_i32_f16),
                     [ELEM_F32] = KERNEL_ROW(cast_i32_f32) } },
    [ELEM_U32] = { "cast_u32", { 0 } },
};

/* Operands of one shape, of which the second has a number per channel (if there are kernels for
 * that), or is one number; the same number as first operand. */
static const struct binary_kernels {
    struct typed_kernels whole, channel, scalar, scalar_first;
} binary[] = {
#define KERNELS(name, channel, first)                                                              \
    {                                                                                              \
        FLOAT_KERNELS(name), channel, FLOAT_KERNELS(name##_scalar), FLOAT_KERNELS(first)           \
    }
#define NO_KERNELS                                                                                 \
    {                                                                                              \
        NULL,                                                                                      \
        {                                                                                          \
            NULL                                                                                   \
        }                                                                                          \
    }
    [BINARY_ADD] = KERNELS(add, FLOAT_KERNELS(add_channel), add_scalar),
    [BINARY_SUB] = KERNELS(sub, FLOAT_KERNELS(sub_channel), scalar_sub),
    [BINARY_MUL] = KERNELS(mul, FLOAT_KERNELS(mul_channel), mul_scalar),
    [BINARY_MAX] = KERNELS(max, FLOAT_KERNELS(max_channel), max_scalar),
    [BINARY_MIN] = KERNELS(min, FLOAT_KERNELS(min_channel), min_scalar),
    [BINARY_DIV] = KERNELS(div, NO_KERNELS, scalar_div),
    [BINARY_POW] = KERNELS(pow, NO_KERNELS, scalar_pow),
    [BINARY_LESS] = KERNELS(less, NO_KERNELS, scalar_less),
    [BINARY_LESS_OR_EQUAL] = KERNELS(less_or_equal, NO_KERNELS, scalar_less_or_equal),
    [BINARY_EQUAL] = KERNELS(equal, NO_KERNELS, equal_scalar),
};

static const struct typed_kernels slopes[] = {
    [SLOPE_RELU] = FLOAT_KERNELS(relu_slope),
    [SLOPE_SIGMOID] = FLOAT_KERNELS(sigmoid_slope),
    [SLOPE_TANH] = FLOAT_KERNELS(tanh_slope),
    [SLOPE_SWISH] = FLOAT_KERNELS(swish_slope),
};

_Static_assert(EMU_COUNT_OF(slopes) == SLOPE_COUNT, "kernels of slopes");
_Static_assert(EMU_COUNT_OF(unary) == UNARY_COUNT, "kernels of unary operations");
_Static_assert(EMU_COUNT_OF(binary) == BINARY_COUNT, "kernels of binary operations");
_Static_assert(EMU_COUNT_OF(cast) == ELEM_COUNT, "kernels of casts");

/* An operation with its operands and result; a codelet uses those that its state has. */
struct elementwise_op {
    const struct codelet *codelet;
    struct tensor a, b, c, out;
    float value, second;    /* of scalar operands */
    struct dim_order order; /* in which work is divided; all operands have the same shape then */
};

/* Adds the vertex for part i. */
static void add_vertex(struct graph *g, uint32_t cs, const struct elementwise_op *e,
                       const struct tile_parts *s, size_t i)
{
    const struct codelet *c = e->codelet;
    struct tensor a = tile_part_take(g, s, i, e->a), out = tile_part_take(g, s, i, e->out);
    uint32_t tile = s->at[i].tile;

    switch (codelet_state(c)) {
    case STATE_fill_u8:
        VERTEX_OF(fill_u8, c, g, cs, tile, .out = out, .value = (uint32_t)(int64_t)e->value);
        break;
    case STATE_fill:
        VERTEX_OF(fill, c, g, cs, tile, .out = out, .value = e->value);
        break;
    case STATE_unary:
        VERTEX_OF(unary, c, g, cs, tile, .x = a, .y = out);
        break;
    case STATE_scalar:
        VERTEX_OF(scalar, c, g, cs, tile, .a = a, .b = e->value, .out = out);
        break;
    case STATE_scalars:
        VERTEX_OF(scalars, c, g, cs, tile, .x = a, .y = out, .p = e->value, .q = e->second);
        break;
    case STATE_select:
        VERTEX_OF(select, c, g, cs, tile, .cond = a, .a = tile_part_take(g, s, i, e->b),
                  .b = tile_part_take(g, s, i, e->c), .out = out);
        break;
    case STATE_binary:
        VERTEX_OF(binary, c, g, cs, tile, .a = a, .b = tile_part_take(g, s, i, e->b), .out = out);
        break;
    case STATE_channel: /* all of b */
        VERTEX_OF(channel, c, g, cs, tile, .a = a, .b = e->b, .out = out);
        break;
    default:
        EMU_ASSERT(codelet_state(c) == STATE_axpy);
        VERTEX_OF(axpy, c, g, cs, tile, .a = e->value, .x = a, .y = out);
    }
}

/* The same operation with its operands in its order. */
static struct elementwise_op in_order(struct graph *g, const struct elementwise_op *e)
{
    struct elementwise_op now = *e;
    unsigned operands = codelet_state(e->codelet) == STATE_select   ? 3
                        : codelet_state(e->codelet) == STATE_binary ? 2
                                                                    : 1;

    now.a = op_in_order(g, &e->order, e->a);
    if (operands > 1)
        now.b = op_in_order(g, &e->order, e->b);
    if (operands > 2)
        now.c = op_in_order(g, &e->order, e->c);
    now.out = op_in_order(g, &e->order, e->out);
    return now;
}

/* Adds a vertex for each part of the result. */
static void run_elementwise(struct graph *g, struct program seq, const struct elementwise_op *op,
                            const char *name)
{
    struct elementwise_op now, *e = &now;
    struct tile_parts s;
    uint32_t cs;
    enum emu_status st;

    if (!op->codelet || ss_graph_status(g) != EMU_OK)
        return;
    now = in_order(g, op);
    st = tile_parts_of(g, e->out, &s);

    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s: %s", name, ss_error());
        return;
    }
    cs = op_compute_set(g, seq, name);
    for (size_t i = 0; i < s.count; i++)
        add_vertex(g, cs, e, &s, i);
    tile_parts_free(&s);
}

/* An operation on one tensor with up to two scalars, into a new one. */
static struct tensor run_one(struct graph *g, struct program seq, const struct typed_kernels *k,
                             struct tensor t, enum elem to, float value, float second,
                             const char *name)
{
    struct dim_order order;
    struct tensor out = op_like_one_of(g, &t, 1, to, &order, name);
    struct elementwise_op e = { .codelet = kernel_of_type(g, k, to),
                                .a = t,
                                .out = out,
                                .value = value,
                                .second = second,
                                .order = order };

    run_elementwise(g, seq, &e, name);
    return out;
}

void ss_op_fill(struct graph *g, struct program seq, struct tensor t, float value, const char *name)
{
    struct elementwise_op e = {
        .codelet = kernel_of_type(g, &fill, ss_tensor_elem(g, t)), .a = t, .out = t, .value = value
    };

    run_elementwise(g, seq, &e, name);
}

struct tensor ss_op_cast(struct graph *g, struct program seq, struct tensor t, enum elem to,
                         const char *name)
{
    return run_one(g, seq, &cast[ss_tensor_elem(g, t)], t, to, 0, 0, name);
}

struct tensor ss_op_unary(struct graph *g, struct program seq, enum unary_op op, struct tensor t,
                          const char *name)
{
    return run_one(g, seq, &unary[op], t, ss_tensor_elem(g, t), -1, 0, name);
}

/* A bound beyond the largest f16 is no bound; rounded to it, it would be one. */
static float bound_of_type(enum elem e, float x)
{
    const float most = 65504;

    return e == ELEM_F16 && fabsf(x) > most ? copysignf(INFINITY, x) : x;
}

struct tensor ss_op_clamp(struct graph *g, struct program seq, struct tensor t, float low,
                          float high, const char *name)
{
    enum elem e = ss_tensor_elem(g, t);

    return run_one(g, seq, &clamp, t, e, bound_of_type(e, low), bound_of_type(e, high), name);
}

struct tensor ss_op_hard_sigmoid(struct graph *g, struct program seq, struct tensor t, float alpha,
                                 float beta, const char *name)
{
    return run_one(g, seq, &hard_sigmoid, t, ss_tensor_elem(g, t), alpha, beta, name);
}

struct tensor ss_op_leaky_relu(struct graph *g, struct program seq, struct tensor t, float slope,
                               const char *name)
{
    if (slope <= 1)
        return run_one(g, seq, &leaky_relu, t, ss_tensor_elem(g, t), slope, 0, name);
    return ss_op_binary(g, seq, BINARY_MIN, ss_op_binary_scalar(g, seq, BINARY_MUL, t, slope, name),
                        t, name);
}

/* Whether every tile has whole rows of c elements of t, and the codelet supports rows of that size.
 */
static int has_whole_rows(struct graph *g, struct tensor t, uint32_t c)
{
    unsigned vector = 8 / ss_elem_bytes(ss_tensor_elem(g, t));
    struct tile_run *run;
    size_t runs;
    int whole = c % vector == 0;
    enum emu_status s = ss_graph_tile_runs(g, t, &run, &runs);

    if (s != EMU_OK) {
        ss_graph_fail(g, s, "%s", ss_error());
        return 0;
    }
    for (size_t i = 0; i < runs; i++)
        whole = whole && run[i].begin % c == 0 && run[i].end % c == 0;
    ss_free(run);
    return whole;
}

/* b [c] repeated to the shape of a. */
static struct tensor broadcast(struct graph *g, struct tensor a, struct tensor b)
{
    unsigned rank = ss_tensor_rank(g, a);
    const uint32_t *shape = ss_tensor_shape(g, a);
    uint32_t c = shape[rank - 1], rows = c ? (uint32_t)(ss_tensor_elements(g, a) / c) : 0;
    struct tensor row = ss_tensor_reshape(g, b, 2, (const uint32_t[]){ 1, c });

    return ss_tensor_broadcast(g, row, 0, rows);
}

struct tensor ss_op_binary(struct graph *g, struct program seq, enum binary_op op, struct tensor a,
                           struct tensor b, const char *name)
{
    int whole = op_has_shape_of(g, a, b), channel = 0;
    struct tensor operand[] = { a, b };
    struct elementwise_op e = { .a = a, .b = b };
    struct tensor out = op_like_one_of(g, operand, whole ? 2 : 1, ss_tensor_elem(g, a),
                                       whole ? &e.order : NULL, name);
    unsigned rank = ss_tensor_rank(g, a);

    e.out = out;

    if (!whole) {
        if (!rank || ss_tensor_rank(g, b) != 1 ||
            ss_tensor_shape(g, a)[rank - 1] != ss_tensor_shape(g, b)[0]) {
            ss_graph_fail(
                g, EMU_BAD_PROGRAM,
                "%s: the second operand has neither the shape of the first nor that of its "
                "last dimension",
                name);
            return out;
        }
        channel = binary[op].channel.of[ss_tensor_elem(g, a)] &&
                  has_whole_rows(g, out, ss_tensor_shape(g, b)[0]);
        if (!channel)
            e.b = broadcast(g, a, b);
    }
    e.codelet =
        kernel_of_type(g, channel ? &binary[op].channel : &binary[op].whole, ss_tensor_elem(g, a));
    run_elementwise(g, seq, &e, name);
    return out;
}

struct tensor ss_op_slope(struct graph *g, struct program seq, enum slope_op op, struct tensor v,
                          struct tensor dy, const char *name)
{
    const struct tensor operand[] = { dy, v };
    struct dim_order order;
    struct tensor out = op_like_one_of(g, operand, 2, ss_tensor_elem(g, dy), &order, name);
    struct elementwise_op e = { .codelet = kernel_of_type(g, &slopes[op], ss_tensor_elem(g, dy)),
                                .a = v,
                                .b = dy,
                                .out = out,
                                .order = order };

    run_elementwise(g, seq, &e, name);
    return out;
}

/* The vertices for one block of channels, of one picture or of all. Where a tile has a part of a
 * position, the numbers of the channels are repeated for every position. */
static void add_block(struct graph *g, uint32_t cs, enum binary_op op, struct elementwise_op e)
{
    struct tile_parts s;
    enum emu_status st;

    if (!has_whole_rows(g, e.out, (uint32_t)ss_tensor_elements(g, e.b))) {
        e.codelet = kernel_of_type(g, &binary[op].whole, ss_tensor_elem(g, e.out));
        e.b = broadcast(g, e.out, e.b);
    }
    st = ss_graph_status(g) == EMU_OK ? tile_parts_of(g, e.out, &s) : ss_graph_status(g);
    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s", ss_error());
        return;
    }
    for (size_t i = 0; i < s.count; i++)
        add_vertex(g, cs, &e, &s, i);
    tile_parts_free(&s);
}

struct tensor ss_op_binary_channels(struct graph *g, struct program seq, enum binary_op op,
                                    struct tensor t, struct tensor v, const char *name)
{
    enum elem type = ss_tensor_elem(g, t);
    const uint32_t *shape = ss_tensor_shape(g, t);
    unsigned rank = ss_tensor_rank(g, t);
    uint32_t blocks = shape[0], n = shape[1], c = rank ? shape[rank - 1] : 1, cs;
    uint64_t channels = (uint64_t)blocks * c,
             lists = channels ? ss_tensor_elements(g, v) / channels : 0;
    struct tensor out = op_like(g, t, type, name);
    struct elementwise_op e = { .codelet = kernel_of_type(g, &binary[op].channel, type) };

    if (ss_graph_status(g) != EMU_OK)
        return out;
    if ((lists != 1 && lists != n) || !e.codelet) {
        ss_graph_fail(g, EMU_BAD_PROGRAM, "%s: the second operand has no number for each channel",
                      name);
        return out;
    }
    v = ss_tensor_reshape(g, v, 3, (const uint32_t[]){ (uint32_t)lists, blocks, c });
    cs = op_compute_set(g, seq, name);
    for (uint32_t b = 0; b < blocks; b++) {
        for (uint32_t k = 0; k < lists; k++) {
            uint32_t end = lists == 1 ? n : k + 1;

            e.a = ss_tensor_slice(g, ss_tensor_index(g, t, b), 0, k, end);
            e.out = ss_tensor_slice(g, ss_tensor_index(g, out, b), 0, k, end);
            e.b = ss_tensor_index(g, ss_tensor_index(g, v, k), b);
            add_block(g, cs, op, e);
        }
    }
    return out;
}

struct tensor ss_op_binary_scalar(struct graph *g, struct program seq, enum binary_op op,
                                  struct tensor a, float b, const char *name)
{
    return run_one(g, seq, &binary[op].scalar, a, ss_tensor_elem(g, a), b, 0, name);
}

struct tensor ss_op_scalar_binary(struct graph *g, struct program seq, enum binary_op op, float a,
                                  struct tensor b, const char *name)
{
    return run_one(g, seq, &binary[op].scalar_first, b, ss_tensor_elem(g, b), a, 0, name);
}

struct tensor ss_op_select(struct graph *g, struct program seq, struct tensor cond, struct tensor a,
                           struct tensor b, const char *name)
{
    enum elem type = ss_tensor_elem(g, a);
    struct tensor operand[] = { cond, a, b };
    struct dim_order order;
    struct tensor out = op_like_one_of(g, operand, 3, type, &order, name);
    struct elementwise_op e = { .codelet = kernel_of_type(g, &choice, type),
                                .a = cond,
                                .b = a,
                                .c = b,
                                .out = out,
                                .order = order };

    if (!op_has_shape_of(g, cond, a) || !op_has_shape_of(g, cond, b))
        ss_graph_fail(g, EMU_BAD_PROGRAM, "%s: the operands have different shapes", name);
    run_elementwise(g, seq, &e, name);
    return out;
}

void ss_op_axpy(struct graph *g, struct program seq, float a, struct tensor x, struct tensor y,
                const char *name)
{
    struct elementwise_op e = {
        .codelet = kernel_of_type(g, &axpy, ss_tensor_elem(g, y)), .a = x, .out = y, .value = a
    };

    if (!op_has_shape_of(g, x, y))
        ss_graph_fail(g, EMU_BAD_PROGRAM, "%s: the operands have different shapes", name);
    run_elementwise(g, seq, &e, name);
}
