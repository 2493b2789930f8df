/* test_codelets_pixels.c - pixels_*: all sizes against the reference, and the formula of the time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/fixtures/codelet_rig.h"

static const uint32_t groups[] = { 0, 1, 2, 5, 6, 7, 11, 12, 13, 25, 100, 401 };

static void sizes_and_places(void **state)
{
    enum { TABLE = 3 * 256 };
    static uint16_t table[TABLE];
    static const struct {
        const char *codelet;
        unsigned y; /* field */
    } which[] = { { "pixels_u8", 2 }, { "pixels_f16", 1 }, { "pixels_f32", 1 } };

    (void)state;
    for (unsigned i = 0; i < TABLE; i++)
        table[i] = (uint16_t)(0x2c00 + 7 * i);
    for (unsigned k = 0; k < EMU_COUNT_OF(which); k++) {
        struct codelet_rig *rig = codelet_rig_new("mk2", which[k].codelet);

        for (unsigned i = 0; i < EMU_COUNT_OF(groups); i++) {
            for (unsigned layout = 0; layout < RIG_LAYOUTS; layout++) {
                struct codelet_case c = { .what = "pixels", .seed = 10 * i + layout };

                c.layout = (enum rig_layout)layout;
                c.elements[0] = 12 * groups[i];
                c.elements[which[k].y] = 16 * groups[i];
                c.phase[0] = k == 2 ? 8 * (i % 2) : 4 * (i % 4);
                if (!k) {
                    c.elements[1] = TABLE;
                    c.data[1] = table;
                }
                codelet_rig_call(rig, &c);
            }
        }
        codelet_rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sizes_and_places) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pixels", tests, NULL, NULL);
}
