/* test_digest_diff.c - where two files of digests begin to differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "emu/job/digest_diff.h"

#define HEAD "superstep-digests 1\nmachine toy4 tiles 4\n"
#define A    "00000000000000000000000000000000"
#define B    "0000000000000000000000000000000b"
#define C    "ffffffffffffffffffffffffffffffff"

static enum emu_status diff(const char *a, const char *b, struct digest_diff *out)
{
    FILE *fa = fmemopen((void *)(uintptr_t)a, strlen(a), "r");
    FILE *fb = fmemopen((void *)(uintptr_t)b, strlen(b), "r");
    enum emu_status s;

    assert_true(fa && fb);
    s = digest_diff_files(fa, "a", fb, "b", out);
    fclose(fa);
    fclose(fb);
    return s;
}

static void expect(const char *a, const char *b, enum digest_diff_kind kind, uint64_t steps,
                   int64_t tile)
{
    struct digest_diff d;

    if (diff(a, b, &d) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(d.kind, kind);
    assert_int_equal(d.steps, steps);
    assert_int_equal(d.tile, tile);
}

static void refuse(const char *a, const char *message)
{
    struct digest_diff d;

    assert_int_equal(diff(a, HEAD, &d), EMU_BAD_FILE);
    if (!strstr(ss_error(), message))
        fail_msg("\"%s\" does not say \"%s\"", ss_error(), message);
}

static void equal(void **state)
{
    (void)state;
    expect(HEAD, HEAD, DIGESTS_EQUAL, 0, -1);
    expect(HEAD "step 0 0 120 " A "\ntile 0 " B "\nstep 1 0 120 " C "\n",
           HEAD "step 0 0 120 " A "\ntile 0 " B "\nstep 1 0 120 " C "\n", DIGESTS_EQUAL, 2, -1);
    /* one of them has no lines of tiles */
    expect(HEAD "step 0 0 120 " A "\ntile 0 " B "\nstep 0 1 240 " C "\n",
           HEAD "step 0 0 120 " A "\nstep 0 1 240 " C "\n", DIGESTS_EQUAL, 2, -1);
}

static void different(void **state)
{
    struct digest_diff d;

    (void)state;
    expect(HEAD, "superstep-digests 1\nmachine toy16 tiles 16\n", DIGESTS_MACHINE, 0, -1);
    expect(HEAD "step 0 0 120 " A "\nstep 0 1 300 " B "\n",
           HEAD "step 0 0 120 " A "\nstep 0 1 300 " C "\n", DIGESTS_ROOT, 1, -1);
    expect(HEAD "step 0 0 120 " A "\ntile 0 " A "\ntile 1 " B "\ntile 2 " A "\n",
           HEAD "step 0 0 120 " B "\ntile 0 " A "\ntile 1 " C "\ntile 2 " B "\n", DIGESTS_ROOT, 0,
           1);
    expect(HEAD "step 0 0 120 " A "\n", HEAD "step 0 0 121 " A "\n", DIGESTS_CYCLE, 0, -1);
    expect(HEAD "step 0 0 120 " A "\n", HEAD "step 1 0 120 " A "\n", DIGESTS_ORDER, 0, -1);
    expect(HEAD "step 0 0 120 " A "\n", HEAD "step 0 0 120 " A "\nstep 0 1 240 " A "\n",
           DIGESTS_LENGTH, 1, -1);
    assert_int_equal(diff(HEAD, HEAD "step 3 7 120 " A "\n", &d), EMU_OK);
    assert_int_equal(d.longer, 1);
    assert_int_equal(d.line[0].group, 3);
    assert_int_equal(d.line[0].superstep, 7);
}

#define CHIPS "superstep-digests 1\nmachine toy4 tiles 4 chips 2\n"

static void of_chips(void **state)
{
    struct digest_diff d;

    (void)state;
    expect(CHIPS "step 0 0 0 120 " A "\nstep 1 0 0 120 " C "\ntile 0 " B "\n",
           CHIPS "step 0 0 0 120 " A "\nstep 1 0 0 120 " C "\ntile 0 " B "\n", DIGESTS_EQUAL, 2,
           -1);
    expect(CHIPS "step 0 0 0 120 " A "\n", CHIPS "step 1 0 0 120 " A "\n", DIGESTS_ORDER, 0, -1);
    expect(CHIPS, HEAD, DIGESTS_MACHINE, 0, -1);
    assert_int_equal(diff(CHIPS "step 1 2 3 120 " A "\n", CHIPS "step 1 2 3 121 " A "\n", &d),
                     EMU_OK);
    assert_int_equal(d.kind, DIGESTS_CYCLE);
    assert_int_equal(d.of_chips, 1);
    assert_int_equal(d.line[0].chip, 1);
    assert_int_equal(d.line[0].group, 2);
    assert_int_equal(diff(CHIPS "step 0 0 120 " A "\n", CHIPS "step 0 0 0 120 " A "\n", &d),
                     EMU_BAD_FILE);
    assert_non_null(strstr(ss_error(), "a:3: expected \"step CHIP GROUP"));
}

static void damaged(void **state)
{
    static char huge[1000];

    (void)state;
    memset(huge, 'x', sizeof(huge) - 1);
    refuse("no\n", "a:1: expected \"superstep-digests 1\"");
    refuse(huge, "a:1: expected a whole line");
    refuse("superstep-digests 1\n", "a:2: expected \"machine");
    refuse(HEAD "tile 0 " A "\n", "a:3: expected a step");
    refuse(HEAD "step 0 0 120 " A, "a:3: expected a whole line");
    refuse(HEAD "step 0 0 x " A "\n", "a:3: expected \"step");
    refuse(HEAD "step 0 0 120 " A "0\n", "a:3: expected \"step");
    refuse(HEAD "step 0 0 120 zz\n", "a:3: expected \"step");
    {
        struct digest_diff d;
        const char *text = HEAD "step 0 0 120 " A "\ntile 0 00\nstep 0 1 1 " A "\n";

        assert_int_equal(diff(text, text, &d), EMU_BAD_FILE);
        assert_non_null(strstr(ss_error(), ":4: expected \"tile"));
    }
    {
        struct digest_diff d;

        assert_int_equal(digest_diff("/nonexistent/a", "/nonexistent/b", &d), EMU_IO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal),
        cmocka_unit_test(different),
        cmocka_unit_test(of_chips),
        cmocka_unit_test(damaged),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
