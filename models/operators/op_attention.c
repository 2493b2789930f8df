/* op_attention.c - Attention is read as what it is made of (op_spelt.h): softmax(Q K^T scale) V for
 * each head, with a mask, keys and values of earlier steps, and heads of queries that share those
 * of keys.
 *
 *   softcap c   scores become c tanh(score / c) before the mask
 *   masks       of bools and the causal one put the least f16 in the place of a score; where that
 *               may leave a query nothing to look at, its row of probabilities is made zeros
 *   sharing     queries of heads that share keys are rows of one product: only views change
 */
#include <math.h>

#include "models/operators/op_spelt.h"

struct attention {
    struct spelling s;
    uint32_t batch, heads, shared; /* heads of keys; queries have shared times as many */
    uint32_t queries, keys, past;  /* steps; keys: with those of the past */
    uint32_t width, value_width;   /* of a head */
    int flat;                      /* 1: inputs are [batch][steps][heads * width] */
};

/* The score of keys that are masked. */
static const double least = -65504;

/* --- shapes ------------------------------------------------------------------------------- */

/* An input as [batch][heads][steps][width]. heads: of a flat one; 0: no number of heads is given.
 * 0: it is not one. */
static int as_heads(const struct op_shape *given, int64_t heads, struct op_shape *out)
{
    *out = *given;
    if (given->rank == 4)
        return 1;
    if (given->rank != 3 || heads < 1 || given->dim[2] % heads)
        return 0;
    *out = (struct op_shape){ given->type,
                              4,
                              { given->dim[0], (uint32_t)heads, given->dim[1],
                                given->dim[2] / (uint32_t)heads } };
    return 1;
}

/* Whether the past fits before the keys or values: it has the same shape but for the number of
 * steps. */
static int is_past(const struct attention *a, unsigned input, const struct op_shape *of)
{
    struct op_shape s;
    uint32_t value = spelt_input(&a->s, input);

    if (value == OP_NONE)
        return 1;
    s = a->s.g->value[value].shape;
    if (s.rank != 4 || s.dim[2] != a->past)
        return 0;
    s.dim[2] = of->dim[2];
    return op_shape_equal(&s, of);
}

/* NULL: all is well, else why it is not built. */
static const char *read_attention(struct attention *a)
{
    const struct op_request *r = a->s.r;
    const struct op_value *value = a->s.g->value;
    int64_t q_heads = op_request_attr(r, "q_num_heads").i;
    int64_t kv_heads = op_request_attr(r, "kv_num_heads").i;
    uint32_t past = spelt_input(&a->s, 4);
    struct op_shape q, k, v;

    a->flat = value[r->in[0]].shape.rank == 3;
    if (!as_heads(&value[r->in[0]].shape, q_heads, &q) ||
        !as_heads(&value[r->in[1]].shape, kv_heads, &k) ||
        !as_heads(&value[r->in[2]].shape, kv_heads, &v))
        return "inputs are neither [batch, heads, steps, width] nor, with q_num_heads and "
               "kv_num_heads, [batch, steps, heads * width]";
    if (q.dim[0] != k.dim[0] || k.dim[0] != v.dim[0] || k.dim[1] != v.dim[1] ||
        k.dim[2] != v.dim[2] || q.dim[3] != k.dim[3] || !k.dim[1] || q.dim[1] % k.dim[1])
        return "queries, keys and values do not go together";
    a->past = past == OP_NONE ? 0 : value[past].shape.dim[2];
    if ((past == OP_NONE) != (spelt_input(&a->s, 5) == OP_NONE) || !is_past(a, 4, &k) ||
        !is_past(a, 5, &v))
        return "past keys and values do not go together";
    if (spelt_input(&a->s, 6) != OP_NONE)
        return "nonpad_kv_seqlen is not built: give a mask";
    if (spelt_wants(&a->s, 3) && (op_request_attr(r, "qk_matmul_output_mode").i == 1 ||
                                  op_request_attr(r, "qk_matmul_output_mode").i == 2))
        return "scores with their mask or softcap as a result are not built";
    a->batch = q.dim[0];
    a->heads = k.dim[1];
    a->shared = q.dim[1] / k.dim[1];
    a->queries = q.dim[2];
    a->keys = a->past + k.dim[2];
    a->width = q.dim[3];
    a->value_width = v.dim[3];
    return NULL;
}

/* [batch][heads][rows][columns] of a type that a Reshape does not look at. */
static struct op_shape matrices(const struct attention *a, uint32_t heads, uint32_t rows,
                                uint32_t columns)
{
    return (struct op_shape){ .rank = 4, .dim = { a->batch, heads, rows, columns } };
}

/* --- inputs ------------------------------------------------------------------------------- */

static const int64_t steps_first[] = { 0, 2, 1, 3 };

static uint32_t split_heads(struct attention *a, const char *suffix, uint32_t x, uint32_t heads,
                            uint32_t steps, uint32_t width)
{
    struct op_shape apart = matrices(a, steps, heads, width);

    if (!a->flat)
        return x;
    return spelt_transpose(&a->s, suffix, spelt_reshape(&a->s, ".split", x, &apart), steps_first);
}

/* Keys (1) or values (2) with those of earlier steps, which are results, too. */
static uint32_t with_past(struct attention *a, unsigned input, uint32_t width)
{
    uint32_t x = split_heads(a, input == 1 ? ".keys" : ".values", spelt_input(&a->s, input),
                             a->heads, a->keys - a->past, width);
    const struct spelt_part all = { .op = OP_Concat,
                                    .suffix = input == 1 ? ".all_keys" : ".all_values",
                                    .in = { spelt_input(&a->s, 3 + input), x, OP_NONE },
                                    .attr = { { "axis", { .kind = OP_ATTR_INT, .i = 2 } } },
                                    .attrs = 1,
                                    .result = SPELT_PART };

    if (all.in[0] != OP_NONE)
        x = spelt_put(&a->s, &all);
    spelt_give(&a->s, input, x);
    return x;
}

/* --- masks -------------------------------------------------------------------------------- */

/* A bool for each query and key: the key is not behind the query. */
static uint32_t causal_mask(struct attention *a)
{
    struct op_shape s = { OP_TYPE_BOOL, 2, { a->queries, a->keys } };
    struct op_tensor t;
    uint32_t mask = OP_NONE;

    if (a->s.status == EMU_OK)
        a->s.status = op_tensor_new(&s, &t);
    if (a->s.status != EMU_OK)
        return OP_NONE;
    for (uint64_t i = 0; i < a->queries; i++) {
        for (uint64_t j = 0; j < a->keys; j++)
            t.i[i * a->keys + j] = j <= i + a->past;
    }
    a->s.status = op_value_constant(a->s.g, NULL, &t, &mask);
    op_tensor_free(&t);
    return mask;
}

static uint32_t masked(struct attention *a, uint32_t mask, uint32_t scores, const char *suffix)
{
    const struct op_shape one = { .type = spelt_shape(&a->s, scores).type };
    struct spelt_part part = {
        .op = OP_Where, .suffix = suffix, .in = { mask, scores, OP_NONE }, .result = SPELT_PART
    };

    if (a->s.status == EMU_OK)
        a->s.status = op_constant_new(a->s.g, &one, &least, &part.in[2]);
    return spelt_put(&a->s, &part);
}

static int is_bool(const struct attention *a, uint32_t mask)
{
    return mask != OP_NONE && op_type_kind(a->s.g->value[mask].shape.type) == OP_KIND_BOOL;
}

/* Whether each row of a constant mask lets something through. */
static int lets_through(struct attention *a, uint32_t mask)
{
    uint32_t width = a->s.g->value[mask].shape.dim[a->s.g->value[mask].shape.rank - 1];
    int all = 1, row = 0;
    struct op_tensor t;

    if (a->s.status == EMU_OK)
        a->s.status = op_value_read(a->s.g, mask, &t);
    if (a->s.status != EMU_OK)
        return 1;
    for (uint64_t k = 0; k < op_shape_count(&t.shape); k++) {
        row |= t.i[k] != 0;
        if ((k + 1) % width == 0) {
            all &= row;
            row = 0;
        }
    }
    op_tensor_free(&t);
    return all;
}

/* Probabilities of what a mask hides as zeros. */
static uint32_t hidden(struct attention *a, uint32_t mask, uint32_t p, const char *suffix)
{
    const struct spelt_part ones = {
        .op = OP_Cast,
        .suffix = ".lets_through",
        .in = { mask, OP_NONE },
        .attr = { { "to",
                    { .kind = OP_ATTR_INT,
                      .i = op_type_onnx_number(spelt_shape(&a->s, p).type) } } },
        .attrs = 1,
        .result = SPELT_PART
    };

    return spelt_binary(&a->s, OP_Mul, suffix, p, spelt_put(&a->s, &ones));
}

/* --- the product -------------------------------------------------------------------------- */

static uint32_t scores_of(struct attention *a, uint32_t keys)
{
    static const int64_t swap[] = { 0, 1, 3, 2 };
    const struct op_attr scale = op_request_attr(a->s.r, "scale");
    const struct op_shape rows = matrices(a, a->heads, a->shared * a->queries, a->width);
    const struct op_shape all = matrices(a, a->heads * a->shared, a->queries, a->keys);
    uint32_t q = split_heads(a, ".queries", spelt_input(&a->s, 0), a->heads * a->shared, a->queries,
                             a->width);
    double by = scale.kind == OP_ATTR_NONE ? 1 / sqrt(a->width) : scale.f;

    q = spelt_by(&a->s, OP_Mul, ".scale", q, by);
    if (a->shared > 1)
        q = spelt_reshape(&a->s, ".rows", q, &rows);
    q = spelt_binary(&a->s, OP_MatMul, ".scores", q,
                     spelt_transpose(&a->s, ".turned_keys", keys, swap));
    return a->shared > 1 ? spelt_reshape(&a->s, ".by_head", q, &all) : q;
}

static uint32_t capped(struct attention *a, uint32_t scores)
{
    double cap = op_request_attr(a->s.r, "softcap").f;

    if (cap == 0)
        return scores;
    scores = spelt_by(&a->s, OP_Mul, ".by_cap", scores, 1 / cap);
    scores = spelt_unary(&a->s, OP_Tanh, ".tanh", scores);
    return spelt_by(&a->s, OP_Mul, ".capped", scores, cap);
}

static uint32_t probabilities(struct attention *a, uint32_t scores)
{
    uint32_t mask = spelt_input(&a->s, 3), p;
    int causal = op_request_attr(a->s.r, "is_causal").i != 0;
    uint32_t before = causal ? causal_mask(a) : OP_NONE;

    if (causal)
        scores = masked(a, before, scores, ".causal");
    if (is_bool(a, mask))
        scores = masked(a, mask, scores, ".masked");
    else if (mask != OP_NONE)
        scores = spelt_binary(&a->s, OP_Add, ".masked", scores, mask);
    p = spelt_unary(&a->s, OP_Softmax, ".softmax", scores);
    if (!is_bool(a, mask) || (!causal && op_value_settled(a->s.g, mask) && lets_through(a, mask)))
        return p;
    p = hidden(a, mask, p, ".seen");
    return causal ? hidden(a, before, p, ".seen_before") : p;
}

static uint32_t weighted(struct attention *a, uint32_t p, uint32_t values)
{
    const struct op_shape rows = matrices(a, a->heads, a->shared * a->queries, a->keys);
    const struct op_shape all = matrices(a, a->heads * a->shared, a->queries, a->value_width);
    const struct op_shape flat = {
        .rank = 3, .dim = { a->batch, a->queries, a->heads * a->shared * a->value_width }
    };

    if (a->shared > 1)
        p = spelt_reshape(&a->s, ".probability_rows", p, &rows);
    p = spelt_binary(&a->s, OP_MatMul, ".weighted", p, values);
    if (a->shared > 1)
        p = spelt_reshape(&a->s, ".heads", p, &all);
    if (a->flat)
        p = spelt_reshape(&a->s, ".joined", spelt_transpose(&a->s, ".steps", p, steps_first),
                          &flat);
    return p;
}

/* Softmax is f32 inside on the chip, whatever softmax_precision says. */
enum emu_status upgrade_attention(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    struct attention a = { .s = { .g = g, .r = r, .out = out } };
    const char *why = read_attention(&a);
    int after = op_request_attr(r, "qk_matmul_output_mode").i == 3;
    uint32_t keys, values, scores, p;

    if (why)
        return op_node_refuse(g, r, out, "%s", why);
    keys = with_past(&a, 1, a.width);
    values = with_past(&a, 2, a.value_width);
    scores = scores_of(&a, keys);
    p = probabilities(&a, capped(&a, scores));
    spelt_give(&a.s, 3, after ? p : scores);
    spelt_give(&a.s, 0, weighted(&a, p, values));
    return a.s.status;
}
