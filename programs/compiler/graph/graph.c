/* graph.c - a graph and what it knows of itself: sticky errors, names, sync groups, variables and
 * streams.
 */
#include "programs/compiler/graph/graph_private.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_GROUPS = 64 }; /* sets of groups are one word (struct step) */

unsigned ss_elem_bytes(enum elem e)
{
    static const uint8_t bytes[ELEM_COUNT] = {
        [ELEM_U8] = 1, [ELEM_F16] = 2, [ELEM_F32] = 4, [ELEM_I32] = 4, [ELEM_U32] = 4
    };

    EMU_ASSERT((unsigned)e < ELEM_COUNT);
    return bytes[e];
}

const char *ss_elem_name(enum elem e)
{
    static const char *const names[ELEM_COUNT] = { [ELEM_U8] = "u8",
                                                   [ELEM_F16] = "f16",
                                                   [ELEM_F32] = "f32",
                                                   [ELEM_I32] = "i32",
                                                   [ELEM_U32] = "u32" };

    return (unsigned)e < ELEM_COUNT ? names[e] : "?";
}

/* ---- errors ---- */

void ss_graph_fail(struct graph *g, enum emu_status s, const char *fmt, ...)
{
    char why[1024];
    va_list ap;

    if (!g)
        return;
    if (g->status != EMU_OK)
        return;
    va_start(ap, fmt);
    vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    g->status = ss_fail(s, "%s", why);
    g->error = emu_strdup(why);
}

void graph_fail_memory(struct graph *g, const char *what)
{
    if (!g)
        return;
    ss_graph_fail(g, EMU_NO_MEMORY, "a graph of %zu variables, %zu views, %zu vertices: %s",
                  g->variable.count, g->view.count, g->vertex.count, what);
}

enum emu_status ss_graph_status(const struct graph *g)
{
    if (!g)
        return FAIL(BAD_PROGRAM, "there is no graph: ss_graph_new() or ss_graph_read() has failed");
    if (g->status == EMU_OK)
        return EMU_OK;
    return ss_fail(g->status, "%s", g->error ? g->error : ss_status_text(g->status));
}

/* ---- the graph ---- */

static enum emu_status scope_add(struct graph *g, const char *path, uint32_t parent)
{
    return path ? VEC_PUSH(&g->scope, (struct scope){ .path = path, .parent = parent })
                : EMU_NO_MEMORY;
}

enum emu_status ss_graph_new(const struct arch *arch, const struct codelet_library *library,
                             struct graph **out)
{
    struct graph *g;

    *out = NULL;
    if (!arch)
        return FAIL(BAD_MACHINE,
                    "there is no machine: arch is NULL, which ss_arch_preset() gives for "
                    "a name that it does not know");
    if (!library)
        return FAIL(BAD_PROGRAM, "a graph without a library of codelets: library is NULL");
    g = emu_alloc(1, sizeof(*g));
    if (!g)
        return FAIL(NO_MEMORY, "a graph");
    g->arch = *arch;
    g->library = library;
    g->program = GRAPH_NONE;
    g->group = emu_alloc(arch->tiles, sizeof(*g->group));
    if (!g->group || scope_add(g, "", 0) != EMU_OK) {
        ss_graph_free(g);
        return FAIL(NO_MEMORY, "a graph for %u tiles", arch->tiles);
    }
    *out = g;
    return EMU_OK;
}

void ss_graph_free(struct graph *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->variable.count; i++)
        VEC_FREE(&g->variable.at[i].map);
    for (size_t i = 0; i < g->compute_set.count; i++)
        VEC_FREE(&g->compute_set.at[i].vertex);
    for (size_t i = 0; i < g->node.count; i++)
        VEC_FREE(&g->node.at[i].child);
    for (size_t i = 0; i < g->own_file.count; i++)
        ss_free((void *)g->own_file.at[i]->data);
    VEC_FREE(&g->own_file);
    VEC_FREE(&g->own);
    VEC_FREE(&g->variable);
    VEC_FREE(&g->view);
    ss_free(g->layouts.slot);
    VEC_FREE(&g->compute_set);
    VEC_FREE(&g->vertex);
    VEC_FREE(&g->field);
    VEC_FREE(&g->list);
    VEC_FREE(&g->words);
    VEC_FREE(&g->node);
    VEC_FREE(&g->function);
    VEC_FREE(&g->stream);
    VEC_FREE(&g->channel);
    VEC_FREE(&g->use);
    VEC_FREE(&g->scope);
    prog_arena_free(&g->arena);
    ss_free(g->error);
    ss_free(g->group);
    ss_free(g);
}

const struct arch *ss_graph_arch(const struct graph *g)
{
    return g ? &g->arch : NULL;
}

/* ---- scopes ---- */

uint32_t ss_graph_push(struct graph *g, const char *name)
{
    const char *path = graph_works(g) ? graph_path(g, name) : NULL;
    uint32_t id;

    if (!path)
        return 0;
    id = g->open_scope + 1;
    if (g->open_scope && path == g->scope.at[g->open_scope].path) {
        g->scope.at[g->open_scope].again++;
        return g->open_scope;
    }
    while (id < g->scope.count &&
           (g->scope.at[id].parent != g->open_scope || strcmp(g->scope.at[id].path, path)))
        id++;
    if (id == g->scope.count && scope_add(g, path, g->open_scope) != EMU_OK) {
        graph_fail_memory(g, "a name");
        return 0;
    }
    g->open_scope = id;
    return id;
}

void ss_graph_pop(struct graph *g)
{
    if (!graph_works(g))
        return;
    if (g->open_scope && g->scope.at[g->open_scope].again)
        g->scope.at[g->open_scope].again--;
    else if (g->open_scope)
        g->open_scope = g->scope.at[g->open_scope].parent;
    else
        GRAPH_FAIL(g, "ss_graph_pop without ss_graph_push");
}

uint32_t ss_graph_scopes(const struct graph *g)
{
    return g ? (uint32_t)g->scope.count : 0;
}

uint32_t ss_graph_scope_parent(const struct graph *g, uint32_t scope)
{
    return scope < ss_graph_scopes(g) ? g->scope.at[scope].parent : 0;
}

const char *ss_graph_scope_path(const struct graph *g, uint32_t scope)
{
    return scope < ss_graph_scopes(g) ? g->scope.at[scope].path : "";
}

/* The name that the open scope has within its parent. */
static const char *own_name(const struct graph *g)
{
    const struct scope *s = &g->scope.at[g->open_scope];
    const char *parent = g->scope.at[s->parent].path;

    return *parent ? s->path + strlen(parent) + 1 : s->path;
}

const char *graph_path(struct graph *g, const char *name)
{
    const char *scope = g->scope.at[g->open_scope].path;
    size_t bytes = strlen(scope) + strlen(name) + 2;
    char *s;

    if (g->open_scope && !strcmp(own_name(g), name))
        return scope;
    s = prog_alloc(&g->arena, bytes, 1);
    if (!s) {
        graph_fail_memory(g, "a name");
        return NULL;
    }
    snprintf(s, bytes, "%s%s%s", scope, *scope ? "/" : "", name);
    return s;
}

void ss_graph_set_nan_on_overflow(struct graph *g)
{
    if (graph_works(g))
        g->nan_on_overflow = 1;
}

int ss_graph_has_nan_on_overflow(const struct graph *g)
{
    return g && g->nan_on_overflow;
}

void ss_graph_take_turns(struct graph *g)
{
    if (graph_works(g))
        g->takes_turns = 1;
}

int ss_graph_takes_turns(const struct graph *g)
{
    return g && g->takes_turns;
}

uint32_t ss_graph_first_tile(struct graph *g, uint32_t count)
{
    uint32_t first = g ? g->turn : 0;

    if (ss_graph_takes_turns(g))
        g->turn = (uint32_t)(((uint64_t)g->turn + count) % ss_graph_compute_tiles(g));
    return first;
}

void ss_graph_set_group(struct graph *g, uint32_t first, uint32_t tiles, unsigned group)
{
    if (!graph_works(g))
        return;
    if (group >= MAX_GROUPS)
        GRAPH_FAIL(g, "sync group %u: expected less than %u", group, MAX_GROUPS);
    else if (first > g->arch.tiles || tiles > g->arch.tiles - first)
        GRAPH_FAIL(g, "sync group %u: tiles [%u, %llu), but the chip has %u", group, first,
                   (unsigned long long)first + tiles, g->arch.tiles);
    else
        memset(g->group + first, (int)group, tiles);
}

uint32_t ss_graph_compute_tiles(const struct graph *g)
{
    uint32_t tiles = 0;

    if (!g)
        return 0;
    while (tiles < g->arch.tiles && !g->group[tiles])
        tiles++;
    return tiles;
}

/* ---- variables ---- */

uint64_t shape_elements(unsigned rank, const uint32_t *shape)
{
    uint64_t n = 1, limit = TENSOR_MAX_ELEMENTS;

    for (unsigned k = 0; k < rank; k++)
        if (!shape[k])
            return 0;
    for (unsigned k = 0; k < rank; k++) {
        if (n > limit / shape[k])
            return UINT64_MAX;
        n *= shape[k];
    }
    return n;
}

/* A new variable; NULL after an error. The pointer is valid until the next one. */
static struct variable *variable_add(struct graph *g, enum elem e, unsigned rank,
                                     const uint32_t *shape, const char *name)
{
    struct variable v = {
        .name = graph_path(g, name), .scope = g->open_scope, .elem = e, .rank = rank
    };
    uint32_t var = (uint32_t)g->variable.count;

    if (!v.name)
        return NULL;
    if ((unsigned)e >= ELEM_COUNT) {
        GRAPH_FAIL(g, "variable %s: no element type %u", v.name, (unsigned)e);
        return NULL;
    }
    if (rank > TENSOR_MAX_RANK) {
        GRAPH_FAIL(g, "variable %s: rank %u, expected at most %u", v.name, rank, TENSOR_MAX_RANK);
        return NULL;
    }
    v.elements = shape_elements(rank, shape);
    if (v.elements == UINT64_MAX) {
        GRAPH_FAIL(g, "variable %s %s: more than 2^48 elements", v.name,
                   shape_text(rank, shape).text);
        return NULL;
    }
    for (unsigned k = 0; k < rank; k++)
        v.shape[k] = shape[k];
    if (VEC_PUSH(&g->variable, v) != EMU_OK) {
        graph_fail_memory(g, v.name);
        return NULL;
    }
    g->variable.at[var].whole.view = view_add_whole(g, var);
    return graph_works(g) ? &g->variable.at[var] : NULL;
}

struct tensor ss_graph_variable(struct graph *g, enum elem e, unsigned rank, const uint32_t *shape,
                                const char *name)
{
    struct variable *v = graph_works(g) ? variable_add(g, e, rank, shape, name) : NULL;

    return v ? v->whole : (struct tensor){ GRAPH_NONE };
}

void variable_set_contents(struct graph *g, struct variable *v, const void *data, uint64_t elements)
{
    uint64_t bytes = elements * ss_elem_bytes(v->elem);

    v->initial_elements = elements;
    v->initial = prog_memdup(&g->arena, data, bytes);
    if (!v->initial)
        ss_graph_fail(g, EMU_NO_MEMORY, "contents of %s: %llu bytes", v->name,
                      (unsigned long long)bytes);
}

struct tensor ss_graph_constant(struct graph *g, enum elem e, unsigned rank, const uint32_t *shape,
                                const void *data, const char *name)
{
    struct variable *v = graph_works(g) ? variable_add(g, e, rank, shape, name) : NULL;

    if (!v)
        return (struct tensor){ GRAPH_NONE };
    v->constant = 1;
    variable_set_contents(g, v, data, v->elements);
    return v->whole;
}

struct tensor ss_graph_constant_repeated(struct graph *g, enum elem e, unsigned rank,
                                         const uint32_t *shape, const void *data, const char *name)
{
    struct variable *v = graph_works(g) ? variable_add(g, e, rank, shape, name) : NULL;

    if (v && !rank)
        GRAPH_FAIL(g, "constant %s: a scalar has no copies", v->name);
    if (!v || !rank)
        return (struct tensor){ GRAPH_NONE };
    v->constant = 1;
    variable_set_contents(g, v, data, shape[0] ? v->elements / shape[0] : 0);
    return v->whole;
}

const void *variable_contents(const struct variable *v, uint64_t begin, uint64_t n)
{
    uint64_t at = v->initial_elements ? begin % v->initial_elements : 0;

    if (n > v->initial_elements - at)
        return NULL;
    return (const uint8_t *)v->initial + at * ss_elem_bytes(v->elem);
}

void variable_copy_contents(const struct variable *v, uint64_t begin, uint64_t n, void *to)
{
    unsigned unit = ss_elem_bytes(v->elem);
    uint8_t *out = to;

    while (n) {
        uint64_t at = begin % v->initial_elements, rest = v->initial_elements - at;
        uint64_t now = n < rest ? n : rest;

        memcpy(out, (const uint8_t *)v->initial + at * unit, now * unit);
        out += now * unit;
        begin += now;
        n -= now;
    }
}

/* The elements of a view that are still to be stored. */
struct contents {
    struct graph *g; /* borrowed */
    const uint8_t *next;
};

static enum emu_status store_run(void *ctx, const struct view_run *run)
{
    struct contents *c = ctx;
    struct variable *v = &c->g->variable.at[run->var];
    size_t unit = ss_elem_bytes(v->elem);

    if (v->constant)
        return FAIL(BAD_PROGRAM, "ss_graph_set_initial: %s is a constant", v->name);
    if (!v->initial) {
        v->initial = prog_alloc(&c->g->arena, v->elements, unit);
        v->initial_elements = v->elements;
    }
    if (!v->initial)
        return FAIL(NO_MEMORY, "contents of %s", v->name);
    memcpy((uint8_t *)v->initial + run->offset * unit, c->next, run->elements * unit);
    c->next += run->elements * unit;
    return EMU_OK;
}

void ss_graph_set_initial(struct graph *g, struct tensor t, const void *data)
{
    struct contents c = { g, data };
    enum emu_status s;

    if (!graph_has_view(g, t, "ss_graph_set_initial"))
        return;
    s = view_runs(g, t.view, 0, ss_tensor_elements(g, t), store_run, &c);
    if (s != EMU_OK)
        ss_graph_fail(g, s, "%s", ss_error());
}

static void keep_var(void *ctx, uint32_t var)
{
    struct graph *g = ctx;

    g->variable.at[var].kept = 1;
}

void ss_graph_keep(struct graph *g, struct tensor t)
{
    if (graph_has_view(g, t, "ss_graph_keep"))
        view_vars(g, t.view, keep_var, g);
}

static void input_var(void *ctx, uint32_t var)
{
    struct graph *g = ctx;

    g->variable.at[var].input = 1;
}

void ss_graph_input(struct graph *g, struct tensor t)
{
    if (graph_has_view(g, t, "ss_graph_input"))
        view_vars(g, t.view, input_var, g);
}

/* ---- streams ---- */

uint32_t ss_graph_stream(struct graph *g, enum stream_way way, enum elem e, uint64_t elements,
                         uint32_t depth, const char *name)
{
    struct stream s = { .way = way, .elem = e, .elements = elements, .depth = depth };

    if (!graph_works(g))
        return GRAPH_NONE;
    s.scope = g->open_scope;
    s.name = graph_path(g, name);
    if (!s.name)
        return GRAPH_NONE;
    if ((unsigned)e >= ELEM_COUNT || (way != STREAM_IN && way != STREAM_OUT))
        GRAPH_FAIL(g, "stream %s: no such direction or element type", s.name);
    else if (!elements || elements > TENSOR_MAX_ELEMENTS || !depth)
        GRAPH_FAIL(g, "stream %s: %llu elements, depth %u: expected at least 1 of both", s.name,
                   (unsigned long long)elements, depth);
    else if (VEC_PUSH(&g->stream, s) != EMU_OK)
        graph_fail_memory(g, s.name);
    else
        return (uint32_t)g->stream.count - 1;
    return GRAPH_NONE;
}

uint32_t ss_graph_channel(struct graph *g, enum channel_way way, enum elem e, uint64_t elements,
                          int32_t replica, const char *name)
{
    struct channel c = { .way = way, .elem = e, .elements = elements, .replica = replica };

    if (!graph_works(g))
        return GRAPH_NONE;
    c.name = prog_strdup(&g->arena, name);
    if (!c.name) {
        graph_fail_memory(g, "a channel");
        return GRAPH_NONE;
    }
    if ((unsigned)e >= ELEM_COUNT || (way != CHANNEL_SEND && way != CHANNEL_RECEIVE))
        GRAPH_FAIL(g, "channel %s: no such direction or element type", c.name);
    else if (!elements || elements > CHANNEL_BYTES_MAX / ss_elem_bytes(e))
        GRAPH_FAIL(g, "channel %s: %llu elements, expected at least 1, and less than 4 GiB", c.name,
                   (unsigned long long)elements);
    else if (replica < -CHANNEL_REPLICAS_MAX || replica > CHANNEL_REPLICAS_MAX)
        GRAPH_FAIL(g, "channel %s: %d replicas further, expected at most %d", c.name, (int)replica,
                   CHANNEL_REPLICAS_MAX);
    else if (way == CHANNEL_RECEIVE && replica)
        GRAPH_FAIL(g, "channel %s receives from replica %d: only its sender says which one", c.name,
                   (int)replica);
    for (size_t i = 0; i < g->channel.count && graph_works(g); i++)
        if (g->channel.at[i].way == way && !strcmp(g->channel.at[i].name, c.name))
            GRAPH_FAIL(g, "channel %s: the graph has one of that name and direction", c.name);
    if (graph_works(g) && VEC_PUSH(&g->channel, c) != EMU_OK)
        graph_fail_memory(g, c.name);
    return graph_works(g) ? (uint32_t)g->channel.count - 1 : GRAPH_NONE;
}

/* ---- texts ---- */

struct graph_text shape_text(unsigned rank, const uint32_t *shape)
{
    struct graph_text t = { "[" };
    size_t n = 1;

    for (unsigned k = 0; k < rank && k < TENSOR_MAX_RANK; k++)
        n += (size_t)snprintf(t.text + n, sizeof(t.text) - n, "%s%u", k ? "," : "", shape[k]);
    snprintf(t.text + n, sizeof(t.text) - n, "]");
    return t;
}

struct text_vars {
    uint32_t first, others;
};

static void count_var(void *ctx, uint32_t var)
{
    struct text_vars *t = ctx;

    if (t->first == GRAPH_NONE)
        t->first = var;
    t->others += var != t->first;
}

struct graph_text view_text(const struct graph *g, uint32_t view)
{
    const struct view *v = &g->view.at[view];
    struct text_vars vars = { GRAPH_NONE, 0 };
    struct graph_text t;

    view_vars(g, view, count_var, &vars);
    snprintf(t.text, sizeof(t.text), "%.150s%s %.90s", g->variable.at[vars.first].name,
             vars.others ? " and others" : "", shape_text(v->rank, v->shape).text);
    return t;
}

struct graph_text vertex_text(const struct graph *g, uint32_t vertex)
{
    const struct vertex *v = &g->vertex.at[vertex];
    struct graph_text t;

    snprintf(t.text, sizeof(t.text), "vertex %u (%s in compute set %.150s on tile %u)", vertex,
             v->codelet->name, g->compute_set.at[v->compute_set].name, v->tile);
    return t;
}

struct graph_text element_text(struct graph *g, uint32_t var, uint64_t element)
{
    const struct variable *v = &g->variable.at[var];
    uint32_t index[TENSOR_MAX_RANK], tile = ss_graph_tile_of(g, v->whole, element);
    struct graph_text t, place = { "no tile" };
    uint64_t rest = element;

    for (unsigned k = v->rank; k-- > 0; rest /= v->shape[k])
        index[k] = (uint32_t)(rest % v->shape[k]);
    if (tile != GRAPH_NONE)
        snprintf(place.text, sizeof(place.text), "tile %u", tile);
    snprintf(t.text, sizeof(t.text), "%.130s%.90s (%.20s)", v->name,
             shape_text(v->rank, index).text, place.text);
    return t;
}

struct graph_text node_text(const struct graph *g, uint32_t node)
{
    static const char *const names[] = { [NODE_SEQUENCE] = "sequence",
                                         [NODE_EXECUTE] = "execute",
                                         [NODE_COPY] = "copy",
                                         [NODE_REPEAT] = "repeat",
                                         [NODE_WHILE] = "while",
                                         [NODE_IF] = "if",
                                         [NODE_RARE] = "rare",
                                         [NODE_CALL] = "call",
                                         [NODE_TOGETHER] = "together",
                                         [NODE_STREAM] = "stream",
                                         [NODE_STREAM_BEGIN] = "begin of stream",
                                         [NODE_STREAM_END] = "end of stream",
                                         [NODE_CHIPS] = "exchange of chips" };
    const struct node *n = &g->node.at[node];
    struct graph_text t, what = { "" };

    if (n->kind == NODE_EXECUTE)
        snprintf(what.text, sizeof(what.text), " of %.100s", g->compute_set.at[n->a].name);
    else if (n->kind == NODE_COPY)
        snprintf(what.text, sizeof(what.text), " of %.100s to %.100s", view_text(g, n->a).text,
                 view_text(g, n->b).text);
    else if (n->kind == NODE_CALL)
        snprintf(what.text, sizeof(what.text), " of %.100s", g->function.at[n->a].name);
    else if (n->kind == NODE_STREAM || n->kind == NODE_STREAM_BEGIN || n->kind == NODE_STREAM_END)
        snprintf(what.text, sizeof(what.text), " %.100s and %.100s", g->stream.at[n->a].name,
                 view_text(g, n->b).text);
    snprintf(t.text, sizeof(t.text), "program node %u (%s%.215s)", node, names[n->kind], what.text);
    return t;
}
