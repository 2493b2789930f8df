/* test_lower_flow.c - live ranges to the step, control flow, sync groups, streams.
 */
#include "tests/fixtures/lowered_fixture.h"

/* ---- liveness ---- */

/* x is needed from its fill to its last reader; each round of the loop replaces z, and y is carried
 * round it. */
static void loops_carry_values(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 1), y = variable_on(g, ELEM_F16, 4, "y", 1),
                  z = variable_on(g, ELEM_F16, 4, "z", 1), w = variable_on(g, ELEM_F16, 4, "w", 1);
    struct program body = SEQUENCE(g, copy_set(g, "c", 1, y, z), copy_set(g, "d", 1, z, y));
    struct lowered *l;

    (void)state;
    l = lower(g, SEQUENCE(g, fill_set(g, "a", 1, x), copy_set(g, "b", 1, x, y),
                          ss_program_repeat(g, 10, body), copy_set(g, "e", 1, y, w)));
    assert_ops(l, "ccrcc.c"); /* a b repeat c d end e */
    assert_live(l, "x", 1, "0-2");
    assert_live(l, "y", 1, "1-7");
    assert_live(l, "z", 1, "3-5");
    assert_live(l, "w", 1, "6-7");
    done(g, l);
}

/* Written in part only, a value lives round the loop; wholly by two vertices, it does not. */
static void whole_writes_end_a_life(void **state)
{
    for (uint32_t written = 6; written <= 8; written += 2) {
        struct graph *g = graph_on("toy4");
        struct tensor x = variable_on(g, ELEM_F16, 8, "x", 1),
                      y = variable_on(g, ELEM_F16, 8, "y", 1);
        uint32_t cs = ss_graph_compute_set(g, "cs");
        struct program body;
        struct lowered *l;

        fill_vertex(g, cs, 1, slice(g, x, 0, 3), 1);
        fill_vertex(g, cs, 1, slice(g, x, 3, written), 2);
        body = SEQUENCE(g, ss_program_execute(g, cs), copy_set(g, "d", 1, x, y));
        l = lower(g, SEQUENCE(g, fill_set(g, "a", 1, x), ss_program_repeat(g, 3, body)));
        assert_ops(l, "crcc.");
        assert_live(l, "x", 1, written == 8 ? "0-1,2-4" : "0-5");
        done(g, l);
    }
    (void)state;
}

/* A fetch by exchange and a local copy together replace a variable: they are one step. */
static void steps_replace_together(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor a = variable_on(g, ELEM_F16, 4, "a", 1), b = variable_on(g, ELEM_F16, 4, "b", 2),
                  x = variable_on(g, ELEM_F16, 8, "x", 1), y = variable_on(g, ELEM_F16, 8, "y", 1);
    struct tensor both = ss_tensor_concat(g, (struct tensor[]){ a, b }, 2, 0);
    struct program body = SEQUENCE(g, ss_program_copy(g, both, x), copy_set(g, "c", 1, x, y));
    struct lowered *l;

    (void)state;
    ss_graph_keep(g, a);
    ss_graph_keep(g, b);
    l = lower(g, SEQUENCE(g, fill_set(g, "f", 1, x), ss_program_repeat(g, 3, body)));
    assert_ops(l, "crxcc.");
    assert_live(l, "x", 1, "0-1,2-5");
    assert_live(l, "a", 1, "always");
    done(g, l);
}

/* On one path x is written, on the other y is read. */
static void branches_join(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor p = variable_on(g, ELEM_U32, 1, "p", 1), x = variable_on(g, ELEM_F16, 4, "x", 1),
                  y = variable_on(g, ELEM_F16, 4, "y", 1), z = variable_on(g, ELEM_F16, 4, "z", 1);
    struct lowered *l;

    (void)state;
    ss_graph_keep(g, p);
    l = lower(g, SEQUENCE(g, fill_set(g, "a", 1, x), fill_set(g, "b", 1, y),
                          ss_program_if(g, ss_tensor_index(g, p, 0), fill_set(g, "c", 1, x),
                                        copy_set(g, "d", 1, y, x)),
                          copy_set(g, "e", 1, x, z)));
    assert_ops(l, "ccicec.c"); /* a b if c else d end e: the predicate lies on the only tile */
    assert_live(l, "x", 1, "0-1,3-8");
    assert_live(l, "y", 1, "1-3,5-6");
    assert_live(l, "z", 1, "7-8");
    assert_int_equal(l->predicate.at[step_at(l, 2, STEP_IF)->predicate], object_of(l, "p", 1, 0));
    done(g, l);
}

/* What one caller needs after a function lives in it, but not at the other caller. */
static void functions_keep_callers_apart(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 1), y = variable_on(g, ELEM_F16, 4, "y", 1),
                  u = variable_on(g, ELEM_F16, 4, "u", 1), v = variable_on(g, ELEM_F16, 4, "v", 1);
    uint32_t f = ss_graph_function(g, copy_set(g, "body", 1, x, y), "f");
    struct lowered *l;

    (void)state;
    l = lower(g,
              SEQUENCE(g, fill_set(g, "a", 1, x), ss_program_call(g, f), copy_set(g, "b", 1, y, v),
                       fill_set(g, "c", 1, u), ss_program_call(g, f), copy_set(g, "d", 1, u, v)));
    assert_ops(l, "cfccfc|c");
    assert_live(l, "x", 1, "0-5,6-7"); /* read by both calls */
    assert_live(l, "y", 1, "1-3,6-7"); /* nobody wants it after the second */
    assert_live(l, "u", 1, "3-7");     /* through the second call, and so in the function */
    assert_live(l, "v", 1, "2-3,5-6");
    done(g, l);
}

/* A value that is read but never written lives nowhere else. */
static void unwritten_values_do_not_live(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 1), y = variable_on(g, ELEM_F16, 4, "y", 1);
    struct lowered *l;

    (void)state;
    variable_on(g, ELEM_F16, 4, "unused", 1);
    l = lower(g, SEQUENCE(g, fill_set(g, "a", 1, y), copy_set(g, "b", 1, x, y),
                          copy_set(g, "c", 1, x, y)));
    assert_live(l, "x", 1, "1-3");
    assert_live(l, "y", 1, "0-3");
    assert_live(l, "unused", 1, "");
    done(g, l);
}

static void live_sets_meet_or_not(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 1), y = variable_on(g, ELEM_F16, 4, "y", 1),
                  k = variable_on(g, ELEM_F16, 4, "k", 1);
    uint32_t a, b, c;
    struct lowered *l;

    (void)state;
    ss_graph_keep(g, k);
    l = lower(g, SEQUENCE(g, fill_set(g, "a", 1, x), copy_set(g, "b", 1, x, k),
                          fill_set(g, "c", 1, y), copy_set(g, "d", 1, y, k)));
    a = l->object.at[object_of(l, "x", 1, 0)].live;
    b = l->object.at[object_of(l, "y", 1, 0)].live;
    c = l->object.at[object_of(l, "k", 1, 0)].live;
    assert_false(live_sets_meet(l, a, b));
    assert_true(live_sets_meet(l, a, a));
    assert_true(live_sets_meet(l, a, c));
    assert_int_equal(c, LIVE_ALWAYS);
    done(g, l);
}

/* ---- control flow, groups, streams ---- */

static void predicates_reach_all_tiles(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor p = variable_on(g, ELEM_I32, 2, "p", 2), x = variable_on(g, ELEM_F16, 4, "x", 0),
                  y = variable_on(g, ELEM_F16, 4, "y", 1);
    struct lowered *l;
    uint32_t at;

    (void)state;
    ss_graph_keep(g, p);
    l = lower(g, ss_program_while(g, fill_set(g, "a", 0, x), ss_tensor_index(g, p, 0),
                                  fill_set(g, "b", 1, y)));
    assert_ops(l, "lcxbc.");
    at = step_at(l, 3, STEP_BREAK)->predicate;
    assert_int_equal(l->predicate.at[at + 2], object_of(l, "p", 2, 0));
    assert_int_equal(l->message.count, 1);
    assert_int_equal(l->message.at[0].dests, 2);
    assert_live(l, "predicate", 0, "2-4");
    done(g, l);

    g = graph_on("toy4"); /* the second element: its own tile needs a copy, too */
    p = variable_on(g, ELEM_I32, 2, "p", 2);
    x = variable_on(g, ELEM_F16, 4, "x", 0);
    ss_graph_keep(g, p);
    l = lower(g, ss_program_if(g, ss_tensor_index(g, p, 1), fill_set(g, "a", 0, x),
                               ss_program_sequence(g)));
    assert_ops(l, "xcice.");
    assert_live(l, "predicate", 2, "1-3");
    done(g, l);
}

static void parts_carry_their_group(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 0), y = variable_on(g, ELEM_F16, 4, "y", 3);
    uint32_t f;
    struct lowered *l;

    (void)state;
    ss_graph_set_group(g, 2, 2, 5);
    f = ss_graph_function(g, ss_program_sequence(g), "nothing");
    l = lower(g,
              SEQUENCE(g,
                       ss_program_together(g, (unsigned[]){ 0, 5 },
                                           (struct program[]){ SEQUENCE(g, fill_set(g, "a", 0, x),
                                                                        ss_program_call(g, f)),
                                                               fill_set(g, "b", 3, y) },
                                           2),
                       ss_program_copy(g, x, y)));
    assert_ops(l, "cfcx|");
    assert_true(l->groups == (1u | 1u << 5));
    assert_true(l->step.at[0].groups == 1u && l->step.at[1].groups == 1u);
    assert_true(l->step.at[2].groups == 1u << 5 && l->step.at[3].groups == l->groups);
    done(g, l);
}

/* A loop of one group: only its tiles get the predicate, and only they take part. */
static void loops_of_a_group_stay_in_it(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor p = variable_on(g, ELEM_U32, 1, "p", 3), x = variable_on(g, ELEM_F16, 4, "x", 2),
                  y = variable_on(g, ELEM_F16, 4, "y", 0);
    struct program loop;
    struct lowered *l;
    uint32_t at;

    (void)state;
    ss_graph_set_group(g, 2, 2, 1);
    ss_graph_keep(g, p);
    loop = ss_program_while(g, ss_program_sequence(g), ss_tensor_index(g, p, 0),
                            fill_set(g, "b", 2, x));
    l = lower(g, ss_program_together(g, (unsigned[]){ 0, 1 },
                                     (struct program[]){ fill_set(g, "a", 0, y), loop }, 2));
    assert_ops(l, "clbc."); /* no exchange: decided by consensus */
    for (uint32_t i = 1; i < 5; i++)
        assert_true(l->step.at[i].groups == 2);
    at = step_at(l, 2, STEP_BREAK)->predicate;
    assert_int_equal(l->step.at[2].consensus, 1);
    assert_int_equal(l->predicate.at[at], LOWERED_NONE);
    assert_int_equal(l->predicate.at[at + 1], LOWERED_NONE);
    assert_int_equal(l->predicate.at[at + 2], object_of(l, "p", 3, 0));
    assert_int_equal(l->message.count, 0);
    done(g, l);
}

/* The same function for all and for one group becomes two. */
static void functions_are_made_per_groups(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 0), y = variable_on(g, ELEM_F16, 4, "y", 3);
    uint32_t f;
    struct lowered *l;

    (void)state;
    ss_graph_set_group(g, 3, 1, 1);
    f = ss_graph_function(g, fill_set(g, "a", 0, x), "f");
    l = lower(
        g, SEQUENCE(g, ss_program_call(g, f), ss_program_call(g, f),
                    ss_program_together(
                        g, (unsigned[]){ 0, 1 },
                        (struct program[]){ ss_program_call(g, f), fill_set(g, "b", 3, y) }, 2)));
    assert_ops(l, "fffc|c|c");
    assert_int_equal(l->step.at[1].n, 1);
    assert_int_equal(l->step.at[2].n, 2);
    assert_int_equal(l->step.at[l->function.at[1].first].first,
                     l->step.at[l->function.at[2].first].first); /* the calls are stored once */
    done(g, l);
}

static void empty_bodies_vanish(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 0);
    struct lowered *l;

    (void)state;
    l = lower(g, SEQUENCE(g, ss_program_repeat(g, 0, fill_set(g, "a", 0, x)),
                          ss_program_repeat(g, 5, ss_program_sequence(g)),
                          ss_program_copy(g, slice(g, x, 1, 1), slice(g, x, 2, 2)),
                          ss_program_copy(g, x, x)));
    assert_ops(l, "");
    done(g, l);
}

/* Eleven bytes on two tiles; in: through buffers where words are shared, out: with padding. */
static void streams_move_whole_words(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable(g, ELEM_U8, 11, "x"), part;
    uint32_t in, out;
    uint8_t data[11] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    const struct stream_layout *s;
    const struct host_request *h;
    struct lowered_run *r;
    struct lowered *l;

    (void)state;
    ss_graph_map(g, x, 2);
    ss_graph_map(g, slice(g, x, 3, 7), 1);
    ss_graph_keep(g, x);
    part = slice(g, x, 1, 11);
    in = ss_graph_stream(g, STREAM_IN, ELEM_U8, 11, 2, "in");
    out = ss_graph_stream(g, STREAM_OUT, ELEM_U8, 10, 2, "out");
    l = lower(g, SEQUENCE(g, ss_program_stream(g, in, x), ss_program_stream(g, out, part)));
    assert_ops(l, "hh");
    h = &l->host_request.at[step_at(l, 1, STEP_HOST)->first];
    s = &l->stream_layout.at[l->step.at[1].n];
    assert_int_equal(h[0].tile, 1);
    assert_int_equal(h[0].bytes, 4);
    assert_int_equal(h[1].tile, 2);
    assert_int_equal(h[1].offset, 0); /* with the byte before */
    assert_int_equal(h[1].bytes, 8);
    assert_int_equal(s->runs, 5); /* 2.. of tile 1; padding, 0 and 1, 6.., padding of tile 2 */
    assert_true(l->stream_run.at[s->first].element == 2);
    assert_true(l->stream_run.at[s->first + 1].element == UINT64_MAX);
    r = lowered_run_new(l);
    r->stream[in].in = data;
    r->stream[in].in_left = 1;
    assert_null(lowered_run_once(r));
    assert_int_equal(r->stream[out].outs, 1);
    assert_memory_equal(r->stream[out].out, data + 1, 10);
    lowered_run_free(r);
    done(g, l);
}

static void askew_streams_use_buffers(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 8, "x", 2);
    uint32_t in = ss_graph_stream(g, STREAM_IN, ELEM_F16, 3, 2, "in");
    struct lowered *l;

    (void)state;
    l = lower(g, ss_program_stream(g, in, slice(g, x, 1, 4)));
    assert_ops(l, "hc");
    assert_live(l, "in", 2, "0-2");
    assert_int_equal(l->host_request.at[0].bytes, 8);
    done(g, l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_carry_values),
        cmocka_unit_test(whole_writes_end_a_life),
        cmocka_unit_test(steps_replace_together),
        cmocka_unit_test(branches_join),
        cmocka_unit_test(functions_keep_callers_apart),
        cmocka_unit_test(unwritten_values_do_not_live),
        cmocka_unit_test(live_sets_meet_or_not),
        cmocka_unit_test(predicates_reach_all_tiles),
        cmocka_unit_test(parts_carry_their_group),
        cmocka_unit_test(loops_of_a_group_stay_in_it),
        cmocka_unit_test(functions_are_made_per_groups),
        cmocka_unit_test(empty_bodies_vanish),
        cmocka_unit_test(streams_move_whole_words),
        cmocka_unit_test(askew_streams_use_buffers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("lower flow", tests, NULL, NULL);
}
