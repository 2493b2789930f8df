/* test_plan_conv.c - plans of convolutions: prediction against execution on all tiles of mk2, turns
 * after which nothing is copied on its own tile, shares of partial sums.
 */
#include "tests/fixtures/nn_rig.h"

/* ---- predicted and executed ---- */

/* A convolution after one of kernel 1 to `middle` channels: its input lies where a plan put it. */
struct after {
    uint32_t n, c, side, middle;
    uint32_t out_c, kernel, stride, groups;
    enum activation_function act;
    enum conv_method method;
};

static struct activation add_conv(struct nn_rig *r, struct activation x,
                                  const struct conv_layer *like, struct conv_plan *plan,
                                  const char *name)
{
    uint32_t k = like->kernel;
    struct conv_layer l = *like;
    float *w = numbers(r, (size_t)l.out_c * (x.c / l.groups) * k * k);
    float *bias = numbers(r, l.out_c);
    struct activation y;

    l.pad_top = l.pad_left = l.pad_bottom = l.pad_right = k / 2;
    l.weights = w;
    l.bias = bias;
    y = op_conv(r->nn, x, &l, plan, name);
    must(graph_status(r->g));
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
    size_t ops, last = record_count(record) - 1;
    struct trace_op *op;
    uint32_t first = 0;
    uint64_t cycles;

    *copies = 0;
    *calls = 0;
    must(compiled_trace(c, &op, &ops));
    for (size_t i = 1; i < ops; i++) {
        if (strncmp(op[i].name, "second", 6) != 0)
            continue;
        first = first ? first : op[i].superstep;
        must(compiled_op_cycles(c, op[i].op, &cycles));
        assert_true((cycles > 0) == (op[i].kind == TRACE_COMPUTE));
        *calls += cycles;
        *copies += op[i].kind == TRACE_COMPUTE && op[i - 1].kind == TRACE_COMPUTE &&
                   !strcmp(op[i].name, op[i - 1].name);
    }
    emu_free(op);
    assert_in_range(first, 1, last);
    return record_at(record, last)->end - record_at(record, first - 1)->end + a->sync_chip_cycles;
}

static void predict(const struct after *t)
{
    struct compile_options co = { .threads = 1 };
    struct session_options so = { .threads = 1, .record = 1 };
    struct nn_rig r = nn_rig_new("mk2", 0);
    struct activation x = input(&r, t->n, t->c, t->side, t->side), y;
    float *in = numbers(&r, (size_t)t->n * t->c * t->side * t->side);
    uint16_t *data = to_layout(&x, in);
    struct conv_plan plan;
    struct compiled *c;
    struct session *s;
    unsigned copies;
    uint64_t cycles, calls;

    y = add_conv(&r, x, &(struct conv_layer){ .out_c = t->middle, .kernel = 1, 1, 1 }, NULL,
                 "first");
    y = add_conv(&r, y,
                 &(struct conv_layer){ .out_c = t->out_c,
                                       .kernel = t->kernel,
                                       .stride = t->stride,
                                       .groups = t->groups,
                                       .act = t->act },
                 &plan, "second");
    graph_keep(r.g, y.t);
    graph_set_program(r.g, r.seq);
    must(graph_compile(r.g, &co, &c));
    must(session_new(c, &so, &s));
    must(session_write(s, x.t, data));
    must(session_run(s));
    cycles = cycles_of_second(&r.arch, c, session_run_image(s)->record, &copies, &calls);
    print_message("%-9s %u x %u x %u, kernel %u, stride %u: predicted %d, executed %d cycles\n",
                  conv_method_name(plan.method), t->side, t->side, t->middle, t->kernel, t->stride,
                  (int)plan.cost.total, (int)cycles);
    assert_int_equal(plan.method, t->method);
    assert_int_equal(copies, 0);
    assert_true(fabs((double)plan.cost.total / (double)cycles - 1) < 0.1);
    /* The largest shard is one that some tile has. Rows of windows may be brought together by
     * copies besides. */
    if (plan.method != CONV_WINDOW)
        assert_int_equal(calls, plan.cost.compute + plan.cost.reduce);
    session_free(s);
    compiled_free(c);
    free(data);
    free(in);
    nn_rig_free(&r);
}

static void test_predicted(void **state)
{
    static const struct after t[] = {
        { 1, 32, 24, 96, 96, 3, 1, 96, ACT_SWISH, CONV_DEPTHWISE },
        { 2, 32, 24, 96, 96, 5, 2, 96, ACT_SWISH, CONV_DEPTHWISE },
        { 1, 32, 24, 192, 48, 1, 1, 1, ACT_NONE, CONV_GEMM },
        { 1, 64, 14, 64, 64, 3, 1, 1, ACT_RELU, CONV_WINDOW },
        { 1, 32, 24, 64, 64, 3, 1, 4, ACT_SWISH, CONV_WINDOW },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        predict(&t[i]);
}

/* Fewer holes where words go to several tiles; never faster than the words or the longest way. */
static void test_port(void **state)
{
    struct plan_port p = plan_port(arch_preset("mk2"));

    (void)state;
    assert_int_equal(p.way + p.lag, plan_exchange_latency(arch_preset("mk2")));
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

/* ---- shares ---- */

/* All rows once, in order; none beyond a block where shares are cut by blocks. */
static void check_shares(const struct conv_shares *s)
{
    uint32_t rows = s->blocks * s->positions, begin = 0;

    assert_int_equal(conv_share_begin(s, 0), 0);
    for (uint32_t i = 0; i < s->parts; i++) {
        uint32_t end = conv_share_begin(s, i + 1);

        assert_true(begin <= end && (end - begin) * 8 <= s->words);
        for (uint32_t row = begin; row < end; row++)
            assert_int_equal(conv_share_with(s, row), i);
        if (end > begin && s->by_block)
            assert_int_equal(begin / s->positions, (end - 1) / s->positions);
        if (end > begin)
            assert_true((end - 1) / s->positions - begin / s->positions < s->calls);
        begin = end;
    }
    assert_int_equal(begin, rows);
}

static void test_shares(void **state)
{
    const struct arch *a = arch_preset("mk2");
    uint64_t seed = 1;
    unsigned by_block = 0;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        uint32_t draw[3];
        struct conv_plan p = { .tiles = a->tiles };
        struct conv_shares s;

        for (int k = 0; k < 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            draw[k] = (uint32_t)(seed >> 40);
        }
        p.cut_in = 1 + draw[0] % 40;
        s = conv_shares(a, &p, 1 + draw[1] % 12, 1 + draw[2] % 90);
        by_block += s.by_block != 0;
        check_shares(&s);
    }
    assert_in_range(by_block, 100, 1900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predicted),
        cmocka_unit_test(test_port),
        cmocka_unit_test(test_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
