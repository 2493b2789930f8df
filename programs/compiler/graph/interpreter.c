/* interpreter.c - what a graph means: its program run on host memory, one array per variable.
 *
 * Written to be read, not to be fast. Vertices see their edges as contiguous copies, which are
 * gathered before and scattered after each of them; a copy reads everything before it writes.
 * Memory that has not been written is zero.
 */
#include <inttypes.h>
#include <string.h>

#include "programs/compiler/graph/graph_private.h"
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

/* A node that has begun and is not over. */
struct open_node {
    uint32_t node;
    uint64_t had; /* children that have begun */
};

struct interpreter {
    struct graph *g; /* borrowed */
    uint8_t **data;  /* owned, of each variable: its elements */
    struct interpreter_stream *stream;
    uint64_t steps, max_steps;
    VEC(struct open_node) open; /* from the program on */
    struct prog_arena scratch;  /* copies of the edges of a vertex, of one copy */
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
    VEC_FREE(&p->open);
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

/* A node begins. */
static enum emu_status enter(struct interpreter *p, uint32_t node)
{
    if (p->steps++ == p->max_steps)
        return FAIL(FAULT, "the program is not over after %" PRIu64 " nodes", p->max_steps);
    return VEC_PUSH(&p->open, (struct open_node){ node, 0 });
}

/* A node that has nothing below it. */
static enum emu_status run_leaf(struct interpreter *p, const struct node *n)
{
    switch (n->kind) {
    case NODE_EXECUTE:
        return run_compute_set(p, n->a);
    case NODE_COPY:
        return run_copy(p, n->a, n->b);
    case NODE_STREAM:
    case NODE_STREAM_BEGIN:
        return run_stream(p, n->a, n->b);
    default: /* the end of a stream: nothing may access the tensor between the halves */
        return EMU_OK;
    }
}

/* The child that comes next of a node that has had so many; GRAPH_NONE: it is over. */
static enum emu_status next_child(struct interpreter *p, const struct node *n, uint64_t had,
                                  uint32_t *child)
{
    uint32_t yes;

    *child = GRAPH_NONE;
    switch (n->kind) {
    case NODE_SEQUENCE:
    case NODE_TOGETHER: /* parts use tiles of their groups only: their order says nothing */
        *child = had < n->child.count ? n->child.at[had] : GRAPH_NONE;
        return EMU_OK;
    case NODE_REPEAT:
        *child = had < n->a ? n->child.at[0] : GRAPH_NONE;
        return EMU_OK;
    case NODE_WHILE: /* condition, body, condition .. */
        yes = 1;
        if (had & 1)
            TRY(read_predicate(p, n->a, &yes));
        *child = yes ? n->child.at[had & 1] : GRAPH_NONE;
        return EMU_OK;
    case NODE_IF:
    case NODE_RARE:
        if (had)
            return EMU_OK;
        TRY(read_predicate(p, n->a, &yes));
        *child = n->child.at[yes ? 0 : 1];
        return EMU_OK;
    case NODE_CALL:
        *child = had ? GRAPH_NONE : p->g->function.at[n->a].body;
        return EMU_OK;
    default:
        return run_leaf(p, n);
    }
}

/* Goes on up to an exchange between chips, which is left on top, or to the end. */
static enum emu_status run_on(struct interpreter *p)
{
    while (p->open.count) {
        struct open_node *top = &p->open.at[p->open.count - 1];
        const struct node *n = &p->g->node.at[top->node];
        uint32_t child;

        if (n->kind == NODE_CHIPS)
            return EMU_OK;
        TRY(next_child(p, n, top->had, &child));
        top->had++;
        if (child == GRAPH_NONE)
            p->open.count--;
        else
            TRY(enter(p, child));
    }
    return EMU_OK;
}

static enum emu_status begin(struct interpreter *p, uint64_t max_steps)
{
    p->steps = 0;
    p->max_steps = max_steps;
    p->open.count = 0;
    return p->g->program == GRAPH_NONE ? EMU_OK : enter(p, p->g->program);
}

enum emu_status ss_interpreter_run(struct interpreter *p, uint64_t max_steps)
{
    return ss_interpreters_run(&p, 1, 1, max_steps);
}

/* ---- several chips ---- */

/* p[0 .. chips * replicas). */
struct meeting {
    struct interpreter *const *p;
    unsigned chips, replicas;
    VEC(struct sent_tensor) sent; /* of the exchange that takes place */
};

/* What was sent to a channel. */
struct sent_tensor {
    const char *channel;
    unsigned from, to; /* interpreter; the replica that receives it */
    uint8_t *data;     /* owned */
    int taken;
};

/* The exchange that an interpreter waits for; NULL: its program is over. */
static const struct node *waits_for(const struct interpreter *p)
{
    return p->open.count ? &p->g->node.at[p->open.at[p->open.count - 1].node] : NULL;
}

/* "chip 1 of replica 0" */
static struct graph_text chip_text(const struct meeting *m, unsigned i)
{
    struct graph_text t;

    if (m->replicas > 1)
        snprintf(t.text, sizeof(t.text), "chip %u of replica %u", i % m->chips, i / m->chips);
    else
        snprintf(t.text, sizeof(t.text), "chip %u", i);
    return t;
}

static struct graph_text wait_text(const struct meeting *m, unsigned i)
{
    const struct interpreter *p = m->p[i];
    struct graph_text t;

    if (!p->open.count)
        snprintf(t.text, sizeof(t.text), "%.80s is at its end", chip_text(m, i).text);
    else
        snprintf(t.text, sizeof(t.text), "%.80s waits in %.100s for all chips of the %s",
                 chip_text(m, i).text, node_text(p->g, p->open.at[p->open.count - 1].node).text,
                 waits_for(p)->chips == CHIPS_OF_POD ? "pod" : "replica");
    return t;
}

static enum emu_status send_tensors(struct meeting *m, unsigned i)
{
    struct interpreter *p = m->p[i];
    const struct node *n = waits_for(p);

    for (uint32_t k = n->a; k < n->a + n->b; k++) {
        const struct channel_use *u = &p->g->use.at[k];
        const struct channel *c = &p->g->channel.at[u->channel];
        int64_t to = (int64_t)(i / m->chips) + c->replica;
        struct sent_tensor x = { .channel = c->name, .from = i };

        if (c->way != CHANNEL_SEND)
            continue;
        x.to = (unsigned)((to % m->replicas + m->replicas) % m->replicas);
        x.data = emu_alloc((size_t)c->elements + 1, ss_elem_bytes(c->elem));
        if (!x.data)
            return FAIL(NO_MEMORY, "%" PRIu64 " elements of channel %s", c->elements, c->name);
        TRY(VEC_PUSH(&m->sent, x));
        TRY(gather(p, u->t.view, x.data));
    }
    return EMU_OK;
}

static enum emu_status take_tensor(struct meeting *m, unsigned i, const struct channel_use *u)
{
    struct interpreter *p = m->p[i];
    const struct channel *c = &p->g->channel.at[u->channel];

    for (size_t k = 0; k < m->sent.count; k++) {
        struct sent_tensor *x = &m->sent.at[k];

        if (x->taken || x->to != i / m->chips || strcmp(x->channel, c->name) != 0)
            continue;
        x->taken = 1;
        return scatter(p, u->t.view, x->data);
    }
    return FAIL(FAULT, "%s expects words of channel %s, and nobody sends any", chip_text(m, i).text,
                c->name);
}

static enum emu_status take_tensors(struct meeting *m, unsigned i)
{
    const struct interpreter *p = m->p[i];
    const struct node *n = waits_for(p);

    for (uint32_t k = n->a; k < n->a + n->b; k++)
        if (p->g->channel.at[p->g->use.at[k].channel].way == CHANNEL_RECEIVE)
            TRY(take_tensor(m, i, &p->g->use.at[k]));
    return EMU_OK;
}

static enum emu_status exchange_tensors(struct meeting *m, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        TRY(send_tensors(m, i));
    for (unsigned i = first; i < end; i++)
        TRY(take_tensors(m, i));
    for (size_t k = 0; k < m->sent.count; k++)
        if (!m->sent.at[k].taken)
            return FAIL(FAULT, "%s sends to channel %s, and nobody receives it",
                        chip_text(m, m->sent.at[k].from).text, m->sent.at[k].channel);
    return EMU_OK;
}

/* All of them wait for each other. */
static enum emu_status exchange_chips(struct meeting *m, unsigned first, unsigned end)
{
    enum emu_status s = exchange_tensors(m, first, end);

    for (size_t k = 0; k < m->sent.count; k++)
        ss_free(m->sent.at[k].data);
    m->sent.count = 0;
    for (unsigned i = first; i < end; i++)
        m->p[i]->open.count--;
    return s;
}

/* Whether all of [first, end) wait for an exchange of this scope. */
static int all_wait(const struct meeting *m, unsigned first, unsigned end, enum chips_scope scope)
{
    for (unsigned i = first; i < end; i++) {
        const struct node *n = waits_for(m->p[i]);

        if (!n || n->chips != scope)
            return 0;
    }
    return 1;
}

/* *moved: whether any could go on. */
static enum emu_status meet(struct meeting *m, int *moved)
{
    unsigned all = m->chips * m->replicas;

    for (unsigned i = 0; i < all; i++)
        TRY(run_on(m->p[i]));
    *moved = all_wait(m, 0, all, CHIPS_OF_POD);
    if (*moved)
        return exchange_chips(m, 0, all);
    for (unsigned i = 0; i < all; i += m->chips) {
        if (!all_wait(m, i, i + m->chips, CHIPS_OF_REPLICA))
            continue;
        *moved = 1;
        TRY(exchange_chips(m, i, i + m->chips));
    }
    return EMU_OK;
}

/* Nobody could go on: all programs are over, or chips wait for what does not come. */
static enum emu_status check_over(const struct meeting *m)
{
    unsigned waiting = 0, other = 0, all = m->chips * m->replicas;

    while (waiting < all && !waits_for(m->p[waiting]))
        waiting++;
    if (waiting == all)
        return EMU_OK;
    while (other < all &&
           (other == waiting || (waits_for(m->p[other]) &&
                                 waits_for(m->p[other])->chips == waits_for(m->p[waiting])->chips)))
        other++;
    return FAIL(FAULT, "%s, %s", wait_text(m, waiting).text, wait_text(m, other % all).text);
}

enum emu_status ss_interpreters_run(struct interpreter *const *p, unsigned chips, unsigned replicas,
                                    uint64_t max_steps)
{
    struct meeting m = { .p = p, .chips = chips, .replicas = replicas };
    enum emu_status s = EMU_OK;
    int moved = 1;

    for (unsigned i = 0; i < chips * replicas && s == EMU_OK; i++)
        s = p[i] ? begin(p[i], max_steps)
                 : FAIL(BAD_PROGRAM, "there is no interpreter: ss_interpreter_new() has failed");
    while (s == EMU_OK && moved)
        s = meet(&m, &moved);
    VEC_FREE(&m.sent);
    return s == EMU_OK ? check_over(&m) : s;
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
