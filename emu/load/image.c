/* image.c - builds and reads the structure of a program: every rule for images is checked here, so
 * that images made by hand, by a program and by the reader of files obey the same rules.
 */
#include "emu/load/image_internal.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/bsp/machine.h"
#include "emu/exchange/host_header.h"

/* ---- construction ---- */

static enum emu_status add_empty_ones(struct image *im)
{
    uint32_t id;

    TRY(pool_intern(&im->text, &im->arena, "", 1, &id));
    TRY(pool_intern(&im->blob, &im->arena, NULL, 0, &id));
    TRY(pool_intern(&im->map, &im->arena, NULL, 0, &id));
    TRY(pool_intern(&im->symbols, &im->arena, NULL, 0, &id));
    TRY(pool_intern(&im->lines, &im->arena, NULL, 0, &id));
    TRY(pool_intern(&im->keys, &im->arena, NULL, 0, &id));
    TRY(pool_intern(&im->parts, &im->arena, NULL, 0, &id));
    TRY(pool_intern(&im->vertices, &im->arena, NULL, 0, &id));
    return pool_intern(&im->orders, &im->arena, NULL, 0, &id);
}

enum emu_status image_new(const struct arch *arch, struct image **out)
{
    struct image *im;
    enum emu_status s;

    *out = NULL;
    TRY(ss_arch_check(arch));
    im = emu_alloc(1, sizeof(*im));
    if (!im)
        return FAIL(NO_MEMORY, "an image");
    im->arch = *arch;
    im->chips = 1;
    s = add_empty_ones(im);
    if (s != EMU_OK) {
        ss_image_free(im);
        return s;
    }
    *out = im;
    return EMU_OK;
}

enum emu_status image_set_arch(struct image *im, const struct arch *arch)
{
    TRY(ss_arch_check(arch));
    if (!ss_arch_compiles_equal(&im->arch, arch))
        return FAIL(BAD_IMAGE, "the program would be another one on machine %.64s than on %.64s",
                    arch->name, im->arch.name);
    im->arch = *arch;
    return EMU_OK;
}

void ss_image_free(struct image *im)
{
    if (!im)
        return;
    pool_free(&im->text);
    pool_free(&im->blob);
    pool_free(&im->map);
    pool_free(&im->symbols);
    pool_free(&im->lines);
    pool_free(&im->keys);
    pool_free(&im->parts);
    pool_free(&im->vertices);
    pool_free(&im->orders);
    for (unsigned k = 0; k < IMAGE_LIST_SECTIONS; k++)
        ss_free(im->section[k]);
    arena_free(&im->arena);
    ss_free(im->tile);
    ss_free(im->channel);
    ss_free(im->channel_part);
    ss_free(im->link);
    ss_free(im->segment);
    ss_free(im->stream);
    ss_free(im->scope);
    ss_free(im->owner);
    ss_free(im->input.item);
    ss_free(im->input.part);
    ss_free(im->output.item);
    ss_free(im->output.part);
    ss_free(im->note);
    ss_free(im->traffic);
    index_free(&im->tile_index);
    index_free(&im->stream_index);
    ss_free(im);
}

/* ---- strings, blobs, lists ---- */

enum emu_status image_string(struct image *im, const char *text, uint32_t *id)
{
    size_t bytes = strlen(text) + 1;

    if (bytes > IMAGE_TEXT_BYTES_MAX)
        return FAIL(BAD_IMAGE, "a string of %zu bytes, expected less than %d", bytes - 1,
                    IMAGE_TEXT_BYTES_MAX);
    return pool_intern(&im->text, &im->arena, text, (uint32_t)bytes, id);
}

enum emu_status image_blob_room(const struct image *im, uint32_t bytes)
{
    if (bytes > im->arch.mem_bytes)
        return FAIL(BAD_IMAGE, "a blob of %u bytes, expected at most the %u of a tile", bytes,
                    im->arch.mem_bytes);
    if (bytes > IMAGE_BLOB_BYTES_MAX - im->blob_bytes)
        return FAIL(BAD_IMAGE, "blobs of more than %llu bytes",
                    (unsigned long long)IMAGE_BLOB_BYTES_MAX);
    return EMU_OK;
}

enum emu_status image_blob(struct image *im, const void *data, uint32_t bytes, uint32_t *id)
{
    size_t before = im->blob.items;

    TRY(image_blob_room(im, bytes));
    TRY(pool_intern(&im->blob, &im->arena, data, bytes, id));
    if (im->blob.items > before)
        im->blob_bytes += bytes;
    return EMU_OK;
}

static enum emu_status list_intern(struct image *im, struct image_pool *p, const void *items,
                                   size_t n, size_t item_bytes, uint32_t *id)
{
    return pool_intern(p, im->keeps_lists ? NULL : &im->arena, items, (uint32_t)(n * item_bytes),
                       id);
}

static enum emu_status check_list_length(const char *kind, size_t n)
{
    if (n > IMAGE_LIST_ITEMS_MAX)
        return FAIL(BAD_IMAGE, "a list of %zu %s, expected at most %d", n, kind,
                    IMAGE_LIST_ITEMS_MAX);
    return EMU_OK;
}

/* Whether [addr, addr + bytes) lies in tile memory; an empty one may stand at its end. */
static int in_memory(const struct image *im, uint32_t addr, uint32_t bytes)
{
    return addr >= im->arch.mem_base && (uint64_t)addr + bytes <= image_mem_end(&im->arch);
}

enum emu_status image_map(struct image *im, const struct image_range *r, size_t n, uint32_t *id)
{
    uint64_t end = im->arch.mem_base;

    TRY(check_list_length("ranges", n));
    for (size_t i = 0; i < n; i++) {
        if (!r[i].bytes || !in_memory(im, r[i].addr, r[i].bytes))
            return FAIL(BAD_IMAGE, "range %zu: %u bytes at 0x%x, expected some in tile memory", i,
                        r[i].bytes, r[i].addr);
        if (r[i].addr < end)
            return FAIL(BAD_IMAGE, "range %zu: at 0x%x, expected 0x%llx or higher", i, r[i].addr,
                        (unsigned long long)end);
        if (!r[i].category || r[i].category >= im->text.items)
            return FAIL(BAD_IMAGE, "range %zu: category %u, expected a string of 1 to %zu", i,
                        r[i].category, im->text.items - 1);
        if (r[i].owner >= im->text.items)
            return FAIL(BAD_IMAGE, "range %zu: owner %u, expected a string below %zu", i,
                        r[i].owner, im->text.items);
        end = (uint64_t)r[i].addr + r[i].bytes;
    }
    return list_intern(im, &im->map, r, n, sizeof(*r), id);
}

enum emu_status image_symbols(struct image *im, const struct image_symbol *s, size_t n,
                              uint32_t *id)
{
    TRY(check_list_length("symbols", n));
    for (size_t i = 0; i < n; i++) {
        if (!in_memory(im, s[i].addr, s[i].bytes))
            return FAIL(BAD_IMAGE, "symbol %zu: %u bytes at 0x%x, expected tile memory", i,
                        s[i].bytes, s[i].addr);
        if (i && s[i].addr < s[i - 1].addr)
            return FAIL(BAD_IMAGE, "symbol %zu: at 0x%x, expected 0x%x or higher", i, s[i].addr,
                        s[i - 1].addr);
        if (!s[i].name || s[i].name >= im->text.items)
            return FAIL(BAD_IMAGE, "symbol %zu: name %u, expected a string of 1 to %zu", i,
                        s[i].name, im->text.items - 1);
    }
    return list_intern(im, &im->symbols, s, n, sizeof(*s), id);
}

enum emu_status image_lines(struct image *im, const struct image_line *l, size_t n, uint32_t *id)
{
    TRY(check_list_length("lines", n));
    for (size_t i = 0; i < n; i++) {
        if (!in_memory(im, l[i].addr, 0))
            return FAIL(BAD_IMAGE, "line %zu: at 0x%x, expected tile memory", i, l[i].addr);
        if (i && l[i].addr <= l[i - 1].addr)
            return FAIL(BAD_IMAGE, "line %zu: at 0x%x, expected more than 0x%x", i, l[i].addr,
                        l[i - 1].addr);
        if (l[i].file >= im->text.items)
            return FAIL(BAD_IMAGE, "line %zu: file %u, expected a string below %zu", i, l[i].file,
                        im->text.items);
    }
    return list_intern(im, &im->lines, l, n, sizeof(*l), id);
}

enum { EVENTS_MAX = 1 << 30 };

/* Whether an instruction can stand at addr. */
static int is_code_address(const struct arch *a, uint32_t addr)
{
    return addr % 4 == 0 && addr >= a->mem_base && addr - a->mem_base < a->region0_bytes;
}

enum emu_status image_keys(struct image *im, const struct image_key *k, size_t n, uint32_t *id)
{
    TRY(check_list_length("keys", n));
    for (size_t i = 0; i < n; i++) {
        if (!is_code_address(&im->arch, k[i].addr))
            return FAIL(BAD_IMAGE,
                        "key %zu: at 0x%x, expected a multiple of 4 in executable memory", i,
                        k[i].addr);
        if (i && k[i].addr <= k[i - 1].addr)
            return FAIL(BAD_IMAGE, "key %zu: at 0x%x, expected more than 0x%x", i, k[i].addr,
                        k[i - 1].addr);
    }
    return list_intern(im, &im->keys, k, n, sizeof(*k), id);
}

static enum emu_status check_part(const struct image *im, const struct exchange_part *p)
{
    uint64_t end = (uint64_t)im->arch.mem_base + im->arch.region0_bytes;

    if (!is_code_address(&im->arch, p->addr) || !p->bytes || p->bytes % 4 ||
        p->bytes > end - p->addr)
        return FAIL(BAD_IMAGE, "%u bytes at 0x%x, expected words in executable memory", p->bytes,
                    p->addr);
    if (!p->exchange || p->exchange >= EXCHANGE_PARTS_MAX)
        return FAIL(BAD_IMAGE, "of exchange %u, expected 1 to %d", p->exchange,
                    EXCHANGE_PARTS_MAX - 1);
    if (!p->instructions || p->instructions > p->bytes / 4 || p->events < p->instructions)
        return FAIL(BAD_IMAGE,
                    "%u instructions in %u bytes and %u events, expected at least one, and no more "
                    "than words and events",
                    p->instructions, p->bytes, p->events);
    if (p->events >= EVENTS_MAX || p->end_event >= EVENTS_MAX)
        return FAIL(BAD_IMAGE, "events %u and %u, expected them below 2^30", p->events,
                    p->end_event);
    return EMU_OK;
}

enum emu_status image_parts(struct image *im, const struct exchange_part *p, size_t n, uint32_t *id)
{
    TRY(check_list_length("parts", n));
    for (size_t i = 0; i < n; i++) {
        if (check_part(im, &p[i]) != EMU_OK)
            return FAIL(BAD_IMAGE, "part %zu: %s", i, ss_error());
        if (i && p[i].addr - p[i - 1].addr < p[i - 1].bytes)
            return FAIL(BAD_IMAGE, "part %zu: at 0x%x, expected at least 0x%x", i, p[i].addr,
                        p[i - 1].addr + p[i - 1].bytes);
        if (i && p[i].addr < p[i - 1].addr)
            return FAIL(BAD_IMAGE, "part %zu: at 0x%x, expected more than 0x%x", i, p[i].addr,
                        p[i - 1].addr);
    }
    return list_intern(im, &im->parts, p, n, sizeof(*p), id);
}

enum emu_status image_vertices(struct image *im, const struct image_vertex *v, size_t n,
                               uint32_t *id)
{
    TRY(check_list_length("vertices", n));
    for (size_t i = 0; i < n; i++) {
        if (!is_code_address(&im->arch, v[i].addr))
            return FAIL(BAD_IMAGE,
                        "vertex %zu: at 0x%x, expected a multiple of 4 in executable memory", i,
                        v[i].addr);
        if (i && v[i].addr <= v[i - 1].addr)
            return FAIL(BAD_IMAGE, "vertex %zu: at 0x%x, expected more than 0x%x", i, v[i].addr,
                        v[i - 1].addr);
        if (v[i].state % 4 || !in_memory(im, v[i].state, 4))
            return FAIL(BAD_IMAGE, "vertex %zu: state at 0x%x, expected a word of tile memory", i,
                        v[i].state);
        if (!v[i].form || v[i].form >= im->text.items)
            return FAIL(BAD_IMAGE, "vertex %zu: form %u, expected a string of 1 to %zu", i,
                        v[i].form, im->text.items - 1);
    }
    return list_intern(im, &im->vertices, v, n, sizeof(*v), id);
}

enum emu_status image_orders(struct image *im, const struct image_order *o, size_t n, uint32_t *id)
{
    TRY(check_list_length("parts of an order", n));
    for (size_t i = 0; i < n; i++) {
        if (!o[i].bytes)
            return FAIL(BAD_IMAGE, "part %zu of an order: 0 bytes, expected some", i);
    }
    return list_intern(im, &im->orders, o, n, sizeof(*o), id);
}

/* ---- tiles ---- */

static uint64_t tile_hash(uint32_t chip, uint32_t tile)
{
    uint32_t k[2] = { chip, tile };

    return hash64(k, sizeof(k));
}

const struct image_tile *image_find_tile(const struct image *im, uint32_t chip, uint32_t tile)
{
    uint64_t hash = tile_hash(chip, tile);
    size_t cursor = 0;
    uint32_t i;

    while ((i = index_next(&im->tile_index, hash, &cursor)) != INDEX_NONE) {
        if (im->tile[i].tile == tile && im->tile[i].chip == chip)
            return &im->tile[i];
    }
    return NULL;
}

static enum emu_status check_tile(const struct image *im, const struct image_tile *t)
{
    const struct arch *a = &im->arch;

    if (t->tile >= a->tiles || t->chip >= a->chips)
        return FAIL(BAD_IMAGE, "tile %u of chip %u: expected a tile below %u of a chip below %u",
                    t->tile, t->chip, a->tiles, a->chips);
    if (image_find_tile(im, t->chip, t->tile))
        return FAIL(BAD_IMAGE, "tile %u of chip %u: expected every tile once", t->tile, t->chip);
    if (t->group >= MACHINE_MAX_GROUPS)
        return FAIL(BAD_IMAGE, "tile %u of chip %u: group %u, expected one below %d", t->tile,
                    t->chip, t->group, MACHINE_MAX_GROUPS);
    if (!is_code_address(a, t->entry))
        return FAIL(BAD_IMAGE,
                    "tile %u of chip %u: entry 0x%x, expected a multiple of 4 in the executable "
                    "0x%x to 0x%x",
                    t->tile, t->chip, t->entry, a->mem_base, a->mem_base + a->region0_bytes - 1);
    if (t->map >= im->map.items || t->symbols >= im->symbols.items || t->lines >= im->lines.items ||
        t->keys >= im->keys.items || t->parts >= im->parts.items ||
        t->vertices >= im->vertices.items)
        return FAIL(BAD_IMAGE,
                    "tile %u of chip %u: map %u, symbols %u, lines %u, keys %u, parts %u, vertices "
                    "%u: expected them below %zu, %zu, %zu, %zu, %zu, %zu",
                    t->tile, t->chip, t->map, t->symbols, t->lines, t->keys, t->parts, t->vertices,
                    im->map.items, im->symbols.items, im->lines.items, im->keys.items,
                    im->parts.items, im->vertices.items);
    return EMU_OK;
}

static int by_address(const void *x, const void *y)
{
    const struct image_segment *a = x, *b = y;

    return a->addr != b->addr ? (a->addr < b->addr ? -1 : 1)
                              : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* The first segment that begins before the one in front of it ends; n if there is none. */
static size_t first_disorder(const struct image_segment *s, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (s[i].addr < (uint64_t)s[i - 1].addr + s[i - 1].bytes)
            return i;
    }
    return n;
}

static enum emu_status check_overlap(const struct image_segment *s, size_t n)
{
    struct image_segment *sorted;
    struct image_segment a, b;
    size_t bad;

    if (first_disorder(s, n) == n)
        return EMU_OK;
    sorted = emu_alloc(n, sizeof(*sorted));
    if (!sorted)
        return FAIL(NO_MEMORY, "%zu segments", n);
    memcpy(sorted, s, n * sizeof(*s));
    qsort(sorted, n, sizeof(*s), by_address);
    bad = first_disorder(sorted, n);
    a = sorted[bad == n ? 0 : bad - 1];
    b = sorted[bad == n ? 0 : bad];
    ss_free(sorted);
    if (bad == n)
        return EMU_OK;
    return FAIL(BAD_IMAGE, "segments 0x%x + %u and 0x%x + %u: expected them disjoint", a.addr,
                a.bytes, b.addr, b.bytes);
}

static enum emu_status check_segments(const struct image *im, const struct image_segment *s,
                                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i].blob >= im->blob.items)
            return FAIL(BAD_IMAGE, "segment %zu: blob %u, expected one below %zu", i, s[i].blob,
                        im->blob.items);
        if (s[i].bytes > im->blob.item[s[i].blob].bytes)
            return FAIL(BAD_IMAGE, "segment %zu: %u bytes, expected at most the %u of blob %u", i,
                        s[i].bytes, im->blob.item[s[i].blob].bytes, s[i].blob);
        if (!s[i].bytes || !in_memory(im, s[i].addr, s[i].bytes))
            return FAIL(BAD_IMAGE, "segment %zu: %u bytes at 0x%x, expected some of 0x%x to 0x%llx",
                        i, s[i].bytes, s[i].addr, im->arch.mem_base,
                        (unsigned long long)image_mem_end(&im->arch) - 1);
    }
    return check_overlap(s, n);
}

/* Makes room for n more segments. */
static enum emu_status reserve_segments(struct image *im, size_t n)
{
    size_t cap = im->segment_cap ? im->segment_cap : 16;
    struct image_segment *p;

    if (n > UINT32_MAX - im->segments)
        return FAIL(BAD_IMAGE, "%zu more segments, expected at most %u in all", n, UINT32_MAX);
    while (cap < im->segments + n)
        cap *= 2;
    if (cap == im->segment_cap)
        return EMU_OK;
    p = emu_realloc(im->segment, cap, sizeof(*p));
    if (!p)
        return FAIL(NO_MEMORY, "%zu segments", cap);
    im->segment = p;
    im->segment_cap = cap;
    return EMU_OK;
}

enum emu_status image_add_tile(struct image *im, const struct image_tile *t,
                               const struct image_segment *s, size_t n)
{
    struct image_tile tile = *t; /* t and s may be views of this image, which is about to grow */
    size_t s_at = (uintptr_t)s - (uintptr_t)im->segment;
    int s_is_view = im->segment && s_at < im->segments * sizeof(*s);

    TRY(check_tile(im, t));
    TRY(check_segments(im, s, n));
    TRY(reserve_segments(im, n));
    if (s_is_view)
        s = im->segment + s_at / sizeof(*s);
    TRY(emu_grow((void **)&im->tile, im->tiles, &im->tile_cap, sizeof(*im->tile)));
    TRY(index_reserve(&im->tile_index));
    index_add(&im->tile_index, tile_hash(tile.chip, tile.tile), (uint32_t)im->tiles);
    tile.segments = (uint32_t)n;
    tile.first_segment = (uint32_t)im->segments;
    im->tile[im->tiles++] = tile;
    if (im->chips <= tile.chip)
        im->chips = tile.chip + 1;
    if (n)
        memcpy(im->segment + im->segments, s, n * sizeof(*s));
    im->segments += n;
    return EMU_OK;
}

/* ---- streams ---- */

static enum emu_status check_order(const struct image *im, const struct image_stream *s)
{
    size_t n;
    const struct image_order *o = image_order_of(im, s->order, &n);

    for (size_t i = 0; i < n; i++) {
        if (o[i].element == IMAGE_ORDER_FILLER)
            continue;
        if (o[i].bytes % s->elem_bytes ||
            (uint64_t)o[i].element + o[i].bytes / s->elem_bytes > s->elements)
            return FAIL(BAD_IMAGE,
                        "stream %u: part %zu of its order: %u bytes of element %u on, expected "
                        "some of %u elements of %u bytes",
                        s->id, i, o[i].bytes, o[i].element, s->elements, s->elem_bytes);
    }
    return EMU_OK;
}

static enum emu_status check_transfer(const struct image *im, const struct image_stream *s)
{
    uint64_t bytes;

    if (s->type >= im->text.items || s->order >= im->orders.items)
        return FAIL(BAD_IMAGE, "stream %u: type %u, order %u: expected them below %zu, %zu", s->id,
                    s->type, s->order, im->text.items, im->orders.items);
    if (!s->elements != !s->elem_bytes || (s->order && !s->elements) ||
        (uint64_t)s->elements * s->elem_bytes > UINT32_MAX)
        return FAIL(BAD_IMAGE,
                    "stream %u: %u elements of %u bytes in a transfer, expected some of less than "
                    "4 GiB, or neither and no order",
                    s->id, s->elements, s->elem_bytes);
    TRY(check_order(im, s));
    bytes = image_transfer_bytes(im, s);
    if (bytes > UINT32_MAX || (bytes && s->bytes % bytes))
        return FAIL(BAD_IMAGE,
                    "stream %u: %llu bytes in a transfer, expected less than 4 GiB that divide the "
                    "%llu of a run",
                    s->id, (unsigned long long)bytes, (unsigned long long)s->bytes);
    return EMU_OK;
}

enum emu_status image_add_stream(struct image *im, const struct image_stream *s)
{
    const uint32_t key[2] = { s->chip, s->id };
    uint64_t hash = hash64(key, sizeof(key));
    size_t cursor = 0;
    uint32_t i;

    if (s->id >= HOST_HEADER_STREAMS)
        return FAIL(BAD_IMAGE, "stream %u: expected a number below %d", s->id, HOST_HEADER_STREAMS);
    if (s->name >= im->text.items)
        return FAIL(BAD_IMAGE, "stream %u: name %u, expected a string below %zu", s->id, s->name,
                    im->text.items);
    if (s->direction > STREAM_TO_HOST || s->depth > IMAGE_STREAM_DEPTH_MAX)
        return FAIL(BAD_IMAGE, "stream %u: direction %u, depth %u: expected at most %d and %d",
                    s->id, s->direction, s->depth, STREAM_TO_HOST, IMAGE_STREAM_DEPTH_MAX);
    if (s->chip >= im->arch.chips)
        return FAIL(BAD_IMAGE, "stream %u: chip %u, expected one below %u", s->id, s->chip,
                    im->arch.chips);
    TRY(check_transfer(im, s));
    while ((i = index_next(&im->stream_index, hash, &cursor)) != INDEX_NONE) {
        if (im->stream[i].id == s->id && im->stream[i].chip == s->chip)
            return FAIL(BAD_IMAGE, "stream %u of chip %u: expected every stream once", s->id,
                        s->chip);
    }
    TRY(emu_grow((void **)&im->stream, im->streams, &im->stream_cap, sizeof(*im->stream)));
    TRY(index_reserve(&im->stream_index));
    index_add(&im->stream_index, hash, (uint32_t)im->streams);
    im->stream[im->streams++] = *s;
    return EMU_OK;
}

/* ---- scopes ---- */

enum emu_status image_add_scope(struct image *im, const struct image_scope *s)
{
    if (!s->path || s->path >= im->text.items || s->parent > im->scopes)
        return FAIL(BAD_IMAGE,
                    "scope %zu: path %u, parent %u: expected a string below %zu and a scope before "
                    "it",
                    im->scopes + 1, s->path, s->parent, im->text.items);
    if (im->scopes >= IMAGE_LIST_ITEMS_MAX)
        return FAIL(BAD_IMAGE, "more than %d scopes", IMAGE_LIST_ITEMS_MAX);
    TRY(emu_grow((void **)&im->scope, im->scopes, &im->scope_cap, sizeof(*im->scope)));
    im->scope[im->scopes++] = *s;
    return EMU_OK;
}

enum emu_status image_add_owner(struct image *im, const struct image_owner *o)
{
    uint32_t last = im->owners ? im->owner[im->owners - 1].name : 0;

    if (o->name <= last || o->name >= im->text.items)
        return FAIL(BAD_IMAGE, "owner %zu: name %u, expected a string above %u and below %zu",
                    im->owners, o->name, last, im->text.items);
    if (!o->scope || o->scope > im->scopes)
        return FAIL(BAD_IMAGE, "owner %zu: scope %u, expected 1 to %zu", im->owners, o->scope,
                    im->scopes);
    TRY(emu_grow((void **)&im->owner, im->owners, &im->owner_cap, sizeof(*im->owner)));
    im->owner[im->owners++] = *o;
    return EMU_OK;
}
