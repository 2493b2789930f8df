/* test_stream.c - batches made of pictures ahead of need, and the times of batches from the syncs
 * that the machine reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "emu/base/alloc.h"
#include "emu/emu.h"
#include "models/stream/stream_input.h"
#include "models/stream/stream_times.h"

enum { SIDE = 4, PIXELS = SIDE * SIDE, BATCH = 3, SLOTS = 4 };

/* ---- batches ---- */

struct pictures {
    uint32_t given, all, stop_after; /* stop_after: 0: never */
};

static enum emu_status give(void *ctx, uint8_t *rgb, int *more)
{
    struct pictures *p = ctx;

    *more = p->given < p->all;
    if (*more)
        memset(rgb, (int)++p->given, 3 * PIXELS);
    return EMU_OK;
}

static int stops(void *ctx)
{
    const struct pictures *p = ctx;

    return p->stop_after && p->given >= p->stop_after;
}

static struct stream_network small_net(void)
{
    return (struct stream_network){ .batch = BATCH,
                                    .recipe = { .width = SIDE,
                                                .height = SIDE,
                                                .planes = 3,
                                                .mean = { 0.5, 0.25, 0.125 },
                                                .std = { 0.5, 0.25, 0.125 } } };
}

static void batches_come_when_they_are_looked_for(void **state)
{
    struct pictures p = { .all = 8 };
    const struct stream_calls calls = { &p, give, NULL, stops };
    struct stream_network net = small_net();
    struct stream_input x;
    uint32_t pictures;
    const uint8_t *data;
    int has;

    (void)state;
    assert_int_equal(stream_input_init(&x, &net, ELEM_U8, 1, 3 * PIXELS * BATCH + 5, SLOTS),
                     EMU_OK);
    x.calls = &calls;
    assert_int_equal(stream_input_has(&x, 1, &has), EMU_OK);
    assert_int_equal(has, 1);
    assert_int_equal(p.given, 6); /* no more than needed */
    data = stream_input_batch(&x, 0, &pictures);
    assert_int_equal(pictures, BATCH);
    assert_int_equal(data[0], 1);
    assert_int_equal(data[3 * PIXELS * BATCH - 1], 3);
    assert_int_equal(data[3 * PIXELS * BATCH], 0);
    assert_int_equal(stream_input_has(&x, 3, &has), EMU_OK);
    assert_int_equal(has, 0);
    assert_int_equal(stream_input_has(&x, 2, &has), EMU_OK);
    assert_int_equal(has, 1);
    data = stream_input_batch(&x, 2, &pictures);
    assert_int_equal(pictures, 2); /* the rest of the batch is 0 */
    assert_int_equal(data[2 * 3 * PIXELS - 1], 8);
    assert_int_equal(data[2 * 3 * PIXELS], 0);
    stream_input_free(&x);
}

static void a_stop_ends_them(void **state)
{
    struct pictures p = { .all = 100, .stop_after = 4 };
    const struct stream_calls calls = { &p, give, NULL, stops };
    struct stream_network net = small_net();
    struct stream_input x;
    uint32_t pictures;
    int has;

    (void)state;
    assert_int_equal(stream_input_init(&x, &net, ELEM_U8, 1, 3 * PIXELS * BATCH, SLOTS), EMU_OK);
    x.calls = &calls;
    assert_int_equal(stream_input_has(&x, 5, &has), EMU_OK);
    assert_int_equal(has, 0);
    assert_int_equal(x.loaded, 2);
    (void)stream_input_batch(&x, 1, &pictures);
    assert_int_equal(pictures, 1);
    stream_input_free(&x);
}

/* What the device makes of bytes is what the host sends as f16. */
static void types_mean_the_same(void **state)
{
    struct pictures p = { .all = 200 };
    const struct stream_calls calls = { &p, give, NULL, NULL };
    struct stream_network net = small_net();
    struct stream_input x;
    struct pixel_format c = picture_pixels(net.recipe.mean, net.recipe.std, ELEM_U8);
    uint32_t pictures;
    int has;

    (void)state;
    assert_int_equal(stream_input_init(&x, &net, ELEM_F16, 1, 3 * PIXELS * BATCH, SLOTS), EMU_OK);
    x.calls = &calls;
    for (uint64_t b = 0; b < 60; b++) {
        const uint16_t *half;

        assert_int_equal(stream_input_has(&x, b, &has), EMU_OK);
        half = stream_input_batch(&x, b, &pictures);
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(half[k], c.table[k][3 * b + 1]);
    }
    stream_input_free(&x);
}

static enum emu_status give_ramp(void *ctx, uint8_t *rgb, int *more)
{
    uint32_t *left = ctx;

    for (unsigned i = 0; i < 3 * PIXELS; i++)
        rgb[i] = (uint8_t)i;
    *more = *left && (*left)--;
    return EMU_OK;
}

/* A program that takes numbers in the order of their shape gets one colour after the other. */
static void colours_come_in_their_order(void **state)
{
    struct stream_network net = small_net();
    uint32_t left = 2, pictures;
    const struct stream_calls calls = { &left, give_ramp, NULL, NULL };
    struct stream_input x;
    const uint8_t *data;
    int has;

    (void)state;
    for (int by_pixel = 0; by_pixel < 2; by_pixel++, left = 2) {
        assert_int_equal(stream_input_init(&x, &net, ELEM_U8, by_pixel, 3 * PIXELS * BATCH, SLOTS),
                         EMU_OK);
        x.calls = &calls;
        assert_int_equal(stream_input_has(&x, 0, &has), EMU_OK);
        data = stream_input_batch(&x, 0, &pictures);
        assert_int_equal(pictures, 2);
        for (unsigned i = 0; i < 2 * 3 * PIXELS; i++) {
            unsigned k = i % (3 * PIXELS);

            assert_int_equal(data[i], by_pixel ? k : k % PIXELS * 3 + k / PIXELS);
        }
        stream_input_free(&x);
    }
}

/* ---- times ---- */

static void superstep(struct stream_times *t, uint64_t release, uint64_t received, uint64_t arrived,
                      uint64_t end, int wide)
{
    const struct machine_superstep s = {
        .release = release, .received = received, .arrived = arrived, .end = end, .wide = wide
    };

    stream_times_watch(t, &s);
}

/* Three batches at depth 2: the last one leaves the steps of the buffers and the loop. */
static void joins_are_told_from_consensuses(void **state)
{
    const struct prefetch_options o = { 4, 2 };
    struct stream_record r = { .batch_bytes = 1000 };
    struct stream_times t;
    uint64_t now = 1000;

    (void)state;
    stream_times_init(&t, ss_arch_preset("toy16"), &o, &r);
    for (uint64_t b = 0; b < 3; b++)
        assert_int_equal(stream_times_pictures(&t, b, 1), EMU_OK);
    superstep(&t, 0, 0, 0, now, 1); /* join of batch 0 */
    for (uint64_t b = 0; b < 3; b++, now += 1000) {
        superstep(&t, now, now + 40, now + 50, now + 60, 1); /* consensus */
        if (b == 2)
            superstep(&t, now + 60, now + 60, now + 70, now + 75, 1);
        superstep(&t, now + 75, now + 75, now + 500, now + 510, 0);
        superstep(&t, now + 510, now + 520, now + 900, now + 1000, 1); /* join */
    }
    for (uint64_t b = 0; b < 3; b++) {
        assert_int_equal(r.row[b].joined, 1000 * (b + 1));
        assert_int_equal(r.row[b].computing, 1000 * (b + 1) + (b == 2 ? 75 : 60));
        assert_int_equal(r.row[b].computed, 1000 * (b + 1) + 900);
    }
    r.batches = 3;
    stream_times_sum(&t);
    assert_true(r.period == 1000 && r.join == 60 && r.compute == 840 && r.wait == 100);
    ss_free(r.row);
}

static void the_rule_names_the_longest(void **state)
{
    static const struct {
        uint32_t mbytes_per_s;
        uint64_t compute;
        enum stream_bound bound;
    } cases[] = { { 1000, 100000, STREAM_BY_COMPUTE },
                  { 10, 100000, STREAM_BY_HOST },
                  { 5500, 1000, STREAM_BY_IO } };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(cases); k++) {
        const struct prefetch_options o = { 4, 2 };
        struct arch a = *ss_arch_preset("toy16");
        struct stream_batch row[2] = { { .joined = 100, .computing = 200 }, { .joined = 500000 } };
        struct stream_record r = { .batch_bytes = 10000, .row = row, .rows = 2, .batches = 2 };
        struct stream_times t;

        a.number[ARCH_NUMBER_host_link_mbytes_per_s] = cases[k].mbytes_per_s;
        row[0].computed = 200 + cases[k].compute;
        stream_times_init(&t, &a, &o, &r);
        stream_times_sum(&t);
        assert_int_equal(r.bound, cases[k].bound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_come_when_they_are_looked_for),
        cmocka_unit_test(a_stop_ends_them),
        cmocka_unit_test(types_mean_the_same),
        cmocka_unit_test(colours_come_in_their_order),
        cmocka_unit_test(joins_are_told_from_consensuses),
        cmocka_unit_test(the_rule_names_the_longest),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
