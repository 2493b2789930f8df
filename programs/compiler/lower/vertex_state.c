/* vertex_state.c - the state of a vertex: one word for each field (an address, the address of a
 * table of runs or of a work list, a number), and the call that gets it.
 */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

/* Codelets read states and tables word by word, and work lists up to 8 bytes at a time. */
enum { STATE_ALIGN = 4, WORK_LIST_ALIGN = 8 };

static enum emu_status add_always(struct graph_lowering *w, uint32_t tile, enum category c,
                                  uint32_t owner, uint32_t words, uint32_t *out)
{
    struct object o = { .tile = tile,
                        .bytes = 4 * words,
                        .align = c == CATEGORY_WORK_LIST ? WORK_LIST_ALIGN : STATE_ALIGN,
                        .region = ANY,
                        .category = (uint8_t)c,
                        .owner = owner,
                        .live = LIVE_ALWAYS };

    return object_add(w, &o, LIFE_ALWAYS, out);
}

static enum emu_status begin_words(struct graph_lowering *w, uint32_t object, uint32_t words)
{
    if (w->l->word.count + words > UINT32_MAX)
        return FAIL(BAD_PROGRAM, "lowering: too many words of vertex state");
    lower_object(w, object)->word = (uint32_t)w->l->word.count;
    lower_object(w, object)->words = words;
    return EMU_OK;
}

/* An edge without elements still gets an address in memory. */
static enum emu_status add_address(struct graph_lowering *w, const struct edge *e)
{
    if (e->object == LOWERED_NONE)
        return object_add_word(w, LOWERED_NONE, w->g->arch.mem_base);
    return object_add_word(w, e->object, e->offset);
}

/* The table {address, elements} of a list; no object for an empty one. */
static enum emu_status build_table(struct graph_lowering *w, uint32_t tile, const struct edge *e,
                                   uint32_t n, uint32_t owner, uint32_t *table)
{
    *table = LOWERED_NONE;
    if (!n)
        return EMU_OK;
    TRY(add_always(w, tile, CATEGORY_VERTEX_STATE, owner, 2 * n, table));
    TRY(begin_words(w, *table, 2 * n));
    for (uint32_t i = 0; i < n; i++) {
        TRY(add_address(w, &e[i]));
        TRY(object_add_word(w, LOWERED_NONE, e[i].elements));
    }
    return EMU_OK;
}

/* The object of a work list on a tile; equal lists share one. */
static enum emu_status find_work_list(struct graph_lowering *w, uint32_t tile,
                                      const uint32_t *words, uint32_t n, uint32_t owner,
                                      uint32_t *object)
{
    uint64_t hash = hash64(words, n * sizeof(*words)) + tile * HASH_STEP;
    struct work_list x = { tile, n, 0, NULL };
    uint32_t probe = 0, i;

    *object = LOWERED_NONE;
    if (!n)
        return EMU_OK;
    while (index_table_next(&w->work_table, hash, &probe, &i)) {
        const struct work_list *k = &w->work_list.at[i];

        if (k->tile == tile && k->count == n && !memcmp(k->words, words, n * sizeof(*words))) {
            *object = k->object;
            return EMU_OK;
        }
    }
    x.words = prog_memdup(&w->l->arena, words, n * sizeof(*words));
    if (!x.words)
        return FAIL(NO_MEMORY, "a work list of %u words", n);
    TRY(add_always(w, tile, CATEGORY_WORK_LIST, owner, n, &x.object));
    lower_object(w, x.object)->data = x.words;
    *object = x.object;
    TRY(index_table_add(&w->work_table, hash, (uint32_t)w->work_list.count));
    return VEC_PUSH(&w->work_list, x);
}

/* What the counter of a field says: elements, runs of a list, words of a work list. */
static uint32_t length_of(const struct codelet *c, const char *other,
                          const struct vertex_field *field, const struct edge *edge, size_t edges)
{
    int f = codelet_field_find(c, other);
    uint32_t n = 0;

    EMU_ASSERT(f >= 0);
    if (c->field[f].kind == FIELD_WORDS)
        return field[f].count;
    for (size_t i = 0; i < edges; i++) {
        if (edge[i].field == (uint32_t)f)
            n += field_is_list(c->field[f].kind) ? 1 : edge[i].elements;
    }
    return n;
}

/* Objects that the state will point to: tables and work lists of its fields. */
static enum emu_status build_parts(struct graph_lowering *w, const struct codelet *c, uint32_t tile,
                                   const struct vertex_field *field, const struct edge *edge,
                                   size_t edges, uint32_t owner, uint32_t *part)
{
    size_t e = 0;

    for (uint32_t f = 0; f < c->fields; f++) {
        size_t first = e;

        while (e < edges && edge[e].field == f)
            e++;
        if (field_is_list(c->field[f].kind))
            TRY(build_table(w, tile, edge + first, (uint32_t)(e - first), owner, &part[f]));
        else if (c->field[f].kind == FIELD_WORDS)
            TRY(find_work_list(w, tile, w->g->words.at + field[f].first, field[f].count, owner,
                               &part[f]));
    }
    return EMU_OK;
}

static enum emu_status add_field(struct graph_lowering *w, const struct codelet *c, uint32_t f,
                                 const struct vertex_field *field, const struct edge *edge,
                                 size_t edges, uint32_t part)
{
    switch (c->field[f].kind) {
    case FIELD_IN:
    case FIELD_OUT:
    case FIELD_INOUT:
        while (edges && edge->field != f)
            edge++, edges--;
        EMU_ASSERT(edges);
        return add_address(w, edge);
    case FIELD_IN_LIST:
    case FIELD_OUT_LIST:
    case FIELD_WORDS:
        return object_add_word(w, part, part == LOWERED_NONE ? w->g->arch.mem_base : 0);
    case FIELD_U32:
    case FIELD_F32:
        return object_add_word(w, LOWERED_NONE, field[f].value);
    case FIELD_F16:
        return object_add_word(w, LOWERED_NONE, (field[f].value & 0xffff) * 0x10001u);
    case FIELD_LENGTH:
        return object_add_word(w, LOWERED_NONE,
                               length_of(c, c->field[f].other, field, edge, edges));
    case FIELD_APART:
        break;
    }
    return EMU_OK;
}

enum emu_status vertex_state_build(struct graph_lowering *w, const struct codelet *c, uint32_t tile,
                                   const struct vertex_field *field, const struct edge *edge,
                                   size_t edges, uint32_t owner, uint32_t *state)
{
    uint32_t part[CODELET_MAX_FIELDS], words = codelet_state_bytes(c) / 4;

    TRY(build_parts(w, c, tile, field, edge, edges, owner, part));
    TRY(add_always(w, tile, CATEGORY_VERTEX_STATE, owner, words ? words : 1, state));
    TRY(begin_words(w, *state, words ? words : 1));
    if (!words)
        return object_add_word(w, LOWERED_NONE, 0);
    for (uint32_t f = 0; f < c->fields; f++)
        TRY(add_field(w, c, f, field, edge, edges, part[f]));
    return EMU_OK;
}

/* The number of a codelet in the lowered program, which it gets with its first call. */
static enum emu_status number_codelet(struct graph_lowering *w, const struct codelet *c,
                                      uint32_t *out)
{
    uint64_t hash = hash64(&c, sizeof(c));
    uint32_t probe = 0;

    while (index_table_next(&w->codelet_numbers, hash, &probe, out)) {
        if (w->l->codelet.at[*out] == c)
            return EMU_OK;
    }
    *out = (uint32_t)w->l->codelet.count;
    TRY(index_table_add(&w->codelet_numbers, hash, *out));
    return VEC_PUSH(&w->l->codelet, c);
}

/* Elements, runs or words of each field. */
static void fill_lengths(const struct codelet *c, const struct vertex_field *field,
                         const struct edge *edge, size_t edges, uint32_t *length)
{
    memset(length, 0, c->fields * sizeof(*length));
    for (uint32_t f = 0; f < c->fields; f++) {
        if (c->field[f].kind == FIELD_WORDS)
            length[f] = field[f].count;
    }
    for (size_t i = 0; i < edges; i++)
        length[edge[i].field] += field_is_list(c->field[edge[i].field].kind) ? 1 : edge[i].elements;
}

/* The form of a call, new if there was none like it. */
static enum emu_status find_form(struct graph_lowering *w, uint32_t codelet, const uint32_t *length,
                                 uint32_t fields, uint32_t *out)
{
    uint64_t hash = hash64(length, fields * sizeof(*length)) + codelet * HASH_STEP;
    struct lowered *l = w->l;
    uint32_t probe = 0;

    while (index_table_next(&w->forms, hash, &probe, out)) {
        const struct call_form *k = &l->form.at[*out];

        if (k->codelet == codelet &&
            !memcmp(l->form_length.at + k->first, length, fields * sizeof(*length)))
            return EMU_OK;
    }
    *out = (uint32_t)l->form.count;
    TRY(index_table_add(&w->forms, hash, *out));
    TRY(VEC_PUSH(&l->form, (struct call_form){ codelet, (uint32_t)l->form_length.count }));
    for (uint32_t f = 0; f < fields; f++)
        TRY(VEC_PUSH(&l->form_length, length[f]));
    return EMU_OK;
}

enum emu_status call_add(struct graph_lowering *w, const struct codelet *c, uint32_t tile,
                         const struct vertex_field *field, const struct edge *edge, size_t edges,
                         uint32_t state)
{
    struct call call = { .tile = tile, .state = state };
    uint32_t length[CODELET_MAX_FIELDS];

    TRY(number_codelet(w, c, &call.codelet));
    fill_lengths(c, field, edge, edges, length);
    TRY(find_form(w, call.codelet, length, c->fields, &call.form));
    return VEC_PUSH(&w->l->call, call);
}
