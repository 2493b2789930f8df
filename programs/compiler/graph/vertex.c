/* vertex.c - compute sets, vertices and their fields. */
#include "programs/compiler/graph/graph_private.h"

#include <string.h>

uint32_t ss_graph_compute_set(struct graph *g, const char *name)
{
    struct compute_set c = { .name = NULL };

    if (!graph_works(g))
        return GRAPH_NONE;
    c.scope = g->open_scope;
    c.name = graph_path(g, name);
    if (!c.name)
        return GRAPH_NONE;
    if (VEC_PUSH(&g->compute_set, c) != EMU_OK) {
        graph_fail_memory(g, c.name);
        return GRAPH_NONE;
    }
    return (uint32_t)g->compute_set.count - 1;
}

/* One unset entry per field of the codelet. */
static enum emu_status add_fields(struct graph *g, const struct codelet *c)
{
    for (unsigned k = 0; k < c->fields; k++)
        TRY(VEC_PUSH(&g->field, (struct vertex_field){ .view = GRAPH_NONE }));
    return EMU_OK;
}

/* Whether there may be a vertex of such a codelet; c: NULL if there is none of that name. */
static int vertex_allowed(struct graph *g, uint32_t compute_set, const struct codelet *c,
                          const char *name, uint32_t tile)
{
    const char *set;

    if (compute_set >= g->compute_set.count) {
        GRAPH_FAIL(g, "ss_graph_vertex(%s): there is no compute set %u", name, compute_set);
        return 0;
    }
    set = g->compute_set.at[compute_set].name;
    if (!c) {
        GRAPH_FAIL(g, "compute set %s, tile %u: there is no codelet %s", set, tile, name);
        return 0;
    }
    if (tile >= g->arch.tiles) {
        GRAPH_FAIL(g, "compute set %s: a vertex %s on tile %u, expected less than %u", set, name,
                   tile, g->arch.tiles);
        return 0;
    }
    return 1;
}

static uint32_t add_vertex(struct graph *g, uint32_t compute_set, const struct codelet *c,
                           const char *name, uint32_t tile)
{
    struct vertex v = { c, compute_set, tile, (uint32_t)g->field.count };
    uint32_t id = (uint32_t)g->vertex.count;

    if (!graph_works(g) || !vertex_allowed(g, compute_set, c, name, tile))
        return GRAPH_NONE;
    if (g->field.count > GRAPH_NONE - CODELET_MAX_FIELDS || add_fields(g, c) != EMU_OK ||
        VEC_PUSH(&g->vertex, v) != EMU_OK ||
        VEC_PUSH(&g->compute_set.at[compute_set].vertex, id) != EMU_OK) {
        graph_fail_memory(g, "a vertex");
        return GRAPH_NONE;
    }
    return id;
}

uint32_t graph_vertex_of(struct graph *g, uint32_t compute_set, const struct codelet *codelet,
                         uint32_t tile)
{
    return add_vertex(g, compute_set, codelet, codelet->name, tile);
}

uint32_t ss_graph_vertex(struct graph *g, uint32_t compute_set, const char *codelet, uint32_t tile)
{
    if (!graph_works(g))
        return GRAPH_NONE;
    return add_vertex(g, compute_set, graph_codelet(g, codelet), codelet, tile);
}

/* Field k of a vertex; NULL after an error. *type is what the codelet says of it. */
static struct vertex_field *field_at(struct graph *g, uint32_t vertex, unsigned k,
                                     const struct codelet_field **type)
{
    const struct vertex *v;

    if (!graph_works(g) || vertex >= g->vertex.count)
        return NULL;
    v = &g->vertex.at[vertex];
    EMU_ASSERT(k < v->codelet->fields);
    *type = &v->codelet->field[k];
    return &g->field.at[v->field + k];
}

/* The number of a field; -1 after an error. */
static int field_number(struct graph *g, uint32_t vertex, const char *field)
{
    int k;

    if (!graph_works(g))
        return -1;
    if (vertex >= g->vertex.count) {
        GRAPH_FAIL(g, "field %s: there is no vertex %u", field, vertex);
        return -1;
    }
    k = codelet_field_find(g->vertex.at[vertex].codelet, field);
    if (k < 0)
        GRAPH_FAIL(g, "%s: the codelet has no field %s", vertex_text(g, vertex).text, field);
    return k;
}

/* What a field takes, for messages. */
static const char *kind_text(enum field_kind k)
{
    switch (k) {
    case FIELD_IN:
    case FIELD_OUT:
    case FIELD_INOUT:
        return "a tensor";
    case FIELD_IN_LIST:
    case FIELD_OUT_LIST:
        return "tensors";
    case FIELD_WORDS:
        return "a list of words";
    case FIELD_U32:
        return "a u32";
    case FIELD_F32:
        return "a f32";
    case FIELD_F16:
        return "a f16";
    default:
        return "nothing: the compiler fills it";
    }
}

static void wrong_kind(struct graph *g, uint32_t vertex, const struct codelet_field *field,
                       const char *got)
{
    GRAPH_FAIL(g, "%s: field %s takes %s, got %s", vertex_text(g, vertex).text, field->name,
               kind_text(field->kind), got);
}

/* Appends a view to the list of a field. Lists lie in graph.list with room for a power of two, so
 * that lists that grow in turn move seldom. */
static enum emu_status list_add(struct graph *g, struct vertex_field *f, uint32_t view)
{
    if (!(f->count & (f->count - 1))) { /* full */
        uint32_t first = f->first, room = f->count ? f->count : 1;

        if (!f->count || f->first + f->count != g->list.count) {
            f->first = (uint32_t)g->list.count;
            room = f->count ? 2 * f->count : 1;
        }
        if (g->list.count + room > GRAPH_NONE)
            return EMU_NO_MEMORY;
        for (uint32_t k = 0; k < room; k++)
            TRY(VEC_PUSH(&g->list, GRAPH_NONE));
        memmove(g->list.at + f->first, g->list.at + first, f->count * sizeof(*g->list.at));
    }
    g->list.at[f->first + f->count++] = view;
    return EMU_OK;
}

void vertex_connect_field(struct graph *g, uint32_t vertex, unsigned field, struct tensor t)
{
    const struct codelet_field *type;
    struct vertex_field *f = field_at(g, vertex, field, &type);
    enum elem e;

    if (!f || !graph_has_view(g, t, "ss_vertex_connect"))
        return;
    e = ss_tensor_elem(g, t);
    if (!field_is_edge(type->kind) && !field_is_list(type->kind))
        wrong_kind(g, vertex, type, "a tensor");
    else if (type->elem != e)
        GRAPH_FAIL(g, "%s: field %s takes elements of type %s, got %s of type %s",
                   vertex_text(g, vertex).text, type->name, ss_elem_name(type->elem),
                   view_text(g, t.view).text, ss_elem_name(e));
    else if (field_is_edge(type->kind) && f->set)
        GRAPH_FAIL(g, "%s: field %s is connected twice, to %s and %s", vertex_text(g, vertex).text,
                   type->name, view_text(g, f->view).text, view_text(g, t.view).text);
    else if (field_is_edge(type->kind))
        f->view = t.view;
    else if (list_add(g, f, t.view) != EMU_OK)
        graph_fail_memory(g, "a list of tensors");
    f->set = 1;
}

static void set_scalar(struct graph *g, uint32_t vertex, unsigned field, enum field_kind kind,
                       uint32_t bits)
{
    const struct codelet_field *type;
    struct vertex_field *f = field_at(g, vertex, field, &type);

    if (!f)
        return;
    if (type->kind != kind)
        wrong_kind(g, vertex, type, kind_text(kind));
    f->value = bits;
    f->set = 1;
}

static uint32_t f16_bits(float value)
{
    struct fp_env env = { .rnd = FP_RND_NEAREST, .nanoo = 1 };
    uint16_t half = fp_f16_from_f64(value, 0, &env); /* from_f64: f32 subnormals are kept */

    return fp_f16_pack(half, half);
}

void vertex_set_field_u32(struct graph *g, uint32_t vertex, unsigned field, uint32_t value)
{
    set_scalar(g, vertex, field, FIELD_U32, value);
}

void vertex_set_field_float(struct graph *g, uint32_t vertex, unsigned field, float value)
{
    const struct codelet_field *type;

    if (!field_at(g, vertex, field, &type))
        return;
    if (type->kind == FIELD_F16)
        set_scalar(g, vertex, field, FIELD_F16, f16_bits(value));
    else
        set_scalar(g, vertex, field, FIELD_F32, fp_bits(value));
}

void vertex_set_field_words(struct graph *g, uint32_t vertex, unsigned field, const uint32_t *words,
                            uint32_t n)
{
    const struct codelet_field *type;
    struct vertex_field *f = field_at(g, vertex, field, &type);

    if (!f)
        return;
    if (type->kind != FIELD_WORDS) {
        wrong_kind(g, vertex, type, kind_text(FIELD_WORDS));
        return;
    }
    f->set = 1;
    f->first = (uint32_t)g->words.count;
    f->count = n;
    if (n > GRAPH_NONE - g->words.count)
        graph_fail_memory(g, "a list of words");
    for (uint32_t k = 0; k < n && graph_works(g); k++)
        if (VEC_PUSH(&g->words, words[k]) != EMU_OK)
            graph_fail_memory(g, "a list of words");
}

/* ---- the same by name ---- */

void ss_vertex_connect(struct graph *g, uint32_t vertex, const char *field, struct tensor t)
{
    int k = field_number(g, vertex, field);

    if (k >= 0)
        vertex_connect_field(g, vertex, (unsigned)k, t);
}

static void set_named(struct graph *g, uint32_t vertex, const char *field, enum field_kind kind,
                      uint32_t bits)
{
    int k = field_number(g, vertex, field);

    if (k >= 0)
        set_scalar(g, vertex, (unsigned)k, kind, bits);
}

void ss_vertex_set_u32(struct graph *g, uint32_t vertex, const char *field, uint32_t value)
{
    set_named(g, vertex, field, FIELD_U32, value);
}

void ss_vertex_set_f32(struct graph *g, uint32_t vertex, const char *field, float value)
{
    set_named(g, vertex, field, FIELD_F32, fp_bits(value));
}

void ss_vertex_set_f16(struct graph *g, uint32_t vertex, const char *field, float value)
{
    set_named(g, vertex, field, FIELD_F16, f16_bits(value));
}

void ss_vertex_set_words(struct graph *g, uint32_t vertex, const char *field, const uint32_t *words,
                         uint32_t n)
{
    int k = field_number(g, vertex, field);

    if (k >= 0)
        vertex_set_field_words(g, vertex, (unsigned)k, words, n);
}
