/* op_spelt.c - operators that are read as what they are made of:
 *
 *   Mish              x tanh(softplus(x))
 *   Swish             x sigmoid(alpha x), where alpha is not 1: nodes have only that of 1
 *   RMSNormalization  x / root(mean(x^2) + epsilon) scale, over the axes from `axis` on
 *   RotaryEmbedding   pairs (a, b) of each head's first numbers become
 *                     (a cos - b sin, a sin + b cos)
 */

#include "models/operators/op_spelt.h"

/* --- parts -------------------------------------------------------------------------------- */

int spelt_wants(const struct spelling *s, unsigned k)
{
    const char *const *name = s->r->out_name;

    return k < s->r->outs && (!name || (name[k] && *name[k]));
}

uint32_t spelt_input(const struct spelling *s, unsigned k)
{
    return k < s->r->ins ? s->r->in[k] : OP_NONE;
}

struct op_shape spelt_shape(const struct spelling *s, uint32_t value)
{
    return s->status == EMU_OK ? s->g->value[value].shape : (struct op_shape){ .rank = 0 };
}

/* Results keep the names that the file gives. */
uint32_t spelt_put(struct spelling *s, const struct spelt_part *part)
{
    const struct op_request *r = s->r;
    const char *of = r->name && *r->name ? r->name : r->op;
    int last = part->result != SPELT_PART;
    struct op_request q = { .op = op_name(part->op),
                            .name = last ? r->name : op_graph_text(s->g, "%s%s", of, part->suffix),
                            .block = r->block,
                            .in = part->in,
                            .out_name = last && r->out_name ? &r->out_name[part->result] : NULL,
                            .outs = 1,
                            .attr = part->attr,
                            .attrs = part->attrs };
    uint32_t out = OP_NONE;

    if (s->status != EMU_OK)
        return OP_NONE;
    while (q.ins < SPELT_INS && part->in[q.ins] != OP_NONE)
        q.ins++;
    s->status = op_node(s->g, &q, &out);
    if (last)
        s->out[part->result] = out;
    return out;
}

uint32_t spelt_unary(struct spelling *s, enum op_code op, const char *suffix, uint32_t x)
{
    return spelt_binary(s, op, suffix, x, OP_NONE);
}

uint32_t spelt_binary(struct spelling *s, enum op_code op, const char *suffix, uint32_t x,
                      uint32_t y)
{
    const struct spelt_part part = {
        .op = op, .suffix = suffix, .in = { x, y, OP_NONE }, .result = SPELT_PART
    };

    return spelt_put(s, &part);
}

uint32_t spelt_by(struct spelling *s, enum op_code op, const char *suffix, uint32_t x, double y)
{
    const struct op_shape one = { .type = spelt_shape(s, x).type };
    uint32_t number = OP_NONE;

    if (s->status == EMU_OK)
        s->status = op_constant_new(s->g, &one, &y, &number);
    return spelt_binary(s, op, suffix, x, number);
}

uint32_t spelt_reshape(struct spelling *s, const char *suffix, uint32_t x,
                       const struct op_shape *to)
{
    int64_t dim[OP_RANK_MAX];
    const struct spelt_part part = {
        .op = OP_Reshape,
        .suffix = suffix,
        .in = { x, OP_NONE },
        .attr = { { "shape", { .kind = OP_ATTR_INTS, .count = to->rank, .ints = dim } } },
        .attrs = 1,
        .result = SPELT_PART
    };

    for (unsigned d = 0; d < to->rank; d++)
        dim[d] = to->dim[d];
    return spelt_put(s, &part);
}

uint32_t spelt_transpose(struct spelling *s, const char *suffix, uint32_t x, const int64_t perm[4])
{
    const struct spelt_part part = {
        .op = OP_Transpose,
        .suffix = suffix,
        .in = { x, OP_NONE },
        .attr = { { "perm", { .kind = OP_ATTR_INTS, .count = 4, .ints = perm } } },
        .attrs = 1,
        .result = SPELT_PART
    };

    return spelt_put(s, &part);
}

void spelt_give(struct spelling *s, unsigned k, uint32_t value)
{
    const struct spelt_part part = { .op = OP_Identity,
                                     .in = { value, OP_NONE },
                                     .result = (int)k };

    if (spelt_wants(s, k))
        spelt_put(s, &part);
}

/* --- functions of one number -------------------------------------------------------------- */

/* x times a value, as the result. */
static enum emu_status give_product(struct spelling *s, uint32_t x, uint32_t by)
{
    const struct spelt_part mul = { .op = OP_Mul, .in = { x, by, OP_NONE } };

    spelt_put(s, &mul);
    return s->status;
}

enum emu_status upgrade_mish(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    struct spelling s = { .g = g, .r = r, .out = out };
    uint32_t gate = spelt_unary(&s, OP_Softplus, ".softplus", r->in[0]);

    return give_product(&s, r->in[0], spelt_unary(&s, OP_Tanh, ".tanh", gate));
}

enum emu_status upgrade_swish(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    struct spelling s = { .g = g, .r = r, .out = out };
    double alpha = op_request_attr(r, "alpha").f;
    struct op_request now = *r;
    uint32_t gate;

    now.version = 0;
    now.attrs = 0;
    if (alpha == 1)
        return op_node(g, &now, out);
    gate = spelt_by(&s, OP_Mul, ".alpha", r->in[0], alpha);
    return give_product(&s, r->in[0], spelt_unary(&s, OP_Sigmoid, ".sigmoid", gate));
}

/* --- RMSNormalization --------------------------------------------------------------------- */

/* The mean of x over the axes from `first` on, which stay. */
static uint32_t mean_from(struct spelling *s, uint32_t x, unsigned first, unsigned rank)
{
    int64_t axis[OP_RANK_MAX];
    const struct spelt_part mean = {
        .op = OP_ReduceMean,
        .suffix = ".mean",
        .in = { x, OP_NONE },
        .attr = { { "axes", { .kind = OP_ATTR_INTS, .count = rank - first, .ints = axis } } },
        .attrs = 1,
        .result = SPELT_PART
    };

    for (unsigned d = first; d < rank; d++)
        axis[d - first] = d;
    return spelt_put(s, &mean);
}

/* Sums are f32 on the chip, whatever stash_type says. */
enum emu_status upgrade_rms_norm(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    struct spelling s = { .g = g, .r = r, .out = out };
    const struct op_shape x = g->value[r->in[0]].shape;
    int64_t axis = op_request_attr(r, "axis").i;
    uint32_t y;

    if (axis < -(int64_t)x.rank || axis >= x.rank)
        return op_node_refuse(g, r, out, "axis %lld is not one of %u dimensions", (long long)axis,
                              x.rank);
    if (op_type_kind(x.type) != OP_KIND_FLOAT)
        return op_node_refuse(g, r, out, "input 0 is %s, expected a float", op_type_text(x.type));
    axis += axis < 0 ? x.rank : 0;
    y = spelt_binary(&s, OP_Mul, ".squares", r->in[0], r->in[0]);
    y = mean_from(&s, y, (unsigned)axis, x.rank);
    y = spelt_by(&s, OP_Add, ".epsilon", y, op_request_attr(r, "epsilon").f);
    y = spelt_unary(&s, OP_Sqrt, ".root", y);
    return give_product(&s, spelt_binary(&s, OP_Div, ".unit", r->in[0], y), r->in[1]);
}

/* --- RotaryEmbedding ---------------------------------------------------------------------- */

struct rotary {
    struct spelling s;
    struct op_shape x; /* [batch][heads][steps][numbers] or [batch][steps][heads][numbers] */
    unsigned heads;    /* which of its dimensions they are */
    uint32_t turned;   /* of the numbers, the first ones */
    int interleaved;
};

/* Numbers from, from + step, .. up to `to` of each head. */
static uint32_t take(struct rotary *t, const char *suffix, uint32_t x, int64_t from, int64_t to,
                     int64_t step)
{
    static const int64_t last = 3;
    const struct spelt_part part = {
        .op = OP_Slice,
        .suffix = suffix,
        .in = { x, OP_NONE },
        .attr = { { "starts", { .kind = OP_ATTR_INTS, .count = 1, .ints = &from } },
                  { "ends", { .kind = OP_ATTR_INTS, .count = 1, .ints = &to } },
                  { "axes", { .kind = OP_ATTR_INTS, .count = 1, .ints = &last } },
                  { "steps", { .kind = OP_ATTR_INTS, .count = 1, .ints = &step } } },
        .attrs = 4,
        .result = SPELT_PART
    };

    return spelt_put(&t->s, &part);
}

static uint32_t join(struct rotary *t, const char *suffix, uint32_t a, uint32_t b, int64_t axis)
{
    const struct spelt_part part = { .op = OP_Concat,
                                     .suffix = suffix,
                                     .in = { a, b, OP_NONE },
                                     .attr = { { "axis", { .kind = OP_ATTR_INT, .i = axis } } },
                                     .attrs = 1,
                                     .result = SPELT_PART };

    return spelt_put(&t->s, &part);
}

/* Cosines or sines (input k) of all steps, as broadcast over the heads. */
static uint32_t angles(struct rotary *t, unsigned k)
{
    uint32_t table = spelt_input(&t->s, k), at = spelt_input(&t->s, 3);
    struct op_shape found, all = { .rank = 4 };

    if (at != OP_NONE)
        table = spelt_binary(&t->s, OP_Gather, k == 1 ? ".cosines" : ".sines", table, at);
    found = spelt_shape(&t->s, table);
    if (t->s.status != EMU_OK || found.type == OP_TYPE_UNKNOWN)
        return table;
    all.dim[0] = found.dim[0];
    all.dim[t->heads] = 1;
    all.dim[3 - t->heads] = found.dim[1];
    all.dim[3] = found.dim[2];
    return spelt_reshape(&t->s, k == 1 ? ".cos" : ".sin", table, &all);
}

/* Pairs of numbers side by side again. */
static uint32_t interleave(struct rotary *t, uint32_t a, uint32_t b)
{
    struct op_shape column = t->x, row = t->x;

    column.rank = 5;
    column.dim[3] = t->turned / 2;
    column.dim[4] = 1;
    row.dim[3] = t->turned;
    a = spelt_reshape(&t->s, ".first_column", a, &column);
    b = spelt_reshape(&t->s, ".second_column", b, &column);
    return spelt_reshape(&t->s, ".pairs", join(t, ".columns", a, b, 4), &row);
}

static uint32_t turn(struct rotary *t, uint32_t x)
{
    int64_t all = t->turned, half = all / 2, step = t->interleaved ? 2 : 1;
    uint32_t a = take(t, ".first", x, 0, t->interleaved ? all : half, step);
    uint32_t b = take(t, ".second", x, t->interleaved ? 1 : half, all, step);
    uint32_t cos = angles(t, 1), sin = angles(t, 2);
    uint32_t ac = spelt_binary(&t->s, OP_Mul, ".first_cos", a, cos);
    uint32_t as = spelt_binary(&t->s, OP_Mul, ".first_sin", a, sin);
    uint32_t bc = spelt_binary(&t->s, OP_Mul, ".second_cos", b, cos);
    uint32_t bs = spelt_binary(&t->s, OP_Mul, ".second_sin", b, sin);

    a = spelt_binary(&t->s, OP_Sub, ".turned_first", ac, bs);
    b = spelt_binary(&t->s, OP_Add, ".turned_second", as, bc);
    return t->interleaved ? interleave(t, a, b) : join(t, ".turned", a, b, 3);
}

/* Reads heads and what is turned. NULL: all is well, else what is wrong. */
static const char *read_rotary(struct rotary *t)
{
    const struct op_request *r = t->s.r;
    const struct op_shape x = t->s.g->value[r->in[0]].shape;
    const struct op_shape *cos = &t->s.g->value[r->in[1]].shape;
    int64_t heads = op_request_attr(r, "num_heads").i, turned;
    int by_place = spelt_input(&t->s, 3) != OP_NONE;

    t->x = x;
    t->heads = x.rank == 4 ? 1 : 2;
    if (x.rank == 3 && (heads < 1 || x.dim[2] % heads))
        return "num_heads is no divisor of the last dimension";
    if (x.rank == 3)
        t->x = (struct op_shape){
            x.type, 4, { x.dim[0], x.dim[1], (uint32_t)heads, x.dim[2] / (uint32_t)heads }
        };
    else if (x.rank != 4)
        return "the input has neither 3 nor 4 dimensions";
    turned = op_request_attr(r, "rotary_embedding_dim").i;
    turned = turned ? turned : t->x.dim[3];
    if (turned < 2 || turned > t->x.dim[3] || turned % 2)
        return "rotary_embedding_dim is odd, or more than a head has";
    if (cos->rank != (by_place ? 2 : 3) || cos->dim[cos->rank - 1] != turned / 2)
        return "cosines are no table of half of what is turned";
    if (!op_shape_equal(cos, &t->s.g->value[r->in[2]].shape))
        return "cosines and sines have other dimensions";
    if (by_place && t->s.g->value[spelt_input(&t->s, 3)].shape.rank != 2)
        return "position_ids have not two dimensions";
    t->turned = (uint32_t)turned;
    t->interleaved = op_request_attr(r, "interleaved").i != 0;
    return NULL;
}

enum emu_status upgrade_rotary(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    struct rotary t = { .s = { .g = g, .r = r, .out = out } };
    const char *why = read_rotary(&t);
    const struct op_shape given = g->value[r->in[0]].shape;
    uint32_t x = r->in[0], y;

    if (why)
        return op_node_refuse(g, r, out, "%s", why);
    if (given.rank == 3)
        x = spelt_reshape(&t.s, ".heads", x, &t.x);
    y = turn(&t, x);
    if (t.turned < t.x.dim[3])
        y = join(&t, ".all", y, take(&t, ".rest", x, t.turned, t.x.dim[3], 1), 3);
    if (given.rank == 3)
        y = spelt_reshape(&t.s, ".joined", y, &given);
    spelt_give(&t.s, 0, y);
    return t.s.status;
}
