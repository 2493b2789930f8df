/* test_bill.c - parts of supersteps that several chips end together: they add up to the cycles,
 * exactly; without such supersteps nothing of them is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "emu/base/prng.h"
#include "emu/base/random.h"
#include "emu/bsp/record.h"
#include "emu/profile/bill.h"

enum { TILES = 7 };

static const uint32_t numbers[TILES] = { 0, 1, 2, 3, 4, 5, 6 };

static struct record *new_record(void)
{
    struct record *r;

    assert_int_equal(record_new(TILES, NULL, &r), EMU_OK);
    return r;
}

static void add(struct record *r, const struct record_step *s, const struct tile_step *t)
{
    assert_int_equal(record_add(r, s, numbers, t), EMU_OK);
}

/* Two tiles: the first exchanges 10 cycles, waits 30 for another chip and computes 5; the second
 * exchanges 20 and computes 50, so it comes last. */
static void parts_of_one_step(void **state)
{
    const struct tile_step tile[2] = {
        { .exchange_cycles = 10, .link_cycles = 30, .compute_cycles = 5, .arrival_cycles = 45 },
        { .exchange_cycles = 20, .compute_cycles = 50, .arrival_cycles = 70 },
    };
    struct record_step s = {
        .release = 100, .end = 1000, .tiles = 2, .sync_cycles = 830, .scope = SCOPE_POD
    };
    struct record *r = new_record();
    struct bill b;

    (void)state;
    add(r, &s, tile);
    s.scope = SCOPE_CHIP;
    add(r, &s, tile);
    b = ss_bill_of_step(r, 0);
    assert_int_equal(b.exchange, 20);
    assert_int_equal(b.link, 20); /* 10 + 30 is over 20 cycles after the longest exchange */
    assert_int_equal(b.compute, 30);
    assert_int_equal(b.wait, 0);
    assert_int_equal(b.sync, 0);
    assert_int_equal(b.outer, 830);
    assert_int_equal(b.total, 900);
    b = ss_bill_of_step(r, 1);
    assert_int_equal(b.sync, 830);
    assert_int_equal(b.outer, 0);
    record_free(r);
}

static uint32_t below(struct prng *p, uint32_t limit)
{
    return (uint32_t)(prng_next(p) % limit);
}

/* A superstep of random tiles that begins in cycle `from`; returns its end. */
static uint64_t random_step(struct prng *p, struct record *r, uint64_t from, enum sync_scope scope)
{
    struct tile_step tile[TILES] = { { 0 } };
    struct record_step s = { .release = from + below(p, 9), .tiles = TILES, .scope = scope };
    uint32_t last = 0;

    s.host_cycles = s.release - from;
    for (unsigned i = 0; i < TILES; i++) {
        tile[i] = (struct tile_step){ .exchange_cycles = below(p, 50),
                                      .link_cycles = below(p, 2) * below(p, 90),
                                      .compute_cycles = below(p, 70) };
        tile[i].arrival_cycles =
            tile[i].exchange_cycles + tile[i].link_cycles + tile[i].compute_cycles;
        if (!below(p, 4)) /* it has voted ahead */
            tile[i].arrival_cycles = below(p, tile[i].arrival_cycles + 1);
        last = tile[i].arrival_cycles > last ? tile[i].arrival_cycles : last;
    }
    s.sync_cycles = 20 + below(p, 700);
    s.end = s.release + last + below(p, 100) + s.sync_cycles;
    add(r, &s, tile);
    return s.end;
}

static void parts_add_up(void **state)
{
    struct prng p = { .s0 = 38, .s1 = 5 };
    struct record *r = new_record();
    uint64_t cycle = 0, outer = 0;
    struct bill sum;

    (void)state;
    for (size_t i = 0; i < 500; i++) {
        enum sync_scope scope = SCOPE_GROUP + below(&p, SCOPES - SCOPE_GROUP);
        uint64_t begun = cycle;
        struct bill b;

        cycle = random_step(&p, r, cycle, scope);
        b = ss_bill_of_step(r, i);
        assert_int_equal(b.total, cycle - begun);
        assert_int_equal(b.total,
                         b.host + b.exchange + b.link + b.compute + b.wait + b.sync + b.outer);
        assert_int_equal(b.outer != 0, scope == SCOPE_REPLICA || scope == SCOPE_POD);
        assert_true(b.sync == 0 || b.outer == 0);
        assert_true(b.wait < 100);
        outer += b.outer;
    }
    sum = ss_bill_of_group(r, 0);
    assert_int_equal(sum.total, cycle);
    assert_int_equal(sum.outer, outer);
    record_free(r);
}

/* ---- what is shown ---- */

static char *printed(const struct record *r)
{
    char *text;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    ss_bill_print_steps(r, NULL, f);
    ss_bill_print_tiles(r, numbers, 2, f);
    fclose(f);
    return text;
}

static void check_shown(const struct record *r, size_t step, int chips)
{
    json_t *steps = ss_bill_steps_json(r, NULL, numbers, TILES), *o = json_array_get(steps, step);
    char *text = printed(r);

    assert_non_null(o);
    assert_int_equal(strstr(text, "link") != NULL, chips);
    assert_int_equal(strstr(text, "outer") != NULL, chips);
    assert_int_equal(json_object_get(json_object_get(o, "bill"), "outer_cycles") != NULL, chips);
    assert_int_equal(json_object_get(json_object_get(o, "bill"), "link_cycles") != NULL, chips);
    json_decref(steps);
    free(text);
}

static void shown_of_several_chips_alone(void **state)
{
    const struct tile_step tile[2] = {
        { .exchange_cycles = 1234, .link_cycles = 777, .arrival_cycles = 2011 },
        { .compute_cycles = 3000, .arrival_cycles = 3000 },
    };
    struct record_step s = { .end = 3700, .tiles = 2, .sync_cycles = 700, .scope = SCOPE_CHIP };
    struct record *one = new_record(), *several = new_record();
    const struct tile_step alone[2] = { { .exchange_cycles = 2011, .arrival_cycles = 2011 },
                                        tile[1] };
    char *text;

    (void)state;
    add(one, &s, alone);
    check_shown(one, 0, 0);
    s.scope = SCOPE_REPLICA;
    add(several, &s, tile);
    check_shown(several, 0, 1);
    text = printed(several);
    assert_non_null(strstr(text,
                           "       3700       1234        777        989          0          0"
                           "        700"));
    free(text);
    record_free(one);
    record_free(several);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_one_step),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(shown_of_several_chips_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
