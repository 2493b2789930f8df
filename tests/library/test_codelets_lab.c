/* test_codelets_lab.c - the codelets of lab programs against their references: results and cycles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/fixtures/codelet_rig.h"

enum { X, Y, C0, C1, H, W };

static void test_stencil5(void **state)
{
    static const uint32_t heights[] = { 0, 1, 2, 3, 7 };
    static const uint32_t widths[] = { 0, 2, 4, 10, 12, 14, 22, 24, 26, 64, 130 };
    struct codelet_rig *rig = codelet_rig_new("mk2", "stencil5_f32");
    struct codelet_case c = codelet_case("stencil", 1);

    (void)state;
    c.value[C0] = 0x3f000000;
    c.value[C1] = 0x3e000000;
    for (size_t i = 0; i < EMU_COUNT_OF(heights) * EMU_COUNT_OF(widths); i++) {
        uint32_t h = heights[i % EMU_COUNT_OF(heights)], w = widths[i / EMU_COUNT_OF(heights)];

        c.seed++;
        c.tame = i % 2;
        c.layout = (enum rig_layout)(i % RIG_LAYOUTS);
        c.value[H] = h;
        c.value[W] = w;
        c.elements[X] = (h + 2) * w;
        c.elements[Y] = h * w;
        codelet_rig_call(rig, &c);
    }
    codelet_rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stencil5),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
