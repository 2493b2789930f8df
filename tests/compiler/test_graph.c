/* test_graph.c - the builder: names, variables, mappings, vertices, programs, its errors, and the
 * text of a graph.
 */
#include "emu/base/random.h"
#include "tests/fixtures/graph_fixture.h"

enum { MAPS = 300, MAP_ELEMENTS = 200 };

static void names_are_paths(void **state)
{
    struct graph *g = graph_on("toy4");

    (void)state;
    ss_graph_push(g, "block1");
    ss_graph_push(g, "a/b");
    ss_graph_variable(g, ELEM_F16, SHAPE(3), "w");
    ss_graph_pop(g);
    ss_graph_compute_set(g, "relu");
    ss_graph_pop(g);
    ss_graph_stream(g, STREAM_IN, ELEM_U8, 5, 1, "images");
    assert_int_equal(ss_graph_status(g), EMU_OK);
    assert_string_equal(g->variable.at[0].name, "block1/a/b/w");
    assert_string_equal(g->compute_set.at[0].name, "block1/relu");
    assert_string_equal(g->stream.at[0].name, "images");
    ss_graph_pop(g);
    builder_says(g, "ss_graph_pop without ss_graph_push");
    ss_graph_free(g);
    ss_graph_free(NULL);
}

/* What is made between push and pop belongs to its scope; the same name is the same scope again. */
static void scopes_have_numbers(void **state)
{
    struct graph *g = graph_on("toy4");
    uint32_t block = ss_graph_push(g, "block1"), conv = ss_graph_push(g, "conv"), other;
    struct tensor t = ss_graph_variable(g, ELEM_F16, SHAPE(3), "w");

    (void)state;
    ss_graph_compute_set(g, "multiply");
    ss_graph_pop(g);
    assert_int_equal(ss_program_copy(g, t, t).node, 0);
    ss_graph_pop(g);
    other = ss_graph_push(g, "conv");
    ss_graph_pop(g);
    assert_int_equal(ss_graph_push(g, "block1"), block);
    assert_int_equal(ss_graph_push(g, "conv"), conv);
    assert_int_equal(ss_graph_scopes(g), 4);
    assert_true(block > 0 && conv > block && other > conv);
    assert_int_equal(ss_graph_scope_parent(g, conv), block);
    assert_int_equal(ss_graph_scope_parent(g, block), 0);
    assert_string_equal(ss_graph_scope_path(g, conv), "block1/conv");
    assert_string_equal(ss_graph_scope_path(g, other), "conv");
    assert_string_equal(ss_graph_scope_path(g, 0), "");
    assert_int_equal(g->variable.at[0].scope, conv);
    assert_int_equal(g->compute_set.at[0].scope, conv);
    assert_int_equal(g->node.at[0].scope, block);
    assert_int_equal(ss_graph_status(g), EMU_OK);
    ss_graph_pop(g);
    ss_graph_pop(g);
    ss_graph_pop(g);
    assert_int_equal(ss_graph_push(g, "more"), 0);
    builder_says(g, "ss_graph_pop without ss_graph_push");
    ss_graph_free(g);
}

/* The name of the open scope opens no other one, and names nothing within it. */
static void scopes_within_themselves(void **state)
{
    struct graph *g = graph_on("toy4");
    uint32_t conv = ss_graph_push(g, "a/conv");

    (void)state;
    assert_int_equal(ss_graph_push(g, "a/conv"), conv);
    ss_graph_variable(g, ELEM_F16, SHAPE(3), "w");
    ss_graph_variable(g, ELEM_F16, SHAPE(3), "a/conv");
    assert_true(ss_graph_push(g, "conv") > conv); /* another name */
    assert_int_equal(ss_graph_push(g, "a/conv"), conv + 2);
    ss_graph_pop(g);
    ss_graph_pop(g);
    ss_graph_pop(g);
    ss_graph_variable(g, ELEM_F16, SHAPE(3), "b");
    ss_graph_pop(g);
    ss_graph_variable(g, ELEM_F16, SHAPE(3), "c");
    assert_int_equal(ss_graph_status(g), EMU_OK);
    assert_string_equal(g->variable.at[0].name, "a/conv/w");
    assert_string_equal(g->variable.at[1].name, "a/conv");
    assert_string_equal(g->variable.at[2].name, "a/conv/b");
    assert_string_equal(g->variable.at[3].name, "c");
    ss_graph_pop(g);
    builder_says(g, "ss_graph_pop without ss_graph_push");
    ss_graph_free(g);
}

/* The first error stays; what is built afterwards is harmless. */
static void errors_are_sticky(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor t = ss_graph_variable(g, ELEM_F16, SHAPE(4, 5), "net/x"), u;
    struct program p;
    uint32_t cs;

    (void)state;
    u = ss_tensor_slice(g, t, 1, 2, 6);
    builder_says(g, "ss_tensor_slice of net/x [4,5]|[2, 6) of dimension 1|size 5");
    assert_int_equal(ss_tensor_elements(g, u), 1);
    assert_int_equal(ss_tensor_shape(g, u)[TENSOR_MAX_RANK - 1], 1);
    assert_int_equal(ss_tensor_rank(g, u), 0);
    u = ss_tensor_reshape(g, ss_tensor_transpose(g, u, (unsigned[]){ 0 }), SHAPE(7));
    u = ss_tensor_concat(g, (struct tensor[]){ u, t }, 2, 0);
    u = ss_tensor_flatten(g, ss_tensor_broadcast(g, ss_tensor_index(g, u, 9), 3, 4));
    ss_graph_map(g, u, 99);
    ss_graph_map_linear(g, u, 0, 0, 0, 0);
    ss_graph_map_like(g, u, t);
    assert_int_equal(ss_graph_tile_of(g, t, 0), UINT32_MAX);
    ss_graph_keep(g, u);
    ss_graph_set_initial(g, u, "");
    cs = ss_graph_compute_set(g, "set");
    ss_vertex_connect(g, ss_graph_vertex(g, cs, "nothing", 0), "in", u);
    ss_vertex_set_u32(g, 3, "n", 1);
    ss_vertex_set_words(g, 3, "n", NULL, 4);
    p = ss_program_sequence(g);
    ss_program_add(g, p, ss_program_execute(g, cs));
    ss_program_add(g, p, ss_program_copy(g, t, u));
    ss_program_add(g, p, ss_program_if(g, u, p, p));
    ss_program_add(g, p, ss_program_repeat(g, 2, ss_program_call(g, ss_graph_function(g, p, "f"))));
    ss_program_add(g, p,
                   ss_program_stream(g, ss_graph_stream(g, STREAM_IN, ELEM_U8, 0, 0, "s"), t));
    ss_graph_set_program(g, ss_program_together(g, (unsigned[]){ 0 }, &p, 1));
    ss_graph_pop(g);
    builder_says(g, "ss_tensor_slice of net/x");
    assert_int_equal(ss_graph_check(g), EMU_BAD_PROGRAM);
    error_says("ss_tensor_slice of net/x");
    ss_graph_free(g);
}

static void contents_and_keeping(void **state)
{
    struct graph *g = graph_on("toy4");
    uint16_t data[6] = { 1, 2, 3, 4, 5, 6 };
    struct tensor a = ss_graph_variable(g, ELEM_F16, SHAPE(2, 3), "a");
    struct tensor b = ss_graph_variable(g, ELEM_F16, SHAPE(3), "b");
    struct tensor c = ss_graph_constant(g, ELEM_F16, SHAPE(2, 3), data, "c"), row;

    (void)state;
    ss_graph_set_initial(g, ss_tensor_flatten(g, a), data);
    data[0] = 9; /* was copied */
    assert_int_equal(((const uint16_t *)g->variable.at[0].initial)[0], 1);
    assert_int_equal(((const uint16_t *)g->variable.at[2].initial)[5], 6);
    assert_true(g->variable.at[2].constant && !g->variable.at[0].constant);
    row = ss_tensor_slice(g, a, 0, 0, 1);
    ss_graph_keep(g, ss_tensor_concat(
                         g, (struct tensor[]){ row, ss_tensor_reshape(g, b, SHAPE(1, 3)) }, 2, 0));
    assert_true(g->variable.at[0].kept && g->variable.at[1].kept && !g->variable.at[2].kept);
    assert_int_equal(ss_graph_status(g), EMU_OK);
    ss_graph_set_initial(g, ss_tensor_transpose(g, a, (unsigned[]){ 1, 0 }), data);
    assert_memory_equal(g->variable.at[0].initial, ((uint16_t[]){ 9, 3, 5, 2, 4, 6 }), 12);
    ss_graph_set_initial(g, ss_tensor_slice(g, b, 0, 1, 2), data);
    assert_memory_equal(g->variable.at[1].initial, ((uint16_t[]){ 0, 9, 0 }), 6);
    assert_int_equal(ss_graph_status(g), EMU_OK);
    ss_graph_free(g);

    g = graph_on("toy4");
    c = ss_graph_constant(g, ELEM_F16, SHAPE(6), data, "c");
    ss_graph_set_initial(g, c, data);
    builder_says(g, "c is a constant");
    ss_graph_free(g);
}

static void one_copy_of_a_repeated_constant_is_kept(void **state)
{
    struct graph *g = graph_on("toy4");
    uint16_t data[3] = { 1, 2, 3 }, got[5];
    char *text = NULL;
    size_t size;
    FILE *f;
    struct tensor c = ss_graph_constant_repeated(g, ELEM_F16, SHAPE(4, 3), data, "c");
    const struct variable *v = &g->variable.at[0];

    (void)state;
    data[0] = 9; /* was copied */
    assert_int_equal(ss_tensor_elements(g, c), 12);
    assert_int_equal(v->initial_elements, 3);
    assert_int_equal(((const uint16_t *)variable_contents(v, 3, 3))[0], 1);
    assert_int_equal(((const uint16_t *)variable_contents(v, 10, 2))[0], 2);
    assert_null(variable_contents(v, 10, 3)); /* would go on in the next copy */
    variable_copy_contents(v, 5, 5, got);
    assert_memory_equal(got, ((uint16_t[]){ 3, 1, 2, 3, 1 }), sizeof(got));
    ss_graph_map(g, c, 0);
    ss_graph_set_program(g, ss_program_sequence(g));
    assert_int_equal(ss_graph_check(g), EMU_OK);
    f = open_memstream(&text, &size);
    ss_graph_dump(g, f);
    fclose(f);
    assert_non_null(strstr(text, " 4 times\n"));
    free(text);
    ss_graph_constant_repeated(g, ELEM_F16, 0, NULL, data, "scalar");
    builder_says(g, "scalar has no copies");
    ss_graph_free(g);
}

/* ---- mapping ---- */

static void check_map(struct graph *g, uint32_t var, const uint32_t *tile)
{
    const struct variable *v = &g->variable.at[var];
    const struct map_run *run;
    uint64_t at = 0;
    size_t runs;

    for (uint32_t i = 0; i < v->elements; i++) /* before and after normalisation */
        assert_int_equal(ss_graph_tile_of(g, v->whole, i), tile[i]);
    assert_int_equal(variable_map(g, var, &run, &runs), EMU_OK);
    for (size_t k = 0; k < runs; k++) {
        assert_int_equal(run[k].begin, at);
        assert_true(run[k].end > run[k].begin);
        assert_true(!k || run[k - 1].tile != run[k].tile);
        for (; at < run[k].end; at++)
            assert_int_equal(run[k].tile, tile[at]);
    }
    assert_int_equal(at, v->elements);
    for (uint32_t i = 0; i < v->elements; i++)
        assert_int_equal(ss_graph_tile_of(g, v->whole, i), tile[i]);
}

/* Random maps of slices, some as rows, some strided: what is mapped last counts. */
static void the_last_mapping_wins(void **state)
{
    uint64_t seed = 5;
    uint32_t tile[MAP_ELEMENTS];

    (void)state;
    for (unsigned round = 0; round < MAPS; round++) {
        struct graph *g = graph_on("toy16");
        struct tensor t = ss_graph_variable(g, ELEM_F32, SHAPE(MAP_ELEMENTS), "t"), m;
        unsigned times = random_below(&seed, 200);

        m = ss_tensor_reshape(g, t, SHAPE(10, MAP_ELEMENTS / 10));
        memset(tile, 0xff, sizeof(tile));
        for (unsigned k = 0; k < times; k++) {
            uint32_t to = random_below(&seed, 16), begin, end;

            begin = random_below(&seed, MAP_ELEMENTS / 10);
            end = begin + random_below(&seed, MAP_ELEMENTS / 10 + 1 - begin);
            if (random_below(&seed, 4)) {
                ss_graph_map(g, ss_tensor_slice(g, t, 0, begin * 10, end * 10), to);
                for (uint32_t i = 10 * begin; i < 10 * end; i++)
                    tile[i] = to;
            } else {
                ss_graph_map(g, ss_tensor_slice(g, m, 1, begin, end), to);
                for (uint32_t i = 0; i < MAP_ELEMENTS; i++)
                    if (i % 20 >= begin && i % 20 < end)
                        tile[i] = to;
            }
            if (!random_below(&seed, 50))
                check_map(g, 0, tile);
        }
        check_map(g, 0, tile);
        ss_graph_free(g);
    }
}

static void linear_mapping(void **state)
{
    static const struct {
        uint32_t elements, grain, least, first, tiles;
        uint32_t size, used; /* expected */
    } cases[] = {
        { .elements = 16, .grain = 1, .tiles = 16, .size = 1, .used = 16 },
        { .elements = 17, .grain = 1, .tiles = 16, .size = 2, .used = 9 },
        { .elements = 100, .grain = 8, .first = 2, .tiles = 4, .size = 32, .used = 4 },
        { .elements = 100, .grain = 8, .least = 40, .tiles = 16, .size = 40, .used = 3 },
        { .elements = 100, .grain = 8, .least = 33, .tiles = 16, .size = 40, .used = 3 },
        { .elements = 5, .grain = 8, .first = 15, .tiles = 1, .size = 8, .used = 1 },
        { .elements = 1, .grain = 1, .least = 100, .first = 3, .tiles = 8, .size = 100, .used = 1 },
        { .elements = 0, .grain = 4, .least = 4, .tiles = 16, .size = 4, .used = 0 },
    };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(cases); k++) {
        struct graph *g = graph_on("toy16");
        struct tensor t = ss_graph_variable(g, ELEM_F32, SHAPE(cases[k].elements), "t");

        ss_graph_map_linear(g, t, cases[k].grain, cases[k].least, cases[k].first, cases[k].tiles);
        assert_int_equal(ss_graph_status(g), EMU_OK);
        assert_int_equal(g->variable.at[0].map.count, cases[k].used);
        for (uint32_t i = 0; i < cases[k].elements; i++)
            assert_int_equal(ss_graph_tile_of(g, t, i), cases[k].first + i / cases[k].size);
        ss_graph_free(g);
    }
}

/* Tensors that do not need all tiles lie one after the other, around the chip; others, and those of
 * whom somebody says where they begin, as ever. */
static void small_tensors_take_turns(void **state)
{
    static const struct {
        uint32_t elements, first, tiles, begin;
    } cases[] = {
        { 12, 0, 16, 0 }, /* tiles 0 to 2 */
        { 20, 0, 16, 3 }, /* 3 to 7 */
        { 64, 0, 16, 0 }, /* all */
        { 8, 3, 13, 3 },  /* where it is told */
        { 40, 0, 16, 8 }, /* 8 to 15, 0, 1 */
        { 4, 0, 16, 2 },
    };
    struct graph *g = graph_on("toy16");

    (void)state;
    assert_int_equal(ss_graph_first_tile(g, 5), 0);
    assert_int_equal(ss_graph_first_tile(g, 5), 0);
    ss_graph_take_turns(g);
    for (size_t k = 0; k < EMU_COUNT_OF(cases); k++) {
        struct tensor t = ss_graph_variable(g, ELEM_F32, SHAPE(cases[k].elements), "t");

        ss_graph_map_linear(g, t, 4, 4, cases[k].first, cases[k].tiles);
        for (uint32_t i = 0; i < cases[k].elements; i++)
            assert_int_equal(ss_graph_tile_of(g, t, i), (cases[k].begin + i / 4) % 16);
    }
    assert_int_equal(ss_graph_first_tile(g, 14), 3);
    assert_int_equal(ss_graph_first_tile(g, 1), 1);
    assert_int_equal(ss_graph_status(g), EMU_OK);
    ss_graph_free(g);
}

static void mapping_like_another(void **state)
{
    struct graph *g = graph_on("toy16");
    struct tensor a = ss_graph_variable(g, ELEM_F32, SHAPE(8, 6), "a");
    struct tensor b = ss_graph_variable(g, ELEM_F16, SHAPE(6, 8), "b");
    struct tensor c = ss_graph_variable(g, ELEM_F16, SHAPE(4), "c");
    struct tensor at = ss_tensor_transpose(g, a, (unsigned[]){ 1, 0 });

    (void)state;
    ss_graph_map_linear(g, a, 5, 0, 1, 12);
    ss_graph_map_like(g, b, at);
    for (uint32_t i = 0; i < 48; i++)
        assert_int_equal(ss_graph_tile_of(g, b, i), ss_graph_tile_of(g, at, i));
    assert_int_equal(ss_graph_tile_of(g, b, 1), 1 + 6 / 5);
    assert_int_equal(ss_graph_status(g), EMU_OK);
    ss_graph_map(g, ss_tensor_slice(g, c, 0, 0, 3), 2);
    ss_graph_map_like(g, ss_tensor_slice(g, ss_tensor_flatten(g, a), 0, 0, 4), c);
    builder_says(g, "ss_graph_map_like|c[3]|no tile");
    ss_graph_free(g);
}

/* A map of half a million runs in random order. */
static void mapping_is_fast(void **state)
{
    enum { RUNS = 1 << 19 };
    struct graph *g = graph_on("mk2");
    struct tensor t = ss_graph_variable(g, ELEM_U8, SHAPE(RUNS, 2), "t"),
                  flat = ss_tensor_flatten(g, t);
    const struct map_run *run;
    size_t runs;

    (void)state;
    for (uint32_t k = 0; k < RUNS; k++) {
        uint32_t i = k * 1234567u % RUNS; /* odd factor: each once */

        ss_graph_map(g, ss_tensor_slice(g, flat, 0, 2 * i, 2 * i + 2), i % 1024);
    }
    assert_int_equal(variable_map(g, 0, &run, &runs), EMU_OK);
    assert_int_equal(runs, RUNS);
    assert_int_equal(ss_graph_status(g), EMU_OK);
    ss_graph_free(g);
}

/* ---- vertices and programs ---- */

static void fields_are_filled(void **state)
{
    struct graph *g = graph_on("toy4");
    struct tensor t = ss_graph_variable(g, ELEM_U32, SHAPE(64), "t");
    struct tensor h = ss_graph_variable(g, ELEM_F16, SHAPE(4), "h");
    uint32_t cs = ss_graph_compute_set(g, "cs"), v[2], f;
    int src, dst;

    (void)state;
    f = ss_graph_vertex(g, cs, "fill_f16", 3);
    ss_vertex_connect(g, f, "out", h);
    ss_vertex_set_f16(g, f, "value", 1.0f + 3 * 0x1p-12f); /* between 1 and 1 + 2^-10: up */
    assert_int_equal(g->field.at[g->vertex.at[f].field + 1].value, 0x3c013c01);
    /* Lists that grow in turn keep their order. */
    v[0] = ss_graph_vertex(g, cs, "copy_list_32", 0);
    v[1] = ss_graph_vertex(g, cs, "copy_list_32", 1);
    for (uint32_t k = 0; k < 20; k++) {
        for (unsigned i = 0; i < 2; i++) {
            ss_vertex_connect(g, v[i], "src", ss_tensor_slice(g, t, 0, k + i, k + i + 1));
            ss_vertex_connect(g, v[i], "dst", ss_tensor_slice(g, t, 0, 40 + k, 41 + k));
        }
    }
    assert_int_equal(ss_graph_status(g), EMU_OK);
    src = codelet_field_find(g->vertex.at[v[0]].codelet, "src");
    dst = codelet_field_find(g->vertex.at[v[0]].codelet, "dst");
    for (unsigned i = 0; i < 2; i++) {
        const struct vertex_field *s = &g->field.at[g->vertex.at[v[i]].field + (unsigned)src];
        const struct vertex_field *d = &g->field.at[g->vertex.at[v[i]].field + (unsigned)dst];

        assert_true(s->set && s->count == 20 && d->count == 20);
        for (uint32_t k = 0; k < 20; k++) {
            assert_int_equal(view_at(g, g->list.at[s->first + k], 0).offset, k + i);
            assert_int_equal(view_at(g, g->list.at[d->first + k], 0).offset, 40 + k);
        }
    }
    ss_graph_free(g);
}

/* One mistake per line, in a graph with a few things in it. */
struct mistake {
    struct graph *g;
    struct tensor f32, u32, half; /* [4], [1], [2,2] */
    uint32_t cs, vertex, list, stream, function;
    struct program seq, placed, loose;
};

static void mistake_new(struct mistake *m)
{
    struct graph *g = m->g = graph_on("toy4");

    ss_graph_push(g, "net");
    m->f32 = ss_graph_variable(g, ELEM_F32, SHAPE(4), "f");
    m->u32 = ss_graph_variable(g, ELEM_U32, SHAPE(1), "u");
    m->half = ss_graph_variable(g, ELEM_F16, SHAPE(2, 2), "h");
    m->cs = ss_graph_compute_set(g, "set");
    m->vertex = ss_graph_vertex(g, m->cs, "fill_f32", 2);
    ss_vertex_connect(g, m->vertex, "out", m->f32);
    m->list = ss_graph_vertex(g, m->cs, "copy_list_32", 1);
    m->stream = ss_graph_stream(g, STREAM_OUT, ELEM_F32, 4, 1, "s");
    m->seq = ss_program_sequence(g);
    m->placed = ss_program_execute(g, m->cs);
    ss_program_add(g, m->seq, m->placed);
    m->loose = ss_program_sequence(g);
    m->function = ss_graph_function(g, ss_program_sequence(g), "f");
    assert_int_equal(ss_graph_status(g), EMU_OK);
}

#define MISTAKE(call, texts)                                                                       \
    do {                                                                                           \
        struct mistake m;                                                                          \
        mistake_new(&m);                                                                           \
        (void)(call);                                                                              \
        builder_says(m.g, texts);                                                                  \
        ss_graph_free(m.g);                                                                        \
    } while (0)

static void mistakes_in_tensors(void **state)
{
    (void)state;
    MISTAKE(ss_graph_variable(m.g, ELEM_COUNT, SHAPE(1), "v"), "net/v|no element type 5");
    MISTAKE(ss_graph_variable(m.g, ELEM_U8, 9, (uint32_t[9]){ 0 }, "v"), "net/v|rank 9|at most 8");
    MISTAKE(ss_graph_variable(m.g, ELEM_U8, SHAPE(1u << 24, 1u << 25), "v"), "net/v|2^48");
    MISTAKE(ss_graph_set_group(m.g, 3, 2, 1), "[3, 5)|the chip has 4");
    MISTAKE(ss_graph_set_group(m.g, 0, 1, 64), "sync group 64");
    MISTAKE((ss_graph_map(m.g, m.f32, 4), 0), "net/f [4]|tile 4|less than 4");
    MISTAKE((ss_graph_map_linear(m.g, m.f32, 0, 1, 0, 4), 0), "net/f [4]|grain 0");
    MISTAKE((ss_graph_map_linear(m.g, m.f32, 1, 1, 2, 3), 0), "net/f [4]|[2, 5)");
    MISTAKE((ss_graph_map_like(m.g, m.f32, m.u32), 0), "net/f [4] has 4 elements|1 like net/u [1]");
    MISTAKE(ss_tensor_slice(m.g, m.f32, 1, 0, 1), "net/f [4]|no dimension 1");
    MISTAKE(ss_tensor_index(m.g, m.half, 2), "net/h [2,2]|2, expected less than 2");
    MISTAKE(ss_tensor_concat(m.g, NULL, 0, 0), "no tensors");
    MISTAKE(ss_tensor_concat(m.g, (struct tensor[]){ m.f32, m.u32 }, 2, 0),
            "tensor 1|net/u [1] of type u32|type f32");
    MISTAKE(ss_tensor_concat(
                m.g, (struct tensor[]){ m.half, ss_tensor_slice(m.g, m.half, 0, 0, 1) }, 2, 1),
            "tensor 1|net/h [1,2]|size 2 in dimension 0");
    MISTAKE(ss_tensor_transpose(m.g, m.half, (unsigned[]){ 1, 1 }), "net/h [2,2]|order[1] is 1");
    MISTAKE(ss_tensor_reshape(m.g, m.half, SHAPE(5)), "net/h [2,2] to [5]|expected 4 elements");
    MISTAKE(ss_tensor_broadcast(m.g, m.half, 1, 3), "net/h [2,2]|dimension 1 has size 2");
    MISTAKE(ss_tensor_flatten(m.g, (struct tensor){ 1000 }), "not one of this graph");
}

static void mistakes_in_vertices(void **state)
{
    (void)state;
    MISTAKE(ss_graph_vertex(m.g, 7, "fill_f32", 0), "no compute set 7");
    MISTAKE(ss_graph_vertex(m.g, m.cs, "fil", 1), "net/set, tile 1|no codelet fil");
    MISTAKE(ss_graph_vertex(m.g, m.cs, "fill_f32", 4), "net/set|fill_f32 on tile 4|less than 4");
    MISTAKE((ss_vertex_connect(m.g, 9, "out", m.f32), 0), "no vertex 9");
    MISTAKE((ss_vertex_connect(m.g, m.vertex, "aut", m.f32), 0),
            "vertex 0 (fill_f32 in compute set net/set on tile 2)|no field aut");
    MISTAKE((ss_vertex_connect(m.g, m.vertex, "out", m.f32), 0), "fill_f32|out is connected twice");
    MISTAKE((ss_vertex_connect(m.g, m.vertex, "value", m.f32), 0), "takes a f32, got a tensor");
    MISTAKE((ss_vertex_connect(m.g, m.vertex, "n", m.f32), 0), "n takes nothing|compiler");
    MISTAKE((ss_vertex_connect(m.g, m.list, "src", m.half), 0),
            "copy_list_32|on tile 1|type u32, got net/h [2,2] of type f16");
    MISTAKE((ss_vertex_set_u32(m.g, m.vertex, "value", 1), 0), "value takes a f32, got a u32");
    MISTAKE((ss_vertex_set_f16(m.g, m.vertex, "out", 1), 0), "out takes a tensor, got a f16");
    MISTAKE((ss_vertex_set_words(m.g, m.vertex, "value", NULL, 0), 0),
            "a f32, got a list of words");
}

static void mistakes_in_programs(void **state)
{
    (void)state;
    MISTAKE((ss_program_add(m.g, m.placed, m.loose), 0), "node 1 is not a sequence");
    MISTAKE((ss_program_add(m.g, m.loose, m.loose), 0), "into itself");
    MISTAKE((ss_program_add(m.g, m.loose, m.placed), 0), "ss_program_add|node 1|another place");
    MISTAKE((ss_program_add(m.g, m.loose, (struct program){ 77 }), 0), "not one of this graph");
    MISTAKE(ss_program_execute(m.g, 5), "no compute set 5");
    MISTAKE(ss_program_copy(m.g, m.f32, m.u32), "net/f [4] of type f32 to net/u [1] of type u32");
    MISTAKE(ss_program_copy(m.g, m.half, ss_tensor_flatten(m.g, m.half)),
            "net/h [2,2]|net/h [4]|same shape");
    MISTAKE(ss_program_repeat(m.g, 2, m.placed), "ss_program_repeat|another place");
    MISTAKE(ss_program_if(m.g, m.f32, m.loose, ss_program_sequence(m.g)),
            "ss_program_if: predicate net/f [4] of type f32|one element of type u32 or i32");
    MISTAKE(ss_program_while(m.g, m.loose, m.u32, m.loose), "ss_program_while|another place");
    MISTAKE(ss_graph_function(m.g, m.placed, "f"), "ss_graph_function|another place");
    MISTAKE(ss_program_call(m.g, 4), "no function 4");
    MISTAKE(ss_program_stream(m.g, 3, m.f32), "no stream 3");
    MISTAKE(ss_program_stream(m.g, m.stream, m.half),
            "net/h [2,2] of type f16|4 elements of type f32|net/s");
    MISTAKE(ss_graph_stream(m.g, STREAM_IN, ELEM_U8, 3, 0, "q"), "stream net/q|depth 0");
    MISTAKE(ss_program_together(m.g, (unsigned[]){ 1, 1 }, (struct program[]){ m.loose, m.seq }, 2),
            "two parts for sync group 1");
    MISTAKE((ss_graph_set_program(m.g, m.seq), ss_graph_set_program(m.g, m.loose), 0),
            "called twice");
}

/* ---- dump and memory ---- */

static struct graph *sample_graph(void)
{
    struct graph *g = graph_on("toy16");
    float bias[2] = { 1, -1 };
    struct tensor x, y, b, n, parts[2];
    struct program all, body, io[2];
    uint32_t cs, v, in, f;

    ss_graph_set_group(g, 12, 4, 1);
    ss_graph_push(g, "net");
    x = ss_graph_variable(g, ELEM_F32, SHAPE(4, 6), "x");
    y = ss_graph_variable(g, ELEM_U32, SHAPE(8), "y");
    b = ss_graph_constant(g, ELEM_F32, SHAPE(2), bias, "bias");
    n = ss_graph_variable(g, ELEM_U32, 0, NULL, "n");
    ss_graph_map_linear(g, x, 1, 0, 0, 7);
    ss_graph_map_linear(g, y, 2, 0, 12, 4);
    ss_graph_map(g, b, 0);
    ss_graph_keep(g, x);
    cs = ss_graph_compute_set(g, "fill");
    for (uint32_t tile = 0; tile < 2; tile++) {
        v = ss_graph_vertex(g, cs, "fill_f32", tile);
        ss_vertex_connect(g, v, "out", ss_tensor_slice(g, x, 1, tile, tile + 2));
        ss_vertex_set_f32(g, v, "value", 0.5f);
    }
    v = ss_graph_vertex(g, cs, "copy_list_32", 3);
    ss_vertex_connect(g, v, "src", ss_tensor_slice(g, y, 0, 0, 1));
    ss_vertex_connect(g, v, "src", ss_tensor_slice(g, y, 0, 2, 4));
    in = ss_graph_stream(g, STREAM_IN, ELEM_U32, 8, 2, "numbers");
    f = ss_graph_function(g, ss_program_execute(g, cs), "step");
    ss_graph_pop(g);
    all = ss_program_sequence(g);
    body = ss_program_sequence(g);
    ss_program_add(g, body, ss_program_call(g, f));
    parts[0] = ss_tensor_slice(g, x, 0, 0, 1);
    parts[1] = ss_tensor_reshape(
        g, ss_tensor_broadcast(g, ss_tensor_reshape(g, b, SHAPE(1, 2)), 0, 3), SHAPE(1, 6));
    ss_program_add(
        g, body,
        ss_program_copy(g, ss_tensor_concat(g, parts, 2, 0), ss_tensor_slice(g, x, 0, 2, 4)));
    ss_program_add(g, all, ss_program_repeat(g, 3, body));
    io[0] = ss_program_sequence(g);
    io[1] = ss_program_stream(g, in, y);
    ss_program_add(g, all, ss_program_together(g, (unsigned[]){ 0, 1 }, io, 2));
    body = ss_program_sequence(g);
    ss_program_add(g, all, ss_program_if(g, n, body, ss_program_sequence(g)));
    body = ss_program_sequence(g);
    ss_program_add(g, all, ss_program_while(g, body, n, ss_program_sequence(g)));
    ss_graph_set_program(g, all);
    return g;
}

static const char sample_dump[] = "machine toy16 tiles 16\n"
                                  "group 0 tiles 0 to 11\n"
                                  "group 1 tiles 12 to 15\n"
                                  "scope 1 net\n"
                                  "variable 0 net/x f32 [4,6] kept\n"
                                  "    [0:24] on tiles 0 to 5, 4 each\n"
                                  "variable 1 net/y u32 [8]\n"
                                  "    [0:8] on tiles 12 to 15, 2 each\n"
                                  "constant 2 net/bias f32 [2] contents %016llx\n"
                                  "    [0:2] on tile 0\n"
                                  "variable 3 net/n u32 []\n"
                                  "    [0:1] on no tile\n"
                                  "stream 0 net/numbers in u32 [8] depth 2\n"
                                  "compute set 0 net/fill\n"
                                  "  vertex 0 fill_f32 on tile 0\n"
                                  "    out = net/x[0 + 4 by 6 + 2 by 1]\n"
                                  "    value = 0.5\n"
                                  "  vertex 1 fill_f32 on tile 1\n"
                                  "    out = net/x[1 + 4 by 6 + 2 by 1]\n"
                                  "    value = 0.5\n"
                                  "  vertex 2 copy_list_32 on tile 3\n"
                                  "    src = net/y[0:1], net/y[2:4]\n"
                                  "    dst = ?\n"
                                  "function 0 net/step\n"
                                  "  execute net/fill\n"
                                  "program\n"
                                  "  sequence\n"
                                  "    repeat 3\n"
                                  "      sequence\n"
                                  "        call net/step\n"
                                  "        copy concat(0: net/x[0:6] as [1,6], reshape([1,6]: "
                                  "net/bias[0 + 3 by 0 + 2 by 1])) to net/x[12:24] as [2,6]\n"
                                  "    together\n"
                                  "      group 0\n"
                                  "        sequence\n"
                                  "      group 1\n"
                                  "        stream net/numbers to net/y\n"
                                  "    if net/n\n"
                                  "      then\n"
                                  "        sequence\n"
                                  "      else\n"
                                  "        sequence\n"
                                  "    while net/n\n"
                                  "      condition\n"
                                  "        sequence\n"
                                  "      body\n"
                                  "        sequence\n";

static void the_dump_says_everything(void **state)
{
    struct graph *g = sample_graph();
    char expected[4096], *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    (void)state;
    assert_int_equal(ss_graph_status(g), EMU_OK);
    ss_graph_dump(g, f);
    fclose(f);
    snprintf(expected, sizeof(expected), sample_dump,
             (unsigned long long)hash64((float[]){ 1, -1 }, 8));
    assert_string_equal(text, expected);
    free(text);
    ss_tensor_index(g, (struct tensor){ 0 }, 4);
    text = NULL;
    f = open_memstream(&text, &size);
    ss_graph_dump(g, f);
    fclose(f);
    assert_non_null(
        strstr(text, "error ss_tensor_index of net/x [4,6]: 4, expected less than 4\n"));
    free(text);
    ss_graph_free(g);
}

static void every_allocation_may_fail(void **state)
{
    long blocks = alloc_live();
    unsigned failures = 0;

    (void)state;
    for (long n = 0;; n++) {
        struct graph *g;
        enum emu_status s;

        alloc_test_fail_at(n);
        s = ss_graph_new(ss_arch_preset("toy16"), &ss_kernel_library, &g);
        alloc_test_fail_at(-1);
        ss_graph_free(g);
        assert_int_equal(alloc_live(), blocks);
        if (s != EMU_OK)
            continue;
        alloc_test_fail_at(n); /* the first one after ss_graph_new() */
        g = sample_graph();
        s = ss_graph_status(g);
        alloc_test_fail_at(-1);
        ss_graph_free(g);
        assert_int_equal(alloc_live(), blocks);
        if (s == EMU_OK)
            break;
        assert_int_equal(s, EMU_NO_MEMORY);
        failures++;
    }
    print_message("%u allocations failed in turn\n", failures);
    assert_true(failures > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_paths),
        cmocka_unit_test(scopes_have_numbers),
        cmocka_unit_test(scopes_within_themselves),
        cmocka_unit_test(errors_are_sticky),
        cmocka_unit_test(contents_and_keeping),
        cmocka_unit_test(one_copy_of_a_repeated_constant_is_kept),
        cmocka_unit_test(the_last_mapping_wins),
        cmocka_unit_test(linear_mapping),
        cmocka_unit_test(small_tensors_take_turns),
        cmocka_unit_test(mapping_like_another),
        cmocka_unit_test(mapping_is_fast),
        cmocka_unit_test(fields_are_filled),
        cmocka_unit_test(mistakes_in_tensors),
        cmocka_unit_test(mistakes_in_vertices),
        cmocka_unit_test(mistakes_in_programs),
        cmocka_unit_test(the_dump_says_everything),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
