/* interpreter.c - what a graph means: its program run on host memory, one array per variable.
 *
 * Written to be read, not to be fast. Vertices see their edges as contiguous copies, which are
 * gathered before and scattered after each of them; a copy reads everything before it writes.
 * Memory that has not been written is zero.
 */
#include <inttypes.h>
#include <string.h>

#include "programs/compiler/graph/host_view.h"

enum { EDGE_ALIGN = 16 };

/* Transfers that one ss_interpreter_feed() brought. */
struct feed {
    const uint8_t *data; /* borrowed */
    uint64_t transfers;
};

struct interpreter_stream {
    VEC(struct feed) feed;
    size_t current; /* feed that the next transfer comes from */
    uint64_t taken; /* transfers of it */
    uint64_t total; /* transfers so far, in or out */
    uint8_t *out;   /* owned: what came out */
    size_t cap;
};

struct interpreter {
    struct graph *g; /* borrowed */
    uint8_t **data;  /* owned, of each variable: its elements */
    struct interpreter_stream *stream;
    uint64_t steps, max_steps;
    struct prog_arena scratch; /* copies of the edges of a vertex, of one copy */
};

/* ---- construction ---- */

static size_t variable_bytes(const struct variable *v)
{
    return (size_t)v->elements * ss_elem_bytes(v->elem);
}

static enum emu_status init_variables(struct interpreter *p)
{
    const struct graph *g = p->g;

    p->data = emu_alloc(g->variable.count + 1, sizeof(*p->data));
    p->stream = emu_alloc(g->stream.count + 1, sizeof(*p->stream));
    if (!p->data || !p->stream)
        return FAIL(NO_MEMORY, "an interpreter");
    for (size_t i = 0; i < g->variable.count; i++) {
        const struct variable *v = &g->variable.at[i];

        p->data[i] = emu_alloc(variable_bytes(v) + 1, 1);
        if (!p->data[i])
            return FAIL(NO_MEMORY, "%zu bytes of variable %s", variable_bytes(v), v->name);
        if (v->initial)
            variable_copy_contents(v, 0, v->elements, p->data[i]);
    }
    return EMU_OK;
}

enum emu_status ss_interpreter_new(struct graph *g, struct interpreter **out)
{
    struct interpreter *p;
    enum emu_status s;

    *out = NULL;
    TRY(ss_graph_status(g));
    p = emu_alloc(1, sizeof(*p));
    if (!p)
        return FAIL(NO_MEMORY, "an interpreter");
    p->g = g;
    s = init_variables(p);
    if (s != EMU_OK) {
        ss_interpreter_free(p);
        return s;
    }
    *out = p;
    return EMU_OK;
}

void ss_interpreter_free(struct interpreter *p)
{
    if (!p)
        return;
    for (size_t i = 0; p->data && i < p->g->variable.count; i++)
        ss_free(p->data[i]);
    for (size_t i = 0; p->stream && i < p->g->stream.count; i++) {
        VEC_FREE(&p->stream[i].feed);
        ss_free(p->stream[i].out);
    }
    prog_arena_free(&p->scratch);
    ss_free(p->data);
    ss_free(p->stream);
    ss_free(p);
}

/* ---- views ---- */

/* Bytes of a view on their way out of variables or into them, in the order of the view. */
struct mover {
    struct interpreter *p;
    uint8_t *at;
};

static uint8_t *run_bytes(const struct mover *m, const struct view_run *run, size_t *bytes)
{
    unsigned size = ss_elem_bytes(m->p->g->variable.at[run->var].elem);

    *bytes = (size_t)run->elements * size;
    return m->p->data[run->var] + (size_t)run->offset * size;
}

static enum emu_status gather_run(void *ctx, const struct view_run *run)
{
    struct mover *m = ctx;
    size_t bytes;
    const uint8_t *from = run_bytes(m, run, &bytes);

    memcpy(m->at, from, bytes);
    m->at += bytes;
    return EMU_OK;
}

static enum emu_status scatter_run(void *ctx, const struct view_run *run)
{
    struct mover *m = ctx;
    size_t bytes;
    uint8_t *to = run_bytes(m, run, &bytes);

    memcpy(to, m->at, bytes);
    m->at += bytes;
    return EMU_OK;
}

static enum emu_status gather(struct interpreter *p, uint32_t view, void *data)
{
    struct mover m = { p, data };

    return view_runs(p->g, view, 0, p->g->view.at[view].elements, gather_run, &m);
}

static enum emu_status scatter(struct interpreter *p, uint32_t view, const void *data)
{
    struct mover m = { p, (uint8_t *)(uintptr_t)data };

    return view_runs(p->g, view, 0, p->g->view.at[view].elements, scatter_run, &m);
}

/* Zeroed scratch for the elements of a view, aligned; valid until the vertex or copy is over. */
static enum emu_status view_room(struct interpreter *p, uint32_t view, void **out)
{
    const struct view *v = &p->g->view.at[view];
    size_t bytes = (size_t)v->elements * ss_elem_bytes(v->elem);

    *out = prog_alloc(&p->scratch, bytes / EDGE_ALIGN + 1, EDGE_ALIGN);
    return *out ? EMU_OK : FAIL(NO_MEMORY, "%zu bytes of a view", bytes);
}

static enum emu_status gather_new(struct interpreter *p, uint32_t view, void **out)
{
    TRY(view_room(p, view, out));
    return gather(p, view, *out);
}

/* ---- vertices ---- */

static enum emu_status list_argument(struct interpreter *p, const struct vertex_field *f,
                                     enum field_kind kind, struct codelet_arg *arg)
{
    struct codelet_run *run = prog_alloc(&p->scratch, (size_t)f->count + 1, sizeof(*run));

    if (!run)
        return FAIL(NO_MEMORY, "a list of %" PRIu32 " runs", f->count);
    for (uint32_t i = 0; i < f->count; i++) {
        uint32_t view = p->g->list.at[f->first + i];

        run[i].elements = (uint32_t)p->g->view.at[view].elements;
        TRY(kind == FIELD_IN_LIST ? gather_new(p, view, &run[i].data)
                                  : view_room(p, view, &run[i].data));
    }
    arg->list = run;
    arg->elements = f->count;
    return EMU_OK;
}

static enum emu_status words_argument(struct interpreter *p, const struct vertex_field *f,
                                      struct codelet_arg *arg)
{
    arg->elements = f->count;
    arg->data = prog_alloc(&p->scratch, (size_t)f->count + 1, sizeof(uint32_t));
    if (!arg->data)
        return FAIL(NO_MEMORY, "a list of %" PRIu32 " words", f->count);
    if (f->count)
        memcpy(arg->data, p->g->words.at + f->first, f->count * sizeof(uint32_t));
    return EMU_OK;
}

static enum emu_status edge_argument(struct interpreter *p, const struct vertex_field *f,
                                     enum field_kind kind, struct codelet_arg *arg)
{
    if (f->view == GRAPH_NONE)
        return EMU_OK;
    arg->elements = (uint32_t)p->g->view.at[f->view].elements;
    return kind == FIELD_OUT ? view_room(p, f->view, &arg->data)
                             : gather_new(p, f->view, &arg->data);
}

static enum emu_status gather_fields(struct interpreter *p, const struct vertex *v,
                                     struct codelet_call *call)
{
    const struct codelet *c = v->codelet;
    const struct vertex_field *field = p->g->field.at + v->field;

    for (unsigned i = 0; i < c->fields; i++) {
        enum field_kind kind = c->field[i].kind;

        call->arg[i].value = field[i].value;
        if (field_is_list(kind))
            TRY(list_argument(p, &field[i], kind, &call->arg[i]));
        else if (field_is_edge(kind))
            TRY(edge_argument(p, &field[i], kind, &call->arg[i]));
        else if (kind == FIELD_WORDS)
            TRY(words_argument(p, &field[i], &call->arg[i]));
    }
    for (unsigned i = 0; i < c->fields; i++) {
        int other =
            c->field[i].kind == FIELD_LENGTH ? codelet_field_find(c, c->field[i].other) : -1;

        if (other >= 0)
            call->arg[i].value = call->arg[other].elements;
    }
    return EMU_OK;
}

static enum emu_status scatter_fields(struct interpreter *p, const struct vertex *v,
                                      const struct codelet_call *call)
{
    const struct vertex_field *field = p->g->field.at + v->field;

    for (unsigned i = 0; i < v->codelet->fields; i++) {
        enum field_kind kind = v->codelet->field[i].kind;

        if (!field_is_written(kind))
            continue;
        for (uint32_t k = 0; field_is_list(kind) && k < field[i].count; k++)
            TRY(scatter(p, p->g->list.at[field[i].first + k], call->arg[i].list[k].data));
        if (field_is_edge(kind) && field[i].view != GRAPH_NONE)
            TRY(scatter(p, field[i].view, call->arg[i].data));
    }
    return EMU_OK;
}

static enum emu_status run_vertex(struct interpreter *p, const struct vertex *v)
{
    struct codelet_call call = { .arch = &p->g->arch };
    enum emu_status s;

    if (!v->codelet->ref)
        return FAIL(BAD_PROGRAM, "codelet %s has no meaning in C that could be interpreted",
                    v->codelet->name);
    s = gather_fields(p, v, &call);
    if (s == EMU_OK) {
        v->codelet->ref(&call);
        s = scatter_fields(p, v, &call);
    }
    prog_arena_free(&p->scratch);
    return s;
}

static enum emu_status run_compute_set(struct interpreter *p, uint32_t number)
{
    const struct compute_set *set = &p->g->compute_set.at[number];

    for (size_t i = 0; i < set->vertex.count; i++)
        TRY(run_vertex(p, &p->g->vertex.at[set->vertex.at[i]]));
    return EMU_OK;
}

/* ---- copies and streams ---- */

static enum emu_status run_copy(struct interpreter *p, uint32_t from, uint32_t to)
{
    void *data;
    enum emu_status s = gather_new(p, from, &data);

    if (s == EMU_OK)
        s = scatter(p, to, data);
    prog_arena_free(&p->scratch);
    return s;
}

static size_t transfer_bytes(const struct stream *s)
{
    return (size_t)s->elements * ss_elem_bytes(s->elem);
}

static enum emu_status stream_in(struct interpreter *p, const struct stream *s,
                                 struct interpreter_stream *state, uint32_t view)
{
    while (state->current < state->feed.count &&
           state->taken == state->feed.at[state->current].transfers) {
        state->current++;
        state->taken = 0;
    }
    if (state->current == state->feed.count)
        return FAIL(FAULT, "stream %s: the data end after %" PRIu64 " transfers", s->name,
                    state->total);
    TRY(scatter(p, view, state->feed.at[state->current].data + state->taken * transfer_bytes(s)));
    state->taken++;
    state->total++;
    return EMU_OK;
}

static enum emu_status stream_out(struct interpreter *p, const struct stream *s,
                                  struct interpreter_stream *state, uint32_t view)
{
    size_t bytes = transfer_bytes(s), used = (size_t)state->total * bytes;

    if (state->cap - used < bytes || !state->out) {
        size_t cap = 2 * (used + bytes) + 1;
        uint8_t *grown = emu_realloc(state->out, cap, 1);

        if (!grown)
            return FAIL(NO_MEMORY, "%zu bytes of stream %s", cap, s->name);
        state->out = grown;
        state->cap = cap;
    }
    TRY(gather(p, view, state->out + used));
    state->total++;
    return EMU_OK;
}

static enum emu_status run_stream(struct interpreter *p, uint32_t stream, uint32_t view)
{
    const struct stream *s = &p->g->stream.at[stream];
    struct interpreter_stream *state = &p->stream[stream];

    return s->way == STREAM_IN ? stream_in(p, s, state, view) : stream_out(p, s, state, view);
}

/* ---- control flow ---- */

static enum emu_status read_predicate(struct interpreter *p, uint32_t view, uint32_t *value)
{
    *value = 0;
    EMU_ASSERT(p->g->view.at[view].elements == 1 && ss_elem_bytes(p->g->view.at[view].elem) == 4);
    return gather(p, view, value);
}

static enum emu_status run_node(struct interpreter *p, uint32_t number);

static enum emu_status run_children(struct interpreter *p, const struct node *n)
{
    for (size_t i = 0; i < n->child.count; i++)
        TRY(run_node(p, n->child.at[i]));
    return EMU_OK;
}

static enum emu_status run_repeat(struct interpreter *p, const struct node *n)
{
    for (uint32_t i = 0; i < n->a; i++)
        TRY(run_node(p, n->child.at[0]));
    return EMU_OK;
}

static enum emu_status run_while(struct interpreter *p, const struct node *n)
{
    uint32_t go;

    for (;;) {
        TRY(run_node(p, n->child.at[0]));
        TRY(read_predicate(p, n->a, &go));
        if (!go)
            return EMU_OK;
        TRY(run_node(p, n->child.at[1]));
    }
}

static enum emu_status run_if(struct interpreter *p, const struct node *n)
{
    uint32_t yes;

    TRY(read_predicate(p, n->a, &yes));
    return run_node(p, n->child.at[yes ? 0 : 1]);
}

static enum emu_status run_node(struct interpreter *p, uint32_t number)
{
    const struct node *n = &p->g->node.at[number];

    if (p->steps++ == p->max_steps)
        return FAIL(FAULT, "the program is not over after %" PRIu64 " nodes", p->max_steps);
    switch (n->kind) {
    case NODE_SEQUENCE:
    case NODE_TOGETHER: /* parts use tiles of their groups only: their order says nothing */
        return run_children(p, n);
    case NODE_EXECUTE:
        return run_compute_set(p, n->a);
    case NODE_COPY:
        return run_copy(p, n->a, n->b);
    case NODE_REPEAT:
        return run_repeat(p, n);
    case NODE_WHILE:
        return run_while(p, n);
    case NODE_IF:
    case NODE_RARE:
        return run_if(p, n);
    case NODE_CALL:
        return run_node(p, p->g->function.at[n->a].body);
    case NODE_STREAM:
    case NODE_STREAM_BEGIN:
        return run_stream(p, n->a, n->b);
    case NODE_STREAM_END: /* nothing may access the tensor between the halves */
        return EMU_OK;
    }
    EMU_ASSERT(!"a kind of node");
    return EMU_OK;
}

enum emu_status ss_interpreter_run(struct interpreter *p, uint64_t max_steps)
{
    if (!p)
        return FAIL(BAD_PROGRAM, "there is no interpreter: ss_interpreter_new() has failed");
    p->steps = 0;
    p->max_steps = max_steps;
    return p->g->program == GRAPH_NONE ? EMU_OK : run_node(p, p->g->program);
}

/* ---- the host's side ---- */

enum emu_status ss_interpreter_write(struct interpreter *p, struct tensor t, const void *data)
{
    if (!p)
        return FAIL(BAD_PROGRAM, "there is no interpreter: ss_interpreter_new() has failed");
    TRY(graph_host_view(p->g, t, 1));
    return scatter(p, t.view, data);
}

enum emu_status ss_interpreter_read(struct interpreter *p, struct tensor t, void *data)
{
    if (!p)
        return FAIL(BAD_PROGRAM, "there is no interpreter: ss_interpreter_new() has failed");
    TRY(graph_host_view(p->g, t, 0));
    return gather(p, t.view, data);
}

enum emu_status ss_interpreter_feed(struct interpreter *p, uint32_t stream, const void *data,
                                    uint64_t transfers)
{
    struct feed f = { data, transfers };

    if (!p)
        return FAIL(BAD_PROGRAM, "there is no interpreter: ss_interpreter_new() has failed");
    if (stream >= p->g->stream.count || p->g->stream.at[stream].way != STREAM_IN)
        return FAIL(USAGE, "stream %" PRIu32 " takes no data", stream);
    if (VEC_PUSH(&p->stream[stream].feed, f) != EMU_OK)
        return FAIL(NO_MEMORY, "the data of a stream");
    return EMU_OK;
}

const void *ss_interpreter_output(struct interpreter *p, uint32_t stream, uint64_t *transfers)
{
    if (!p || stream >= p->g->stream.count || p->g->stream.at[stream].way != STREAM_OUT) {
        *transfers = 0;
        return NULL;
    }
    *transfers = p->stream[stream].total;
    return p->stream[stream].out;
}
