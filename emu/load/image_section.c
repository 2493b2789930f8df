/* image_section.c - the outer form of an image file: header, sections, checksums, compression.
 *
 * Nothing is allocated before the length it depends on has been compared with the bytes of the file
 * that are left, and nothing is decompressed before its checksum is proven.
 */
#include "emu/load/image_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "emu/base/alloc.h"

struct section_header {
    uint32_t type, version, raw_bytes, stored_bytes;
};

_Static_assert(sizeof(struct section_header) == IMAGE_SECTION_HEADER_BYTES, "as in the file");

enum emu_status byte_buffer_need(struct byte_buffer *b, size_t bytes)
{
    uint8_t *p;

    if (b->data && bytes <= b->cap)
        return EMU_OK;
    p = emu_alloc(bytes, 1);
    if (!p)
        return FAIL(NO_MEMORY, "%zu bytes of an image file", bytes);
    ss_free(b->data);
    b->data = p;
    b->cap = bytes;
    return EMU_OK;
}

void byte_buffer_free(struct byte_buffer *b)
{
    ss_free(b->data);
    *b = (struct byte_buffer){ NULL, 0 };
}

void section_type_text(uint32_t type, char out[5])
{
    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)(type >> 8 * i);

        out[i] = c >= ' ' && c < 0x7f ? (char)c : '?';
    }
    out[4] = '\0';
}

/* The next n bytes, n <= src->bytes - src->at. */
static enum emu_status take(struct section_source *src, void *to, size_t n)
{
    size_t done = 0;

    if (src->memory) {
        memcpy(to, src->memory + src->at, n);
        done = n;
    }
    while (done < n) {
        ssize_t got = pread(src->fd, (uint8_t *)to + done, n - done, (off_t)(src->at + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return FAIL(IO, "%.200s: offset %llu: %s", src->name,
                        (unsigned long long)(src->at + done), strerror(errno));
        if (got == 0)
            return FAIL(BAD_IMAGE, "%.200s: offset %llu: the file ends, expected %llu bytes",
                        src->name, (unsigned long long)(src->at + done),
                        (unsigned long long)src->bytes);
        done += (size_t)got;
    }
    src->at += n;
    return EMU_OK;
}

enum emu_status section_source_start(struct section_source *src)
{
    uint8_t header[IMAGE_FILE_HEADER_BYTES];
    uint32_t version;

    if (src->bytes < sizeof(header))
        return FAIL(BAD_IMAGE, "%.200s: offset 0: %llu bytes, expected a header of %zu", src->name,
                    (unsigned long long)src->bytes, sizeof(header));
    TRY(take(src, header, sizeof(header)));
    if (memcmp(header, IMAGE_MAGIC, 8) != 0)
        return FAIL(BAD_IMAGE, "%.200s: offset 0: expected the eight bytes that begin an image",
                    src->name);
    memcpy(&version, header + 8, 4);
    memcpy(&src->sections, header + 12, 4);
    memcpy(src->before, header + 8, sizeof(src->before));
    if (version && version < IMAGE_FORMAT_WITHOUT_KEYS)
        return FAIL(BAD_IMAGE,
                    "%.200s: offset 8: version %u of the format, expected %d: the words of its "
                    "instructions mean something else now; compile the program again",
                    src->name, version, IMAGE_FORMAT_VERSION);
    if (!version || version > IMAGE_FORMAT_VERSION)
        return FAIL(BAD_IMAGE, "%.200s: offset 8: version %u of the format, expected %d", src->name,
                    version, IMAGE_FORMAT_VERSION);
    src->version = version;
    if (src->sections < section_source_fixed(src))
        return FAIL(BAD_IMAGE, "%.200s: offset 12: %u sections, expected at least %u", src->name,
                    src->sections, section_source_fixed(src));
    src->zstd = ZSTD_createDCtx();
    if (!src->zstd)
        return FAIL(NO_MEMORY, "a decompressor");
    return EMU_OK;
}

void section_source_free(struct section_source *src)
{
    byte_buffer_free(&src->stored.copy);
    ZSTD_freeDCtx(src->zstd);
}

static enum emu_status check_header(const struct section_source *src, uint32_t type,
                                    size_t bytes_max, uint64_t offset,
                                    const struct section_header *h)
{
    uint64_t left = src->bytes - src->at;
    char want[5], got[5];

    section_type_text(type, want);
    section_type_text(h->type, got);
    if (h->type != type)
        return FAIL(BAD_IMAGE, "%.200s: offset %llu: section %s, expected %s", src->name,
                    (unsigned long long)offset, got, want);
    if (h->version != 1)
        return FAIL(BAD_IMAGE, "%.200s: offset %llu: section %s: version %u, expected 1", src->name,
                    (unsigned long long)offset + 4, want, h->version);
    if (h->stored_bytes > h->raw_bytes ||
        ((uint64_t)h->stored_bytes + 7) / 8 * 8 + IMAGE_CHECKSUM_BYTES > left)
        return FAIL(BAD_IMAGE,
                    "%.200s: offset %llu: section %s: %u bytes stored, expected at most %u and a "
                    "checksum in the %llu that are left",
                    src->name, (unsigned long long)offset + 12, want, h->stored_bytes, h->raw_bytes,
                    (unsigned long long)left);
    if (h->raw_bytes > bytes_max ||
        h->raw_bytes > IMAGE_GROUP_BYTES + (uint64_t)IMAGE_EXPANSION_MAX * h->stored_bytes)
        return FAIL(BAD_IMAGE,
                    "%.200s: offset %llu: section %s: %u bytes, expected at most %zu and %d + %d "
                    "per byte stored",
                    src->name, (unsigned long long)offset + 8, want, h->raw_bytes, bytes_max,
                    IMAGE_GROUP_BYTES, IMAGE_EXPANSION_MAX);
    return EMU_OK;
}

/* Finds the stored bytes of a section and what stands around them: [0, FRONT) the bytes in front of
 * it and its header, then padded contents and the checksum. */
static enum emu_status take_stored(struct section_source *src, const struct section_header *h,
                                   size_t bytes, struct stored_section *out)
{
    enum { HEAD = IMAGE_SECTION_HEADER_BYTES };
    uint8_t *p;

    if (src->memory) { /* everything is there, one behind the other */
        out->front = src->memory + out->offset - IMAGE_CHECKSUM_BYTES;
        src->at += bytes;
        return EMU_OK;
    }
    TRY(byte_buffer_need(&out->copy, IMAGE_CHECKSUM_BYTES + HEAD + bytes));
    p = out->copy.data;
    memcpy(p, src->before, IMAGE_CHECKSUM_BYTES);
    memcpy(p + IMAGE_CHECKSUM_BYTES, h, sizeof(*h));
    out->front = p;
    return take(src, p + IMAGE_CHECKSUM_BYTES + HEAD, bytes);
}

enum emu_status section_fetch(struct section_source *src, uint32_t type, size_t bytes_max,
                              struct stored_section *out)
{
    enum { FRONT = IMAGE_CHECKSUM_BYTES + IMAGE_SECTION_HEADER_BYTES };
    uint64_t offset = src->at, sum, want;
    struct section_header h;
    const uint8_t *p;
    char text[5];
    size_t padded;

    section_type_text(type, text);
    out->offset = offset;
    if (src->bytes - offset < sizeof(h))
        return FAIL(BAD_IMAGE, "%.200s: offset %llu: the file ends, expected section %s", src->name,
                    (unsigned long long)offset, text);
    TRY(take(src, &h, sizeof(h)));
    TRY(check_header(src, type, bytes_max, offset, &h));
    padded = ((size_t)h.stored_bytes + 7) / 8 * 8;
    TRY(take_stored(src, &h, padded + IMAGE_CHECKSUM_BYTES, out));
    p = out->front;
    memcpy(&sum, p + FRONT + padded, sizeof(sum));
    want = hash64(p, FRONT + padded);
    if (sum != want)
        return FAIL(BAD_IMAGE,
                    "%.200s: offset %llu: section %s: its checksum is wrong, expected %016llx",
                    src->name, (unsigned long long)offset, text, (unsigned long long)want);
    if (!bytes_are_zero(p + FRONT + h.stored_bytes, padded - h.stored_bytes))
        return FAIL(BAD_IMAGE, "%.200s: offset %llu: section %s: expected zeros after its bytes",
                    src->name, (unsigned long long)offset, text);
    memcpy(src->before, p + FRONT + padded, IMAGE_CHECKSUM_BYTES);
    out->type = type;
    out->data = p + FRONT;
    out->bytes = h.stored_bytes;
    out->raw_bytes = h.raw_bytes;
    return EMU_OK;
}

enum emu_status section_unpack(const char *name, void *zstd, const struct stored_section *from,
                               struct image_section *out)
{
    char type[5];
    size_t n;

    TRY(byte_buffer_need(&out->raw, from->raw_bytes));
    out->type = from->type;
    out->offset = from->offset;
    out->bytes = from->raw_bytes;
    if (from->bytes == from->raw_bytes) {
        if (from->bytes)
            memcpy(out->raw.data, from->data, from->bytes);
        return EMU_OK;
    }
    n = ZSTD_decompressDCtx(zstd, out->raw.data, from->raw_bytes, from->data, from->bytes);
    if (n == from->raw_bytes)
        return EMU_OK;
    section_type_text(from->type, type);
    return FAIL(BAD_IMAGE, "%.200s: offset %llu: section %s: %s, expected %zu bytes from zstd",
                name, (unsigned long long)from->offset, type,
                ZSTD_isError(n) ? ZSTD_getErrorName(n) : "fewer bytes", from->raw_bytes);
}

enum emu_status section_read(struct section_source *src, uint32_t type, size_t bytes_max,
                             struct image_section *out)
{
    out->type = type;
    out->offset = src->at;
    TRY(section_fetch(src, type, bytes_max, &src->stored));
    return section_unpack(src->name, src->zstd, &src->stored, out);
}
