/* profile_add.c - what the machine knows of a program and its run, as rows of a profile. */
#include "emu/arch/arch_geometry.h"
#include "emu/arch/arch_numbers.h"
#include "emu/base/alloc.h"
#include "emu/bsp/record.h"
#include "emu/exchange/exchange_traffic.h"
#include "emu/load/image.h"
#include "emu/profile/bill.h"
#include "emu/profile/profile_memory.h"
#include "emu/profile/profile_private.h"

enum { PLANES = PROFILE_PLANES, SIDES = 2 /* of a rung (emu/link/link.h) */ };

/* ---- the machine ---- */

void profile_add_machine(struct profile *p, const struct arch *a)
{
    char text[ARCH_TEXT_MAX], mark[2] = "";

    PROFILE_ROW(p, "meta", PROFILE_T("machine_title"), PROFILE_T(ss_arch_title(a).at));
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        const struct arch_field *f = ss_arch_field_at(i);
        int number =
            f->type == ARCH_TYPE_u32 || f->type == ARCH_TYPE_u64 || f->type == ARCH_TYPE_hex;

        ss_arch_field_text(a, i, text, sizeof(text));
        mark[0] = ss_arch_field_mark(a, i);
        PROFILE_ROW(p, "machine", PROFILE_T(f->name),
                    number ? PROFILE_I(ss_arch_field_number(a, i)) : PROFILE_T(text),
                    PROFILE_T(f->unit), PROFILE_T(mark));
    }
}

/* ---- tiles ---- */

/* A row of the chip has groups of tiles, which lie beside each other; without a geometry tiles are
 * a square. */
struct profile_place profile_place_of(const struct arch *a, uint32_t tile)
{
    uint32_t across = 1, physical = arch_tile_physical(a, tile);

    if (arch_exchange_kind(a) == ARCH_EXCHANGE_FLAT) {
        while (across * across < a->tiles)
            across++;
    } else {
        across = arch_physical_count(a) / arch_exchange_rows(a);
    }
    return (struct profile_place){ physical / across, physical % across };
}

/* x: what the superstep exchanged; its lists are NULL where it is not known. */
static void planes_of(const struct tile_step *t, const struct record_exchange *x, uint32_t tile,
                      uint32_t out[PLANES])
{
    out[0] = t->exchange_cycles;
    out[1] = t->compute_cycles;
    out[2] = t->wait_cycles;
    out[3] = t->words_in;
    out[4] = t->words_out;
    out[5] = x->messages_in ? x->messages_in[tile] : 0;
    out[6] = x->messages_out ? x->messages_out[tile] : 0;
    out[7] = t->link_cycles;
}

static struct record_exchange exchange_of(const struct record *r, size_t i)
{
    uint32_t id = record_at(r, i)->exchange;

    return id ? record_exchange_at(r, id) : (struct record_exchange){ .pairs = 0 };
}

/* Adds what each tile did in all supersteps to sum[tile][PLANES]. */
static void add_up(const struct record *r, uint64_t *sum)
{
    for (size_t i = 0; i < record_count(r); i++) {
        const struct record_exchange x = exchange_of(r, i);

        for (uint32_t k = 0; k < record_at(r, i)->tiles; k++) {
            uint32_t tile, v[PLANES];
            struct tile_step t = record_tile_at(r, i, k, &tile);

            planes_of(&t, &x, tile, v);
            for (unsigned j = 0; j < PLANES; j++)
                sum[(size_t)tile * PLANES + j] += v[j];
        }
    }
}

void profile_add_tile(struct profile *p, const struct arch *a, const struct profile_tile *t)
{
    static const uint64_t nothing[PLANES];
    struct profile_place at = profile_place_of(a, t->tile);
    const uint64_t *v = t->sum ? t->sum : nothing;

    PROFILE_ROW(p, "tiles", PROFILE_I(t->chip), PROFILE_I(t->tile), PROFILE_I(t->group),
                PROFILE_I(at.row), PROFILE_I(at.column), PROFILE_I(t->used_bytes), PROFILE_I(v[0]),
                PROFILE_I(v[1]), PROFILE_I(v[2]), PROFILE_I(v[3]), PROFILE_I(v[4]), PROFILE_I(v[5]),
                PROFILE_I(v[6]), PROFILE_I(v[7]));
}

static enum emu_status add_tiles(struct profile *p, const struct image *im,
                                 const struct profile_chip *c, const uint64_t *sum)
{
    struct profile_memory m;
    enum emu_status s = profile_memory_init(p, im, c->chip, &m);

    for (size_t i = 0; i < image_tile_count(im) && s == EMU_OK; i++) {
        const struct image_tile *t = image_tile_at(im, i);
        struct profile_tile row = { .chip = c->chip,
                                    .tile = t->tile,
                                    .group = t->group,
                                    .sum = sum + (size_t)t->tile * PLANES };

        if (t->chip != record_stage(c->record))
            continue;
        s = profile_memory_tile(&m, t, &row.used_bytes);
        if (s == EMU_OK)
            profile_add_tile(p, ss_image_arch(im), &row);
    }
    if (s == EMU_OK)
        profile_memory_owners(&m);
    profile_memory_free(&m);
    return s;
}

void profile_add_program(struct profile *p, const struct image *im)
{
    profile_add_machine(p, ss_image_arch(im));
    for (uint32_t i = 0; i < image_scope_count(im); i++) {
        const struct image_scope *s = i ? image_scope_at(im, i) : NULL;

        PROFILE_ROW(p, "scopes", PROFILE_I(i), PROFILE_I(s ? s->parent : 0),
                    PROFILE_T(s ? image_text(im, s->path) : ""));
    }
}

static enum emu_status add_tiles_of_run(struct profile *p, const struct image *im,
                                        const struct profile_chip *c)
{
    uint64_t *sum = emu_alloc((size_t)ss_image_arch(im)->tiles * PLANES, sizeof(*sum));
    enum emu_status s;

    if (!sum)
        return FAIL(NO_MEMORY, "tiles of a profile");
    add_up(c->record, sum);
    s = add_tiles(p, im, c, sum);
    ss_free(sum);
    return s;
}

/* ---- supersteps ---- */

/* Messages of the tiles of superstep i. */
struct message_counts {
    uint64_t in, out;
};

static struct message_counts messages_of(const struct record *r, size_t i)
{
    const struct record_exchange x = exchange_of(r, i);
    struct message_counts sum = { 0, 0 };

    for (uint32_t k = 0; x.pairs && k < record_at(r, i)->tiles; k++) {
        uint32_t tile;

        record_tile_at(r, i, k, &tile);
        sum.in += x.messages_in[tile];
        sum.out += x.messages_out[tile];
    }
    return sum;
}

static void add_step(struct profile *p, const struct profile_chip *c, size_t i,
                     const struct image *im, struct profile_value layer)
{
    const struct record *r = c->record;
    const struct record_step *s = record_at(r, i);
    const struct bill b = ss_bill_of_step(r, i);
    const struct bill_name name = ss_bill_name_of_step(r, i, im);
    const struct message_counts messages = messages_of(r, i);

    PROFILE_ROW(p, "supersteps", PROFILE_I(p->supersteps + i), PROFILE_I(c->chip),
                PROFILE_I(s->group), PROFILE_I(s->index), PROFILE_I(s->release), PROFILE_I(s->end),
                PROFILE_I(s->tiles), PROFILE_T(sync_scope_name(s->scope)), PROFILE_I(b.host),
                PROFILE_I(b.exchange), PROFILE_I(b.link), PROFILE_I(b.compute), PROFILE_I(b.wait),
                PROFILE_I(b.sync), PROFILE_I(b.outer), PROFILE_I(b.imbalance),
                PROFILE_I(b.largest_compute), PROFILE_I(b.mean_compute), PROFILE_I(b.h_words),
                PROFILE_I(b.words_in), PROFILE_I(b.words_out), PROFILE_I(messages.in),
                PROFILE_I(messages.out),
                s->exchange ? PROFILE_I(p->exchanges + s->exchange) : PROFILE_N,
                PROFILE_I(ss_bill_slowest_tile(r, i)), PROFILE_I(profile_name(p, name.operation)),
                PROFILE_T(name.scope), layer);
}

static enum emu_status add_step_tiles(struct profile *p, const struct record *r, size_t i,
                                      uint32_t *plane)
{
    uint32_t tiles = record_at(r, i)->tiles;
    const struct record_exchange x = exchange_of(r, i);

    for (uint32_t k = 0; k < tiles; k++) {
        uint32_t tile, v[PLANES];
        struct tile_step t = record_tile_at(r, i, k, &tile);

        planes_of(&t, &x, tile, v);
        for (unsigned j = 0; j < PLANES; j++)
            plane[(size_t)j * tiles + k] = v[j];
    }
    return profile_put_numbers(p, "superstep_tiles",
                               (const struct profile_value[]){ PROFILE_I(p->supersteps + i) }, 1,
                               plane, (size_t)PLANES * tiles);
}

/* ---- exchanges ---- */

/* v: what comes before the list. */
static enum emu_status add_list(struct profile *p, const struct profile_value v[4],
                                const struct record_exchange *x)
{
    uint32_t *plane;
    enum emu_status s;

    if (x->list) {
        PROFILE_ROW(p, "exchanges", v[0], v[1], v[2], v[3], PROFILE_B(x->list, x->list_bytes));
        return EMU_OK;
    }
    plane = emu_alloc(x->pairs, EXCHANGE_PAIR_PLANES * sizeof(*plane));
    if (!plane)
        return FAIL(NO_MEMORY, "exchanges of a profile");
    exchange_pairs_to_planes(x->pair, x->pairs, plane);
    s = profile_put_numbers(p, "exchanges", v, 4, plane, EXCHANGE_PAIR_PLANES * x->pairs);
    ss_free(plane);
    return s;
}

static enum emu_status add_exchanges(struct profile *p, const struct record *r, uint32_t tiles)
{
    for (uint32_t id = 1; id <= record_exchange_count(r); id++) {
        const struct record_exchange x = record_exchange_at(r, id);
        uint64_t messages = 0;

        for (uint32_t i = 0; i < tiles; i++)
            messages += x.messages_in[i];
        TRY(add_list(p,
                     (const struct profile_value[]){ PROFILE_I(p->exchanges + id),
                                                     PROFILE_I(x.pairs), PROFILE_I(x.words),
                                                     PROFILE_I(messages) },
                     &x));
    }
    return EMU_OK;
}

static enum emu_status add_record(struct profile *p, const struct image *im,
                                  const struct profile_chip *c)
{
    const struct record *r = c->record;
    uint32_t *plane = emu_alloc((size_t)ss_image_arch(im)->tiles * PLANES, sizeof(*plane));
    enum emu_status s = plane ? EMU_OK : FAIL(NO_MEMORY, "cycles of a profile");

    for (size_t i = 0; i < record_count(r) && s == EMU_OK; i++) {
        const struct record_step *t = record_at(r, i);
        int known = !t->group && t->index < c->layers && c->layer[t->index] != UINT32_MAX;

        add_step(p, c, i, im, known ? PROFILE_I(c->layer[t->index]) : PROFILE_N);
        s = add_step_tiles(p, r, i, plane);
    }
    ss_free(plane);
    TRY(s);
    TRY(add_exchanges(p, r, ss_image_arch(im)->tiles));
    p->supersteps += record_count(r);
    p->exchanges += record_exchange_count(r);
    return EMU_OK;
}

/* ---- a chip ---- */

void profile_add_place(struct profile *p, uint32_t chip, uint32_t replica_chips)
{
    uint32_t stage = chip % replica_chips;

    PROFILE_ROW(p, "chips", PROFILE_I(chip), PROFILE_I(stage), PROFILE_I(stage),
                PROFILE_I(chip / replica_chips), PROFILE_I(chip / SIDES), PROFILE_I(chip % SIDES));
}

enum emu_status profile_add_chip(struct profile *p, const struct image *im,
                                 const struct profile_chip *c)
{
    profile_add_place(p, c->chip, image_chip_count(im));
    TRY(add_tiles_of_run(p, im, c));
    return add_record(p, im, c);
}
