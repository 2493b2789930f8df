/* asm_expr.c - expressions: parsed to trees, folded as far as the source is known, evaluated again
 * by the linker.
 *
 * Values are 64 bits and wrap. A place is an offset in a section of yet unknown address; the
 * distance of two places in one section is a number at once, and so are the low bits that the
 * alignment of the section fixes. A symbol set by .equ stands for the value it has at this point of
 * the source. Precedence is that of C, with all comparisons on one level.
 */
#include <stdlib.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/fp.h"

/* Operators of two characters have a letter of their own. */
enum {
    OP2_SHL = 'L',
    OP2_SHR = 'R',
    OP2_EQ = 'e',
    OP2_NE = 'n',
    OP2_LE = 'l',
    OP2_GE = 'g',
    OP2_AND = 'A',
    OP2_OR = 'O'
};

/* Unary operators without a character: an address as a field of data. It must be a multiple of
 * 1 << scale, and fit the bits after the shift. */
enum { OP_RELATIVE_16_S2 = 1, OP_ABS18_S2, OP_ABS19_S2, OP_ABS_21 };

static const struct asm_field {
    const char *text;
    uint8_t op, bits, scale;
    uint8_t relative; /* to the start of the memory */
} fields[] = {
    { "relative@16@s2", OP_RELATIVE_16_S2, 16, 2, 1 },
    { "abs18@s2", OP_ABS18_S2, 18, 2, 0 },
    { "abs19@s2", OP_ABS19_S2, 19, 2, 0 },
    { "abs@21", OP_ABS_21, 21, 0, 0 },
};

static const struct asm_infix {
    char text[3];
    char op;
    uint8_t level;
}

/* two characters before one */
operators[] = {
    { "||", OP2_OR, 1 },  { "&&", OP2_AND, 2 }, { "==", OP2_EQ, 6 }, { "!=", OP2_NE, 6 },
    { "<>", OP2_NE, 6 },  { "<=", OP2_LE, 6 },  { ">=", OP2_GE, 6 }, { "<<", OP2_SHL, 7 },
    { ">>", OP2_SHR, 7 }, { "|", '|', 3 },      { "^", '^', 4 },     { "&", '&', 5 },
    { "<", '<', 6 },      { ">", '>', 6 },      { "+", '+', 8 },     { "-", '-', 8 },
    { "*", '*', 9 },      { "/", '/', 9 },      { "%", '%', 9 },
};

/* ---- evaluation ---- */

struct expr_evaluation {
    int linked;
    unsigned budget, depth;
};

static struct value number(int64_t v)
{
    return (struct value){ VALUE_NUMBER, v, NULL, NULL };
}

static struct value place(struct section *s, int64_t offset)
{
    return (struct value){ VALUE_PLACE, offset, s, NULL };
}

static struct value wrong(const char *why)
{
    return (struct value){ VALUE_WRONG, 0, NULL, why };
}

static struct value unknown(void)
{
    return (struct value){ VALUE_UNKNOWN, 0, NULL, NULL };
}

static int64_t wrap(uint64_t v)
{
    return (int64_t)v;
}

static struct value divide(char op, int64_t a, int64_t b)
{
    if (!b)
        return wrong("division by zero");
    if (b == -1)
        return number(op == '/' ? wrap(-(uint64_t)a) : 0);
    return number(op == '/' ? a / b : a % b);
}

static struct value binary_numbers(char op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;

    switch (op) {
    case '+':
        return number(wrap(x + y));
    case '-':
        return number(wrap(x - y));
    case '*':
        return number(wrap(x * y));
    case '/':
    case '%':
        return divide(op, a, b);
    case '&':
        return number(wrap(x & y));
    case '|':
        return number(wrap(x | y));
    case '^':
        return number(wrap(x ^ y));
    case OP2_SHL:
        return number(y < 64 ? wrap(x << y) : 0);
    case OP2_SHR:
        return number(y < 64 ? a >> y : a >> 63);
    case '<':
        return number(a < b);
    case '>':
        return number(a > b);
    case OP2_LE:
        return number(a <= b);
    case OP2_GE:
        return number(a >= b);
    case OP2_EQ:
        return number(a == b);
    case OP2_NE:
        return number(a != b);
    case OP2_AND:
        return number(a && b);
    default:
        return number(a || b);
    }
}

/* At least one side is a place. */
static struct value binary_places(char op, struct value a, struct value b)
{
    if (op == '+' && b.kind == VALUE_NUMBER)
        return place(a.section, wrap((uint64_t)a.number + (uint64_t)b.number));
    if (op == '+' && a.kind == VALUE_NUMBER)
        return place(b.section, wrap((uint64_t)a.number + (uint64_t)b.number));
    if (op == '-' && b.kind == VALUE_NUMBER)
        return place(a.section, wrap((uint64_t)a.number - (uint64_t)b.number));
    if (a.kind == VALUE_PLACE && b.kind == VALUE_PLACE) {
        if (a.section == b.section && strchr("-<>lgen", op))
            return binary_numbers(op, a.number, b.number);
        return unknown();
    }
    if (a.kind == VALUE_PLACE && op == '&' && b.number >= 0 && b.number < a.section->align)
        return number(a.number & b.number);
    if (a.kind == VALUE_PLACE && op == '%' && b.number > 0 && !(b.number & (b.number - 1)) &&
        b.number <= a.section->align)
        return number(a.number & (b.number - 1));
    return unknown();
}

static struct value eval(struct expr_evaluation *e, const struct expr_node *n);

/* Whether a definition in another file may be preferred. */
static int is_replaceable(const struct symbol *s)
{
    return s->weak || s->common;
}

static struct value eval_symbol(struct expr_evaluation *e, struct symbol *s)
{
    struct value v;

    if (e->linked && s->resolved)
        s = s->resolved;
    if (s->state == SYMBOL_LABEL && (e->linked || !is_replaceable(s)))
        return e->linked ? number((int64_t)s->section->addr + s->offset)
                         : place(s->section, s->offset);
    if (!e->linked)
        return unknown();
    if (s->state == SYMBOL_UNDEFINED) /* reported where it is used, unless only .size uses it */
        return s->uses ? number(0) : unknown();
    if (s->visiting)
        return wrong("a symbol is defined by itself");
    s->visiting = 1;
    v = eval(e, s->value);
    s->visiting = 0;
    return v;
}

static struct value eval_field(unsigned op, int64_t v)
{
    const struct asm_field *f = fields;

    while (f->op != op)
        f++;
    if (v < 0 || v >> f->scale >> f->bits || v & ((1 << f->scale) - 1))
        return wrong("the address does not fit its field");
    return number(v >> f->scale);
}

static struct value eval_unary(char op, struct value v)
{
    if (v.kind == VALUE_PLACE)
        return unknown();
    if (v.kind != VALUE_NUMBER)
        return v;
    switch (op) {
    case '-':
        return number(wrap(-(uint64_t)v.number));
    case '~':
        return number(~v.number);
    case '!':
        return number(!v.number);
    default:
        return eval_field((unsigned)op, v.number);
    }
}

static struct value eval_binary(struct expr_evaluation *e, const struct expr_node *n)
{
    struct value a = eval(e, n->u.left), b = eval(e, n->right);

    if (a.kind == VALUE_WRONG)
        return a;
    if (b.kind == VALUE_WRONG)
        return b;
    if (a.kind == VALUE_UNKNOWN || b.kind == VALUE_UNKNOWN)
        return unknown();
    if (a.kind == VALUE_NUMBER && b.kind == VALUE_NUMBER)
        return binary_numbers((char)n->op, a.number, b.number);
    return binary_places((char)n->op, a, b);
}

static struct value eval(struct expr_evaluation *e, const struct expr_node *n)
{
    struct value v;

    if (!e->budget || e->depth > MAX_NODE_DEPTH)
        return wrong("expression too large");
    e->budget--;
    e->depth++;
    switch (n->kind) {
    case NODE_NUMBER:
        v = number(n->number);
        break;
    case NODE_PLACE:
        v = e->linked ? number(wrap((uint64_t)n->number + n->u.section->addr))
                      : place(n->u.section, n->number);
        break;
    case NODE_SYMBOL:
        v = eval_symbol(e, n->u.symbol);
        break;
    case NODE_UNARY:
        v = eval_unary((char)n->op, eval(e, n->u.left));
        break;
    default:
        v = eval_binary(e, n);
        break;
    }
    e->depth--;
    return v;
}

struct value expr_eval(const struct expr_node *n, int linked)
{
    struct expr_evaluation e = { linked, MAX_NODE_WEIGHT, 0 };

    return eval(&e, n);
}

int expr_external(const struct expr_node *n, struct symbol **symbol, int64_t *addend)
{
    const struct expr_node *left = n->u.left;
    struct value v;

    if (n->kind == NODE_SYMBOL) {
        *symbol = n->u.symbol;
        *addend = 0;
        return n->u.symbol->state == SYMBOL_UNDEFINED || is_replaceable(n->u.symbol);
    }
    if (n->kind != NODE_BINARY || (n->op != '+' && n->op != '-'))
        return 0;
    v = expr_eval(n->right, 0);
    if (v.kind == VALUE_NUMBER && expr_external(left, symbol, addend)) {
        *addend = wrap((uint64_t)*addend + (n->op == '+' ? 1 : -1) * (uint64_t)v.number);
        return 1;
    }
    v = expr_eval(left, 0);
    if (n->op != '+' || v.kind != VALUE_NUMBER || !expr_external(n->right, symbol, addend))
        return 0;
    *addend = wrap((uint64_t)*addend + (uint64_t)v.number);
    return 1;
}

/* ---- building ---- */

const struct expr_node *expr_number(struct as *as, int64_t v)
{
    struct expr_node *n = unit_alloc(as->u, 1, sizeof(*n));

    if (n)
        *n = (struct expr_node){ .kind = NODE_NUMBER, .number = v, .weight = 1 };
    return n;
}

const struct expr_node *expr_place(struct as *as, struct section *s, int64_t offset)
{
    struct expr_node *n = unit_alloc(as->u, 1, sizeof(*n));

    if (n)
        *n =
            (struct expr_node){ .kind = NODE_PLACE, .number = offset, .weight = 1, .u.section = s };
    return n;
}

/* An inner node, or what it folds to. right is NULL for unary operators. */
static const struct expr_node *make(struct as *as, struct loc at, char op,
                                    const struct expr_node *left, const struct expr_node *right)
{
    struct expr_node n = {
        .kind = right ? NODE_BINARY : NODE_UNARY, .op = (uint8_t)op, .u.left = left, .right = right
    };
    struct expr_node *copy;
    struct value v;

    n.weight = 1 + left->weight + (right ? right->weight : 0);
    n.depth = (uint16_t)(1 + (right && right->depth > left->depth ? right->depth : left->depth));
    if (n.weight > MAX_NODE_WEIGHT || n.depth > MAX_NODE_DEPTH) {
        as_error(as, at, "expression too large");
        return NULL;
    }
    v = left->kind <= NODE_PLACE && (!right || right->kind <= NODE_PLACE) ? expr_eval(&n, 0)
                                                                          : unknown();
    if (v.kind == VALUE_WRONG) {
        as_error(as, at, "%s", v.why);
        return NULL;
    }
    if (v.kind == VALUE_NUMBER)
        return expr_number(as, v.number);
    if (v.kind == VALUE_PLACE)
        return expr_place(as, v.section, v.number);
    copy = unit_alloc(as->u, 1, sizeof(*copy));
    if (copy)
        *copy = n;
    return copy;
}

const struct expr_node *expr_binary(struct as *as, struct loc at, char op,
                                    const struct expr_node *left, const struct expr_node *right)
{
    return left && right ? make(as, at, op, left, right) : NULL;
}

static const struct expr_node *make_symbol(struct as *as, struct symbol *s, struct loc at)
{
    struct expr_node *n;

    if (!s)
        return NULL;
    if (s->state == SYMBOL_LABEL && !is_replaceable(s))
        return expr_place(as, s->section, s->offset);
    if (s->state == SYMBOL_VARIABLE && !is_replaceable(s))
        return s->value;
    if (!as->in_size && section_is_loaded(as->section) && !s->uses++)
        s->first_use = at;
    n = unit_alloc(as->u, 1, sizeof(*n));
    if (n)
        *n = (struct expr_node){ .kind = NODE_SYMBOL, .weight = 1, .u.symbol = s };
    return n;
}

/* ---- parsing ---- */

static int digits_value(struct span s, unsigned base, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        int c = s.s[i] | 0x20;
        unsigned d = c >= 'a' ? (unsigned)(c - 'a' + 10) : (unsigned)(c & 0xf);

        if (d >= base || (c < '0' || (c > '9' && c < 'a')))
            return 0;
        if (__builtin_mul_overflow(*out, (uint64_t)base, out) ||
            __builtin_add_overflow(*out, (uint64_t)d, out))
            return 0;
    }
    return s.n > 0;
}

/* Decimal digits with a point or an exponent and the suffix h: the bits of the f16 value. */
static const struct expr_node *half_number(struct as *as, struct span s, struct loc at)
{
    struct fp_env env = { 0 };
    char text[64];
    char *end;
    uint16_t h;

    if (s.n > sizeof(text) - 1) {
        as_error(as, at, "number too long");
        return NULL;
    }
    memcpy(text, s.s, s.n);
    text[s.n] = 0;
    h = fp_f16_from_f64(strtod(text, &end), 0, &env);
    if (strcmp(end, "h")) {
        as_error(as, at, "bad number '%s' (an f16 number is written 1.5h)", text);
        return NULL;
    }
    if (env.flags & FP_OFLO) {
        as_error(as, at, "%s is larger than an f16 can be", text);
        return NULL;
    }
    return expr_number(as, h);
}

/* The text of a number: name characters, and the sign of a decimal exponent. */
static struct span number_text(struct as *as)
{
    struct frame *f = as->top;
    const char *start = f->p;
    int hex = f->end - start > 1 && start[0] == '0' && (start[1] | 0x20) == 'x';

    while (f->p < f->end &&
           (lex_is_name((unsigned char)*f->p) ||
            (!hex && f->p > start && (f->p[-1] | 0x20) == 'e' && (*f->p == '+' || *f->p == '-'))))
        f->p++;
    return span_of(start, (size_t)(f->p - start));
}

static const struct expr_node *parse_number(struct as *as)
{
    struct loc at = lex_here(as);
    struct span s = number_text(as);
    uint64_t v;
    int last = s.s[s.n - 1], ok;

    if (s.n > 2 && s.s[0] == '0' && (s.s[1] | 0x20) == 'x')
        ok = digits_value(span_of(s.s + 2, s.n - 2), 16, &v);
    else if (s.n > 2 && s.s[0] == '0' && (s.s[1] | 0x20) == 'b')
        ok = digits_value(span_of(s.s + 2, s.n - 2), 2, &v);
    else if (last == 'h')
        return half_number(as, s, at);
    else if ((last == 'b' || last == 'f') && digits_value(span_of(s.s, s.n - 1), 10, &v))
        return make_symbol(as, symbol_numbered(as, span_of(s.s, s.n - 1), last == 'f', at), at);
    else
        ok = digits_value(s, s.s[0] == '0' && s.n > 1 ? 8 : 10, &v);
    if (ok)
        return expr_number(as, wrap(v));
    as_error(as, at, "bad number '%.*s'", (int)s.n, s.s);
    return NULL;
}

static const struct expr_node *parse_character(struct as *as)
{
    struct frame *f = as->top;
    struct loc at = lex_here(as);
    int64_t v;

    if (f->end - f->p < 3 || f->p[1] == '\n' || (f->p[1] == '\\' ? f->end - f->p < 4 : 0)) {
        as_error(as, at, "bad character constant");
        return NULL;
    }
    f->p++;
    if (*f->p == '\\')
        f->p++;
    v = f->p[-1] == '\\' && *f->p == 'n' ? '\n' : (unsigned char)*f->p;
    f->p++;
    return lex_expect(as, '\'', " after the character") ? expr_number(as, v) : NULL;
}

static const struct expr_node *parse_level(struct as *as, unsigned level);

/* -1.0h flips the sign bit of the f16; any other minus is arithmetic. */
static const struct expr_node *parse_minus(struct as *as, const struct expr_node *n, struct loc at,
                                           const char *start)
{
    struct span s = span_of(start, (size_t)(as->top->p - start));
    int literal = s.n > 1 && *start >= '0' && *start <= '9' && s.s[s.n - 1] == 'h';

    if (literal || span_is(s, "infh") || span_is(s, "nanh"))
        return expr_number(as, n->number ^ 0x8000);
    return make(as, at, '-', n, NULL);
}

/* sym@abs18@s2: the field is made of the whole expression that the symbol is part of. */
static int parse_field(struct as *as)
{
    struct frame *f = as->top;
    struct loc at = lex_here(as);
    const char *start = ++f->p;
    struct span text;

    while (f->p < f->end && (lex_is_name((unsigned char)*f->p) || *f->p == '@'))
        f->p++;
    text = span_of(start, (size_t)(f->p - start));
    for (size_t i = 0; i < EMU_COUNT_OF(fields); i++) {
        if (!span_is(text, fields[i].text))
            continue;
        if (!as->in_data)
            return as_error(as, at, "@%s can only stand in data", fields[i].text);
        as->field = &fields[i];
        return 1;
    }
    return as_error(as, at, "unknown field '@%.*s'", (int)text.n, text.s);
}

static const struct expr_node *parse_name(struct as *as)
{
    struct loc at = lex_here(as);
    const struct expr_node *n;
    struct span name;

    if (!lex_name(as, &name))
        return NULL;
    if (span_is(name, ".")) {
        if (as->section)
            return expr_place(as, as->section, (int64_t)as->section->size);
        return NULL;
    }
    if (span_is(name, "infh"))
        return expr_number(as, FP_F16_INF);
    if (span_is(name, "nanh"))
        return expr_number(as, FP_F16_NAN);
    if (lex_peek(as) == '(' && exchange_function(as, name, &n))
        return n;
    if (lex_peek(as) == '@' && !parse_field(as))
        return NULL;
    return make_symbol(as, symbol_get(as, name), at);
}

/* $NAME: the number of a CSR or a weight entry, or a symbol whose name begins with the $. */
static const struct expr_node *parse_dollar(struct as *as)
{
    struct loc at = lex_here(as);
    struct span word = lex_word(as);
    int64_t v;

    if (word.n == 1) {
        as_error(as, at, "expected a name after '$'");
        return NULL;
    }
    switch (operand_dollar_name(as, span_of(word.s + 1, word.n - 1), &v)) {
    case DOLLAR_NUMBER:
        return expr_number(as, v);
    case DOLLAR_REGISTER:
        as_error(as, at, "a register cannot be part of an expression");
        return NULL;
    case DOLLAR_WRONG_MODE:
        as_error(as, at, "%.*s is not a name of %s", (int)word.n, word.s,
                 as->mode == MODE_WORKER ? "workers" : "the supervisor");
        return NULL;
    default:
        return make_symbol(as, symbol_get(as, word), at);
    }
}

static const struct expr_node *parse_unary(struct as *as)
{
    struct loc at;
    const char *start;
    const struct expr_node *n;
    int c;

    lex_blank(as);
    at = lex_here(as);
    c = lex_peek(as);
    if (c >= '0' && c <= '9')
        return parse_number(as);
    if (c == '\'')
        return parse_character(as);
    if (c == '(') {
        as->top->p++;
        n = parse_level(as, 1);
        return n && lex_expect(as, ')', "") ? n : NULL;
    }
    if (c == '-' || c == '~' || c == '!' || c == '+') {
        as->top->p++;
        lex_blank(as);
        start = as->top->p;
        if (as->expr_depth > MAX_EXPR_DEPTH) {
            as_error(as, at, "expression too deep");
            return NULL;
        }
        as->expr_depth++;
        n = parse_unary(as);
        as->expr_depth--;
        if (!n || c == '+')
            return n;
        return c == '-' ? parse_minus(as, n, at, start) : make(as, at, (char)c, n, NULL);
    }
    if (c == '$')
        return parse_dollar(as);
    if (lex_at_end(as))
        as_error(as, at, "expected an expression");
    else if (!lex_is_name_start(c) && c != '"')
        as_error(as, at, "expected an expression, found '%c'", c < 32 || c > 126 ? '?' : c);
    else
        return parse_name(as);
    return NULL;
}

static const struct asm_infix *peek_operator(struct as *as)
{
    const struct frame *f;

    if (lex_at_end(as))
        return NULL;
    f = as->top;
    for (size_t i = 0; i < EMU_COUNT_OF(operators); i++) {
        size_t n;

        if (*f->p != operators[i].text[0])
            continue;
        n = strlen(operators[i].text);
        if ((size_t)(f->end - f->p) >= n && !memcmp(f->p, operators[i].text, n))
            return &operators[i];
    }
    return NULL;
}

static const struct expr_node *parse_level(struct as *as, unsigned level)
{
    const struct expr_node *left, *right;
    const struct asm_infix *o;

    if (as->expr_depth > MAX_EXPR_DEPTH) {
        as_error(as, lex_here(as), "expression too deep");
        return NULL;
    }
    as->expr_depth++;
    left = parse_unary(as);
    while (left && (o = peek_operator(as)) && o->level >= level) {
        struct loc at = lex_here(as);

        as->top->p += strlen(o->text);
        right = parse_level(as, o->level + 1u);
        left = right ? make(as, at, o->op, left, right) : NULL;
    }
    as->expr_depth--;
    return left;
}

const struct expr_node *expr_parse(struct as *as)
{
    return parse_level(as, 1);
}

const struct expr_node *expr_parse_data(struct as *as, unsigned bytes)
{
    struct loc at = lex_here(as);
    const struct expr_node *n;

    as->in_data = 1;
    as->field = NULL;
    n = expr_parse(as);
    as->in_data = 0;
    if (!n || !as->field)
        return n;
    if (as->field->bits > 8 * bytes) {
        as_error(as, at, "@%s needs %u bits", as->field->text, as->field->bits);
        return NULL;
    }
    if (as->field->relative)
        n = expr_binary(as, at, '-', n, expr_number(as, as->u->arch.mem_base));
    return n ? make(as, at, (char)as->field->op, n, NULL) : NULL;
}

/* The expression itself; NULL after an error. */
static const struct expr_node *parse_evaluated(struct as *as, struct loc *at, struct value *out)
{
    const struct expr_node *n;

    lex_blank(as);
    *at = lex_here(as);
    n = expr_parse(as);
    if (!n)
        return NULL;
    *out = expr_eval(n, 0);
    if (out->kind != VALUE_WRONG)
        return n;
    as_error(as, *at, "%s", out->why);
    return NULL;
}

int expr_parse_value(struct as *as, struct loc *at, struct value *out)
{
    return parse_evaluated(as, at, out) != NULL;
}

int expr_parse_known(struct as *as, const char *what, struct loc *at, struct value *out)
{
    const struct expr_node *n = parse_evaluated(as, at, out);

    return n && (out->kind != VALUE_UNKNOWN || names_unknown(as, *at, what, n));
}

int expr_parse_number(struct as *as, const char *what, int64_t *out)
{
    struct loc at;
    struct value v;
    const struct expr_node *n = parse_evaluated(as, &at, &v);

    if (!n)
        return 0;
    *out = v.number;
    if (v.kind == VALUE_NUMBER)
        return 1;
    return v.kind == VALUE_UNKNOWN
               ? names_unknown(as, at, what, n)
               : as_error(as, at, "%s must be a number that is known here", what);
}
