/* elementwise_op.c - operations that treat each element alone: one vertex on each tile that has
 * elements of the first operand. */
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
    [UNARY_RSQRT] = FLOAT_KERNELS(rsqrt),
};

/* By the type of the operand; in a row by the type of the result. */
static const struct typed_kernels cast[] = {
    [ELEM_U8] = FLOAT_KERNELS(cast_u8),
    [ELEM_F16] = { "cast_f16", { [ELEM_F32] = KERNEL_ROW(cast_f16_f32) } },
    [ELEM_F32] = { "cast_f32",
                   { [ELEM_F16] = KERNEL_ROW(cast_f32_f16),
                     [ELEM_I32] = KERNEL_ROW(cast_f32_i32) } },
    [ELEM_I32] = { "cast_i32", { [ELEM_F32] = KERNEL_ROW(cast_i32_f32) } },
    [ELEM_U32] = { "cast_u32", { 0 } },
};

/* Operands of one shape, of which the second has a number per channel, or is one number. */
static const struct binary_kernels {
    struct typed_kernels whole, channel, scalar;
} binary[] = {
#define BINARY_KERNELS(name)                                                                       \
    {                                                                                              \
        FLOAT_KERNELS(name), FLOAT_KERNELS(name##_channel), FLOAT_KERNELS(name##_scalar)           \
    }
    [BINARY_ADD] = BINARY_KERNELS(add),
    [BINARY_SUB] = BINARY_KERNELS(sub),
    [BINARY_MUL] = BINARY_KERNELS(mul),
    [BINARY_MAX] = BINARY_KERNELS(max),
};

_Static_assert(EMU_COUNT_OF(unary) == UNARY_COUNT, "kernels of unary operations");
_Static_assert(EMU_COUNT_OF(binary) == BINARY_COUNT, "kernels of binary operations");
_Static_assert(EMU_COUNT_OF(cast) == ELEM_COUNT, "kernels of casts");

/* An operation with its operands and result; a codelet uses those that its state has. */
struct elementwise_op {
    const struct codelet *codelet;
    struct tensor a, b, out;
    float value; /* of a scalar operand */
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

/* Adds a vertex for each part of `like`. */
static void run_elementwise(struct graph *g, struct program seq, const struct elementwise_op *e,
                            struct tensor like, const char *name)
{
    struct tile_parts s;
    uint32_t cs;
    enum emu_status st = e->codelet ? tile_parts_of(g, like, &s) : graph_status(g);

    if (st != EMU_OK) {
        graph_fail(g, st, "%s: %s", name, emu_error());
        return;
    }
    cs = op_compute_set(g, seq, name);
    for (size_t i = 0; i < s.count; i++)
        add_vertex(g, cs, e, &s, i);
    tile_parts_free(&s);
}

void op_fill(struct graph *g, struct program seq, struct tensor t, float value, const char *name)
{
    struct elementwise_op e = {
        .codelet = kernel_of_type(g, &fill, tensor_elem(g, t)), .a = t, .out = t, .value = value
    };

    run_elementwise(g, seq, &e, t, name);
}

struct tensor op_cast(struct graph *g, struct program seq, struct tensor t, enum elem to,
                      const char *name)
{
    struct tensor out = op_like(g, t, to, name);
    struct elementwise_op e = { .codelet = kernel_of_type(g, &cast[tensor_elem(g, t)], to),
                                .a = t,
                                .out = out };

    run_elementwise(g, seq, &e, t, name);
    return out;
}

struct tensor op_unary(struct graph *g, struct program seq, enum unary_op op, struct tensor t,
                       const char *name)
{
    enum elem type = tensor_elem(g, t);
    struct tensor out = op_like(g, t, type, name);
    struct elementwise_op e = { .codelet = kernel_of_type(g, &unary[op], type),
                                .a = t,
                                .out = out };

    run_elementwise(g, seq, &e, t, name);
    return out;
}

/* Whether every tile has whole rows of c elements of t, and the codelet supports rows of that size.
 */
static int has_whole_rows(struct graph *g, struct tensor t, uint32_t c)
{
    unsigned vector = 8 / elem_bytes(tensor_elem(g, t));
    struct tile_run *run;
    size_t runs;
    int whole = c % vector == 0;
    enum emu_status s = graph_tile_runs(g, t, &run, &runs);

    if (s != EMU_OK) {
        graph_fail(g, s, "%s", emu_error());
        return 0;
    }
    for (size_t i = 0; i < runs; i++)
        whole = whole && run[i].begin % c == 0 && run[i].end % c == 0;
    emu_free(run);
    return whole;
}

/* b [c] repeated to the shape of a. */
static struct tensor broadcast(struct graph *g, struct tensor a, struct tensor b)
{
    unsigned rank = tensor_rank(g, a);
    const uint32_t *shape = tensor_shape(g, a);
    uint32_t c = shape[rank - 1], rows = c ? (uint32_t)(tensor_elements(g, a) / c) : 0;
    struct tensor row = tensor_reshape(g, b, 2, (const uint32_t[]){ 1, c });

    return tensor_broadcast(g, row, 0, rows);
}

struct tensor op_binary(struct graph *g, struct program seq, enum binary_op op, struct tensor a,
                        struct tensor b, const char *name)
{
    struct tensor out = op_like(g, a, tensor_elem(g, a), name);
    unsigned rank = tensor_rank(g, a);
    struct elementwise_op e = { .a = a, .b = b, .out = out };
    int channel = 0;

    if (!op_has_shape_of(g, a, b)) {
        if (!rank || tensor_rank(g, b) != 1 ||
            tensor_shape(g, a)[rank - 1] != tensor_shape(g, b)[0]) {
            graph_fail(g, EMU_BAD_PROGRAM,
                       "%s: the second operand has neither the shape of the first nor that of its "
                       "last dimension",
                       name);
            return out;
        }
        channel = has_whole_rows(g, a, tensor_shape(g, b)[0]);
        if (!channel)
            e.b = broadcast(g, a, b);
    }
    e.codelet =
        kernel_of_type(g, channel ? &binary[op].channel : &binary[op].whole, tensor_elem(g, a));
    run_elementwise(g, seq, &e, a, name);
    return out;
}

struct tensor op_binary_scalar(struct graph *g, struct program seq, enum binary_op op,
                               struct tensor a, float b, const char *name)
{
    enum elem type = tensor_elem(g, a);
    struct tensor out = op_like(g, a, type, name);
    struct elementwise_op e = {
        .codelet = kernel_of_type(g, &binary[op].scalar, type), .a = a, .out = out, .value = b
    };

    run_elementwise(g, seq, &e, a, name);
    return out;
}

void op_axpy(struct graph *g, struct program seq, float a, struct tensor x, struct tensor y,
             const char *name)
{
    struct elementwise_op e = {
        .codelet = kernel_of_type(g, &axpy, tensor_elem(g, y)), .a = x, .out = y, .value = a
    };

    if (!op_has_shape_of(g, x, y))
        graph_fail(g, EMU_BAD_PROGRAM, "%s: the operands have different shapes", name);
    run_elementwise(g, seq, &e, y, name);
}
