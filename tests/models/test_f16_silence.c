/* test_f16_silence.c - f16 never lies silently: small networks of masks, epsilons, casts, positions
 * and norms, on a machine at the default precision. Each is right within 1 % of the largest number
 * of a reference that rounds to f32 after every node, and where no arithmetic can be right, a
 * warning is due. F16_CASE=NAME runs one.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch.h"
#include "models/lower/op_program.h"
#include "models/pass/pass_precision.h"
#include "models/ask/not_finite.h"
#include "tests/fixtures/pass_fixture.h"

enum { NAMES = 48, NAME = 16, LINE = 96, WORDS = 12, INPUTS = 4 };
static const double TOLERANCE = 0.01;

/* ---- networks in words ----
 *
 *   in x 4,32 3        a float input, numbers in [-3, 3]; "0": all are 0; "+3": [0, 3]
 *   ids p 1,12 5000    an i64 input: 5000, 4999, ..
 *   mask m 1,16 5      an i64 input: ones, the last 5 of a row 0
 *   truth t 1,16 5     the same as bool
 *   k w 1,8 0.5        a constant, numbers in [-0.5, 0.5]
 *   fill b 1,1 -1e9    a constant, all of one number
 *   causal c 8,8 -1e9  a constant: that number above the diagonal, else 0
 *   y Op a b axis=1    a node; arguments may be numbers, axes=1,2 a list, min=1e-9 a tensor
 *
 * Lines end at ';'. The last node is the output.
 */
struct words {
    char text[WORDS][LINE];
    unsigned count;
};

struct network {
    char name[NAMES][NAME];
    uint32_t value[NAMES];
    unsigned names;
    struct op_tensor in[INPUTS]; /* owned */
    unsigned ins;
};

static struct words split(const char *line)
{
    struct words w = { .count = 0 };
    int used = 0;

    while (w.count < WORDS && sscanf(line, " %95s%n", w.text[w.count], &used) == 1) {
        line += used;
        w.count++;
    }
    return w;
}

static struct op_shape shape_of(const char *text, enum op_type type)
{
    struct op_shape s = { .type = type };

    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        s.dim[s.rank++] = (uint32_t)strtoul(at, NULL, 10);
    return s;
}

static uint32_t named(struct network *n, const char *name, uint32_t value)
{
    assert_true(n->names < NAMES);
    snprintf(n->name[n->names], NAME, "%.*s", NAME - 1, name);
    n->value[n->names++] = value;
    return value;
}

static double drawn(uint64_t k, double size, int positive)
{
    double v = (double)((k * 37 + 11) % 128) / 64 - 1; /* in [-1, 1) */

    return size * (positive ? (v + 1) / 2 : v);
}

static double number_of(const char *kind, const char *text, const struct op_shape *s, uint64_t k)
{
    double v = strtod(text, NULL);
    uint32_t row = s->dim[s->rank - 1];

    if (!strcmp(kind, "ids"))
        return v - (double)k;
    if (!strcmp(kind, "mask") || !strcmp(kind, "truth"))
        return k % row + (uint64_t)v < row;
    if (!strcmp(kind, "fill"))
        return v;
    if (!strcmp(kind, "causal"))
        return k % row > k / row % row ? v : 0;
    return drawn(k, fabs(v), *text == '+');
}

static int declare(struct network *n, const struct words *w)
{
    static const struct {
        const char *kind;
        enum op_type type;
        int constant;
    } kinds[] = { { "in", OP_TYPE_F32, 0 },    { "ids", OP_TYPE_I64, 0 },
                  { "mask", OP_TYPE_I64, 0 },  { "truth", OP_TYPE_BOOL, 0 },
                  { "k", OP_TYPE_F32, 1 },     { "fill", OP_TYPE_F32, 1 },
                  { "causal", OP_TYPE_F32, 1 } };

    for (unsigned i = 0; i < EMU_COUNT_OF(kinds); i++) {
        struct op_shape s;
        struct op_tensor t;
        uint32_t v;

        if (strcmp(kinds[i].kind, w->text[0]))
            continue;
        s = shape_of(w->text[2], kinds[i].type);
        assert_int_equal(op_tensor_new(&s, &t), EMU_OK);
        for (uint64_t k = 0; k < op_shape_count(&s); k++) {
            double x = number_of(w->text[0], w->text[3], &s, k);

            if (kinds[i].type == OP_TYPE_F32)
                t.f[k] = (double)(float)x;
            else
                t.i[k] = (int64_t)x;
        }
        if (kinds[i].constant) {
            assert_int_equal(op_value_constant(net, NULL, &t, &v), EMU_OK);
            op_tensor_free(&t);
        } else {
            assert_int_equal(op_value_new(net, w->text[1], OP_INPUT, &s, &v), EMU_OK);
            assert_int_equal(op_graph_input(net, v), EMU_OK);
            n->in[n->ins++] = t;
        }
        named(n, w->text[1], v);
        return 1;
    }
    return 0;
}

static uint32_t operand(const struct network *n, const char *text)
{
    char *end;
    double v = strtod(text, &end);

    for (unsigned k = 0; k < n->names; k++) {
        if (!strcmp(n->name[k], text))
            return n->value[k];
    }
    if (*end)
        fail_msg("no value '%s'", text);
    return number(v);
}

/* name=1, name=1,2 (axes and the like), name=0.5 of a float, min=, max= of Clip. */
static struct op_named_attr attribute(const char *text, int64_t list[OP_RANK_MAX], char *name)
{
    const char *value = strchr(text, '=') + 1;
    struct op_named_attr a = { name, { .kind = OP_ATTR_INT, .i = strtol(value, NULL, 10) } };

    snprintf(name, NAME, "%.*s", (int)(value - 1 - text), text);
    if (!strcmp(name, "axes") || !strcmp(name, "shape")) {
        struct op_shape s = shape_of(value, OP_TYPE_I64);

        for (unsigned k = 0; k < s.rank; k++)
            list[k] = (int32_t)s.dim[k];
        a.attr = (struct op_attr){ .kind = OP_ATTR_INTS, .count = s.rank, .ints = list };
    } else if (!strcmp(name, "min") || !strcmp(name, "max")) {
        a.attr = (struct op_attr){ .kind = OP_ATTR_TENSOR, .value = number(strtod(value, NULL)) };
    }
    return a;
}

static void build_node(struct network *n, const struct words *w)
{
    struct op_named_attr attr[4];
    int64_t list[4][OP_RANK_MAX];
    char name[4][NAME];
    uint32_t in[WORDS], ins = 0, attrs = 0;

    for (unsigned k = 2; k < w->count; k++) {
        if (strchr(w->text[k], '='))
            attr[attrs] = attribute(w->text[k], list[attrs], name[attrs]), attrs++;
        else
            in[ins++] = operand(n, w->text[k]);
    }
    named(n, w->text[0], make(w->text[1], attr, attrs, in, ins));
}

static void build(const char *text, struct network *n)
{
    char line[LINE * 2];

    *n = (struct network){ .names = 0 };
    while (*text) {
        size_t length = strcspn(text, ";");
        struct words w;

        snprintf(line, sizeof(line), "%.*s", (int)length, text);
        w = split(line);
        if (!declare(n, &w))
            build_node(n, &w);
        text += length + (text[length] == ';');
    }
    assert_int_equal(op_graph_output(net, n->value[n->names - 1]), EMU_OK);
}

static void network_free(struct network *n)
{
    for (unsigned k = 0; k < n->ins; k++)
        op_tensor_free(&n->in[k]);
}

/* ---- the reference ---- */

/* As a library that computes in f32 has it: rounded after every node. */
static void reference(const struct network *n, struct op_tensor *out)
{
    struct op_tensor *t = calloc(net->values + 1, sizeof(*t));
    uint32_t last = net->output[0];

    assert_non_null(t);
    for (uint32_t k = 0; k < net->inputs; k++)
        t[net->input[k]] = n->in[k];
    for (uint32_t v = 0; v < net->values; v++) {
        if (op_value_constant_kind(&net->value[v]))
            assert_int_equal(op_value_read(net, v, &t[v]), EMU_OK);
    }
    for (uint32_t i = 0; i < net->nodes; i++) {
        const struct op_node *node = &net->node[i];
        const struct op_tensor *in[WORDS] = { NULL };

        for (uint32_t k = 0; k < node->ins; k++)
            in[k] = node->in[k] == OP_NONE ? NULL : &t[node->in[k]];
        assert_int_equal(op_node_run(net, node, in, &t[node->out[0]]), EMU_OK);
        for (uint64_t k = 0; op_type_kind(t[node->out[0]].shape.type) == OP_KIND_FLOAT &&
                             k < op_shape_count(&t[node->out[0]].shape);
             k++)
            t[node->out[0]].f[k] = (double)(float)t[node->out[0]].f[k];
    }
    *out = t[last];
    for (uint32_t v = 0; v < net->values; v++) {
        if (v != last && net->value[v].kind != OP_INPUT)
            op_tensor_free(&t[v]);
    }
    free(t);
}

/* ---- the machine ---- */

/* Runs the graph as `run` does; *warned: results were clipped, or are no numbers. */
static void execute(const struct network *n, struct op_tensor *out, int *warned)
{
    struct op_program_options o = { .lower = { .real = ELEM_F16 }, .compile = { .threads = 1 } };
    const struct session_options so = { .threads = 1, .overflow = 1 };
    struct not_finite found = { .rows = 0 };
    struct precision_notes notes;
    struct op_program p;
    struct session *s;

    assert_int_equal(op_graph_tidy(net), EMU_OK);
    not_finite_weights(&found, net, 1);
    assert_int_equal(pass_all(net), EMU_OK);
    assert_int_equal(pass_precision(net, &notes), EMU_OK);
    assert_int_equal(op_lower_check(net), EMU_OK);
    if (net->problems)
        fail_msg("%s: %s", net->problem[0].op, net->problem[0].why);
    if (op_program_new(ss_arch_preset("toy16"), net, &o, &p) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(ss_session_new(p.compiled, &so, &s), EMU_OK);
    for (uint32_t k = 0; k < net->inputs; k++) {
        not_finite_numbers(&found, "input", "x", &n->in[k]);
        assert_int_equal(op_program_write(&p, s, k, &n->in[k]), EMU_OK);
    }
    assert_int_equal(ss_session_run(s), EMU_OK);
    assert_int_equal(op_program_read(&p, s, 0, out), EMU_OK);
    not_finite_add(&found, "layer", "", ss_session_not_finite(s).nan,
                   ss_session_not_finite(s).infinite);
    not_finite_numbers(&found, "output", "y", out);
    *warned = found.rows || ss_session_overflow(s).tiles;
    ss_session_free(s);
    op_program_free(&p);
}

static double worst_of(const struct op_tensor *want, const struct op_tensor *got)
{
    double largest = 0, worst = 0;

    assert_true(op_shape_equal(&want->shape, &got->shape));
    for (uint64_t k = 0; k < op_shape_count(&want->shape); k++) {
        double v = op_tensor_number(want, k);

        if (isfinite(v))
            largest = fmax(largest, fabs(v));
    }
    for (uint64_t k = 0; k < op_shape_count(&want->shape); k++) {
        double a = op_tensor_number(want, k), b = op_tensor_number(got, k);

        if (a == b || (isnan(a) && isnan(b)))
            continue;
        worst = isnan(a - b) ? INFINITY : fmax(worst, fabs(a - b));
    }
    return largest > 0 ? worst / largest : worst;
}

/* ---- the table ---- */

enum expect {
    RIGHT, /* and without a warning */
    WARNED /* the numbers may be anything */
};

static const struct f16_case {
    const char *name, *text;
    enum expect expect;
    const char *meant; /* the network that is meant; NULL: it is the same */
} cases[] = {
#include "tests/models/f16_silence.def"
};

static void run_case(const struct f16_case *c)
{
    struct network n;
    struct op_tensor want, got;
    double worst;
    int warned;

    assert_int_equal(op_graph_new("test", &net), EMU_OK);
    build(c->meant ? c->meant : c->text, &n);
    reference(&n, &want);
    if (c->meant) {
        network_free(&n);
        op_graph_free(net);
        assert_int_equal(op_graph_new("test", &net), EMU_OK);
        build(c->text, &n);
    }
    execute(&n, &got, &warned);
    worst = worst_of(&want, &got);
    if (c->expect == RIGHT && !(worst <= TOLERANCE))
        fail_msg("%s: off by %.3g of the largest number%s", c->name, worst,
                 warned ? ", with a warning" : "");
    if (warned != (c->expect == WARNED))
        fail_msg("%s: %s", c->name, warned ? "a warning of right numbers" : "no warning");
    op_tensor_free(&want);
    op_tensor_free(&got);
    network_free(&n);
    op_graph_free(net);
}

static void test_cases(void **state)
{
    const char *only = getenv("F16_CASE");

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(cases); k++) {
        if (!only || !strcmp(only, cases[k].name))
            run_case(&cases[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
