/* test_lower.c - the lowering on small machines: where variables lie, where vertices find their
 * data, and which steps copies become.
 */
#include "tests/fixtures/lowered_fixture.h"

/* ---- storage ---- */

static void variables_lie_packed(void **state)
{
    static const uint8_t bytes[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    struct graph *g = graph_on("toy4");
    struct tensor c = ss_graph_constant(g, ELEM_U8, SHAPE(10), bytes, "c");
    struct tensor f = variable(g, ELEM_F32, 6, "f");
    const struct storage *s;
    struct lowered *l;

    (void)state;
    ss_graph_map(g, c, 2);
    ss_graph_map(g, slice(g, c, 3, 5), 1);
    ss_graph_map(g, f, 3);
    ss_graph_keep(g, f);
    l = lower(g, ss_program_sequence(g));
    s = &l->storage.at[0];
    assert_int_equal(s->count, 3);
    assert_int_equal(l->storage_run.at[s->first + 2].offset, 3);
    assert_int_equal(l->storage_run.at[s->first + 2].object, l->storage_run.at[s->first].object);
    assert_int_equal(l->object.at[l->storage_run.at[s->first].object].bytes, 8);
    assert_memory_equal(l->object.at[object_of(l, "c", 2, 0)].data, "\1\2\3\6\7\10\11\12", 8);
    assert_memory_equal(l->object.at[object_of(l, "c", 1, 0)].data, "\4\5\0\0", 4);
    assert_int_equal(l->object.at[object_of(l, "c", 1, 0)].category, CATEGORY_CONSTANT);
    assert_live(l, "c", 1, "always");
    assert_live(l, "f", 3, "always");
    assert_int_equal(l->used_tiles, 3);
    assert_int_equal(l->used_tile[0], 1);
    assert_int_equal(l->tile_index[0], LOWERED_NONE);
    assert_int_equal(l->tile_index[3], 2);
    assert_ops(l, "");
    done(g, l);
}

static void copies_of_a_constant_share_their_contents(void **state)
{
    static const uint32_t word[2] = { 7, 8 };
    struct graph *g = graph_on("toy4");
    struct tensor c = ss_graph_constant_repeated(g, ELEM_U32, SHAPE(4, 2), word, "c");
    struct lowered *l;

    (void)state;
    ss_graph_map(g, c, 0);
    ss_graph_map(g, ss_tensor_index(g, c, 0), 1);
    ss_graph_map(g, ss_tensor_index(g, c, 2), 2);
    ss_graph_map(g, slice(g, ss_tensor_index(g, c, 3), 0, 1), 3);
    l = lower(g, ss_program_sequence(g));
    assert_ptr_equal(l->object.at[object_of(l, "c", 1, 0)].data, g->variable.at[0].initial);
    assert_ptr_equal(l->object.at[object_of(l, "c", 2, 0)].data, g->variable.at[0].initial);
    assert_memory_equal(l->object.at[object_of(l, "c", 3, 0)].data, word, 4);
    assert_memory_equal(l->object.at[object_of(l, "c", 0, 0)].data, ((uint32_t[]){ 7, 8, 8 }), 12);
    done(g, l);
}

static void a_run_of_two_copies_is_put_together(void **state)
{
    static const uint32_t word[2] = { 7, 8 };
    struct graph *g = graph_on("toy4");
    struct tensor c = ss_graph_constant_repeated(g, ELEM_U32, SHAPE(3, 2), word, "c");
    struct lowered *l;

    (void)state;
    ss_graph_map(g, c, 1);
    l = lower(g, ss_program_sequence(g));
    assert_memory_equal(l->object.at[object_of(l, "c", 1, 0)].data,
                        ((uint32_t[]){ 7, 8, 7, 8, 7, 8 }), 24);
    done(g, l);
}

static void unmapped_elements_are_refused(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable(g, ELEM_F32, 6, "net/x");
    struct lowered *l;

    (void)state;
    ss_graph_map(g, slice(g, x, 0, 4), 1);
    ss_graph_set_program(g, ss_program_sequence(g));
    assert_int_equal(lower_graph(g, NULL, &l), EMU_BAD_PROGRAM);
    error_says("net/x|4 .. 6");
    ss_graph_free(g);
}

/* ---- edges ---- */

static void local_edges_are_direct(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_U32, 8, "x", 1), y = variable_on(g, ELEM_U32, 8, "y", 1);
    struct lowered *l = lower(g, copy_set(g, "cs", 1, slice(g, x, 2, 6), slice(g, y, 4, 8)));
    const struct object *s = &l->object.at[l->call.at[0].state];

    (void)state;
    assert_ops(l, "c");
    assert_int_equal(s->words, 3);
    assert_int_equal(l->word.at[s->word].object, object_of(l, "x", 1, 0));
    assert_int_equal(l->word.at[s->word].value, 8);
    assert_int_equal(l->word.at[s->word + 1].object, object_of(l, "y", 1, 0));
    assert_int_equal(l->word.at[s->word + 1].value, 16);
    assert_int_equal(l->word.at[s->word + 2].value, 4);
    assert_int_equal(s->category, CATEGORY_VERTEX_STATE);
    assert_int_equal(s->live, LIVE_ALWAYS);
    assert_int_equal(l->codelet.count, 1);
    assert_string_equal(l->codelet.at[l->call.at[0].codelet]->name, "copy_32");
    done(g, l);
}

/* Three tiles want the same words of a fourth; they are sent once, into the temporaries. */
static void equal_sources_are_multicast(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_U32, 32, "x", 0);
    uint32_t cs = ss_graph_compute_set(g, "cs");
    struct tensor y[3];
    struct lowered *l;

    (void)state;
    for (uint32_t t = 1; t < 4; t++) {
        y[t - 1] = variable_on(g, ELEM_U32, 16, t == 1 ? "a" : t == 2 ? "b" : "c", t);
        copy_vertex(g, cs, "copy_32", t, slice(g, x, 8, 24), y[t - 1]);
        copy_vertex(g, cs, "copy_32", t, slice(g, x, 8, 24),
                    variable_on(g, ELEM_U32, 16,
                                t == 1   ? "d"
                                : t == 2 ? "e"
                                         : "f",
                                t));
    }
    l = lower(g, ss_program_execute(g, cs));
    assert_ops(l, "xc");
    assert_int_equal(step_at(l, 0, STEP_EXCHANGE)->count, 1);
    assert_int_equal(l->message.at[0].dests, 3); /* one temporary serves both vertices */
    assert_int_equal(l->message.at[0].offset, 32);
    assert_int_equal(l->message.at[0].bytes, 64);
    assert_live(l, "cs/src", 1, "0-2");
    assert_int_equal(l->object.at[object_of(l, "cs/src", 2, 0)].category, CATEGORY_MESSAGE_BUFFER);
    done(g, l);
}

/* Ranges that overlap in part are cut, but only where a common piece is worth a message. */
static void overlaps_are_cut(void **state)
{
    for (uint32_t common = 4; common <= 32; common += 28) {
        struct graph *g = graph_on("toy4");
        struct tensor x = variable_on(g, ELEM_U32, 128, "x", 0);
        uint32_t cs = ss_graph_compute_set(g, "cs");
        struct lowered *l;

        copy_vertex(g, cs, "copy_32", 1, slice(g, x, 0, 64), variable_on(g, ELEM_U32, 64, "a", 1));
        copy_vertex(g, cs, "copy_32", 2, slice(g, x, 64 - common, 128 - common),
                    variable_on(g, ELEM_U32, 64, "b", 2));
        l = lower(g, ss_program_execute(g, cs));
        assert_int_equal(step_at(l, 0, STEP_EXCHANGE)->count, common == 32 ? 3 : 2);
        if (common == 32) {
            assert_int_equal(l->message.at[1].dests, 2);
            assert_int_equal(l->message.at[1].bytes, 128);
        }
        done(g, l);
    }
    (void)state;
}

/* A run that begins in the middle of a word: where the codelet does not care, the temporary begins
 * there, too, and no copy is needed; at the end of an object the rest of the word comes along. */
static void askew_runs_stay_askew(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 9, "x", 0), y = variable_on(g, ELEM_F16, 7, "y", 1);
    uint32_t cs = ss_graph_compute_set(g, "cs");
    const struct object *s;
    struct lowered *l;

    (void)state;
    copy_vertex(g, cs, "copy_16", 1, slice(g, x, 1, 8), y);
    l = lower(g, ss_program_execute(g, cs));
    assert_ops(l, "xc");
    assert_int_equal(l->message.at[0].offset, 0);
    assert_int_equal(l->message.at[0].bytes, 16);
    s = &l->object.at[l->call.at[0].state];
    assert_int_equal(l->word.at[s->word].value, 2);
    done(g, l);
}

/* Two tiles bring back the halves of one word, and the halves next to them survive. */
static void neighbours_in_a_word_survive(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 8, "x", 0), a = variable_on(g, ELEM_F16, 3, "a", 1),
                  b = variable_on(g, ELEM_F16, 1, "b", 2);
    uint32_t cs = ss_graph_compute_set(g, "cs");
    uint16_t data[8] = { 10, 11, 12, 13, 14, 15, 16, 17 }, more[3] = { 20, 21, 22 };
    struct lowered_run *r;
    struct lowered *l;

    (void)state;
    copy_vertex(g, cs, "copy_16", 1, a, slice(g, x, 1, 4));
    copy_vertex(g, cs, "copy_16", 2, b, slice(g, x, 4, 5));
    ss_graph_keep(g, x);
    ss_graph_keep(g, a);
    ss_graph_keep(g, b);
    l = lower(g, ss_program_execute(g, cs));
    assert_ops(l, "cxc");
    r = lowered_run_new(l);
    lowered_run_write(r, x, data);
    lowered_run_write(r, a, more);
    lowered_run_write(r, b, more);
    assert_null(lowered_run_once(r));
    lowered_run_read(r, x, data);
    assert_memory_equal(data, ((uint16_t[]){ 10, 20, 21, 22, 20, 15, 16, 17 }), sizeof(data));
    lowered_run_free(r);
    done(g, l);
}

/* matmul wants in and out apart, and out and weights in region 1 at multiples of 16. */
static void constraints_reach_objects(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor all = variable_on(g, ELEM_F16, 1024, "all", 1),
                  w = variable_on(g, ELEM_F16, 256, "w", 1);
    uint32_t cs = ss_graph_compute_set(g, "cs"), v = ss_graph_vertex(g, cs, "matmul_f16", 1), o, t;
    struct lowered *l;

    (void)state;
    ss_graph_keep(g, all);
    ss_vertex_connect(g, v, "in", slice(g, all, 0, 256));
    ss_vertex_connect(g, v, "out", slice(g, all, 512, 768));
    ss_vertex_connect(g, v, "weights", w);
    ss_vertex_set_u32(g, v, "kb", 1);
    ss_vertex_set_u32(g, v, "nb", 1);
    ss_vertex_set_u32(g, v, "f", 16);
    l = lower(g, ss_program_execute(g, cs));
    o = object_of(l, "all", 1, 0);
    t = object_of(l, "cs/in", 1, 0); /* in one object with out: through a temporary */
    assert_ops(l, "cc");
    assert_int_equal(l->object.at[o].region, REGION1);
    assert_int_equal(l->object.at[object_of(l, "w", 1, 0)].region, REGION1);
    assert_int_equal(l->object.at[object_of(l, "w", 1, 0)].align, 16);
    assert_int_equal(l->object.at[t].category, CATEGORY_REARRANGEMENT);
    assert_int_equal(l->apart.count, 1);
    assert_int_equal(l->apart.at[0].a, o);
    assert_int_equal(l->apart.at[0].b, t);
    done(g, l);
}

/* An input that the vertex overwrites elsewhere is read from a copy. */
static void inputs_are_kept_from_outputs(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_U32, 8, "x", 1);
    struct lowered *l;

    (void)state;
    l = lower(g, copy_set(g, "cs", 1, x, x));
    assert_ops(l, "cc");
    assert_live(l, "cs/src", 1, "0-2");
    done(g, l);
}

static void empty_edges_have_addresses(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_U32, 8, "x", 1);
    struct lowered *l = lower(g, copy_set(g, "cs", 2, slice(g, x, 4, 4), slice(g, x, 2, 2)));
    const struct object *s = &l->object.at[l->call.at[0].state];

    (void)state;
    assert_ops(l, "c");
    assert_int_equal(l->word.at[s->word].object, LOWERED_NONE);
    assert_int_equal(l->word.at[s->word].value, ss_graph_arch(g)->mem_base);
    assert_int_equal(l->word.at[s->word + 2].value, 0);
    done(g, l);
}

static void lists_become_tables(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_U32, 8, "x", 1), y = variable_on(g, ELEM_U32, 8, "y", 2),
                  z = variable_on(g, ELEM_U32, 8, "z", 1);
    uint32_t cs = ss_graph_compute_set(g, "cs"), v = ss_graph_vertex(g, cs, "copy_list_32", 1);
    const struct object *s, *table;
    struct lowered *l;

    (void)state;
    ss_vertex_connect(g, v, "src", slice(g, x, 1, 4));
    ss_vertex_connect(g, v, "src", slice(g, y, 3, 5));
    ss_vertex_connect(g, v, "dst", slice(g, z, 0, 3));
    ss_vertex_connect(g, v, "dst", slice(g, z, 5, 7));
    l = lower(g, ss_program_execute(g, cs));
    assert_ops(l, "xc");
    s = &l->object.at[l->call.at[0].state];
    table = &l->object.at[l->word.at[s->word].object];
    assert_int_equal(l->word.at[s->word + 2].value, 2);
    assert_int_equal(table->words, 4);
    assert_int_equal(l->word.at[table->word].object, object_of(l, "x", 1, 0));
    assert_int_equal(l->word.at[table->word].value, 4);
    assert_int_equal(l->word.at[table->word + 1].value, 3);
    assert_int_equal(l->word.at[table->word + 2].object, object_of(l, "cs/src", 1, 0));
    assert_int_equal(l->word.at[table->word + 3].value, 2);
    done(g, l);
}

/* ---- copies ---- */

static void copies_need_no_sync_on_one_tile(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 8, "x", 1), y = variable_on(g, ELEM_F16, 8, "y", 1);
    struct lowered *l = lower(g, ss_program_copy(g, x, y));

    (void)state;
    assert_ops(l, "c");
    assert_string_equal(l->codelet.at[l->call.at[0].codelet]->name, "copy_64");
    done(g, l);
}

/* Onto a part of itself: what is overwritten goes through a buffer. */
static void shifts_are_staged(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable(g, ELEM_U32, 12, "x");
    uint32_t data[12], want[12];
    struct lowered_run *r;
    struct lowered *l;

    (void)state;
    ss_graph_map(g, x, 1);
    ss_graph_map(g, slice(g, x, 6, 12), 2);
    ss_graph_keep(g, x);
    l = lower(g, ss_program_copy(g, slice(g, x, 0, 11), slice(g, x, 1, 12)));
    assert_ops(l, "xcc");
    assert_live(l, "copy to x", 1, "1-3");
    assert_live(l, "copy to x", 2, "1-3");
    for (uint32_t i = 0; i < 12; i++)
        data[i] = i, want[i] = i ? i - 1 : 0;
    r = lowered_run_new(l);
    lowered_run_write(r, x, data);
    assert_null(lowered_run_once(r));
    lowered_run_read(r, x, data);
    assert_memory_equal(data, want, sizeof(data));
    lowered_run_free(r);
    done(g, l);
}

static void independent_copies_share_an_exchange(void **state)
{
    for (int dependent = 0; dependent < 3; dependent++) {
        struct graph *g = graph_on("toy4");
        struct tensor a = variable_on(g, ELEM_F16, 8, "a", 0),
                      b = variable_on(g, ELEM_F16, 8, "b", 1),
                      c = variable_on(g, ELEM_F16, 16, "c", 2), half = slice(g, c, 0, 8);
        struct program p = ss_program_copy(g, a, half), q;
        struct lowered *l;

        q = dependent == 2 ? ss_program_copy(g, b, a)    /* writes what p reads */
            : dependent    ? ss_program_copy(g, half, b) /* reads what p writes */
                           : ss_program_copy(g, b, slice(g, c, 8, 16));
        l = lower(g, SEQUENCE(g, p, SEQUENCE(g, q)));
        assert_ops(l, dependent ? "xx" : "x");
        done(g, l);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_lie_packed),
        cmocka_unit_test(copies_of_a_constant_share_their_contents),
        cmocka_unit_test(a_run_of_two_copies_is_put_together),
        cmocka_unit_test(unmapped_elements_are_refused),
        cmocka_unit_test(local_edges_are_direct),
        cmocka_unit_test(equal_sources_are_multicast),
        cmocka_unit_test(overlaps_are_cut),
        cmocka_unit_test(askew_runs_stay_askew),
        cmocka_unit_test(neighbours_in_a_word_survive),
        cmocka_unit_test(constraints_reach_objects),
        cmocka_unit_test(inputs_are_kept_from_outputs),
        cmocka_unit_test(empty_edges_have_addresses),
        cmocka_unit_test(lists_become_tables),
        cmocka_unit_test(copies_need_no_sync_on_one_tile),
        cmocka_unit_test(shifts_are_staged),
        cmocka_unit_test(independent_copies_share_an_exchange),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
