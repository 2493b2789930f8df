/* lower_help.h - what tests of the lowering share: small graphs in a few words, and questions to
 * what they became.
 */
#ifndef TESTS_LOWER_HELP_H
#define TESTS_LOWER_HELP_H

#include "tests/unit/graph_help.h"
#include "tests/unit/lowered_run.h"

/* Lowers the program p, which must be right. */
static inline struct lowered *lower(struct graph *g, struct program p)
{
    struct lowered *l = NULL;

    graph_set_program(g, p);
    if (graph_check(g) != EMU_OK || lower_graph(g, &l) != EMU_OK || lowered_check(l) != EMU_OK)
        fail_msg("%s", emu_error());
    return l;
}

static inline void done(struct graph *g, struct lowered *l)
{
    lowered_free(l);
    graph_free(g);
}

static inline struct tensor variable(struct graph *g, enum elem e, uint32_t n, const char *name)
{
    return graph_variable(g, e, 1, &n, name);
}

static inline struct tensor variable_on(struct graph *g, enum elem e, uint32_t n, const char *name,
                                        uint32_t tile)
{
    struct tensor t = variable(g, e, n, name);

    graph_map(g, t, tile);
    return t;
}

static inline struct tensor slice(struct graph *g, struct tensor t, uint32_t begin, uint32_t end)
{
    return tensor_slice(g, t, 0, begin, end);
}

/* A vertex dst = src in compute set cs. */
static inline void copy_vertex(struct graph *g, uint32_t cs, const char *codelet, uint32_t tile,
                               struct tensor src, struct tensor dst)
{
    uint32_t v = graph_vertex(g, cs, codelet, tile);

    vertex_connect(g, v, "src", src);
    vertex_connect(g, v, "dst", dst);
}

static inline void fill_vertex(struct graph *g, uint32_t cs, uint32_t tile, struct tensor out,
                               float value)
{
    uint32_t v = graph_vertex(g, cs, "fill_f16", tile);

    vertex_connect(g, v, "out", out);
    vertex_set_f16(g, v, "value", value);
}

/* A compute set that copies src to dst on a tile. */
static inline struct program copy_set(struct graph *g, const char *name, uint32_t tile,
                                      struct tensor src, struct tensor dst)
{
    uint32_t cs = graph_compute_set(g, name);

    copy_vertex(g, cs, tensor_elem(g, src) == ELEM_F16 ? "copy_16" : "copy_32", tile, src, dst);
    return program_execute(g, cs);
}

static inline struct program fill_set(struct graph *g, const char *name, uint32_t tile,
                                      struct tensor out)
{
    uint32_t cs = graph_compute_set(g, name);

    fill_vertex(g, cs, tile, out, 1);
    return program_execute(g, cs);
}

static inline struct program sequence(struct graph *g, const struct program *p, unsigned n)
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
static inline uint32_t object_of(const struct lowered *l, const char *owner, uint32_t tile,
                                 unsigned n)
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
static inline const char *ops_text(const struct lowered *l, char out[256])
{
    static const char letter[] = {
        [OP_CALLS] = 'c', [OP_EXCHANGE] = 'x', [OP_HOST] = 'h', [OP_REPEAT] = 'r', [OP_LOOP] = 'l',
        [OP_BREAK] = 'b', [OP_IF] = 'i',       [OP_ELSE] = 'e', [OP_END] = '.',    [OP_CALL] = 'f',
        [OP_AWAIT] = 'a'
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

static inline void assert_ops(const struct lowered *l, const char *ops)
{
    char text[256];

    assert_string_equal(ops_text(l, text), ops);
}

/* The live ranges of a variable's object on a tile. */
static inline void assert_live(const struct lowered *l, const char *owner, uint32_t tile,
                               const char *want)
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

static inline const struct op *op_at(const struct lowered *l, uint32_t p, enum op_kind kind)
{
    assert_true(p < l->op.count);
    assert_int_equal(l->op.at[p].kind, kind);
    return &l->op.at[p];
}

#endif
