/* test_lower_check.c - lowered_check() finds damage, and the lowering survives any lack of memory.
 */
#include "tests/fixtures/lowered_fixture.h"

/* ---- damage ---- */

/* Two copies, one of them by a vertex; `break_it` spoils the lowered program. */
static void check_finds(void (*break_it)(struct lowered *l), const char *says)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 8, "x", 0), y = variable_on(g, ELEM_F16, 8, "y", 1),
                  z = variable_on(g, ELEM_F16, 8, "z", 1);
    struct lowered *l;

    l = lower(g, SEQUENCE(g, fill_set(g, "a", 0, x),
                          ss_program_repeat(g, 3, SEQUENCE(g, ss_program_copy(g, x, y))),
                          copy_set(g, "b", 1, y, z)));
    assert_ops(l, "crx.c");
    break_it(l);
    assert_int_equal(lowered_check(l, 0), EMU_BAD_PROGRAM);
    error_says(says);
    done(g, l);
}

static void break_offset(struct lowered *l)
{
    l->message.at[0].offset = 4;
}

static void break_word(struct lowered *l)
{
    l->message.at[0].bytes = 14;
}

static void break_self(struct lowered *l)
{
    l->message_dest.at[0].object = object_of(l, "x", 0, 0);
}

static void break_life(struct lowered *l)
{
    l->live_range.at[l->live_set.at[l->object.at[object_of(l, "y", 1, 0)].live].first].end = 4;
}

static void break_end(struct lowered *l)
{
    l->step.at[3].kind = STEP_ELSE;
}

static void break_match(struct lowered *l)
{
    l->step.at[1].match = 4;
}

static void break_state(struct lowered *l)
{
    l->call.at[1].tile = 0;
}

static void break_pointer(struct lowered *l)
{
    l->word.at[l->object.at[l->call.at[1].state].word].value = 16;
}

static void break_place(struct lowered *l)
{
    l->word.at[l->object.at[l->call.at[1].state].word].value = 3;
}

static void break_groups(struct lowered *l)
{
    l->step.at[2].groups = 2;
}

static void break_align(struct lowered *l)
{
    l->object.at[0].align = 12;
}

static void break_twice(struct lowered *l)
{
    struct message t = l->message.at[0];

    assert_int_equal(VEC_PUSH(&l->message, t), EMU_OK);
    l->step.at[2].count = 2;
}

static void break_storage(struct lowered *l)
{
    l->storage_run.at[1].begin = 1;
}

static void damage_is_found(void **state)
{
    (void)state;
    check_finds(break_offset, "step 2|copy to y|bytes 4 .. 20");
    check_finds(break_word, "bytes 0 .. 14");
    check_finds(break_self, "tile 0 twice");
    check_finds(break_life, "step 4 (b)|(y) is not alive");
    check_finds(break_end, "step 3: an else without an if");
    check_finds(break_match, "step 1|belongs to step 3, not to 4");
    check_finds(break_state, "copy_16 on tile 0");
    check_finds(break_pointer, "points to byte 16");
    check_finds(break_place, "field src needs multiples of 2, byte 3");
    check_finds(break_groups, "groups 2");
    check_finds(break_align, "multiples of 12");
    check_finds(break_twice, "stored twice");
    check_finds(break_storage, "y");
}

/* ---- control flow ---- */

enum { STEPS_MAX = 12 };

/* Function 0 with steps of these kinds. */
static void function_of(struct lowered *l, const enum step_kind *kind, uint32_t steps)
{
    *l = (struct lowered){ 0 };
    for (uint32_t i = 0; i < steps; i++)
        assert_int_equal(VEC_PUSH(&l->step, (struct step){ .kind = kind[i] }), EMU_OK);
    assert_int_equal(VEC_PUSH(&l->function, (struct lowered_function){ .count = steps }), EMU_OK);
}

static void constructs_are_matched(void **state)
{
    static const enum step_kind kind[] = { STEP_LOOP,   STEP_BREAK, STEP_IF,   STEP_BREAK,
                                           STEP_ELSE,   STEP_END,   STEP_LOOP, STEP_END,
                                           STEP_REPEAT, STEP_CALLS, STEP_END,  STEP_END };
    static const uint32_t match[] = { 11, 11, 4, 11, 5, 4, 7, 6, 10, LOWERED_NONE, 8, 0 },
                          next[] = { 12, 2, 6, 4, 5, 6, 8, 8, 11, 10, 11, 12 };
    struct lowered l;

    (void)state;
    function_of(&l, kind, STEPS_MAX);
    assert_int_equal(lowered_match(&l), EMU_OK);
    for (uint32_t i = 0; i < STEPS_MAX; i++) {
        assert_int_equal(l.step.at[i].match, match[i]);
        if (kind[i] != STEP_ELSE)
            assert_int_equal(lowered_next(&l, i), next[i]);
    }
    VEC_FREE(&l.step);
    VEC_FREE(&l.function);
}

static void unbalanced_constructs_are_found(void **state)
{
    static const struct {
        uint32_t steps;
        enum step_kind kind[3];
        const char *says;
    } row[] = {
        { .steps = 1, .kind = { STEP_REPEAT }, .says = "step 0: no end" },
        { .steps = 2, .kind = { STEP_IF, STEP_ELSE }, .says = "step 1: no end" },
        { .steps = 2, .kind = { STEP_IF, STEP_END }, .says = "step 1: an end of nothing" },
        { .steps = 1, .kind = { STEP_END }, .says = "step 0: an end of nothing" },
        { .steps = 2, .kind = { STEP_LOOP, STEP_ELSE }, .says = "step 1: an else without an if" },
        { .steps = 3,
          .kind = { STEP_REPEAT, STEP_BREAK, STEP_END },
          .says = "step 1: a break outside of loops" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct lowered l;

        function_of(&l, row[i].kind, row[i].steps);
        assert_int_equal(lowered_match(&l), EMU_BAD_PROGRAM);
        error_says(row[i].says);
        VEC_FREE(&l.step);
        VEC_FREE(&l.function);
    }
}

/* Whatever allocation fails, the lowering says so and leaves nothing after. */
static void failing_memory_is_reported(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor x = variable(g, ELEM_F16, 40, "x"), p = variable_on(g, ELEM_U32, 1, "p", 1);
    uint32_t cs = ss_graph_compute_set(g, "cs");
    struct lowered *l = NULL;
    long live;

    (void)state;
    ss_graph_map_linear(g, x, 3, 1, 0, 4);
    copy_vertex(g, cs, "copy_16", 2, slice(g, x, 1, 14), slice(g, x, 17, 30));
    ss_graph_set_program(
        g, SEQUENCE(g, ss_program_copy(g, slice(g, x, 0, 30), slice(g, x, 3, 33)),
                    ss_program_if(
                        g, ss_tensor_index(g, p, 0), ss_program_execute(g, cs),
                        ss_program_call(g, ss_graph_function(g, ss_program_sequence(g), "f")))));
    assert_int_equal(ss_graph_check(g), EMU_OK);
    live = alloc_live();
    for (long n = 0;; n++) {
        enum emu_status s;

        alloc_test_fail_at(n);
        s = lower_graph(g, NULL, &l);
        alloc_test_fail_at(-1);
        if (s == EMU_OK)
            break;
        assert_int_equal(s, EMU_NO_MEMORY);
        assert_int_equal(alloc_live(), live);
    }
    done(g, l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(constructs_are_matched),
        cmocka_unit_test(unbalanced_constructs_are_found),
        cmocka_unit_test(failing_memory_is_reported),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("lower check", tests, NULL, NULL);
}
