/* test_timeline.c - earliest fit on bit timelines against a search event by event.
 */
#include "emu/base/random.h"
#include "tests/fixtures/tile_fixture.h"

#include <string.h>

#include "programs/compiler/schedule/timeline.h"

enum { PORTS = 6, EVENTS = 6000, USES = 4 };

static uint8_t taken[PORTS][EVENTS];

static int is_free(const struct timeline_use *use, uint32_t uses, uint32_t words, uint32_t event)
{
    for (uint32_t i = 0; i < uses; i++) {
        int64_t from = (int64_t)event + use[i].shift;

        if (from < 0)
            return 0;
        for (uint32_t k = 0; k < words; k++) {
            assert_true(from + k < EVENTS);
            if (taken[use[i].port][from + k])
                return 0;
        }
    }
    return 1;
}

static uint32_t plain_fit(const struct timeline_use *use, uint32_t uses, uint32_t words,
                          uint32_t from, struct timeline_grid grid)
{
    while (from % grid.unit != grid.phase || !is_free(use, uses, words, from))
        from++;
    for (uint32_t i = 0; i < uses; i++)
        memset(&taken[use[i].port][from + (uint32_t)use[i].shift], 1, words);
    return from;
}

/* Distinct ports, shifts of either sign. */
static uint32_t pick_uses(uint64_t *r, struct timeline_use *use)
{
    uint32_t uses = 1 + random_below(r, USES), first = random_below(r, PORTS);

    for (uint32_t i = 0; i < uses; i++) {
        use[i].port = (first + i) % PORTS;
        use[i].shift = (int32_t)random_below(r, 161) - 80;
    }
    return uses;
}

static void check_random(uint64_t seed, uint32_t room, uint32_t shortest, uint32_t longest,
                         uint32_t messages)
{
    struct timelines t;
    uint64_t r = seed;

    assert_int_equal(timelines_init(&t, PORTS, room, shortest), EMU_OK);
    for (unsigned pass = 0; pass < 2; pass++) {
        timelines_clear(&t);
        memset(taken, 0, sizeof(taken));
        for (uint32_t k = 0; k < messages; k++) {
            struct timeline_use use[USES];
            uint32_t uses = pick_uses(&r, use),
                     words = shortest + random_below(&r, longest - shortest + 1);
            uint32_t from = random_below(&r, 4) ? 0 : random_below(&r, 300), event;
            struct timeline_grid grid = { .unit = 1 };

            if (random_below(&r, 2)) {
                grid.unit = 1 + random_below(&r, 100);
                grid.phase = random_below(&r, grid.unit);
            }
            assert_int_equal(timelines_fit(&t, use, uses, words, from, grid, &event), EMU_OK);
            assert_int_equal(event, plain_fit(use, uses, words, from, grid));
        }
    }
    timelines_free(&t);
    assert_int_equal(alloc_live(), 0);
}

static void test_short(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        check_random(seed, seed % 2 ? 0 : 4000, 1, 1 + (uint32_t)seed % 12, 200);
}

static void test_long(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        check_random(seed, seed % 2 ? 0 : 4000, 1, 200, 25);
}

/* Gaps below the shortest message are closed; longer messages need rows of open events. */
static void test_shortest(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint32_t shortest = 2 + (uint32_t)seed * 4;

        check_random(seed, seed % 2 ? 0 : 4000, shortest, shortest, 30);
        check_random(seed, seed % 2 ? 0 : 4000, shortest, shortest + 60, 25);
    }
}

static void test_no_memory(void **state)
{
    struct timelines t;
    const struct timeline_use use = { .port = 1 };
    const struct timeline_grid any = { .unit = 1 };
    uint32_t event;

    (void)state;
    for (long n = 0; n < 2; n++) {
        alloc_test_fail_at(n);
        assert_int_equal(timelines_init(&t, PORTS, 100, 1), EMU_NO_MEMORY);
        alloc_test_fail_at(-1);
        assert_int_equal(alloc_live(), 0);
    }
    assert_int_equal(timelines_init(&t, PORTS, 100, 1), EMU_OK);
    alloc_test_fail_at(0); /* when it must grow */
    assert_int_equal(timelines_fit(&t, &use, 1, 1000, 0, any, &event), EMU_NO_MEMORY);
    alloc_test_fail_at(-1);
    assert_int_equal(timelines_fit(&t, &use, 1, 1000, 0, any, &event), EMU_OK);
    assert_int_equal(event, 0);
    timelines_free(&t);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_shortest),
        cmocka_unit_test(test_no_memory),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
