/* test_commands.c - the commands of all floors as one table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emu/cli/options.h"
#include "models/cli/commands_models.h"

/* run, step and lab take the same things; what else a command is used for is its own, or the
 * options of one would be taken by another. */
static void uses_differ(void **state)
{
    use_set seen = USE_RUN;

    (void)state;
    for (const struct command *const *t = command_tables; *t; t++) {
        for (const struct command *c = *t; c->name; c++) {
            use_set own = c->uses & ~USE_RUN;

            if (seen & own)
                fail_msg("%s has a use of another command", c->name);
            seen |= own;
        }
    }
}

/* An option of a command with the last bit is found, and refused by others. */
static void sets_are_wide(void **state)
{
    use_set last = USE_BIT(63);

    (void)state;
    assert_true(option_is_of(last | USE_RUN, last));
    assert_false(option_is_of(last, ~last));
    assert_true(option_is_of(last | USE_STEP, last | USE_STEP));
    assert_false(option_is_of(last, last | USE_STEP));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses_differ),
        cmocka_unit_test(sets_are_wide),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
