/* test_codelets_linear.c - codelets of fully connected layers, sums of partial results, softmax:
 * all shares of workers, bit by bit against the references, cycles equal to the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/fixtures/codelet_rig.h"

/* ---- rows times vectors ---- */

static void linear_call(struct codelet_rig *rig, struct codelet_case *c, uint32_t n, uint32_t m,
                        uint32_t k)
{
    unsigned y = (unsigned)codelet_field_find(rig->codelet, "y");

    c->seed++;
    c->layout = (enum rig_layout)(c->seed % RIG_LAYOUTS);
    c->tame = c->seed % 4 != 0;
    c->elements[0] = m * k;
    c->elements[1] = n * k;
    c->elements[2] = m;
    c->elements[y] = n * m;
    c->phase[0] = c->seed % 2 * 8;
    c->phase[1] = c->seed / 2 % 2 * 8;
    c->phase[y] = c->seed % 4 * 4;
    c->value[y + 1] = k;
    c->value[y + 2] = m;
    codelet_rig_call(rig, c);
    assert_int_equal(rig->cycles, rig->formula);
}

static void linear_all(const char *name, uint32_t unit)
{
    static const uint32_t vectors[] = { 1, 2, 3, 17, 51 };
    static const uint32_t pictures[] = { 1, 2, 3, 5, 13 };
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("linear", 1);

    for (uint32_t units = 1; units < 15; units++)
        linear_call(rig, &c, 1, units * unit, 4 * vectors[units % EMU_COUNT_OF(vectors)]);
    for (unsigned i = 0; i < EMU_COUNT_OF(vectors) * EMU_COUNT_OF(pictures); i++)
        linear_call(rig, &c, pictures[i % EMU_COUNT_OF(pictures)], unit * (1 + i * 5 % 9),
                    4 * vectors[i / EMU_COUNT_OF(pictures)]);
    linear_call(rig, &c, 1, 12, 1792);
    linear_call(rig, &c, 32, unit, 68);
    linear_call(rig, &c, 0, unit, 16);
    codelet_rig_free(rig);
}

static void test_linear(void **state)
{
    (void)state;
    linear_all("linear_f16_f32", 1);
    linear_all("linear_f16", 2);
    linear_all("linear_relu_f16", 2);
    linear_all("linear_swish_f16", 2);
    linear_all("linear_sigmoid_f16", 2);
}

/* ---- sums of partial results ---- */

static void sum_all(const char *name, int scaled)
{
    static const uint32_t partials[] = { 1, 2, 3, 8, 17, 100 };
    static const uint32_t columns[] = { 0, 1, 2, 5, 6, 7, 12, 13, 30, 43 };
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("sums", 1);

    for (unsigned i = 0; i < EMU_COUNT_OF(partials) * EMU_COUNT_OF(columns); i++) {
        uint32_t p = partials[i / EMU_COUNT_OF(columns)];
        uint32_t n = 4 * columns[i % EMU_COUNT_OF(columns)];

        c.seed++;
        c.layout = (enum rig_layout)(i % RIG_LAYOUTS);
        c.tame = c.seed % 4 != 0;
        c.elements[0] = p * n;
        c.elements[1] = scaled ? 0 : n;
        c.elements[2] = n;
        c.phase[1] = c.seed % 2 * 8;
        c.phase[2] = c.seed / 2 % 2 * 8;
        c.value[1] = scaled ? 0x3de38e39 : 0; /* 1 / 9 */
        c.value[4] = p;
        codelet_rig_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    codelet_rig_free(rig);
}

static void test_sum_bias(void **state)
{
    (void)state;
    sum_all("sum_scale_f16", 1);
    sum_all("sum_bias_f16", 0);
    sum_all("sum_bias_relu_f16", 0);
    sum_all("sum_bias_swish_f16", 0);
    sum_all("sum_bias_sigmoid_f16", 0);
}

/* ---- softmax ---- */

static void softmax_all(const char *name, uint32_t field, uint32_t other, uint32_t least)
{
    static const uint32_t vectors[] = { 1, 2, 5, 6, 7, 12, 13, 42 };
    static const uint32_t others[] = { 1, 2, 3, 13, 78 };
    struct codelet_rig *rig = codelet_rig_new("mk2", name);
    struct codelet_case c = codelet_case("softmax", 1);

    for (unsigned i = 0; i < EMU_COUNT_OF(vectors) * EMU_COUNT_OF(others); i++) {
        uint32_t n = 4 * vectors[i / EMU_COUNT_OF(others)];

        c.seed++;
        c.layout = (enum rig_layout)(i % RIG_LAYOUTS);
        c.tame = c.seed % 4 != 0;
        for (unsigned k = 0; k < 4; k++)
            c.elements[k] = n;
        c.elements[3] = rig->arch.workers;
        if (other)
            c.elements[other] = least * others[i % EMU_COUNT_OF(others)];
        c.phase[0] = c.seed % 2 * 8;
        codelet_rig_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    c.elements[0] = c.elements[field] = 0;
    if (other)
        codelet_rig_call(rig, &c);
    codelet_rig_free(rig);
}

static void test_softmax(void **state)
{
    (void)state;
    softmax_all("softmax_max_f16", 1, 0, 0);
    softmax_all("softmax_exp_f16", 2, 1, 2);
    softmax_all("softmax_scale_f32", 2, 1, 4);
    softmax_all("softmax_scale_f32", 2, 1, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_sum_bias),
        cmocka_unit_test(test_softmax),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
