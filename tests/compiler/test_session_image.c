/* test_session_image.c - an image that was read again, without the program that it was made of: its
 * streams, and its inputs and outputs by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/emu.h"
#include "emu/tile/tile.h"
#include "programs/compiler/compiled.h"
#include "programs/programs.h"
#include "tests/fixtures/session_fixture.h"

enum { ALONE = 23 }; /* elements of odd pieces: the link carries words that are filled up */

struct alone_trial {
    struct session_trial x;
    uint32_t in, out;
    struct image *image; /* written to a file and read again */
};

/* Takes numbers from the host, adds a state to them, and sends what is positive of it; the state
 * becomes that. */
static void alone_new(struct alone_trial *a)
{
    struct session_trial *x = &a->x;
    struct tensor t, state, sum;
    char path[] = "/tmp/session_alone_XXXXXX";
    int fd = mkstemp(path);

    session_trial_new(x);
    t = session_trial_scattered(x, ELEM_F16, ALONE, "t");
    state = session_trial_scattered(x, ELEM_F16, ALONE, "state");
    a->in = ss_graph_stream(x->g, STREAM_IN, ELEM_F16, ALONE, 2, "in");
    a->out = ss_graph_stream(x->g, STREAM_OUT, ELEM_F16, ALONE, 1, "out");
    ss_program_add(x->g, x->main, ss_program_stream(x->g, a->in, t));
    sum = ss_op_unary(x->g, x->main, UNARY_RELU,
                      ss_op_binary(x->g, x->main, BINARY_ADD, t, state, "sum"), "positive");
    ss_program_add(x->g, x->main, ss_program_copy(x->g, sum, state));
    ss_program_add(x->g, x->main, ss_program_stream(x->g, a->out, state));
    session_trial_start(x);
    ss_session_free(x->s);
    x->s = NULL;
    assert_int_equal(ss_compiled_add_output(x->c, state, "state"), EMU_OK);
    assert_true(fd >= 0);
    assert_int_equal(ss_image_write(x->c->image, path), EMU_OK);
    assert_int_equal(ss_image_read(path, &a->image), EMU_OK);
    close(fd);
    unlink(path);
}

static void alone_free(struct alone_trial *a)
{
    ss_image_free(a->image);
    session_trial_free(&a->x);
}

static enum emu_status program_of(void *ctx, const struct compiled **out)
{
    *out = ((struct alone_trial *)ctx)->x.c;
    return EMU_OK;
}

enum { ALONE_RUNS = 2, ALONE_RANGES = 8 };

/* What two runs leave. */
struct alone_answer {
    uint16_t sent[ALONE_RUNS][ALONE], state[ALONE];
    uint64_t cycles;
    struct session_range range[ALONE_RANGES];
    size_t ranges;
    char *digests; /* malloc */
};

static uint16_t fed(uint64_t transfer, unsigned element)
{
    return (uint16_t)(0x3800 + 64 * element + 1024 * transfer) ^ (element % 5 ? 0 : 0x8000);
}

static enum emu_status send_numbers(void *ctx, uint64_t n, void *data)
{
    (void)ctx;
    for (unsigned i = 0; i < ALONE; i++)
        ((uint16_t *)data)[i] = fed(n, i);
    return EMU_OK;
}

static enum emu_status take_numbers(void *ctx, uint64_t n, void *data)
{
    struct alone_answer *to = ctx;

    assert_true(n < ALONE_RUNS);
    memcpy(to->sent[n], data, sizeof(to->sent[n]));
    return EMU_OK;
}

static void alone_join(struct session *s, int calls, struct alone_answer *to)
{
    const struct session_calls send = { .transfer = send_numbers },
                               take = { .ctx = to, .transfer = take_numbers };
    uint16_t data[ALONE_RUNS][ALONE];
    uint32_t in, out;

    assert_int_equal(ss_session_stream_find(s, "in", &in), EMU_OK);
    assert_int_equal(ss_session_stream_find(s, "out", &out), EMU_OK);
    assert_int_equal(ss_session_stream_find(s, "inn", &in), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "it has in, out"));
    assert_int_equal(ss_session_stream_find(s, "in", &in), EMU_OK);
    for (unsigned n = 0; n < ALONE_RUNS; n++)
        assert_int_equal(send_numbers(NULL, n, data[n]), EMU_OK);
    if (calls) {
        assert_int_equal(ss_session_connect(s, in, &send), EMU_OK);
        assert_int_equal(ss_session_connect(s, out, &take), EMU_OK);
    } else {
        assert_int_equal(ss_session_feed(s, in, data, ALONE_RUNS), EMU_OK);
    }
}

/* The state is an output: written between runs, and read. */
static void alone_read(struct session *s, int calls, int timing, struct alone_answer *to)
{
    const struct session_range *range = ss_session_ranges(s, &to->ranges);
    uint32_t out;
    uint64_t n;
    void *got;

    assert_true(to->ranges <= ALONE_RANGES);
    if (to->ranges)
        memcpy(to->range, range, to->ranges * sizeof(*range));
    to->cycles = ss_session_cycles(s);
    assert_int_equal(ss_session_value_read(s, "state", to->state, sizeof(to->state)),
                     timing ? EMU_USAGE : EMU_OK);
    if (calls)
        return;
    assert_int_equal(ss_session_stream_find(s, "out", &out), EMU_OK);
    assert_int_equal(ss_session_output(s, out, &got, &n), EMU_OK);
    assert_int_equal(n, ALONE_RUNS);
    memcpy(to->sent, got, sizeof(to->sent));
    ss_free(got);
}

static void alone_run(struct alone_trial *a, int alone, int calls, int timing,
                      struct alone_answer *to)
{
    const uint16_t zeros[ALONE] = { 0 };
    size_t bytes;
    FILE *f;
    struct session_options o = { .threads = 1, .timing = timing, .ranges = !timing };
    struct session *s;

    memset(to, 0, sizeof(*to));
    f = open_memstream(&to->digests, &bytes);
    o.digests = timing ? NULL : f;
    o.program = program_of;
    o.program_ctx = a;
    if ((alone ? ss_session_new_image(a->image, &o, &s) : ss_session_new(a->x.c, &o, &s)) != EMU_OK)
        fail_msg("%s", ss_error());
    alone_join(s, calls, to);
    assert_int_equal(ss_session_value_write(s, "state", zeros, sizeof(zeros)), EMU_OK);
    assert_int_equal(ss_session_value_write(s, "state", zeros, sizeof(zeros) - 2), EMU_BAD_IMAGE);
    assert_int_equal(ss_session_value_write(s, "stat", zeros, sizeof(zeros)), EMU_USAGE);
    for (unsigned n = 0; n < ALONE_RUNS; n++) {
        if (ss_session_run(s) != EMU_OK)
            fail_msg("%s", ss_error());
    }
    alone_read(s, calls, timing, to);
    assert_true((ss_session_graph(s) == NULL) == alone);
    ss_session_free(s);
    fclose(f);
}

static void assert_answers_equal(const struct alone_answer *a, const struct alone_answer *b)
{
    assert_memory_equal(a->sent, b->sent, sizeof(a->sent));
    assert_memory_equal(a->state, b->state, sizeof(a->state));
    assert_int_equal(a->cycles, b->cycles);
    assert_int_equal(a->ranges, b->ranges);
    assert_memory_equal(a->range, b->range, sizeof(a->range));
    assert_string_equal(a->digests, b->digests);
}

/* Streams, values by name, cycles, digests and ranges of an image that was read again are those of
 * the program that it was compiled from. */
static void an_image_moves_streams_like_its_program(void **state)
{
    struct alone_trial a;

    (void)state;
    alone_new(&a);
    for (int timing = 0; timing < 2; timing++) {
        struct alone_answer want, got;

        alone_run(&a, 0, 0, timing, &want);
        for (unsigned i = 0; !timing && i < ALONE; i++)
            assert_int_equal(want.sent[0][i], i % 5 ? fed(0, i) : 0);
        assert_true(timing || want.range[0].numbers || want.range[1].numbers ||
                    want.range[2].numbers || want.range[3].numbers);
        for (int k = 1; k < 4; k++) {
            alone_run(&a, k & 1, k >> 1, timing, &got);
            if (timing)
                memcpy(got.sent, want.sent, sizeof(got.sent)); /* no values */
            assert_answers_equal(&want, &got);
            free(got.digests);
        }
        free(want.digests);
    }
    alone_free(&a);
}

static void an_image_alone_has_no_ranges(void **state)
{
    const struct session_options o = { .threads = 1, .ranges = 1 };
    struct session *s;
    struct alone_trial a;

    (void)state;
    alone_new(&a);
    assert_int_equal(ss_session_new_image(a.image, &o, &s), EMU_USAGE);
    assert_null(s);
    assert_int_equal(ss_session_new_image(a.image, NULL, &s), EMU_OK);
    assert_int_equal(ss_session_write(s, (struct tensor){ 0 }, NULL), EMU_USAGE);
    ss_session_free(s);
    alone_free(&a);
}

/* The host would not know the order. */
static void one_order_for_each_stream(void **state)
{
    const struct compile_options co = { .threads = 1 };
    uint32_t in;
    struct tensor t, u;
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    t = session_trial_scattered(&x, ELEM_U8, 8, "t");
    u = ss_graph_variable(x.g, ELEM_U8, 1, &(uint32_t){ 8 }, "u");
    ss_graph_map(x.g, u, 2);
    ss_graph_keep(x.g, u);
    in = ss_graph_stream(x.g, STREAM_IN, ELEM_U8, 8, 2, "in");
    ss_program_add(x.g, x.main, ss_program_stream(x.g, in, t));
    ss_program_add(x.g, x.main, ss_program_stream(x.g, in, u));
    assert_int_equal(ss_graph_compile(x.g, &co, &x.c), EMU_BAD_PROGRAM);
    assert_non_null(strstr(ss_error(), "stream in is used with tensors that lie differently"));
    session_trial_free(&x);
}

/* An input that nothing was written to stops the first run, of program and image; by its name it is
 * written. */
static void inputs_by_name(void **state)
{
    const uint32_t data[4] = { 4, 3, 2, 1 };
    uint32_t got[4];
    struct tensor in, to;
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    in = ss_graph_variable(x.g, ELEM_U32, 1, &(uint32_t){ 4 }, "in");
    ss_graph_map(x.g, in, 1);
    ss_graph_input(x.g, in);
    to = session_trial_scattered(&x, ELEM_U32, 4, "to");
    ss_program_add(x.g, x.main, ss_program_copy(x.g, in, to));
    session_trial_start(&x);
    assert_int_equal(ss_compiled_add_input(x.c, in, "x", NULL), EMU_OK);
    assert_int_equal(ss_compiled_add_output(x.c, to, "y"), EMU_OK);
    for (int alone = 0; alone < 2; alone++) {
        if (alone) {
            ss_session_free(x.s);
            assert_int_equal(ss_session_new_image(x.c->image, NULL, &x.s), EMU_OK);
        }
        assert_int_equal(ss_session_run(x.s), EMU_USAGE);
        assert_non_null(strstr(ss_error(), alone ? "input x was not" : "input in was not"));
        assert_int_equal(ss_session_value_write(x.s, "x", data, sizeof(data)), EMU_OK);
        session_trial_run(&x);
        assert_int_equal(ss_session_value_read(x.s, "y", got, sizeof(got)), EMU_OK);
        assert_memory_equal(got, data, sizeof(got));
    }
    session_trial_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_moves_streams_like_its_program),
        cmocka_unit_test(an_image_alone_has_no_ranges),
        cmocka_unit_test(one_order_for_each_stream),
        cmocka_unit_test(inputs_by_name),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("session of an image", tests, NULL, NULL);
}
