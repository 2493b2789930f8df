/* image_load.c - puts a program into the memories of a machine.
 *
 * Memory of a new machine is zero and costs nothing until it is touched, so pages of zeros are left
 * alone.
 */
#include "emu/load/image_internal.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/bsp/machine.h"
#include "emu/bsp/replay.h"

/* Writes data to tile memory in as few pieces as its pages of zeros allow. */
static int write_nonzero(struct tile *t, uint32_t addr, const uint8_t *data, uint32_t bytes)
{
    uint32_t at = 0, run = 0; /* [run, at) waits to be written */
    int ok = 1;

    while (at < bytes && ok) {
        uint32_t to_page_end = IMAGE_PAGE_BYTES - (addr + at - t->mem_base) % IMAGE_PAGE_BYTES;
        uint32_t n = bytes - at < to_page_end ? bytes - at : to_page_end;

        /* The checking mode must see that zeros were given, too. */
        if (!t->check && bytes_are_zero(data + at, n)) {
            ok = tile_write(t, addr + run, data + run, at - run);
            run = at + n;
        }
        at += n;
    }
    return ok && tile_write(t, addr + run, data + run, at - run);
}

/* ---- calls with keys ---- */

static enum emu_status add_keys(const struct image_tile *t, const struct image_key *from, size_t n,
                                struct replay *r)
{
    struct replay_key *key;
    enum emu_status s;

    key = emu_alloc(n, sizeof(*key));
    if (!key)
        return FAIL(NO_MEMORY, "%zu keys", n);
    for (size_t i = 0; i < n; i++)
        key[i] = (struct replay_key){ from[i].addr, from[i].lo | (uint64_t)from[i].hi << 32 };
    s = replay_add(r, t->tile, key, n);
    ss_free(key);
    return s;
}

/* Workers of one call with a key have nothing to do with each other (../bsp/machine.h). */
static enum emu_status add_sites(const struct image_tile *t, const struct image_key *from, size_t n,
                                 struct machine *m)
{
    uint32_t *addr = emu_alloc(n, sizeof(*addr));
    enum emu_status s;

    if (!addr)
        return FAIL(NO_MEMORY, "%zu calls", n);
    for (size_t i = 0; i < n; i++)
        addr[i] = from[i].addr;
    s = machine_sites(m, t->tile, addr, n);
    ss_free(addr);
    return s;
}

/* Has a tile take part, and says which of its calls have keys. */
static enum emu_status use_tile(const struct image *im, const struct image_tile *t,
                                struct machine *m)
{
    size_t n;
    const struct image_key *key = image_keys_of(im, t->keys, &n);
    const struct exchange_part *part;

    if (machine_replay(m) && n)
        TRY(add_keys(t, key, n, machine_replay(m)));
    machine_use(m, t->tile, t->entry, t->group);
    if (!machine_replay(m))
        return n ? add_sites(t, key, n, m) : EMU_OK;
    part = image_parts_of(im, t->parts, &n);
    return machine_parts(m, t->tile, part, n);
}

/* ---- memories ---- */

static enum emu_status check_machine(const struct image *im, const struct machine *m)
{
    const struct arch *a = machine_arch(m);

    if (ss_arch_equal(a, &im->arch))
        return EMU_OK;
    for (size_t i = 0; i < ss_arch_field_count(); i++) {
        char want[ARCH_TEXT_MAX], got[ARCH_TEXT_MAX];

        ss_arch_field_text(&im->arch, i, want, sizeof(want));
        ss_arch_field_text(a, i, got, sizeof(got));
        if (strcmp(want, got) != 0)
            return FAIL(BAD_IMAGE,
                        "the image is for a machine %.64s with %s %.64s, this is %.64s with %.64s",
                        im->arch.name, ss_arch_field_at(i)->name, want, a->name, got);
    }
    return FAIL(BAD_IMAGE, "the image is for a machine made from %.64s, this one from %.64s",
                im->arch.base, a->base);
}

/* numbers: what to leave out, NULL: nothing. */
static void load_tile(const struct image *im, const struct image_tile *t, const uint8_t *numbers,
                      struct machine *m)
{
    for (uint32_t k = 0; k < t->segments; k++) {
        const struct image_segment *s = &im->segment[t->first_segment + k];
        const struct pool_item *blob = &im->blob.item[s->blob];

        if (!numbers || !image_is_numbers(im, numbers, t, s))
            EMU_ASSERT(write_nonzero(machine_tile(m, t->tile), s->addr, blob->data, s->bytes));
    }
}

/* Tiles have memories of their own, so each can be filled by any thread. */
static enum emu_status load_segments(const struct image *im, uint32_t chip, struct machine *m)
{
    uint8_t *numbers = NULL;

    if (machine_replay(m))
        TRY(image_numbers_new(im, &numbers));
#pragma omp parallel for schedule(dynamic, 8)                                                      \
    num_threads((int)machine_threads(m)) if (im->tiles > 8)
    for (size_t i = 0; i < im->tiles; i++) {
        if (im->tile[i].chip == chip)
            load_tile(im, &im->tile[i], numbers, m);
    }
    ss_free(numbers);
    return EMU_OK;
}

/* What the host wrote when the image was made. */
static void load_inputs(const struct image *im, uint32_t chip, struct machine *m)
{
    for (size_t i = 0; i < im->input.parts; i++) {
        const struct image_input_part *p = &im->input.part[i];

        if (p->chip == chip && p->blob)
            EMU_ASSERT(tile_write(machine_tile(m, p->tile), p->addr, im->blob.item[p->blob].data,
                                  p->bytes)); /* zeros, too, as the host does */
    }
}

/* ---- several chips ---- */

static void set_zones(const struct image *im, struct machine *m)
{
    enum sync_scope scope[SYNC_ZONES];

    for (unsigned z = 0; z < SYNC_ZONES; z++)
        scope[z] = image_zone_scope(im, z);
    machine_set_zones(m, scope);
}

static enum emu_status check_replica(const struct image *im, uint32_t chip, uint32_t first)
{
    uint32_t chips = im->chips, all = im->arch.chips;

    if (all % chips)
        return FAIL(BAD_IMAGE,
                    "a program for %u chips, expected one whose replicas are the %u of "
                    "the machine",
                    chips, all);
    if (first >= all || first % chips)
        return FAIL(BAD_IMAGE,
                    "a replica of %u chips from chip %u on, expected a multiple below "
                    "%u",
                    chips, first, all);
    if (chip >= chips)
        return FAIL(BAD_IMAGE, "chip %u of a program for %u chips, expected one below", chip,
                    chips);
    return EMU_OK;
}

/* The first chip of the replica so many further round the ring of them. */
static uint32_t replica_first(const struct image *im, uint32_t first, int32_t further)
{
    int64_t all = im->arch.chips, at = (first + (int64_t)further * im->chips) % all;

    return (uint32_t)(at < 0 ? at + all : at);
}

/* The chips in headers become those of the system. */
static enum emu_status complete_headers(const struct image *im, uint32_t chip, uint32_t first,
                                        struct machine *m)
{
    for (size_t i = 0; i < im->links; i++) {
        const struct image_link *l = &im->link[i];
        uint32_t word[LINK_HEADER_WORDS];
        struct link_header h;

        if (l->chip != chip)
            continue;
        TRY(image_link_header(im, i, &h));
        h.chip += replica_first(im, first, l->replica);
        link_header_pack(&h, word);
        EMU_ASSERT(tile_write(machine_tile(m, l->tile), l->addr, word, sizeof(word)));
    }
    return EMU_OK;
}

/* ---- loading ---- */

enum emu_status image_load_chip(const struct image *im, uint32_t chip, uint32_t first,
                                struct machine *m)
{
    TRY(check_machine(im, m));
    TRY(check_replica(im, chip, first));
    for (uint32_t i = 0; i < im->arch.tiles; i++) {
        if (machine_tile_used(m, i))
            return FAIL(BAD_IMAGE, "tile %u of the machine is in use, expected a new machine", i);
    }
    EMU_ASSERT(!im->lacks_numbers || machine_replay(m));
    set_zones(im, m);
    TRY(load_segments(im, chip, m));
    if (machine_replay(m) && exchange_has_pairs(machine_exchange(m)))
        TRY(image_load_traffic(im, m));
    for (size_t i = 0; i < im->tiles; i++) {
        const struct image_tile *t = &im->tile[i];

        if (t->chip == chip)
            TRY(use_tile(im, t, m));
    }
    if (!machine_replay(m))
        load_inputs(im, chip, m);
    return complete_headers(im, chip, first, m);
}

enum emu_status image_load(const struct image *im, struct machine *m)
{
    if (im->chips != 1)
        return FAIL(BAD_IMAGE, "a program for chip %u too, expected one for chip 0 alone",
                    im->chips - 1);
    return image_load_chip(im, 0, 0, m);
}
