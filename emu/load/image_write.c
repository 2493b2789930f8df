/* image_write.c - writes an image as a file: equal chunks of blobs once, every section with a
 * checksum, and the file under its own name only when it is complete.
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
    struct section_room room;
    struct image_chunk *chunk; /* owned */
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

static enum emu_status raw_start(struct image_writer *w, uint64_t bytes)
{
    w->room.raw_bytes = 0;
    if (bytes > IMAGE_SECTION_BYTES_MAX)
        return FAIL(BAD_IMAGE, "%.200s: a section of %llu bytes, expected at most %d", w->name,
                    (unsigned long long)bytes, IMAGE_SECTION_BYTES_MAX);
    return byte_buffer_need(&w->room.raw, bytes);
}

static void room_put(struct section_room *r, const void *data, size_t bytes)
{
    EMU_ASSERT(bytes <= r->raw.cap - r->raw_bytes);
    if (bytes)
        memcpy(r->raw.data + r->raw_bytes, data, bytes);
    r->raw_bytes += bytes;
}

static void raw_put(struct image_writer *w, const void *data, size_t bytes)
{
    room_put(&w->room, data, bytes);
}

static void raw_put_u32(struct image_writer *w, uint32_t v)
{
    raw_put(w, &v, sizeof(v));
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

static enum emu_status raw_write(struct image_writer *w, uint32_t type, int level)
{
    TRY(room_pack(&w->room, w->name, type, level));
    return append(w, &w->room);
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

static enum emu_status write_machine(struct image_writer *w)
{
    char *text = arch_to_json(&w->im->arch);
    enum emu_status s;

    if (!text)
        return FAIL(NO_MEMORY, "a machine as text");
    s = raw_start(w, strlen(text));
    if (s == EMU_OK) {
        raw_put(w, text, strlen(text));
        s = raw_write(w, IMAGE_MACH, LEVEL_TABLES);
    }
    emu_free(text);
    return s;
}

static uint64_t pool_bytes(const struct image_pool *p)
{
    uint64_t sum = 0;

    for (size_t i = 1; i < p->items; i++)
        sum += p->item[i].bytes;
    return sum;
}

static enum emu_status write_text(struct image_writer *w)
{
    const struct image_pool *p = &w->im->text;

    TRY(raw_start(w, 4 + pool_bytes(p)));
    raw_put_u32(w, (uint32_t)(p->items - 1));
    for (size_t i = 1; i < p->items; i++)
        raw_put(w, p->item[i].data, p->item[i].bytes);
    return raw_write(w, IMAGE_TEXT, LEVEL_TABLES);
}

static enum emu_status write_lists(struct image_writer *w, uint32_t type,
                                   const struct image_pool *p, size_t item_bytes)
{
    TRY(raw_start(w, 4 * (uint64_t)p->items + pool_bytes(p)));
    raw_put_u32(w, (uint32_t)(p->items - 1));
    for (size_t i = 1; i < p->items; i++)
        raw_put_u32(w, (uint32_t)(p->item[i].bytes / item_bytes));
    for (size_t i = 1; i < p->items; i++)
        raw_put(w, p->item[i].data, p->item[i].bytes);
    return raw_write(w, type, LEVEL_TABLES);
}

static enum emu_status write_records(struct image_writer *w, uint32_t type, const void *records,
                                     size_t n, size_t record_bytes)
{
    TRY(raw_start(w, n * (uint64_t)record_bytes));
    raw_put(w, records, n * record_bytes);
    return raw_write(w, type, LEVEL_TABLES);
}

static enum emu_status write_scopes(struct image_writer *w)
{
    const struct image *im = w->im;

    TRY(raw_start(w, 8 + im->scopes * (uint64_t)sizeof(*im->scope) +
                         im->owners * (uint64_t)sizeof(*im->owner)));
    raw_put_u32(w, (uint32_t)im->scopes);
    raw_put_u32(w, (uint32_t)im->owners);
    raw_put(w, im->scope, im->scopes * sizeof(*im->scope));
    raw_put(w, im->owner, im->owners * sizeof(*im->owner));
    return raw_write(w, IMAGE_SCOP, LEVEL_TABLES);
}

static enum emu_status write_tiles(struct image_writer *w)
{
    const struct image *im = w->im;

    TRY(raw_start(w, im->tiles * (uint64_t)36));
    for (size_t i = 0; i < im->tiles; i++) {
        const struct image_tile *t = &im->tile[i];
        uint32_t record[9] = { t->tile, t->chip,    t->group, t->entry, t->segments,
                               t->map,  t->symbols, t->lines, t->keys };

        raw_put(w, record, sizeof(record));
    }
    TRY(raw_write(w, IMAGE_TILE, LEVEL_TABLES));
    return write_records(w, IMAGE_SEGM, im->segment, im->segments, sizeof(*im->segment));
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

static enum emu_status write_blob_table(struct image_writer *w)
{
    const struct image_pool *p = &w->im->blob;

    TRY(raw_start(w, 8 + 4 * (uint64_t)(p->items - 1 + w->refs) +
                         w->chunks * (uint64_t)sizeof(struct hash128)));
    raw_put_u32(w, (uint32_t)(p->items - 1));
    raw_put_u32(w, (uint32_t)w->chunks);
    for (size_t i = 1; i < p->items; i++)
        raw_put_u32(w, p->item[i].bytes);
    raw_put(w, w->ref, 4 * w->refs);
    for (size_t i = 0; i < w->chunks; i++) {
        raw_put(w, &w->chunk[i].hash.lo, 8);
        raw_put(w, &w->chunk[i].hash.hi, 8);
    }
    return raw_write(w, IMAGE_BLOB, LEVEL_TABLES);
}

static enum emu_status pack_group(const struct image_writer *w, size_t group,
                                  struct section_room *r)
{
    size_t first = group * IMAGE_GROUP_CHUNKS, end = first + IMAGE_GROUP_CHUNKS;

    if (!r->zstd)
        TRY(room_init(r));
    r->raw_bytes = 0;
    TRY(byte_buffer_need(&r->raw, IMAGE_GROUP_BYTES));
    for (size_t c = first; c < end && c < w->chunks; c++)
        room_put(r, w->chunk[c].data, w->chunk[c].bytes);
    return room_pack(r, w->name, IMAGE_DATA, LEVEL_DATA);
}

/* All threads pack groups; they are written in their order. */
static enum emu_status write_chunks(struct image_writer *w)
{
    size_t groups = (w->chunks + IMAGE_GROUP_CHUNKS - 1) / IMAGE_GROUP_CHUNKS;
    enum emu_status first = EMU_OK;
    char text[1024] = ""; /* messages belong to threads, so this one is kept */

#pragma omp parallel if (groups > 1)
    {
        struct section_room r = { 0 };

#pragma omp for ordered schedule(dynamic, 1)
        for (size_t i = 0; i < groups; i++) {
            enum emu_status s = pack_group(w, i, &r);

#pragma omp ordered
            if (first == EMU_OK) {
                first = s == EMU_OK ? append(w, &r) : s;
                if (first != EMU_OK)
                    snprintf(text, sizeof(text), "%s", emu_error());
            }
        }
        room_free(&r);
    }
    return first == EMU_OK ? EMU_OK : emu_fail(first, "%s", text);
}

/* ---- inputs, outputs, notes ---- */

static enum emu_status write_inputs(struct image_writer *w, const struct image_inputs *l,
                                    uint32_t type, uint32_t part_type)
{
    TRY(raw_start(w, l->items * (uint64_t)24));
    for (size_t i = 0; i < l->items; i++) {
        const struct image_input *in = &l->item[i];
        uint32_t record[4] = { in->name, in->type, in->elem_bytes, in->parts };

        raw_put(w, record, sizeof(record));
        raw_put(w, &in->elements, sizeof(in->elements));
    }
    TRY(raw_write(w, type, LEVEL_TABLES));
    return write_records(w, part_type, l->part, l->parts, sizeof(*l->part));
}

/* What the host needs to know. */
static enum emu_status write_host_sections(struct image_writer *w)
{
    const struct image *im = w->im;

    TRY(write_inputs(w, &im->input, IMAGE_INPT, IMAGE_PART));
    TRY(write_inputs(w, &im->output, IMAGE_OUTP, IMAGE_OPRT));
    return write_records(w, IMAGE_NOTE, im->note, im->notes, sizeof(*im->note));
}

/* ---- the file ---- */

static enum emu_status write_sections(struct image_writer *w)
{
    const struct image *im = w->im;

    TRY(room_init(&w->room));
    if (im->blob_bytes > im->tiles * (uint64_t)im->arch.mem_bytes)
        return FAIL(BAD_IMAGE,
                    "%.200s: blobs of %llu bytes, expected at most the memory of %zu tiles",
                    w->name, (unsigned long long)im->blob_bytes, im->tiles);
    TRY(find_chunks(w));
    TRY(write_file_header(w));
    TRY(write_machine(w));
    TRY(write_text(w));
    TRY(write_lists(w, IMAGE_MAPS, &im->map, sizeof(struct image_range)));
    TRY(write_lists(w, IMAGE_SYMB, &im->symbols, sizeof(struct image_symbol)));
    TRY(write_lists(w, IMAGE_LINE, &im->lines, sizeof(struct image_line)));
    TRY(write_lists(w, IMAGE_KEYS, &im->keys, sizeof(struct image_key)));
    TRY(write_records(w, IMAGE_STRM, im->stream, im->streams, sizeof(*im->stream)));
    TRY(write_scopes(w));
    TRY(write_tiles(w));
    TRY(write_blob_table(w));
    TRY(write_host_sections(w));
    return write_chunks(w);
}

enum emu_status image_write_fd(const struct image *im, int fd, const char *name)
{
    struct image_writer w = { .im = im, .name = name, .fd = fd };
    enum emu_status s = write_sections(&w);

    room_free(&w.room);
    emu_free(w.chunk);
    emu_free(w.ref);
    index_free(&w.chunk_index);
    return s;
}

enum emu_status image_write_to(const struct image *im, const struct output_file *out)
{
    return image_write_fd(im, fileno(output_stream(out)), output_path(out));
}

enum emu_status image_write(const struct image *im, const char *path)
{
    struct output_file *out;

    TRY(output_open(path, &out));
    return output_end(out, image_write_to(im, out));
}
