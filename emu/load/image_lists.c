/* image_lists.c - the sections of lists of an image file, unpacked by all threads.
 */
#include "emu/load/image_reader.h"

#include <string.h>
#include <zstd.h>

#include "emu/base/alloc.h"

static const struct list_kind {
    uint32_t type;
    size_t item_bytes;
    uint32_t since; /* version of the format */
} list_kinds[IMAGE_LIST_SECTIONS] = {
    { IMAGE_MAPS, sizeof(struct image_range), 0 },
    { IMAGE_SYMB, sizeof(struct image_symbol), 0 },
    { IMAGE_LINE, sizeof(struct image_line), 0 },
    { IMAGE_KEYS, sizeof(struct image_key), IMAGE_FORMAT_WITHOUT_KEYS + 1 },
    { IMAGE_XCHG, sizeof(struct exchange_part), IMAGE_FORMAT_WITHOUT_PARTS + 1 },
    { IMAGE_VERT, sizeof(struct image_vertex), IMAGE_FORMAT_WITHOUT_VERTICES + 1 },
    { IMAGE_ORDR, sizeof(struct image_order), IMAGE_FORMAT_WITHOUT_ORDERS + 1 },
};

/* A section of lists on its way into the image. */
struct list_section {
    struct stored_section stored;
    struct image_section section;
    enum emu_status status;
    char error[900]; /* messages belong to threads, so it is kept */
};

static enum emu_status add_list(struct image *im, uint32_t type, const uint8_t *items, size_t n,
                                uint32_t *id)
{
    const void *p = items;

    switch (type) {
    case IMAGE_MAPS:
        return image_map(im, p, n, id);
    case IMAGE_SYMB:
        return image_symbols(im, p, n, id);
    case IMAGE_KEYS:
        return image_keys(im, p, n, id);
    case IMAGE_XCHG:
        return image_parts(im, p, n, id);
    case IMAGE_VERT:
        return image_vertices(im, p, n, id);
    case IMAGE_ORDR:
        return image_orders(im, p, n, id);
    default:
        return image_lines(im, p, n, id);
    }
}

static enum emu_status add_lists(const struct image_reader *r, const struct list_kind *kind,
                                 const struct image_section *s)
{
    uint32_t lists, id, n;
    uint64_t at;

    if (s->bytes < sizeof(lists))
        return image_refuse(r, s, NO_ITEM, "%zu bytes, expected a count", s->bytes);
    memcpy(&lists, s->raw.data, sizeof(lists));
    at = sizeof(lists) + 4 * (uint64_t)lists;
    if (at > s->bytes)
        return image_refuse(r, s, NO_ITEM, "%u lists, expected at most what %zu bytes can count",
                            lists, s->bytes);
    for (uint32_t i = 0; i < lists; i++) {
        memcpy(&n, s->raw.data + 4 + 4 * (size_t)i, sizeof(n));
        if (n * (uint64_t)kind->item_bytes > s->bytes - at)
            return image_refuse(r, s, (long long)i + 1, "%u entries, expected at most %llu", n,
                                (unsigned long long)(s->bytes - at) / kind->item_bytes);
        TRY(image_refused(r, s, (long long)i + 1,
                          add_list(r->im, kind->type, s->raw.data + at, n, &id)));
        if (id != i + 1)
            return image_refuse(r, s, (long long)i + 1, "equals list %u, expected every list once",
                                id);
        at += n * (uint64_t)kind->item_bytes;
    }
    if (at != s->bytes)
        return image_refuse(r, s, NO_ITEM, "%llu bytes after the last list, expected none",
                            (unsigned long long)(s->bytes - at));
    return EMU_OK;
}

static enum emu_status unpack_lists(const struct image_reader *r, const struct list_kind *kind,
                                    struct list_section *l)
{
    void *zstd = ZSTD_createDCtx();
    enum emu_status s = zstd ? EMU_OK : FAIL(NO_MEMORY, "a decompressor");

    if (s == EMU_OK)
        s = section_unpack(r->src.name, zstd, &l->stored, &l->section);
    ZSTD_freeDCtx(zstd);
    TRY(s);
    return add_lists(r, kind, &l->section);
}

static void keep_outcome(struct list_section *l, enum emu_status s)
{
    l->status = s;
    if (s != EMU_OK)
        snprintf(l->error, sizeof(l->error), "%s", ss_error());
}

/* Lists of each kind have a pool of their own, and stay where they were unpacked: all kinds at
 * once.
 */
static void unpack_all_lists(struct image_reader *r, struct list_section *l, unsigned kinds)
{
    size_t bytes = 0;

    for (unsigned k = 0; k < kinds; k++)
        bytes += l[k].stored.raw_bytes;
    r->im->keeps_lists = 1;
#pragma omp parallel for schedule(dynamic, 1) if (bytes > IMAGE_GROUP_BYTES)
    for (unsigned k = 0; k < kinds; k++) {
        keep_outcome(&l[k], unpack_lists(r, &list_kinds[k], &l[k]));
    }
    r->im->keeps_lists = 0;
    for (unsigned k = 0; k < kinds; k++)
        r->im->section[k] = l[k].section.raw.data;
}

/* ---- who sends to whom ---- */

enum emu_status image_read_traffic(struct image_reader *r)
{
    struct image_section *s = &r->section;
    uint32_t count;
    uint64_t at = sizeof(count);

    if (r->src.version <= IMAGE_FORMAT_WITHOUT_PAIRS)
        return EMU_OK;
    TRY(section_read(&r->src, IMAGE_PAIR, IMAGE_SECTION_BYTES_MAX, s));
    if (s->bytes < at)
        return image_refuse(r, s, NO_ITEM, "%zu bytes, expected a count", s->bytes);
    memcpy(&count, s->raw.data, sizeof(count));
    for (uint32_t i = 0; i < count; i++) {
        struct image_traffic t;

        if (s->bytes - at < IMAGE_PAIR_RECORD_BYTES)
            return image_refuse(r, s, i, "%llu bytes left, expected a record of %d",
                                (unsigned long long)(s->bytes - at), IMAGE_PAIR_RECORD_BYTES);
        memcpy(&t, s->raw.data + at, 16);
        memcpy(&t.key.lo, s->raw.data + at + 16, 8);
        memcpy(&t.key.hi, s->raw.data + at + 24, 8);
        at += IMAGE_PAIR_RECORD_BYTES;
        if ((uint64_t)t.list_bytes + t.messages_bytes > s->bytes - at)
            return image_refuse(r, s, i, "lists of %u and %u bytes, expected at most %llu",
                                t.list_bytes, t.messages_bytes,
                                (unsigned long long)(s->bytes - at));
        t.list = s->raw.data + at;
        t.messages = s->raw.data + at + t.list_bytes;
        TRY(image_refused(r, s, i, image_add_traffic(r->im, &t)));
        at += (uint64_t)t.list_bytes + t.messages_bytes;
    }
    if (at != s->bytes)
        return image_refuse(r, s, NO_ITEM, "%llu bytes after the last list, expected none",
                            (unsigned long long)(s->bytes - at));
    return EMU_OK;
}

/* ---- all ---- */

/* What is wrong with a section is found before what is wrong with the next one. */
enum emu_status image_read_lists(struct image_reader *r)
{
    struct list_section *l = emu_alloc(IMAGE_LIST_SECTIONS, sizeof(*l));
    enum emu_status s = l ? EMU_OK : FAIL(NO_MEMORY, "lists of an image");
    unsigned kinds = 0;

    while (s == EMU_OK && kinds < IMAGE_LIST_SECTIONS &&
           r->src.version >= list_kinds[kinds].since) {
        s = section_fetch(&r->src, list_kinds[kinds].type, IMAGE_SECTION_BYTES_MAX,
                          &l[kinds].stored);
        if (s == EMU_OK)
            kinds++;
        else
            keep_outcome(&l[kinds], s);
    }
    if (l)
        unpack_all_lists(r, l, kinds);
    for (unsigned k = 0; l && k < IMAGE_LIST_SECTIONS; k++) {
        if (l[k].status == EMU_OK)
            continue;
        s = ss_fail(l[k].status, "%s", l[k].error);
        break;
    }
    for (unsigned k = 0; l && k < IMAGE_LIST_SECTIONS; k++)
        byte_buffer_free(&l[k].stored.copy);
    ss_free(l);
    return s;
}
