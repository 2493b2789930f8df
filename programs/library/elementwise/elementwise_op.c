/* elementwise_op.c - operations that treat each element alone: one vertex per tile, on the tile
 * where the first operand's elements lie.
 */
#include "programs/library/layout/tile_shares.h"

static const char *const unary_names[] = { "relu", "sigmoid", "swish", "tanh",
                                           "exp",  "sqrt",    "rsqrt" };
static const char *const binary_names[] = { "add", "sub", "mul", "max" };

_Static_assert(EMU_COUNT_OF(unary_names) == UNARY_COUNT, "names of unary operations");
_Static_assert(EMU_COUNT_OF(binary_names) == BINARY_COUNT, "names of binary operations");

/* An operand of an elementwise operation: a field and the tensor it takes its share of. */
struct operand_field {
    const char *field;
    struct tensor t;
    int whole; /* every vertex gets all of t */
};

/* What the vertices of an operation have in common besides the operands. */
struct elementwise {
    const char *codelet;
    struct operand_field operand[3];
    unsigned operands;
    const char *scalar; /* field; NULL: none */
    enum elem scalar_elem;
    float value;
};

static void set_scalar(struct graph *g, uint32_t v, const struct elementwise *e)
{
    if (!e->scalar)
        return;
    if (e->scalar_elem == ELEM_F16)
        vertex_set_f16(g, v, e->scalar, e->value);
    else if (e->scalar_elem == ELEM_F32)
        vertex_set_f32(g, v, e->scalar, e->value);
    else
        vertex_set_u32(g, v, e->scalar, (uint32_t)(int64_t)e->value);
}

/* One vertex per share of `like`. */
static void run_elementwise(struct graph *g, struct program seq, const struct elementwise *e,
                            struct tensor like, const char *name)
{
    struct shares s;
    uint32_t cs;
    enum emu_status st = shares_of(g, like, &s);

    if (st != EMU_OK) {
        graph_fail(g, st, "%s: %s", name, emu_error());
        return;
    }
    cs = op_compute_set(g, seq, name);
    for (size_t i = 0; i < s.count; i++) {
        uint32_t v = graph_vertex(g, cs, e->codelet, s.at[i].tile);

        for (unsigned k = 0; k < e->operands; k++) {
            const struct operand_field *o = &e->operand[k];

            vertex_connect(g, v, o->field, o->whole ? o->t : share_take(g, &s, i, o->t));
        }
        set_scalar(g, v, e);
    }
    shares_free(&s);
}

void op_fill(struct graph *g, struct program seq, struct tensor t, float value, const char *name)
{
    char codelet[40];
    enum elem type = tensor_elem(g, t);
    struct elementwise e = { .codelet = codelet_name(codelet, "fill", type),
                             .operand = { { "out", t, 0 } },
                             .operands = 1,
                             .scalar = "value",
                             .scalar_elem = type,
                             .value = value };

    run_elementwise(g, seq, &e, t, name);
}

struct tensor op_cast(struct graph *g, struct program seq, struct tensor t, enum elem to,
                      const char *name)
{
    struct tensor out = op_like(g, t, to, name);
    char codelet[40];
    struct elementwise e = { .codelet = codelet,
                             .operand = { { "x", t, 0 }, { "y", out, 0 } },
                             .operands = 2 };

    snprintf(codelet, sizeof(codelet), "cast_%s_%s", elem_name(tensor_elem(g, t)), elem_name(to));
    run_elementwise(g, seq, &e, t, name);
    return out;
}

struct tensor op_unary(struct graph *g, struct program seq, enum unary_op op, struct tensor t,
                       const char *name)
{
    struct tensor out = op_like(g, t, tensor_elem(g, t), name);
    char codelet[40];
    struct elementwise e = { .codelet = codelet_name(codelet, unary_names[op], tensor_elem(g, t)),
                             .operand = { { "x", t, 0 }, { "y", out, 0 } },
                             .operands = 2 };

    run_elementwise(g, seq, &e, t, name);
    return out;
}

/* Whether every tile has whole rows of c elements of t, and the codelet takes rows of that size. */
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
static struct tensor spread(struct graph *g, struct tensor a, struct tensor b)
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
    char codelet[40], family[20];
    struct elementwise e = { .codelet = codelet,
                             .operand = { { "a", a, 0 }, { "b", b, 0 }, { "out", out, 0 } },
                             .operands = 3 };

    if (!op_has_shape_of(g, a, b)) {
        if (!rank || tensor_rank(g, b) != 1 ||
            tensor_shape(g, a)[rank - 1] != tensor_shape(g, b)[0]) {
            graph_fail(g, EMU_BAD_PROGRAM,
                       "%s: the second operand has neither the shape of the first nor that of its "
                       "last dimension",
                       name);
            return out;
        }
        e.operand[1].whole = has_whole_rows(g, a, tensor_shape(g, b)[0]);
        if (!e.operand[1].whole)
            e.operand[1].t = spread(g, a, b);
    }
    snprintf(family, sizeof(family), e.operand[1].whole ? "%s_channel" : "%s", binary_names[op]);
    codelet_name(codelet, family, tensor_elem(g, a));
    run_elementwise(g, seq, &e, a, name);
    return out;
}

struct tensor op_binary_scalar(struct graph *g, struct program seq, enum binary_op op,
                               struct tensor a, float b, const char *name)
{
    enum elem type = tensor_elem(g, a);
    struct tensor out = op_like(g, a, type, name);
    char codelet[40], family[20];
    struct elementwise e = { .codelet = codelet,
                             .operand = { { "a", a, 0 }, { "out", out, 0 } },
                             .operands = 2,
                             .scalar = "b",
                             .scalar_elem = type,
                             .value = b };

    snprintf(family, sizeof(family), "%s_scalar", binary_names[op]);
    codelet_name(codelet, family, type);
    run_elementwise(g, seq, &e, a, name);
    return out;
}

void op_axpy(struct graph *g, struct program seq, float a, struct tensor x, struct tensor y,
             const char *name)
{
    enum elem type = tensor_elem(g, y);
    char codelet[40];
    struct elementwise e = { .codelet = codelet_name(codelet, "axpy", type),
                             .operand = { { "x", x, 0 }, { "y", y, 0 } },
                             .operands = 2,
                             .scalar = "a",
                             .scalar_elem = type,
                             .value = a };

    if (!op_has_shape_of(g, x, y))
        graph_fail(g, EMU_BAD_PROGRAM, "%s: the operands have different shapes", name);
    run_elementwise(g, seq, &e, y, name);
}
