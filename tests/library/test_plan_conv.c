/* test_plan_conv.c - plans of convolutions: prediction against execution on all tiles of mk2, turns
 * after which nothing is copied on its own tile, shares of partial sums, where parameters lie and
 * when a plan has them fetched.
 */
#include "emu/base/random.h"
#include "programs/library/conv/conv_cost.h"
#include "programs/library/layout/plan_cost.h"
#include "tests/fixtures/nn_fixture.h"

enum { DEAR = 1 << 20 }; /* cycles per KiB: nothing is held twice at that price */

/* Of a convolution of kernel 1. */
#define ONE_BY_ONE                                                                                 \
    .groups = 1, .kernel_h = 1, .kernel_w = 1, .stride_h = 1, .stride_w = 1, .dilation_h = 1,      \
    .dilation_w = 1

/* ---- predicted and executed ---- */

/* A convolution of squares, padded by half the kernel. What a row leaves out is 1; of out, c. */
struct conv_row {
    uint32_t n, c, side, out, kernel, stride, groups;
    uint32_t from; /* channels of which a convolution of kernel 1 makes the input; 32 if left out */
    enum activation_function act;
};

static struct conv_shape shape_of(const struct conv_row *t)
{
    uint32_t stride = t->stride ? t->stride : 1;

    return (struct conv_shape){ .n = t->n ? t->n : 1,
                                .in_c = t->c,
                                .in_h = t->side,
                                .in_w = t->side,
                                .out_c = t->out ? t->out : t->c,
                                .out_h = t->side / stride,
                                .out_w = t->side / stride,
                                .kernel_h = t->kernel ? t->kernel : 1,
                                .kernel_w = t->kernel ? t->kernel : 1,
                                .stride_h = stride,
                                .stride_w = stride,
                                .dilation_h = 1,
                                .dilation_w = 1,
                                .groups = t->groups ? t->groups : 1 };
}

static struct activation add_conv(struct nn_fixture *r, struct activation x,
                                  const struct conv_layer *like, struct conv_plan *plan,
                                  const char *name)
{
    uint32_t k = like->kernel_h;
    struct conv_layer l = *like;
    float *w = numbers(r, (size_t)l.out_c * (x.c / l.groups) * k * k);
    float *bias = numbers(r, l.out_c);
    struct activation y;

    l.pad_top = l.pad_left = l.pad_bottom = l.pad_right = k / 2;
    l.weights = w;
    l.bias = bias;
    y = ss_op_conv(r->nn, x, &l, plan, name);
    must(ss_graph_status(r->g));
    free(w);
    free(bias);
    return y;
}

/* From the release before the first operation of "second" to the end, the sync after it included.
 * *copies: calls of it that only move data within a tile, which have the name of what follows;
 * *calls: what its calls take by the formulas of their codelets. */
static uint64_t cycles_of_second(const struct arch *a, const struct compiled *c,
                                 const struct record *record, unsigned *copies, uint64_t *calls)
{
    size_t steps, last = record_count(record) - 1;
    struct trace_step *step;
    uint32_t first = 0;
    uint64_t cycles;

    *copies = 0;
    *calls = 0;
    must(ss_compiled_trace(c, &step, &steps));
    for (size_t i = 1; i < steps; i++) {
        if (strncmp(step[i].name, "second", 6) != 0)
            continue;
        first = first ? first : step[i].superstep;
        must(ss_compiled_step_cycles(c, step[i].step, &cycles));
        assert_true((cycles > 0) == (step[i].kind == TRACE_COMPUTE));
        *calls += cycles;
        *copies += step[i].kind == TRACE_COMPUTE && step[i - 1].kind == TRACE_COMPUTE &&
                   !strcmp(step[i].name, step[i - 1].name);
    }
    ss_free(step);
    assert_in_range(first, 1, last);
    return record_at(record, last)->end - record_at(record, first - 1)->end + a->sync_chip_cycles;
}

static void predict(const struct conv_row *t, enum conv_method method)
{
    uint32_t from = t->from ? t->from : 32;
    struct compile_options co = { .threads = 1 };
    struct session_options so = { .threads = 1, .record = 1 };
    const struct conv_shape shape = shape_of(t);
    struct nn_fixture r = nn_fixture_new("mk2", 0);
    struct activation x = input(&r, shape.n, from, t->side, t->side), y;
    float *in = numbers(&r, (size_t)shape.n * from * t->side * t->side);
    uint16_t *data = to_layout(&x, in);
    struct conv_plan plan;
    struct compiled *c;
    struct session *s;
    unsigned copies;
    uint64_t cycles, calls;

    y = add_conv(&r, x, &(struct conv_layer){ .out_c = t->c, ONE_BY_ONE }, NULL, "first");
    y = add_conv(&r, y,
                 &(struct conv_layer){ .out_c = shape.out_c,
                                       .groups = shape.groups,
                                       .kernel_h = shape.kernel_h,
                                       .kernel_w = shape.kernel_w,
                                       .stride_h = shape.stride_h,
                                       .stride_w = shape.stride_w,
                                       .dilation_h = 1,
                                       .dilation_w = 1,
                                       .act = t->act },
                 &plan, "second");
    ss_graph_keep(r.g, y.t);
    ss_graph_set_program(r.g, r.seq);
    must(ss_graph_compile(r.g, &co, &c));
    must(ss_session_new(c, &so, &s));
    must(ss_session_write(s, x.t, data));
    must(ss_session_run(s));
    cycles = cycles_of_second(&r.arch, c, ss_session_run_image(s)->record, &copies, &calls);
    print_message("%-9s %u x %u x %u, kernel %u, stride %u: predicted %d, executed %d cycles\n",
                  ss_conv_method_name(plan.method), t->side, t->side, t->c, shape.kernel_h,
                  shape.stride_h, (int)plan.cost.total, (int)cycles);
    assert_int_equal(plan.method, method);
    assert_int_equal(copies, 0);
    assert_true(fabs((double)plan.cost.total / (double)cycles - 1) < 0.1);
    /* The largest shard is one that some tile has. Rows of windows may be brought together by
     * copies besides. */
    if (plan.method != CONV_WINDOW)
        assert_int_equal(calls, plan.cost.compute + plan.cost.reduce);
    ss_session_free(s);
    ss_compiled_free(c);
    free(data);
    free(in);
    nn_fixture_free(&r);
}

static void test_predicted(void **state)
{
    static const struct conv_row depthwise[] = {
        { .c = 96, .side = 24, .kernel = 3, .groups = 96, .act = ACT_SWISH },
        { .n = 2, .c = 96, .side = 24, .kernel = 5, .stride = 2, .groups = 96, .act = ACT_SWISH },
    };
    static const struct conv_row gemm[] = {
        { .c = 192, .side = 24, .out = 48 },
        { .c = 192, .side = 24, .groups = 3 },
    };
    static const struct conv_row window[] = {
        { .from = 64, .c = 64, .side = 14, .kernel = 3, .act = ACT_RELU },
        { .c = 64, .side = 24, .kernel = 3, .groups = 4, .act = ACT_SWISH },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(depthwise); i++)
        predict(&depthwise[i], CONV_DEPTHWISE);
    for (size_t i = 0; i < EMU_COUNT_OF(gemm); i++)
        predict(&gemm[i], CONV_GEMM);
    for (size_t i = 0; i < EMU_COUNT_OF(window); i++)
        predict(&window[i], CONV_WINDOW);
}

/* Fewer holes where words go to several tiles; never faster than the words or the longest way. */
static void test_port(void **state)
{
    struct plan_port p = plan_port(ss_arch_preset("mk2"));

    (void)state;
    assert_int_equal(p.way + p.lag, plan_exchange_latency(ss_arch_preset("mk2")));
    assert_int_equal(plan_port_cycles(&p, 0, 1), 0);
    assert_int_equal(plan_port_cycles(&p, 1, 1), p.way + p.lag);
    /* What bench_schedule measures of full loads. */
    assert_in_range(plan_port_cycles(&p, 1000, 1), 1150 + p.lag, 1250 + p.lag);
    for (uint64_t words = 1; words < 5000; words += 77) {
        for (uint64_t fan_out = 1; fan_out < 40; fan_out++) {
            uint64_t one = plan_port_cycles(&p, words, fan_out);

            assert_true(one >= words + p.lag && one >= p.way + p.lag);
            assert_true(one >= plan_port_cycles(&p, words, fan_out + 1));
            assert_true(one <= plan_port_cycles(&p, words + 1, fan_out));
        }
    }
}

/* ---- groups ---- */

/* Parts of the output hold all blocks once, in order, and none of two groups where groups are cut.
 */
static void test_output_parts(void **state)
{
    (void)state;
    for (uint32_t groups = 1; groups < 6; groups++) {
        for (uint32_t unit = 1; unit < 8; unit++) {
            for (uint32_t cut = 1; cut <= groups * unit; cut += cut < groups ? 1 : groups) {
                struct conv_plan p = { .shape = { .out_c = groups * unit * CHANNEL_BLOCK,
                                                  .groups = groups },
                                       .method = CONV_GEMM,
                                       .cut_out = cut };
                uint32_t begin = 0;

                for (uint32_t o = 0; o < cut; o++) {
                    struct nn_range r = conv_output_part(&p, o);

                    assert_int_equal(r.begin, begin);
                    assert_true(r.end > r.begin);
                    for (uint32_t b = r.begin; b < r.end; b++)
                        assert_int_equal(conv_output_part_with(&p, b), o);
                    if (cut > groups)
                        assert_int_equal(r.begin / unit, (r.end - 1) / unit);
                    begin = r.end;
                }
                assert_int_equal(begin, groups * unit);
            }
        }
    }
}

/* Products in 12 groups cost at most 1.2 times as much as one product with as many multiply-adds.
 */
static void test_grouped_products(void **state)
{
    const struct arch *a = ss_arch_preset("mk2");
    static const uint32_t channels[] = { 64, 128, 256, 384 };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(channels); i++) {
        uint64_t cycles[2];

        for (uint32_t k = 0; k < 2; k++) {
            uint32_t groups = k ? 12 : 1, positions = k ? 512 : 12 * 512;
            const struct conv_shape s = { .n = 1,
                                          .in_c = groups * channels[i],
                                          .out_c = groups * channels[i],
                                          .in_h = positions,
                                          .out_h = positions,
                                          .in_w = 1,
                                          .out_w = 1,
                                          .groups = groups,
                                          .kernel_h = 1,
                                          .kernel_w = 1,
                                          .stride_h = 1,
                                          .stride_w = 1,
                                          .dilation_h = 1,
                                          .dilation_w = 1 };
            struct conv_plan p;

            must(ss_plan_conv(a, &s, 0, a->tiles, a->mem_bytes, &p));
            cycles[k] = p.cost.total;
        }
        assert_true(cycles[1] * 10 <= cycles[0] * 12);
    }
}

/* ---- parts of a sum ---- */

/* All rows once, in order; none beyond a block where it is cut by blocks. */
static void check_sum_parts(const struct conv_sum_cut *s)
{
    uint32_t rows = s->blocks * s->positions, begin = 0;

    assert_int_equal(conv_sum_part_begin(s, 0), 0);
    for (uint32_t i = 0; i < s->parts; i++) {
        uint32_t end = conv_sum_part_begin(s, i + 1);

        assert_true(begin <= end && (end - begin) * 8 <= s->words);
        for (uint32_t row = begin; row < end; row++)
            assert_int_equal(conv_sum_part_with(s, row), i);
        if (end > begin && s->by_block)
            assert_int_equal(begin / s->positions, (end - 1) / s->positions);
        if (end > begin)
            assert_true((end - 1) / s->positions - begin / s->positions < s->calls);
        begin = end;
    }
    assert_int_equal(begin, rows);
}

static void test_sum_parts(void **state)
{
    const struct arch *a = ss_arch_preset("mk2");
    uint64_t seed = 1;
    unsigned by_block = 0;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        uint32_t draw[3];
        struct conv_plan p = { .tiles = a->tiles };
        struct conv_sum_cut s;

        for (int k = 0; k < 3; k++)
            draw[k] = random_u32(&seed);
        p.cut_in = 1 + draw[0] % 40;
        s = conv_sum_cut(a, &p, 1 + draw[1] % 12, 1 + draw[2] % 90);
        by_block += s.by_block != 0;
        check_sum_parts(&s);
    }
    assert_in_range(by_block, 100, 1900);
}

/* ---- where parameters lie: on all tiles that use them, or on one that sends them ---- */

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
    struct nn_fixture r = nn_fixture_new("toy64", 0);
    struct activation x = input(&r, 1, C, SIDE, SIDE), y;
    float *w = numbers(&r, C * C);
    struct conv_layer l = { .out_c = C, ONE_BY_ONE, .weights = w };
    struct compile_options o = { .threads = 1 };
    struct held h = { 0 };
    struct compiled *c;

    ss_nn_set_price(r.nn, kib_price);
    y = ss_op_conv(r.nn, x, &l, p, "conv");
    ss_graph_keep(r.g, y.t);
    ss_graph_set_program(r.g, r.seq);
    must(ss_graph_compile(r.g, &o, &c));
    assert_true(ss_compiled_fits(c));
    must(ss_compiled_held(c, add_weights, &h));
    ss_compiled_free(c);
    free(w);
    nn_fixture_free(&r);
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
    struct nn_fixture r = nn_fixture_new("toy16", 0);
    const struct conv_plan p = {
        .cut_n = 1, .cut_h = 4, .cut_w = 1, .cut_out = 2, .cut_in = 2, .tiles = 16, .rotation = 3
    };

    (void)state;
    /* User u of part (1, 0) is part 4 u + 2. */
    assert_int_equal(nn_holder(r.nn, &p, 1, 0, 100), 5);
    assert_int_equal(nn_holder(r.nn, &p, 1, 0, 10), 9);
    assert_int_equal(nn_holder(r.nn, &p, 1, 0, 10), 13);
    assert_int_equal(nn_holder(r.nn, &p, 1, 0, 10), 1);
    assert_int_equal(nn_holder(r.nn, &p, 1, 0, 10), 9);
    assert_int_equal(nn_holder(r.nn, &p, 0, 1, 10), 4);
    nn_fixture_free(&r);
}

static const struct conv_row choices[] = {
    { .c = 64, .side = 12, .out = 96 },
    { .n = 2, .c = 40, .side = 9, .kernel = 3, .groups = 40 },
    { .n = 3, .c = 64, .side = 8, .kernel = 5, .stride = 2, .groups = 4 },
    { .c = 48, .side = 7, .out = 32, .kernel = 3 },
    { .n = 2, .c = 3, .side = 20, .out = 32, .kernel = 3, .stride = 2 },
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
    const struct arch *a = ss_arch_preset("toy64");
    uint64_t step = a->mem_bytes / 256 + 1;

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(choices) * EMU_COUNT_OF(prices); i++) {
        struct conv_shape s = shape_of(&choices[i / EMU_COUNT_OF(prices)]);
        uint64_t best = UINT64_MAX;
        struct conv_choice all;
        struct conv_plan p;

        s.kib_price = prices[i % EMU_COUNT_OF(prices)];
        must(ss_plan_conv(a, &s, 0, a->tiles, UINT64_MAX, &p));
        must(ss_plan_conv_choice(a, &s, 0, a->tiles, &all));
        for (size_t k = 0; k < all.count; k++) {
            uint64_t cycles = price_of(&all.plan[k], s.kib_price);

            best = cycles < best ? cycles : best;
            assert_true(!k || all.plan[k - 1].cost.total <= all.plan[k].cost.total);
        }
        assert_true(best >= price_of(&p, s.kib_price));
        assert_true(best <= price_of(&p, s.kib_price) + step * s.kib_price / 1024);
        ss_conv_choice_free(&all);
    }
}

/* Words that arrive are charged, so below the price of an exchange nothing is fetched. */
static void test_price_of_an_exchange(void **state)
{
    const struct arch *a = ss_arch_preset("mk2");
    struct conv_shape s = shape_of(&(struct conv_row){ .c = 96, .side = 24 });
    struct conv_plan held, fetched;

    (void)state;
    s.kib_price = 128;
    must(ss_plan_conv(a, &s, 0, a->tiles, UINT64_MAX, &held));
    assert_false(held.fetched);
    s.kib_price = 512;
    must(ss_plan_conv(a, &s, 0, a->tiles, UINT64_MAX, &fetched));
    assert_true(fetched.fetched);
    assert_true(fetched.cost.exchange_in > fetched.weight_bytes / 4);
    assert_true(fetched.cost.total > held.cost.total);
    assert_true(fetched.resident_bytes < held.resident_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predicted),
        cmocka_unit_test(test_port),
        cmocka_unit_test(test_output_parts),
        cmocka_unit_test(test_grouped_products),
        cmocka_unit_test(test_sum_parts),
        cmocka_unit_test(test_one_copy),
        cmocka_unit_test(test_holders),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_price_of_an_exchange),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
