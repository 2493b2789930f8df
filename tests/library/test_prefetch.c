/* test_prefetch.c - sync groups with programs of their own, halves of transfers, and the loop that
 * fetches batches while others are computed: against the interpreter, and in cycles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "emu/emu.h"
#include "programs/compiler/compiled.h"
#include "programs/programs.h"

enum { BATCHES = 7, ELEMENTS = 600, IO_TILES = 7 };

struct prefetch_trial {
    struct arch arch;
    struct prefetch_options o;
    struct graph *g;
    struct tensor in, out;
    struct prefetch p;
    struct prefetch_transfer t[2]; /* of p: in, out */
    struct compiled *c;
    struct session *s;
    float data[BATCHES * ELEMENTS];
    uint32_t begin[PREFETCH_MAX_DEPTH], control[BATCHES + 1][2];
    uint64_t done; /* batches of former runs */
    long live;
};

/* A body of `rounds` supersteps on the tiles of group 0: out = in + rounds. */
static struct program body(struct prefetch_trial *x, uint32_t tiles, uint32_t rounds)
{
    const uint32_t shape[2] = { 20, ELEMENTS / 20 };
    const unsigned order[2] = { 1, 0 };
    struct program all = ss_program_sequence(x->g), round = ss_program_sequence(x->g);
    struct tensor turned;

    x->in = ss_graph_variable(x->g, ELEM_F32, 2, shape, "in");
    x->out = ss_graph_variable(x->g, ELEM_F32, 2, shape, "out");
    turned =
        ss_graph_variable(x->g, ELEM_F32, 2, (const uint32_t[]){ shape[1], shape[0] }, "turned");
    ss_graph_map_linear(x->g, x->in, 4, 4, 0, tiles);
    ss_graph_map_linear(x->g, x->out, 4, 4, 0, tiles);
    ss_graph_map_linear(x->g, turned, 4, 4, 0, tiles);
    ss_program_add(x->g, all, ss_program_copy(x->g, x->in, x->out));
    ss_program_add(x->g, round,
                   ss_program_copy(x->g, ss_tensor_transpose(x->g, x->out, order), turned));
    ss_program_add(x->g, round,
                   ss_program_copy(x->g, ss_tensor_transpose(x->g, turned, order), x->out));
    ss_program_add(x->g, round,
                   ss_program_copy(x->g,
                                   ss_op_binary_scalar(x->g, round, BINARY_ADD, x->out, 1, "more"),
                                   x->out));
    ss_program_add(x->g, all, ss_program_repeat(x->g, rounds, round));
    return all;
}

/* A loop, open unless p->times, around a body that makes one tensor of another. */
static enum emu_status loop_of(struct graph *g, struct prefetch *p, struct prefetch_transfer t[2],
                               struct program body, struct program *loop)
{
    *p = (struct prefetch){ .link = p->link,
                            .times = p->times,
                            .before = ss_program_sequence(g),
                            .body = body,
                            .after = ss_program_sequence(g),
                            .in = &t[0],
                            .out = &t[1],
                            .ins = 1,
                            .outs = 1 };
    return ss_op_prefetch(g, p, loop);
}

/* What the host says with batches 0 .. n - 1. */
static void fill_control(struct prefetch_trial *x, uint32_t n)
{
    uint32_t depth = x->o.depth;

    for (uint32_t k = 0; k < depth; k++)
        x->begin[k] = k < n;
    for (uint32_t b = 0; b <= n; b++) {
        x->control[b][0] = (depth ? b + 1 : b) < n;
        x->control[b][1] = b + depth < n;
    }
    for (uint32_t i = 0; i < n * ELEMENTS; i++)
        x->data[i] = (float)(i % 1000) - 300;
}

static void prefetch_trial_new(struct prefetch_trial *x, const char *machine, uint32_t io,
                               uint32_t depth, uint32_t rounds)
{
    const struct compile_options co = { .threads = 1 };
    const struct session_options so = { .threads = 1, .check = 1, .record = 1 };
    struct program loop;

    x->live = alloc_live();
    x->o = (struct prefetch_options){ io, depth };
    if (!x->arch.tiles)
        x->arch = *ss_arch_preset(machine);
    assert_int_equal(ss_graph_new(&x->arch, &ss_kernel_library, &x->g), EMU_OK);
    assert_int_equal(ss_prefetch_reserve(x->g, &x->o), EMU_OK);
    loop = body(x, ss_graph_arch(x->g)->tiles - io, rounds);
    x->t[0] = (struct prefetch_transfer){ .at = x->in, .name = "in" };
    x->t[1] = (struct prefetch_transfer){ .at = x->out, .name = "out" };
    x->p.link = x->o;
    if (loop_of(x->g, &x->p, x->t, loop, &loop) != EMU_OK)
        fail_msg("%s", ss_error());
    ss_graph_set_program(x->g, loop);
    if (ss_graph_compile(x->g, &co, &x->c) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_true(ss_compiled_fits(x->c));
    if (ss_session_new(x->c, &so, &x->s) != EMU_OK)
        fail_msg("%s", ss_error());
}

static void prefetch_trial_free(struct prefetch_trial *x)
{
    ss_session_free(x->s);
    ss_compiled_free(x->c);
    ss_graph_free(x->g);
    assert_int_equal(alloc_live(), x->live);
}

static void prefetch_trial_run(struct prefetch_trial *x, uint32_t n, uint32_t rounds)
{
    uint64_t transfers;
    void *got;
    json_t *report;

    fill_control(x, n);
    if (!x->p.times && x->o.depth)
        assert_int_equal(ss_session_feed(x->s, x->p.begin, x->begin, 1), EMU_OK);
    if (!x->p.times)
        assert_int_equal(ss_session_feed(x->s, x->p.control, x->control, n + !x->o.depth), EMU_OK);
    assert_int_equal(ss_session_feed(x->s, x->t[0].stream, x->data, n), EMU_OK);
    if (ss_session_run(x->s) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(ss_session_output(x->s, x->t[1].stream, &got, &transfers), EMU_OK);
    assert_int_equal(transfers, x->done + n);
    for (uint32_t i = 0; i < n * ELEMENTS; i++) {
        if (((float *)got)[x->done * ELEMENTS + i] != x->data[i] + (float)rounds)
            fail_msg("element %u", i);
    }
    x->done += n;
    ss_free(got);
    report = ss_run_report(ss_session_run_image(x->s), "ok", NULL, 0, 0);
    assert_int_equal(json_integer_value(json_object_get(report, "check_reports")), 0);
    json_decref(report);
}

/* The interpreter gives the same results. */
static void prefetch_trial_interpret(struct prefetch_trial *x, uint32_t n, uint32_t rounds)
{
    struct interpreter *p;
    uint64_t transfers;
    const float *got;

    fill_control(x, n);
    assert_int_equal(ss_interpreter_new(x->g, &p), EMU_OK);
    if (!x->p.times && x->o.depth)
        assert_int_equal(ss_interpreter_feed(p, x->p.begin, x->begin, 1), EMU_OK);
    if (!x->p.times)
        assert_int_equal(ss_interpreter_feed(p, x->p.control, x->control, n + 1), EMU_OK);
    assert_int_equal(ss_interpreter_feed(p, x->t[0].stream, x->data, n), EMU_OK);
    if (ss_interpreter_run(p, 1000000) != EMU_OK)
        fail_msg("%s", ss_error());
    got = ss_interpreter_output(p, x->t[1].stream, &transfers);
    assert_int_equal(transfers, n);
    for (uint32_t i = 0; i < n * ELEMENTS; i++)
        assert_true(got[i] == x->data[i] + (float)rounds);
    ss_interpreter_free(p);
}

static void any_depth_and_number_of_batches(void **state)
{
    static const struct {
        uint32_t io, depth;
    } how[] = { { 0, 0 }, { 1, 0 }, { 3, 0 }, { 1, 1 }, { 3, 1 },
                { 3, 2 }, { 7, 2 }, { 7, 3 }, { 8, 8 } };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(how); k++) {
        for (uint32_t n = 1; n <= BATCHES; n += n < 5 ? 1 : 2) {
            struct prefetch_trial x = { 0 };

            prefetch_trial_new(&x, "toy16", how[k].io, how[k].depth, 3);
            prefetch_trial_run(&x, n, 3);
            prefetch_trial_run(&x, n > 1 ? n - 1 : 2, 3); /* the program starts over */
            prefetch_trial_interpret(&x, n, 3);
            prefetch_trial_free(&x);
        }
    }
}

/* Fetch, then compute; with a number of batches that the program knows there are no control words.
 */
static void a_fixed_number_in_turn(void **state)
{
    (void)state;
    for (uint32_t io = 0; io <= 3; io++) {
        for (uint32_t n = 1; n <= 3; n += 2) {
            struct prefetch_trial x = { .p = { .times = n } };

            prefetch_trial_new(&x, "toy16", io, 0, 3);
            assert_int_equal(x.p.control, UINT32_MAX);
            prefetch_trial_run(&x, n, 3);
            prefetch_trial_run(&x, n, 3);
            prefetch_trial_interpret(&x, n, 3);
            prefetch_trial_free(&x);
        }
    }
}

/* ---- time ---- */

/* Cycles of a batch in the middle of a stream, at a rate of the link. */
static uint64_t period(uint32_t depth, uint32_t rounds, uint32_t mbytes_per_s)
{
    uint64_t cycles[2];

    for (uint32_t k = 0; k < 2; k++) {
        struct prefetch_trial x = { .arch = *ss_arch_preset("toy16") };

        x.arch.number[ARCH_NUMBER_host_link_mbytes_per_s] = mbytes_per_s;
        prefetch_trial_new(&x, NULL, IO_TILES, depth, rounds);
        prefetch_trial_run(&x, 4 + 3 * k, rounds);
        cycles[k] = ss_session_cycles(x.s);
        prefetch_trial_free(&x);
    }
    return (cycles[1] - cycles[0]) / 3;
}

/* Cycles that the bytes of a batch, and the control words that go with it, have the link. */
static uint64_t transfer(uint32_t mbytes_per_s)
{
    return (ELEMENTS * 4 + 8) * (uint64_t)ss_arch_preset("toy16")->clock_mhz / mbytes_per_s;
}

/* With three batches under way the period is the longer of computing and fetching, without any it
 * is more than both together; one batch ahead hides computing but not the way to the host. */
static void the_period_is_the_longer_of_both(void **state)
{
    enum { SLOW = 20, FAST = 2000, SHORT = 1, LONG = 40 };
    uint64_t compute = period(3, LONG, FAST), fetch = period(3, SHORT, SLOW);
    uint64_t latency = 2 * ss_arch_cycles_from_ns(ss_arch_preset("toy16"),
                                                  arch_host_latency_ns(ss_arch_preset("toy16")));

    (void)state;
    assert_in_range(fetch, transfer(SLOW), transfer(SLOW) + transfer(SLOW) / 50);
    assert_in_range(period(3, LONG, SLOW), transfer(SLOW), transfer(SLOW) + transfer(SLOW) / 50);
    assert_in_range(compute, period(1, LONG, FAST) - compute / 50,
                    period(1, LONG, FAST) + compute / 50);
    assert_in_range(period(1, SHORT, SLOW), transfer(SLOW) + latency / 2,
                    transfer(SLOW) + 2 * latency);
    assert_in_range(period(0, LONG, SLOW), compute + 2 * transfer(SLOW), /* results go back */
                    compute + 2 * transfer(SLOW) + 4 * latency);
}

/* ---- streams by calls ---- */

struct calls {
    struct prefetch_trial *x;
    uint64_t sent, taken, arrived, last; /* transfers; cycle of the last arrival */
    uint64_t fail_at;
};

static enum emu_status say_begin(void *ctx, uint64_t n, void *data)
{
    struct calls *c = ctx;

    assert_int_equal(n, 0);
    memcpy(data, c->x->begin, c->x->o.depth * sizeof(uint32_t));
    return EMU_OK;
}

static enum emu_status say_control(void *ctx, uint64_t n, void *data)
{
    memcpy(data, ((struct calls *)ctx)->x->control[n],
           sizeof(((struct calls *)ctx)->x->control[n]));
    return EMU_OK;
}

static enum emu_status send_batch(void *ctx, uint64_t n, void *data)
{
    struct calls *c = ctx;

    assert_int_equal(n, c->sent);
    if (c->fail_at && n == c->fail_at)
        return FAIL(FAULT, "no batch");
    memcpy(data, c->x->data + n * ELEMENTS, ELEMENTS * sizeof(float));
    c->sent++;
    return EMU_OK;
}

static void note_arrival(void *ctx, uint64_t n, const struct session_moment *when)
{
    struct calls *c = ctx;

    assert_int_equal(n, c->arrived++);
    assert_true(when->issued < when->begun && when->begun <= when->here && when->here > c->last);
    c->last = when->here;
}

static enum emu_status take_results(void *ctx, uint64_t n, void *data)
{
    struct calls *c = ctx;

    assert_int_equal(n, c->taken++);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        assert_true(((float *)data)[i] == c->x->data[n * ELEMENTS + i] + 3);
    return EMU_OK;
}

static void calls_answer_transfers(void **state)
{
    (void)state;
    for (uint64_t fail_at = 0; fail_at < 6; fail_at += 5) {
        struct prefetch_trial x = { 0 };
        struct calls c = { .x = &x, .fail_at = fail_at };
        const struct session_calls begin = { &c, say_begin, NULL }, say = { &c, say_control, NULL },
                                   in = { &c, send_batch, note_arrival },
                                   out = { &c, take_results, NULL };

        prefetch_trial_new(&x, "toy16", IO_TILES, 3, 3);
        fill_control(&x, BATCHES);
        assert_int_equal(ss_session_connect(x.s, x.p.begin, &begin), EMU_OK);
        assert_int_equal(ss_session_connect(x.s, x.p.control, &say), EMU_OK);
        assert_int_equal(ss_session_connect(x.s, x.t[0].stream, &in), EMU_OK);
        assert_int_equal(ss_session_connect(x.s, x.t[0].stream, &in), EMU_USAGE);
        assert_int_equal(ss_session_connect(x.s, x.t[1].stream, &out), EMU_OK);
        assert_int_equal(ss_session_run(x.s), fail_at ? EMU_FAULT : EMU_OK);
        assert_int_equal(c.sent, fail_at ? fail_at : BATCHES);
        assert_int_equal(c.arrived, c.sent);
        assert_true(fail_at ? c.taken < fail_at : c.taken == BATCHES);
        prefetch_trial_free(&x);
    }
}

/* ---- sizes ---- */

static enum emu_status try_size(uint32_t io, uint32_t depth, uint32_t elements, struct prefetch *p)
{
    const struct prefetch_options o = { io, depth };
    struct prefetch_transfer x[2];
    struct graph *g;
    struct tensor t, r;
    struct program loop;
    enum emu_status s;

    assert_int_equal(ss_graph_new(ss_arch_preset("toy16"), &ss_kernel_library, &g), EMU_OK);
    s = ss_prefetch_reserve(g, &o);
    if (s == EMU_OK) {
        t = ss_graph_variable(g, ELEM_U8, 1, &elements, "in");
        r = ss_graph_variable(g, ELEM_F32, 0, NULL, "out");
        ss_graph_map_linear(g, t, 4, 4, 0, 16 - io);
        ss_graph_map(g, r, 0);
        x[0] = (struct prefetch_transfer){ .at = t, .name = "in" };
        x[1] = (struct prefetch_transfer){ .at = r, .name = "out" };
        *p = (struct prefetch){ .link = o };
        s = loop_of(g, p, x, ss_program_sequence(g), &loop);
    }
    ss_graph_free(g);
    return s;
}

static void too_little_room_is_said(void **state)
{
    struct prefetch p;

    (void)state;
    assert_int_equal(try_size(2, 3, 1000, &p), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "expected at least 3"));
    assert_int_equal(try_size(16, 3, 1000, &p), EMU_USAGE);
    assert_int_equal(try_size(4, 9, 1000, &p), EMU_USAGE);
    assert_int_equal(try_size(3, 3, 100000, &p), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "6 IO tiles are needed"));
    assert_int_equal(p.needed_tiles, 6);
    assert_int_equal(try_size(6, 3, 100000, &p), EMU_OK);
    assert_int_equal(p.buffer_tiles, 2);
    assert_int_equal(p.buffer_bytes, 50048);
}

/* ---- a fixed number of batches a run ---- */

enum { SMALL = 5, RUNS = 3 };

/* Two tensors a batch; the body makes two others of them. */
struct run_trial {
    struct prefetch r;
    struct prefetch_transfer in[2], out[2];
    float large[ELEMENTS];
    uint64_t asked[2], told[2];
};

static float of_batch(uint64_t batch, uint32_t i)
{
    return (float)(1000 * batch + i);
}

static enum emu_status send_large(void *ctx, uint64_t n, void *data)
{
    for (uint32_t i = 0; i < ELEMENTS; i++)
        ((float *)data)[i] = of_batch(n + 1, i);
    ((struct run_trial *)ctx)->asked[0]++;
    return EMU_OK;
}

/* Filled up to a whole word. */
static enum emu_status send_small(void *ctx, uint64_t n, void *data)
{
    memset(data, (int)(n + 1), 8);
    ((struct run_trial *)ctx)->asked[1]++;
    return EMU_OK;
}

static enum emu_status take_large(void *ctx, uint64_t n, void *data)
{
    for (uint32_t i = 0; i < ELEMENTS; i++)
        assert_true(((float *)data)[i] == of_batch(n, i) + 3);
    ((struct run_trial *)ctx)->told[0]++;
    return EMU_OK;
}

static enum emu_status take_small(void *ctx, uint64_t n, void *data)
{
    for (uint32_t i = 0; i < SMALL; i++)
        assert_int_equal(((uint8_t *)data)[i], n);
    ((struct run_trial *)ctx)->told[1]++;
    return EMU_OK;
}

/* The loop, compiled and loaded; t->r says what it is. */
static void run_trial_new(struct prefetch_trial *x, struct run_trial *t)
{
    const struct compile_options co = { .threads = 1 };
    const struct session_options so = { .threads = 2, .check = 1, .record = 1 };
    const uint32_t small = SMALL, tiles = 16 - t->r.link.tiles;
    struct program loop;
    struct tensor given, got;

    x->arch = *ss_arch_preset("toy16");
    assert_int_equal(ss_graph_new(&x->arch, &ss_kernel_library, &x->g), EMU_OK);
    assert_int_equal(ss_prefetch_reserve(x->g, &t->r.link), EMU_OK);
    t->r.before = ss_program_sequence(x->g);
    t->r.after = ss_program_sequence(x->g);
    t->r.body = body(x, tiles, 3);
    given = ss_graph_variable(x->g, ELEM_U8, 1, &small, "given");
    got = ss_graph_variable(x->g, ELEM_U8, 1, &small, "got");
    ss_graph_map(x->g, given, 1);
    ss_graph_map(x->g, got, 2);
    ss_program_add(x->g, t->r.body, ss_program_copy(x->g, given, got));
    t->in[0] = (struct prefetch_transfer){ .at = x->in, .name = "large" };
    t->in[1] = (struct prefetch_transfer){ .at = given, .name = "small" };
    t->out[0] = (struct prefetch_transfer){ .at = x->out, .name = "large" };
    t->out[1] = (struct prefetch_transfer){ .at = got, .name = "small" };
    t->r.in = t->in;
    t->r.out = t->out;
    t->r.ins = t->r.outs = 2;
    if (ss_op_prefetch(x->g, &t->r, &loop) != EMU_OK)
        fail_msg("%s", ss_error());
    ss_graph_set_program(x->g, loop);
    if (ss_graph_compile(x->g, &co, &x->c) != EMU_OK || ss_session_new(x->c, &so, &x->s) != EMU_OK)
        fail_msg("%s", ss_error());
}

static void run_trial_free(struct prefetch_trial *x)
{
    ss_session_free(x->s);
    ss_compiled_free(x->c);
    ss_graph_free(x->g);
}

/* Buffers are full from run to run: of the first the host writes them. */
static void runs_begin_with_what_is_there(void **state)
{
    struct run_trial t = { .r = { .link = { IO_TILES, 1 }, .times = 3 } };
    struct prefetch_trial x = { 0 };
    uint8_t zeros[8] = { 0 };

    (void)state;
    run_trial_new(&x, &t);
    for (unsigned k = 0; k < 2; k++) {
        const struct session_calls in = { &t, k ? send_small : send_large, NULL };
        const struct session_calls out = { &t, k ? take_small : take_large, NULL };

        assert_int_equal(ss_session_connect(x.s, t.in[k].stream, &in), EMU_OK);
        assert_int_equal(ss_session_connect(x.s, t.out[k].stream, &out), EMU_OK);
    }
    for (uint32_t i = 0; i < ELEMENTS; i++)
        t.large[i] = of_batch(0, i);
    assert_int_equal(ss_session_write(x.s, t.in[0].buffer[0], t.large), EMU_OK);
    assert_int_equal(ss_session_write(x.s, t.in[1].buffer[0], zeros), EMU_OK);
    for (unsigned k = 1; k <= RUNS; k++) {
        if (ss_session_run(x.s) != EMU_OK)
            fail_msg("%s", ss_error());
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(t.asked[i], k * t.r.times);
            assert_int_equal(t.told[i], k * t.r.times);
        }
    }
    run_trial_free(&x);
}

/* An open loop takes as many tensors with a batch as there are; the last bytes of a small one share
 * their word with none. */
static void several_tensors_through_an_open_loop(void **state)
{
    static const struct prefetch_options link[] = { { 0, 0 }, { 3, 0 }, { 3, 1 }, { 7, 3 } };

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(link); k++) {
        struct run_trial t = { .r = { .link = link[k] } };
        struct prefetch_trial x = { .o = link[k] };
        uint32_t fed = link[k].tiles ? 8 : SMALL; /* filled up where IO tiles share it */
        uint8_t small[BATCHES * 8], *got_small;
        uint64_t transfers;
        float *got;

        run_trial_new(&x, &t);
        fill_control(&x, BATCHES);
        for (uint32_t i = 0; i < BATCHES * fed; i++)
            small[i] = (uint8_t)(3 * i);
        if (link[k].depth)
            assert_int_equal(ss_session_feed(x.s, t.r.begin, x.begin, 1), EMU_OK);
        assert_int_equal(ss_session_feed(x.s, t.r.control, x.control, BATCHES + !link[k].depth),
                         EMU_OK);
        assert_int_equal(ss_session_feed(x.s, t.in[0].stream, x.data, BATCHES), EMU_OK);
        assert_int_equal(ss_session_feed(x.s, t.in[1].stream, small, BATCHES), EMU_OK);
        if (ss_session_run(x.s) != EMU_OK)
            fail_msg("%s", ss_error());
        assert_int_equal(ss_session_output(x.s, t.out[0].stream, (void **)&got, &transfers),
                         EMU_OK);
        assert_int_equal(transfers, BATCHES);
        assert_int_equal(ss_session_output(x.s, t.out[1].stream, (void **)&got_small, &transfers),
                         EMU_OK);
        assert_int_equal(transfers, BATCHES);
        for (uint32_t b = 0; b < BATCHES; b++) {
            assert_true(got[b * ELEMENTS + b] == x.data[b * ELEMENTS + b] + 3);
            assert_memory_equal(&got_small[b * SMALL], &small[b * fed], SMALL);
        }
        ss_free(got);
        ss_free(got_small);
        run_trial_free(&x);
    }
}

/* Only an open loop asks for several batches before it needs them. */
static void a_fixed_number_is_held_once(void **state)
{
    struct prefetch p = { .link = { 4, 2 }, .times = 3 };
    struct program loop;
    struct graph *g;

    (void)state;
    assert_int_equal(ss_graph_new(ss_arch_preset("toy16"), &ss_kernel_library, &g), EMU_OK);
    assert_int_equal(ss_prefetch_reserve(g, &p.link), EMU_OK);
    assert_int_equal(ss_op_prefetch(g, &p, &loop), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "a prefetch depth of 2 for 3 batches a run"));
    ss_graph_free(g);
}

/* A batch of 90,000 bytes, with IO tiles that have room for 60 KiB each. */
static void too_little_room_for_a_run(void **state)
{
    static const struct {
        uint32_t io;
        int fits;
    } trial[] = { { 1, 0 }, { 2, 1 } };
    const uint32_t n = 90000, one = 1;

    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(trial); k++) {
        struct prefetch_transfer in = { .name = "in" }, out = { .name = "out" };
        struct prefetch r = {
            .link = { trial[k].io, 1 }, .times = 1, .in = &in, .out = &out, .ins = 1, .outs = 1
        };
        struct graph *g;
        struct program loop;
        enum emu_status s;

        assert_int_equal(ss_graph_new(ss_arch_preset("toy16"), &ss_kernel_library, &g), EMU_OK);
        assert_int_equal(ss_prefetch_reserve(g, &r.link), EMU_OK);
        in.at = ss_graph_variable(g, ELEM_U8, 1, &n, "in");
        out.at = ss_graph_variable(g, ELEM_F32, 1, &one, "out");
        ss_graph_map_linear(g, in.at, 4, 4, 0, 14);
        ss_graph_map(g, out.at, 0);
        r.before = ss_program_sequence(g);
        r.body = ss_program_sequence(g);
        r.after = ss_program_sequence(g);
        s = ss_op_prefetch(g, &r, &loop);
        assert_int_equal(s, trial[k].fits ? EMU_OK : EMU_USAGE);
        if (!trial[k].fits)
            assert_non_null(strstr(ss_error(), "2 IO tiles are needed"));
        ss_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(any_depth_and_number_of_batches),
        cmocka_unit_test(a_fixed_number_in_turn),
        cmocka_unit_test(the_period_is_the_longer_of_both),
        cmocka_unit_test(calls_answer_transfers),
        cmocka_unit_test(too_little_room_is_said),
        cmocka_unit_test(runs_begin_with_what_is_there),
        cmocka_unit_test(several_tensors_through_an_open_loop),
        cmocka_unit_test(a_fixed_number_is_held_once),
        cmocka_unit_test(too_little_room_for_a_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
