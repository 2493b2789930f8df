/* image_samples.h - images for tests: random ones, comparison of two, files in memory, and files
 * taken apart and sealed again with right checksums, so that damage reaches what lies behind them.
 */
#ifndef TEST_IMAGE_SAMPLES_H
#define TEST_IMAGE_SAMPLES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "emu/load/image_internal.h"

#define OK(expr) EMU_ASSERT((expr) == EMU_OK)

struct sample_random {
    uint64_t state;
};

static inline uint32_t sample_below(struct sample_random *r, uint32_t n)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 32) % n;
}

static inline void sample_fill(struct sample_random *r, uint8_t *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t)sample_below(r, 256);
}

/* A blob of pages of which many are zero or equal; its last page may be short. */
static inline uint32_t sample_blob(struct image *im, struct sample_random *r, uint32_t bytes)
{
    uint8_t *p = calloc(bytes ? bytes : 1, 1);
    uint32_t id;

    for (uint32_t at = 0; at < bytes; at += IMAGE_PAGE_BYTES) {
        struct sample_random page = { sample_below(r, 12) };
        uint32_t n = bytes - at < IMAGE_PAGE_BYTES ? bytes - at : IMAGE_PAGE_BYTES;

        if (page.state > 3)
            sample_fill(&page, p + at, page.state > 8 ? n / 4 : n);
    }
    OK(image_blob(im, p, bytes, &id));
    free(p);
    return id;
}

static inline uint32_t sample_string(struct image *im, struct sample_random *r)
{
    char text[24];
    uint32_t id;

    snprintf(text, sizeof(text), "%.*s%u", (int)sample_below(r, 9), "xfer\xff\x01 a",
             sample_below(r, 40));
    OK(image_string(im, text, &id));
    return id;
}

enum { SAMPLE_LIST_MAX = 20 };

static inline uint32_t sample_map(struct image *im, struct sample_random *r)
{
    struct image_range list[SAMPLE_LIST_MAX];
    uint32_t at = im->arch.mem_base, n = sample_below(r, SAMPLE_LIST_MAX), id;

    for (uint32_t i = 0; i < n; i++) {
        at += sample_below(r, 2) * sample_below(r, 500);
        list[i] = (struct image_range){ at, 1 + sample_below(r, 2000), sample_string(im, r),
                                        sample_below(r, 2) ? sample_string(im, r) : 0 };
        at += list[i].bytes;
    }
    OK(image_map(im, list, n, &id));
    return id;
}

static inline uint32_t sample_symbols(struct image *im, struct sample_random *r)
{
    struct image_symbol list[SAMPLE_LIST_MAX];
    uint32_t at = im->arch.mem_base, n = sample_below(r, SAMPLE_LIST_MAX), id;

    for (uint32_t i = 0; i < n; i++) {
        at += sample_below(r, 3) * 8;
        list[i] = (struct image_symbol){ at, sample_below(r, 40), sample_string(im, r) };
    }
    OK(image_symbols(im, list, n, &id));
    return id;
}

static inline uint32_t sample_lines(struct image *im, struct sample_random *r)
{
    struct image_line list[SAMPLE_LIST_MAX];
    uint32_t at = im->arch.mem_base, n = sample_below(r, SAMPLE_LIST_MAX), id;

    for (uint32_t i = 0; i < n; i++) {
        at += 4 + sample_below(r, 3) * 4;
        list[i] = (struct image_line){ at, sample_below(r, 4) ? sample_string(im, r) : 0,
                                       sample_below(r, 1000) };
    }
    OK(image_lines(im, list, n, &id));
    return id;
}

/* Segments of one tile, some out of order, some a prefix of their blob. */
static inline size_t sample_segments(struct image *im, struct sample_random *r,
                                     struct image_segment *list, size_t max)
{
    uint32_t at = im->arch.mem_base, end = (uint32_t)image_mem_end(&im->arch);
    size_t n = sample_below(r, (uint32_t)max + 1), k;

    for (k = 0; k < n; k++) {
        uint32_t blob = sample_below(r, (uint32_t)im->blob.items), bytes;

        image_blob_bytes(im, blob, &bytes);
        at += sample_below(r, 2) * sample_below(r, 5000);
        if (sample_below(r, 4) == 0)
            bytes -= bytes / 3;
        if (!bytes || at > end || bytes > end - at)
            break;
        list[k] = (struct image_segment){ at, bytes, blob };
        at += bytes;
    }
    if (k > 1 && sample_below(r, 2)) {
        struct image_segment first = list[0];

        list[0] = list[k - 1];
        list[k - 1] = first;
    }
    return k;
}

static inline struct image *sample_image(uint64_t seed)
{
    struct sample_random r = { seed };
    struct arch a = *arch_preset("toy16");
    uint32_t blobs = sample_below(&r, 8), lists[3][3];
    struct image_segment list[6];
    struct image *im;

    a.chips = 2;
    OK(image_new(&a, &im));
    for (uint32_t i = 0; i < blobs; i++)
        sample_blob(im, &r,
                    sample_below(&r, 3) ? sample_below(&r, 20000) : 4096 * sample_below(&r, 5));
    for (uint32_t i = 0; i < 3; i++) {
        lists[i][0] = sample_map(im, &r);
        lists[i][1] = sample_symbols(im, &r);
        lists[i][2] = sample_lines(im, &r);
    }
    for (uint32_t t = 0; t < 32; t++) {
        struct image_tile tile = { .tile = t * 5 % 16,
                                   .chip = t / 16,
                                   .group = sample_below(&r, 64),
                                   .entry = a.mem_base + 4 * sample_below(&r, a.region0_bytes / 4),
                                   .map = lists[sample_below(&r, 3)][0],
                                   .symbols = lists[sample_below(&r, 3)][1],
                                   .lines = lists[sample_below(&r, 3)][2] };
        size_t n = sample_segments(im, &r, list, EMU_COUNT_OF(list));

        if (sample_below(&r, 4))
            OK(image_add_tile(im, &tile, list, n));
    }
    for (uint32_t i = sample_below(&r, 5); i > 0; i--)
        OK(image_add_stream(im, &(struct image_stream){ i * 77 % 50, sample_string(im, &r), i % 2,
                                                        i, (uint64_t)i << 33 }));
    for (uint32_t i = sample_below(&r, 30); i > 0; i--)
        OK(image_add_timing_key(
            im, &(struct image_timing_key){ i % 16, a.mem_base + 4 * i, r.state * i }));
    return im;
}

/* A small image of one tile in which every kind of thing occurs once or twice. */
static inline struct image *sample_small(void)
{
    const struct arch *a = arch_preset("toy4");
    struct sample_random r = { 7 };
    uint8_t data[6000] = { 0 };
    uint32_t code, heap, file, map, symbols, lines, blob[2];
    struct image *im;

    OK(image_new(a, &im));
    OK(image_string(im, "code", &code));
    OK(image_string(im, "heap", &heap));
    OK(image_string(im, "a.S", &file));
    sample_fill(&r, data, 100);
    sample_fill(&r, data + 4096, 50);
    OK(image_blob(im, data, sizeof(data), &blob[0]));
    OK(image_blob(im, data, 60, &blob[1]));
    OK(image_map(im,
                 (struct image_range[]){ { a->mem_base, 100, code, file },
                                         { a->mem_base + 200, 50, heap, 0 } },
                 2, &map));
    OK(image_symbols(
        im, (struct image_symbol[]){ { a->mem_base, 8, code }, { a->mem_base + 8, 0, heap } }, 2,
        &symbols));
    OK(image_lines(im, (struct image_line[]){ { a->mem_base, file, 3 }, { a->mem_base + 8, 0, 0 } },
                   2, &lines));
    OK(image_add_stream(im, &(struct image_stream){ 5, heap, STREAM_TO_HOST, 2, 1 << 20 }));
    OK(image_add_timing_key(im, &(struct image_timing_key){ 1, a->mem_base + 4, 0x123456789 }));
    OK(image_add_tile(im,
                      &(struct image_tile){ .tile = 1,
                                            .group = 3,
                                            .entry = a->mem_base + 8,
                                            .map = map,
                                            .symbols = symbols,
                                            .lines = lines },
                      (struct image_segment[]){ { a->mem_base, 6000, blob[0] },
                                                { a->mem_base + 8192, 60, blob[1] } },
                      2));
    OK(image_add_tile(im, &(struct image_tile){ .tile = 2, .entry = a->mem_base },
                      (struct image_segment[]){ { a->mem_base, 60, blob[1] } }, 1));
    return im;
}

static inline int sample_same_list(const struct image_pool *a, const struct image_pool *b)
{
    if (a->items != b->items)
        return 0;
    for (size_t i = 0; i < a->items; i++) {
        if (a->item[i].bytes != b->item[i].bytes)
            return 0;
        if (a->item[i].bytes && memcmp(a->item[i].data, b->item[i].data, a->item[i].bytes) != 0)
            return 0;
    }
    return 1;
}

/* Whether two images say the same, ids included. */
static inline int sample_same(const struct image *a, const struct image *b)
{
    return arch_equal(&a->arch, &b->arch) && sample_same_list(&a->text, &b->text) &&
           sample_same_list(&a->blob, &b->blob) && sample_same_list(&a->map, &b->map) &&
           sample_same_list(&a->symbols, &b->symbols) && sample_same_list(&a->lines, &b->lines) &&
           a->blob_bytes == b->blob_bytes && a->tiles == b->tiles && a->segments == b->segments &&
           a->streams == b->streams && a->keys == b->keys &&
           (!a->tiles || !memcmp(a->tile, b->tile, a->tiles * sizeof(*a->tile))) &&
           (!a->segments || !memcmp(a->segment, b->segment, a->segments * sizeof(*a->segment))) &&
           (!a->streams || !memcmp(a->stream, b->stream, a->streams * sizeof(*a->stream))) &&
           (!a->keys || !memcmp(a->key, b->key, a->keys * sizeof(*a->key)));
}

/* ---- files in memory ---- */

struct sample_file {
    uint8_t *data; /* malloc */
    size_t bytes;
};

static inline struct sample_file sample_write(const struct image *im)
{
    struct sample_file f = { NULL, 0 };
    int fd = memfd_create("image", 0);
    ssize_t n;

    EMU_ASSERT(fd >= 0);
    OK(image_write_fd(im, fd, "memory"));
    f.bytes = (size_t)lseek(fd, 0, SEEK_END);
    f.data = malloc(f.bytes);
    n = pread(fd, f.data, f.bytes, 0);
    EMU_ASSERT(f.data && n == (ssize_t)f.bytes);
    close(fd);
    return f;
}

enum { SAMPLE_SECTIONS_MAX = 16 };

/* A file taken apart. */
struct sample_parts {
    uint8_t header[IMAGE_FILE_HEADER_BYTES];
    uint32_t count;
    struct sample_part {
        uint32_t type, version, bytes;
        uint8_t *data; /* malloc, decompressed */
    } part[SAMPLE_SECTIONS_MAX];
};

static inline void sample_parts_free(struct sample_parts *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        free(p->part[i].data);
    p->count = 0;
}

/* Takes a file apart as far as it goes; 0 when it is no image or has sections above raw_max. */
static inline int sample_take_apart(const uint8_t *data, size_t bytes, size_t raw_max,
                                    struct sample_parts *out)
{
    size_t at = IMAGE_FILE_HEADER_BYTES;

    out->count = 0;
    if (bytes < at)
        return 0;
    memcpy(out->header, data, at);
    while (out->count < SAMPLE_SECTIONS_MAX && bytes - at >= IMAGE_SECTION_HEADER_BYTES) {
        struct sample_part *p = &out->part[out->count];
        uint32_t h[4];

        memcpy(h, data + at, sizeof(h));
        at += sizeof(h);
        if (h[2] > raw_max || h[3] > h[2] || ((size_t)h[3] + 7) / 8 * 8 + 8 > bytes - at)
            break;
        *p = (struct sample_part){ h[0], h[1], h[2], calloc(h[2] + 1, 1) };
        out->count++;
        if (h[3] == h[2])
            memcpy(p->data, data + at, h[2]);
        else
            ZSTD_decompress(p->data, h[2], data + at, h[3]);
        at += ((size_t)h[3] + 7) / 8 * 8 + 8;
    }
    if (at == bytes)
        return 1;
    sample_parts_free(out);
    return 0;
}

/* Puts parts together with right checksums, nothing compressed. The result is malloc. */
static inline struct sample_file sample_seal(const struct sample_parts *p)
{
    struct sample_file f = { NULL, IMAGE_FILE_HEADER_BYTES };
    size_t at = IMAGE_FILE_HEADER_BYTES;

    for (uint32_t i = 0; i < p->count; i++)
        f.bytes += IMAGE_SECTION_HEADER_BYTES + ((size_t)p->part[i].bytes + 7) / 8 * 8 + 8;
    f.data = calloc(f.bytes, 1);
    memcpy(f.data, p->header, sizeof(p->header));
    for (uint32_t i = 0; i < p->count; i++) {
        const struct sample_part *s = &p->part[i];
        uint32_t h[4] = { s->type, s->version, s->bytes, s->bytes };
        size_t from = at - 8;
        uint64_t sum;

        memcpy(f.data + at, h, sizeof(h));
        memcpy(f.data + at + sizeof(h), s->data, s->bytes);
        at += sizeof(h) + ((size_t)s->bytes + 7) / 8 * 8;
        sum = hash64(f.data + from, at - from);
        memcpy(f.data + at, &sum, sizeof(sum));
        at += sizeof(sum);
    }
    return f;
}

#endif
