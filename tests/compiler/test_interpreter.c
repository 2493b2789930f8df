/* test_interpreter.c - the plain interpreter of graphs: memory, copies, vertices, control flow,
 * streams, errors, and what happens when memory runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "emu/emu.h"
#include "programs/programs.h"

enum { STEPS = 1000 };

struct interpreter_trial {
    struct graph *g;
    struct program main;
    struct interpreter *p;
    long live;
};

static void interpreter_trial_new(struct interpreter_trial *x)
{
    x->live = alloc_live();
    x->p = NULL;
    assert_int_equal(ss_graph_new(ss_arch_preset("toy4"), &ss_kernel_library, &x->g), EMU_OK);
    x->main = ss_program_sequence(x->g);
    ss_graph_set_program(x->g, x->main);
}

static void interpreter_trial_start(struct interpreter_trial *x)
{
    if (ss_graph_status(x->g) != EMU_OK)
        fail_msg("%s", ss_error());
    assert_int_equal(ss_interpreter_new(x->g, &x->p), EMU_OK);
}

static void interpreter_trial_run(struct interpreter_trial *x)
{
    if (ss_interpreter_run(x->p, STEPS) != EMU_OK)
        fail_msg("%s", ss_error());
}

static void interpreter_trial_free(struct interpreter_trial *x)
{
    ss_interpreter_free(x->p);
    ss_graph_free(x->g);
    assert_int_equal(alloc_live(), x->live);
}

static struct tensor kept(struct interpreter_trial *x, enum elem e, uint32_t n, const char *name)
{
    struct tensor t = ss_graph_variable(x->g, e, 1, &n, name);

    ss_graph_map(x->g, t, 0);
    ss_graph_keep(x->g, t);
    return t;
}

static struct tensor slice(struct interpreter_trial *x, struct tensor t, uint32_t begin,
                           uint32_t end)
{
    return ss_tensor_slice(x->g, t, 0, begin, end);
}

static void add_copy(struct interpreter_trial *x, struct program to, struct tensor from,
                     struct tensor into)
{
    ss_program_add(x->g, to, ss_program_copy(x->g, from, into));
}

/* Moves all elements one place up; the first stays. */
static struct program shift(struct interpreter_trial *x, struct tensor t, uint32_t n)
{
    return ss_program_copy(x->g, slice(x, t, 0, n - 1), slice(x, t, 1, n));
}

static void expect(struct interpreter_trial *x, struct tensor t, const void *want, size_t bytes)
{
    uint8_t got[256];

    assert_true(bytes <= sizeof(got));
    assert_int_equal(ss_interpreter_read(x->p, t, got), EMU_OK);
    assert_memory_equal(got, want, bytes);
}

/* ---- memory ---- */

static void memory_starts_as_zero_or_initial(void **state)
{
    const uint8_t initial[3] = { 7, 8, 9 }, zero[3] = { 0 };
    const uint32_t n = 3;
    struct interpreter_trial x;
    struct tensor a, b, c, d;

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_U8, n, "a");
    b = ss_graph_variable(x.g, ELEM_U8, 1, &n, "b");
    ss_graph_set_initial(x.g, b, initial);
    c = ss_graph_constant(x.g, ELEM_U8, 1, &n, initial, "c");
    d = ss_graph_constant_repeated(x.g, ELEM_U8, 2, (const uint32_t[]){ 2, n }, initial, "d");
    interpreter_trial_start(&x);
    expect(&x, a, zero, 3);
    expect(&x, b, initial, 3);
    expect(&x, c, initial, 3);
    expect(&x, d, "\7\10\11\7\10\11", 6);
    assert_int_equal(ss_interpreter_write(x.p, slice(&x, a, 1, 3), initial), EMU_OK);
    expect(&x, a, "\0\7\10", 3);
    interpreter_trial_free(&x);
}

static void host_reaches_only_what_is_there(void **state)
{
    const uint32_t n = 2, value[2] = { 1, 2 };
    uint32_t got[4];
    struct interpreter_trial x;
    struct tensor part[2], c, both;

    (void)state;
    interpreter_trial_new(&x);
    part[0] = kept(&x, ELEM_U32, n, "kept");
    part[1] = ss_graph_variable(x.g, ELEM_U32, 1, &n, "inner");
    c = ss_graph_constant(x.g, ELEM_U32, 1, &n, value, "fixed");
    both = ss_tensor_concat(x.g, part, 2, 0);
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_read(x.p, part[1], got), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "inner"));
    assert_int_equal(ss_interpreter_read(x.p, both, got), EMU_USAGE);
    assert_int_equal(ss_interpreter_write(x.p, both, value), EMU_USAGE);
    assert_int_equal(ss_interpreter_write(x.p, c, value), EMU_USAGE);
    assert_non_null(strstr(ss_error(), "fixed"));
    assert_int_equal(ss_interpreter_read(x.p, c, got), EMU_OK);
    interpreter_trial_free(&x);
}

static void memory_lasts_from_run_to_run(void **state)
{
    const uint16_t data[4] = { 1, 2, 3, 4 }, once[4] = { 1, 1, 2, 3 }, twice[4] = { 1, 1, 1, 2 };
    struct interpreter_trial x;
    struct tensor a;

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_F16, 4, "a");
    ss_program_add(x.g, x.main, shift(&x, a, 4));
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_write(x.p, a, data), EMU_OK);
    interpreter_trial_run(&x);
    expect(&x, a, once, sizeof(once));
    interpreter_trial_run(&x);
    expect(&x, a, twice, sizeof(twice));
    interpreter_trial_free(&x);
}

/* ---- copies ---- */

static void copies_read_before_they_write(void **state)
{
    const uint8_t data[6] = { 1, 2, 3, 4, 5, 6 };
    struct interpreter_trial x;
    struct tensor a, b, swapped[2];

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_U8, 6, "a");
    b = kept(&x, ELEM_U8, 6, "b");
    add_copy(&x, x.main, slice(&x, a, 0, 5), slice(&x, a, 1, 6)); /* up */
    add_copy(&x, x.main, slice(&x, b, 2, 6), slice(&x, b, 0, 4)); /* down */
    swapped[0] = slice(&x, b, 3, 6);
    swapped[1] = slice(&x, b, 0, 3);
    add_copy(&x, x.main, ss_tensor_concat(x.g, swapped, 2, 0), b);
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_write(x.p, a, data), EMU_OK);
    assert_int_equal(ss_interpreter_write(x.p, b, data), EMU_OK);
    interpreter_trial_run(&x);
    expect(&x, a, "\1\1\2\3\4\5", 6);
    expect(&x, b, "\6\5\6\3\4\5", 6); /* 3 4 5 6 5 6, halves swapped */
    interpreter_trial_free(&x);
}

static void copies_follow_views(void **state)
{
    const uint32_t data[6] = { 1, 2, 3, 4, 5, 6 }, turned[6] = { 1, 4, 2, 5, 3, 6 };
    const uint32_t spread[6] = { 5, 5, 5, 6, 6, 6 }, two_three[2] = { 2, 3 }, pair[2] = { 2, 1 };
    const unsigned order[2] = { 1, 0 };
    struct interpreter_trial x;
    struct tensor a, b, c, column;

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_I32, 6, "a");
    b = kept(&x, ELEM_I32, 6, "b");
    c = kept(&x, ELEM_I32, 6, "c");
    add_copy(&x, x.main,
             ss_tensor_flatten(
                 x.g, ss_tensor_transpose(x.g, ss_tensor_reshape(x.g, a, 2, two_three), order)),
             b);
    column = ss_tensor_reshape(x.g, slice(&x, a, 4, 6), 2, pair);
    add_copy(&x, x.main, ss_tensor_broadcast(x.g, column, 1, 3),
             ss_tensor_reshape(x.g, c, 2, two_three));
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_write(x.p, a, data), EMU_OK);
    interpreter_trial_run(&x);
    expect(&x, b, turned, sizeof(turned));
    expect(&x, c, spread, sizeof(spread));
    interpreter_trial_free(&x);
}

/* ---- vertices ---- */

/* Two pieces of a variable, backwards. */
static struct tensor pieces(struct interpreter_trial *x, struct tensor t)
{
    const struct tensor part[2] = { slice(x, t, 5, 8), slice(x, t, 1, 3) };

    return ss_tensor_concat(x->g, part, 2, 0);
}

static void vertices_see_contiguous_copies(void **state)
{
    const uint8_t data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const uint16_t halves[8] = { 0, 0x3e00, 0x3e00, 0, 0, 0x3e00, 0x3e00, 0x3e00 };
    struct interpreter_trial x;
    struct tensor a, b, h;
    uint32_t set, v;

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_U8, 8, "a");
    b = kept(&x, ELEM_U8, 8, "b");
    h = kept(&x, ELEM_F16, 8, "h");
    set = ss_graph_compute_set(x.g, "set");
    v = ss_graph_vertex(x.g, set, "copy_8", 3);
    ss_vertex_connect(x.g, v, "src", pieces(&x, a));
    ss_vertex_connect(x.g, v, "dst", slice(&x, b, 2, 7));
    v = ss_graph_vertex(x.g, set, "fill_f16", 1);
    ss_vertex_connect(x.g, v, "out", pieces(&x, h));
    ss_vertex_set_f16(x.g, v, "value", 1.5f);
    ss_program_add(x.g, x.main, ss_program_execute(x.g, set));
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_write(x.p, a, data), EMU_OK);
    interpreter_trial_run(&x);
    expect(&x, b, "\0\0\6\7\10\2\3\0", 8);
    expect(&x, h, halves, sizeof(halves));
    interpreter_trial_free(&x);
}

/* y = -2 x + y for three of y's elements; x is the other part of the same variable. */
static void vertices_change_what_they_read(void **state)
{
    const float data[6] = { 1, 2, 3, 10, 20, 30 }, want[6] = { 1, 2, 3, 8, 16, 24 };
    struct interpreter_trial x;
    struct tensor a;
    uint32_t set, v;

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_F32, 6, "a");
    set = ss_graph_compute_set(x.g, "set");
    v = ss_graph_vertex(x.g, set, "axpy_f32", 2);
    ss_vertex_connect(x.g, v, "x", slice(&x, a, 0, 3));
    ss_vertex_connect(x.g, v, "y", slice(&x, a, 3, 6));
    ss_vertex_set_f32(x.g, v, "a", -2);
    ss_program_add(x.g, x.main, ss_program_execute(x.g, set));
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_write(x.p, a, data), EMU_OK);
    interpreter_trial_run(&x);
    expect(&x, a, want, sizeof(want));
    interpreter_trial_free(&x);
}

/* Runs of a list, each a piece of its own. */
static void lists_are_runs(void **state)
{
    const uint32_t data[6] = { 1, 2, 3, 4, 5, 6 }, want[6] = { 0, 4, 5, 0, 1, 6 };
    struct interpreter_trial x;
    struct tensor a, b;
    uint32_t set, v;

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_U32, 6, "a");
    b = kept(&x, ELEM_U32, 6, "b");
    set = ss_graph_compute_set(x.g, "set");
    v = ss_graph_vertex(x.g, set, "copy_list_32", 0);
    ss_vertex_connect(x.g, v, "src", slice(&x, a, 3, 5));
    ss_vertex_connect(x.g, v, "dst", slice(&x, b, 1, 3));
    ss_vertex_connect(x.g, v, "src", slice(&x, a, 0, 1));
    ss_vertex_connect(x.g, v, "dst", slice(&x, b, 4, 5));
    ss_vertex_connect(x.g, v, "src", slice(&x, a, 5, 6));
    ss_vertex_connect(x.g, v, "dst", slice(&x, b, 5, 6));
    ss_program_add(x.g, x.main, ss_program_execute(x.g, set));
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_write(x.p, a, data), EMU_OK);
    interpreter_trial_run(&x);
    expect(&x, b, want, sizeof(want));
    interpreter_trial_free(&x);
}

/* ---- control flow ---- */

static void repeat_runs_its_body_so_often(void **state)
{
    const uint8_t data[9] = { 9, 0 };
    struct interpreter_trial x;
    struct tensor a, never;
    struct program inner;

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_U8, 9, "a");
    never = kept(&x, ELEM_U8, 9, "never");
    inner = ss_program_repeat(x.g, 3, shift(&x, a, 9));
    ss_program_add(x.g, x.main, ss_program_repeat(x.g, 2, inner));
    ss_program_add(x.g, x.main, ss_program_repeat(x.g, 0, shift(&x, never, 9)));
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_write(x.p, a, data), EMU_OK);
    assert_int_equal(ss_interpreter_write(x.p, never, data), EMU_OK);
    interpreter_trial_run(&x);
    expect(&x, a, "\11\11\11\11\11\11\11\0\0", 9);
    expect(&x, never, "\11\0\0\0\0\0\0\0\0", 9);
    interpreter_trial_free(&x);
}

static void while_asks_before_every_round(void **state)
{
    const uint32_t tape[5] = { 1, 4, 1u << 31, 0, 7 }, wound[5] = { 0, 7, 7, 7, 7 };
    const uint8_t data[5] = { 9, 0 };
    struct interpreter_trial x;
    struct tensor a, t;
    struct program condition;

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_U8, 5, "a");
    t = kept(&x, ELEM_U32, 5, "tape");
    condition = ss_program_copy(x.g, slice(&x, t, 1, 5), slice(&x, t, 0, 4));
    ss_program_add(x.g, x.main,
                   ss_program_while(x.g, condition, ss_tensor_index(x.g, t, 0), shift(&x, a, 5)));
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_write(x.p, t, tape), EMU_OK);
    assert_int_equal(ss_interpreter_write(x.p, a, data), EMU_OK);
    interpreter_trial_run(&x);
    expect(&x, t, wound, sizeof(wound));
    expect(&x, a, "\11\11\11\0\0", 5); /* two rounds: before the third the tape says 0 */
    interpreter_trial_free(&x);
}

static void if_takes_one_part(void **state)
{
    const int32_t flags[2] = { 0, -1 };
    const uint8_t data[2] = { 1, 2 };
    struct interpreter_trial x;
    struct tensor a, f, at[2];

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_U8, 4, "a");
    f = kept(&x, ELEM_I32, 2, "flags");
    for (uint32_t k = 0; k < 2; k++) {
        struct program part[2];

        at[0] = slice(&x, a, 0, 1);
        at[1] = slice(&x, a, 1, 2);
        for (unsigned i = 0; i < 2; i++)
            part[i] = ss_program_copy(x.g, at[i], slice(&x, a, 2 + k, 3 + k));
        ss_program_add(x.g, x.main,
                       ss_program_if(x.g, ss_tensor_index(x.g, f, k), part[0], part[1]));
    }
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_write(x.p, f, flags), EMU_OK);
    assert_int_equal(ss_interpreter_write(x.p, slice(&x, a, 0, 2), data), EMU_OK);
    interpreter_trial_run(&x);
    expect(&x, a, "\1\2\2\1", 4);
    interpreter_trial_free(&x);
}

static void functions_run_at_every_call(void **state)
{
    const uint8_t data[6] = { 9, 0 };
    struct interpreter_trial x;
    struct tensor a;
    uint32_t function;

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_U8, 6, "a");
    function = ss_graph_function(x.g, shift(&x, a, 6), "shift");
    ss_program_add(x.g, x.main, ss_program_call(x.g, function));
    ss_program_add(x.g, x.main, ss_program_repeat(x.g, 2, ss_program_call(x.g, function)));
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_write(x.p, a, data), EMU_OK);
    interpreter_trial_run(&x);
    expect(&x, a, "\11\11\11\11\0\0", 6);
    interpreter_trial_free(&x);
}

static void parts_of_groups_all_run(void **state)
{
    const unsigned groups[2] = { 0, 1 };
    const uint8_t data[3] = { 9, 0 };
    struct program part[2];
    struct tensor a[2];
    struct interpreter_trial x;

    (void)state;
    interpreter_trial_new(&x);
    ss_graph_set_group(x.g, 2, 2, 1);
    for (uint32_t k = 0; k < 2; k++) {
        a[k] = kept(&x, ELEM_U8, 3, k ? "b" : "a");
        ss_graph_map(x.g, a[k], 2 * k);
        part[k] = ss_program_repeat(x.g, 1 + k, shift(&x, a[k], 3));
    }
    ss_program_add(x.g, x.main, ss_program_together(x.g, groups, part, 2));
    interpreter_trial_start(&x);
    assert_int_equal(ss_interpreter_write(x.p, a[0], data), EMU_OK);
    assert_int_equal(ss_interpreter_write(x.p, a[1], data), EMU_OK);
    interpreter_trial_run(&x);
    expect(&x, a[0], "\11\11\0", 3);
    expect(&x, a[1], "\11\11\11", 3);
    interpreter_trial_free(&x);
}

static void endless_loops_end_with_a_fault(void **state)
{
    const uint32_t one = 1;
    struct interpreter_trial x;
    struct tensor t;

    (void)state;
    interpreter_trial_new(&x);
    t = kept(&x, ELEM_U32, 1, "go");
    ss_program_add(x.g, x.main,
                   ss_program_while(x.g, ss_program_sequence(x.g), ss_tensor_index(x.g, t, 0),
                                    ss_program_sequence(x.g)));
    interpreter_trial_start(&x);
    interpreter_trial_run(&x);
    assert_int_equal(ss_interpreter_write(x.p, t, &one), EMU_OK);
    assert_int_equal(ss_interpreter_run(x.p, STEPS), EMU_FAULT);
    interpreter_trial_free(&x);
}

/* ---- streams ---- */

static void streams_keep_their_order(void **state)
{
    const uint16_t first[4] = { 1, 2, 3, 4 }, second[2] = { 5, 6 };
    const uint16_t want[9] = { 2, 1, 1, 4, 3, 3, 6, 5, 5 };
    struct interpreter_trial x;
    struct tensor a, reversed[2], part[2];
    struct program body;
    uint32_t in, out;
    uint64_t n;

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_F16, 2, "a");
    reversed[0] = part[0] = slice(&x, a, 1, 2);
    reversed[1] = slice(&x, a, 0, 1);
    in = ss_graph_stream(x.g, STREAM_IN, ELEM_F16, 2, 1, "in");
    out = ss_graph_stream(x.g, STREAM_OUT, ELEM_F16, 3, 1, "out");
    body = ss_program_sequence(x.g);
    ss_program_add(x.g, body, ss_program_stream(x.g, in, ss_tensor_concat(x.g, reversed, 2, 0)));
    part[1] = ss_tensor_broadcast(x.g, part[0], 0, 2);
    part[0] = reversed[1];
    ss_program_add(x.g, body, ss_program_stream(x.g, out, ss_tensor_concat(x.g, part, 2, 0)));
    ss_program_add(x.g, x.main, ss_program_repeat(x.g, 3, body));
    interpreter_trial_start(&x);
    assert_null(ss_interpreter_output(x.p, out, &n));
    assert_int_equal(n, 0);
    assert_int_equal(ss_interpreter_feed(x.p, in, first, 2), EMU_OK);
    assert_int_equal(ss_interpreter_feed(x.p, in, second, 0), EMU_OK);
    assert_int_equal(ss_interpreter_feed(x.p, in, second, 1), EMU_OK);
    interpreter_trial_run(&x);
    assert_memory_equal(ss_interpreter_output(x.p, out, &n), want, sizeof(want));
    assert_int_equal(n, 3);
    assert_int_equal(ss_interpreter_run(x.p, STEPS), EMU_FAULT); /* dry */
    assert_non_null(strstr(ss_error(), "stream in"));
    assert_int_equal(ss_interpreter_feed(x.p, out, first, 1), EMU_USAGE);
    assert_int_equal(ss_interpreter_feed(x.p, 7, first, 1), EMU_USAGE);
    assert_null(ss_interpreter_output(x.p, in, &n));
    interpreter_trial_free(&x);
}

/* ---- out of memory ---- */

static enum emu_status copy_once(struct graph *g)
{
    struct interpreter *p;
    enum emu_status s = ss_interpreter_new(g, &p);

    if (s == EMU_OK)
        s = ss_interpreter_run(p, STEPS);
    ss_interpreter_free(p);
    return s;
}

static void every_allocation_may_fail(void **state)
{
    struct interpreter_trial x;
    struct tensor a, b;
    uint32_t set, v;
    long before, n = 0;
    enum emu_status s;

    (void)state;
    interpreter_trial_new(&x);
    a = kept(&x, ELEM_U8, 40, "a");
    b = kept(&x, ELEM_U8, 40, "b");
    set = ss_graph_compute_set(x.g, "set");
    v = ss_graph_vertex(x.g, set, "copy_8", 0);
    ss_vertex_connect(x.g, v, "src", a);
    ss_vertex_connect(x.g, v, "dst", b);
    ss_program_add(x.g, x.main, ss_program_execute(x.g, set));
    ss_program_add(x.g, x.main, ss_program_copy(x.g, b, a));
    ss_program_add(
        x.g, x.main,
        ss_program_stream(x.g, ss_graph_stream(x.g, STREAM_OUT, ELEM_U8, 40, 1, "out"), a));
    before = alloc_live();
    do {
        alloc_test_fail_at(n++);
        s = copy_once(x.g);
        alloc_test_fail_at(-1);
        assert_true(s == EMU_OK || s == EMU_NO_MEMORY);
        assert_int_equal(alloc_live(), before);
    } while (s != EMU_OK);
    assert_true(n > 8);
    interpreter_trial_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_starts_as_zero_or_initial),
        cmocka_unit_test(host_reaches_only_what_is_there),
        cmocka_unit_test(memory_lasts_from_run_to_run),
        cmocka_unit_test(copies_read_before_they_write),
        cmocka_unit_test(copies_follow_views),
        cmocka_unit_test(vertices_see_contiguous_copies),
        cmocka_unit_test(vertices_change_what_they_read),
        cmocka_unit_test(lists_are_runs),
        cmocka_unit_test(repeat_runs_its_body_so_often),
        cmocka_unit_test(while_asks_before_every_round),
        cmocka_unit_test(if_takes_one_part),
        cmocka_unit_test(functions_run_at_every_call),
        cmocka_unit_test(parts_of_groups_all_run),
        cmocka_unit_test(endless_loops_end_with_a_fault),
        cmocka_unit_test(streams_keep_their_order),
        cmocka_unit_test(every_allocation_may_fail),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("interpreter", tests, NULL, NULL);
}
