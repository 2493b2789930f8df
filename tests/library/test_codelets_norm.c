/* test_codelets_norm.c - norm_fold_f32, norm_params_f16: groups that begin and end anywhere; bit by
 * bit against the references, cycles against the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/fixtures/codelet_rig.h"

static const uint32_t group_sizes[] = { 1, 2, 3, 5, 6, 8, 12, 16, 17, 28, 100 };

static void next_case(struct codelet_case *c)
{
    c->seed++;
    c->layout = c->seed % 2 ? RIG_NEAR0 : RIG_NEAR1;
    c->tame = c->seed / 2 % 2;
}

static void test_fold(void **state)
{
    static const uint32_t channels[] = { 1, 2, 16, 31, 48 };
    struct codelet_rig *rig = codelet_rig_new("mk2", "norm_fold_f32");
    struct codelet_case c = codelet_case("fold", 1);

    (void)state;
    for (uint32_t i = 0; i < EMU_COUNT_OF(group_sizes) * EMU_COUNT_OF(channels) * 3; i++) {
        uint32_t each = group_sizes[i / 3 % EMU_COUNT_OF(group_sizes)];
        uint32_t n = channels[i / 3 / EMU_COUNT_OF(group_sizes)];
        uint32_t first = i % 3 * (each - 1) / 2;

        next_case(&c);
        c.elements[0] = c.elements[1] = (n + 15) / 16 * 16;
        c.elements[2] = (first + n + each - 1) / each * 2;
        c.phase[2] = i % 4 * 4;
        c.value[3] = first;
        c.value[4] = each;
        c.value[5] = n;
        codelet_rig_call(rig, &c);
    }
    c.elements[2] = 0;
    codelet_rig_call(rig, &c);
    codelet_rig_free(rig);
}

static void test_params(void **state)
{
    static const uint32_t blocks[] = { 1, 2, 5 };
    struct codelet_rig *rig = codelet_rig_new("mk2", "norm_params_f16");
    struct codelet_case c = codelet_case("params", 1);

    (void)state;
    for (uint32_t i = 0; i < EMU_COUNT_OF(group_sizes) * EMU_COUNT_OF(blocks) * 6; i++) {
        uint32_t each = group_sizes[i / 6 % EMU_COUNT_OF(group_sizes)];
        uint32_t n = blocks[i / 6 / EMU_COUNT_OF(group_sizes)] * 16;
        uint32_t first = i % 3 * (each - 1) / 2, groups = (first + n + each - 1) / each;
        uint32_t p = 1 + i % 5;

        /* Channels after the last group: padding. */
        if (i % 6 > 2 && groups > 1)
            groups--;
        next_case(&c);
        c.elements[0] = groups * p * 2;
        for (unsigned k = 1; k < 5; k++)
            c.elements[k] = n;
        c.phase[3] = i % 4 * 4;
        c.value[5] = 0x3e000000 - i * 1000;
        c.value[6] = 0x3a83126f; /* 1e-3 */
        c.value[7] = first;
        c.value[8] = each;
        c.value[9] = p;
        c.value[10] = groups;
        codelet_rig_call(rig, &c);
    }
    for (unsigned k = 1; k < 5; k++)
        c.elements[k] = 0;
    codelet_rig_call(rig, &c);
    codelet_rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fold),
                                        cmocka_unit_test(test_params) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
