/* test_key_sort.c - records come out in the order of their keys, equal ones in the order in which
 * they were, for every number of records around the limits of the two methods.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/compiler/base/key_sort.h"

struct record {
    uint32_t other, high, low, number;
};

enum { MOST = 300 };

/* Keys of `bits` bits, so that few or many of them are equal. */
static void fill(struct record *r, size_t n, unsigned bits, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = (seed + i + 1) * 0x9e3779b97f4a7c15;

        r[i] = (struct record){ (uint32_t)x, (uint32_t)(x >> 40) >> (24 - bits) << (32 - bits),
                                (uint32_t)(x >> 20) % 7, (uint32_t)i };
    }
}

static uint64_t key_of(const struct record *r, unsigned words)
{
    return words == 2 ? (uint64_t)r->high << 32 | r->low : r->high;
}

static void assert_sorted(const struct record *r, const struct record *was, size_t n,
                          unsigned words)
{
    uint8_t seen[MOST] = { 0 };

    for (size_t i = 0; i < n; i++) {
        assert_true(r[i].number < n && !seen[r[i].number]++);
        assert_memory_equal(&r[i], &was[r[i].number], sizeof(*r));
        if (!i)
            continue;
        assert_true(key_of(&r[i - 1], words) <= key_of(&r[i], words));
        if (key_of(&r[i - 1], words) == key_of(&r[i], words))
            assert_true(r[i - 1].number < r[i].number);
    }
}

static void test_order(void **state)
{
    static struct record was[MOST], r[MOST], spare[MOST];

    (void)state;
    for (size_t n = 0; n <= MOST; n += n < 40 ? 1 : 13) {
        for (unsigned bits = 1; bits <= 24; bits += 23) {
            for (unsigned words = 1; words <= 2; words++) {
                fill(was, n, bits, (uint32_t)n);
                memcpy(r, was, sizeof(r));
                assert_int_equal(key_sort(r, n, sizeof(*r), offsetof(struct record, high), words),
                                 EMU_OK);
                assert_sorted(r, was, n, words);
                memcpy(r, was, sizeof(r));
                key_sort_in(r, spare, n, sizeof(*r), offsetof(struct record, high), words);
                assert_sorted(r, was, n, words);
            }
        }
    }
}

static void test_no_memory(void **state)
{
    static struct record r[MOST];

    (void)state;
    fill(r, MOST, 24, 1);
    alloc_test_fail_at(0);
    assert_int_equal(key_sort(r, MOST, sizeof(*r), offsetof(struct record, high), 2),
                     EMU_NO_MEMORY);
    alloc_test_fail_at(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
