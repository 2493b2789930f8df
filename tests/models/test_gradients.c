/* test_gradients.c - gradients of all operators against differences, and of graphs: random ones
 * along random directions, values that are read several times, paths that need none, what is asked
 * for in vain.
 *
 * SUPERSTEP_LONG=1 follows 9,600 seeds of random graphs, SUPERSTEP_SEED=n[,count] these.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/operators/op_gradient.h"
#include "tests/fixtures/operator_fixture.h"
#include "tests/fixtures/random_operators.h"
#include "tests/fixtures/seed_range.h"

static const struct gradient_case cases[] = {
#define GRADIENT(op, attrs, in, outs)         { op, attrs, in, outs, NULL },
#define NO_GRADIENT(op, attrs, in, outs, why) { op, attrs, in, outs, why },
#define NO_FLOATS(op)                         { op, NULL, NULL, 0, NULL },
#include "tests/models/gradients.def"
#undef NO_FLOATS
#undef NO_GRADIENT
#undef GRADIENT
};

static void operators_against_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(cases); k++) {
        if (cases[k].in)
            gradient_case_check(&cases[k]);
    }
}

/* A row that is added to the table needs a case here. */
static void every_operator_has_one_or_says_why_not(void **state)
{
    (void)state;
    for (unsigned i = 0; op_row(i); i++) {
        int found = op_row_find(op_row(i)->name, 0)->upgrade != NULL; /* it is another one now */

        for (size_t k = 0; k < EMU_COUNT_OF(cases); k++)
            found |= !strcmp(cases[k].op, op_row(i)->name);
        if (!found)
            fail_msg("%s has no case in gradients.def", op_row(i)->name);
    }
}

/* --- graphs ------------------------------------------------------------------------------- */

static struct op_graph *graph;

static uint32_t input(const char *name)
{
    const struct op_shape s = { .type = OP_TYPE_F64 };
    uint32_t v;

    assert_int_equal(op_value_new(graph, name, OP_INPUT, &s, &v), EMU_OK);
    assert_int_equal(op_graph_input(graph, v), EMU_OK);
    return v;
}

static uint32_t node(const char *op, uint32_t a, uint32_t b)
{
    const uint32_t in[] = { a, b };
    const struct op_request r = { .op = op, .in = in, .ins = b == OP_NONE ? 1 : 2, .outs = 1 };
    uint32_t out;

    assert_int_equal(op_node(graph, &r, &out), EMU_OK);
    assert_int_equal(graph->problems, 0);
    return out;
}

static double run(uint32_t value, const double *in)
{
    struct op_tensor t[4], out;
    double y;

    graph->outputs = 0;
    assert_int_equal(op_graph_output(graph, value), EMU_OK);
    for (uint32_t k = 0; k < graph->inputs; k++) {
        assert_int_equal(op_tensor_new(&graph->value[graph->input[k]].shape, &t[k]), EMU_OK);
        t[k].f[0] = in[k];
    }
    assert_int_equal(op_graph_run(graph, t, 0, &out), EMU_OK);
    y = out.f[0];
    for (uint32_t k = 0; k < graph->inputs; k++)
        op_tensor_free(&t[k]);
    op_tensor_free(&out);
    return y;
}

/* (a b + a + a)(a b) by a is 2 a b^2 + 4 a b, by b is 2 a^2 b + 2 a^2; a loss scale is a factor. */
static void readers_add_up(void **state)
{
    const double at[] = { 3, 5, 64 };
    uint32_t a, b, scale, ab, y, gradient[2];

    (void)state;
    assert_int_equal(op_graph_new("readers", &graph), EMU_OK);
    a = input("a");
    b = input("b");
    scale = input("scale");
    ab = node("Mul", a, b);
    y = node("Mul", node("Add", node("Add", ab, a), a), ab);
    assert_int_equal(op_gradients(graph, y, scale, (uint32_t[]){ a, b }, 2, gradient), EMU_OK);
    assert_int_equal(op_graph_check(graph), EMU_OK);
    assert_true(run(gradient[0], at) == 64 * (2 * 3 * 25 + 4 * 3 * 5));
    assert_true(run(gradient[1], at) == 64 * (2 * 9 * 5 + 2 * 9));
    op_graph_free(graph);
}

/* What nobody asks for is not made; what the loss does not depend on has none. */
static void only_what_is_asked_for(void **state)
{
    uint32_t a, b, y, gradient[2], before;

    (void)state;
    assert_int_equal(op_graph_new("paths", &graph), EMU_OK);
    a = input("a");
    b = input("b");
    node("Mean", a, b);
    y = node("Add", node("Exp", a, OP_NONE), a);
    before = graph->nodes;
    assert_int_equal(op_gradients(graph, y, OP_NONE, (uint32_t[]){ b }, 1, gradient), EMU_OK);
    assert_int_equal(gradient[0], OP_NONE);
    assert_int_equal(graph->nodes, before);
    assert_int_equal(op_gradients(graph, y, OP_NONE, (uint32_t[]){ a, b }, 2, gradient), EMU_OK);
    assert_int_equal(gradient[1], OP_NONE);
    assert_string_equal(graph->node[before].row->name, "UnaryGradient");
    assert_non_null(strstr(graph->node[before].name, ".back"));
    op_graph_free(graph);
}

static void of_one_float_only(void **state)
{
    const struct op_shape two = { .type = OP_TYPE_F64, .rank = 1, .dim = { 2 } };
    uint32_t x, gradient;

    (void)state;
    assert_int_equal(op_graph_new("two", &graph), EMU_OK);
    assert_int_equal(op_value_new(graph, "x", OP_INPUT, &two, &x), EMU_OK);
    assert_int_equal(op_gradients(graph, x, OP_NONE, &x, 1, &gradient), EMU_BAD_FILE);
    assert_non_null(strstr(ss_error(), "x is no single float"));
    op_graph_free(graph);
}

/* --- random graphs ------------------------------------------------------------------------ */

/* A graph of random_operators.h at a place: beside its inputs, where no function has a corner. */
struct place {
    struct random_operators *r;
    struct op_tensor *at, *near; /* by input of the graph; near: some steps along the direction */
    double **direction;          /* NULL: the loss has no gradient by it */
    uint64_t random;
};

static double draw(struct place *p, double low, double high)
{
    return low + (high - low) * random_below(&p->random, 1u << 20) / (1u << 20);
}

/* A number nearby, nearer to 0 where it is not 0: ranges of functions hold. */
static double beside(struct place *p, double v)
{
    double part = draw(p, 0, 1e-3);

    return v == 0 ? part : v * (1 - part);
}

static void place_begin(struct place *p, uint64_t seed)
{
    const struct op_graph *g;

    *p = (struct place){ .r = random_operators_new(seed, 0, NULL), .random = hash_mix(~seed) };
    g = p->r->g;
    p->at = emu_alloc(g->inputs + 1, sizeof(*p->at));
    p->near = emu_alloc(g->inputs + 1, sizeof(*p->near));
    p->direction = emu_alloc(g->inputs + 1, sizeof(*p->direction));
    assert_true(p->at && p->near && p->direction);
    for (uint32_t k = 0; k < g->inputs; k++) {
        const struct op_tensor *t = &ro_input_value(p->r, k)->t;

        assert_int_equal(op_tensor_new(&t->shape, &p->at[k]), EMU_OK);
        assert_int_equal(op_tensor_new(&t->shape, &p->near[k]), EMU_OK);
        for (uint64_t i = 0; i < op_shape_count(&t->shape); i++) {
            p->at[k].i[i] = t->i[i];
            if (op_type_kind(t->shape.type) == OP_KIND_FLOAT)
                p->at[k].f[i] = beside(p, t->f[i]);
            p->near[k].i[i] = p->at[k].i[i];
        }
    }
}

static void place_end(struct place *p)
{
    for (uint32_t k = 0; k < p->r->g->inputs; k++) {
        op_tensor_free(&p->at[k]);
        op_tensor_free(&p->near[k]);
        ss_free(p->direction[k]);
    }
    ss_free(p->at);
    ss_free(p->near);
    ss_free(p->direction);
    random_operators_free(p->r);
}

/* The loss, and its gradients along the direction if that is drawn: *slope, and *size, the sum of
 * what that is the sum of. */
static double loss_at(struct place *p, const struct op_tensor *in, double *slope, double *size)
{
    const struct ro_gradients *x = &p->r->gradients;
    struct op_graph *g = p->r->g;
    struct op_tensor *out = emu_alloc(x->count + 2, sizeof(*out));
    uint32_t n = 1;
    double loss;

    assert_non_null(out);
    g->outputs = 0;
    assert_int_equal(op_graph_output(g, x->loss), EMU_OK);
    for (uint32_t k = 0; slope && k < x->count; k++) {
        if (x->of[k] != OP_NONE)
            assert_int_equal(op_graph_output(g, x->of[k]), EMU_OK);
    }
    assert_int_equal(op_graph_run(g, in, 0, out), EMU_OK);
    loss = out[0].f[0];
    for (uint32_t k = 0; slope && k < x->count; k++) {
        uint32_t input = op_graph_input_index(g, x->by[k]);
        uint64_t count = op_shape_count(&p->at[input].shape);

        if (x->of[k] == OP_NONE)
            continue;
        p->direction[input] = emu_alloc(count + 1, sizeof(double));
        assert_non_null(p->direction[input]);
        for (uint64_t i = 0; i < count; i++) {
            p->direction[input][i] = draw(p, -1, 1);
            *slope += out[n].f[i] * p->direction[input][i];
            *size += fabs(out[n].f[i] * p->direction[input][i]);
        }
        op_tensor_free(&out[n++]);
    }
    op_tensor_free(&out[0]);
    ss_free(out);
    return loss;
}

/* The loss so many steps along the direction. */
static double loss_beside(struct place *p, double step)
{
    for (uint32_t k = 0; k < p->r->g->inputs; k++) {
        for (uint64_t i = 0; p->direction[k] && i < op_shape_count(&p->at[k].shape); i++)
            p->near[k].f[i] = p->at[k].f[i] + step * p->direction[k][i];
    }
    return loss_at(p, p->near, NULL, NULL);
}

enum direction { NO_GRADIENTS, AT_A_CORNER, FOLLOWED };

/* The slope of the loss along a direction is that of differences. Where the differences to either
 * side are unlike, there is a corner or an edge, and nothing is said. */
static enum direction follow(uint64_t seed)
{
    const double h = 1e-6;
    enum direction result = NO_GRADIENTS;
    double slope = 0, size = 0, loss, left, right, both;
    struct place p;

    if (!ro_trains(seed))
        return NO_GRADIENTS;
    place_begin(&p, seed);
    if (p.r->gradients.loss != OP_NONE && !p.r->gradients.loss_has_steps) {
        loss = loss_at(&p, p.at, &slope, &size);
        right = (loss_beside(&p, h) - loss) / h;
        left = (loss - loss_beside(&p, -h)) / h;
        both = (left + right) / 2;
        result = fabs(left - right) <= 1e-4 * size ? FOLLOWED : AT_A_CORNER;
        if (result == FOLLOWED && !(fabs(slope - both) <= 1e-5 * size + 1e-9 * (1 + fabs(loss))))
            fail_msg("seed %llu: slope %.9g of parts %.3g, by differences %.9g",
                     (unsigned long long)seed, slope, size, both);
    }
    place_end(&p);
    return result;
}

static void random_graphs_along_directions(void **state)
{
    enum { SEEDS = 960, SEEDS_LONG = 9600 }; /* one in three trains */
    const struct seed_range seeds = seed_range(SEEDS, SEEDS_LONG);
    unsigned count[FOLLOWED + 1] = { 0 };

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++)
        count[follow(seed)]++;
    printf("%u graphs with gradients, %u at corners, %u without\n", count[FOLLOWED],
           count[AT_A_CORNER], count[NO_GRADIENTS]);
    assert_true(seeds.chosen || count[FOLLOWED] > seeds.count / 3 / 2);
    assert_true(seeds.chosen || count[AT_A_CORNER] <= seeds.count / 3 / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_against_differences),
        cmocka_unit_test(every_operator_has_one_or_says_why_not),
        cmocka_unit_test(random_graphs_along_directions),
        cmocka_unit_test(readers_add_up),
        cmocka_unit_test(only_what_is_asked_for),
        cmocka_unit_test(of_one_float_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
