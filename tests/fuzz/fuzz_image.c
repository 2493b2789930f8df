/* fuzz_image.c - any bytes as an image file: refused with a message, or an image that keeps its own
 * rules and reads back as the same one after being written.
 *
 * Checksums would stop nearly every mutation, so the mutator takes a file apart, changes one
 * section decompressed, makes the hashes of chunks right again now and then, and seals the file.
 * The first input of an empty corpus is a small image.
 */
#include <stdint.h>
#include <string.h>

#include "emu/base/random.h"
#include "emu/base/alloc.h"
#include "tests/fixtures/image_fixture.h"

enum { RAW_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* A transfer between memory of the caller and that of the link, as a session moves it. */
static void look_at_streams(const struct image *im)
{
    for (size_t i = 0; i < image_stream_count(im); i++) {
        const struct image_stream *s = image_stream_at(im, i);
        uint64_t at = 0;
        size_t n;
        const struct image_order *o = image_order_of(im, s->order, &n);

        for (size_t k = 0; k < n; k++) {
            EMU_ASSERT(o[k].bytes && (o[k].element == IMAGE_ORDER_FILLER ||
                                      (uint64_t)o[k].element * s->elem_bytes + o[k].bytes <=
                                          (uint64_t)s->elements * s->elem_bytes));
            at += o[k].bytes;
        }
        EMU_ASSERT(at == image_transfer_bytes(im, s) && at <= UINT32_MAX);
    }
}

/* What goes between chips stands in memory of tiles that are there. */
static void look_at_meetings(const struct image *im)
{
    uint64_t end = image_mem_end(ss_image_arch(im)), balance = 0;
    struct link_header h;

    for (unsigned z = 0; z < SYNC_ZONES; z++)
        EMU_ASSERT(image_zone_scope(im, z) < SCOPES);
    for (size_t i = 0; i < image_channel_count(im); i++) {
        const struct image_channel *c = image_channel_at(im, i);

        EMU_ASSERT(image_text(im, c->name)[0]);
        for (uint32_t k = 0; k < c->parts; k++) {
            const struct image_channel_part *p = image_channel_part_at(im, c->first_part + k);

            EMU_ASSERT(image_find_tile(im, p->chip, p->tile) && p->bytes &&
                       (uint64_t)p->addr + p->bytes <= end);
            balance += p->receives ? p->bytes : 0 - (uint64_t)p->bytes;
        }
        EMU_ASSERT(!balance);
    }
    for (size_t i = 0; i < image_link_count(im); i++)
        OK(image_link_header(im, i, &h));
}

static void look_at_everything(const struct image *im)
{
    uint32_t offset, line, sum = 0, bytes;

    for (size_t i = 0; i < image_tile_count(im); i++) {
        const struct image_tile *t = image_tile_at(im, i);
        uint32_t at = ss_image_arch(im)->mem_base;

        OK(image_check_map(im, t));
        EMU_ASSERT(image_find_tile(im, t->chip, t->tile) == t);
        EMU_ASSERT(image_category_bytes(im, t, 0) <= ss_image_arch(im)->mem_bytes);
        image_symbolize(im, t, at + 8, &offset);
        image_source(im, t, at + 8, &line);
        for (uint32_t k = 0; k < t->segments; k++) {
            const struct image_segment *s = image_segment_at(im, t->first_segment + k);
            const uint8_t *p = image_blob_bytes(im, s->blob, &bytes);

            EMU_ASSERT(s->bytes <= bytes && s->addr >= at &&
                       s->addr - at <= ss_image_arch(im)->mem_bytes - s->bytes);
            for (uint32_t b = 0; b < s->bytes; b++)
                sum += p[b];
        }
    }
    look_at_streams(im);
    look_at_meetings(im);
    EMU_ASSERT(image_text(im, 0)[0] == '\0' && sum + 1 != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sample_file f, g;
    struct image *im, *again;
    enum emu_status s = ss_image_read_bytes(data, size, "fuzz", &im);

    if (s != EMU_OK) {
        EMU_ASSERT(s == EMU_BAD_IMAGE && im == NULL);
        EMU_ASSERT(strncmp(ss_error(), "fuzz: offset ", 13) == 0);
        EMU_ASSERT(alloc_live() == 0);
        return 0;
    }
    look_at_everything(im);
    f = sample_write(im);
    OK(ss_image_read_bytes(f.data, f.bytes, "fuzz", &again));
    EMU_ASSERT(sample_same(im, again));
    g = sample_write(again);
    EMU_ASSERT(f.bytes == g.bytes && memcmp(f.data, g.data, f.bytes) == 0);
    free(f.data);
    free(g.data);
    ss_image_free(im);
    ss_image_free(again);
    EMU_ASSERT(alloc_live() == 0);
    return 0;
}

/* Writes the hashes of the chunks as they are now into section BLOB, as far as both go. */
static void repair_hashes(struct sample_parts *p)
{
    struct sample_part *blob = NULL;
    uint32_t n[2], chunk = 0, data = 0;
    size_t at = 0;

    for (uint32_t i = 0; i < p->count; i++) {
        if (p->part[i].type == IMAGE_BLOB)
            blob = &p->part[i];
    }
    if (!blob || blob->bytes < 8)
        return;
    memcpy(n, blob->data, 8);
    for (uint32_t b = 0, ref = 0; b < n[0] && 12 + 4 * (uint64_t)b <= blob->bytes; b++) {
        uint32_t bytes;

        memcpy(&bytes, blob->data + 8 + 4 * (size_t)b, 4);
        for (uint32_t page = 0; page < bytes; page += 4096, ref++) {
            uint64_t ref_at = 8 + 4 * ((uint64_t)n[0] + ref);
            uint64_t hash_at = (uint64_t)blob->bytes - 16 * ((uint64_t)n[1] - chunk);
            uint32_t value, size = bytes - page < 4096 ? bytes - page : 4096;
            struct hash128 h;

            if (ref_at + 4 > blob->bytes || page > RAW_MAX)
                return;
            memcpy(&value, blob->data + ref_at, 4);
            if (value != chunk + 1)
                continue;
            while (data < p->count &&
                   (p->part[data].type != IMAGE_DATA || p->part[data].bytes - at < size)) {
                data++;
                at = 0;
            }
            if (data == p->count || chunk >= n[1] || hash_at > (uint64_t)blob->bytes - 16)
                return;
            h = hash128(p->part[data].data + at, size);
            memcpy(blob->data + hash_at, &h, 16);
            at += size;
            chunk++;
        }
    }
}

static size_t start_over(uint8_t *data, size_t max_size, unsigned seed)
{
    struct image *im = seed % 3 == 0   ? sample_small()
                       : seed % 3 == 1 ? sample_two_chips()
                                       : sample_image(seed % 64);
    struct sample_file f = sample_write(im);
    size_t n = f.bytes <= max_size ? f.bytes : 0;

    if (n)
        memcpy(data, f.data, n);
    free(f.data);
    ss_image_free(im);
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint64_t r = seed;
    struct sample_parts p;
    struct sample_file f;
    size_t n = 0;

    if (random_below(&r, 20) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    if (!sample_take_apart(data, size, RAW_MAX, &p) || !p.count)
        return (n = start_over(data, max_size, seed)) ? n : LLVMFuzzerMutate(data, size, max_size);
    for (uint32_t times = 1 + random_below(&r, 3); times > 0; times--) {
        struct sample_part *s = &p.part[random_below(&r, p.count)];
        size_t room = s->bytes + 64 + s->bytes / 2;

        s->data = realloc(s->data, room + 1);
        if (s->bytes >= 4 && random_below(&r, 2)) { /* a nearby number where numbers stand */
            uint32_t at = random_below(&r, s->bytes / 4) * 4, v;

            memcpy(&v, s->data + at, 4);
            v += random_below(&r, 9) - 4;
            memcpy(s->data + at, &v, 4);
        } else {
            s->bytes = (uint32_t)LLVMFuzzerMutate(s->data, s->bytes, room);
        }
    }
    if (random_below(&r, 4))
        repair_hashes(&p);
    f = sample_seal(&p);
    if (f.bytes <= max_size) {
        memcpy(data, f.data, f.bytes);
        n = f.bytes;
    }
    free(f.data);
    sample_parts_free(&p);
    return n ? n : LLVMFuzzerMutate(data, size, max_size);
}
