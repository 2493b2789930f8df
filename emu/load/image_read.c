/* image_read.c - builds an image from the sections of a file.
 *
 * Everything goes through the functions a program would build with, so every rule of image.c holds
 * for files too; the message of a failure begins with file, offset and item. Only blobs are
 * different: their chunks are decompressed by all threads, directly into place.
 */
#include "emu/load/image_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "emu/base/alloc.h"

enum { TILE_RECORD_WORDS = 11, INPUT_RECORD_BYTES = 24, HASH_BYTES = 16 };

enum emu_status image_refuse(const struct image_reader *r, const struct image_section *s,
                             long long item, const char *fmt, ...)
{
    char why[700], number[32] = "", type[5];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    if (item >= 0)
        snprintf(number, sizeof(number), " item %lld", item);
    section_type_text(s->type, type);
    return FAIL(BAD_IMAGE, "%.200s: offset %llu: section %s%s: %s", r->src.name,
                (unsigned long long)s->offset, type, number, why);
}

enum emu_status image_refused(const struct image_reader *r, const struct image_section *s,
                              long long item, enum emu_status status)
{
    if (status == EMU_OK || status == EMU_NO_MEMORY)
        return status;
    return image_refuse(r, s, item, "%s", ss_error());
}

static enum emu_status read_machine(struct image_reader *r)
{
    struct image_section *s = &r->section;
    struct arch a;

    TRY(section_read(&r->src, IMAGE_MACH, IMAGE_MACHINE_BYTES_MAX, s));
    TRY(image_refused(r, s, NO_ITEM,
                      ss_arch_load_text((const char *)s->raw.data, s->bytes, "machine", &a)));
    return image_refused(r, s, NO_ITEM, image_new(&a, &r->im));
}

static enum emu_status read_text(struct image_reader *r)
{
    struct image_section *s = &r->section;
    uint32_t count, id;
    size_t at = sizeof(count);

    TRY(section_read(&r->src, IMAGE_TEXT, IMAGE_SECTION_BYTES_MAX, s));
    if (s->bytes < at)
        return image_refuse(r, s, NO_ITEM, "%zu bytes, expected a count", s->bytes);
    memcpy(&count, s->raw.data, sizeof(count));
    for (uint32_t i = 1; i <= count && i; i++) {
        const char *text = (const char *)s->raw.data + at;

        if (!memchr(text, '\0', s->bytes - at))
            return image_refuse(r, s, i, "expected %u strings, each with a NUL", count);
        TRY(image_refused(r, s, i, image_string(r->im, text, &id)));
        if (id != i)
            return image_refuse(r, s, i, "equals string %u, expected every string once", id);
        at += strlen(text) + 1;
    }
    if (at != s->bytes)
        return image_refuse(r, s, NO_ITEM, "%zu bytes after the last string, expected none",
                            s->bytes - at);
    return EMU_OK;
}

/* ---- records ---- */

/* Reads a section of equal records. */
enum emu_status image_read_records(struct image_reader *r, uint32_t type, size_t record_bytes,
                                   struct image_section *s, size_t *n)
{
    TRY(section_read(&r->src, type, IMAGE_SECTION_BYTES_MAX, s));
    if (s->bytes % record_bytes)
        return image_refuse(r, s, NO_ITEM, "%zu bytes, expected a multiple of %zu", s->bytes,
                            record_bytes);
    *n = s->bytes / record_bytes;
    return EMU_OK;
}

static size_t stream_record_bytes(const struct image_reader *r)
{
    if (r->src.version <= IMAGE_FORMAT_WITHOUT_ORDERS)
        return IMAGE_STREAM_WITHOUT_ORDER_BYTES;
    return r->src.version <= IMAGE_FORMAT_OF_ONE_CHIP ? IMAGE_STREAM_WITHOUT_CHIP_BYTES
                                                      : IMAGE_STREAM_RECORD_BYTES;
}

static enum emu_status read_streams(struct image_reader *r)
{
    struct image_section *s = &r->section;
    struct image_stream stream = { 0 };
    size_t n = 0, bytes = stream_record_bytes(r);

    TRY(image_read_records(r, IMAGE_STRM, bytes, s, &n));
    for (size_t i = 0; i < n; i++) {
        memcpy(&stream, s->raw.data + i * bytes, bytes);
        TRY(image_refused(r, s, (long long)i, image_add_stream(r->im, &stream)));
    }
    return EMU_OK;
}

static enum emu_status add_scopes(struct image_reader *r, uint32_t scopes, uint32_t owners)
{
    struct image_section *s = &r->section;
    const uint8_t *at = s->raw.data + 8;
    struct image_scope scope;
    struct image_owner owner;

    for (uint32_t i = 0; i < scopes; i++, at += sizeof(scope)) {
        memcpy(&scope, at, sizeof(scope));
        TRY(image_refused(r, s, (long long)i, image_add_scope(r->im, &scope)));
    }
    for (uint32_t i = 0; i < owners; i++, at += sizeof(owner)) {
        memcpy(&owner, at, sizeof(owner));
        TRY(image_refused(r, s, (long long)i, image_add_owner(r->im, &owner)));
    }
    return EMU_OK;
}

static enum emu_status read_scopes(struct image_reader *r)
{
    struct image_section *s = &r->section;
    uint32_t count[2];

    TRY(section_read(&r->src, IMAGE_SCOP, IMAGE_SECTION_BYTES_MAX, s));
    if (s->bytes < sizeof(count))
        return image_refuse(r, s, NO_ITEM, "%zu bytes, expected two counts", s->bytes);
    memcpy(count, s->raw.data, sizeof(count));
    if (s->bytes != 8 + 8 * ((uint64_t)count[0] + count[1]))
        return image_refuse(r, s, NO_ITEM, "%zu bytes, expected those of %u scopes and %u owners",
                            s->bytes, count[0], count[1]);
    return add_scopes(r, count[0], count[1]);
}

/* A record says of each kind of list that the version has which one is the tile's. */
static size_t tile_record_bytes(const struct image_reader *r)
{
    uint32_t lacks = r->src.version < IMAGE_FORMAT_WITHOUT_PAIRS
                         ? IMAGE_FORMAT_WITHOUT_PAIRS - r->src.version
                         : 0;

    lacks += r->src.version <= IMAGE_FORMAT_WITHOUT_VERTICES;
    return sizeof(uint32_t) * (TILE_RECORD_WORDS - lacks);
}

/* Tiles can be added only when the sizes of blobs are known: section BLOB comes after them,
 * because the number of tiles limits what blobs may need. */
static enum emu_status add_tiles(struct image_reader *r)
{
    size_t tiles = r->tile.bytes / tile_record_bytes(r), at = 0;
    size_t segments = r->segm.bytes / sizeof(struct image_segment);
    const void *raw = r->segm.raw.data;
    const struct image_segment *s = raw;
    uint32_t w[TILE_RECORD_WORDS] = { 0 };

    for (size_t i = 0; i < tiles; i++) {
        memcpy(w, r->tile.raw.data + i * tile_record_bytes(r), tile_record_bytes(r));
        if (w[4] > segments - at)
            return image_refuse(r, &r->tile, (long long)i,
                                "%u segments, expected at most the %zu left", w[4], segments - at);
        TRY(image_refused(r, &r->tile, (long long)i,
                          image_add_tile(r->im,
                                         &(struct image_tile){ .tile = w[0],
                                                               .chip = w[1],
                                                               .group = w[2],
                                                               .entry = w[3],
                                                               .map = w[5],
                                                               .symbols = w[6],
                                                               .lines = w[7],
                                                               .keys = w[8],
                                                               .parts = w[9],
                                                               .vertices = w[10] },
                                         s + at, w[4])));
        at += w[4];
    }
    if (at != segments)
        return image_refuse(r, &r->segm, (long long)at, "belongs to no tile, expected %zu segments",
                            at);
    return EMU_OK;
}

/* ---- blobs ---- */

static size_t pages_of(uint32_t bytes)
{
    return ((size_t)bytes + IMAGE_PAGE_BYTES - 1) / IMAGE_PAGE_BYTES;
}

static uint32_t page_bytes(uint32_t blob_bytes, size_t page)
{
    size_t left = blob_bytes - page * IMAGE_PAGE_BYTES;

    return left < IMAGE_PAGE_BYTES ? (uint32_t)left : IMAGE_PAGE_BYTES;
}

/* Finds the parts of section BLOB and holds its sizes against each other. */
static enum emu_status split_table(struct image_reader *r)
{
    struct image_section *s = &r->blob;
    struct blob_table *t = &r->table;
    uint64_t need, refs = 0, total = 0;
    uint64_t room = r->tile.bytes / tile_record_bytes(r) * (uint64_t)r->im->arch.mem_bytes;
    const void *words;

    if (s->bytes < 8)
        return image_refuse(r, s, NO_ITEM, "%zu bytes, expected two counts", s->bytes);
    words = s->raw.data + 8;
    memcpy(&t->blobs, s->raw.data, 4);
    memcpy(&t->chunks, s->raw.data + 4, 4);
    if (4 * (uint64_t)t->blobs > s->bytes - 8)
        return image_refuse(r, s, NO_ITEM, "%u blobs, expected at most what %zu bytes can list",
                            t->blobs, s->bytes);
    t->bytes = words;
    for (uint32_t i = 0; i < t->blobs; i++) {
        refs += pages_of(t->bytes[i]);
        total += t->bytes[i];
    }
    need = 8 + 4 * (t->blobs + refs) + HASH_BYTES * (uint64_t)t->chunks;
    if (need != s->bytes)
        return image_refuse(r, s, NO_ITEM, "%zu bytes, expected %llu for %u blobs and %u chunks",
                            s->bytes, (unsigned long long)need, t->blobs, t->chunks);
    if (total > room)
        return image_refuse(r, s, NO_ITEM,
                            "blobs of %llu bytes, expected at most the %llu of all tiles",
                            (unsigned long long)total, (unsigned long long)room);
    t->ref = t->bytes + t->blobs;
    t->hash = (const uint8_t *)(t->ref + refs);
    return EMU_OK;
}

/* Notes where chunks go first. They are numbered in the order of their first use. */
static enum emu_status place_chunks(struct image_reader *r, uint32_t blob, const uint32_t *ref,
                                    uint8_t *data, uint32_t *next)
{
    struct blob_table *t = &r->table;
    uint32_t bytes = t->bytes[blob - 1];

    for (size_t p = 0; p < pages_of(bytes); p++) {
        uint32_t n = page_bytes(bytes, p);

        if (!ref[p])
            continue;
        if (ref[p] - 1 > *next || ref[p] > t->chunks)
            return image_refuse(r, &r->blob, blob, "page %zu: chunk %u, expected at most %u", p,
                                ref[p], *next < t->chunks ? *next + 1 : t->chunks);
        if (ref[p] - 1 == *next)
            t->place[(*next)++] = (struct chunk_place){ data + p * IMAGE_PAGE_BYTES, n };
        else if (t->place[ref[p] - 1].bytes != n)
            return image_refuse(r, &r->blob, blob, "page %zu: chunk %u of %u bytes, expected %u", p,
                                ref[p], t->place[ref[p] - 1].bytes, n);
    }
    return EMU_OK;
}

static enum emu_status reserve_blobs(struct image_reader *r)
{
    struct blob_table *t = &r->table;
    const uint32_t *ref = t->ref;
    uint32_t next = 0;
    uint8_t *data;

    t->place = emu_alloc(t->chunks, sizeof(*t->place));
    if (!t->place)
        return FAIL(NO_MEMORY, "%u chunks", t->chunks);
    for (uint32_t i = 1; i <= t->blobs; i++) {
        uint32_t bytes = t->bytes[i - 1];

        TRY(image_refused(r, &r->blob, i, image_blob_room(r->im, bytes)));
        TRY(pool_append_blank(&r->im->blob, &r->im->arena, bytes, &data));
        r->im->blob_bytes += bytes;
        TRY(place_chunks(r, i, ref, data, &next));
        ref += pages_of(bytes);
    }
    if (next != t->chunks)
        return image_refuse(r, &r->blob, NO_ITEM, "%u chunks, expected the %u that blobs name",
                            t->chunks, next);
    return EMU_OK;
}

static struct hash128 chunk_hash(const struct blob_table *t, uint32_t chunk)
{
    struct hash128 h;

    memcpy(&h.lo, t->hash + HASH_BYTES * (size_t)chunk, 8);
    memcpy(&h.hi, t->hash + HASH_BYTES * (size_t)chunk + 8, 8);
    return h;
}

static enum emu_status note_hash(struct image_reader *r, uint32_t chunk)
{
    struct hash128 h = chunk_hash(&r->table, chunk);
    size_t cursor = 0;
    uint32_t other;

    while ((other = index_next(&r->hashes, h.lo, &cursor)) != INDEX_NONE) {
        if (hash128_equal(chunk_hash(&r->table, other), h))
            return image_refuse(r, &r->blob, NO_ITEM,
                                "chunks %u and %u have one hash, expected two", other + 1,
                                chunk + 1);
    }
    TRY(index_reserve(&r->hashes));
    index_add(&r->hashes, h.lo, chunk);
    return EMU_OK;
}

/* ---- what the timing engine wants ---- */

static enum emu_status find_wanted(struct image_reader *r)
{
    const struct image *im = r->im;
    uint8_t *numbers = NULL;

    r->table.wanted = emu_alloc((size_t)r->table.blobs + 1, 1);
    if (!r->table.wanted)
        return FAIL(NO_MEMORY, "%u blobs", r->table.blobs);
    TRY(image_numbers_new(im, &numbers));
    for (size_t i = 0; i < im->tiles; i++) {
        const struct image_tile *t = &im->tile[i];

        for (uint32_t k = 0; k < t->segments; k++) {
            const struct image_segment *s = &im->segment[t->first_segment + k];

            if (!image_is_numbers(im, numbers, t, s))
                r->table.wanted[s->blob - 1] = 1;
        }
    }
    for (size_t i = 0; i < im->links; i++) {
        const struct image_segment *s = image_link_segment(im, &im->link[i]);

        if (s)
            r->table.wanted[s->blob - 1] = 1;
    }
    ss_free(numbers);
    return EMU_OK;
}

static int is_wanted(const struct blob_table *t, uint32_t blob)
{
    return !t->wanted || t->wanted[blob - 1];
}

/* Chunks go to the first blob that is wanted, or nowhere. */
static enum emu_status leave_numbers_out(struct image_reader *r)
{
    struct blob_table *t = &r->table;
    const uint32_t *ref = t->ref;

    if (!r->for_timing || image_timing_obstacle(r->im))
        return EMU_OK;
    r->im->lacks_numbers = 1;
    TRY(find_wanted(r));
    for (uint32_t c = 0; c < t->chunks; c++)
        t->place[c].at = NULL;
    for (uint32_t i = 1; i <= t->blobs; i++) {
        uint8_t *data = (uint8_t *)r->im->blob.item[i].data;

        for (size_t p = 0; p < pages_of(t->bytes[i - 1]); p++) {
            if (is_wanted(t, i) && ref[p] && !t->place[ref[p] - 1].at)
                t->place[ref[p] - 1].at = data + p * IMAGE_PAGE_BYTES;
        }
        ref += pages_of(t->bytes[i - 1]);
    }
    return EMU_OK;
}

/* ---- groups of chunks ---- */

/* Sections DATA are fetched one after the other and unpacked by all threads, so many at a time:
 * enough work for each thread, little memory where they come from a file. */
enum { BATCH_GROUPS = 64 };

struct group_batch {
    const struct image_reader *r;
    struct stored_section stored[BATCH_GROUPS];
    uint8_t bad[BATCH_GROUPS]; /* 1: it was refused, or there was no memory */
    uint32_t first, groups;    /* group `first` on */
};

static uint32_t group_end(const struct blob_table *t, uint32_t first)
{
    uint32_t left = t->chunks - first;

    return first + (left < IMAGE_GROUP_CHUNKS ? left : IMAGE_GROUP_CHUNKS);
}

/* Fills the chunks of a group from its section, unpacked. */
static enum emu_status fill_group(const struct image_reader *r, uint32_t first,
                                  const struct image_section *s)
{
    const struct blob_table *t = &r->table;
    uint32_t end = group_end(t, first);
    size_t at = 0, want = 0;

    for (uint32_t c = first; c < end; c++)
        want += t->place[c].bytes;
    if (s->bytes != want)
        return image_refuse(r, s, NO_ITEM, "%zu bytes, expected the %zu of chunks %u to %u",
                            s->bytes, want, first + 1, end);
    for (uint32_t c = first; c < end; at += t->place[c++].bytes) {
        const uint8_t *from = s->raw.data + at;

        if (!t->place[c].at)
            continue;
        if (!hash128_equal(hash128(from, t->place[c].bytes), chunk_hash(t, c)))
            return image_refuse(r, s, (long long)c + 1,
                                "expected bytes with the hash of section BLOB");
        if (bytes_are_zero(from, t->place[c].bytes))
            return image_refuse(r, s, (long long)c + 1,
                                "all zeros, expected chunk 0 to stand for them");
        memcpy(t->place[c].at, from, t->place[c].bytes);
    }
    return EMU_OK;
}

static int group_is_wanted(const struct blob_table *t, uint32_t first)
{
    for (uint32_t c = first; c < group_end(t, first); c++) {
        if (t->place[c].at)
            return 1;
    }
    return 0;
}

static enum emu_status unpack_group(const struct group_batch *b, uint32_t i, void *zstd,
                                    struct image_section *s)
{
    uint32_t first = (b->first + i) * IMAGE_GROUP_CHUNKS;

    if (!zstd)
        return FAIL(NO_MEMORY, "a decompressor");
    if (!group_is_wanted(&b->r->table, first))
        return EMU_OK;
    TRY(section_unpack(b->r->src.name, zstd, &b->stored[i], s));
    return fill_group(b->r, first, s);
}

static void unpack_groups(struct group_batch *b)
{
#pragma omp parallel if (b->groups > 1)
    {
        struct image_section s = { 0 };
        void *zstd = ZSTD_createDCtx();

#pragma omp for schedule(dynamic)
        for (uint32_t i = 0; i < b->groups; i++)
            b->bad[i] = unpack_group(b, i, zstd, &s) != EMU_OK;
        ZSTD_freeDCtx(zstd);
        byte_buffer_free(&s.raw);
    }
}

static enum emu_status read_batch(struct image_reader *r, struct group_batch *b, uint32_t groups)
{
    enum emu_status s = EMU_OK;

    b->groups = 0;
    while (b->groups < groups && s == EMU_OK) {
        s = section_fetch(&r->src, IMAGE_DATA, IMAGE_GROUP_BYTES, &b->stored[b->groups]);
        b->groups += s == EMU_OK;
    }
    TRY(s);
    unpack_groups(b);
    for (uint32_t i = 0; i < groups; i++) { /* messages belong to a thread: again, in this one */
        if (b->bad[i])
            TRY(unpack_group(b, i, r->src.zstd, &r->section));
    }
    return EMU_OK;
}

static enum emu_status read_groups(struct image_reader *r, uint32_t groups)
{
    struct group_batch *b = emu_alloc(1, sizeof(*b));
    enum emu_status s = b ? EMU_OK : FAIL(NO_MEMORY, "sections of an image");

    for (uint32_t c = 0; c < r->table.chunks && s == EMU_OK; c++)
        s = note_hash(r, c);
    for (uint32_t g = 0; g < groups && s == EMU_OK; g += BATCH_GROUPS) {
        b->r = r;
        b->first = g;
        s = read_batch(r, b, groups - g < BATCH_GROUPS ? groups - g : BATCH_GROUPS);
    }
    for (uint32_t i = 0; b && i < BATCH_GROUPS; i++)
        byte_buffer_free(&b->stored[i].copy);
    ss_free(b);
    return s;
}

/* Copies chunks to their other places in a blob. */
static void copy_chunks(const struct blob_table *t, uint8_t *data, uint32_t bytes,
                        const uint32_t *ref)
{
    for (size_t p = 0; p < pages_of(bytes); p++) {
        const struct chunk_place *c = ref[p] ? &t->place[ref[p] - 1] : NULL;

        if (c && c->at != data + p * IMAGE_PAGE_BYTES)
            memcpy(data + p * IMAGE_PAGE_BYTES, c->at, c->bytes);
    }
}

/* Completes the blobs and makes them findable. at: where the pages of each begin in the table;
 * hash: of each; both by number from 0. */
static enum emu_status finish_blobs(struct image_reader *r, size_t *at, uint64_t *hash)
{
    const struct blob_table *t = &r->table;
    struct image_pool *pool = &r->im->blob;
    size_t pages = 0;
    uint32_t equal;

    for (uint32_t i = 0; i < t->blobs; i++) {
        at[i] = pages;
        pages += pages_of(t->bytes[i]);
    }
#pragma omp parallel for schedule(dynamic, 16) if (t->blobs > 16)
    for (uint32_t i = 0; i < t->blobs; i++) {
        uint8_t *data = (uint8_t *)pool->item[i + 1].data;

        if (!is_wanted(t, i + 1))
            continue;
        copy_chunks(t, data, t->bytes[i], t->ref + at[i]);
        hash[i] = hash64(data, t->bytes[i]);
    }
    for (uint32_t i = 1; i <= t->blobs; i++) {
        if (!is_wanted(t, i))
            continue;
        TRY(pool_index_item(pool, i, hash[i - 1], &equal));
        if (equal != i)
            return image_refuse(r, &r->blob, i, "equals blob %u, expected every blob once", equal);
    }
    return EMU_OK;
}

static enum emu_status read_data(struct image_reader *r, uint32_t groups)
{
    size_t *at = emu_alloc((size_t)r->table.blobs + 1, sizeof(*at));
    uint64_t *hash = emu_alloc((size_t)r->table.blobs + 1, sizeof(*hash));
    enum emu_status s = at && hash ? EMU_OK : FAIL(NO_MEMORY, "%u blobs", r->table.blobs);

    if (s == EMU_OK)
        s = read_groups(r, groups);
    if (s == EMU_OK)
        s = finish_blobs(r, at, hash);
    ss_free(at);
    ss_free(hash);
    return s;
}

typedef enum emu_status add_input(struct image *im, const struct image_input *in,
                                  const struct image_input_part *p);

/* Inputs, or outputs: their table and that of their parts. */
static enum emu_status read_inputs(struct image_reader *r, uint32_t type, uint32_t part_type,
                                   add_input *add)
{
    struct image_section *s = &r->section;
    size_t inputs = 0, parts = 0, at = 0;
    const struct image_input_part *part;
    const void *raw;

    TRY(image_read_records(r, type, INPUT_RECORD_BYTES, s, &inputs));
    TRY(image_read_records(r, part_type, sizeof(*part), &r->part, &parts));
    raw = r->part.raw.data;
    part = raw;
    for (size_t i = 0; i < inputs; i++) {
        struct image_input in = { 0 };
        uint32_t w[4];

        memcpy(w, s->raw.data + i * INPUT_RECORD_BYTES, sizeof(w));
        memcpy(&in.elements, s->raw.data + i * INPUT_RECORD_BYTES + sizeof(w), 8);
        in.name = w[0];
        in.type = w[1];
        in.elem_bytes = w[2];
        in.parts = w[3];
        if (in.parts > parts - at)
            return image_refuse(r, s, (long long)i, "%u parts, expected at most the %zu left",
                                in.parts, parts - at);
        TRY(image_refused(r, s, (long long)i, add(r->im, &in, part + at)));
        at += in.parts;
    }
    if (at != parts)
        return image_refuse(r, &r->part, (long long)at, "belongs to no %s, expected %zu parts",
                            type == IMAGE_INPT ? "input" : "output", at);
    return EMU_OK;
}

static enum emu_status read_notes(struct image_reader *r)
{
    struct image_note note;
    size_t n = 0;

    TRY(image_read_records(r, IMAGE_NOTE, sizeof(note), &r->section, &n));
    for (size_t i = 0; i < n; i++) {
        memcpy(&note, r->section.raw.data + i * sizeof(note), sizeof(note));
        TRY(image_refused(r, &r->section, (long long)i, image_add_note(r->im, &note)));
    }
    return EMU_OK;
}

/* What stands on tiles, which are known, as are the sizes of section BLOB. */
static enum emu_status read_places(struct image_reader *r)
{
    TRY(read_inputs(r, IMAGE_INPT, IMAGE_PART, image_add_input));
    TRY(read_inputs(r, IMAGE_OUTP, IMAGE_OPRT, image_add_output));
    TRY(image_read_chips(r));
    return read_notes(r);
}

static enum emu_status read_blobs(struct image_reader *r)
{
    struct blob_table *t = &r->table;
    uint32_t groups;

    TRY(section_read(&r->src, IMAGE_BLOB, IMAGE_SECTION_BYTES_MAX, &r->blob));
    TRY(split_table(r));
    groups = t->chunks / IMAGE_GROUP_CHUNKS + (t->chunks % IMAGE_GROUP_CHUNKS != 0);
    if (r->src.sections != section_source_fixed(&r->src) + groups)
        return image_refuse(r, &r->blob, NO_ITEM, "%u chunks in a file of %u sections, expected %u",
                            t->chunks, r->src.sections, section_source_fixed(&r->src) + groups);
    TRY(reserve_blobs(r));
    TRY(add_tiles(r));
    TRY(read_places(r));
    TRY(leave_numbers_out(r));
    TRY(read_data(r, groups));
    return image_check_headers(r);
}

/* ---- the file ---- */

static enum emu_status read_all(struct image_reader *r)
{
    size_t n;

    TRY(section_source_start(&r->src));
    TRY(read_machine(r));
    TRY(read_text(r));
    TRY(image_read_lists(r));
    TRY(image_read_traffic(r));
    TRY(read_streams(r));
    TRY(read_scopes(r));
    TRY(image_read_zones(r));
    TRY(image_read_records(r, IMAGE_TILE, tile_record_bytes(r), &r->tile, &n));
    TRY(image_read_records(r, IMAGE_SEGM, sizeof(struct image_segment), &r->segm, &n));
    TRY(read_blobs(r));
    if (r->src.at != r->src.bytes)
        return FAIL(BAD_IMAGE,
                    "%.200s: offset %llu: %llu bytes after the last section, expected "
                    "none",
                    r->src.name, (unsigned long long)r->src.at,
                    (unsigned long long)(r->src.bytes - r->src.at));
    return EMU_OK;
}

static enum emu_status read_source(struct image_reader *r, struct image **out)
{
    enum emu_status s = read_all(r);

    *out = NULL;
    section_source_free(&r->src);
    byte_buffer_free(&r->section.raw);
    byte_buffer_free(&r->tile.raw);
    byte_buffer_free(&r->segm.raw);
    byte_buffer_free(&r->blob.raw);
    byte_buffer_free(&r->part.raw);
    byte_buffer_free(&r->link.raw);
    ss_free(r->table.place);
    ss_free(r->table.wanted);
    index_free(&r->hashes);
    if (s != EMU_OK)
        ss_image_free(r->im);
    else
        *out = r->im;
    return s;
}

static enum emu_status read_bytes(const void *data, size_t bytes, const char *name, int for_timing,
                                  struct image **out)
{
    struct image_reader r = {
        .src = { .name = name, .memory = data ? data : "", .fd = -1, .bytes = bytes },
        .for_timing = for_timing
    };

    return read_source(&r, out);
}

static enum emu_status read_file(const char *path, int for_timing, struct image **out)
{
    struct image_reader r = { .src = { .name = path }, .for_timing = for_timing };
    enum emu_status s;
    struct stat st;

    *out = NULL;
    if (!path)
        return FAIL(IO, "an image without the name of its file");
    r.src.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r.src.fd < 0)
        return FAIL(IO, "%.200s: %s", path, strerror(errno));
    if (fstat(r.src.fd, &st) != 0)
        s = FAIL(IO, "%.200s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        s = FAIL(IO, "%.200s: expected a regular file", path);
    else {
        r.src.bytes = (uint64_t)st.st_size;
        s = read_source(&r, out);
    }
    close(r.src.fd);
    return s;
}

enum emu_status ss_image_read(const char *path, struct image **out)
{
    return read_file(path, 0, out);
}

enum emu_status ss_image_read_bytes(const void *data, size_t bytes, const char *name_for_messages,
                                    struct image **out)
{
    return read_bytes(data, bytes, name_for_messages, 0, out);
}

enum emu_status ss_image_read_for_timing(const char *path, struct image **out)
{
    return read_file(path, 1, out);
}

enum emu_status ss_image_read_bytes_for_timing(const void *data, size_t bytes,
                                               const char *name_for_messages, struct image **out)
{
    return read_bytes(data, bytes, name_for_messages, 1, out);
}
