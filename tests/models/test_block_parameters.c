/* test_block_parameters.c - blocks that are equal, or differ in their parameters only: which ones
 * are found, and that their one function computes what the reference does. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/arch/arch.h"
#include "models/lower/block_parameters.h"
#include "models/lower/op_program.h"
#include "models/lower/readers.h"

static struct op_graph *g;
static unsigned drawn_before; /* constants, so that all differ */

static int begin(void **state)
{
    (void)state;
    drawn_before = 0;
    return op_graph_new("test", &g) != EMU_OK;
}

static int end(void **state)
{
    (void)state;
    op_graph_free(g);
    return alloc_live() != 0;
}

static double drawn(uint64_t k)
{
    return (double)((k * 37 + 11) % 64) / 32 - 1;
}

static uint32_t input(const struct op_shape *s)
{
    uint32_t v;

    assert_int_equal(op_value_new(g, "x", OP_INPUT, s, &v), EMU_OK);
    assert_int_equal(op_graph_input(g, v), EMU_OK);
    return v;
}

static uint32_t weights(unsigned rank, const uint32_t *dim)
{
    struct op_shape s = { .type = OP_TYPE_F32, .rank = rank };
    struct op_tensor t;
    uint32_t v;

    memcpy(s.dim, dim, rank * sizeof(*dim));
    assert_int_equal(op_tensor_new(&s, &t), EMU_OK);
    for (uint64_t k = 0; k < op_shape_count(&s); k++)
        t.f[k] = drawn(3 * k + 5 * drawn_before) / 4;
    drawn_before++;
    assert_int_equal(op_value_constant(g, NULL, &t, &v), EMU_OK);
    op_tensor_free(&t);
    return v;
}
#define WEIGHTS(...) weights(sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ })

enum { RESULTS = 3, OUTPUTS = 3 };

static void node_of(const char *block, const char *op, unsigned ins, const uint32_t *in,
                    unsigned outs, uint32_t out[RESULTS])
{
    char name[RESULTS][32];
    const char *const out_name[] = { name[0], name[1], name[2] };
    const struct op_request r = {
        .op = op, .block = block, .in = in, .ins = ins, .out_name = out_name, .outs = outs
    };

    for (unsigned k = 0; k < outs; k++)
        snprintf(name[k], sizeof(name[k]), "v%u", g->values + k);
    assert_int_equal(op_node(g, &r, out), EMU_OK);
    assert_int_equal(g->problems, 0);
}

static uint32_t node(const char *block, const char *op, unsigned ins, const uint32_t *in)
{
    uint32_t out[RESULTS];

    node_of(block, op, ins, in, 1, out);
    return out[0];
}
#define NODE(block, op, ...)                                                                       \
    node(block, op, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ })

/* x + relu(x W + b) W', its norm, as a transformer has it. */
static uint32_t dense_block(const char *block, uint32_t x)
{
    uint32_t y = NODE(block, "MatMul", x, WEIGHTS(32, 48));

    y = NODE(block, "Relu", NODE(block, "Add", y, WEIGHTS(48)));
    y = NODE(block, "Add", x, NODE(block, "MatMul", y, WEIGHTS(48, 32)));
    return NODE(block, "LayerNormalization", y, WEIGHTS(32), WEIGHTS(32));
}

/* Three operations and a number, which is not one of those that may differ. */
static uint32_t scaled_block(const char *block, uint32_t x)
{
    uint32_t y = NODE(block, "Sigmoid", NODE(block, "Mul", x, WEIGHTS(1)));

    return NODE(block, "Tanh", NODE(block, "Add", y, x));
}

static uint32_t conv_block(const char *block, uint32_t x)
{
    uint32_t y = NODE(block, "Conv", x, WEIGHTS(32, 16, 1, 1), WEIGHTS(32));

    y = NODE(block, "Conv", NODE(block, "Relu", y), WEIGHTS(16, 32, 1, 1), WEIGHTS(16));
    return NODE(block, "Sigmoid", NODE(block, "Add", x, y));
}

static void three_blocks(const struct op_shape *s, uint32_t (*block)(const char *, uint32_t))
{
    uint32_t x = NODE("", "Neg", input(s));

    for (unsigned k = 0; k < 3; k++) {
        char name[16];

        snprintf(name, sizeof(name), "layer.%u", k);
        x = block(name, x);
    }
    assert_int_equal(op_graph_output(g, x), EMU_OK);
    assert_int_equal(op_graph_check(g), EMU_OK);
}

/* Every number of output k must be within 1 % of the largest of the reference. */
static void compare(const struct op_program *p, struct session *s, uint32_t k,
                    const struct op_tensor *want)
{
    struct op_tensor got;
    double largest = 1e-3;

    assert_int_equal(op_program_read(p, s, k, &got), EMU_OK);
    for (uint64_t i = 0; i < op_shape_count(&got.shape); i++)
        largest = fmax(largest, fabs(want->f[i]));
    for (uint64_t i = 0; i < op_shape_count(&got.shape); i++) {
        if (!(fabs(got.f[i] - want->f[i]) <= 0.01 * largest))
            fail_msg("output %u [%llu]: %g, expected %g", k, (unsigned long long)i, got.f[i],
                     want->f[i]);
    }
    op_tensor_free(&got);
}

/* Runs the graph, and compares all outputs. Returns cycles. */
static uint64_t run(enum elem real, enum lower_sharing share, uint32_t calls, uint32_t functions)
{
    const struct op_program_options o = { .lower = { .real = real, .share_blocks = share },
                                          .compile = { .threads = 1 } };
    const struct session_options so = { .threads = 1 };
    struct op_tensor in, want[OUTPUTS];
    struct op_program p;
    struct session *s;
    uint64_t cycles;

    if (op_program_new(ss_arch_preset("toy64"), g, &o, &p) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(p.network->calls, calls);
    assert_int_equal(p.network->functions, functions);
    assert_int_equal(ss_session_new(p.compiled, &so, &s), EMU_OK);
    assert_int_equal(op_tensor_new(&g->value[g->input[0]].shape, &in), EMU_OK);
    for (uint64_t i = 0; i < op_shape_count(&in.shape); i++)
        in.f[i] = drawn(i);
    assert_int_equal(op_program_write(&p, s, 0, &in), EMU_OK);
    assert_int_equal(ss_session_run(s), EMU_OK);
    assert_in_range(g->outputs, 1, OUTPUTS);
    assert_int_equal(op_graph_run(g, &in, 0, want), EMU_OK);
    for (uint32_t k = 0; k < g->outputs; k++) {
        compare(&p, s, k, &want[k]);
        op_tensor_free(&want[k]);
    }
    cycles = ss_session_cycles(s);
    op_tensor_free(&in);
    ss_session_free(s);
    op_program_free(&p);
    return cycles;
}

static void dense_blocks_are_one_function(void **state)
{
    const struct op_shape x = { .type = OP_TYPE_F32, .rank = 3, .dim = { 1, 9, 32 } };

    (void)state;
    three_blocks(&x, dense_block);
    run(ELEM_F16, SHARE_NONE, 0, 0);
    run(ELEM_F16, SHARE_ALIKE, 3, 1);
    run(ELEM_F32, SHARE_ALIKE, 3, 1);
}

static void convolutions_are_one_function(void **state)
{
    const struct op_shape x = { .type = OP_TYPE_F32, .rank = 4, .dim = { 1, 16, 5, 6 } };

    (void)state;
    three_blocks(&x, conv_block);
    run(ELEM_F16, SHARE_ALIKE, 3, 1);
}

static void what_fits_is_lowered_as_it_is(void **state)
{
    const struct op_shape x = { .type = OP_TYPE_F32, .rank = 3, .dim = { 1, 9, 32 } };

    (void)state;
    three_blocks(&x, dense_block);
    assert_int_equal(run(ELEM_F16, SHARE_AUTO, 0, 0), run(ELEM_F16, SHARE_NONE, 0, 0));
}

/* A parameter of one block is an operand that must be constant elsewhere: the blocks stay. */
static void constants_of_others_stay(void **state)
{
    const struct op_shape x = { .type = OP_TYPE_F32, .rank = 3, .dim = { 1, 9, 32 } };
    uint32_t first, blocks;

    (void)state;
    three_blocks(&x, dense_block);
    first = g->node[1].in[1];
    assert_int_equal(op_graph_output(g, NODE("", "PRelu", g->node[0].out[0], g->node[6].in[1])),
                     EMU_OK);
    assert_int_equal(block_parameters_to_states(g, ELEM_F16, &blocks), EMU_OK);
    assert_int_equal(blocks, 0);
    assert_int_equal(g->value[first].kind, OP_CONST);
}

/* A number below the size of parameters counts: blocks that are equal but for it are others. */
static void numbers_are_part_of_a_block(void **state)
{
    const struct op_shape x = { .type = OP_TYPE_F32, .rank = 2, .dim = { 9, 32 } };

    (void)state;
    three_blocks(&x, scaled_block);
    run(ELEM_F32, SHARE_EQUAL, 0, 0);
    run(ELEM_F32, SHARE_ALIKE, 0, 0);
}

/* And equal to the bit they are one function, here with the same number in each. */
static uint32_t same_block(const char *block, uint32_t x)
{
    drawn_before = 0;
    return scaled_block(block, x);
}

static void equal_blocks_are_one_function(void **state)
{
    const struct op_shape x = { .type = OP_TYPE_F32, .rank = 2, .dim = { 9, 32 } };

    (void)state;
    three_blocks(&x, same_block);
    run(ELEM_F32, SHARE_EQUAL, 3, 1);
}

/* ---- who reads a result ---- */

/* A block and, in *extra, the result of which it matters, or not, who reads it. */
typedef uint32_t asked_block(const char *block, uint32_t x, uint32_t *extra);

/* The gradient of a scale, which is made if anybody reads it. */
static uint32_t norm_gradient_block(const char *block, uint32_t x, uint32_t *extra)
{
    uint32_t dy = NODE(block, "Tanh", x), out[RESULTS];

    node_of(block, "LayerNormalizationGradient", 3, (const uint32_t[]){ x, WEIGHTS(32), dy }, 3,
            out);
    *extra = out[1];
    return NODE(block, "Neg", out[0]);
}

/* Scores, which are f32 if nobody but the user reads them. */
static uint32_t scores_block(const char *block, uint32_t x, uint32_t *extra)
{
    uint32_t y = NODE(block, "MatMul", NODE(block, "Tanh", x), WEIGHTS(32, 24));

    *extra = NODE(block, "Softmax", y);
    return *extra;
}

/* Nobody asks who reads a number between others. */
static uint32_t plain_block(const char *block, uint32_t x, uint32_t *extra)
{
    *extra = NODE(block, "Tanh", x);
    return NODE(block, "Neg", NODE(block, "Sigmoid", *extra));
}

/* Blocks with the same numbers; with is_read the extra result of the last is read outside. */
static void asked_blocks(asked_block *block, int is_read)
{
    const struct op_shape s = { .type = OP_TYPE_F32, .rank = 2, .dim = { 9, 32 } };
    uint32_t x = NODE("", "Neg", input(&s)), extra;

    for (unsigned k = 0; k < 2; k++) {
        drawn_before = 0;
        assert_int_equal(op_graph_output(g, block(k ? "layer.1" : "layer.0", x, &extra)), EMU_OK);
    }
    if (is_read)
        assert_int_equal(op_graph_output(g, NODE("", "Abs", extra)), EMU_OK);
    assert_int_equal(op_graph_check(g), EMU_OK);
}

/* calls: of blocks whose extra results are read by the same, and by others. */
static void asked(asked_block *block, enum elem real, uint32_t others)
{
    for (int is_read = 0; is_read < 2; is_read++) {
        uint32_t calls = is_read ? others : 2;

        asked_blocks(block, is_read);
        run(real, SHARE_EQUAL, calls, calls / 2);
        op_graph_free(g);
        assert_int_equal(op_graph_new("test", &g), EMU_OK);
    }
}

static void a_gradient_that_is_read_is_another_block(void **state)
{
    (void)state;
    asked(norm_gradient_block, ELEM_F32, 0);
}

static void scores_that_are_read_are_another_block(void **state)
{
    (void)state;
    asked(scores_block, ELEM_F16, 0);
}

static void who_reads_others_does_not_matter(void **state)
{
    (void)state;
    asked(plain_block, ELEM_F16, 2);
}

/* A family whose row does not say that it asks cannot: blocks were compared without the answer. */
static void who_does_not_say_so_cannot_ask(void **state)
{
    int end;

    (void)state;
    asked_blocks(plain_block, 0);
    assert_int_equal(result_answers(g, &g->node[1], 0), 0);
    for (int question = 0; question < 2; question++) {
        pid_t child = fork();

        if (!child) {
            fclose(stderr);
            question ? result_is_read(g, &g->node[1], 0) : result_is_only_output(g, &g->node[1], 0);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &end, 0), child);
        assert_true(WIFSIGNALED(end));
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(dense_blocks_are_one_function),
        TEST(convolutions_are_one_function),
        TEST(what_fits_is_lowered_as_it_is),
        TEST(constants_of_others_stay),
        TEST(numbers_are_part_of_a_block),
        TEST(equal_blocks_are_one_function),
        TEST(a_gradient_that_is_read_is_another_block),
        TEST(scores_that_are_read_are_another_block),
        TEST(who_reads_others_does_not_matter),
        TEST(who_does_not_say_so_cannot_ask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
