/* op_formula.c - formulas of functions, from text to steps (op_formula.h). */
#include "models/lower/op_formula.h"

#include <math.h>
#include <string.h>

#include "models/operators/op_function.h"
#include "models/pass/formula_text.h"

static const struct function_row rows[] = {
#define FINITE                        1
#define INFINITE                      0
#define FUNCTION(name, at_zero, text) { #name, 0, at_zero, text },
#define SLOPE(name, text)             { #name, 1, 0, text },
#define BINARY(name, op, order, commutes)
#include "models/lower/functions.def"
#undef BINARY
#undef SLOPE
#undef FUNCTION
#undef INFINITE
#undef FINITE
};

static const struct binary_row binary[] = {
#define FUNCTION(name, at_zero, text)
#define SLOPE(name, text)
#define BINARY(name, op, order, commutes) { OP_##name, BINARY_##op, order, commutes },
#define IN_ORDER                          0
#define SWAPPED                           1
#include "models/lower/functions.def"
#undef SWAPPED
#undef IN_ORDER
#undef BINARY
#undef SLOPE
#undef FUNCTION
};

static const struct {
    const char *name;
    enum formula_kind kind;
    int op;
} words[] = {
    { "Abs", FORMULA_UNARY, UNARY_ABS },
    { "Add", FORMULA_BINARY, BINARY_ADD },
    { "Ceil", FORMULA_UNARY, UNARY_CEIL },
    { "Clamp", FORMULA_CLAMP, 0 },
    { "Cos", FORMULA_UNARY, UNARY_COS },
    { "Div", FORMULA_BINARY, BINARY_DIV },
    { "Erf", FORMULA_UNARY, UNARY_ERF },
    { "Exp", FORMULA_UNARY, UNARY_EXP },
    { "Fill", FORMULA_FILL, 0 },
    { "Floor", FORMULA_UNARY, UNARY_FLOOR },
    { "Gelu", FORMULA_UNARY, UNARY_GELU },
    { "HardSigmoid", FORMULA_HARD_SIGMOID, 0 },
    { "HardSwish", FORMULA_UNARY, UNARY_HARD_SWISH },
    { "IsNaN", FORMULA_IS_NAN, 0 },
    { "LeakyRelu", FORMULA_LEAKY_RELU, 0 },
    { "Less", FORMULA_BINARY, BINARY_LESS },
    { "LessOrEqual", FORMULA_BINARY, BINARY_LESS_OR_EQUAL },
    { "Log", FORMULA_UNARY, UNARY_LOG },
    { "Min", FORMULA_BINARY, BINARY_MIN },
    { "Mul", FORMULA_BINARY, BINARY_MUL },
    { "Narrow", FORMULA_NARROW, 0 },
    { "Neg", FORMULA_UNARY, UNARY_NEG },
    { "Reciprocal", FORMULA_UNARY, UNARY_RECIPROCAL },
    { "Relu", FORMULA_UNARY, UNARY_RELU },
    { "ReluSlope", FORMULA_SLOPE, SLOPE_RELU },
    { "Round", FORMULA_UNARY, UNARY_ROUND },
    { "Rsqrt", FORMULA_UNARY, UNARY_RSQRT },
    { "Scale", FORMULA_SCALE, BINARY_MUL },
    { "Sigmoid", FORMULA_UNARY, UNARY_SIGMOID },
    { "SigmoidSlope", FORMULA_SLOPE, SLOPE_SIGMOID },
    { "Sign", FORMULA_UNARY, UNARY_SIGN },
    { "Sin", FORMULA_UNARY, UNARY_SIN },
    { "Sqrt", FORMULA_UNARY, UNARY_SQRT },
    { "Sub", FORMULA_BINARY, BINARY_SUB },
    { "Swish", FORMULA_UNARY, UNARY_SWISH },
    { "SwishSlope", FORMULA_SLOPE, SLOPE_SWISH },
    { "Tanh", FORMULA_UNARY, UNARY_TANH },
    { "TanhSlope", FORMULA_SLOPE, SLOPE_TANH },
    { "Where", FORMULA_WHERE, 0 },
    { "Wide", FORMULA_WIDE, 0 },
};

/* Operands by kind. */
static const unsigned ins[FORMULA_KINDS] = {
    [FORMULA_UNARY] = 1, [FORMULA_BINARY] = 2,       [FORMULA_SLOPE] = 2,      [FORMULA_WHERE] = 3,
    [FORMULA_FILL] = 1,  [FORMULA_WIDE] = 1,         [FORMULA_NARROW] = 1,     [FORMULA_IS_NAN] = 1,
    [FORMULA_CLAMP] = 3, [FORMULA_HARD_SIGMOID] = 3, [FORMULA_LEAKY_RELU] = 2, [FORMULA_SCALE] = 2,
};

/* ---- reading ---- */

struct formula_reader {
    struct op_formula *out;
    struct formula_operand stack[FORMULA_STACK], named[FORMULA_NAMES];
    unsigned depth;
    uint32_t known; /* a bit for each name that is taken */
};

static void put(struct formula_reader *r, struct formula_operand o)
{
    EMU_ASSERT(r->depth < FORMULA_STACK);
    r->stack[r->depth++] = o;
}

static void name(struct formula_reader *r, unsigned letter, struct formula_operand o)
{
    r->named[letter] = o;
    r->known |= 1u << letter;
}

static struct formula_operand value(unsigned v)
{
    return (struct formula_operand){ .value = v };
}

static struct formula_operand number(double v)
{
    return (struct formula_operand){ .is_number = 1, .number = v };
}

/* What is known before the program runs. */
static double folded(const struct formula_step *s)
{
    double a = s->in[0].number, b = s->in[1].number;

    if (s->kind == FORMULA_UNARY && s->op == UNARY_NEG)
        return -a;
    EMU_ASSERT(s->kind == FORMULA_BINARY);
    switch (s->op) {
    case BINARY_MUL:
        return a * b;
    case BINARY_DIV:
        return a / b;
    default:
        EMU_ASSERT(s->op == BINARY_SUB);
        return a - b;
    }
}

static void add_step(struct formula_reader *r, const struct formula_step *s)
{
    struct op_formula *f = r->out;
    int is_number = 1;

    for (unsigned k = 0; k < ins[s->kind]; k++)
        is_number &= s->in[k].is_number;
    if (is_number && s->kind != FORMULA_FILL) {
        put(r, number(folded(s)));
        return;
    }
    EMU_ASSERT(f->steps < FORMULA_STEPS);
    f->step[f->steps] = *s;
    put(r, value(FORMULA_FIRST + f->steps++));
}

static void apply(struct formula_reader *r, const char *word)
{
    struct formula_step s = { .kind = FORMULA_KINDS };

    for (unsigned k = 0; k < EMU_COUNT_OF(words); k++) {
        if (!strcmp(words[k].name, word))
            s = (struct formula_step){ .kind = words[k].kind, .op = words[k].op };
    }
    if (s.kind == FORMULA_KINDS)
        emu_abort(__FILE__, __LINE__, word);
    EMU_ASSERT(r->depth >= ins[s.kind]);
    r->depth -= ins[s.kind];
    memcpy(s.in, &r->stack[r->depth], ins[s.kind] * sizeof(s.in[0]));
    if (s.kind == FORMULA_SCALE && s.in[1].number == 1) {
        put(r, s.in[0]);
        return;
    }
    s.kind = s.kind == FORMULA_SCALE ? FORMULA_BINARY : s.kind;
    add_step(r, &s);
}

static void read_token(struct formula_reader *r, const struct formula_token *t)
{
    switch (t->kind) {
    case TOKEN_WORD:
        apply(r, t->word);
        break;
    case TOKEN_NAMED:
        EMU_ASSERT(r->depth > 0);
        name(r, t->name, r->stack[--r->depth]);
        break;
    case TOKEN_LETTER:
        EMU_ASSERT(r->known & 1u << t->name);
        put(r, r->named[t->name]);
        break;
    default:
        put(r, number(t->number));
    }
}

void op_formula_read(const struct function_row *row, const double attr[2], struct op_formula *out)
{
    struct formula_reader r = { .out = out };
    const char *at = row->text;
    struct formula_token t;

    out->steps = 0;
    name(&r, 'a' - 'a', number(attr[0]));
    name(&r, 'b' - 'a', number(attr[1]));
    name(&r, 'd' - 'a', value(FORMULA_D));
    name(&r, 'x' - 'a', value(FORMULA_X));
    name(&r, 'y' - 'a', value(FORMULA_X));
    while (t = formula_token_next(&at), t.kind != TOKEN_END)
        read_token(&r, &t);
    EMU_ASSERT(r.depth == 1 && out->steps > 0 &&
               r.stack[0].value == FORMULA_FIRST + out->steps - 1);
}

/* ---- rows of nodes ---- */

static int is_slope(const struct op_node *n)
{
    return op_node_is(n, OP_UnaryGradient);
}

const struct function_row *op_formula_row(unsigned k)
{
    return k < EMU_COUNT_OF(rows) ? &rows[k] : NULL;
}

const struct function_row *op_formula_find(const struct op_graph *g, const struct op_node *n)
{
    struct op_call c = op_attrs_of(g, n);
    const char *name = is_slope(n) ? op_string(&c, "function") : n->row->name;

    if (!strcmp(name, "Gelu") &&
        (is_slope(n) ? op_float(&c, "alpha") != 0 : op_is(&c, "approximate", "tanh")))
        name = "GeluTanh";
    for (unsigned k = 0; k < EMU_COUNT_OF(rows); k++) {
        if (rows[k].is_slope == is_slope(n) && !strcmp(rows[k].name, name))
            return &rows[k];
    }
    return NULL;
}

const struct binary_row *op_binary_row(const struct op_node *n)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(binary); k++) {
        if (op_node_is(n, binary[k].code))
            return &binary[k];
    }
    return NULL;
}

/* A bound of Clip, if there is one. */
static enum emu_status read_bound(const struct op_graph *g, uint32_t value, double *bound)
{
    struct op_tensor t;

    if (value == OP_NONE)
        return EMU_OK;
    TRY(op_value_read(g, value, &t));
    *bound = op_tensor_number(&t, 0);
    op_tensor_free(&t);
    return EMU_OK;
}

/* a and b of a formula. */
static enum emu_status read_attributes(const struct op_graph *g, const struct op_node *n,
                                       double attr[2])
{
    const struct op_function *f = op_function_find(n->row->name);
    struct op_call c = op_attrs_of(g, n);

    if (op_node_is(n, OP_Clip)) {
        attr[0] = -INFINITY;
        attr[1] = INFINITY;
        TRY(read_bound(g, op_tensor_value(&c, "min"), &attr[0]));
        return read_bound(g, op_tensor_value(&c, "max"), &attr[1]);
    }
    for (unsigned k = 0; k < 2; k++) {
        const char *name = is_slope(n) ? k ? "beta" : "alpha" : f ? op_function_attr(f, k) : NULL;

        attr[k] = name ? op_float(&c, name) : 0;
    }
    return EMU_OK;
}

enum emu_status op_formula_of(const struct op_graph *g, const struct op_node *n,
                              struct op_formula *out)
{
    double attr[2];

    TRY(read_attributes(g, n, attr));
    op_formula_read(op_formula_find(g, n), attr, out);
    return EMU_OK;
}
