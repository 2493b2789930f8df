/* test_graph_check.c - ss_graph_check(): a graph that is right passes, each kind of mistake planted
 * in it is found and named, random compute sets against a plain count of accesses, and the time for
 * millions of runs.
 */
#include <time.h>

#include "emu/base/random.h"
#include "tests/fixtures/graph_fixture.h"

/* A graph that is right: two tiles scale pieces of a matrix, group 1 takes a stream. */
struct check_sample {
    struct graph *g;
    struct tensor x, y, w, u, io; /* x, y [8,4], w constant [8,4], u [1], io [16] in group 1 */
    uint32_t cs, copy, fill, list, in;
    struct program all, together[2];
};

static void sample_new(struct check_sample *s)
{
    static const uint32_t zeros[32];
    struct graph *g = s->g = graph_on("toy16");

    ss_graph_set_group(g, 12, 4, 1);
    ss_graph_push(g, "net");
    s->x = ss_graph_variable(g, ELEM_U32, SHAPE(8, 4), "x");
    s->y = ss_graph_variable(g, ELEM_U32, SHAPE(8, 4), "y");
    s->w = ss_graph_constant(g, ELEM_U32, SHAPE(8, 4), zeros, "w");
    s->u = ss_graph_variable(g, ELEM_U32, SHAPE(1), "u");
    s->io = ss_graph_variable(g, ELEM_F32, SHAPE(16), "io");
    ss_graph_map_linear(g, s->x, 4, 0, 0, 8);
    ss_graph_map_like(g, s->y, s->x);
    ss_graph_map_like(g, s->w, s->x);
    ss_graph_map(g, s->u, 3);
    ss_graph_map_linear(g, s->io, 1, 0, 12, 4);
    s->cs = ss_graph_compute_set(g, "work");
    s->copy = ss_graph_vertex(g, s->cs, "copy_32", 0);
    ss_vertex_connect(g, s->copy, "src", ss_tensor_slice(g, s->x, 0, 0, 2));
    ss_vertex_connect(g, s->copy, "dst", ss_tensor_slice(g, s->y, 0, 0, 2));
    s->list = ss_graph_vertex(g, s->cs, "copy_list_32", 5);
    ss_vertex_connect(g, s->list, "src", ss_tensor_slice(g, s->w, 1, 1, 3));
    ss_vertex_connect(g, s->list, "dst", ss_tensor_slice(g, s->y, 0, 2, 6));
    s->fill = ss_graph_vertex(g, s->cs, "fill_f32", 13);
    ss_vertex_connect(g, s->fill, "out", s->io);
    ss_vertex_set_f32(g, s->fill, "value", 1);
    s->in = ss_graph_stream(g, STREAM_IN, ELEM_F32, 16, 1, "in");
    s->all = ss_program_sequence(g);
    ss_program_add(g, s->all, ss_program_execute(g, s->cs));
    s->together[0] = ss_program_sequence(g);
    s->together[1] = ss_program_sequence(g);
    ss_program_add(g, s->together[1], ss_program_stream(g, s->in, s->io));
    ss_program_add(g, s->all, ss_program_together(g, (unsigned[]){ 0, 1 }, s->together, 2));
    ss_graph_set_program(g, s->all);
    assert_int_equal(ss_graph_status(g), EMU_OK);
}

static struct tensor rows(struct check_sample *s, struct tensor t, uint32_t begin, uint32_t end)
{
    return ss_tensor_slice(s->g, t, 0, begin, end);
}

/* Another vertex of the compute set: dst = src. */
static void add_copy(struct check_sample *s, struct tensor src, struct tensor dst)
{
    uint32_t v = ss_graph_vertex(s->g, s->cs, "copy_32", 7);

    ss_vertex_connect(s->g, v, "src", src);
    ss_vertex_connect(s->g, v, "dst", dst);
}

static void then(struct check_sample *s, struct program p)
{
    ss_program_add(s->g, s->all, p);
}

static void in_part(struct check_sample *s, unsigned part, struct program p)
{
    ss_program_add(s->g, s->together[part], p);
}

#define PASSES(...)                                                                                \
    do {                                                                                           \
        struct check_sample s;                                                                     \
        sample_new(&s);                                                                            \
        __VA_ARGS__;                                                                               \
        if (ss_graph_check(s.g) != EMU_OK)                                                         \
            print_error("%s\n", ss_error());                                                       \
        assert_int_equal(ss_graph_check(s.g), EMU_OK);                                             \
        ss_graph_free(s.g);                                                                        \
    } while (0)

#define REFUSED(texts, ...)                                                                        \
    do {                                                                                           \
        struct check_sample s;                                                                     \
        sample_new(&s);                                                                            \
        __VA_ARGS__;                                                                               \
        assert_int_equal(ss_graph_status(s.g), EMU_OK);                                            \
        assert_int_equal(ss_graph_check(s.g), EMU_BAD_PROGRAM);                                    \
        error_says(texts);                                                                         \
        ss_graph_free(s.g);                                                                        \
    } while (0)

static void mapping_must_be_complete(void **state)
{
    (void)state;
    PASSES((void)0);
    REFUSED("variable net/z [3,4]: 12 of 12 elements|net/z[0,0] (no tile)",
            ss_graph_variable(s.g, ELEM_U8, SHAPE(3, 4), "z"));
    REFUSED("variable net/z [3,4]: 2 of 12 elements|net/z[0,3]",
            struct tensor z = ss_graph_variable(s.g, ELEM_U8, SHAPE(3, 4), "z");
            ss_graph_map(s.g, ss_tensor_slice(s.g, z, 1, 0, 3), 1);
            ss_graph_map(s.g, ss_tensor_slice(s.g, ss_tensor_slice(s.g, z, 0, 1, 2), 1, 3, 4), 1));
    PASSES(ss_graph_variable(s.g, ELEM_U8, SHAPE(0, 4), "empty"));
}

static void fields_must_be_set(void **state)
{
    (void)state;
    REFUSED("vertex 3 (copy_32 in compute set net/work on tile 6): field src is not connected",
            ss_graph_vertex(s.g, s.cs, "copy_32", 6));
    REFUSED("vertex 3 (fill_f32 in compute set net/work on tile 6): field value is not set",
            uint32_t v = ss_graph_vertex(s.g, s.cs, "fill_f32", 6);
            ss_vertex_connect(s.g, v, "out", ss_tensor_slice(s.g, s.io, 0, 0, 0)));
    REFUSED("copy_list_32|field dst is not connected",
            uint32_t v = ss_graph_vertex(s.g, s.cs, "copy_list_32", 6);
            ss_vertex_connect(s.g, v, "src", s.x));
}

static void compute_sets_must_not_race(void **state)
{
    (void)state;
    /* Neighbours, common reads, and reading what another compute set writes, are fine. */
    PASSES(add_copy(&s, s.x, rows(&s, s.y, 6, 8)));
    PASSES(add_copy(&s, s.w, rows(&s, s.y, 7, 7)));
    PASSES(s.cs = ss_graph_compute_set(s.g, "more"); add_copy(&s, s.y, s.x));
    /* In place, and not quite in place. */
    PASSES(add_copy(&s, rows(&s, s.y, 6, 8), rows(&s, s.y, 6, 8)));
    PASSES(add_copy(&s, rows(&s, s.y, 6, 8), rows(&s, s.y, 6, 7)));
    PASSES(uint32_t v = ss_graph_vertex(s.g, s.cs, "copy_list_32", 4);
           ss_vertex_connect(s.g, v, "src", rows(&s, s.w, 6, 7));
           ss_vertex_connect(s.g, v, "src", rows(&s, s.y, 7, 8));
           ss_vertex_connect(s.g, v, "dst", rows(&s, s.y, 6, 8)));
    REFUSED(
        "vertex 3 (copy_32 in compute set net/work on tile 7): net/y[7,0] (tile 7) is element 4 "
        "of field src and element 0 of field dst",
        add_copy(&s, rows(&s, s.y, 6, 8), rows(&s, s.y, 7, 8)));
    REFUSED("net/y[7,0]|element 4 of field dst and element 0 of field src",
            add_copy(&s, rows(&s, s.y, 7, 8), rows(&s, s.y, 6, 8)));
    REFUSED("vertex 3 (copy_32|field dst holds net/y[7,0] (tile 7) twice",
            add_copy(&s, s.w,
                     ss_tensor_concat(s.g,
                                      (struct tensor[]){ rows(&s, s.y, 7, 8), rows(&s, s.y, 6, 7),
                                                         rows(&s, s.y, 7, 8) },
                                      3, 0)));
    REFUSED("vertex 3 (copy_32|field dst holds net/u[0] (tile 3) twice",
            add_copy(&s, s.w, ss_tensor_broadcast(s.g, s.u, 0, 5)));
    REFUSED("field dst writes to the constant net/w", add_copy(&s, s.x, rows(&s, s.w, 0, 1)));
    REFUSED("net/y[1,1] (tile 1) is written by vertex 0|on tile 0), field dst, and written by "
            "vertex 3|on tile 7), field dst",
            add_copy(&s, s.w, ss_tensor_slice(s.g, rows(&s, s.y, 1, 2), 1, 1, 2)));
    REFUSED("net/y[5,2] (tile 5) is written by vertex 1|field dst, and read by vertex 3|field src",
            add_copy(&s, ss_tensor_slice(s.g, rows(&s, s.y, 5, 6), 1, 2, 4), s.u));
    /* One list holds an element twice. */
    REFUSED(
        "vertex 1 (copy_list_32|field dst holds net/y[2,3] (tile 2) twice",
        ss_vertex_connect(s.g, s.list, "dst", ss_tensor_slice(s.g, rows(&s, s.y, 2, 3), 1, 3, 4)));
    /* A long read of the vertex that writes in place does not hide a shorter one of another. */
    REFUSED("net/y[7,0] (tile 7) is read by vertex 4 (copy_32|written by vertex 3 (copy_list_32",
            uint32_t v = ss_graph_vertex(s.g, s.cs, "copy_list_32", 4);
            ss_vertex_connect(s.g, v, "src", rows(&s, s.y, 6, 8));
            ss_vertex_connect(s.g, v, "dst", rows(&s, s.x, 7, 8));
            ss_vertex_connect(s.g, v, "dst", rows(&s, s.y, 7, 8));
            add_copy(&s, ss_tensor_slice(s.g, ss_tensor_flatten(s.g, s.y), 0, 25, 30), s.u));
}

static void copies_must_be_unambiguous(void **state)
{
    (void)state;
    /* Reading an element often is fine, and so is moving within a variable. */
    PASSES(then(&s, ss_program_copy(s.g, rows(&s, s.x, 0, 4), rows(&s, s.x, 2, 6))));
    PASSES(then(&s, ss_program_copy(s.g, ss_tensor_broadcast(s.g, s.u, 0, 32),
                                    ss_tensor_flatten(s.g, s.x))));
    PASSES(then(&s, ss_program_copy(s.g, ss_tensor_transpose(s.g, s.x, (unsigned[]){ 1, 0 }),
                                    ss_tensor_transpose(s.g, s.y, (unsigned[]){ 1, 0 }))));
    REFUSED("program node 6 (copy of net/x [32] to net/u [32]): writes net/u[0] (tile 3) twice",
            then(&s, ss_program_copy(s.g, ss_tensor_flatten(s.g, s.x),
                                     ss_tensor_broadcast(s.g, s.u, 0, 32))));
    REFUSED("program node 6 (copy|writes net/y[2,0] (tile 2) twice",
            then(&s, ss_program_copy(s.g, rows(&s, s.x, 0, 6),
                                     ss_tensor_concat(s.g,
                                                      (struct tensor[]){ rows(&s, s.y, 0, 3),
                                                                         rows(&s, s.y, 2, 5) },
                                                      2, 0))));
    REFUSED("program node 6 (copy|writes to the constant net/w",
            then(&s, ss_program_copy(s.g, s.x, s.w)));
    REFUSED("program node 8 (copy|writes to the constant net/w",
            struct program p = ss_program_sequence(s.g);
            then(&s, ss_program_call(s.g, ss_graph_function(s.g, p, "f")));
            ss_program_add(s.g, p, ss_program_copy(s.g, s.x, s.w)));
    REFUSED("(stream net/u and net/w [8,4]): writes to the constant net/w",
            uint32_t in = ss_graph_stream(s.g, STREAM_IN, ELEM_U32, 32, 1, "u");
            then(&s, ss_program_stream(s.g, in, s.w)));
    REFUSED("(stream net/u and net/u [32]): writes net/u[0] (tile 3) twice",
            uint32_t in = ss_graph_stream(s.g, STREAM_IN, ELEM_U32, 32, 1, "u");
            then(&s, ss_program_stream(s.g, in, ss_tensor_broadcast(s.g, s.u, 0, 32))));
    PASSES(uint32_t out = ss_graph_stream(s.g, STREAM_OUT, ELEM_U32, 32, 1, "u");
           then(&s, ss_program_stream(s.g, out, ss_tensor_broadcast(s.g, s.u, 0, 32)));
           then(&s, ss_program_stream(s.g, out, s.w)));
}

static void the_tree_must_be_one(void **state)
{
    (void)state;
    REFUSED("program node 6 (copy of net/x [8,4] to net/y [8,4]) is used nowhere",
            ss_program_copy(s.g, s.x, s.y));
    REFUSED("program node 6 (sequence) is used nowhere",
            struct program a = ss_program_sequence(s.g);
            struct program b = ss_program_sequence(s.g); ss_program_add(s.g, a, b); /* a ring */
            ss_program_add(s.g, b, a));
    REFUSED("function net/f calls itself", struct program p = ss_program_sequence(s.g);
            uint32_t f = ss_graph_function(s.g, p, "f");
            ss_program_add(s.g, p, ss_program_call(s.g, f)));
    REFUSED("function net/a calls itself", struct program p = ss_program_sequence(s.g);
            struct program q = ss_program_sequence(s.g);
            uint32_t a = ss_graph_function(s.g, p, "a");
            ss_program_add(s.g, q, ss_program_repeat(s.g, 2, ss_program_call(s.g, a)));
            ss_program_add(s.g, p, ss_program_call(s.g, ss_graph_function(s.g, q, "b")));
            then(&s, ss_program_call(s.g, a)));
    PASSES(uint32_t f = ss_graph_function(s.g, ss_program_sequence(s.g), "f");
           then(&s, ss_program_call(s.g, f)); then(&s, ss_program_call(s.g, f)));
    {
        struct graph *g = graph_on("toy4");

        assert_int_equal(ss_graph_check(g), EMU_BAD_PROGRAM);
        error_says("the graph has no program");
        ss_graph_free(g);
    }
}

static void parts_must_stay_in_their_group(void **state)
{
    (void)state;
    PASSES(in_part(&s, 0, ss_program_copy(s.g, s.x, s.y)));
    REFUSED(
        "(copy of net/x [8,4] to net/y [8,4]): net/x[0,0] (tile 0) is in sync group 0, expected "
        "group 1",
        in_part(&s, 1, ss_program_copy(s.g, s.x, s.y)));
    REFUSED("vertex 2 (fill_f32 in compute set net/work on tile 13): the tile is in sync group 1, "
            "expected group 0",
            in_part(&s, 0, ss_program_execute(s.g, s.cs)));
    REFUSED("vertex 3 (copy_32 in compute set net/other on tile 7): net/z[1] (tile 12) is in sync "
            "group 1, expected group 0",
            struct tensor z = ss_graph_variable(s.g, ELEM_U32, SHAPE(3), "z");
            ss_graph_map_linear(s.g, z, 1, 0, 11, 3); s.cs = ss_graph_compute_set(s.g, "other");
            add_copy(&s, z, s.x); in_part(&s, 0, ss_program_execute(s.g, s.cs)));
    PASSES(struct tensor z = ss_graph_variable(s.g, ELEM_U32, SHAPE(3), "z");
           ss_graph_map_linear(s.g, z, 1, 0, 11, 3); s.cs = ss_graph_compute_set(s.g, "other");
           add_copy(&s, rows(&s, z, 0, 1), s.x); in_part(&s, 0, ss_program_execute(s.g, s.cs)));
    REFUSED("net/z[0] (tile 11) is in sync group 0, expected group 1",
            struct tensor z = ss_graph_variable(s.g, ELEM_U32, SHAPE(3), "z");
            ss_graph_map_linear(s.g, z, 1, 0, 11, 3);
            in_part(&s, 1, ss_program_copy(s.g, rows(&s, z, 1, 2), rows(&s, z, 2, 3)));
            in_part(&s, 1, ss_program_copy(s.g, rows(&s, z, 1, 2), rows(&s, z, 0, 1))));
    REFUSED("vertex 0 (copy_32 in compute set net/work on tile 0): the tile is in sync group 0",
            uint32_t f = ss_graph_function(s.g, ss_program_execute(s.g, s.cs), "f");
            in_part(&s, 1, ss_program_call(s.g, f)));
    REFUSED("(stream net/in and net/io [16]): net/io[0] (tile 12) is in sync group 1, expected "
            "group 0",
            in_part(&s, 0, ss_program_stream(s.g, s.in, s.io)));
    REFUSED("(if): net/u[0] (tile 3) is in sync group 0, expected group 1",
            in_part(&s, 1,
                    ss_program_if(s.g, s.u, ss_program_sequence(s.g), ss_program_sequence(s.g))));
    REFUSED("(together) stands in a part of another one, of sync group 0",
            struct program p = ss_program_sequence(s.g);
            in_part(&s, 0, ss_program_together(s.g, (unsigned[]){ 0 }, &p, 1)));
    REFUSED("(together): sync group 9 has no tiles", struct program p = ss_program_sequence(s.g);
            then(&s, ss_program_together(s.g, (unsigned[]){ 9 }, &p, 1)));
}

/* ---- random compute sets ---- */

enum { RANDOM_SETS = 4000, ELEMENTS = 40 };

/* Vertices with random pieces of two variables; accesses are counted element by element. */
static void random_set(uint64_t *seed, unsigned *bad)
{
    enum { NOBODY = 99 };
    struct graph *g = graph_on("toy4");
    struct tensor t[2];
    uint32_t cs = ss_graph_compute_set(g, "cs"), vertices = 1 + random_below(seed, 6), v;
    unsigned writer[2][ELEMENTS], is_bad = 0;
    int place[2][ELEMENTS]; /* of the element in what its writer writes */

    for (unsigned i = 0; i < 2; i++) {
        t[i] = ss_graph_variable(g, ELEM_U32, SHAPE(ELEMENTS), "t");
        ss_graph_map_linear(g, t[i], 1, 0, 0, 4);
        for (unsigned k = 0; k < ELEMENTS; k++)
            writer[i][k] = NOBODY;
    }
    for (unsigned pass = 0; pass < 2; pass++) { /* writers, then readers */
        for (v = 0; v < vertices; v++) {
            unsigned var = random_below(seed, 2), begin = random_below(seed, ELEMENTS);
            unsigned end = begin + random_below(seed, random_below(seed, 3) ? 8 : ELEMENTS), step;

            end = end < ELEMENTS ? end : ELEMENTS;
            step = 1 + random_below(seed, 2);
            end = begin + (end - begin) / step * step;
            if (!pass)
                assert_int_equal(ss_graph_vertex(g, cs, "copy_32", random_below(seed, 4)), v);
            if (step == 1 || begin == end) {
                ss_vertex_connect(g, v, pass ? "src" : "dst",
                                  ss_tensor_slice(g, t[var], 0, begin, end));
            } else {
                struct tensor s = ss_tensor_slice(g, t[var], 0, begin, end);

                s = ss_tensor_reshape(g, s, SHAPE((end - begin) / 2, 2));
                ss_vertex_connect(g, v, pass ? "src" : "dst", ss_tensor_slice(g, s, 1, 0, 1));
            }
            for (unsigned k = begin; k < end; k += step) {
                int at = (int)((k - begin) / step);

                if (pass && writer[var][k] != NOBODY)
                    is_bad |= writer[var][k] != v || place[var][k] != at;
                if (!pass) {
                    is_bad |= writer[var][k] != NOBODY;
                    writer[var][k] = v;
                    place[var][k] = at;
                }
            }
        }
    }
    ss_graph_set_program(g, ss_program_execute(g, cs));
    assert_int_equal(ss_graph_check(g), is_bad ? EMU_BAD_PROGRAM : EMU_OK);
    *bad += is_bad;
    ss_graph_free(g);
}

static void random_compute_sets(void **state)
{
    uint64_t seed = 3;
    unsigned bad = 0;

    (void)state;
    for (unsigned k = 0; k < RANDOM_SETS; k++)
        random_set(&seed, &bad);
    print_message("%u of %u are wrong\n", bad, RANDOM_SETS);
    assert_in_range(bad, RANDOM_SETS / 10, RANDOM_SETS * 9 / 10);
}

/* ---- memory and time ---- */

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        struct check_sample s;
        enum emu_status status;
        long blocks;

        sample_new(&s);
        then(&s, ss_program_copy(s.g, ss_tensor_concat(s.g, (struct tensor[]){ s.x, s.x }, 2, 0),
                                 ss_tensor_concat(s.g, (struct tensor[]){ s.y, s.x }, 2, 0)));
        blocks = alloc_live();
        alloc_test_fail_at(n);
        status = ss_graph_check(s.g);
        alloc_test_fail_at(-1);
        assert_int_equal(alloc_live(), blocks);
        ss_graph_free(s.g);
        if (status == EMU_OK)
            break;
        assert_int_equal(status, EMU_NO_MEMORY);
    }
}

/* A square matrix in blocks of columns, over all tiles: each row of a block is a run. */
static void millions_of_runs(void **state)
{
    enum { BLOCKS = 1024, ROWS = 2048, WIDTH = 4 };
    struct graph *g = graph_on("mk2");
    struct tensor x = ss_graph_variable(g, ELEM_U32, SHAPE(ROWS, BLOCKS * WIDTH), "x");
    struct tensor y = ss_graph_variable(g, ELEM_U32, SHAPE(ROWS, BLOCKS * WIDTH), "y");
    uint32_t cs = ss_graph_compute_set(g, "cs");
    clock_t start;

    (void)state;
    ss_graph_map_linear(g, x, 1, 0, 0, g->arch.tiles);
    ss_graph_map_linear(g, y, 1, 0, 0, g->arch.tiles);
    for (uint32_t k = 0; k < BLOCKS; k++) {
        uint32_t v = ss_graph_vertex(g, cs, "copy_32", k);

        ss_vertex_connect(g, v, "src", ss_tensor_slice(g, x, 1, k * WIDTH, k * WIDTH + WIDTH));
        ss_vertex_connect(g, v, "dst", ss_tensor_slice(g, y, 1, k * WIDTH, k * WIDTH + WIDTH));
    }
    ss_graph_set_program(g, ss_program_execute(g, cs));
    start = clock();
    assert_int_equal(ss_graph_check(g), EMU_OK);
    print_message("%u runs written: %.3f s of CPU time\n", BLOCKS * ROWS,
                  (double)(clock() - start) / CLOCKS_PER_SEC);
    assert_true(clock() - start < 4 * CLOCKS_PER_SEC);
    ss_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mapping_must_be_complete),
        cmocka_unit_test(fields_must_be_set),
        cmocka_unit_test(compute_sets_must_not_race),
        cmocka_unit_test(copies_must_be_unambiguous),
        cmocka_unit_test(the_tree_must_be_one),
        cmocka_unit_test(parts_must_stay_in_their_group),
        cmocka_unit_test(random_compute_sets),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(millions_of_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
