/* test_profile_pack.c - lists of numbers in a profile: whoever packs them, the file is the same,
 * and they come out as they went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/profile/profile_store.h"

enum { LISTS = 90, LIST_MAX = 100000, LONG_LIST = 3 << 20 /* more than waits at a time */ };

static void must(enum emu_status s)
{
    if (s != EMU_OK)
        fail_msg("%s", ss_error());
}

/* List k: one is longer than all that wait together, some are empty. */
static size_t length_of(unsigned k)
{
    return k == 40 ? LONG_LIST : k % 7 == 0 ? 0 : (size_t)k * 7919 % LIST_MAX;
}

static uint32_t number_of(unsigned k, size_t i)
{
    return (uint32_t)(k * 2654435761u + i * (k % 3 ? 4u : 0x9e3779b9u));
}

static uint32_t *list_of(unsigned k)
{
    uint32_t *list = emu_alloc(length_of(k) + 1, sizeof(*list));

    assert_non_null(list);
    for (size_t i = 0; i < length_of(k); i++)
        list[i] = number_of(k, i);
    return list;
}

/* A profile of all lists, as a file; *bytes of it, to be freed by free(). */
static char *packed(unsigned threads, size_t *bytes)
{
    struct profile *p;
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);

    assert_non_null(f);
    must(profile_new(threads, &p));
    for (unsigned k = 0; k < LISTS; k++) {
        const struct profile_value v[] = { PROFILE_I(k), PROFILE_I(length_of(k)), PROFILE_I(1),
                                           PROFILE_I(2) };
        uint32_t *list = list_of(k);

        must(profile_put_numbers(p, "exchanges", v, EMU_COUNT_OF(v), list, length_of(k)));
        memset(list, 0xff, length_of(k) * sizeof(*list)); /* they were copied */
        ss_free(list);
    }
    must(profile_write(p, f));
    profile_free(p);
    fclose(f);
    return text;
}

static enum emu_status compare(void *ctx, const struct profile_cursor *c)
{
    unsigned *k = ctx;
    uint32_t *want = list_of(*k), *is = emu_alloc(length_of(*k) + 1, sizeof(*is));

    assert_int_equal(profile_integer(c, 0), *k);
    must(profile_numbers(c, 1, is, length_of(*k)));
    assert_memory_equal(is, want, length_of(*k) * sizeof(*is));
    assert_int_equal(profile_numbers(c, 1, is, length_of(*k) + 1), EMU_BAD_FILE);
    ss_free(want);
    ss_free(is);
    ++*k;
    return EMU_OK;
}

static void threads_pack_the_same(void **state)
{
    size_t bytes, others;
    char *one = packed(1, &bytes);
    struct profile *p;
    unsigned k = 0;

    (void)state;
    for (unsigned threads = 0; threads <= 5; threads += 5) {
        char *more = packed(threads, &others);

        assert_int_equal(others, bytes);
        assert_memory_equal(more, one, bytes);
        free(more);
    }
    must(profile_read_bytes(one, bytes, "x.db", &p));
    must(profile_query(p, "SELECT exchange, list FROM exchanges ORDER BY exchange", compare, &k));
    assert_int_equal(k, LISTS);
    profile_free(p);
    free(one);
    assert_int_equal(alloc_live(), 0);
}

/* A query sees the lists that wait. */
static void queries_before_the_end(void **state)
{
    const struct profile_value v[] = { PROFILE_I(7) };
    const uint32_t list[] = { 1, 2, 3 };
    struct profile *p;

    (void)state;
    must(profile_new(2, &p));
    must(profile_put_numbers(p, "superstep_tiles", v, 1, list, EMU_COUNT_OF(list)));
    assert_int_equal(profile_query_integer(p, "SELECT superstep FROM superstep_tiles"), 7);
    profile_free(p);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_pack_the_same),
        cmocka_unit_test(queries_before_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
