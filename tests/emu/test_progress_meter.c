/* test_progress_meter.c - what is said about a long stage, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "emu/base/progress_meter.h"

static void expect_text(uint64_t done, uint64_t all, int64_t ms, const char *want)
{
    struct progress_meter m = { .stage = "exchange", .unit = "messages", .all = all };
    char text[160];

    atomic_store(&m.done, done);
    assert_int_equal(progress_meter_text(text, sizeof(text), &m, ms), strlen(want));
    assert_string_equal(text, want);
}

static void share_and_time_left(void **state)
{
    (void)state;
    expect_text(41, 100, 3200, "exchange      3.200 s   41 %, about 5 s left");
    expect_text(100, 100, 3200, "exchange      3.200 s   100 %, about 0 s left");
    expect_text(140, 100, 3200, "exchange      3.200 s   100 %, about 0 s left");
    expect_text(3, 400, 1000, "exchange      1.000 s   0 %, 3 of 400 messages");
    expect_text(1, 100, 2000, "exchange      2.000 s   1 %, about 3 min 18 s left");
    expect_text(1, 100, 100000, "exchange    100.000 s   1 %, about 2 h 45 min left");
    expect_text(7, 0, 12000, "exchange     12.000 s   7 messages");
    expect_text(UINT64_MAX / 2, UINT64_MAX, 1000, "exchange      1.000 s   50 %, about 1 s left");
}

/* The text of a file after some work; to be freed. due: whether a line is due at once. */
static char *written(int terminal, int due)
{
    struct progress_meter m;
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    assert_non_null(f);
    progress_meter_begin(&m, f, "execute", "supersteps", 4);
    m.terminal = terminal;
    progress_meter_add(&m, 1); /* too early */
    if (due)
        atomic_store(&m.next_ms, 0);
    progress_meter_add(&m, 1);
    progress_meter_set(&m, 3); /* soon after it */
    progress_meter_end(&m);
    progress_meter_add(&m, 1); /* over */
    fclose(f);
    return text;
}

static void lines_are_rare(void **state)
{
    char *text = written(0, 0);

    (void)state;
    assert_string_equal(text, "");
    free(text);
    text = written(0, 1);
    assert_non_null(strstr(text, " s   50 %, about 0 s left\n"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one */
    free(text);
    text = written(1, 1);
    assert_int_equal(text[0], '\r');
    assert_null(strchr(text, '\n'));
    assert_string_equal(text + strlen(text) - 4, "\r\033[K");
    free(text);
    text = written(1, 0);
    assert_string_equal(text, "");
    free(text);
}

static void quiet_commands_say_nothing(void **state)
{
    struct progress_meter m;

    (void)state;
    progress_meter_begin(&m, NULL, "execute", "supersteps", 4);
    progress_meter_add(&m, 1);
    progress_meter_set(&m, 4);
    progress_meter_end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(share_and_time_left),
        cmocka_unit_test(lines_are_rare),
        cmocka_unit_test(quiet_commands_say_nothing),
    };

    return cmocka_run_group_tests_name("progress meter", tests, NULL, NULL);
}
