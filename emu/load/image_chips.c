/* image_chips.c - what a program of several chips says about how they meet: whom its syncs join,
 * what goes through its channels, and which words are headers that the loader completes.
 */
#include "emu/load/image_internal.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"

/* ---- zones ---- */

static int has_zones(const struct image *im)
{
    for (unsigned z = 0; z < SYNC_ZONES; z++) {
        if (im->zone[z] != SCOPE_RESERVED)
            return 1;
    }
    return 0;
}

enum emu_status image_set_zone(struct image *im, unsigned zone, enum sync_scope scope)
{
    if (zone >= SYNC_ZONES || sync_scope_default(zone) == SCOPE_RESERVED)
        return FAIL(BAD_IMAGE, "zone %u: expected 3 to 7 or 12 to 15", zone);
    if ((unsigned)scope <= SCOPE_RESERVED || (unsigned)scope >= SCOPES)
        return FAIL(BAD_IMAGE, "zone %u: scope %u, expected 1 to %d", zone, (unsigned)scope,
                    SCOPES - 1);
    if (im->zone[zone] != SCOPE_RESERVED)
        return FAIL(BAD_IMAGE, "zone %u: expected every zone once", zone);
    im->zone[zone] = (uint8_t)scope;
    return EMU_OK;
}

enum sync_scope image_zone_scope(const struct image *im, unsigned zone)
{
    EMU_ASSERT(zone < SYNC_ZONES);
    return has_zones(im) ? (enum sync_scope)im->zone[zone] : sync_scope_default(zone);
}

/* ---- channels ---- */

/* Whether bytes at addr are whole words of a tile's memory. */
static int are_words(const struct image *im, uint32_t addr, uint32_t bytes)
{
    return addr % 4 == 0 && bytes && bytes % 4 == 0 && addr >= im->arch.mem_base &&
           (uint64_t)addr + bytes <= image_mem_end(&im->arch);
}

static enum emu_status check_channel_part(const struct image *im, const char *name, size_t i,
                                          const struct image_channel_part *p)
{
    if (!image_find_tile(im, p->chip, p->tile))
        return FAIL(BAD_IMAGE, "channel %s: part %zu: tile %u of chip %u takes no part", name, i,
                    p->tile, p->chip);
    if (!are_words(im, p->addr, p->bytes))
        return FAIL(BAD_IMAGE, "channel %s: part %zu: %u bytes at 0x%x, expected words of memory",
                    name, i, p->bytes, p->addr);
    if (p->receives > 1)
        return FAIL(BAD_IMAGE, "channel %s: part %zu: receives %u, expected 0 or 1", name, i,
                    p->receives);
    return EMU_OK;
}

/* Those that are received first, by place. */
static int by_place(const void *x, const void *y)
{
    const struct image_channel_part *a = x, *b = y;

    if (a->receives != b->receives)
        return a->receives > b->receives ? -1 : 1;
    if (a->chip != b->chip)
        return a->chip < b->chip ? -1 : 1;
    if (a->tile != b->tile)
        return a->tile < b->tile ? -1 : 1;
    return (a->addr > b->addr) - (a->addr < b->addr);
}

/* No byte is received twice; one may be sent to several places. */
static enum emu_status check_received_once(const char *name, const struct image_channel_part *p,
                                           size_t n)
{
    struct image_channel_part *sorted = emu_alloc(n, sizeof(*sorted));
    enum emu_status s = EMU_OK;

    if (!sorted)
        return FAIL(NO_MEMORY, "%zu parts of a channel", n);
    memcpy(sorted, p, n * sizeof(*p));
    qsort(sorted, n, sizeof(*sorted), by_place);
    for (size_t i = 1; i < n && sorted[i].receives && s == EMU_OK; i++) {
        const struct image_channel_part *a = &sorted[i - 1], *b = &sorted[i];

        if (a->chip == b->chip && a->tile == b->tile && b->addr < (uint64_t)a->addr + a->bytes)
            s = FAIL(BAD_IMAGE,
                     "channel %s: tile %u of chip %u receives at 0x%x twice, expected every byte "
                     "once",
                     name, b->tile, b->chip, b->addr);
    }
    ss_free(sorted);
    return s;
}

static enum emu_status check_channel(const struct image *im, const struct image_channel *c,
                                     const struct image_channel_part *p)
{
    uint64_t bytes[2] = { 0, 0 }; /* sent, received */
    const char *name;

    if (!c->name || c->name >= im->text.items)
        return FAIL(BAD_IMAGE, "channel %zu: name %u, expected a string of 1 to %zu", im->channels,
                    c->name, im->text.items - 1);
    name = image_text(im, c->name);
    for (size_t i = 0; i < im->channels; i++) {
        if (im->channel[i].name == c->name)
            return FAIL(BAD_IMAGE, "two channels are called %s", name);
    }
    for (size_t i = 0; i < c->parts; i++) {
        TRY(check_channel_part(im, name, i, &p[i]));
        bytes[p[i].receives] += p[i].bytes;
    }
    if (!bytes[0] || !bytes[1] || bytes[0] % bytes[1])
        return FAIL(BAD_IMAGE,
                    "channel %s: %llu bytes are sent, %llu received, expected as many, or as many "
                    "from each of several places",
                    name, (unsigned long long)bytes[0], (unsigned long long)bytes[1]);
    return check_received_once(name, p, c->parts);
}

enum emu_status image_add_channel(struct image *im, const struct image_channel *c,
                                  const struct image_channel_part *p)
{
    struct image_channel new = *c;

    TRY(check_channel(im, c, p));
    for (uint32_t i = 0; i < c->parts; i++)
        TRY(emu_grow((void **)&im->channel_part, im->channel_parts + i, &im->channel_part_cap,
                     sizeof(*im->channel_part)));
    TRY(emu_grow((void **)&im->channel, im->channels, &im->channel_cap, sizeof(*im->channel)));
    new.first_part = (uint32_t)im->channel_parts;
    memcpy(im->channel_part + im->channel_parts, p, c->parts * sizeof(*p));
    im->channel_parts += c->parts;
    im->channel[im->channels++] = new;
    return EMU_OK;
}

size_t image_channel_count(const struct image *im)
{
    return im->channels;
}

const struct image_channel *image_channel_at(const struct image *im, size_t i)
{
    EMU_ASSERT(i < im->channels);
    return &im->channel[i];
}

const struct image_channel_part *image_channel_part_at(const struct image *im, size_t i)
{
    EMU_ASSERT(i < im->channel_parts);
    return &im->channel_part[i];
}

/* ---- links ---- */

enum { LINK_BYTES = 4 * LINK_HEADER_WORDS };

/* Whether l stands behind the last one. */
static int link_ascends(const struct image *im, const struct image_link *l)
{
    const struct image_link *last = im->links ? &im->link[im->links - 1] : NULL;

    if (!last || l->chip != last->chip)
        return !last || l->chip > last->chip;
    if (l->tile != last->tile)
        return l->tile > last->tile;
    return l->addr >= (uint64_t)last->addr + LINK_BYTES;
}

enum emu_status image_add_link(struct image *im, const struct image_link *l)
{
    int32_t chips = (int32_t)im->arch.chips;

    if (!image_find_tile(im, l->chip, l->tile))
        return FAIL(BAD_IMAGE, "link %zu: tile %u of chip %u takes no part", im->links, l->tile,
                    l->chip);
    if (!are_words(im, l->addr, LINK_BYTES))
        return FAIL(BAD_IMAGE, "link %zu: at 0x%x of tile %u of chip %u, expected words of memory",
                    im->links, l->addr, l->tile, l->chip);
    if (l->replica <= -chips || l->replica >= chips)
        return FAIL(BAD_IMAGE, "link %zu: replica %d, expected less than the %d chips", im->links,
                    l->replica, chips);
    if (!link_ascends(im, l))
        return FAIL(BAD_IMAGE,
                    "link %zu: at 0x%x of tile %u of chip %u, expected it behind the one before it",
                    im->links, l->addr, l->tile, l->chip);
    TRY(emu_grow((void **)&im->link, im->links, &im->link_cap, sizeof(*im->link)));
    im->link[im->links++] = *l;
    return EMU_OK;
}

size_t image_link_count(const struct image *im)
{
    return im->links;
}

const struct image_link *image_link_at(const struct image *im, size_t i)
{
    EMU_ASSERT(i < im->links);
    return &im->link[i];
}

const struct image_segment *image_link_segment(const struct image *im, const struct image_link *l)
{
    const struct image_tile *t = image_find_tile(im, l->chip, l->tile);

    for (uint32_t k = 0; k < t->segments; k++) {
        const struct image_segment *s = &im->segment[t->first_segment + k];

        if (l->addr >= s->addr && l->addr - s->addr + (uint64_t)LINK_BYTES <= s->bytes)
            return s;
    }
    return NULL;
}

enum emu_status image_link_header(const struct image *im, size_t i, struct link_header *out)
{
    const struct image_link *l = image_link_at(im, i);
    const struct image_segment *s = image_link_segment(im, l);
    uint32_t word[LINK_HEADER_WORDS] = { 0 };

    if (s)
        memcpy(word, (const uint8_t *)im->blob.item[s->blob].data + (l->addr - s->addr),
               sizeof(word));
    if (!link_header_unpack(word, out))
        return FAIL(BAD_IMAGE,
                    "link %zu: 0x%08x 0x%08x at 0x%x of tile %u of chip %u, expected the header of "
                    "a transfer between chips",
                    i, word[0], word[1], l->addr, l->tile, l->chip);
    if (out->chip >= image_chip_count(im))
        return FAIL(BAD_IMAGE,
                    "link %zu: the header at 0x%x of tile %u of chip %u is for chip %u, expected "
                    "one below %u",
                    i, l->addr, l->tile, l->chip, out->chip, image_chip_count(im));
    return EMU_OK;
}
