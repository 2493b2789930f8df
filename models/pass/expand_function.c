/* expand_function.c - functions of numbers that tiles compute as several (pass_expand()): a row
 * each, a formula (formula_text.h) of the operands x and y, whose words are operators. */

#include "models/pass/expand.h"
#include "models/pass/formula_text.h"

/* atan of what is on top, which is in [-1, 1]: 2 atan(u) with u = v / (1 + root(1 + v^2)), and u
 * p(u^2) for atan(u), off by at most 2.2e-7 (Chebyshev's polynomial of degree 3 in u^2 up to tan(pi
 * / 8)^2). */
#define ATAN_OF_TOP                                                                                \
    " =v v 1 v v Mul Add Sqrt 1 Add Div =u u u Mul =s"                                             \
    " s -0.11111472336 Mul 0.19680585584 Add s Mul -0.33322714654 Add"                             \
    " s Mul 0.99999944130 Add u Mul 2 Mul"

/* asin(x) = 2 atan(x / (1 + root(1 - x^2))) */
#define ASIN "x 1 1 x Sub 1 x Add Mul Sqrt Add Div" ATAN_OF_TOP " 2 Mul"

static const struct formula_row {
    enum op_code op;
    const char *formula;
} formulas[] = {
    { OP_Acos, "1.5707963267948966 " ASIN " Sub" },
    { OP_Asin, ASIN },
    /* of 1 / |x| beyond 1 */
    { OP_Atan, "x Abs =a a a Reciprocal Min" ATAN_OF_TOP " =t "
               "1 a Less 1.5707963267948966 t Sub t Where x Sign Mul" },
    /* a - floor(a / b) b of magnitudes; the quotient is rounded, so that this may be off by b */
    { OP_Mod, "x Abs =a y Abs =b a a b Div Floor b Mul Sub =r "
              "r 0 Less r b Add r Where =r b r LessOrEqual r b Sub r Where x Sign Mul" },
};

/* A formula that is being read. */
struct reader {
    struct op_pass *p;
    const struct op_node *n;
    enum op_type type;
    uint32_t stack[FORMULA_STACK], named[FORMULA_NAMES];
    unsigned depth, nodes;
};

static void put(struct reader *r, uint32_t value)
{
    EMU_ASSERT(r->depth < FORMULA_STACK);
    r->stack[r->depth++] = value;
}

/* An operator with as many operands as its row has inputs. */
static enum emu_status apply(struct reader *r, const char *op)
{
    const struct op_row *row = op_row_find(op, 0);
    char *suffix = op_graph_text(r->p->g, ".%s%u", op, r->nodes++);
    struct expand_part part = { .op = row->code, .suffix = suffix };
    unsigned ins = row->ins_max <= EXPAND_INS ? row->ins_max : 2;
    uint32_t out;

    if (!suffix)
        return FAIL(NO_MEMORY, "a node");
    EMU_ASSERT(r->depth >= ins);
    r->depth -= ins;
    for (unsigned k = 0; k < EXPAND_INS; k++)
        part.in[k] = k < ins ? r->stack[r->depth + k] : OP_NONE;
    TRY(expand_put(r->p, r->n, &part, &out));
    put(r, out);
    return EMU_OK;
}

static enum emu_status read_token(struct reader *r, const struct formula_token *t)
{
    uint32_t v;

    switch (t->kind) {
    case TOKEN_WORD:
        return apply(r, t->word);
    case TOKEN_NAMED:
        r->named[t->name] = r->stack[--r->depth];
        return EMU_OK;
    case TOKEN_LETTER:
        put(r, r->named[t->name]);
        return EMU_OK;
    default:
        TRY(expand_number(r->p, r->type, t->number, &v));
        put(r, v);
        return EMU_OK;
    }
}

static enum emu_status read_formula(struct op_pass *p, const struct op_node *n, const char *formula,
                                    uint32_t *out)
{
    struct reader r = { .p = p, .n = n, .type = p->g->value[n->in[0]].shape.type };
    struct formula_token t;

    for (uint32_t k = 0; k < n->ins && k < 2; k++)
        r.named['x' - 'a' + k] = op_pass_now(p, n->in[k]);
    while (t = formula_token_next(&formula), t.kind != TOKEN_END)
        TRY(read_token(&r, &t));
    EMU_ASSERT(r.depth == 1);
    *out = r.stack[0];
    return EMU_OK;
}

enum emu_status expand_function(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(formulas); k++) {
        if (op_node_is(n, formulas[k].op) &&
            op_type_kind(p->g->value[n->in[0]].shape.type) == OP_KIND_FLOAT)
            return read_formula(p, n, formulas[k].formula, out);
    }
    return EMU_OK;
}

enum emu_status expand_is_inf(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    const struct op_call c = op_attrs_of(p->g, n);
    int above = op_int(&c, "detect_positive") != 0, below = op_int(&c, "detect_negative") != 0;
    static const char *const formula[2][2] = { { "x x Less",
                                                 "x inf Equal" }, /* none is below itself */
                                               { "x -inf Equal", "x Abs inf Equal" } };

    return read_formula(p, n, formula[below][above], out);
}

/* A float to the power of an integer. */
enum emu_status expand_power(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    enum op_type type = p->g->value[n->in[0]].shape.type;
    uint32_t exponent;

    if (op_type_kind(type) != OP_KIND_FLOAT ||
        op_type_kind(p->g->value[n->in[1]].shape.type) != OP_KIND_INT)
        return EMU_OK;
    TRY(expand_cast(p, n, ".exponent", op_pass_now(p, n->in[1]), type, &exponent));
    return expand_binary(p, n, OP_Pow, "", op_pass_now(p, n->in[0]), exponent, out);
}

/* Inference keeps everything. */
enum emu_status expand_dropout(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    const struct op_shape *x = &p->g->value[n->in[0]].shape;
    const struct op_shape one = { .type = OP_TYPE_BOOL };
    int64_t dim[OP_RANK_MAX], kept = 1;
    struct expand_part mask = {
        .op = OP_Expand,
        .suffix = ".mask",
        .attr = { { "shape", { .kind = OP_ATTR_INTS, .count = x->rank, .ints = dim } } },
        .attrs = 1
    };

    if (n->outs < 2)
        return EMU_OK;
    for (unsigned d = 0; d < x->rank; d++)
        dim[d] = x->dim[d];
    TRY(op_constant_new(p->g, &one, &kept, &mask.in[0]));
    mask.in[1] = OP_NONE;
    TRY(expand_put(p, n, &mask, &out[1]));
    return expand_unary(p, n, OP_Identity, "", op_pass_now(p, n->in[0]), &out[0]);
}
