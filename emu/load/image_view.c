/* image_view.c - look-ups in an image: its parts, symbols and lines by address, memory by category.
 */
#include "emu/load/image_internal.h"

const struct arch *ss_image_arch(const struct image *im)
{
    return im ? &im->arch : NULL;
}

size_t image_tile_count(const struct image *im)
{
    return im->tiles;
}

uint32_t image_chip_count(const struct image *im)
{
    return im->chips;
}

const struct image_tile *image_tile_at(const struct image *im, size_t i)
{
    EMU_ASSERT(i < im->tiles);
    return &im->tile[i];
}

const struct image_segment *image_segment_at(const struct image *im, size_t i)
{
    EMU_ASSERT(i < im->segments);
    return &im->segment[i];
}

const uint8_t *image_blob_bytes(const struct image *im, uint32_t blob, uint32_t *bytes)
{
    EMU_ASSERT(blob < im->blob.items);
    *bytes = im->blob.item[blob].bytes;
    return im->blob.item[blob].data;
}

const char *image_text(const struct image *im, uint32_t string)
{
    EMU_ASSERT(string < im->text.items);
    return im->text.item[string].data;
}

static const void *list_of(const struct image_pool *p, uint32_t id, size_t item_bytes, size_t *n)
{
    EMU_ASSERT(id < p->items);
    *n = p->item[id].bytes / item_bytes;
    return p->item[id].data;
}

const struct image_range *image_map_of(const struct image *im, uint32_t map, size_t *n)
{
    return list_of(&im->map, map, sizeof(struct image_range), n);
}

const struct image_symbol *image_symbols_of(const struct image *im, uint32_t symbols, size_t *n)
{
    return list_of(&im->symbols, symbols, sizeof(struct image_symbol), n);
}

const struct image_line *image_lines_of(const struct image *im, uint32_t lines, size_t *n)
{
    return list_of(&im->lines, lines, sizeof(struct image_line), n);
}

const struct image_key *image_keys_of(const struct image *im, uint32_t keys, size_t *n)
{
    return list_of(&im->keys, keys, sizeof(struct image_key), n);
}

const struct exchange_part *image_parts_of(const struct image *im, uint32_t parts, size_t *n)
{
    return list_of(&im->parts, parts, sizeof(struct exchange_part), n);
}

const struct image_vertex *image_vertices_of(const struct image *im, uint32_t vertices, size_t *n)
{
    return list_of(&im->vertices, vertices, sizeof(struct image_vertex), n);
}

const struct image_order *image_order_of(const struct image *im, uint32_t order, size_t *n)
{
    return list_of(&im->orders, order, sizeof(struct image_order), n);
}

uint64_t image_transfer_bytes(const struct image *im, const struct image_stream *s)
{
    uint64_t sum = 0;
    size_t n;
    const struct image_order *o = image_order_of(im, s->order, &n);

    for (size_t i = 0; i < n; i++)
        sum += o[i].bytes;
    return sum;
}

size_t image_stream_count(const struct image *im)
{
    return im->streams;
}

const struct image_stream *image_stream_at(const struct image *im, size_t i)
{
    EMU_ASSERT(i < im->streams);
    return &im->stream[i];
}

uint32_t image_scope_count(const struct image *im)
{
    return (uint32_t)im->scopes + 1;
}

const struct image_scope *image_scope_at(const struct image *im, uint32_t scope)
{
    EMU_ASSERT(scope && scope <= im->scopes);
    return &im->scope[scope - 1];
}

uint32_t image_scope_of(const struct image *im, uint32_t owner)
{
    size_t low = 0, high = im->owners;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (im->owner[mid].name < owner)
            low = mid + 1;
        else
            high = mid;
    }
    return low < im->owners && im->owner[low].name == owner ? im->owner[low].scope : 0;
}

const struct image_range *image_range_at(const struct image *im, const struct image_tile *t,
                                         uint32_t addr)
{
    size_t n, low = 0;
    const struct image_range *r = image_map_of(im, t->map, &n);

    while (low < n) { /* ranges [0, low) begin at or below addr, [n, ...) above it */
        size_t mid = low + (n - low) / 2;

        if (r[mid].addr <= addr)
            low = mid + 1;
        else
            n = mid;
    }
    return low && addr - r[low - 1].addr < r[low - 1].bytes ? &r[low - 1] : NULL;
}

const char *image_symbolize(const struct image *im, const struct image_tile *t, uint32_t addr,
                            uint32_t *offset)
{
    size_t n, low = 0;
    const struct image_symbol *s = image_symbols_of(im, t->symbols, &n);

    *offset = 0;
    while (low < n) { /* symbols [0, low) are at or below addr, [n, ...) above it */
        size_t mid = low + (n - low) / 2;

        if (s[mid].addr <= addr)
            low = mid + 1;
        else
            n = mid;
    }
    if (!low)
        return NULL;
    *offset = addr - s[low - 1].addr;
    return image_text(im, s[low - 1].name);
}

const char *image_source(const struct image *im, const struct image_tile *t, uint32_t addr,
                         uint32_t *line)
{
    size_t n, low = 0;
    const struct image_line *l = image_lines_of(im, t->lines, &n);

    *line = 0;
    while (low < n) {
        size_t mid = low + (n - low) / 2;

        if (l[mid].addr <= addr)
            low = mid + 1;
        else
            n = mid;
    }
    if (!low || !l[low - 1].file)
        return NULL;
    *line = l[low - 1].line;
    return image_text(im, l[low - 1].file);
}

enum emu_status image_check_map(const struct image *im, const struct image_tile *t)
{
    uint64_t at = im->arch.mem_base, named = 0, gaps = 0;
    size_t n;
    const struct image_range *r = image_map_of(im, t->map, &n);

    for (size_t i = 0; i < n; i++) {
        if (r[i].addr < at || !r[i].bytes || !r[i].category)
            return FAIL(BAD_IMAGE,
                        "tile %u of chip %u: range %zu (0x%x + %u): expected it above 0x%llx, with "
                        "a category",
                        t->tile, t->chip, i, r[i].addr, r[i].bytes, (unsigned long long)at);
        gaps += r[i].addr - at;
        named += r[i].bytes;
        at = (uint64_t)r[i].addr + r[i].bytes;
    }
    if (at > image_mem_end(&im->arch))
        return FAIL(BAD_IMAGE, "tile %u of chip %u: ranges end at 0x%llx, expected at most 0x%llx",
                    t->tile, t->chip, (unsigned long long)at,
                    (unsigned long long)image_mem_end(&im->arch));
    gaps += image_mem_end(&im->arch) - at;
    if (named + gaps != im->arch.mem_bytes)
        return FAIL(BAD_IMAGE, "tile %u of chip %u: %llu bytes named, %llu in gaps, expected %u",
                    t->tile, t->chip, (unsigned long long)named, (unsigned long long)gaps,
                    im->arch.mem_bytes);
    return EMU_OK;
}

uint32_t image_category_bytes(const struct image *im, const struct image_tile *t, uint32_t category)
{
    uint32_t sum = 0, named = 0;
    size_t n;
    const struct image_range *r = image_map_of(im, t->map, &n);

    for (size_t i = 0; i < n; i++) {
        named += r[i].bytes;
        if (r[i].category == category)
            sum += r[i].bytes;
    }
    return category ? sum : im->arch.mem_bytes - named;
}

uint32_t image_find_string(const struct image *im, const char *text)
{
    size_t bytes = 0;

    while (bytes < IMAGE_TEXT_BYTES_MAX && text[bytes])
        bytes++;
    return bytes < IMAGE_TEXT_BYTES_MAX ? pool_find(&im->text, text, (uint32_t)bytes + 1)
                                        : INDEX_NONE;
}
