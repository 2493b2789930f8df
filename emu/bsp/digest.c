/* digest.c - page, tile and group hashes (see digest.h). */
#include "emu/bsp/digest.h"

#include "emu/base/alloc.h"
#include "emu/tile/tile_range.h"

enum { PAGE_BYTES = 1 << DIRTY_PAGE_BITS };

struct digests {
    uint32_t tiles, pages, tile_bytes;
    uint32_t chip, chips;
    FILE *file;             /* borrowed or NULL */
    struct hash128 *page;   /* owned [tiles * pages] */
    struct hash128 *tile;   /* owned [tiles] */
    struct hash128 *gather; /* owned [tiles], scratch of digest_root */
};

static uint32_t page_bytes(const struct digests *d, uint32_t page)
{
    return tile_page_bytes(d->tile_bytes, DIRTY_PAGE_BITS, page);
}

static struct hash128 tile_hash(const struct digests *d, uint32_t tile)
{
    return hash128(&d->page[(size_t)tile * d->pages], d->pages * sizeof(struct hash128));
}

/* All memory is zero at first, so every tile starts with the hashes of zero pages. */
static void hash_zero_pages(struct digests *d)
{
    static const uint8_t zeros[PAGE_BYTES];

    for (uint32_t p = 0; p < d->pages; p++)
        d->page[p] = hash128(zeros, page_bytes(d, p));
    d->tile[0] = tile_hash(d, 0);
    for (uint32_t i = 1; i < d->tiles; i++) {
        memcpy(&d->page[(size_t)i * d->pages], d->page, d->pages * sizeof(struct hash128));
        d->tile[i] = d->tile[0];
    }
}

static void write_head(const struct digests *d, const char *machine)
{
    fprintf(d->file, "superstep-digests 1\nmachine %s tiles %u", machine, d->tiles);
    if (d->chips > 1)
        fprintf(d->file, " chips %u", d->chips);
    fputc('\n', d->file);
}

enum emu_status digests_new(const struct arch *arch, FILE *file, struct digests **out)
{
    return digests_new_chip(arch, 0, file, out);
}

enum emu_status digests_new_chip(const struct arch *arch, uint32_t chip, FILE *file,
                                 struct digests **out)
{
    struct digests *d = emu_alloc(1, sizeof(*d));

    *out = NULL;
    if (!d)
        return FAIL(NO_MEMORY, "digests");
    d->chip = chip;
    d->chips = arch->chips;
    d->tiles = arch->tiles;
    d->tile_bytes = arch->mem_bytes;
    d->pages = tile_pages(arch->mem_bytes, DIRTY_PAGE_BITS);
    d->file = file;
    d->page = emu_alloc((size_t)d->tiles * d->pages, sizeof(struct hash128));
    d->tile = emu_alloc(d->tiles, sizeof(struct hash128));
    d->gather = emu_alloc(d->tiles, sizeof(struct hash128));
    if (!d->page || !d->tile || !d->gather) {
        digests_free(d);
        return FAIL(NO_MEMORY, "page hashes of %u tiles", arch->tiles);
    }
    hash_zero_pages(d);
    if (file && !chip)
        write_head(d, arch->name);
    *out = d;
    return EMU_OK;
}

void digests_free(struct digests *d)
{
    if (!d)
        return;
    ss_free(d->page);
    ss_free(d->tile);
    ss_free(d->gather);
    ss_free(d);
}

struct hash128 digest_tile(struct digests *d, uint32_t tile, struct tile *t)
{
    struct hash128 *page = &d->page[(size_t)tile * d->pages];
    int changed = 0;

    for (uint32_t p = 0; p < d->pages; p++) {
        if (!t->dirty[p])
            continue;
        t->dirty[p] = 0;
        page[p] = hash128(t->mem + (size_t)p * PAGE_BYTES, page_bytes(d, p));
        changed = 1;
    }
    if (changed)
        d->tile[tile] = tile_hash(d, tile);
    return d->tile[tile];
}

struct hash128 digest_root(const struct digests *d, const uint32_t *tile, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        d->gather[i] = d->tile[tile[i]];
    return hash128(d->gather, n * sizeof(struct hash128));
}

void digest_step(struct digests *d, unsigned group, uint64_t superstep, uint64_t cycle,
                 const uint32_t *tile, uint32_t n, int each)
{
    char text[33];

    if (!d->file)
        return;
    hash128_text(digest_root(d, tile, n), text);
    fputs("step ", d->file);
    if (d->chips > 1)
        fprintf(d->file, "%u ", d->chip);
    fprintf(d->file, "%u %llu %llu %s\n", group, (unsigned long long)superstep,
            (unsigned long long)cycle, text);
    for (uint32_t i = 0; each && i < n; i++) {
        hash128_text(d->tile[tile[i]], text);
        fprintf(d->file, "tile %u %s\n", tile[i], text);
    }
}
