/* test_classic_meaning.c - the interpreter runs graphs of classic programs with what their codelets
 * mean in C, and finds what plain C says; the machine finds the same (tests/run_classics.sh).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "programs/lab/classic/classic.h"

static void run_program(const struct named_program *n, const char *machine)
{
    uint64_t value[PROGRAM_MAX_PARAMS];
    struct interpreter *p = NULL;
    struct graph *g = NULL;
    void *state = NULL;
    struct classic *c;

    for (unsigned k = 0; k < n->params; k++)
        value[k] = n->param[k].value;
    assert_int_equal(ss_graph_new(ss_arch_preset(machine), &ss_kernel_library, &g), EMU_OK);
    assert_int_equal(n->build(g, value, &state), EMU_OK);
    assert_int_equal(ss_graph_status(g), EMU_OK);
    assert_int_equal(ss_interpreter_new(g, &p), EMU_OK);
    c = state;
    for (unsigned i = 0; i < c->ins; i++)
        assert_int_equal(ss_interpreter_write(p, c->in[i].t, c->in[i].data), EMU_OK);
    assert_int_equal(ss_interpreter_run(p, 1u << 20), EMU_OK);
    assert_true(c->wants > 0);
    for (unsigned i = 0; i < c->wants; i++) {
        uint64_t elements = ss_tensor_elements(g, c->want[i].t);
        uint32_t *got = emu_alloc(elements, sizeof(*got));

        assert_non_null(got);
        assert_int_equal(ss_interpreter_read(p, c->want[i].t, got), EMU_OK);
        assert_memory_equal(got, c->want[i].data, elements * sizeof(*got));
        ss_free(got);
    }
    ss_interpreter_free(p);
    classic_done(state);
    ss_graph_free(g);
}

static void test_integer_programs(void **state)
{
    static const struct named_program *const program[] = {
        &classic_scan,   &classic_odd_even, &classic_sample,    &classic_list,
        &classic_search, &classic_life,     &mistake_imbalance, &classic_exchange,
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(program); i++) {
        run_program(program[i], "toy4");
        run_program(program[i], "toy16");
    }
}

/* A meaning that is wrong is seen: a sort that leaves its parts as they are. */
static void test_parts_matter(void **state)
{
    uint32_t x[12] = { 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 4, 4 }, out[12], rank[12], sorted[12];
    struct codelet_call c = { .arch = ss_arch_preset("toy4"),
                              .arg = { { .data = x, .elements = 12 },
                                       { .data = out, .elements = 12 },
                                       { .value = 12 },
                                       { .value = 2 } } };
    struct codelet_call m = { .arch = c.arch,
                              .arg = { { .data = out, .elements = 12 },
                                       { .data = rank, .elements = 12 },
                                       { .data = sorted, .elements = 12 },
                                       { .value = 12 },
                                       { .value = 2 } } };

    (void)state;
    classic_meaning("sort_part_u32")(&c);
    assert_int_equal(out[0], 8);
    assert_int_equal(out[1], 9);
    classic_meaning("merge_u32")(&m);
    for (int i = 1; i < 12; i++)
        assert_true(sorted[i - 1] <= sorted[i]);
    assert_null(classic_meaning("forces_f32"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integer_programs),
        cmocka_unit_test(test_parts_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
