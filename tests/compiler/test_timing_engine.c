/* test_timing_engine.c - the timing engine against the values engine: equal records for any number
 * of threads, each distinct call measured once, and programs that it leaves to the values engine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "emu/emu.h"
#include "emu/load/image_internal.h"
#include "programs/compiler/compiled.h"
#include "programs/library/depthwise/dw_pack.h"
#include "programs/programs.h"
#include "tests/fixtures/record_fixture.h"

enum { TILES = 4, ELEMENTS = 96, STEPS = 5 };

struct timing_trial {
    struct graph *g;
    struct program main;
    struct tensor x, y, flag;
    struct compiled *c;
    long live;
};

static void timing_trial_new(struct timing_trial *t)
{
    const uint32_t n = TILES * ELEMENTS, one = 1;

    t->live = alloc_live();
    t->c = NULL;
    assert_int_equal(ss_graph_new(ss_arch_preset("toy4"), &ss_kernel_library, &t->g), EMU_OK);
    t->main = ss_program_sequence(t->g);
    ss_graph_set_program(t->g, t->main);
    t->x = ss_graph_variable(t->g, ELEM_F32, 1, &n, "x");
    t->y = ss_graph_variable(t->g, ELEM_F32, 1, &n, "y");
    t->flag = ss_graph_variable(t->g, ELEM_U32, 1, &one, "flag");
    for (uint32_t i = 0; i < TILES; i++) {
        ss_graph_map(t->g, ss_tensor_slice(t->g, t->x, 0, i * ELEMENTS, (i + 1) * ELEMENTS), i);
        ss_graph_map(t->g, ss_tensor_slice(t->g, t->y, 0, i * ELEMENTS, (i + 1) * ELEMENTS), i);
    }
    ss_graph_map(t->g, t->flag, 0);
    ss_graph_keep(t->g, t->x);
    ss_graph_keep(t->g, t->y);
    ss_graph_keep(t->g, t->flag);
}

static void timing_trial_compile(struct timing_trial *t)
{
    const struct compile_options co = { .threads = 1 };

    if (ss_graph_compile(t->g, &co, &t->c) != EMU_OK)
        fail_msg("%s", ss_error());
}

static void timing_trial_free(struct timing_trial *t)
{
    ss_compiled_free(t->c);
    ss_graph_free(t->g);
    assert_int_equal(alloc_live(), t->live);
}

/* y = relu(x) on each tile; tile k works on ELEMENTS - 8 k numbers. */
static struct program relu_of_each(struct timing_trial *t)
{
    uint32_t set = ss_graph_compute_set(t->g, "relu");

    for (uint32_t i = 0; i < TILES; i++) {
        uint32_t v = ss_graph_vertex(t->g, set, "relu_f32", i);
        uint32_t from = i * ELEMENTS, to = from + ELEMENTS - 8 * i;

        ss_vertex_connect(t->g, v, "x", ss_tensor_slice(t->g, t->x, 0, from, to));
        ss_vertex_connect(t->g, v, "y", ss_tensor_slice(t->g, t->y, 0, from, to));
    }
    return ss_program_execute(t->g, set);
}

/* Every tile gets the numbers of the next one. */
static struct program rotate(struct timing_trial *t)
{
    const uint32_t n = TILES * ELEMENTS;
    struct program p = ss_program_sequence(t->g);

    ss_program_add(t->g, p,
                   ss_program_copy(t->g, ss_tensor_slice(t->g, t->y, 0, ELEMENTS, n),
                                   ss_tensor_slice(t->g, t->x, 0, 0, n - ELEMENTS)));
    return p;
}

static struct session *run_as(struct timing_trial *t, const struct session_options *so)
{
    struct session *s;

    if (ss_session_new(t->c, so, &s) != EMU_OK || ss_session_run(s) != EMU_OK)
        fail_msg("%s", ss_error());
    return s;
}

static struct session *run_with(struct timing_trial *t, unsigned threads, int timing)
{
    return run_as(t,
                  &(struct session_options){ .threads = threads, .timing = timing, .record = 1 });
}

static void expect_same(struct timing_trial *t, struct session *values, unsigned threads)
{
    struct session *timing = run_with(t, threads, 1);
    char text[200];
    const char *why;

    assert_int_equal(ss_run_engine(ss_session_run_image(timing), &why), ENGINE_TIMING);
    assert_null(why);
    if (!record_same(ss_session_record(values), ss_session_record(timing), text, sizeof(text)))
        fail_msg("%u threads: %s", threads, text);
    ss_session_free(timing);
}

static void loop_of_calls(struct timing_trial *t)
{
    struct program body = ss_program_sequence(t->g);

    ss_program_add(t->g, body, relu_of_each(t));
    ss_program_add(t->g, body, rotate(t));
    ss_program_add(t->g, t->main, ss_program_repeat(t->g, STEPS, body));
}

/* Compiled; free with timing_trial_free(). */
static void looping_trial_new(struct timing_trial *t)
{
    timing_trial_new(t);
    loop_of_calls(t);
    timing_trial_compile(t);
}

static void records_are_equal_on_any_threads(void **state)
{
    static const unsigned threads[] = { 1, 2, 3, 16 };
    struct timing_trial t;
    struct session *values;

    (void)state;
    looping_trial_new(&t);
    values = run_with(&t, 1, 0);
    for (size_t i = 0; i < EMU_COUNT_OF(threads); i++)
        expect_same(&t, values, threads[i]);
    ss_session_free(values);
    timing_trial_free(&t);
}

/* What filling an array costs depends on where it lies: from one word further on it is another
 * call. */
static void calls_at_other_places_are_others(void **state)
{
    struct timing_trial t;
    struct session *values;

    (void)state;
    timing_trial_new(&t);
    for (uint32_t step = 0; step < 4; step++) {
        uint32_t set = ss_graph_compute_set(t.g, "fill");

        for (uint32_t i = 0; i < TILES; i++) {
            uint32_t v = ss_graph_vertex(t.g, set, "fill_f32", i),
                     from = i * ELEMENTS + (step ^ i % 2);

            ss_vertex_connect(t.g, v, "out", ss_tensor_slice(t.g, t.y, 0, from, from + 64));
            ss_vertex_set_f32(t.g, v, "value", 1);
        }
        ss_program_add(t.g, t.main, ss_program_execute(t.g, set));
    }
    timing_trial_compile(&t);
    values = run_with(&t, 1, 0);
    expect_same(&t, values, 1);
    ss_session_free(values);
    timing_trial_free(&t);
}

/* Depthwise convolutions of fields of these heights, for whose work lists a vertex may be given
 * the largest one's memory; of four lists two have addresses that are alike. */
static void calls_with_other_work_lists_are_others(void **state)
{
    static const struct dw_kind kind = { 3, 1, 0 };
    static const uint32_t heights[] = { 12, 9, 6, 3 };
    enum { MOST = 12, WIDE = MOST + 2 };
    const struct field {
        const char *name;
        uint32_t elements;
    } edge[] = { { "x", WIDE * WIDE * 16 },
                 { "weights", dw_pack_halves(kind) },
                 { "y", MOST * MOST * 16 },
                 { "scratch", dw_scratch_halves(kind, MOST, MOST, WIDE) } };
    static const struct field size[] = {
        { "blocks", 1 }, { "ho", MOST }, { "wo", MOST }, { "hp", WIDE }, { "wp", WIDE }
    };
    struct tensor t[EMU_COUNT_OF(edge)];
    struct timing_trial tr;
    struct session *values;

    (void)state;
    timing_trial_new(&tr);
    for (size_t k = 0; k < EMU_COUNT_OF(edge); k++) {
        t[k] = ss_graph_variable(tr.g, ELEM_F16, 1, &edge[k].elements, edge[k].name);
        ss_graph_map(tr.g, t[k], 0);
    }
    for (size_t i = 0; i < EMU_COUNT_OF(heights); i++) {
        uint32_t set = ss_graph_compute_set(tr.g, "dw"), work[DW_WORK_WORDS];
        uint32_t v = ss_graph_vertex(tr.g, set, "dw3_slide_f16", 0);

        dw_work(kind, heights[i], MOST, WIDE, WIDE, work);
        for (size_t k = 0; k < EMU_COUNT_OF(edge); k++)
            ss_vertex_connect(tr.g, v, edge[k].name, t[k]);
        for (size_t k = 0; k < EMU_COUNT_OF(size); k++)
            ss_vertex_set_u32(tr.g, v, size[k].name, size[k].elements);
        ss_vertex_set_words(tr.g, v, "work", work, DW_WORK_WORDS);
        ss_program_add(tr.g, tr.main, ss_program_execute(tr.g, set));
    }
    timing_trial_compile(&tr);
    values = run_with(&tr, 1, 0);
    expect_same(&tr, values, 1);
    ss_session_free(values);
    timing_trial_free(&tr);
}

static void calls_are_measured_once(void **state)
{
    struct timing_trial t;
    struct replay_counts counts;
    struct session *s;

    (void)state;
    looping_trial_new(&t);
    s = run_with(&t, 1, 1);
    counts = replay_counts(ss_session_run_image(s)->replay);
    assert_true(counts.keys >= TILES); /* of other lengths */
    assert_int_equal(counts.measured, counts.keys);
    assert_true(counts.measured + counts.reused >= TILES * STEPS);
    ss_session_free(s);
    timing_trial_free(&t);
}

/* How many exchanges of the run were not resolved, since their parts were known. */
static uint64_t exchanges_known(struct session *s)
{
    return exchange_counts(machine_exchange(ss_session_run_image(s)->machine)).known;
}

static void exchanges_are_not_executed(void **state)
{
    struct timing_trial t;
    struct session *s;

    (void)state;
    looping_trial_new(&t);
    s = run_with(&t, 1, 1);
    assert_int_equal(exchanges_known(s), STEPS);
    ss_session_free(s);
    s = run_with(&t, 1, 0);
    assert_int_equal(exchanges_known(s), 0);
    ss_session_free(s);
    timing_trial_free(&t);
}

/* A tile of which nothing is known executes its code; then the others have to, too. */
static void exchanges_are_known_whole_or_not(void **state)
{
    struct timing_trial t;
    struct session *values, *timing;
    char text[200];

    (void)state;
    looping_trial_new(&t);
    values = run_with(&t, 1, 0);
    for (uint32_t tile = 0; tile < TILES; tile++) {
        uint32_t parts = t.c->image->tile[tile].parts;

        t.c->image->tile[tile].parts = 0;
        timing = run_with(&t, 2, 1);
        assert_int_equal(exchanges_known(timing), 0);
        if (!record_same(ss_session_record(values), ss_session_record(timing), text, sizeof(text)))
            fail_msg("tile %u: %s", tile, text);
        ss_session_free(timing);
        t.c->image->tile[tile].parts = parts;
    }
    ss_session_free(values);
    timing_trial_free(&t);
}

/* Who sends to whom is known, too: nothing is executed for it, and it is what was exchanged. */
static void traffic_is_known(void **state)
{
    struct session_options so = { .threads = 1, .record = 1, .record_exchanges = 1 };
    struct timing_trial t;
    struct session *values, *timing, *none;
    struct image_traffic *known;
    char text[200];

    (void)state;
    looping_trial_new(&t);
    values = run_as(&t, &so);
    assert_int_equal(record_exchange_count(ss_session_record(values)), 1);
    so.timing = 1;
    timing = run_as(&t, &so);
    assert_int_equal(exchanges_known(timing), STEPS);
    if (!record_same(ss_session_record(values), ss_session_record(timing), text, sizeof(text)))
        fail_msg("%s", text);
    ss_session_free(timing);
    ss_session_free(values);
    assert_int_equal(image_traffic_count(t.c->image), 1);
    known = (struct image_traffic *)image_traffic_at(t.c->image, 0);
    known->key.lo++; /* it does not stand for the lists */
    assert_int_equal(ss_session_new(t.c, &so, &none), EMU_BAD_IMAGE);
    assert_non_null(strstr(ss_error(), ": pairs of tiles, expected them ascending"));
    known->key.lo--;
    known->pairs++;
    assert_int_equal(ss_session_new(t.c, &so, &none), EMU_BAD_IMAGE);
    assert_non_null(strstr(ss_error(), ": pairs, expected"));
    known->pairs--;
    known->exchange++; /* of another exchange: the one that runs is executed */
    timing = run_as(&t, &so);
    assert_int_equal(exchanges_known(timing), 0);
    ss_session_free(timing);
    timing_trial_free(&t);
}

/* Figures of a part are believed: a wrong one makes a difference that the records show. */
static void parts_are_what_records_hold(void **state)
{
    struct timing_trial t;
    struct session *values, *timing;
    struct exchange_part *part;
    char text[200];
    size_t n;

    (void)state;
    looping_trial_new(&t);
    values = run_with(&t, 1, 0);
    part = (struct exchange_part *)image_parts_of(t.c->image, t.c->image->tile[1].parts, &n);
    assert_int_equal(n, 1);
    part->words_in++;
    timing = run_with(&t, 1, 1);
    assert_false(
        record_same(ss_session_record(values), ss_session_record(timing), text, sizeof(text)));
    ss_session_free(timing);
    part->words_in--;
    part->end_event += 100;
    timing = run_with(&t, 1, 1);
    assert_false(
        record_same(ss_session_record(values), ss_session_record(timing), text, sizeof(text)));
    ss_session_free(timing);
    ss_session_free(values);
    timing_trial_free(&t);
}

/* Two exchanges in turns, the second without the last tile. That tile's part of the first is said
 * to be one of the second: then the first is of two exchanges, of the second a part is missing, and
 * both are executed. */
static void exchanges_are_whole_and_one(void **state)
{
    struct timing_trial t;
    struct program body;
    struct session *values, *timing;
    struct exchange_part *first, *other;
    char text[200];
    size_t n;

    (void)state;
    timing_trial_new(&t);
    body = ss_program_sequence(t.g);
    ss_program_add(t.g, body, rotate(&t));
    ss_program_add(t.g, body,
                   ss_program_copy(t.g, ss_tensor_slice(t.g, t.x, 0, ELEMENTS, 3 * ELEMENTS),
                                   ss_tensor_slice(t.g, t.y, 0, 0, 2 * ELEMENTS)));
    ss_program_add(t.g, t.main, ss_program_repeat(t.g, STEPS, body));
    timing_trial_compile(&t);
    timing = run_with(&t, 1, 1);
    assert_int_equal(exchanges_known(timing), 2 * STEPS);
    ss_session_free(timing);
    values = run_with(&t, 1, 0);
    first =
        (struct exchange_part *)image_parts_of(t.c->image, t.c->image->tile[TILES - 1].parts, &n);
    assert_int_equal(n, 1);
    other = (struct exchange_part *)image_parts_of(t.c->image, t.c->image->tile[0].parts, &n);
    assert_int_equal(n, 2);
    first->exchange = other[0].exchange == first->exchange ? other[1].exchange : other[0].exchange;
    timing = run_with(&t, 1, 1);
    assert_int_equal(exchanges_known(timing), 0);
    if (!record_same(ss_session_record(values), ss_session_record(timing), text, sizeof(text)))
        fail_msg("%s", text);
    ss_session_free(timing);
    ss_session_free(values);
    timing_trial_free(&t);
}

/* A run that is stopped and goes on, be it in the middle of an exchange, has the same record: where
 * the limit falls into an exchange that is known, tiles do not go ahead. */
static void stops_change_nothing(void **state)
{
    static const uint64_t every[] = { 1, 50, 1000 };
    const struct session_options so = { .threads = 2, .timing = 1, .record = 1 };
    struct timing_trial t;
    struct session *values;
    char text[200];

    (void)state;
    looping_trial_new(&t);
    values = run_with(&t, 1, 0);
    for (size_t i = 0; i < EMU_COUNT_OF(every); i++) {
        struct session *timing;
        enum machine_stop stop;
        struct pod *pod;

        assert_int_equal(ss_session_new(t.c, &so, &timing), EMU_OK);
        pod = ss_session_run_image(timing)->pod;
        for (uint64_t limit = every[i]; (stop = pod_run_all(pod, limit)) == MACHINE_LIMIT;
             limit += every[i])
            ;
        assert_int_equal(stop, MACHINE_HOST);
        assert_int_equal(pod_finish(pod), EMU_OK);
        if (!record_same(ss_session_record(values), ss_session_record(timing), text, sizeof(text)))
            fail_msg("every %u cycles: %s", (unsigned)every[i], text);
        ss_session_free(timing);
    }
    ss_session_free(values);
    timing_trial_free(&t);
}

/* An allocation that fails ends the run, or costs time alone; it loses no memory. */
static void memory_may_lack(void **state)
{
    const struct session_options so = { .threads = 1, .timing = 1, .record = 1 };
    struct timing_trial t;
    struct session *values;
    char text[200];
    int ran = 0;

    (void)state;
    looping_trial_new(&t);
    values = run_with(&t, 1, 0);
    for (long nth = 0; nth < 40; nth++) {
        struct session *timing;
        enum emu_status s;

        assert_int_equal(ss_session_new(t.c, &so, &timing), EMU_OK);
        alloc_test_fail_at(nth);
        s = ss_session_run(timing);
        alloc_test_fail_at(-1);
        ran += s == EMU_OK;
        if (s == EMU_OK &&
            !record_same(ss_session_record(values), ss_session_record(timing), text, sizeof(text)))
            fail_msg("allocation %ld: %s", nth, text);
        ss_session_free(timing);
    }
    assert_true(ran > 0);
    ss_session_free(values);
    timing_trial_free(&t);
}

static void memory_has_no_values(void **state)
{
    float out[TILES * ELEMENTS];
    struct timing_trial t;
    struct session *s;

    (void)state;
    looping_trial_new(&t);
    s = run_with(&t, 1, 1);
    assert_int_equal(ss_session_read(s, t.x, out), EMU_USAGE);
    assert_false(ss_run_has_values(ss_session_run_image(s)));
    ss_session_free(s);
    timing_trial_free(&t);
}

/* Which engine runs the program of t, and what it says. */
static void expect_values_engine(struct timing_trial *t, const char *because)
{
    char text[RUN_ENGINE_TEXT];
    struct session *s = run_with(t, 1, 1);
    const char *why;

    assert_int_equal(ss_run_engine(ss_session_run_image(s), &why), ENGINE_VALUES);
    ss_run_engine_text(ss_session_run_image(s), text);
    if (!strstr(text, because))
        fail_msg("'%s', expected '%s'", text, because);
    ss_session_free(s);
}

static void branches_on_data_need_values(void **state)
{
    struct timing_trial t;
    struct program nothing;

    (void)state;
    timing_trial_new(&t);
    nothing = ss_program_sequence(t.g);
    ss_program_add(t.g, t.main, ss_program_if(t.g, t.flag, relu_of_each(&t), nothing));
    timing_trial_compile(&t);
    expect_values_engine(&t, "values (cycles depend on a branch in step");
    timing_trial_free(&t);
}

/* A guard has a usual side, which the timing engine takes whatever its memory holds: no words
 * move, so the flag stays 1 there. */
static void guards_take_their_usual_side(void **state)
{
    const uint32_t one = 1, none = 0;
    struct timing_trial t;
    char text[RUN_ENGINE_TEXT];
    struct session *values, *timing;
    struct tensor zero;
    const char *why;

    (void)state;
    timing_trial_new(&t);
    ss_graph_set_initial(t.g, t.flag, &one);
    zero = ss_graph_variable(t.g, ELEM_U32, 1, &one, "zero");
    ss_graph_map(t.g, zero, 1);
    ss_graph_set_initial(t.g, zero, &none);
    ss_program_add(t.g, t.main, ss_program_copy(t.g, zero, t.flag));
    ss_program_add(t.g, t.main, ss_program_if_rare(t.g, t.flag, relu_of_each(&t), rotate(&t)));
    ss_program_add(t.g, t.main,
                   ss_program_if_rare(t.g, t.flag, ss_program_sequence(t.g), relu_of_each(&t)));
    timing_trial_compile(&t);
    values = run_with(&t, 2, 0);
    expect_same(&t, values, 1);
    expect_same(&t, values, 3);
    timing = run_with(&t, 1, 1);
    assert_int_equal(ss_run_engine(ss_session_run_image(timing), &why), ENGINE_TIMING);
    ss_run_engine_text(ss_session_run_image(timing), text);
    assert_non_null(strstr(text, "timing (takes the usual side of a branch in step"));
    ss_session_free(timing);
    ss_session_free(values);
    timing_trial_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_equal_on_any_threads),
        cmocka_unit_test(calls_at_other_places_are_others),
        cmocka_unit_test(calls_with_other_work_lists_are_others),
        cmocka_unit_test(calls_are_measured_once),
        cmocka_unit_test(exchanges_are_not_executed),
        cmocka_unit_test(exchanges_are_known_whole_or_not),
        cmocka_unit_test(traffic_is_known),
        cmocka_unit_test(parts_are_what_records_hold),
        cmocka_unit_test(exchanges_are_whole_and_one),
        cmocka_unit_test(stops_change_nothing),
        cmocka_unit_test(memory_may_lack),
        cmocka_unit_test(memory_has_no_values),
        cmocka_unit_test(branches_on_data_need_values),
        cmocka_unit_test(guards_take_their_usual_side),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("timing engine", tests, NULL, NULL);
}
