/* image_write.c - writes an image as a file: equal chunks of blobs once, every section with a
 * checksum, and the file under its own name only when it is complete. All threads pack sections.
 *
 * The bytes depend on nothing but the image and the release of zstd: ids are written as they were
 * given, chunks are numbered in the order of their first use.
 */
#include "emu/load/image_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "emu/base/alloc.h"

/* Level 1 for tile memory, where more costs time and gains little; 3 for tables. */
enum { LEVEL_DATA = 1, LEVEL_TABLES = 3 };

/* A section that is made, and the form it has in the file: the checksum in front of it, header,
 * payload, checksum. */
struct section_room {
    ZSTD_CCtx *zstd; /* owned, like the bytes */
    struct byte_buffer raw, packed;
    size_t raw_bytes, packed_bytes; /* packed: of header and padded payload */
};

/* A page of a blob that is not all zeros. */
struct image_chunk {
    struct hash128 hash;
    const uint8_t *data; /* borrowed from the first blob that has it */
    uint32_t bytes;
};

struct image_writer {
    const struct image *im;
    const char *name;
    int fd;
    uint64_t written;
    uint8_t before[IMAGE_CHECKSUM_BYTES]; /* the last bytes written */
    struct image_chunk *chunk;            /* owned */
    size_t chunks, chunk_cap;
    struct image_index chunk_index;
    uint32_t *ref; /* owned; of every page of every blob: chunk + 1, or 0 */
    size_t refs, ref_cap;
};

/* ---- bytes out ---- */

static enum emu_status write_bytes(struct image_writer *w, const void *data, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = write(w->fd, (const uint8_t *)data + done, bytes - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return FAIL(IO, "%.200s: %s after %llu bytes", w->name,
                        n < 0 ? strerror(errno) : "nothing was written",
                        (unsigned long long)(w->written + done));
        done += (size_t)n;
    }
    w->written += bytes;
    return EMU_OK;
}

static enum emu_status room_init(struct section_room *r)
{
    *r = (struct section_room){ .zstd = ZSTD_createCCtx() };
    return r->zstd ? EMU_OK : FAIL(NO_MEMORY, "a compressor");
}

static void room_free(struct section_room *r)
{
    ZSTD_freeCCtx(r->zstd);
    byte_buffer_free(&r->raw);
    byte_buffer_free(&r->packed);
}

/* Begins a section of so many bytes. */
static enum emu_status room_start(struct section_room *r, const char *name, uint64_t bytes)
{
    r->raw_bytes = 0;
    if (bytes > IMAGE_SECTION_BYTES_MAX)
        return FAIL(BAD_IMAGE, "%.200s: a section of %llu bytes, expected at most %d", name,
                    (unsigned long long)bytes, IMAGE_SECTION_BYTES_MAX);
    return byte_buffer_need(&r->raw, bytes);
}

static void room_put(struct section_room *r, const void *data, size_t bytes)
{
    EMU_ASSERT(bytes <= r->raw.cap - r->raw_bytes);
    if (bytes)
        memcpy(r->raw.data + r->raw_bytes, data, bytes);
    r->raw_bytes += bytes;
}

static void room_put_u32(struct section_room *r, uint32_t v)
{
    room_put(r, &v, sizeof(v));
}

enum { FRONT = IMAGE_CHECKSUM_BYTES + IMAGE_SECTION_HEADER_BYTES };

/* Packs the raw bytes of a section; only the checksums are missing then. */
static enum emu_status room_pack(struct section_room *r, const char *name, uint32_t type, int level)
{
    size_t bound = ZSTD_compressBound(r->raw_bytes), n, padded;
    uint32_t header[4] = { type, 1, (uint32_t)r->raw_bytes, 0 };
    uint8_t *p;

    TRY(byte_buffer_need(&r->packed, FRONT + bound + 8 + IMAGE_CHECKSUM_BYTES));
    p = r->packed.data;
    n = ZSTD_compressCCtx(r->zstd, p + FRONT, bound, r->raw.data, r->raw_bytes, level);
    if (ZSTD_isError(n))
        return FAIL(NO_MEMORY, "%.200s: compressing %zu bytes: %s", name, r->raw_bytes,
                    ZSTD_getErrorName(n));
    if (n >= r->raw_bytes || r->raw_bytes > IMAGE_GROUP_BYTES + (uint64_t)IMAGE_EXPANSION_MAX * n) {
        n = r->raw_bytes;
        if (n)
            memcpy(p + FRONT, r->raw.data, n);
    }
    header[3] = (uint32_t)n;
    padded = (n + 7) / 8 * 8;
    memcpy(p + IMAGE_CHECKSUM_BYTES, header, sizeof(header));
    memset(p + FRONT + n, 0, padded - n);
    r->packed_bytes = IMAGE_SECTION_HEADER_BYTES + padded;
    return EMU_OK;
}

/* Writes a packed section behind all that was written so far: its checksum covers the one before.
 */
static enum emu_status append(struct image_writer *w, struct section_room *r)
{
    uint8_t *p = r->packed.data;
    uint64_t sum;

    memcpy(p, w->before, sizeof(w->before));
    sum = hash64(p, IMAGE_CHECKSUM_BYTES + r->packed_bytes);
    memcpy(p + IMAGE_CHECKSUM_BYTES + r->packed_bytes, &sum, sizeof(sum));
    memcpy(w->before, &sum, sizeof(sum));
    return write_bytes(w, p + IMAGE_CHECKSUM_BYTES, r->packed_bytes + sizeof(sum));
}

static enum emu_status write_file_header(struct image_writer *w)
{
    size_t groups = (w->chunks + IMAGE_GROUP_CHUNKS - 1) / IMAGE_GROUP_CHUNKS;
    uint32_t number[2] = { IMAGE_FORMAT_VERSION, (uint32_t)(IMAGE_FIXED_SECTIONS + groups) };

    memcpy(w->before, number, sizeof(number));
    TRY(write_bytes(w, IMAGE_MAGIC, 8));
    return write_bytes(w, number, sizeof(number));
}

/* ---- tables ---- */

static enum emu_status put_machine(const struct image_writer *w, struct section_room *r)
{
    char *text = ss_arch_to_json(&w->im->arch);
    enum emu_status s;

    if (!text)
        return FAIL(NO_MEMORY, "a machine as text");
    s = room_start(r, w->name, strlen(text));
    if (s == EMU_OK)
        room_put(r, text, strlen(text));
    ss_free(text);
    return s;
}

static uint64_t pool_bytes(const struct image_pool *p)
{
    uint64_t sum = 0;

    for (size_t i = 1; i < p->items; i++)
        sum += p->item[i].bytes;
    return sum;
}

static enum emu_status put_text(const struct image_writer *w, struct section_room *r)
{
    const struct image_pool *p = &w->im->text;

    TRY(room_start(r, w->name, 4 + pool_bytes(p)));
    room_put_u32(r, (uint32_t)(p->items - 1));
    for (size_t i = 1; i < p->items; i++)
        room_put(r, p->item[i].data, p->item[i].bytes);
    return EMU_OK;
}

static enum emu_status put_lists(const struct image_writer *w, struct section_room *r,
                                 const struct image_pool *p, size_t item_bytes)
{
    TRY(room_start(r, w->name, 4 * (uint64_t)p->items + pool_bytes(p)));
    room_put_u32(r, (uint32_t)(p->items - 1));
    for (size_t i = 1; i < p->items; i++)
        room_put_u32(r, (uint32_t)(p->item[i].bytes / item_bytes));
    for (size_t i = 1; i < p->items; i++)
        room_put(r, p->item[i].data, p->item[i].bytes);
    return EMU_OK;
}

static enum emu_status put_records(const struct image_writer *w, struct section_room *r,
                                   const void *records, size_t n, size_t record_bytes)
{
    TRY(room_start(r, w->name, n * (uint64_t)record_bytes));
    room_put(r, records, n * record_bytes);
    return EMU_OK;
}

_Static_assert(offsetof(struct image_stream, chip) + sizeof(uint32_t) == IMAGE_STREAM_RECORD_BYTES,
               "a record is the structure without what fills it up");

static enum emu_status put_streams(const struct image_writer *w, struct section_room *r)
{
    const struct image *im = w->im;

    TRY(room_start(r, w->name, im->streams * (uint64_t)IMAGE_STREAM_RECORD_BYTES));
    for (size_t i = 0; i < im->streams; i++)
        room_put(r, &im->stream[i], IMAGE_STREAM_RECORD_BYTES);
    return EMU_OK;
}

static enum emu_status put_zones(const struct image_writer *w, struct section_room *r)
{
    TRY(room_start(r, w->name, SYNC_ZONES * (uint64_t)8));
    for (uint32_t z = 0; z < SYNC_ZONES; z++) {
        if (w->im->zone[z] == SCOPE_RESERVED)
            continue;
        room_put_u32(r, z);
        room_put_u32(r, w->im->zone[z]);
    }
    return EMU_OK;
}

static enum emu_status put_channels(const struct image_writer *w, struct section_room *r)
{
    const struct image *im = w->im;

    TRY(room_start(r, w->name,
                   8 + im->channels * (uint64_t)IMAGE_CHANNEL_RECORD_BYTES +
                       im->channel_parts * (uint64_t)sizeof(*im->channel_part)));
    room_put_u32(r, (uint32_t)im->channels);
    room_put_u32(r, (uint32_t)im->channel_parts);
    for (size_t i = 0; i < im->channels; i++)
        room_put(r, &im->channel[i], IMAGE_CHANNEL_RECORD_BYTES);
    room_put(r, im->channel_part, im->channel_parts * sizeof(*im->channel_part));
    return EMU_OK;
}

static enum emu_status put_scopes(const struct image_writer *w, struct section_room *r)
{
    const struct image *im = w->im;

    TRY(room_start(r, w->name,
                   8 + im->scopes * (uint64_t)sizeof(*im->scope) +
                       im->owners * (uint64_t)sizeof(*im->owner)));
    room_put_u32(r, (uint32_t)im->scopes);
    room_put_u32(r, (uint32_t)im->owners);
    room_put(r, im->scope, im->scopes * sizeof(*im->scope));
    room_put(r, im->owner, im->owners * sizeof(*im->owner));
    return EMU_OK;
}

static enum emu_status put_traffic(const struct image_writer *w, struct section_room *r)
{
    const struct image *im = w->im;
    uint64_t bytes = 4;

    for (size_t i = 0; i < im->traffics; i++)
        bytes += IMAGE_PAIR_RECORD_BYTES + (uint64_t)im->traffic[i].list_bytes +
                 im->traffic[i].messages_bytes;
    TRY(room_start(r, w->name, bytes));
    room_put_u32(r, (uint32_t)im->traffics);
    for (size_t i = 0; i < im->traffics; i++) {
        const struct image_traffic *t = &im->traffic[i];
        const uint32_t record[4] = { t->exchange, t->pairs, t->list_bytes, t->messages_bytes };

        room_put(r, record, sizeof(record));
        room_put(r, &t->key.lo, 8);
        room_put(r, &t->key.hi, 8);
        room_put(r, t->list, t->list_bytes);
        room_put(r, t->messages, t->messages_bytes);
    }
    return EMU_OK;
}

static enum emu_status put_tiles(const struct image_writer *w, struct section_room *r)
{
    const struct image *im = w->im;

    TRY(room_start(r, w->name, im->tiles * (uint64_t)44));
    for (size_t i = 0; i < im->tiles; i++) {
        const struct image_tile *t = &im->tile[i];
        uint32_t record[11] = { t->tile,    t->chip,  t->group, t->entry, t->segments, t->map,
                                t->symbols, t->lines, t->keys,  t->parts, t->vertices };

        room_put(r, record, sizeof(record));
    }
    return EMU_OK;
}

/* ---- blobs ---- */

/* The number of a chunk with these bytes, new if there is none. */
static enum emu_status find_chunk(struct image_writer *w, const uint8_t *data, uint32_t bytes,
                                  uint32_t *chunk)
{
    struct hash128 h = hash128(data, bytes);
    size_t cursor = 0;

    while ((*chunk = index_next(&w->chunk_index, h.lo, &cursor)) != INDEX_NONE) {
        const struct image_chunk *c = &w->chunk[*chunk];

        if (!hash128_equal(c->hash, h))
            continue;
        if (c->bytes == bytes && memcmp(c->data, data, bytes) == 0)
            return EMU_OK;
        return FAIL(BAD_IMAGE, "%.200s: two chunks have the same XXH3-128", w->name);
    }
    TRY(index_reserve(&w->chunk_index));
    TRY(emu_grow((void **)&w->chunk, w->chunks, &w->chunk_cap, sizeof(*w->chunk)));
    index_add(&w->chunk_index, h.lo, (uint32_t)w->chunks);
    *chunk = (uint32_t)w->chunks;
    w->chunk[w->chunks++] = (struct image_chunk){ h, data, bytes };
    return EMU_OK;
}

static enum emu_status find_chunks(struct image_writer *w)
{
    const struct image_pool *p = &w->im->blob;

    for (size_t i = 1; i < p->items; i++) {
        const uint8_t *data = p->item[i].data;

        for (uint32_t at = 0; at < p->item[i].bytes; at += IMAGE_PAGE_BYTES) {
            uint32_t left = p->item[i].bytes - at, chunk = INDEX_NONE;
            uint32_t n = left < IMAGE_PAGE_BYTES ? left : IMAGE_PAGE_BYTES;

            TRY(emu_grow((void **)&w->ref, w->refs, &w->ref_cap, sizeof(*w->ref)));
            if (!bytes_are_zero(data + at, n))
                TRY(find_chunk(w, data + at, n, &chunk));
            w->ref[w->refs++] = chunk + 1; /* wraps to 0 for zeros */
        }
    }
    return EMU_OK;
}

static enum emu_status put_blobs(const struct image_writer *w, struct section_room *r)
{
    const struct image_pool *p = &w->im->blob;

    TRY(room_start(r, w->name,
                   8 + 4 * (uint64_t)(p->items - 1 + w->refs) +
                       w->chunks * (uint64_t)sizeof(struct hash128)));
    room_put_u32(r, (uint32_t)(p->items - 1));
    room_put_u32(r, (uint32_t)w->chunks);
    for (size_t i = 1; i < p->items; i++)
        room_put_u32(r, p->item[i].bytes);
    room_put(r, w->ref, 4 * w->refs);
    for (size_t i = 0; i < w->chunks; i++) {
        room_put(r, &w->chunk[i].hash.lo, 8);
        room_put(r, &w->chunk[i].hash.hi, 8);
    }
    return EMU_OK;
}

/* A group of chunks; every thread has room for one. */
static enum emu_status put_group(const struct image_writer *w, size_t group, struct section_room *r)
{
    size_t first = group * IMAGE_GROUP_CHUNKS, end = first + IMAGE_GROUP_CHUNKS;

    TRY(room_start(r, w->name, IMAGE_GROUP_BYTES));
    for (size_t c = first; c < end && c < w->chunks; c++)
        room_put(r, w->chunk[c].data, w->chunk[c].bytes);
    return EMU_OK;
}

/* ---- inputs and outputs ---- */

static enum emu_status put_inputs(const struct image_writer *w, struct section_room *r,
                                  const struct image_inputs *l)
{
    TRY(room_start(r, w->name, l->items * (uint64_t)24));
    for (size_t i = 0; i < l->items; i++) {
        const struct image_input *in = &l->item[i];
        uint32_t record[4] = { in->name, in->type, in->elem_bytes, in->parts };

        room_put(r, record, sizeof(record));
        room_put(r, &in->elements, sizeof(in->elements));
    }
    return EMU_OK;
}

static enum emu_status put_parts(const struct image_writer *w, struct section_room *r,
                                 const struct image_inputs *l)
{
    return put_records(w, r, l->part, l->parts, sizeof(*l->part));
}

/* ---- the file ---- */

/* The sections before the groups, in their order. */
static const uint32_t tables[IMAGE_FIXED_SECTIONS] = {
    IMAGE_MACH, IMAGE_TEXT, IMAGE_MAPS, IMAGE_SYMB, IMAGE_LINE, IMAGE_KEYS, IMAGE_XCHG, IMAGE_VERT,
    IMAGE_ORDR, IMAGE_PAIR, IMAGE_STRM, IMAGE_SCOP, IMAGE_ZONE, IMAGE_TILE, IMAGE_SEGM, IMAGE_BLOB,
    IMAGE_INPT, IMAGE_PART, IMAGE_OUTP, IMAGE_OPRT, IMAGE_CHAN, IMAGE_LINK, IMAGE_NOTE
};

static enum emu_status put_table(const struct image_writer *w, uint32_t type,
                                 struct section_room *r)
{
    const struct image *im = w->im;

    switch (type) {
    case IMAGE_MACH:
        return put_machine(w, r);
    case IMAGE_TEXT:
        return put_text(w, r);
    case IMAGE_MAPS:
        return put_lists(w, r, &im->map, sizeof(struct image_range));
    case IMAGE_SYMB:
        return put_lists(w, r, &im->symbols, sizeof(struct image_symbol));
    case IMAGE_LINE:
        return put_lists(w, r, &im->lines, sizeof(struct image_line));
    case IMAGE_KEYS:
        return put_lists(w, r, &im->keys, sizeof(struct image_key));
    case IMAGE_XCHG:
        return put_lists(w, r, &im->parts, sizeof(struct exchange_part));
    case IMAGE_VERT:
        return put_lists(w, r, &im->vertices, sizeof(struct image_vertex));
    case IMAGE_ORDR:
        return put_lists(w, r, &im->orders, sizeof(struct image_order));
    case IMAGE_PAIR:
        return put_traffic(w, r);
    case IMAGE_STRM:
        return put_streams(w, r);
    case IMAGE_SCOP:
        return put_scopes(w, r);
    case IMAGE_ZONE:
        return put_zones(w, r);
    case IMAGE_TILE:
        return put_tiles(w, r);
    case IMAGE_SEGM:
        return put_records(w, r, im->segment, im->segments, sizeof(*im->segment));
    case IMAGE_BLOB:
        return put_blobs(w, r);
    case IMAGE_INPT:
        return put_inputs(w, r, &im->input);
    case IMAGE_PART:
        return put_parts(w, r, &im->input);
    case IMAGE_OUTP:
        return put_inputs(w, r, &im->output);
    case IMAGE_OPRT:
        return put_parts(w, r, &im->output);
    case IMAGE_CHAN:
        return put_channels(w, r);
    case IMAGE_LINK:
        return put_records(w, r, im->link, im->links, sizeof(*im->link));
    default:
        return put_records(w, r, im->note, im->notes, sizeof(*im->note));
    }
}

static enum emu_status pack_section(const struct image_writer *w, size_t section,
                                    struct section_room *r)
{
    if (!r->zstd)
        TRY(room_init(r));
    if (section < IMAGE_FIXED_SECTIONS) {
        TRY(put_table(w, tables[section], r));
        return room_pack(r, w->name, tables[section], LEVEL_TABLES);
    }
    TRY(put_group(w, section - IMAGE_FIXED_SECTIONS, r));
    return room_pack(r, w->name, IMAGE_DATA, LEVEL_DATA);
}

/* All threads pack sections; they are written in their order. */
static enum emu_status write_sections(struct image_writer *w)
{
    size_t groups = (w->chunks + IMAGE_GROUP_CHUNKS - 1) / IMAGE_GROUP_CHUNKS;
    enum emu_status first = EMU_OK;
    char text[1024] = ""; /* messages belong to threads, so this one is kept */

#pragma omp parallel if (groups > 1)
    {
        struct section_room r = { 0 };

#pragma omp for ordered schedule(dynamic, 1)
        for (size_t i = 0; i < IMAGE_FIXED_SECTIONS + groups; i++) {
            enum emu_status s = pack_section(w, i, &r);

#pragma omp ordered
            if (first == EMU_OK) {
                first = s == EMU_OK ? append(w, &r) : s;
                if (first != EMU_OK)
                    snprintf(text, sizeof(text), "%s", ss_error());
            }
        }
        room_free(&r);
    }
    return first == EMU_OK ? EMU_OK : ss_fail(first, "%s", text);
}

static enum emu_status write_file(struct image_writer *w)
{
    const struct image *im = w->im;

    if (im->blob_bytes > im->tiles * (uint64_t)im->arch.mem_bytes)
        return FAIL(BAD_IMAGE,
                    "%.200s: blobs of %llu bytes, expected at most the memory of %zu tiles",
                    w->name, (unsigned long long)im->blob_bytes, im->tiles);
    TRY(find_chunks(w));
    TRY(write_file_header(w));
    return write_sections(w);
}

enum emu_status image_write_fd(const struct image *im, int fd, const char *name)
{
    struct image_writer w = { .im = im, .name = name, .fd = fd };
    enum emu_status s = write_file(&w);

    ss_free(w.chunk);
    ss_free(w.ref);
    index_free(&w.chunk_index);
    return s;
}

enum emu_status image_write_to(const struct image *im, const struct output_file *out)
{
    return image_write_fd(im, output_fd(out), output_path(out));
}

enum emu_status ss_image_write(const struct image *im, const char *path)
{
    struct output_file *out;

    if (!im || !path)
        return FAIL(BAD_IMAGE, "there is no image, or no name for its file");
    TRY(output_open(path, &out));
    return output_end(out, image_write_to(im, out));
}
