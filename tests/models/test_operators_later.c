/* test_operators_later.c - what versions 18 to 26 of the operator set brought, on numbers worked
 * out by hand: by the reference, on tiles in f32, and written as a file and read again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/arch/arch.h"
#include "models/lower/op_program.h"
#include "models/onnx/onnx.h"
#include "models/pass/op_pass.h"
#include "tests/fixtures/operator_fixture.h"

static const struct {
    struct operator_case c;
    int on_tiles;
} cases[] = {
#define CASE(op, version, attrs, in, out)   { { op, version, attrs, in, out }, 1 },
#define FOLDED(op, version, attrs, in, out) { { op, version, attrs, in, out }, 0 },
#include "tests/models/operators_later.def"
#undef CASE
#undef FOLDED
};

static void by_the_reference(void **state)
{
    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(cases); k++)
        operator_case_check(&cases[k].c);
}

/* bound: of a difference, as a share of the largest number. */
static void compare(const struct operator_case *c, const struct op_tensor *got,
                    const struct op_tensor *want, double bound)
{
    double largest = 0;

    if (!op_shape_equal(&got->shape, &want->shape))
        fail_msg("%s %s: another shape", c->op, c->attrs);
    for (uint64_t k = 0; k < op_shape_count(&want->shape); k++)
        largest = fmax(largest, fabs(want->f[k]));
    for (uint64_t k = 0; k < op_shape_count(&want->shape); k++) {
        if (!(fabs(got->f[k] - want->f[k]) <= bound * largest))
            fail_msg("%s %s on %s: %.9g, expected %.9g", c->op, c->attrs, c->in, got->f[k],
                     want->f[k]);
    }
}

/* --- on tiles ----------------------------------------------------------------------------- */

static void run_program(const struct operator_case *c, const struct operator_graph *o,
                        const struct op_program *p, double bound)
{
    const struct session_options so = { .threads = 1 };
    struct session *s;

    assert_int_equal(ss_session_new(p->compiled, &so, &s), EMU_OK);
    for (uint32_t k = 0; k < o->g->inputs; k++)
        assert_int_equal(op_program_write(p, s, k, &o->in[k]), EMU_OK);
    assert_int_equal(ss_session_run(s), EMU_OK);
    for (uint32_t k = 0; k < o->g->outputs; k++) {
        struct op_tensor got;

        assert_int_equal(op_program_read(p, s, k, &got), EMU_OK);
        compare(c, &got, &o->want[k], bound);
        op_tensor_free(&got);
    }
    ss_session_free(s);
}

/* Functions and products are as exact as f32 and f16 are. */
static void run_case(const struct operator_case *c, enum elem real)
{
    struct op_program_options po = { .compile = { .threads = 1 }, .lower = { .real = real } };
    struct operator_graph o;
    struct op_program p;

    operator_graph_make(c, &o);
    assert_int_equal(pass_all(o.g), EMU_OK);
    if (real == ELEM_F32)
        assert_int_equal(pass_widen(o.g, NULL), EMU_OK);
    assert_int_equal(pass_spell_windows(o.g), EMU_OK);
    assert_int_equal(op_lower_check(o.g), EMU_OK);
    if (o.g->problems)
        fail_msg("%s %s on %s: %s of %s", c->op, c->attrs, c->in, o.g->problem[0].why,
                 o.g->problem[0].op);
    if (op_program_new(ss_arch_preset("toy16"), o.g, &po, &p) != EMU_OK)
        fail_msg("%s %s on %s: %s", c->op, c->attrs, c->in, ss_error());
    run_program(c, &o, &p, real == ELEM_F32 ? 2e-5 : 4e-3);
    op_program_free(&p);
    operator_graph_free(&o);
}

static void on_tiles(void **state)
{
    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(cases); k++) {
        if (!cases[k].on_tiles)
            continue;
        run_case(&cases[k].c, ELEM_F32);
        run_case(&cases[k].c, ELEM_F16);
    }
}

/* --- files -------------------------------------------------------------------------------- */

/* Written as a file and read again, a graph computes the same. */
static void run_written(const struct operator_case *c)
{
    struct op_tensor got[16];
    struct operator_graph o;
    struct onnx_model *m;
    char *file = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&file, &bytes);

    operator_graph_make(c, &o);
    assert_int_equal(pass_spell(o.g), EMU_OK);
    assert_non_null(f);
    if (onnx_write(o.g, f) != EMU_OK || fclose(f) ||
        onnx_read_bytes(file, bytes, "written", NULL, &m) != EMU_OK)
        fail_msg("%s %s: %s", c->op, c->attrs, ss_error());
    if (m->graph->problems)
        fail_msg("%s %s: %s", c->op, c->attrs, m->graph->problem[0].why);
    assert_int_equal(op_graph_run(m->graph, o.in, 0, got), EMU_OK);
    for (uint32_t k = 0; k < o.g->outputs; k++) {
        compare(c, &got[k], &o.want[k], 1e-6);
        op_tensor_free(&got[k]);
    }
    onnx_model_free(m);
    free(file);
    operator_graph_free(&o);
}

static void as_files(void **state)
{
    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(cases); k++) {
        if (cases[k].on_tiles)
            run_written(&cases[k].c);
    }
}

/* The version of a file that has a node. */
static unsigned version_of(const char *op, const char *attrs, const char *in, const char *out)
{
    const struct operator_case c = { op, 26, attrs, in, out };
    struct operator_graph o;
    struct onnx_model *m;
    char *file = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&file, &bytes);
    unsigned version;

    operator_graph_make(&c, &o);
    assert_non_null(f);
    assert_int_equal(onnx_write(o.g, f), EMU_OK);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(onnx_read_bytes(file, bytes, "written", NULL, &m), EMU_OK);
    version = (unsigned)m->opset;
    onnx_model_free(m);
    free(file);
    operator_graph_free(&o);
    return version;
}

/* A file is of version 17, or of the first one that has all that it needs. */
static void versions(void **state)
{
    (void)state;
    assert_int_equal(version_of("Relu", "", "f32 [1] 1", "f32 [1] 1"), 17);
    assert_int_equal(version_of("ReduceMean", "", "f32 [1] 1; i64 [1] 0", "f32 [1] 1"), 17);
    assert_int_equal(version_of("Pad", "", "f32 [1] 1; i64 [2] 0 1; -; i64 [1] 0", "f32 [2] 1 0"),
                     17);
    assert_int_equal(version_of("ReduceMean", "noop_with_empty_axes=1", "f32 [1] 1", "f32 [1] 1"),
                     18);
    assert_int_equal(version_of("Resize", "axes=0", "f32 [1] 1; -; f32 [1] 2", "f32 [2] 1 1"), 18);
    assert_int_equal(version_of("AveragePool", "kernel_shape=2 dilations=2", "f32 [1, 1, 3] 1..",
                                "f32 [1, 1, 1] 2"),
                     19);
    assert_int_equal(version_of("Gelu", "", "f32 [1] 0", "f32 [1] 0"), 20);
    assert_int_equal(version_of("GroupNormalization", "num_groups=1",
                                "f32 [1, 1, 1] 0; f32 [1]; f32 [1]", "f32 [1, 1, 1] 0"),
                     21);
    assert_int_equal(version_of("Swish", "", "f32 [1] 0", "f32 [1] 0"), 24);
}

/* --- what stops a node -------------------------------------------------------------------- */

/* One reason each, the one that holds; where f32 runs it, that is so. */
static void reasons(void **state)
{
    static const struct {
        struct operator_case c;
        const char *why;
        int in_f32;
    } row[] = {
        { { "Conv", 11, "", "f32 [1, 1, 2, 2, 2] 1..; =f32 [1, 1, 1, 1, 1] 2",
            "f32 [1, 1, 2, 2, 2] 2 4 6 8 10 12 14 16" },
          "more than two dimensions behind the channels: --precision f32 runs it",
          1 },
        { { "Conv", 11, "", "f32 [1, 1, 2] 1 2; =f32 [1, 1, 1] 2; f32 [1] 5", "f32 [1, 1, 2] 7 9" },
          "a bias that is not constant: --precision f32 runs it",
          1 },
        { { "Conv", 11, "", "f32 [1, 1, 2] 1 2; f32 [1, 1, 1] 2", "f32 [1, 1, 2] 2 4" },
          "weights that are not constant: --precision f32 runs it",
          1 },
        { { "TopK", 11, "", "f32 [1025]; i64 [1] 1", "f32 [1]; i64 [1]" },
          "the largest of more than 1,024 numbers",
          0 },
        { { "CumSum", 11, "", "f32 [1025]; i64 [] 0", "f32 [1025]" },
          "sums of more than 1,024 numbers in a row",
          0 },
        { { "LRN", 1, "size=1", "f32 [1, 1025]", "f32 [1, 1025]" }, "more than 1,024 channels", 0 },
    };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(row); k++) {
        struct operator_graph o;

        operator_graph_make(&row[k].c, &o);
        assert_int_equal(pass_all(o.g), EMU_OK);
        assert_int_equal(op_lower_check(o.g), EMU_OK);
        assert_int_equal(o.g->problems, 1);
        assert_string_equal(o.g->problem[0].why, row[k].why);
        operator_graph_free(&o);
        if (row[k].in_f32)
            run_case(&row[k].c, ELEM_F32);
    }
}

/* How many parts a Split makes is what it says, also where the last ones are not read: without
 * sizes their number decides what the others are. */
static void split_keeps_its_parts(void **state)
{
    static const char *const names[] = { "a", "b", "" };
    const struct op_shape s = { OP_TYPE_F32, 1, { 6 } };
    struct op_graph *g;
    uint32_t x, out[3];
    const struct op_request r = {
        .op = "Split", .version = 13, .in = &x, .ins = 1, .out_name = names, .outs = 3
    };

    (void)state;
    assert_int_equal(op_graph_new("split", &g), EMU_OK);
    assert_int_equal(op_value_new(g, "x", OP_INPUT, &s, &x), EMU_OK);
    assert_int_equal(op_node(g, &r, out), EMU_OK);
    assert_int_equal(g->problems, 0);
    assert_int_equal(g->value[out[0]].shape.dim[0], 2);
    assert_int_equal(g->value[out[1]].shape.dim[0], 2);
    assert_int_equal(out[2], OP_NONE);
    op_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_reference), cmocka_unit_test(on_tiles),
        cmocka_unit_test(as_files),         cmocka_unit_test(versions),
        cmocka_unit_test(reasons),          cmocka_unit_test(split_keeps_its_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
