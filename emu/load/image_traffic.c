/* image_traffic.c - who sends to whom in the exchanges of an image: packed as a profile has it, so
 * that a run which believes an exchange need not unpack it.
 */
#include "emu/load/image_internal.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/packed_numbers.h"
#include "emu/bsp/machine.h"
#include "emu/exchange/exchange_traffic.h"

enum emu_status image_add_traffic(struct image *im, const struct image_traffic *t)
{
    uint64_t tiles = im->arch.tiles;
    struct image_traffic x = *t;
    uint8_t *copy;

    if (!t->exchange || t->exchange >= EXCHANGE_PARTS_MAX)
        return FAIL(BAD_IMAGE, "exchange %u, expected 1 to %d", t->exchange,
                    EXCHANGE_PARTS_MAX - 1);
    if (im->traffics && im->traffic[im->traffics - 1].exchange >= t->exchange)
        return FAIL(BAD_IMAGE, "exchange %u, expected more than %u", t->exchange,
                    im->traffic[im->traffics - 1].exchange);
    if (!t->pairs || t->pairs > tiles * (tiles - 1))
        return FAIL(BAD_IMAGE, "%u pairs of tiles, expected 1 to %llu", t->pairs,
                    (unsigned long long)(tiles * (tiles - 1)));
    if (!t->list_bytes || !t->messages_bytes)
        return FAIL(BAD_IMAGE, "lists of %u and %u bytes, expected more than 0", t->list_bytes,
                    t->messages_bytes);
    TRY(emu_grow((void **)&im->traffic, im->traffics, &im->traffic_cap, sizeof(*im->traffic)));
    copy = arena_alloc(&im->arena, (size_t)t->list_bytes + t->messages_bytes);
    if (!copy)
        return FAIL(NO_MEMORY, "the pairs of an exchange");
    x.list = memcpy(copy, t->list, t->list_bytes);
    x.messages = memcpy(copy + t->list_bytes, t->messages, t->messages_bytes);
    im->traffic[im->traffics++] = x;
    return EMU_OK;
}

size_t image_traffic_count(const struct image *im)
{
    return im->traffics;
}

const struct image_traffic *image_traffic_at(const struct image *im, size_t i)
{
    EMU_ASSERT(i < im->traffics);
    return &im->traffic[i];
}

/* ---- for a run ---- */

/* Room of one thread. */
struct traffic_room {
    struct exchange_pair *pair; /* owned, like the numbers */
    uint32_t *plane;
    size_t pairs; /* room */
};

static enum emu_status make_room(struct traffic_room *r, size_t pairs)
{
    if (pairs <= r->pairs)
        return EMU_OK;
    ss_free(r->pair);
    ss_free(r->plane);
    r->pair = emu_alloc(pairs, sizeof(*r->pair));
    r->plane = emu_alloc(pairs, EXCHANGE_PAIR_PLANES * sizeof(*r->plane));
    r->pairs = r->pair && r->plane ? pairs : 0;
    return r->pairs ? EMU_OK : FAIL(NO_MEMORY, "%zu pairs of tiles", pairs);
}

static int pairs_ascend(const struct exchange_pair *p, size_t n, uint32_t tiles)
{
    int good = 1;

    for (size_t i = 0; i < n; i++) {
        good &= p[i].to < tiles && p[i].from < tiles && p[i].words && p[i].messages;
        good &=
            !i || p[i - 1].to < p[i].to || (p[i - 1].to == p[i].to && p[i - 1].from < p[i].from);
    }
    return good;
}

/* Whether each tile receives the messages of its pairs. */
static int messages_add_up(const struct exchange_pair *p, size_t n, const uint32_t *in,
                           uint32_t tiles)
{
    size_t i = 0;

    for (uint32_t d = 0; d < tiles; d++) {
        uint64_t sum = 0;

        for (; i < n && p[i].to == d; i++)
            sum += p[i].messages;
        if (sum != in[d])
            return 0;
    }
    return 1;
}

/* messages: [2][tiles]. */
static enum emu_status unpack(const struct image_traffic *t, uint32_t tiles,
                              struct traffic_room *room, uint32_t *messages)
{
    TRY(make_room(room, t->pairs));
    if (!packed_numbers_unpack(t->messages, t->messages_bytes, messages, 2 * (size_t)tiles))
        return FAIL(BAD_IMAGE, "exchange %u: messages, expected those of %u tiles", t->exchange,
                    tiles);
    if (!packed_numbers_unpack(t->list, t->list_bytes, room->plane,
                               EXCHANGE_PAIR_PLANES * (size_t)t->pairs))
        return FAIL(BAD_IMAGE, "exchange %u: pairs, expected %u", t->exchange, t->pairs);
    exchange_pairs_of_planes(room->plane, t->pairs, room->pair);
    if (!pairs_ascend(room->pair, t->pairs, tiles) ||
        !messages_add_up(room->pair, t->pairs, messages, tiles) ||
        !hash128_equal(exchange_traffic_key(room->pair, t->pairs, messages, tiles), t->key))
        return FAIL(BAD_IMAGE,
                    "exchange %u: pairs of tiles, expected them ascending, with "
                    "their messages and their key",
                    t->exchange);
    return EMU_OK;
}

/* The first failure; messages belong to threads, so it is made again in this one. */
static enum emu_status unpack_all(const struct image *im, unsigned threads, uint32_t *messages)
{
    uint32_t tiles = im->arch.tiles;
    struct traffic_room again = { NULL };
    size_t bad = im->traffics;
    enum emu_status s = EMU_OK;

#pragma omp parallel num_threads((int)threads) if (im->traffics > 1)
    {
        struct traffic_room room = { NULL };

#pragma omp for schedule(dynamic, 1) reduction(min : bad)
        for (size_t i = 0; i < im->traffics; i++) {
            if (unpack(&im->traffic[i], tiles, &room, messages + 2 * (size_t)tiles * i) != EMU_OK)
                bad = i < bad ? i : bad;
        }
        ss_free(room.pair);
        ss_free(room.plane);
    }
    if (bad < im->traffics)
        s = unpack(&im->traffic[bad], tiles, &again, messages + 2 * (size_t)tiles * bad);
    ss_free(again.pair);
    ss_free(again.plane);
    return s;
}

static enum emu_status load_with(const struct image *im, struct machine *m, uint32_t *messages,
                                 struct exchange_traffic *x)
{
    TRY(unpack_all(im, machine_threads(m), messages));
    for (size_t i = 0; i < im->traffics; i++) {
        const struct image_traffic *t = &im->traffic[i];

        x[i] = (struct exchange_traffic){ .exchange = t->exchange,
                                          .pairs = t->pairs,
                                          .key = t->key,
                                          .list = t->list,
                                          .list_bytes = t->list_bytes,
                                          .messages = messages + 2 * im->arch.tiles * i };
    }
    return exchange_set_traffic(machine_exchange(m), x, im->traffics);
}

enum emu_status image_load_traffic(const struct image *im, struct machine *m)
{
    uint32_t *messages;
    struct exchange_traffic *x;
    enum emu_status s;

    if (!im->traffics)
        return EMU_OK;
    messages = emu_alloc(im->traffics, 2 * im->arch.tiles * sizeof(*messages));
    x = emu_alloc(im->traffics, sizeof(*x));
    s = messages && x ? load_with(im, m, messages, x)
                      : FAIL(NO_MEMORY, "messages of %zu exchanges", im->traffics);
    ss_free(messages);
    ss_free(x);
    return s;
}
