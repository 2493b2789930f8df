/* test_replay.c - calls whose cost is kept (emu/bsp/replay.h) against calls that are executed:
 * equal cycles and counters, whatever is under way where a call begins or returns. A key must stand
 * for nothing that it does not say.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/bsp/replay.h"

#include "tests/fixtures/tile_fixture.h"

enum { RUNS = 3, SITES_MAX = 128, TEXT_BYTES = 8192 };

/* A program that calls from the labels s0, s1, ..., each with the key of its number. */
struct calls {
    const struct arch *arch;
    char text[TEXT_BYTES];
    size_t sites;
    uint64_t key[SITES_MAX];
    size_t length;
};

EMU_PRINTF(2, 3)
static void write_text(struct calls *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    c->length += (size_t)vsnprintf(c->text + c->length, TEXT_BYTES - c->length, fmt, ap);
    va_end(ap);
    assert_true(c->length < TEXT_BYTES);
}

static void write_site(struct calls *c, const char *instruction, uint64_t key)
{
    assert_true(c->sites < SITES_MAX);
    write_text(c, "s%zu: %s\n", c->sites, instruction);
    c->key[c->sites++] = key;
}

static void write_call(struct calls *c, const char *function, uint64_t key)
{
    char call[64];

    snprintf(call, sizeof(call), "call $lr, %s", function);
    write_site(c, call, key);
}

/* Launches, does something in slots that workers leave early, waits. Worker n takes n slots more
 * than worker 0. */
#define WORKERS_OF_SIX_LENGTHS                                                                     \
    "w: get $m0, $WSR\n and $m0, $m0, 7\n l: brnzdec $m0, l\n exitz $mzero\n"
#define LAUNCHING_FUNCTION                                                                         \
    "f: setzi $m2, w\n runall $m2, $mzero, 0\n setzi $m3, 1\n add $m3, $m3, 1\n"                   \
    "add $m3, $m3, 1\n sync 2\n nop\n br $lr\n"

static struct replay *replay_of_calls(const struct calls *c, const struct tile_fixture *r)
{
    struct replay_key key[SITES_MAX];
    struct replay *out;

    for (size_t i = 0; i < c->sites; i++) {
        char label[16];

        snprintf(label, sizeof(label), "s%zu", i);
        key[i] = (struct replay_key){ tile_fixture_symbol(r, label), c->key[i] };
    }
    assert_int_equal(replay_new(1, &out), EMU_OK);
    assert_int_equal(replay_add(out, 0, key, c->sites), EMU_OK);
    return out;
}

static void expect_equal(const struct barrel *a, const struct barrel *b, int run)
{
    if (a->cycle != b->cycle)
        fail_msg("run %d: cycle %llu, expected %llu", run, (unsigned long long)b->cycle,
                 (unsigned long long)a->cycle);
    assert_memory_equal(a->issued, b->issued, sizeof(a->issued));
    assert_memory_equal(a->instructions, b->instructions, sizeof(a->instructions));
}

/* Runs the program without a replay, then several times with one. Returns its counts. */
static struct replay_counts compare(const struct calls *c)
{
    struct tile_fixture *r = tile_fixture_new_on(c->arch, c->text);
    struct replay *replay = replay_of_calls(c, r);
    struct replay_counts counts;
    struct barrel executed;

    assert_int_equal(tile_fixture_run(r), BARREL_HALT);
    executed = r->barrel;
    for (int run = 0; run < RUNS; run++) {
        tile_fixture_reset(r, NULL);
        r->barrel.replay = replay_of(replay, 0);
        assert_int_equal(tile_fixture_run(r), BARREL_HALT);
        replay_end(r->barrel.replay, &r->barrel);
        expect_equal(&executed, &r->barrel, run);
    }
    counts = replay_counts(replay);
    replay_free(replay);
    tile_fixture_free(r);
    return counts;
}

/* Calls one behind the other, each k cycles after the return of the one before. */
static void calls_begin_in_any_slot(void **state)
{
    struct calls c = { .arch = ss_arch_preset("mk2") };
    struct replay_counts counts;

    (void)state;
    write_text(&c, "start: nop\n");
    for (unsigned k = 0; k < 30; k++) {
        write_call(&c, "f", 1);
        for (unsigned n = 0; n < k; n++)
            write_text(&c, "nop\n");
    }
    write_text(&c, "stop: nop\n" LAUNCHING_FUNCTION WORKERS_OF_SIX_LENGTHS);
    counts = compare(&c);
    assert_int_equal(counts.keys, 1);
    assert_int_equal(counts.measured, 1);
    assert_int_equal(counts.skipped, 30 * RUNS - TILE_WORKERS); /* each slot once */
}

static void other_keys_are_other_calls(void **state)
{
    struct calls c = { .arch = ss_arch_preset("mk2") };
    struct replay_counts counts;

    (void)state;
    write_text(&c, "start: nop\n");
    for (unsigned k = 0; k < 12; k++) {
        write_call(&c, "f", 1);
        write_call(&c, "g", 2);
        for (unsigned n = 0; n < k; n++)
            write_text(&c, "nop\n");
    }
    write_text(&c, "stop: nop\n g: nop\n nop\n br $lr\n" LAUNCHING_FUNCTION WORKERS_OF_SIX_LENGTHS);
    counts = compare(&c);
    assert_int_equal(counts.keys, 2);
    assert_true(counts.skipped > 2 * RUNS);
}

/* A call k cycles after a launch: before the first worker issues, while they leave their slots, in
 * the last cycles that these are theirs, and after all that. Calls of this machine take no time in
 * which the last of it passes. */
static void workers_may_run_where_a_call_begins(void **state)
{
    static const char *const function[] = { "nop\n nop\n nop\n", "sync 2\n" };
    struct arch quick = *ss_arch_preset("mk2");

    (void)state;
    quick.number[ARCH_NUMBER_sup_branch_cycles] = quick.number[ARCH_NUMBER_sup_result_cycles] = 1;
    quick.number[ARCH_NUMBER_exit_seen_cycles] = 9;
    for (size_t i = 0; i < EMU_COUNT_OF(function); i++) {
        struct calls c = { .arch = &quick };

        write_text(&c, "start: setzi $m2, w\n");
        for (unsigned k = 0; k < 30; k++) {
            write_site(&c, "runall $m2, $mzero, 0", 2);
            for (unsigned n = 0; n < 2 * k; n++)
                write_text(&c, "nop\n");
            write_call(&c, "f", 1);
            write_text(&c, "sync 2\n");
            write_call(&c, "f", 1);
        }
        write_text(&c, "stop: nop\n f: %s br $lr\n" WORKERS_OF_SIX_LENGTHS, function[i]);
        assert_true(compare(&c).skipped > 0);
    }
}

/* What a call has launched may run on after its return. */
static void workers_may_run_where_a_call_returns(void **state)
{
    struct calls c = { .arch = ss_arch_preset("mk2") };

    (void)state;
    write_text(&c, "start: setzi $m2, w\n");
    for (unsigned k = 0; k < 12; k++) {
        write_call(&c, "f", 1);
        for (unsigned n = 0; n < k; n++)
            write_text(&c, "nop\n");
        write_text(&c, "sync 2\n");
    }
    write_text(&c, "stop: nop\n f: runall $m2, $mzero, 0\n nop\n br $lr\n" WORKERS_OF_SIX_LENGTHS);
    assert_int_equal(compare(&c).skipped, 0);
}

/* A machine whose results take longer than its branches: the function waits for what was begun
 * before it, and what it has begun is awaited after it. */
static void results_may_be_under_way(void **state)
{
    struct arch slow = *ss_arch_preset("mk2");
    struct calls c = { .arch = &slow };

    (void)state;
    slow.number[ARCH_NUMBER_sup_result_cycles] = 20;
    write_text(&c, "start: nop\n");
    for (unsigned k = 0; k < 12; k++) {
        if (k % 4 == 0)
            write_text(&c, "setzi $m4, 1\n");
        write_call(&c, "f", 1);
        write_text(&c, "add $m6, $m5, 1\n");
        for (unsigned n = 0; n < 3 * k; n++)
            write_text(&c, "nop\n");
        write_call(&c, "g", 2);
    }
    write_text(&c, "stop: nop\n f: add $m7, $m4, 1\n setzi $m5, 1\n br $lr\n g: nop\n br $lr\n");
    compare(&c);
}

/* A call inside a call, of code without a site, returns elsewhere. */
static void calls_may_call(void **state)
{
    struct calls c = { .arch = ss_arch_preset("mk2") };

    (void)state;
    write_text(&c, "start: nop\n");
    for (unsigned k = 0; k < 12; k++)
        write_call(&c, "g", 1);
    write_text(&c, "stop: nop\n g: mov $m9, $lr\n call $lr, f\n nop\n mov $lr, $m9\n br "
                   "$lr\n" LAUNCHING_FUNCTION WORKERS_OF_SIX_LENGTHS);
    assert_true(compare(&c).skipped > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_begin_in_any_slot),
        cmocka_unit_test(other_keys_are_other_calls),
        cmocka_unit_test(workers_may_run_where_a_call_begins),
        cmocka_unit_test(workers_may_run_where_a_call_returns),
        cmocka_unit_test(results_may_be_under_way),
        cmocka_unit_test(calls_may_call),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
