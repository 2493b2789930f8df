/* emit.c - all tiles: their code is written and their memory described in parallel, a batch at a
 * time, while the image takes the results of the batch before, in the order of tiles. So it does
 * not depend on threads.
 */
#include "programs/compiler/emit/emit.h"

#include <omp.h>
#include <string.h>

#include "programs/compiler/base/parallel.h"
#include "programs/compiler/emit/call_key.h"
#include "programs/compiler/emit/codelet_map.h"
#include "programs/compiler/emit/control.h"
#include "programs/compiler/emit/emit_channels.h"
#include "programs/compiler/emit/emit_traffic.h"
#include "programs/compiler/emit/memory_map.h"
#include "programs/compiler/emit/vertex_forms.h"

enum { BATCH_TILES = 16, CODE_ALIGN = 8 };

/* Where the code of tiles begins, after the codelets. */
static uint32_t code_base(const struct emit_index *p)
{
    const struct codelet_code *c = p->in->codelets;
    uint32_t end = c->bytes ? c->addr + c->bytes : ss_arch_loader_base(p->arch);

    return (end + CODE_ALIGN - 1) / CODE_ALIGN * CODE_ALIGN;
}

static uint32_t code_bytes(const struct emit_index *p, const struct code_buffer *b)
{
    return code_base(p) - ss_arch_loader_base(p->arch) + ISA_WORD_BYTES * (uint32_t)b->word.count;
}

/* ---- measuring ---- */

struct measuring {
    const struct emit_index *p;
    struct code_buffer *code; /* by thread; owned */
    uint32_t *bytes;          /* borrowed; by tile */
};

static enum emu_status measure_tile(void *ctx, uint32_t tile, unsigned thread)
{
    const struct measuring *m = ctx;
    struct code_buffer *b = &m->code[thread];

    code_buffer_clear(b);
    TRY(control_emit(m->p, tile, CONTROL_MEASURE, b));
    m->bytes[tile] = code_bytes(m->p, b);
    return EMU_OK;
}

static enum emu_status measure_tiles(const struct emit_index *p, unsigned threads, uint32_t *bytes)
{
    struct measuring m = { p, emu_alloc(threads, sizeof(*m.code)), bytes };
    enum emu_status s = m.code ? parallel_each(p->l->used_tiles, threads, measure_tile, &m)
                               : FAIL(NO_MEMORY, "code of %u threads", threads);

    for (unsigned i = 0; m.code && i < threads; i++)
        code_buffer_free(&m.code[i]);
    ss_free(m.code);
    return s;
}

enum emu_status emit_measure(const struct emit_input *in, unsigned threads, uint32_t *bytes)
{
    struct emit_index p;
    enum emu_status s = emit_index_init(in, &p);

    if (s == EMU_OK)
        s = measure_tiles(&p, parallel_threads(threads), bytes);
    emit_index_free(&p);
    return s;
}

/* Data shared by all tiles of a chip, and room for the lists of one. */
struct emission {
    struct emit_index index; /* owned */
    const struct emit_index *p;
    const struct placement *place;
    struct image *im;       /* borrowed */
    uint32_t chip;          /* of the replica */
    uint32_t exchange_base; /* exchanges of the chips before */
    struct codelet_map codelets;
    uint64_t key_base;
    uint32_t category[CATEGORY_COUNT]; /* strings of the image */
    uint32_t *text;                    /* owned; strings of the image by string of the program */
    uint32_t *form;                    /* owned; strings of the image by form of calls */
    uint32_t *scope;                   /* owned; scopes of the image by scope of the graph */
    struct image_range *range;         /* owned, like the following */
    struct image_symbol *symbol;
    struct image_segment *segment;
    size_t ranges, symbols, segments; /* room */
};

/* ---- one tile of the image ---- */

struct tile_image {
    struct code_buffer code;
    struct tile_memory memory;
    VEC(struct image_key) key;
    VEC(struct exchange_part) part;
    VEC(struct image_vertex) vertex;
    enum emu_status status;
};

static void tile_image_free(struct tile_image *t)
{
    code_buffer_free(&t->code);
    tile_memory_free(&t->memory);
    VEC_FREE(&t->key);
    VEC_FREE(&t->part);
    VEC_FREE(&t->vertex);
}

/* The keys of all calls, by address; of a call whose time depends on data there is none. */
static enum emu_status list_keys(const struct emit_index *p, uint64_t key_base,
                                 struct tile_image *t)
{
    for (size_t i = 0; i < t->code.call.count; i++) {
        const struct code_call *c = &t->code.call.at[i];
        uint64_t key = c->call == CODE_RARE ? IMAGE_KEY_RARE : call_key(p, key_base, c->call);
        struct image_key k = { code_base(p) + ISA_WORD_BYTES * c->word, (uint32_t)key,
                               (uint32_t)(key >> 32) };

        if (key)
            TRY(VEC_PUSH(&t->key, k));
    }
    return EMU_OK;
}

/* All calls, by address. Programs made by hand have no forms. */
static enum emu_status list_vertices(const struct emission *e, struct tile_image *t)
{
    const struct lowered *l = e->p->l;

    for (size_t i = 0; l->form.count && i < t->code.call.count; i++) {
        const struct code_call *c = &t->code.call.at[i];
        const struct call *call = c->call == CODE_RARE ? NULL : &l->call.at[c->call];

        if (call)
            TRY(VEC_PUSH(&t->vertex, (struct image_vertex){
                                         code_base(e->p) + ISA_WORD_BYTES * c->word,
                                         l->object.at[call->state].addr, e->form[call->form] }));
    }
    return EMU_OK;
}

/* What the tile does in each exchange, by address. */
static enum emu_status list_parts(const struct emission *e, struct tile_image *t)
{
    const struct emit_index *p = e->p;

    for (size_t i = 0; i < t->code.exchange.count; i++) {
        const struct code_exchange *c = &t->code.exchange.at[i];
        const struct tile_schedule *s = c->tile;
        struct exchange_part x = { .addr = code_base(p) + ISA_WORD_BYTES * c->word,
                                   .bytes = s->bytes,
                                   .exchange = e->exchange_base + c->step + 1,
                                   .instructions = s->insns,
                                   .events = s->end_event,
                                   .end_event = s->arrival,
                                   .words_in = s->words_in,
                                   .words_out = s->words_out };

        if (x.instructions && x.exchange < EXCHANGE_PARTS_MAX)
            TRY(VEC_PUSH(&t->part, x));
    }
    return EMU_OK;
}

static enum emu_status make_tile(const struct emission *e, uint32_t tile, struct tile_image *out)
{
    const struct emit_index *p = e->p;
    const struct placement *place = e->place;
    uint32_t base = code_base(p);

    code_buffer_clear(&out->code);
    out->key.count = out->part.count = out->vertex.count = 0;
    TRY(control_emit(p, tile, CONTROL_FINAL, &out->code));
    TRY(code_buffer_link(&out->code, base));
    EMU_ASSERT(code_bytes(p, &out->code) == place->tile[tile].code_bytes);
    TRY(list_keys(p, e->key_base, out));
    TRY(list_parts(e, out));
    TRY(list_vertices(e, out));
    return tile_memory_init(p, tile, &out->code, base, place->tile[tile].peak_step, &out->memory);
}

/* ---- the image ---- */

static void emission_free(struct emission *e)
{
    emit_index_free(&e->index);
    codelet_map_free(&e->codelets);
    ss_free(e->text);
    ss_free(e->form);
    ss_free(e->scope);
    ss_free(e->range);
    ss_free(e->symbol);
    ss_free(e->segment);
}

static enum emu_status make_room(void *list, size_t *room, size_t count, size_t size)
{
    void **p = list;
    void *q;

    if (count <= *room)
        return EMU_OK;
    q = emu_realloc(*p, 2 * count, size);
    if (!q)
        return FAIL(NO_MEMORY, "a list of %zu entries", count);
    *p = q;
    *room = 2 * count;
    return EMU_OK;
}

static enum emu_status add_texts(struct emission *e)
{
    const struct strings *s = &e->p->l->strings;

    e->text = emu_alloc((size_t)s->count + 1, sizeof(*e->text));
    if (!e->text)
        return FAIL(NO_MEMORY, "%u names", s->count);
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        TRY(image_string(e->im, category_name((enum category)i), &e->category[i]));
    for (uint32_t i = 0; i < s->count; i++)
        TRY(image_string(e->im, s->text[i], &e->text[i]));
    return EMU_OK;
}

static enum emu_status add_map(struct emission *e, const struct tile_memory *m, uint32_t *id)
{
    size_t n = e->codelets.ranges;

    TRY(make_room(&e->range, &e->ranges, n + m->range.count, sizeof(*e->range)));
    if (n)
        memcpy(e->range, e->codelets.range, n * sizeof(*e->range));
    for (size_t i = 0; i < m->range.count; i++) {
        const struct memory_range *r = &m->range.at[i];

        e->range[n++] =
            (struct image_range){ r->addr, r->bytes, e->category[r->category], e->text[r->owner] };
    }
    return image_map(e->im, e->range, n, id);
}

static enum emu_status add_symbols(struct emission *e, const struct tile_memory *m, uint32_t *id)
{
    size_t n = e->codelets.symbols;

    TRY(make_room(&e->symbol, &e->symbols, n + m->symbol.count, sizeof(*e->symbol)));
    if (n)
        memcpy(e->symbol, e->codelets.symbol, n * sizeof(*e->symbol));
    for (size_t i = 0; i < m->symbol.count; i++) {
        const struct memory_symbol *s = &m->symbol.at[i];

        e->symbol[n++] = (struct image_symbol){ s->addr, s->bytes, e->text[s->name] };
    }
    return image_symbols(e->im, e->symbol, n, id);
}

static enum emu_status add_segments(struct emission *e, const struct tile_memory *m, size_t *n)
{
    *n = 0;
    TRY(make_room(&e->segment, &e->segments, m->contents.count + 1, sizeof(*e->segment)));
    if (e->codelets.segment.bytes)
        e->segment[(*n)++] = e->codelets.segment;
    for (size_t i = 0; i < m->contents.count; i++) {
        const struct memory_contents *s = &m->contents.at[i];
        struct image_segment *out = &e->segment[(*n)++];

        *out = (struct image_segment){ .addr = s->addr, .bytes = s->bytes };
        TRY(image_blob(e->im, s->data, s->bytes, &out->blob));
    }
    return EMU_OK;
}

/* Headers whose chip the loader completes. */
static enum emu_status add_links(struct emission *e, uint32_t tile, const struct code_buffer *b)
{
    for (size_t i = 0; i < b->link.count; i++) {
        const struct code_link *c = &b->link.at[i];

        TRY(image_add_link(e->im, &(struct image_link){ e->chip, tile,
                                                        code_base(e->p) + ISA_WORD_BYTES * c->word,
                                                        c->replica }));
    }
    return EMU_OK;
}

static enum emu_status add_tile(struct emission *e, uint32_t tile, const struct tile_image *t)
{
    uint32_t number = e->p->l->used_tile[tile];
    struct image_tile out = { .tile = number,
                              .chip = e->chip,
                              .group = emit_index_group(e->p, number),
                              .entry = code_base(e->p),
                              .lines = e->codelets.lines };
    size_t segments;

    TRY(add_map(e, &t->memory, &out.map));
    TRY(add_symbols(e, &t->memory, &out.symbols));
    TRY(image_keys(e->im, t->key.at, t->key.count, &out.keys));
    TRY(image_parts(e->im, t->part.at, t->part.count, &out.parts));
    TRY(image_vertices(e->im, t->vertex.at, t->vertex.count, &out.vertices));
    TRY(add_segments(e, &t->memory, &segments));
    TRY(image_add_tile(e->im, &out, e->segment, segments));
    TRY(add_links(e, number, &t->code));
    return image_check_map(e->im, &out);
}

/* Tiles whose images are made together; the next ones use their memory again. */
struct batch {
    uint32_t first, count;
    struct tile_image tile[BATCH_TILES];
};

/* Moves the images of a batch into the image of the chip. */
static enum emu_status add_batch(struct emission *e, struct batch *b)
{
    enum emu_status s = EMU_OK;

    for (uint32_t i = 0; i < b->count; i++) {
        struct tile_image *t = &b->tile[i];

        if (s == EMU_OK && t->status != EMU_OK) /* again: messages belong to threads */
            s = make_tile(e, b->first + i, t);
        if (s == EMU_OK)
            s = add_tile(e, b->first + i, t);
    }
    b->count = 0;
    return s;
}

/* Makes one batch while the other one, which was made before, is added by the calling thread. */
static enum emu_status make_and_add(struct emission *e, unsigned threads, struct batch *make,
                                    struct batch *add)
{
    enum emu_status s = EMU_OK;

#pragma omp parallel num_threads(threads)
    {
#pragma omp master
        s = add_batch(e, add);
#pragma omp for schedule(dynamic, 1)
        for (uint32_t i = 0; i < make->count; i++)
            make->tile[i].status = make_tile(e, make->first + i, &make->tile[i]);
    }
    return s;
}

static enum emu_status add_tiles(struct emission *e, unsigned threads)
{
    uint32_t tiles = e->p->l->used_tiles, next = 0;
    struct batch *b = emu_alloc(2, sizeof(*b)), *make = b, *add = b + 1;
    enum emu_status s = EMU_OK;

    if (!b)
        return FAIL(NO_MEMORY, "%d tiles", 2 * BATCH_TILES);
    do {
        struct batch *made = make;

        make->first = next;
        make->count = tiles - next < BATCH_TILES ? tiles - next : BATCH_TILES;
        next += make->count;
        s = make_and_add(e, parallel_threads(threads), make, add);
        make = add;
        add = made;
    } while (s == EMU_OK && add->count);
    for (uint32_t i = 0; i < BATCH_TILES; i++) {
        tile_image_free(&make->tile[i]);
        tile_image_free(&add->tile[i]);
    }
    ss_free(b);
    return s;
}

/* The largest number of requests of a stream in one step. All of them belong to one transfer
 * of the graph.
 */
static uint64_t stream_requests(const struct lowered *l, uint32_t stream)
{
    uint64_t most = 1;

    for (size_t i = 0; i < l->step.count; i++) {
        const struct step *step = &l->step.at[i];
        uint64_t n = 0;

        for (uint64_t k = 0; step->kind == STEP_HOST && k < step->count; k++)
            n += l->host_request.at[step->first + k].stream == stream;
        if (most < n)
            most = n;
    }
    return most;
}

static int layouts_equal(const struct lowered *l, const struct stream_layout *a,
                         const struct stream_layout *b)
{
    for (uint32_t i = 0; a->runs == b->runs && i < a->runs; i++) {
        const struct stream_run *x = &l->stream_run.at[a->first + i];
        const struct stream_run *y = &l->stream_run.at[b->first + i];

        if (x->element != y->element || x->bytes != y->bytes)
            return 0;
    }
    return a->runs == b->runs;
}

/* How all places of the program move a stream; NULL: there is none. */
static enum emu_status find_layout(const struct lowered *l, uint32_t stream,
                                   const struct stream_layout **out)
{
    *out = NULL;
    for (size_t i = 0; i < l->stream_layout.count; i++) {
        const struct stream_layout *x = &l->stream_layout.at[i];

        if (x->stream != stream)
            continue;
        if (*out && !layouts_equal(l, *out, x))
            return FAIL(BAD_PROGRAM,
                        "stream %s is used with tensors that lie differently: the host would not "
                        "know in which order to send",
                        l->graph->stream.at[stream].name);
        *out = x;
    }
    return EMU_OK;
}

static enum emu_status add_order(struct emission *e, uint32_t stream, uint32_t *id)
{
    const struct lowered *l = e->p->l;
    const struct stream_layout *x;
    struct image_order *order;
    enum emu_status s;

    TRY(find_layout(l, stream, &x));
    *id = 0;
    if (!x)
        return EMU_OK;
    order = emu_alloc((size_t)x->runs + 1, sizeof(*order));
    if (!order)
        return FAIL(NO_MEMORY, "the order of stream %s", l->graph->stream.at[stream].name);
    for (uint32_t i = 0; i < x->runs; i++) {
        const struct stream_run *r = &l->stream_run.at[x->first + i];
        int is_filler = r->element == UINT64_MAX;

        order[i].element = is_filler ? IMAGE_ORDER_FILLER : (uint32_t)r->element;
        order[i].bytes = r->bytes;
    }
    s = image_orders(e->im, order, x->runs, id);
    ss_free(order);
    return s;
}

/* What a transfer carries, and how. */
static enum emu_status describe_transfer(struct emission *e, uint32_t stream,
                                         struct image_stream *out)
{
    const struct stream *s = &e->p->l->graph->stream.at[stream];

    out->elem_bytes = ss_elem_bytes(s->elem);
    if (s->elements > UINT32_MAX / out->elem_bytes)
        return FAIL(BAD_PROGRAM, "stream %s: a transfer of 4 GiB or more", s->name);
    out->elements = (uint32_t)s->elements;
    TRY(image_string(e->im, ss_elem_name(s->elem), &out->type));
    return add_order(e, stream, &out->order);
}

static enum emu_status add_streams(struct emission *e)
{
    const struct graph *g = e->p->l->graph;

    for (uint32_t i = 0; i < g->stream.count; i++) {
        const struct stream *s = &g->stream.at[i];
        uint64_t depth = s->depth * stream_requests(e->p->l, i);
        struct image_stream out = {
            .id = i,
            .chip = e->chip,
            .direction = s->way == STREAM_IN ? STREAM_TO_TILES : STREAM_TO_HOST,
            .depth = (uint32_t)(depth < HOST_MAX_DEPTH ? depth : HOST_MAX_DEPTH),
        };

        TRY(image_string(e->im, s->name, &out.name));
        TRY(describe_transfer(e, i, &out));
        TRY(image_add_stream(e->im, &out));
    }
    return EMU_OK;
}

/* The scope of a path that the image has; 0: it has none. */
static uint32_t find_scope(const struct image *im, uint32_t path)
{
    for (uint32_t i = 1; i < image_scope_count(im); i++)
        if (image_scope_at(im, i)->path == path)
            return i;
    return 0;
}

/* Scopes of the first chip keep their numbers of the graph; those of others are the same where
 * their paths are. */
static enum emu_status add_scopes(struct emission *e)
{
    const struct graph *g = e->p->l->graph;
    uint32_t n = ss_graph_scopes(g);

    e->scope = emu_alloc((size_t)n + 1, sizeof(*e->scope));
    if (!e->scope)
        return FAIL(NO_MEMORY, "%u scopes", n);
    for (uint32_t i = 1; i < n; i++) {
        struct image_scope x = { .parent = e->scope[ss_graph_scope_parent(g, i)] };

        TRY(image_string(e->im, ss_graph_scope_path(g, i), &x.path));
        e->scope[i] = e->chip ? find_scope(e->im, x.path) : 0;
        if (e->scope[i])
            continue;
        TRY(image_add_scope(e->im, &x));
        e->scope[i] = image_scope_count(e->im) - 1;
    }
    return EMU_OK;
}

/* Names of a program are interned in the order of their ids, but the image may already know some of
 * them. A name of several chips has the scope that it has on the first. */
static enum emu_status add_owners(struct emission *e, unsigned chips)
{
    uint32_t *scope_of; /* by string of the image */
    uint32_t most = 0;
    enum emu_status s = EMU_OK;

    for (unsigned k = 0; k < chips; k++)
        for (uint32_t i = 0; i < e[k].p->l->strings.count; i++)
            most = e[k].text[i] > most ? e[k].text[i] : most;
    scope_of = emu_alloc((size_t)most + 1, sizeof(*scope_of));
    if (!scope_of)
        return FAIL(NO_MEMORY, "%u names", most);
    for (unsigned k = chips; k-- > 0;)
        for (uint32_t i = 1; i < e[k].p->l->strings.count; i++)
            scope_of[e[k].text[i]] = e[k].scope[lowered_scope(e[k].p->l, i)];
    for (uint32_t i = 1; i <= most && s == EMU_OK; i++) {
        if (scope_of[i])
            s = image_add_owner(e->im, &(struct image_owner){ i, scope_of[i] });
    }
    ss_free(scope_of);
    return s;
}

/* Says for which engine the keys are enough. */
static enum emu_status add_note(const struct emission *e, unsigned chips)
{
    char depends[CALL_KEY_TEXT] = "", usual[CALL_KEY_TEXT] = "";

    for (unsigned k = 0; k < chips && !*depends; k++)
        call_key_depends(e[k].p->l, depends);
    for (unsigned k = 0; k < chips && !*usual; k++)
        call_key_usual(e[k].p->l, usual);
    TRY(image_add_note_text(e->im, *depends ? IMAGE_NOTE_DEPENDS : IMAGE_NOTE_NUMBERS,
                            *depends ? depends : category_name(CATEGORY_CONSTANT)));
    if (!*usual)
        return EMU_OK;
    return image_add_note_text(e->im, IMAGE_NOTE_USUAL, usual);
}

static enum emu_status emit_chip(struct emission *e, unsigned threads)
{
    TRY(vertex_forms(e->p->l, e->im, &e->form));
    TRY(codelet_map_init(e->p->in->codelets, e->im, e->category[CATEGORY_VERTEX_CODE],
                         code_base(e->p), &e->codelets));
    e->key_base = call_key_base(e->p->in->codelets);
    TRY(add_tiles(e, threads));
    TRY(emit_traffic(e->p->in, e->exchange_base, threads, e->im));
    return add_streams(e);
}

static enum emu_status emit_all(struct emission *e, unsigned chips, unsigned threads)
{
    const struct lowered *const *peer = e->p->in->peer;

    for (unsigned k = 0; k < chips; k++) {
        TRY(add_texts(&e[k]));
        TRY(add_scopes(&e[k]));
    }
    TRY(add_owners(e, chips));
    for (unsigned k = 0; k < chips; k++)
        TRY(emit_chip(&e[k], threads));
    if (peer)
        TRY(emit_channels(peer, chips, e->im));
    return add_note(e, chips);
}

static enum emu_status emission_init(struct emission *e, const struct emit_chip *chip, uint32_t k,
                                     struct image *im)
{
    if (!chip->place->fits)
        return FAIL(USAGE, "a program that does not fit into the memory of its tiles");
    EMU_ASSERT(chip->place->tiles == chip->in.lowered->used_tiles);
    e->p = &e->index;
    e->place = chip->place;
    e->im = im;
    e->chip = k;
    e->exchange_base = k ? e[-1].exchange_base + (uint32_t)e[-1].p->l->step.count : 0;
    return emit_index_init(&chip->in, &e->index);
}

enum emu_status emit_images(const struct emit_chip *chip, unsigned chips, unsigned threads,
                            struct image **out)
{
    struct emission *e = emu_alloc(chips, sizeof(*e));
    struct image *im = NULL;
    enum emu_status s = e ? image_new(ss_graph_arch(chip->in.lowered->graph), &im)
                          : FAIL(NO_MEMORY, "an image of %u chips", chips);

    *out = NULL;
    for (uint32_t k = 0; k < chips && s == EMU_OK; k++)
        s = emission_init(&e[k], &chip[k], k, im);
    if (s == EMU_OK)
        s = emit_all(e, chips, threads);
    for (unsigned k = 0; e && k < chips; k++)
        emission_free(&e[k]);
    ss_free(e);
    if (s == EMU_OK)
        *out = im;
    else
        ss_image_free(im);
    return s;
}

enum emu_status emit_image(const struct emit_input *in, const struct placement *place,
                           unsigned threads, struct image **out)
{
    const struct emit_chip chip = { *in, place };

    return emit_images(&chip, 1, threads, out);
}
