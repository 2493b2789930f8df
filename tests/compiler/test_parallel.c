/* test_parallel.c - every number is done once, and of several failures the lowest one is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "programs/compiler/base/parallel.h"

enum { NUMBERS = 1000, NEVER = NUMBERS };

struct work {
    uint8_t done[NUMBERS];
    uint32_t fails_from; /* this number fails, and every third after it */
    unsigned threads;
};

static enum emu_status do_number(void *ctx, uint32_t i, unsigned thread)
{
    struct work *w = ctx;

    w->done[i]++;
    if (thread >= parallel_threads(w->threads))
        return FAIL(USAGE, "thread %u", thread);
    if (i >= w->fails_from && (i - w->fails_from) % 3 == 0)
        return FAIL(BAD_PROGRAM, "number %u is bad", i);
    return EMU_OK;
}

static void test_each(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads <= 3; threads++) {
        for (uint32_t from = 0; from <= NEVER; from += NUMBERS / 4) {
            struct work w = { .fails_from = from, .threads = threads };
            enum emu_status s = parallel_each(NUMBERS, threads, do_number, &w);
            char text[64];

            assert_int_equal(s, from == NEVER ? EMU_OK : EMU_BAD_PROGRAM);
            snprintf(text, sizeof(text), "number %u is bad", from);
            if (s != EMU_OK)
                assert_string_equal(ss_error(), text);
            for (uint32_t i = 0; i < NUMBERS; i++)
                assert_int_equal(w.done[i], 1);
        }
    }
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(parallel_threads(1), 1);
    assert_true(parallel_threads(0) >= 1);
    assert_int_equal(parallel_threads(1 << 20), parallel_threads(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
