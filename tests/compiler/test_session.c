/* test_session.c - compiled programs on a machine: variables in and out, streams, several runs,
 * faults, and what happens when memory runs out. */
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

static struct program shift(struct session_trial *x, struct tensor t, uint32_t n)
{
    return ss_program_copy(x->g, ss_tensor_slice(x->g, t, 0, 0, n - 1),
                           ss_tensor_slice(x->g, t, 0, 1, n));
}

/* Of the first piece of a variable. */
static const struct object *object_of(const struct session_trial *x, struct tensor t)
{
    const struct lowered *l = x->c->lowered;
    uint32_t var = view_at(x->g, t.view, 0).var;

    return &l->object.at[l->storage_run.at[l->storage.at[var].first].object];
}

static const struct live_set *live_set_of(const struct session_trial *x, struct tensor t)
{
    return &x->c->lowered->live_set.at[object_of(x, t)->live];
}

static void expect(struct session_trial *x, struct tensor t, const void *want, size_t bytes)
{
    uint8_t got[256];

    assert_true(bytes <= sizeof(got));
    assert_int_equal(ss_session_read(x->s, t, got), EMU_OK);
    assert_memory_equal(got, want, bytes);
}

static void count_up(void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)data)[i] = (uint8_t)(i * 7 + 1);
}

/* ---- variables ---- */

static void all_types_come_back(void **state)
{
    const uint32_t n = 31;
    uint8_t data[31 * 4 + ELEM_COUNT]; /* types read from different places */
    struct tensor t[ELEM_COUNT];
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    for (unsigned e = 0; e < ELEM_COUNT; e++)
        t[e] = session_trial_scattered(&x, (enum elem)e, n, ss_elem_name((enum elem)e));
    session_trial_start(&x);
    count_up(data, sizeof(data));
    for (unsigned e = 0; e < ELEM_COUNT; e++)
        assert_int_equal(ss_session_write(x.s, t[e], data + e), EMU_OK);
    for (unsigned run = 0; run < 3; run++) {
        for (unsigned e = 0; e < ELEM_COUNT; e++)
            expect(&x, t[e], data + e, (size_t)n * ss_elem_bytes((enum elem)e));
        session_trial_run(&x);
    }
    session_trial_free(&x);
}

static void views_are_written_in_their_order(void **state)
{
    const uint32_t shape[2] = { 4, 3 };
    const unsigned order[2] = { 1, 0 };
    uint16_t data[12], turned[12];
    struct tensor t;
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    t = session_trial_scattered(&x, ELEM_F16, 12, "t");
    session_trial_start(&x);
    count_up(data, sizeof(data));
    for (unsigned i = 0; i < 12; i++)
        turned[i % 4 * 3 + i / 4] = data[i];
    assert_int_equal(
        ss_session_write(x.s, ss_tensor_transpose(x.g, ss_tensor_reshape(x.g, t, 2, shape), order),
                         data),
        EMU_OK);
    expect(&x, t, turned, sizeof(turned));
    session_trial_free(&x);
}

static void initial_values_and_constants_are_there(void **state)
{
    const uint32_t n = 5;
    const uint8_t data[5] = { 1, 2, 3, 4, 5 };
    struct tensor t, c, inner;
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    t = ss_graph_variable(x.g, ELEM_U8, 1, &n, "start");
    ss_graph_set_initial(x.g, t, data);
    ss_graph_map_linear(x.g, t, 1, 1, 0, 4);
    c = ss_graph_constant(x.g, ELEM_U8, 1, &n, data, "fixed");
    ss_graph_map(x.g, c, 3);
    inner = ss_graph_variable(x.g, ELEM_U8, 1, &n, "inner");
    ss_graph_map(x.g, inner, 1);
    ss_program_add(x.g, x.main, ss_program_copy(x.g, t, inner));
    ss_program_add(x.g, x.main, shift(&x, t, n));
    ss_program_add(x.g, x.main,
                   ss_program_copy(x.g, ss_tensor_index(x.g, c, 4), ss_tensor_index(x.g, t, 0)));
    session_trial_start(&x);
    expect(&x, t, data, n);
    expect(&x, c, data, n);
    session_trial_run(&x);
    expect(&x, t, "\5\1\2\3\4", n);
    session_trial_run(&x);
    expect(&x, t, "\5\5\1\2\3", n);
    expect(&x, c, data, n);
    assert_int_equal(ss_session_write(x.s, c, data), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "fixed"));
    assert_int_equal(ss_session_write(x.s, inner, data), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "inner"));
    session_trial_free(&x);
}

/* ---- runs ---- */

static void runs_follow_each_other(void **state)
{
    const uint32_t data[6] = { 1, 2, 3, 4, 5, 6 };
    uint32_t want[6];
    uint64_t cycles = 0;
    struct record *record;
    struct tensor t;
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    t = session_trial_scattered(&x, ELEM_U32, 6, "t");
    ss_program_add(x.g, x.main, ss_program_repeat(x.g, 2, shift(&x, t, 6)));
    session_trial_start(&x);
    assert_int_equal(ss_session_write(x.s, t, data), EMU_OK);
    for (unsigned run = 1; run <= 3; run++) {
        session_trial_run(&x);
        for (unsigned i = 0; i < 6; i++)
            want[i] = i < 2 * run ? 1 : data[i - 2 * run];
        expect(&x, t, want, sizeof(want));
        assert_true(ss_session_cycles(x.s) > cycles);
        cycles = ss_session_cycles(x.s);
    }
    record = ss_session_run_image(x.s)->record;
    assert_true(record_count(record) >= 6);
    for (size_t i = 1; i < record_count(record); i++) /* each superstep once */
        assert_int_equal(record_at(record, i)->index, record_at(record, i - 1)->index + 1);
    session_trial_free(&x);
}

/* A copy of n words from tile 0 to another, in a scope of its own, whose number it returns. */
static uint32_t copy_in_scope(struct session_trial *x, const char *scope, uint32_t n, uint32_t tile)
{
    uint32_t id = ss_graph_push(x->g, scope);
    struct tensor from = ss_graph_variable(x->g, ELEM_U32, 1, &n, "from");
    struct tensor to = ss_graph_variable(x->g, ELEM_U32, 1, &n, "to");

    ss_graph_map(x->g, from, 0);
    ss_graph_map(x->g, to, tile);
    ss_graph_keep(x->g, from);
    ss_graph_keep(x->g, to);
    ss_program_add(x->g, x->main, ss_program_copy(x->g, from, to));
    ss_graph_pop(x->g);
    return id;
}

/* Copies of two scopes that become one exchange divide it by their bytes, and the image knows where
 * it was made. */
static void supersteps_know_their_scope(void **state)
{
    const struct image *im;
    struct bill_name name;
    struct trace_step *step;
    uint32_t a, b;
    size_t steps;
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    a = copy_in_scope(&x, "a", 12, 1);
    b = copy_in_scope(&x, "b", 4, 2);
    session_trial_start(&x);
    session_trial_run(&x);
    assert_int_equal(ss_compiled_trace(x.c, &step, &steps), EMU_OK);
    assert_int_equal(steps, 1);
    assert_int_equal(step[0].kind, TRACE_EXCHANGE);
    assert_int_equal(step[0].scope, a);
    assert_int_equal(step[0].shares, 2);
    assert_int_equal(step[0].share[0].scope, a);
    assert_int_equal(step[0].share[0].bytes, 48);
    assert_int_equal(step[0].share[1].scope, b);
    assert_int_equal(step[0].share[1].bytes, 16);
    ss_free(step);
    im = ss_compiled_image(x.c);
    assert_int_equal(image_scope_of(im, image_find_string(im, "b/to")), b);
    assert_string_equal(image_text(im, image_scope_at(im, b)->path), "b");
    assert_int_equal(record_count(ss_session_run_image(x.s)->record), 2);
    name = ss_bill_name_of_step(ss_session_run_image(x.s)->record, 1, im);
    assert_string_equal(name.operation, "copy to a/to and 1 more");
    assert_string_equal(name.scope, "a");
    session_trial_free(&x);
}

struct held_by_scope {
    uint64_t bytes[3];
};

static void add_copies(void *ctx, uint32_t tile, const struct held_bytes *x)
{
    struct held_by_scope *h = ctx;

    (void)tile;
    if (!strncmp(x->owner, "copy to ", 8))
        h->bytes[x->scope] += x->bytes;
}

/* Memory that belongs to merged copies is divided like their cycles: here three to one. */
static void code_of_merged_copies(void **state)
{
    struct held_by_scope held = { { 0 } };
    const struct image *im;
    uint64_t code = 0;
    uint32_t a, b;
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    a = copy_in_scope(&x, "a", 12, 1);
    b = copy_in_scope(&x, "b", 4, 2);
    session_trial_start(&x);
    im = ss_compiled_image(x.c);
    for (uint32_t t = 0; t < 4; t++) {
        const struct image_tile *tile = image_find_tile(im, 0, t);
        size_t n = 0;
        const struct image_range *r = tile ? image_map_of(im, tile->map, &n) : NULL;

        for (size_t i = 0; i < n; i++)
            if (!strncmp(image_text(im, r[i].owner), "copy to ", 8) &&
                strstr(image_text(im, r[i].category), "code"))
                code += r[i].bytes;
    }
    assert_int_equal(ss_compiled_held(x.c, add_copies, &held), EMU_OK);
    assert_true(held.bytes[a] > 0 && held.bytes[b] > 0);
    assert_int_equal(held.bytes[0], 0);
    assert_int_equal(held.bytes[a] + held.bytes[b], code);
    assert_in_range(held.bytes[a], 3 * held.bytes[b] - 12, 3 * held.bytes[b] + 12);
    session_trial_free(&x);
}

/* An input is there when the program begins, and its memory serves another one afterwards. */
static void inputs_live_to_their_last_use(void **state)
{
    enum { N = 12 };
    uint8_t data[N];
    struct tensor in, later, end;
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    in = ss_graph_variable(x.g, ELEM_U8, 1, &(uint32_t){ N }, "in");
    later = ss_graph_variable(x.g, ELEM_U8, 1, &(uint32_t){ N }, "later");
    end = session_trial_scattered(&x, ELEM_U8, N, "end");
    ss_graph_map(x.g, in, 1);
    ss_graph_map(x.g, later, 1);
    ss_graph_input(x.g, in);
    ss_program_add(x.g, x.main, ss_program_copy(x.g, in, end));
    ss_program_add(x.g, x.main, ss_program_copy(x.g, end, later));
    ss_program_add(x.g, x.main, ss_program_copy(x.g, later, end));
    session_trial_start(&x);
    assert_int_equal(live_set_of(&x, in)->count, 1);
    assert_int_equal(x.c->lowered->live_range.at[live_set_of(&x, in)->first].begin, 0);
    assert_false(live_sets_meet(x.c->lowered, object_of(&x, in)->live, object_of(&x, later)->live));
    assert_int_equal(ss_session_run(x.s), EMU_USAGE);
    assert_string_equal(ss_error(), "run 0: input in was not written");
    for (unsigned run = 0; run < 2; run++) {
        count_up(data, sizeof(data));
        data[run] = 99;
        assert_int_equal(ss_session_write(x.s, in, data), EMU_OK);
        session_trial_run(&x);
        expect(&x, end, data, sizeof(data));
        assert_int_equal(ss_session_read(x.s, in, data), EMU_USAGE);
        assert_int_equal(ss_session_run(x.s), EMU_USAGE);
    }
    session_trial_free(&x);
}

static void a_fault_says_where(void **state)
{
    const struct image_tile *tile;
    const uint32_t bad = 0xffffffff; /* an exchange instruction with reserved selectors */
    /* A word that every run executes; the first run alone begins seven words before. */
    const uint32_t again = 32;
    struct tensor t;
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    t = session_trial_scattered(&x, ELEM_U32, 6, "t");
    ss_program_add(x.g, x.main, shift(&x, t, 6));
    session_trial_start(&x);
    session_trial_run(&x);
    tile = image_tile_at(x.c->image, 1);
    assert_true(tile_write(machine_tile(ss_session_run_image(x.s)->machine, tile->tile),
                           tile->entry + again, &bad, sizeof(bad)));
    assert_int_equal(ss_session_run(x.s), EMU_FAULT);
    assert_non_null(strstr(ss_error(), "run 1: EXERR RESERVED: tile 1 at event "));
    assert_non_null(strstr(ss_error(), "tile 1, superstep "));
    assert_int_equal(ss_session_run(x.s), EMU_FAULT);
    assert_non_null(strstr(ss_error(), "stopped before"));
    session_trial_free(&x);
}

static void what_does_not_fit_does_not_run(void **state)
{
    const struct compile_options co = { .threads = 1 };
    const uint32_t n = ss_arch_preset("toy4")->mem_bytes;
    struct tensor t;
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    t = ss_graph_variable(x.g, ELEM_U32, 1, &n, "huge");
    ss_graph_map(x.g, t, 2);
    ss_graph_keep(x.g, t);
    assert_int_equal(ss_graph_compile(x.g, &co, &x.c), EMU_OK);
    assert_false(ss_compiled_fits(x.c));
    assert_int_equal(ss_session_new(x.c, NULL, &x.s), EMU_USAGE);
    assert_null(x.s);
    session_trial_free(&x);
}

/* ---- streams ---- */

static void expect_output(struct session_trial *x, uint32_t stream, const void *want, size_t bytes,
                          uint64_t transfers)
{
    uint64_t n;
    void *got;

    assert_int_equal(ss_session_output(x->s, stream, &got, &n), EMU_OK);
    assert_int_equal(n, transfers);
    assert_memory_equal(got, want, bytes);
    ss_free(got);
}

/* Two transfers in and two out in every run; elements of odd pieces, so that words of the link are
 * padded. */
static void streams_go_on_from_run_to_run(void **state)
{
    enum { N = 23 };
    uint8_t data[6 * N];
    struct program body;
    struct tensor t;
    uint32_t in, out, unused;
    struct session_trial x;

    (void)state;
    session_trial_new(&x);
    t = session_trial_scattered(&x, ELEM_U8, N, "t");
    in = ss_graph_stream(x.g, STREAM_IN, ELEM_U8, N, 2, "in");
    out = ss_graph_stream(x.g, STREAM_OUT, ELEM_U8, N, 1, "out");
    unused = ss_graph_stream(x.g, STREAM_IN, ELEM_U8, N, 1, "unused");
    body = ss_program_sequence(x.g);
    ss_program_add(x.g, body, ss_program_stream(x.g, in, t));
    ss_program_add(x.g, body, ss_program_stream(x.g, out, t));
    ss_program_add(x.g, x.main, ss_program_repeat(x.g, 2, body));
    session_trial_start(&x);
    count_up(data, sizeof(data));
    expect_output(&x, out, data, 0, 0);
    assert_int_equal(ss_session_feed(x.s, unused, data, 1), EMU_OK);
    assert_int_equal(ss_session_feed(x.s, in, data, 1), EMU_OK);
    assert_int_equal(ss_session_feed(x.s, in, data + N, 2), EMU_OK);
    session_trial_run(&x);
    expect_output(&x, out, data, 2 * N, 2);
    assert_int_equal(ss_session_feed(x.s, in, data + 3 * N, 1), EMU_OK); /* one is left of before */
    session_trial_run(&x);
    expect_output(&x, out, data, 4 * N, 4);
    assert_int_equal(ss_session_feed(x.s, out, data, 1), EMU_USAGE);
    assert_int_equal(ss_session_feed(x.s, 99, data, 1), EMU_USAGE);
    assert_int_equal(ss_session_feed(x.s, in, data + 4 * N, 1), EMU_OK);
    assert_int_equal(ss_session_run(x.s), EMU_FAULT); /* dry in its second round */
    assert_non_null(strstr(ss_error(), "stream 0: the data end"));
    session_trial_free(&x);
}

/* ---- out of memory ---- */

static enum emu_status short_session(const struct compiled *c, struct tensor t, uint32_t in,
                                     uint32_t out)
{
    const uint32_t data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    uint32_t got[4];
    void *output = NULL;
    uint64_t n;
    struct session *s;
    enum emu_status status = ss_session_new(c, NULL, &s);

    if (status == EMU_OK)
        status = ss_session_feed(s, in, data, 1);
    if (status == EMU_OK)
        status = ss_session_feed(s, in, data + 4, 1);
    if (status == EMU_OK)
        status = ss_session_run(s);
    if (status == EMU_OK)
        status = ss_session_read(s, t, got);
    if (status == EMU_OK)
        status = ss_session_output(s, out, &output, &n);
    if (status == EMU_OK)
        assert_memory_equal(output, data, sizeof(got));
    ss_free(output);
    ss_session_free(s);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    uint32_t in, out;
    struct tensor t;
    struct session_trial x;
    long before, n = 0;
    enum emu_status s;

    (void)state;
    session_trial_new(&x);
    t = session_trial_scattered(&x, ELEM_U32, 4, "t");
    in = ss_graph_stream(x.g, STREAM_IN, ELEM_U32, 4, 2, "in");
    out = ss_graph_stream(x.g, STREAM_OUT, ELEM_U32, 4, 1, "out");
    ss_program_add(x.g, x.main, ss_program_stream(x.g, in, t));
    ss_program_add(x.g, x.main, ss_program_stream(x.g, out, t));
    session_trial_start(&x);
    before = alloc_live();
    do {
        alloc_test_fail_at(n++);
        s = short_session(x.c, t, in, out);
        alloc_test_fail_at(-1);
        if (s != EMU_OK && s != EMU_NO_MEMORY && s != EMU_FAULT) /* MEMERR is a fault of a tile */
            fail_msg("allocation %ld: %s", n - 1, ss_error());
        assert_int_equal(alloc_live(), before);
    } while (s != EMU_OK);
    assert_true(n > 20);
    session_trial_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_come_back),
        cmocka_unit_test(views_are_written_in_their_order),
        cmocka_unit_test(initial_values_and_constants_are_there),
        cmocka_unit_test(runs_follow_each_other),
        cmocka_unit_test(supersteps_know_their_scope),
        cmocka_unit_test(code_of_merged_copies),
        cmocka_unit_test(inputs_live_to_their_last_use),
        cmocka_unit_test(a_fault_says_where),
        cmocka_unit_test(what_does_not_fit_does_not_run),
        cmocka_unit_test(streams_go_on_from_run_to_run),
        cmocka_unit_test(every_allocation_may_fail),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
