/* test_threads.c - random programs on whole chips: one answer for any number of threads, with and
 * without the fast paths and the checking mode, and the right one: random_chip.c works it out
 * without a machine.
 *
 *   test_threads            a few programs; the checking mode, which is slow, in some of the ways
 *   test_threads SEEDS      that many programs for each machine, in all ways
 */
#include <omp.h>

#include "tests/fixtures/chip_fixture.h"

static unsigned seeds_wanted;

/* A machine makes no more threads than there are cores. Here it believes in sixteen. */
int omp_get_num_procs(void)
{
    return 16;
}

/* 1, 2, 3 and 16 threads, with and without the fast paths and the checking mode. */
enum { WAYS = 16 };

static struct machine_options way(unsigned k)
{
    static const unsigned threads[] = { 1, 2, 3, 16 };

    return (
        struct machine_options){ .threads = threads[k & 3], .plain = k >> 2 & 1, .check = k >> 3 };
}

static int way_is_quick(unsigned k)
{
    return !way(k).check || k == 8 + 3 || k == 8 + 4 + 1;
}

/* Runs the program to its end, with one answer of the host. */
static void run(const struct random_chip *w, const char *machine, const struct machine_options *o,
                struct chip *c)
{
    chip_new(c, machine, o);
    assert_int_equal(c->m->threads, o->threads);
    random_chip_load(w, c);
    chip_stops(c, MACHINE_HOST);
    machine_release_host(c->m);
    chip_stops(c, MACHINE_HOST);
    assert_int_equal(machine_finish(c->m), EMU_OK);
    fflush(c->file);
}

static void check_same_record(const struct chip *a, const struct chip *b)
{
    assert_int_equal(record_count(a->record), record_count(b->record));
    for (size_t i = 0; i < record_count(a->record); i++) {
        const struct record_step *x = record_at(a->record, i), *y = record_at(b->record, i);

        assert_int_equal(x->group, y->group);
        assert_int_equal(x->index, y->index);
        assert_int_equal(x->release, y->release);
        assert_int_equal(x->end, y->end);
        assert_int_equal(x->tiles, y->tiles);
        for (uint32_t k = 0; k < a->arch.tiles; k++) {
            struct tile_step s = record_tile(a->record, i, k), t = record_tile(b->record, i, k);

            assert_memory_equal(&s, &t, sizeof(s));
        }
    }
}

static void check_same(struct chip *a, struct chip *b)
{
    assert_true(hash128_equal(machine_digest(a->m), machine_digest(b->m)));
    assert_int_equal(machine_cycles(a->m), machine_cycles(b->m));
    assert_int_equal(a->line_bytes, b->line_bytes);
    assert_memory_equal(a->lines, b->lines, a->line_bytes);
    check_same_record(a, b);
}

static void check_program(const char *machine, uint64_t seed, unsigned sections)
{
    struct machine_options o = way(0);
    struct random_chip w;
    struct chip first, c;
    char digest[33];

    random_chip_new(&w, machine, seed, sections);
    run(&w, machine, &o, &first);
    random_chip_check(&w, &first);
    hash128_text(machine_digest(first.m), digest);
    printf("# %s, seed %llu: %u messages, %u receptions, %u votes, %u agreements, %zu supersteps, "
           "%llu cycles, digest %s\n",
           machine, (unsigned long long)seed, w.messages, w.receptions, w.votes, w.agreed,
           record_count(first.record), (unsigned long long)machine_cycles(first.m), digest);
    for (unsigned k = 1; k < WAYS; k++) {
        if (!seeds_wanted && !way_is_quick(k))
            continue;
        o = way(k);
        run(&w, machine, &o, &c);
        random_chip_check(&w, &c);
        check_same(&first, &c);
        chip_free(&c);
    }
    chip_free(&first);
    random_chip_free(&w);
}

static void test_toy64(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (seeds_wanted ? seeds_wanted : 2); seed++)
        check_program("toy64", seed, 5);
}

static void test_mk2(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (seeds_wanted ? seeds_wanted : 1); seed++)
        check_program("mk2", seed, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_toy64),
        cmocka_unit_test(test_mk2),
    };

    if (argc > 1)
        seeds_wanted = (unsigned)strtoul(argv[1], NULL, 10);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
