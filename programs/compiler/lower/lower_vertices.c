/* lower_vertices.c - the action of a compute set: where its vertices find their data.
 *
 * A codelet needs the elements of an edge in one run on its tile. If that is how they lie, it uses
 * them in place: the edge is direct. Otherwise they are copied into a temporary before the vertex
 * runs, and back after it if the vertex writes them.
 */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

struct edge_list {
    struct edge *at;
    size_t count, cap;
};

/* A vertex whose edges are being found. */
struct site {
    const struct vertex *v;
    const struct vertex_field *field;
    struct edge_list edge; /* in the order of fields; owned */
    uint32_t owner;        /* string of its compute set */
};

static const struct codelet_field *field_of(const struct site *s, const struct edge *e)
{
    return &s->v->codelet->field[e->field];
}

static int is_read(enum field_kind k)
{
    return k == FIELD_IN || k == FIELD_INOUT || k == FIELD_IN_LIST;
}

/* ---- which edges are direct ---- */

static int region_fits(const struct object *o, const struct codelet_field *f)
{
    return f->region == ANY || o->region == ANY || o->region == f->region;
}

static int lies_right(const struct graph_lowering *w, const struct site *s, const struct edge *e)
{
    const struct codelet_field *f = field_of(s, e);
    const struct memory_run *p = &w->run.at[e->first];
    const struct object *o;

    if (e->runs != 1)
        return 0;
    o = lower_object(w, p->object);
    return o->tile == s->v->tile && p->offset % f->align == 0 && region_fits(o, f);
}

static enum emu_status add_edge(struct graph_lowering *w, struct site *s, uint32_t field,
                                uint32_t view)
{
    const struct view *v = &w->g->view.at[view];
    uint64_t bytes = v->elements * ss_elem_bytes(v->elem);
    struct edge e = { .field = field, .first = (uint32_t)w->run.count, .object = LOWERED_NONE };

    if (bytes > UINT32_MAX / 2)
        return FAIL(BAD_PROGRAM, "%s: %llu bytes for field %s on tile %u",
                    strings_text(&w->l->strings, s->owner), (unsigned long long)bytes,
                    s->v->codelet->field[field].name, s->v->tile);
    TRY(storage_runs(w, view, &w->run));
    if (w->run.count > UINT32_MAX / 2)
        return FAIL(BAD_PROGRAM, "lowering: too many runs of memory in one compute set");
    e.runs = (uint32_t)w->run.count - e.first;
    e.bytes = (uint32_t)bytes;
    e.elements = (uint32_t)v->elements;
    e.direct = e.runs && lies_right(w, s, &e);
    return VEC_PUSH(&s->edge, e);
}

static enum emu_status find_edges(struct graph_lowering *w, struct site *s)
{
    const struct codelet *c = s->v->codelet;

    s->edge.count = 0;
    for (uint32_t f = 0; f < c->fields; f++) {
        const struct vertex_field *x = &s->field[f];

        if (field_is_edge(c->field[f].kind)) {
            if (x->view == GRAPH_NONE)
                return FAIL(BAD_PROGRAM, "%s: a vertex of %s on tile %u has no %s",
                            strings_text(&w->l->strings, s->owner), c->name, s->v->tile,
                            c->field[f].name);
            TRY(add_edge(w, s, f, x->view));
        } else if (field_is_list(c->field[f].kind)) {
            for (uint32_t i = 0; i < x->count; i++)
                TRY(add_edge(w, s, f, w->g->list.at[x->first + i]));
        }
    }
    return EMU_OK;
}

static int runs_meet(const struct memory_run *a, const struct memory_run *b)
{
    return a->object == b->object && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

/* Makes an input that the vertex itself overwrites indirect: a codelet may write before it has read
 * everything. */
static void part_from_outputs(struct graph_lowering *w, struct site *s)
{
    for (size_t i = 0; i < s->edge.count; i++) {
        struct edge *in = &s->edge.at[i];

        if (!in->direct || field_is_written(field_of(s, in)->kind))
            continue;
        for (size_t k = 0; k < s->edge.count && in->direct; k++) {
            const struct edge *out = &s->edge.at[k];

            if (out->direct && field_is_written(field_of(s, out)->kind) &&
                runs_meet(&w->run.at[in->first], &w->run.at[out->first]))
                in->direct = 0;
        }
    }
}

/* Makes edges indirect that must be in different memory elements but lie in one object. */
static void part_objects(struct graph_lowering *w, struct site *s, int a, int b)
{
    for (size_t i = 0; i < s->edge.count; i++) {
        struct edge *x = &s->edge.at[i];

        for (size_t k = 0; k < s->edge.count && x->field == (uint32_t)a && x->direct; k++) {
            struct edge *y = &s->edge.at[k];
            int keep_x = field_is_written(field_of(s, x)->kind);

            if (y->field != (uint32_t)b || !y->direct ||
                w->run.at[x->first].object != w->run.at[y->first].object)
                continue;
            if (keep_x)
                y->direct = 0;
            else
                x->direct = 0;
        }
    }
}

/* ---- temporaries ---- */

static int fields_apart(const struct codelet *c, uint32_t a, uint32_t b)
{
    for (uint32_t f = 0; f < c->fields; f++) {
        uint32_t x, y;

        if (c->field[f].kind != FIELD_APART)
            continue;
        x = (uint32_t)codelet_field_find(c, c->field[f].name);
        y = (uint32_t)codelet_field_find(c, c->field[f].other);
        if ((x == a && y == b) || (x == b && y == a))
            return 1;
    }
    return 0;
}

static uint64_t runs_hash(const struct graph_lowering *w, const struct site *s,
                          const struct edge *e)
{
    return hash64(&w->run.at[e->first], e->runs * sizeof(struct memory_run)) +
           s->v->tile * HASH_STEP;
}

/* Looks for a temporary of the tile that already holds the runs of an input. Returns 0 if there is
 * none. */
static int find_fetched(const struct graph_lowering *w, const struct site *s, struct edge *e,
                        uint64_t hash)
{
    const struct codelet_field *f = field_of(s, e);
    uint32_t probe = 0, i;

    while (index_table_next(&w->fetched_table, hash, &probe, &i)) {
        const struct fetched *x = &w->fetched.at[i];
        int apart = 0;

        if (x->tile != s->v->tile || x->runs != e->runs || x->offset % f->align ||
            !region_fits(lower_object(w, x->object), f) ||
            memcmp(&w->run.at[x->first], &w->run.at[e->first],
                   e->runs * sizeof(struct memory_run)) != 0)
            continue;
        for (size_t k = 0; k < s->edge.count; k++)
            apart |= s->edge.at[k].object == x->object &&
                     fields_apart(s->v->codelet, s->edge.at[k].field, e->field);
        if (apart)
            continue;
        e->object = x->object;
        e->offset = x->offset;
        return 1;
    }
    return 0;
}

/* Adds copy runs between the data of an edge and its place in a temporary. */
static enum emu_status add_copy_runs(struct graph_lowering *w, const struct site *s,
                                     const struct edge *e)
{
    enum field_kind k = field_of(s, e)->kind;
    uint32_t at = e->offset;

    for (uint32_t i = 0; i < e->runs; i++) {
        struct memory_run p = w->run.at[e->first + i];
        uint32_t flags = (i == 0 ? RUN_FREE_BEFORE : 0) | (i + 1 == e->runs ? RUN_FREE_AFTER : 0);

        if (is_read(k))
            TRY(VEC_PUSH(&w->copy_run,
                         (struct copy_run){ p.object, p.offset, e->object, at, p.bytes, flags }));
        flags = p.offset + p.bytes == w->note.at[p.object].data_bytes ? RUN_FREE_AFTER : 0;
        if (field_is_written(k))
            TRY(VEC_PUSH(&w->back,
                         (struct copy_run){ e->object, at, p.object, p.offset, p.bytes, flags }));
        at += p.bytes;
    }
    return EMU_OK;
}

static enum category temporary_category(const struct graph_lowering *w, const struct site *s,
                                        const struct edge *e, size_t n)
{
    for (; n; n--, e++) {
        for (uint32_t i = 0; i < e->runs && e->object == LOWERED_NONE; i++) {
            if (lower_object(w, w->run.at[e->first + i].object)->tile != s->v->tile)
                return CATEGORY_MESSAGE_BUFFER;
        }
    }
    return CATEGORY_REARRANGEMENT;
}

static enum emu_status temporary_owner(struct graph_lowering *w, const struct site *s,
                                       const struct edge *e, uint32_t *owner)
{
    char text[512];

    snprintf(text, sizeof(text), "%s/%s", strings_text(&w->l->strings, s->owner),
             field_of(s, e)->name);
    return lower_owner(w, text, lowered_scope(w->l, s->owner), owner);
}

/* The offset of an edge in a temporary that is full up to byte `fill`: aligned as the field asks,
 * in a new word and, if the field allows it, at the same byte of the word as the first run of its
 * data, which can then be exchanged in whole words. */
static uint64_t edge_place(const struct graph_lowering *w, const struct site *s,
                           const struct edge *e, uint64_t fill)
{
    uint32_t align = field_of(s, e)->align, askew = w->run.at[e->first].offset & 3;
    uint64_t unit = align > 4 ? align : 4, at = (fill + unit - 1) / unit * unit;

    return askew % align == 0 ? at + askew : at;
}

/* A temporary for the edges of one field, [e, e + n), that are not direct and not found yet. */
static enum emu_status add_temporary(struct graph_lowering *w, struct site *s, struct edge *e,
                                     size_t n)
{
    const struct codelet_field *f = field_of(s, e);
    uint32_t object, owner;
    uint64_t fill = 0;
    struct object *o;

    TRY(temporary_owner(w, s, e, &owner));
    for (size_t i = 0; i < n; i++) {
        if (!e[i].direct && e[i].runs)
            fill = edge_place(w, s, &e[i], fill) + e[i].bytes;
    }
    TRY(object_add_temporary(w, s->v->tile, fill, temporary_category(w, s, e, n), owner, &object));
    o = lower_object(w, object);
    o->align = f->align > o->align ? (uint16_t)f->align : o->align;
    fill = 0;
    for (size_t i = 0; i < n; i++) {
        if (e[i].direct || !e[i].runs)
            continue;
        e[i].object = object;
        e[i].offset = (uint32_t)edge_place(w, s, &e[i], fill);
        fill = e[i].offset + (uint64_t)e[i].bytes;
        TRY(add_copy_runs(w, s, &e[i]));
    }
    return EMU_OK;
}

/* A temporary for an edge that is not part of a list. Inputs with equal runs share one. */
static enum emu_status place_single(struct graph_lowering *w, struct site *s, struct edge *e)
{
    uint64_t hash;

    if (field_is_written(field_of(s, e)->kind))
        return add_temporary(w, s, e, 1);
    hash = runs_hash(w, s, e);
    if (find_fetched(w, s, e, hash))
        return EMU_OK;
    TRY(add_temporary(w, s, e, 1));
    TRY(index_table_add(&w->fetched_table, hash, (uint32_t)w->fetched.count));
    return VEC_PUSH(&w->fetched,
                    (struct fetched){ s->v->tile, e->first, e->runs, e->object, e->offset });
}

/* ---- a vertex ---- */

/* Raises alignment and region of an object to what a field of a codelet asks for. */
static void fit_object(struct graph_lowering *w, const struct codelet_field *f, uint32_t object)
{
    struct object *o = lower_object(w, object);

    if (f->align > o->align)
        o->align = (uint16_t)f->align;
    if (f->region != ANY)
        o->region = (uint8_t)f->region;
}

/* Gives the direct ones of n edges of a field their objects. Returns how many of the others have
 * elements. */
static size_t place_direct(struct graph_lowering *w, const struct site *s, struct edge *e, size_t n)
{
    const struct codelet_field *f = field_of(s, e);
    size_t missing = 0;

    for (; n; n--, e++) {
        /* of an edge without elements there are no runs */
        const struct memory_run *p = e->direct ? &w->run.at[e->first] : NULL;

        if (e->direct)
            e->direct = (uint8_t)region_fits(lower_object(w, p->object), f);
        if (e->direct) {
            e->object = p->object;
            e->offset = p->offset;
            fit_object(w, f, e->object);
        }
        missing += !e->direct && e->runs;
    }
    return missing;
}

static enum emu_status place_edges(struct graph_lowering *w, struct site *s)
{
    struct edge *e = s->edge.at;

    for (size_t i = 0, end; i < s->edge.count; i = end) {
        const struct codelet_field *f = field_of(s, &e[i]);

        for (end = i + 1; end < s->edge.count && e[end].field == e[i].field;)
            end++;
        if (!place_direct(w, s, &e[i], end - i))
            continue;
        if (field_is_list(f->kind))
            TRY(add_temporary(w, s, &e[i], end - i));
        else
            TRY(place_single(w, s, &e[i]));
        for (size_t k = i; k < end; k++) {
            if (e[k].runs && !e[k].direct)
                fit_object(w, f, e[k].object);
        }
    }
    return EMU_OK;
}

static enum emu_status access_edges(struct graph_lowering *w, const struct site *s)
{
    for (size_t i = 0; i < s->edge.count; i++) {
        const struct edge *e = &s->edge.at[i];
        enum field_kind k = field_of(s, e)->kind;

        if (!e->runs)
            continue;
        if (is_read(k))
            TRY(lower_access(w, e->object, e->offset, e->bytes, PHASE_WORK, 0));
        if (field_is_written(k))
            TRY(lower_access(w, e->object, e->offset, e->bytes, PHASE_WORK, 1));
    }
    return EMU_OK;
}

static enum emu_status add_pairs(struct graph_lowering *w, const struct site *s, int a, int b)
{
    for (size_t i = 0; i < s->edge.count; i++) {
        const struct edge *x = &s->edge.at[i];

        if (x->field != (uint32_t)a || !x->runs)
            continue;
        for (size_t k = 0; k < s->edge.count; k++) {
            const struct edge *y = &s->edge.at[k];
            struct object_pair p = { x->object, y->object };

            if (y->field != (uint32_t)b || !y->runs)
                continue;
            if (p.a > p.b)
                p = (struct object_pair){ y->object, x->object };
            TRY(VEC_PUSH(&w->l->apart, p));
        }
    }
    return EMU_OK;
}

static enum emu_status lower_vertex(struct graph_lowering *w, struct site *s)
{
    const struct codelet *c = s->v->codelet;
    uint32_t state;

    TRY(find_edges(w, s));
    part_from_outputs(w, s);
    for (uint32_t f = 0; f < c->fields; f++) {
        if (c->field[f].kind == FIELD_APART)
            part_objects(w, s, codelet_field_find(c, c->field[f].name),
                         codelet_field_find(c, c->field[f].other));
    }
    TRY(place_edges(w, s));
    for (uint32_t f = 0; f < c->fields; f++) {
        if (c->field[f].kind == FIELD_APART)
            TRY(add_pairs(w, s, codelet_field_find(c, c->field[f].name),
                          codelet_field_find(c, c->field[f].other)));
    }
    TRY(access_edges(w, s));
    TRY(vertex_state_build(w, c, s->v->tile, s->field, s->edge.at, s->edge.count, s->owner,
                           &state));
    return call_add(w, c, s->v->tile, s->field, s->edge.at, s->edge.count, state);
}

/* ---- a compute set ---- */

struct tile_vertex {
    uint32_t tile, vertex;
};

/* Vertices by tile, those of a tile in the order in which they were added. */
static enum emu_status sort_vertices(struct graph_lowering *w, const struct compute_set *cs,
                                     struct tile_vertex **out)
{
    struct tile_vertex *p = emu_alloc(cs->vertex.count, sizeof(*p));

    if (!p)
        return FAIL(NO_MEMORY, "%s: %zu vertices", cs->name, cs->vertex.count);
    for (uint32_t i = 0; i < cs->vertex.count; i++) {
        uint32_t v = cs->vertex.at[i];

        p[i] = (struct tile_vertex){ w->g->vertex.at[v].tile, v };
    }
    *out = p;
    return key_sort(p, cs->vertex.count, sizeof(*p), offsetof(struct tile_vertex, tile), 1);
}

static enum emu_status lower_vertices(struct graph_lowering *w, const struct tile_vertex *order,
                                      size_t n)
{
    struct site s = { .owner = w->action.at[w->action.count - 1].name };
    enum emu_status status = EMU_OK;

    for (size_t i = 0; i < n && status == EMU_OK; i++) {
        s.v = &w->g->vertex.at[order[i].vertex];
        s.field = w->g->field.at + s.v->field;
        status = lower_vertex(w, &s);
    }
    VEC_FREE(&s.edge);
    return status;
}

enum emu_status compute_set_action(struct graph_lowering *w, uint32_t compute_set, uint32_t *action)
{
    const struct compute_set *cs = &w->g->compute_set.at[compute_set];
    struct tile_vertex *order = NULL;
    enum emu_status s;
    size_t first = w->l->call.count;

    *action = w->set_action[compute_set];
    if (*action != LOWERED_NONE || !cs->vertex.count)
        return EMU_OK;
    TRY(action_begin(w, cs->name, cs->scope, action));
    w->run.count = w->copy_run.count = w->back.count = w->fetched.count = 0;
    index_table_clear(&w->fetched_table);
    s = sort_vertices(w, cs, &order);
    if (s == EMU_OK)
        s = lower_vertices(w, order, cs->vertex.count);
    ss_free(order);
    TRY(s);
    action_set_step(w, PHASE_WORK, STEP_CALLS, first, w->l->call.count - first);
    TRY(copy_runs_lower(w, &w->copy_run, PHASE_FETCH, PHASE_GATHER, PHASE_GATHER));
    TRY(copy_runs_lower(w, &w->back, PHASE_RETURN, PHASE_SCATTER, PHASE_SCATTER));
    w->set_action[compute_set] = *action;
    return action_end(w);
}
