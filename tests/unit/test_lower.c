/* test_lower.c - the lowering on small machines: where variables lie, which operations a program
 * becomes, live ranges to the operation, and that damage is found by lowered_check().
 */
#include "tests/unit/graph_help.h"
#include "tests/unit/lowered_run.h"

/* ---- help ---- */

/* Lowers the program p, which must be right. */
static struct lowered *lower(struct graph *g, struct program p)
{
    struct lowered *l = NULL;

    graph_set_program(g, p);
    if (graph_check(g) != EMU_OK || lower_graph(g, &l) != EMU_OK || lowered_check(l) != EMU_OK)
        fail_msg("%s", emu_error());
    return l;
}

static void done(struct graph *g, struct lowered *l)
{
    lowered_free(l);
    graph_free(g);
}

static struct tensor variable(struct graph *g, enum elem e, uint32_t n, const char *name)
{
    return graph_variable(g, e, 1, &n, name);
}

static struct tensor variable_on(struct graph *g, enum elem e, uint32_t n, const char *name,
                                 uint32_t tile)
{
    struct tensor t = variable(g, e, n, name);

    graph_map(g, t, tile);
    return t;
}

static struct tensor slice(struct graph *g, struct tensor t, uint32_t begin, uint32_t end)
{
    return tensor_slice(g, t, 0, begin, end);
}

/* A vertex dst = src in compute set cs. */
static void copy_vertex(struct graph *g, uint32_t cs, const char *codelet, uint32_t tile,
                        struct tensor src, struct tensor dst)
{
    uint32_t v = graph_vertex(g, cs, codelet, tile);

    vertex_connect(g, v, "src", src);
    vertex_connect(g, v, "dst", dst);
}

static void fill_vertex(struct graph *g, uint32_t cs, uint32_t tile, struct tensor out, float value)
{
    uint32_t v = graph_vertex(g, cs, "fill_f16", tile);

    vertex_connect(g, v, "out", out);
    vertex_set_f16(g, v, "value", value);
}

/* A compute set that copies src to dst on a tile. */
static struct program copy_set(struct graph *g, const char *name, uint32_t tile, struct tensor src,
                               struct tensor dst)
{
    uint32_t cs = graph_compute_set(g, name);

    copy_vertex(g, cs, tensor_elem(g, src) == ELEM_F16 ? "copy_16" : "copy_32", tile, src, dst);
    return program_execute(g, cs);
}

static struct program fill_set(struct graph *g, const char *name, uint32_t tile, struct tensor out)
{
    uint32_t cs = graph_compute_set(g, name);

    fill_vertex(g, cs, tile, out, 1);
    return program_execute(g, cs);
}

static struct program sequence(struct graph *g, const struct program *p, unsigned n)
{
    struct program s = program_sequence(g);

    for (unsigned i = 0; i < n; i++)
        program_add(g, s, p[i]);
    return s;
}
#define SEQUENCE(g, ...)                                                                           \
    sequence(g, (struct program[]){ __VA_ARGS__ },                                                 \
             sizeof((struct program[]){ __VA_ARGS__ }) / sizeof(struct program))

/* The n-th object of an owner (a whole name) on a tile, by number. */
static uint32_t object_of(const struct lowered *l, const char *owner, uint32_t tile, unsigned n)
{
    for (uint32_t i = 0; i < l->object.count; i++) {
        const struct object *o = &l->object.at[i];

        if (o->tile == tile && !strcmp(strings_text(&l->strings, o->owner), owner) &&
            o->category != CATEGORY_VERTEX_STATE && !n--)
            return i;
    }
    fail_msg("no object of %s on tile %u", owner, tile);
    return LOWERED_NONE;
}

/* All operations as letters, functions separated by a bar. */
static const char *ops_text(const struct lowered *l, char out[256])
{
    static const char letter[] = {
        [OP_CALLS] = 'c', [OP_EXCHANGE] = 'x', [OP_HOST] = 'h', [OP_REPEAT] = 'r', [OP_LOOP] = 'l',
        [OP_BREAK] = 'b', [OP_IF] = 'i',       [OP_ELSE] = 'e', [OP_END] = '.',    [OP_CALL] = 'f'
    };
    char *at = out;

    for (size_t i = 0; i < l->function.count; i++) {
        if (i)
            *at++ = '|';
        for (uint32_t p = 0; p < l->function.at[i].count; p++)
            *at++ = letter[l->op.at[l->function.at[i].first + p].kind];
    }
    *at = 0;
    return out;
}

static void assert_ops(const struct lowered *l, const char *ops)
{
    char text[256];

    assert_string_equal(ops_text(l, text), ops);
}

/* The live ranges of a variable's object on a tile. */
static void assert_live(const struct lowered *l, const char *owner, uint32_t tile, const char *want)
{
    const struct object *o = &l->object.at[object_of(l, owner, tile, 0)];
    const struct live_set *s = &l->live_set.at[o->live];
    char text[256] = "", *at = text;

    if (o->live == LIVE_ALWAYS)
        at += sprintf(at, "always");
    for (uint32_t i = s->first; o->live != LIVE_ALWAYS && i < s->first + s->count; i++)
        at += sprintf(at, "%s%u-%u", i > s->first ? "," : "", l->live_range.at[i].begin,
                      l->live_range.at[i].end);
    if (strcmp(text, want) != 0)
        print_error("%s on tile %u\n", owner, tile);
    assert_string_equal(text, want);
}

static const struct op *op_at(const struct lowered *l, uint32_t p, enum op_kind kind)
{
    assert_true(p < l->op.count);
    assert_int_equal(l->op.at[p].kind, kind);
    return &l->op.at[p];
}

/* ---- storage ---- */

static void variables_lie_packed(void **state)
{
    static const uint8_t bytes[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    struct graph *g = help_graph("toy4");
    struct tensor c = graph_constant(g, ELEM_U8, SHAPE(10), bytes, "c");
    struct tensor f = variable(g, ELEM_F32, 6, "f");
    const struct storage *s;
    struct lowered *l;

    (void)state;
    graph_map(g, c, 2);
    graph_map(g, slice(g, c, 3, 5), 1);
    graph_map(g, f, 3);
    graph_keep(g, f);
    l = lower(g, program_sequence(g));
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

static void unmapped_elements_are_refused(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable(g, ELEM_F32, 6, "net/x");
    struct lowered *l;

    (void)state;
    graph_map(g, slice(g, x, 0, 4), 1);
    graph_set_program(g, program_sequence(g));
    assert_int_equal(lower_graph(g, &l), EMU_BAD_PROGRAM);
    help_error_says("net/x|4 .. 6");
    graph_free(g);
}

/* ---- edges ---- */

static void local_edges_are_direct(void **state)
{
    struct graph *g = help_graph("toy4");
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
    assert_int_equal(l->codelet_used[l->call.at[0].codelet], 1);
    done(g, l);
}

/* Three tiles want the same words of a fourth; they are sent once, into the temporaries. */
static void equal_sources_are_multicast(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_U32, 32, "x", 0);
    uint32_t cs = graph_compute_set(g, "cs");
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
    l = lower(g, program_execute(g, cs));
    assert_ops(l, "xc");
    assert_int_equal(op_at(l, 0, OP_EXCHANGE)->count, 1);
    assert_int_equal(l->transfer.at[0].dests, 3); /* one temporary serves both vertices */
    assert_int_equal(l->transfer.at[0].offset, 32);
    assert_int_equal(l->transfer.at[0].bytes, 64);
    assert_live(l, "cs/src", 1, "0-2");
    assert_int_equal(l->object.at[object_of(l, "cs/src", 2, 0)].category, CATEGORY_MESSAGE_BUFFER);
    done(g, l);
}

/* Ranges that overlap in part are cut, but only where a common piece is worth a message. */
static void overlaps_are_cut(void **state)
{
    for (uint32_t common = 4; common <= 32; common += 28) {
        struct graph *g = help_graph("toy4");
        struct tensor x = variable_on(g, ELEM_U32, 128, "x", 0);
        uint32_t cs = graph_compute_set(g, "cs");
        struct lowered *l;

        copy_vertex(g, cs, "copy_32", 1, slice(g, x, 0, 64), variable_on(g, ELEM_U32, 64, "a", 1));
        copy_vertex(g, cs, "copy_32", 2, slice(g, x, 64 - common, 128 - common),
                    variable_on(g, ELEM_U32, 64, "b", 2));
        l = lower(g, program_execute(g, cs));
        assert_int_equal(op_at(l, 0, OP_EXCHANGE)->count, common == 32 ? 3 : 2);
        if (common == 32) {
            assert_int_equal(l->transfer.at[1].dests, 2);
            assert_int_equal(l->transfer.at[1].bytes, 128);
        }
        done(g, l);
    }
    (void)state;
}

/* A run that begins in the middle of a word: where the codelet does not care, the temporary begins
 * there, too, and no copy is needed; at the end of an object the rest of the word comes along. */
static void askew_runs_stay_askew(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 9, "x", 0), y = variable_on(g, ELEM_F16, 7, "y", 1);
    uint32_t cs = graph_compute_set(g, "cs");
    const struct object *s;
    struct lowered *l;

    (void)state;
    copy_vertex(g, cs, "copy_16", 1, slice(g, x, 1, 8), y);
    l = lower(g, program_execute(g, cs));
    assert_ops(l, "xc");
    assert_int_equal(l->transfer.at[0].offset, 0);
    assert_int_equal(l->transfer.at[0].bytes, 16);
    s = &l->object.at[l->call.at[0].state];
    assert_int_equal(l->word.at[s->word].value, 2);
    done(g, l);
}

/* Two tiles bring back the halves of one word, and the halves next to them survive. */
static void neighbours_in_a_word_survive(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 8, "x", 0), a = variable_on(g, ELEM_F16, 3, "a", 1),
                  b = variable_on(g, ELEM_F16, 1, "b", 2);
    uint32_t cs = graph_compute_set(g, "cs");
    uint16_t data[8] = { 10, 11, 12, 13, 14, 15, 16, 17 }, more[3] = { 20, 21, 22 };
    struct lowered_run *r;
    struct lowered *l;

    (void)state;
    copy_vertex(g, cs, "copy_16", 1, a, slice(g, x, 1, 4));
    copy_vertex(g, cs, "copy_16", 2, b, slice(g, x, 4, 5));
    graph_keep(g, x);
    graph_keep(g, a);
    graph_keep(g, b);
    l = lower(g, program_execute(g, cs));
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
    struct graph *g = help_graph("toy4");
    struct tensor all = variable_on(g, ELEM_F16, 1024, "all", 1),
                  w = variable_on(g, ELEM_F16, 256, "w", 1);
    uint32_t cs = graph_compute_set(g, "cs"), v = graph_vertex(g, cs, "matmul_f16", 1), o, t;
    struct lowered *l;

    (void)state;
    graph_keep(g, all);
    vertex_connect(g, v, "in", slice(g, all, 0, 256));
    vertex_connect(g, v, "out", slice(g, all, 512, 768));
    vertex_connect(g, v, "weights", w);
    vertex_set_u32(g, v, "kb", 1);
    vertex_set_u32(g, v, "nb", 1);
    vertex_set_u32(g, v, "f", 16);
    l = lower(g, program_execute(g, cs));
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
    struct graph *g = help_graph("toy4");
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
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_U32, 8, "x", 1);
    struct lowered *l = lower(g, copy_set(g, "cs", 2, slice(g, x, 4, 4), slice(g, x, 2, 2)));
    const struct object *s = &l->object.at[l->call.at[0].state];

    (void)state;
    assert_ops(l, "c");
    assert_int_equal(l->word.at[s->word].object, LOWERED_NONE);
    assert_int_equal(l->word.at[s->word].value, graph_arch(g)->mem_base);
    assert_int_equal(l->word.at[s->word + 2].value, 0);
    done(g, l);
}

static void lists_become_tables(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_U32, 8, "x", 1), y = variable_on(g, ELEM_U32, 8, "y", 2),
                  z = variable_on(g, ELEM_U32, 8, "z", 1);
    uint32_t cs = graph_compute_set(g, "cs"), v = graph_vertex(g, cs, "copy_list_32", 1);
    const struct object *s, *table;
    struct lowered *l;

    (void)state;
    vertex_connect(g, v, "src", slice(g, x, 1, 4));
    vertex_connect(g, v, "src", slice(g, y, 3, 5));
    vertex_connect(g, v, "dst", slice(g, z, 0, 3));
    vertex_connect(g, v, "dst", slice(g, z, 5, 7));
    l = lower(g, program_execute(g, cs));
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
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 8, "x", 1), y = variable_on(g, ELEM_F16, 8, "y", 1);
    struct lowered *l = lower(g, program_copy(g, x, y));

    (void)state;
    assert_ops(l, "c");
    assert_string_equal(codelet_table[l->call.at[0].codelet].name, "copy_64");
    done(g, l);
}

/* Onto a part of itself: what is overwritten goes through a buffer. */
static void shifts_are_staged(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable(g, ELEM_U32, 12, "x");
    uint32_t data[12], want[12];
    struct lowered_run *r;
    struct lowered *l;

    (void)state;
    graph_map(g, x, 1);
    graph_map(g, slice(g, x, 6, 12), 2);
    graph_keep(g, x);
    l = lower(g, program_copy(g, slice(g, x, 0, 11), slice(g, x, 1, 12)));
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
        struct graph *g = help_graph("toy4");
        struct tensor a = variable_on(g, ELEM_F16, 8, "a", 0),
                      b = variable_on(g, ELEM_F16, 8, "b", 1),
                      c = variable_on(g, ELEM_F16, 16, "c", 2), half = slice(g, c, 0, 8);
        struct program p = program_copy(g, a, half), q;
        struct lowered *l;

        q = dependent == 2 ? program_copy(g, b, a)    /* writes what p reads */
            : dependent    ? program_copy(g, half, b) /* reads what p writes */
                           : program_copy(g, b, slice(g, c, 8, 16));
        l = lower(g, SEQUENCE(g, p, SEQUENCE(g, q)));
        assert_ops(l, dependent ? "xx" : "x");
        done(g, l);
    }
    (void)state;
}

/* ---- liveness ---- */

/* x is needed from its fill to its last reader; each round of the loop replaces z, and y is carried
 * round it. */
static void loops_carry_values(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 1), y = variable_on(g, ELEM_F16, 4, "y", 1),
                  z = variable_on(g, ELEM_F16, 4, "z", 1), w = variable_on(g, ELEM_F16, 4, "w", 1);
    struct program body = SEQUENCE(g, copy_set(g, "c", 1, y, z), copy_set(g, "d", 1, z, y));
    struct lowered *l;

    (void)state;
    l = lower(g, SEQUENCE(g, fill_set(g, "a", 1, x), copy_set(g, "b", 1, x, y),
                          program_repeat(g, 10, body), copy_set(g, "e", 1, y, w)));
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
        struct graph *g = help_graph("toy4");
        struct tensor x = variable_on(g, ELEM_F16, 8, "x", 1),
                      y = variable_on(g, ELEM_F16, 8, "y", 1);
        uint32_t cs = graph_compute_set(g, "cs");
        struct program body;
        struct lowered *l;

        fill_vertex(g, cs, 1, slice(g, x, 0, 3), 1);
        fill_vertex(g, cs, 1, slice(g, x, 3, written), 2);
        body = SEQUENCE(g, program_execute(g, cs), copy_set(g, "d", 1, x, y));
        l = lower(g, SEQUENCE(g, fill_set(g, "a", 1, x), program_repeat(g, 3, body)));
        assert_ops(l, "crcc.");
        assert_live(l, "x", 1, written == 8 ? "0-1,2-4" : "0-5");
        done(g, l);
    }
    (void)state;
}

/* A fetch by exchange and a local copy together replace a variable: they are one step. */
static void steps_replace_together(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor a = variable_on(g, ELEM_F16, 4, "a", 1), b = variable_on(g, ELEM_F16, 4, "b", 2),
                  x = variable_on(g, ELEM_F16, 8, "x", 1), y = variable_on(g, ELEM_F16, 8, "y", 1);
    struct tensor both = tensor_concat(g, (struct tensor[]){ a, b }, 2, 0);
    struct program body = SEQUENCE(g, program_copy(g, both, x), copy_set(g, "c", 1, x, y));
    struct lowered *l;

    (void)state;
    graph_keep(g, a);
    graph_keep(g, b);
    l = lower(g, SEQUENCE(g, fill_set(g, "f", 1, x), program_repeat(g, 3, body)));
    assert_ops(l, "crxcc.");
    assert_live(l, "x", 1, "0-1,2-5");
    assert_live(l, "a", 1, "always");
    done(g, l);
}

/* On one path x is written, on the other y is read. */
static void branches_join(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor p = variable_on(g, ELEM_U32, 1, "p", 1), x = variable_on(g, ELEM_F16, 4, "x", 1),
                  y = variable_on(g, ELEM_F16, 4, "y", 1), z = variable_on(g, ELEM_F16, 4, "z", 1);
    struct lowered *l;

    (void)state;
    graph_keep(g, p);
    l = lower(g, SEQUENCE(g, fill_set(g, "a", 1, x), fill_set(g, "b", 1, y),
                          program_if(g, tensor_index(g, p, 0), fill_set(g, "c", 1, x),
                                     copy_set(g, "d", 1, y, x)),
                          copy_set(g, "e", 1, x, z)));
    assert_ops(l, "ccicec.c"); /* a b if c else d end e: the predicate lies on the only tile */
    assert_live(l, "x", 1, "0-1,3-8");
    assert_live(l, "y", 1, "1-3,5-6");
    assert_live(l, "z", 1, "7-8");
    assert_int_equal(l->predicate.at[op_at(l, 2, OP_IF)->predicate], object_of(l, "p", 1, 0));
    done(g, l);
}

/* What one caller needs behind a function lives in it, but not at the other caller. */
static void functions_keep_callers_apart(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 1), y = variable_on(g, ELEM_F16, 4, "y", 1),
                  u = variable_on(g, ELEM_F16, 4, "u", 1), v = variable_on(g, ELEM_F16, 4, "v", 1);
    uint32_t f = graph_function(g, copy_set(g, "body", 1, x, y), "f");
    struct lowered *l;

    (void)state;
    l = lower(g, SEQUENCE(g, fill_set(g, "a", 1, x), program_call(g, f), copy_set(g, "b", 1, y, v),
                          fill_set(g, "c", 1, u), program_call(g, f), copy_set(g, "d", 1, u, v)));
    assert_ops(l, "cfccfc|c");
    assert_live(l, "x", 1, "0-5,6-7"); /* read by both calls */
    assert_live(l, "y", 1, "1-3,6-7"); /* nobody wants it behind the second */
    assert_live(l, "u", 1, "3-7");     /* through the second call, and so in the function */
    assert_live(l, "v", 1, "2-3,5-6");
    done(g, l);
}

/* A value that is read but never written lives nowhere else. */
static void unwritten_values_do_not_live(void **state)
{
    struct graph *g = help_graph("toy4");
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
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 1), y = variable_on(g, ELEM_F16, 4, "y", 1),
                  k = variable_on(g, ELEM_F16, 4, "k", 1);
    uint32_t a, b, c;
    struct lowered *l;

    (void)state;
    graph_keep(g, k);
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
    struct graph *g = help_graph("toy4");
    struct tensor p = variable_on(g, ELEM_I32, 2, "p", 2), x = variable_on(g, ELEM_F16, 4, "x", 0),
                  y = variable_on(g, ELEM_F16, 4, "y", 1);
    struct lowered *l;
    uint32_t at;

    (void)state;
    graph_keep(g, p);
    l = lower(
        g, program_while(g, fill_set(g, "a", 0, x), tensor_index(g, p, 0), fill_set(g, "b", 1, y)));
    assert_ops(l, "lcxbc.");
    at = op_at(l, 3, OP_BREAK)->predicate;
    assert_int_equal(l->predicate.at[at + 2], object_of(l, "p", 2, 0));
    assert_int_equal(l->transfer.count, 1);
    assert_int_equal(l->transfer.at[0].dests, 2);
    assert_live(l, "predicate", 0, "2-4");
    done(g, l);

    g = help_graph("toy4"); /* the second element: its own tile needs a copy, too */
    p = variable_on(g, ELEM_I32, 2, "p", 2);
    x = variable_on(g, ELEM_F16, 4, "x", 0);
    graph_keep(g, p);
    l = lower(g, program_if(g, tensor_index(g, p, 1), fill_set(g, "a", 0, x), program_sequence(g)));
    assert_ops(l, "xcice.");
    assert_live(l, "predicate", 2, "1-3");
    done(g, l);
}

static void parts_carry_their_group(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 0), y = variable_on(g, ELEM_F16, 4, "y", 3);
    uint32_t f;
    struct lowered *l;

    (void)state;
    graph_set_group(g, 2, 2, 5);
    f = graph_function(g, program_sequence(g), "nothing");
    l = lower(g, SEQUENCE(g,
                          program_together(g, (unsigned[]){ 0, 5 },
                                           (struct program[]){ SEQUENCE(g, fill_set(g, "a", 0, x),
                                                                        program_call(g, f)),
                                                               fill_set(g, "b", 3, y) },
                                           2),
                          program_copy(g, x, y)));
    assert_ops(l, "cfcx|");
    assert_true(l->groups == (1u | 1u << 5));
    assert_true(l->op.at[0].groups == 1u && l->op.at[1].groups == 1u);
    assert_true(l->op.at[2].groups == 1u << 5 && l->op.at[3].groups == l->groups);
    done(g, l);
}

/* The same function for all and for one group becomes two. */
static void functions_are_made_per_groups(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 0), y = variable_on(g, ELEM_F16, 4, "y", 3);
    uint32_t f;
    struct lowered *l;

    (void)state;
    graph_set_group(g, 3, 1, 1);
    f = graph_function(g, fill_set(g, "a", 0, x), "f");
    l = lower(g,
              SEQUENCE(g, program_call(g, f), program_call(g, f),
                       program_together(
                           g, (unsigned[]){ 0, 1 },
                           (struct program[]){ program_call(g, f), fill_set(g, "b", 3, y) }, 2)));
    assert_ops(l, "fffc|c|c");
    assert_int_equal(l->op.at[1].n, 1);
    assert_int_equal(l->op.at[2].n, 2);
    assert_int_equal(l->op.at[l->function.at[1].first].first,
                     l->op.at[l->function.at[2].first].first); /* the calls are stored once */
    done(g, l);
}

static void empty_bodies_vanish(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 4, "x", 0);
    struct lowered *l;

    (void)state;
    l = lower(g, SEQUENCE(g, program_repeat(g, 0, fill_set(g, "a", 0, x)),
                          program_repeat(g, 5, program_sequence(g)),
                          program_copy(g, slice(g, x, 1, 1), slice(g, x, 2, 2)),
                          program_copy(g, x, x)));
    assert_ops(l, "");
    done(g, l);
}

/* Eleven bytes on two tiles; in: through buffers where words are shared, out: with padding. */
static void streams_move_whole_words(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable(g, ELEM_U8, 11, "x"), part;
    uint32_t in, out;
    uint8_t data[11] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    const struct stream_layout *s;
    const struct host_request *h;
    struct lowered_run *r;
    struct lowered *l;

    (void)state;
    graph_map(g, x, 2);
    graph_map(g, slice(g, x, 3, 7), 1);
    graph_keep(g, x);
    part = slice(g, x, 1, 11);
    in = graph_stream(g, STREAM_IN, ELEM_U8, 11, 2, "in");
    out = graph_stream(g, STREAM_OUT, ELEM_U8, 10, 2, "out");
    l = lower(g, SEQUENCE(g, program_stream(g, in, x), program_stream(g, out, part)));
    assert_ops(l, "hh");
    h = &l->host_request.at[op_at(l, 1, OP_HOST)->first];
    s = &l->stream_layout.at[l->op.at[1].n];
    assert_int_equal(h[0].tile, 1);
    assert_int_equal(h[0].bytes, 4);
    assert_int_equal(h[1].tile, 2);
    assert_int_equal(h[1].offset, 0); /* with the byte before */
    assert_int_equal(h[1].bytes, 8);
    assert_int_equal(s->pieces, 5); /* 2.. of tile 1; padding, 0 and 1, 6.., padding of tile 2 */
    assert_true(l->stream_piece.at[s->first].element == 2);
    assert_true(l->stream_piece.at[s->first + 1].element == UINT64_MAX);
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
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 8, "x", 2);
    uint32_t in = graph_stream(g, STREAM_IN, ELEM_F16, 3, 2, "in");
    struct lowered *l;

    (void)state;
    l = lower(g, program_stream(g, in, slice(g, x, 1, 4)));
    assert_ops(l, "hc");
    assert_live(l, "in", 2, "0-2");
    assert_int_equal(l->host_request.at[0].bytes, 8);
    done(g, l);
}

/* ---- damage ---- */

/* Two copies, one of them by a vertex; `break_it` spoils the lowered program. */
static void check_finds(void (*break_it)(struct lowered *l), const char *says)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable_on(g, ELEM_F16, 8, "x", 0), y = variable_on(g, ELEM_F16, 8, "y", 1),
                  z = variable_on(g, ELEM_F16, 8, "z", 1);
    struct lowered *l;

    l = lower(g, SEQUENCE(g, fill_set(g, "a", 0, x),
                          program_repeat(g, 3, SEQUENCE(g, program_copy(g, x, y))),
                          copy_set(g, "b", 1, y, z)));
    assert_ops(l, "crx.c");
    break_it(l);
    assert_int_equal(lowered_check(l), EMU_BAD_PROGRAM);
    help_error_says(says);
    done(g, l);
}

static void break_offset(struct lowered *l)
{
    l->transfer.at[0].offset = 4;
}

static void break_word(struct lowered *l)
{
    l->transfer.at[0].bytes = 14;
}

static void break_self(struct lowered *l)
{
    l->transfer_dest.at[0].object = object_of(l, "x", 0, 0);
}

static void break_life(struct lowered *l)
{
    l->live_range.at[l->live_set.at[l->object.at[object_of(l, "y", 1, 0)].live].first].end = 4;
}

static void break_end(struct lowered *l)
{
    l->op.at[3].kind = OP_ELSE;
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
    l->op.at[2].groups = 2;
}

static void break_align(struct lowered *l)
{
    l->object.at[0].align = 12;
}

static void break_twice(struct lowered *l)
{
    struct transfer t = l->transfer.at[0];

    assert_int_equal(VEC_PUSH(&l->transfer, t), EMU_OK);
    l->op.at[2].count = 2;
}

static void break_storage(struct lowered *l)
{
    l->storage_run.at[1].begin = 1;
}

static void damage_is_found(void **state)
{
    (void)state;
    check_finds(break_offset, "operation 2|copy to y|bytes 4 .. 20");
    check_finds(break_word, "bytes 0 .. 14");
    check_finds(break_self, "tile 0 twice");
    check_finds(break_life, "operation 4 (b)|(y) is not alive");
    check_finds(break_end, "operation 3");
    check_finds(break_state, "copy_16 on tile 0");
    check_finds(break_pointer, "points to byte 16");
    check_finds(break_place, "field src needs multiples of 2, byte 3");
    check_finds(break_groups, "groups 2");
    check_finds(break_align, "multiples of 12");
    check_finds(break_twice, "stored twice");
    check_finds(break_storage, "y");
}

/* Whatever allocation fails, the lowering says so and leaves nothing behind. */
static void failing_memory_is_reported(void **state)
{
    struct graph *g = help_graph("toy4");
    struct tensor x = variable(g, ELEM_F16, 40, "x"), p = variable_on(g, ELEM_U32, 1, "p", 1);
    uint32_t cs = graph_compute_set(g, "cs");
    struct lowered *l = NULL;
    long live;

    (void)state;
    graph_map_linear(g, x, 3, 1, 0, 4);
    copy_vertex(g, cs, "copy_16", 2, slice(g, x, 1, 14), slice(g, x, 17, 30));
    graph_set_program(
        g, SEQUENCE(g, program_copy(g, slice(g, x, 0, 30), slice(g, x, 3, 33)),
                    program_if(g, tensor_index(g, p, 0), program_execute(g, cs),
                               program_call(g, graph_function(g, program_sequence(g), "f")))));
    assert_int_equal(graph_check(g), EMU_OK);
    live = alloc_live();
    for (long n = 0;; n++) {
        enum emu_status s;

        alloc_test_fail_at(n);
        s = lower_graph(g, &l);
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
        cmocka_unit_test(variables_lie_packed),
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
        cmocka_unit_test(loops_carry_values),
        cmocka_unit_test(whole_writes_end_a_life),
        cmocka_unit_test(steps_replace_together),
        cmocka_unit_test(branches_join),
        cmocka_unit_test(functions_keep_callers_apart),
        cmocka_unit_test(unwritten_values_do_not_live),
        cmocka_unit_test(live_sets_meet_or_not),
        cmocka_unit_test(predicates_reach_all_tiles),
        cmocka_unit_test(parts_carry_their_group),
        cmocka_unit_test(functions_are_made_per_groups),
        cmocka_unit_test(empty_bodies_vanish),
        cmocka_unit_test(streams_move_whole_words),
        cmocka_unit_test(askew_streams_use_buffers),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(failing_memory_is_reported),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
