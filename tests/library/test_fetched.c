/* test_fetched.c - convolutions whose parameters lie on one tile each and are fetched by the
 * others: results of every method, where the parameters lie, and when a plan takes to them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/fixtures/nn_rig.h"

enum { DEAR = 1 << 20 }; /* cycles per KiB: nothing is held twice at that price */

/* ---- results ---- */

static void test_results(void **state)
{
    static const struct conv_test t[] = {
        { "toy16", 0, 1, 40, 6, 5, 24, 1, 1, 1, 0, 0, ACT_SWISH, 0 },
        { "toy64", 0, 1, 160, 6, 6, 48, 1, 1, 1, 0, 0, ACT_NONE, 1 },
        { "toy16", 0, 3, 32, 7, 7, 32, 1, 2, 1, 0, 0, ACT_RELU, 0 },
        { "mk2", 16, 1, 40, 9, 7, 40, 3, 1, 40, 1, 1, ACT_SWISH, 0 },
        { "mk2", 16, 2, 48, 11, 11, 48, 5, 2, 48, 2, 2, ACT_SWISH, 0 },
        { "toy16", 0, 2, 3, 13, 12, 48, 3, 2, 1, 1, 1, ACT_SWISH, 0 },
        { "toy16", 0, 2, 64, 8, 8, 64, 5, 1, 4, 2, 2, ACT_NONE, 0 },
        { "toy16", 0, 1, 64, 5, 5, 64, 3, 1, 2, 1, 1, ACT_NONE, 0 },
        { "toy64", 0, 1, 64, 3, 3, 64, 5, 1, 2, 2, 2, ACT_NONE, 1 },
        { "toy16", 0, 2, 40, 7, 5, 24, 3, 1, 1, 1, 1, ACT_NONE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        struct conv_plan p = conv_made(&t[i], PARTIALS_F16, DEAR);

        if ((uint64_t)p.cut_n * p.cut_h * p.cut_w > 1)
            assert_true(p.fetched);
        else
            assert_false(p.fetched);
    }
}

/* ---- where they lie ---- */

struct held {
    uint64_t bytes, most;
};

static void add_weights(void *ctx, uint32_t tile, const struct held_bytes *x)
{
    struct held *h = ctx;

    (void)tile;
    if (strcmp(x->owner, "conv/weights") || strcmp(x->category, "constant"))
        return;
    h->bytes += x->bytes;
    h->most = x->bytes > h->most ? x->bytes : h->most;
}

static struct held weights_held(uint32_t kib_price, struct conv_plan *p)
{
    enum { C = 64, SIDE = 12 };
    struct nn_rig r = nn_rig_new("toy64", 0);
    struct activation x = input(&r, 1, C, SIDE, SIDE), y;
    float *w = numbers(&r, C * C);
    struct conv_layer l = { .out_c = C, .kernel = 1, .stride = 1, .groups = 1, .weights = w };
    struct compile_options o = { .threads = 1 };
    struct held h = { 0 };
    struct compiled *c;

    nn_set_price(r.nn, kib_price);
    y = op_conv(r.nn, x, &l, p, "conv");
    graph_keep(r.g, y.t);
    graph_set_program(r.g, r.seq);
    must(graph_compile(r.g, &o, &c));
    assert_true(compiled_fits(c));
    must(compiled_held(c, add_weights, &h));
    compiled_free(c);
    free(w);
    nn_rig_free(&r);
    return h;
}

/* Once on the whole chip, a part on a tile; held by all who use them otherwise. */
static void test_one_copy(void **state)
{
    enum { BYTES = 64 * 64 * 2 };
    struct conv_plan p;
    struct held h = weights_held(DEAR, &p);

    (void)state;
    assert_true(p.fetched);
    assert_int_equal(h.bytes, BYTES);
    assert_int_equal(h.most, p.weight_bytes);
    assert_int_equal(p.resident_bytes, (BYTES + 63) / 64);
    h = weights_held(0, &p);
    assert_false(p.fetched);
    assert_int_equal(h.bytes, (uint64_t)BYTES * p.cut_h);
    assert_int_equal(h.most, p.resident_bytes);
}

/* Of the tiles that use a part, that which holds least. */
static void test_holders(void **state)
{
    struct nn_rig r = nn_rig_new("toy16", 0);
    const struct conv_plan p = {
        .cut_n = 1, .cut_h = 4, .cut_w = 1, .cut_out = 2, .cut_in = 2, .tiles = 16, .turn = 3
    };

    (void)state;
    /* User u of part (1, 0) is piece 4 u + 2. */
    assert_int_equal(nn_holder(r.nn, &p, 1, 0, 100), 5);
    assert_int_equal(nn_holder(r.nn, &p, 1, 0, 10), 9);
    assert_int_equal(nn_holder(r.nn, &p, 1, 0, 10), 13);
    assert_int_equal(nn_holder(r.nn, &p, 1, 0, 10), 1);
    assert_int_equal(nn_holder(r.nn, &p, 1, 0, 10), 9);
    assert_int_equal(nn_holder(r.nn, &p, 0, 1, 10), 4);
    nn_rig_free(&r);
}

/* ---- plans ---- */

static const struct conv_shape shapes[] = {
    { .n = 1,
      .in_c = 64,
      .in_h = 12,
      .in_w = 12,
      .out_c = 96,
      .out_h = 12,
      .out_w = 12,
      .kernel = 1,
      .stride = 1,
      .groups = 1 },
    { .n = 2,
      .in_c = 40,
      .in_h = 9,
      .in_w = 9,
      .out_c = 40,
      .out_h = 9,
      .out_w = 9,
      .kernel = 3,
      .stride = 1,
      .groups = 40 },
    { .n = 3,
      .in_c = 64,
      .in_h = 8,
      .in_w = 8,
      .out_c = 64,
      .out_h = 4,
      .out_w = 4,
      .kernel = 5,
      .stride = 2,
      .groups = 4 },
    { .n = 1,
      .in_c = 48,
      .in_h = 7,
      .in_w = 7,
      .out_c = 32,
      .out_h = 7,
      .out_w = 7,
      .kernel = 3,
      .stride = 1,
      .groups = 1 },
    { .n = 2,
      .in_c = 3,
      .in_h = 20,
      .in_w = 20,
      .out_c = 32,
      .out_h = 10,
      .out_w = 10,
      .kernel = 3,
      .stride = 2,
      .groups = 1 },
};

static uint64_t price_of(const struct conv_plan *p, uint32_t kib_price)
{
    return p->cost.total + p->resident_bytes * kib_price / 1024;
}

/* Whatever the price, the best plan, or one as good up to a step of memory, is one of
 * those to choose from. */
static void test_choice(void **state)
{
    static const uint32_t prices[] = { 0, 10, 100, 255, 256, 300, 2000 };
    const struct arch *a = arch_preset("toy64");
    uint64_t step = a->mem_bytes / 256 + 1;

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(shapes) * EMU_COUNT_OF(prices); i++) {
        struct conv_shape s = shapes[i / EMU_COUNT_OF(prices)];
        uint64_t best = UINT64_MAX;
        struct conv_choice all;
        struct conv_plan p;

        s.kib_price = prices[i % EMU_COUNT_OF(prices)];
        must(plan_conv(a, &s, 0, a->tiles, UINT64_MAX, &p));
        must(plan_conv_choice(a, &s, 0, a->tiles, &all));
        for (size_t k = 0; k < all.count; k++) {
            uint64_t cycles = price_of(&all.plan[k], s.kib_price);

            best = cycles < best ? cycles : best;
            assert_true(!k || all.plan[k - 1].cost.total <= all.plan[k].cost.total);
        }
        assert_true(best >= price_of(&p, s.kib_price));
        assert_true(best <= price_of(&p, s.kib_price) + step * s.kib_price / 1024);
        conv_choice_free(&all);
    }
}

/* Words that arrive are charged, so below the price of an exchange nothing is fetched. */
static void test_price_of_an_exchange(void **state)
{
    const struct arch *a = arch_preset("mk2");
    struct conv_shape s = { .n = 1,
                            .in_c = 96,
                            .in_h = 24,
                            .in_w = 24,
                            .out_c = 96,
                            .out_h = 24,
                            .out_w = 24,
                            .kernel = 1,
                            .stride = 1,
                            .groups = 1 };
    struct conv_plan held, fetched;

    (void)state;
    s.kib_price = 128;
    must(plan_conv(a, &s, 0, a->tiles, UINT64_MAX, &held));
    assert_false(held.fetched);
    s.kib_price = 512;
    must(plan_conv(a, &s, 0, a->tiles, UINT64_MAX, &fetched));
    assert_true(fetched.fetched);
    assert_true(fetched.cost.exchange_in > fetched.weight_bytes / 4);
    assert_true(fetched.cost.total > held.cost.total);
    assert_true(fetched.resident_bytes < held.resident_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_one_copy),
        cmocka_unit_test(test_holders),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_price_of_an_exchange),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
