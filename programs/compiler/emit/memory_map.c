/* memory_map.c - ranges, symbols and initial contents of one tile.
 *
 * Objects that are never in use together may share bytes. In the map such a byte belongs to the
 * object that is in use at the tile's worst moment, or to the first one if none is.
 */
#include "programs/compiler/emit/memory_map.h"

#include <string.h>

#include "programs/compiler/base/key_sort.h"

/* Contents that are less than GAP_BYTES apart are stored together, with zeros between them, because
 * each entry costs 28 bytes in the image. An object of at least LARGE_BYTES has an entry of its
 * own, so that the image stores it once for all tiles that have it. */
enum { GAP_BYTES = 16, LARGE_BYTES = 1024 };

/* The bytes that an object lies in. */
struct claim {
    uint32_t addr, end;
    uint32_t rank; /* the lowest one gets the byte */
    uint32_t object;
};

struct claims {
    struct claim *claim; /* owned; by address, then rank */
    uint32_t count;
    uint32_t *heap; /* owned; indices of claims, lowest rank first */
    uint32_t heap_count;
};

/* Lists the objects of a tile by rank: first those that are in use during a step. spare: room for
 * as many claims again. */
static void rank_objects(const struct emit_index *p, uint32_t tile, uint32_t step, struct claims *c,
                         struct claim *spare)
{
    uint32_t others = 0;

    for (uint32_t i = p->object_first[tile]; i < p->object_first[tile + 1]; i++) {
        const struct object *o = &p->l->object.at[p->object[i]];
        struct claim x = { o->addr, o->addr + o->bytes, 0, p->object[i] };

        if (!o->bytes)
            continue;
        if (object_in_use(p->l, o, step))
            c->claim[c->count++] = x;
        else
            spare[others++] = x;
    }
    memcpy(c->claim + c->count, spare, others * sizeof(*spare));
    c->count += others;
    for (uint32_t i = 0; i < c->count; i++)
        c->claim[i].rank = i;
}

static enum emu_status list_claims(const struct emit_index *p, uint32_t tile, uint32_t peak_step,
                                   struct claims *c)
{
    uint32_t n = p->object_first[tile + 1] - p->object_first[tile];

    c->claim = emu_alloc(2 * (size_t)n + 1, sizeof(*c->claim));
    c->heap = emu_alloc(n + 1, sizeof(*c->heap));
    if (!c->claim || !c->heap)
        return FAIL(NO_MEMORY, "the map of %u objects", n);
    rank_objects(p, tile, peak_step, c, c->claim + n);
    return key_sort(c->claim, c->count, sizeof(*c->claim), offsetof(struct claim, addr), 1);
}

/* ---- heap of the claims to the current byte ---- */

static void heap_push(struct claims *c, uint32_t claim)
{
    uint32_t i = c->heap_count++;

    while (i && c->claim[c->heap[(i - 1) / 2]].rank > c->claim[claim].rank) {
        c->heap[i] = c->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    c->heap[i] = claim;
}

static void heap_pop(struct claims *c)
{
    uint32_t last = c->heap[--c->heap_count], i = 0, k;

    while ((k = 2 * i + 1) < c->heap_count) {
        if (k + 1 < c->heap_count && c->claim[c->heap[k + 1]].rank < c->claim[c->heap[k]].rank)
            k++;
        if (c->claim[last].rank <= c->claim[c->heap[k]].rank)
            break;
        c->heap[i] = c->heap[k];
        i = k;
    }
    c->heap[i] = last;
}

/* ---- ranges ---- */

/* Appends a range, or lengthens the last one. */
static enum emu_status add_range(struct tile_memory *m, struct memory_range r)
{
    struct memory_range *last = m->range.count ? &m->range.at[m->range.count - 1] : NULL;

    if (!r.bytes)
        return EMU_OK;
    if (last && last->addr + last->bytes == r.addr && last->category == r.category &&
        last->owner == r.owner) {
        last->bytes += r.bytes;
        return EMU_OK;
    }
    return VEC_PUSH(&m->range, r);
}

static enum emu_status add_code_ranges(const struct code_buffer *b, uint32_t base,
                                       struct tile_memory *m)
{
    for (size_t i = 0; i < b->range.count; i++) {
        const struct code_range *r = &b->range.at[i];
        uint32_t end = i + 1 < b->range.count ? r[1].word : (uint32_t)b->word.count;

        TRY(add_range(m, (struct memory_range){ base + ISA_WORD_BYTES * r->word,
                                                ISA_WORD_BYTES * (end - r->word), r->category,
                                                r->owner }));
    }
    return EMU_OK;
}

static enum emu_status add_object_ranges(const struct lowered *l, struct claims *c,
                                         struct tile_memory *m)
{
    uint32_t next = 0, pos = 0;

    while (next < c->count || c->heap_count) {
        const struct claim *top;
        const struct object *o;
        uint32_t end;

        if (!c->heap_count)
            pos = c->claim[next].addr;
        while (next < c->count && c->claim[next].addr == pos)
            heap_push(c, next++);
        top = &c->claim[c->heap[0]];
        if (top->end <= pos) {
            heap_pop(c);
            continue;
        }
        end = next < c->count && c->claim[next].addr < top->end ? c->claim[next].addr : top->end;
        o = &l->object.at[top->object];
        TRY(add_range(m, (struct memory_range){ pos, end - pos, o->category, o->owner }));
        pos = end;
    }
    return EMU_OK;
}

/* ---- symbols ---- */

static enum emu_status add_symbols(const struct lowered *l, const struct code_buffer *b,
                                   uint32_t base, const struct claims *c, struct tile_memory *m)
{
    for (size_t i = 0; i < b->mark.count; i++) {
        const struct code_mark *k = &b->mark.at[i];

        if (k->words && *strings_text(&l->strings, k->name))
            TRY(VEC_PUSH(&m->symbol, (struct memory_symbol){ base + ISA_WORD_BYTES * k->word,
                                                             ISA_WORD_BYTES * k->words, k->name }));
    }
    for (uint32_t i = 0; i < c->count; i++) {
        const struct object *o = &l->object.at[c->claim[i].object];

        if ((o->category == CATEGORY_VARIABLE || o->category == CATEGORY_CONSTANT) &&
            *strings_text(&l->strings, o->owner))
            TRY(VEC_PUSH(&m->symbol, (struct memory_symbol){ o->addr, o->bytes, o->owner }));
    }
    return EMU_OK;
}

/* ---- contents ---- */

static void write_contents(const struct lowered *l, const struct object *o, uint8_t *out)
{
    if (o->data) {
        memcpy(out, o->data, o->bytes);
        return;
    }
    for (uint32_t i = 0; i < o->words; i++) {
        const struct object_word *w = &l->word.at[o->word + i];
        uint32_t value =
            w->object == LOWERED_NONE ? w->value : l->object.at[w->object].addr + w->value;

        memcpy(out + sizeof(value) * i, &value, sizeof(value));
    }
    memset(out + sizeof(uint32_t) * o->words, 0, o->bytes - sizeof(uint32_t) * o->words);
}

/* Whether the contents of an object stay where they are. */
static int is_borrowed(const struct object *o)
{
    return o->data && o->bytes >= LARGE_BYTES;
}

/* An upper bound of the bytes that add_contents() writes: the contents of objects that are not
 * borrowed, and a gap for each. */
static size_t buffer_bytes(const struct lowered *l, const struct claims *c)
{
    size_t bytes = 1;

    for (uint32_t i = 0; i < c->count; i++) {
        const struct object *o = &l->object.at[c->claim[i].object];

        if (object_is_loaded(o) && !is_borrowed(o))
            bytes += o->bytes + GAP_BYTES;
    }
    return bytes;
}

static enum emu_status buffer_need(struct tile_memory *m, size_t bytes)
{
    uint8_t *p;

    if (bytes <= m->room)
        return EMU_OK;
    p = emu_realloc(m->buffer, bytes, 1);
    if (!p)
        return FAIL(NO_MEMORY, "the contents of a tile");
    m->buffer = p;
    m->room = bytes;
    return EMU_OK;
}

static enum emu_status add_contents(const struct lowered *l, const struct claims *c,
                                    struct tile_memory *m)
{
    struct memory_contents open = { 0, 0, NULL }; /* bytes 0: none */
    uint8_t *free_byte;

    TRY(buffer_need(m, buffer_bytes(l, c)));
    free_byte = m->buffer;
    for (uint32_t i = 0; i < c->count; i++) {
        const struct object *o = &l->object.at[c->claim[i].object];
        int joins = open.bytes && object_is_loaded(o) && o->bytes < LARGE_BYTES &&
                    o->addr - (open.addr + open.bytes) < GAP_BYTES;

        if (open.bytes && !joins) {
            TRY(VEC_PUSH(&m->contents, open));
            open.bytes = 0;
        }
        if (!object_is_loaded(o))
            continue;
        EMU_ASSERT(!o->data || !o->words);
        EMU_ASSERT(sizeof(uint32_t) * o->words <= o->bytes);
        if (is_borrowed(o)) {
            TRY(VEC_PUSH(&m->contents, (struct memory_contents){ o->addr, o->bytes, o->data }));
            continue;
        }
        if (joins) {
            uint32_t gap = o->addr - (open.addr + open.bytes);

            memset(free_byte, 0, gap);
            free_byte += gap;
        } else {
            open = (struct memory_contents){ o->addr, 0, free_byte };
        }
        write_contents(l, o, free_byte);
        free_byte += o->bytes;
        open.bytes = o->addr + o->bytes - open.addr;
    }
    return open.bytes ? VEC_PUSH(&m->contents, open) : EMU_OK;
}

/* ---- all of it ---- */

static enum emu_status describe(const struct emit_index *p, uint32_t tile,
                                const struct code_buffer *b, uint32_t base, uint32_t peak_step,
                                struct claims *c, struct tile_memory *out)
{
    const uint8_t *code = (const uint8_t *)b->word.at; /* both are little endian */
    uint32_t bytes = ISA_WORD_BYTES * (uint32_t)b->word.count;

    TRY(list_claims(p, tile, peak_step, c));
    TRY(add_code_ranges(b, base, out));
    TRY(add_symbols(p->l, b, base, c, out));
    TRY(VEC_PUSH(&out->contents, (struct memory_contents){ base, bytes, code }));
    TRY(add_contents(p->l, c, out));
    return add_object_ranges(p->l, c, out);
}

enum emu_status tile_memory_init(const struct emit_index *p, uint32_t tile,
                                 const struct code_buffer *b, uint32_t base, uint32_t peak_step,
                                 struct tile_memory *out)
{
    struct claims c = { NULL };
    enum emu_status s;

    out->range.count = out->symbol.count = out->contents.count = 0;
    s = describe(p, tile, b, base, peak_step, &c, out);
    ss_free(c.claim);
    ss_free(c.heap);
    return s;
}

void tile_memory_free(struct tile_memory *m)
{
    VEC_FREE(&m->range);
    VEC_FREE(&m->symbol);
    VEC_FREE(&m->contents);
    ss_free(m->buffer);
    m->buffer = NULL;
    m->room = 0;
}
