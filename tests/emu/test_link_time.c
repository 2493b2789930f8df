/* test_link_time.c - routes over a system of chips, and packets that share its links: rows worked
 * out by hand, and the rates of flows beside words that take turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/base/alloc.h"
#include "emu/base/prng_draw.h"
#include "emu/link/link.h"

enum { MK2_MHZ = 1330, BOW_MHZ = 1850, PACKET = 256, PACKET_EVENTS = 66 };

/* mk2 at a clock, so many of them. */
static struct link_numbers numbers_of(uint32_t chips, uint32_t mhz)
{
    struct arch a = *ss_arch_preset(mhz == BOW_MHZ ? "bow" : "mk2");
    char set[32];

    snprintf(set, sizeof(set), "chips=%u", chips);
    assert_int_equal(ss_arch_set(&a, set), EMU_OK);
    assert_int_equal(ss_arch_check(&a), EMU_OK);
    return link_numbers_of(&a);
}

/* The numbers of the chip as the page has them: rates in bytes a cycle. */
static void test_numbers(void **state)
{
    struct link_numbers n = numbers_of(4, MK2_MHZ);

    (void)state;
    assert_int_equal(n.pair, (link_rate)(4 * 16e9 * 0.85 / 1330e6 * 4294967296.0));
    assert_int_equal(n.up, n.cross);
    assert_int_equal(n.up, n.down);
    assert_int_equal(n.pair / 2, n.up);
    assert_int_equal(n.bundle, (4ULL << LINK_RATE_SHIFT) * 64 / 66);
    assert_int_equal(n.gateway >> LINK_RATE_SHIFT, 15);
    assert_int_equal(n.rack_chips, 64);
    assert_int_equal(n.machine_chips, 4);
    assert_int_equal(n.latency, 665);
    assert_int_equal(n.gateway_latency, 3990);
}

/* ---- routes ---- */

static void route_is(const struct link_numbers *n, uint32_t from, uint32_t to, const char *want)
{
    static const char *const name[] = { "pair", "cross", "up", "down", "gate-up", "gate-down" };
    struct link_route r = { .hop = NULL };
    char text[400] = "";

    assert_int_equal(link_route_find(n, from, to, &r), EMU_OK);
    for (size_t k = 0; k < r.hops; k++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %u", k ? ", " : "",
                 name[r.hop[k].kind], r.hop[k].chip);
    assert_string_equal(text, want);
    link_route_free(&r);
}

static void test_routes(void **state)
{
    struct link_numbers n = numbers_of(16, MK2_MHZ);
    struct link_route r = { .hop = NULL };

    (void)state;
    route_is(&n, 0, 1, "pair 0");
    route_is(&n, 5, 4, "pair 5");
    route_is(&n, 0, 2, "up 0");
    route_is(&n, 2, 0, "down 2");
    route_is(&n, 0, 3, "cross 0, up 1");
    route_is(&n, 1, 14, "cross 1, down 0");
    route_is(&n, 14, 1, "cross 14, up 15");
    route_is(&n, 0, 8, "up 0, up 2, up 4, up 6");
    route_is(&n, 8, 0, "up 8, up 10, up 12, up 14");
    n.is_torus = 0;
    route_is(&n, 1, 15, "up 1, up 3, up 5, up 7, up 9, up 11, up 13");
    n = numbers_of(4, MK2_MHZ); /* two rungs are no ring */
    route_is(&n, 2, 0, "down 2");
    n = numbers_of(256, MK2_MHZ);
    route_is(&n, 3, 64, "cross 3, down 2, gate-up 0");
    route_is(&n, 6, 4 + 192, "down 6, gate-down 4");
    route_is(&n, 64, 192, "gate-up 64, gate-up 128");
    assert_int_equal(link_route_find(&n, 3, 64, &r), EMU_OK);
    assert_int_equal(r.latency, 665 + 665 + 3990);
    link_route_free(&r);
}

/* ---- phases ---- */

struct traffic {
    struct link_packet p[40000];
    size_t packets;
};

/* Bytes from one tile to another one, in packets one after the other. */
static void send(struct traffic *f, uint32_t chip, uint32_t tile, uint32_t to_chip,
                 uint32_t to_tile, uint32_t bytes)
{
    for (uint32_t at = 0, k = 0; at < bytes; at += PACKET, k++) {
        assert_true(f->packets < EMU_COUNT_OF(f->p));
        f->p[f->packets++] =
            (struct link_packet){ .chip = chip,
                                  .tile = tile,
                                  .to_chip = to_chip,
                                  .to_tile = to_tile,
                                  .bytes = bytes - at < PACKET ? bytes - at : PACKET,
                                  .issued = (uint64_t)k * PACKET_EVENTS };
    }
}

/* Words dealt evenly over all tiles, one more on the first ones, each tile to its like. */
static void deal(struct traffic *f, uint32_t chip, uint32_t to_chip, uint32_t bytes)
{
    uint32_t words = bytes / 4, tiles = 1472;

    for (uint32_t t = 0; t < tiles; t++)
        send(f, chip, t, to_chip, t, 4 * (words / tiles + (t < words % tiles)));
}

/* The last arrival at a chip. */
static uint64_t last_at(const struct traffic *f, uint32_t chip)
{
    uint64_t last = 0;

    for (size_t k = 0; k < f->packets; k++) {
        if (f->p[k].to_chip == chip && f->p[k].arrived > last)
            last = f->p[k].arrived;
    }
    return last;
}

static void near(uint64_t got, uint64_t want)
{
    if (got + 1 < want || got > want + 1)
        fail_msg("%llu cycles, expected %llu", (unsigned long long)got, (unsigned long long)want);
}

static void resolve(const struct link_numbers *n, struct traffic *f)
{
    assert_int_equal(link_time(n, f->p, f->packets), EMU_OK);
}

/* One amount on one way, at both clocks. */
static void dealt_takes(uint32_t from, uint32_t to, uint32_t bytes, uint64_t mk2, uint64_t bow)
{
    struct traffic *f = emu_alloc(1, sizeof(*f));

    assert_non_null(f);
    for (unsigned fast = 0; fast < 2; fast++) {
        struct link_numbers n = numbers_of(16, fast ? BOW_MHZ : MK2_MHZ);

        f->packets = 0;
        deal(f, from, to, bytes);
        resolve(&n, f);
        near(last_at(f, to), fast ? bow : mk2);
    }
    ss_free(f);
}

static void test_pair(void **state)
{
    (void)state;
    dealt_takes(0, 1, 4096, 766, 1065);
    dealt_takes(0, 1, 65536, 2297, 3176);
    dealt_takes(0, 1, 387072, 10129, 14089);
    dealt_takes(0, 1, 774144, 19592, 27252);
    dealt_takes(1, 0, 1048576, 26337, 36615);
}

static void test_rail(void **state)
{
    (void)state;
    dealt_takes(0, 2, 65536, 3880, 5384);
    dealt_takes(0, 2, 387072, 19592, 27252);
    dealt_takes(2, 0, 1048576, 51961, 72257);
    dealt_takes(0, 3, 65536, 4545, 6309);
}

static void test_both_ways(void **state)
{
    struct traffic *f = emu_alloc(1, sizeof(*f));
    struct link_numbers n = numbers_of(2, MK2_MHZ);

    (void)state;
    assert_non_null(f);
    deal(f, 0, 1, 65536);
    deal(f, 1, 0, 65536);
    resolve(&n, f);
    near(last_at(f, 0), 2297);
    near(last_at(f, 1), 2297);
    ss_free(f);
}

static void test_shared_rail(void **state)
{
    struct traffic *f = emu_alloc(1, sizeof(*f));
    const uint64_t want[][2] = { { 7759, 7094 }, { 10766, 9841 } };

    (void)state;
    assert_non_null(f);
    for (unsigned fast = 0; fast < 2; fast++) {
        struct link_numbers n = numbers_of(16, fast ? BOW_MHZ : MK2_MHZ);
        uint64_t last[2] = { 0 };

        f->packets = 0;
        deal(f, 0, 4, 65536);
        deal(f, 2, 4, 65536);
        resolve(&n, f);
        for (size_t k = 0; k < f->packets; k++) {
            uint64_t *at = &last[f->p[k].chip / 2];

            *at = f->p[k].arrived > *at ? f->p[k].arrived : *at;
        }
        near(last[0], want[fast][0]);
        near(last[1], want[fast][1]);
    }
    ss_free(f);
}

/* Tiles are slower than links. */
static void test_bundles(void **state)
{
    struct traffic *f = emu_alloc(1, sizeof(*f));
    struct link_numbers n = numbers_of(2, MK2_MHZ);

    (void)state;
    assert_non_null(f);
    send(f, 0, 7, 1, 700, 262144);
    resolve(&n, f);
    near(last_at(f, 1), 68250);
    n = numbers_of(2, BOW_MHZ);
    resolve(&n, f);
    near(last_at(f, 1), 68510);
    f->packets = 0;
    for (uint32_t t = 46; t < 92; t++)
        send(f, 0, t, 1, t, 22 * PACKET);
    resolve(&n, f);
    near(last_at(f, 1), 67718);
    n = numbers_of(2, MK2_MHZ);
    resolve(&n, f);
    near(last_at(f, 1), 67458);
    ss_free(f);
}

/* ---- the same, packet by packet in turns ---- */

/* A word's part that a flow moves when its turn comes, in the unit of rates. */
#define QUANTUM ((uint64_t)1 << (LINK_RATE_SHIFT - 6))

struct turn {
    struct link_packet *packet[500]; /* of one bundle to one chip, in order */
    unsigned packets, next;
    uint64_t left;
    uint64_t *way[24]; /* what each link of its way may carry in this cycle */
    unsigned ways;
    uint32_t latency;
    uint64_t front[500], done[500]; /* cycles: began to be served, left */
};

struct turns {
    struct turn flow[800];
    unsigned flows;
    uint64_t link[LINK_KINDS][8], sender[8][32], receiver[8][32]; /* room of this cycle */
};

static struct turn *flow_for(struct turns *t, const struct link_numbers *n,
                             const struct link_packet *p)
{
    struct link_route r = { .hop = NULL };
    struct turn *f;

    for (unsigned k = 0; k < t->flows; k++) {
        const struct link_packet *q = t->flow[k].packet[0];

        if (q->chip == p->chip && q->tile / 46 == p->tile / 46 && q->to_chip == p->to_chip)
            return &t->flow[k];
    }
    assert_true(t->flows < EMU_COUNT_OF(t->flow));
    f = &t->flow[t->flows++];
    assert_int_equal(link_route_find(n, p->chip, p->to_chip, &r), EMU_OK);
    for (size_t k = 0; k < r.hops; k++)
        f->way[f->ways++] = &t->link[r.hop[k].kind][r.hop[k].chip];
    f->way[f->ways++] = &t->sender[p->chip][p->tile / 46];
    f->latency = r.latency;
    link_route_free(&r);
    return f;
}

static void refill(struct turns *t, const struct link_numbers *n)
{
    const uint64_t rate[] = { n->pair, n->cross, n->up, n->down, n->gateway, n->gateway };

    for (unsigned k = 0; k < LINK_KINDS; k++) {
        for (unsigned c = 0; c < 8; c++)
            t->link[k][c] = rate[k];
    }
    for (unsigned c = 0; c < 8; c++) {
        for (unsigned b = 0; b < 32; b++)
            t->sender[c][b] = t->receiver[c][b] = n->bundle;
    }
}

/* One quantum of the packet in front, if there is room for it all the way. */
static int take_turn(struct turns *t, struct turn *f, uint64_t now)
{
    const struct link_packet *p = f->packet[f->next];
    uint64_t *receiver = &t->receiver[p->to_chip][p->to_tile / 46];

    if (p->issued > now || *receiver < QUANTUM)
        return 0;
    for (unsigned k = 0; k < f->ways; k++) {
        if (*f->way[k] < QUANTUM)
            return 0;
    }
    if (!f->left) {
        f->left = (uint64_t)p->bytes << LINK_RATE_SHIFT;
        f->front[f->next] = now;
    }
    for (unsigned k = 0; k < f->ways; k++)
        *f->way[k] -= QUANTUM;
    *receiver -= QUANTUM;
    f->left -= QUANTUM;
    if (!f->left)
        f->done[f->next++] = now + 1;
    return 1;
}

static int by_issue(const void *a, const void *b)
{
    const struct link_packet *p = *(struct link_packet *const *)a,
                             *q = *(struct link_packet *const *)b;

    if (p->issued != q->issued)
        return p->issued < q->issued ? -1 : 1;
    if (p->tile != q->tile)
        return p->tile < q->tile ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

static void take_turns(struct turns *t, const struct link_numbers *n, struct traffic *f)
{
    unsigned left = (unsigned)f->packets, first = 0;

    memset(t, 0, sizeof(*t));
    for (size_t k = 0; k < f->packets; k++) {
        struct turn *flow = flow_for(t, n, &f->p[k]);

        assert_true(flow->packets < EMU_COUNT_OF(flow->packet));
        flow->packet[flow->packets++] = &f->p[k];
    }
    for (unsigned k = 0; k < t->flows; k++)
        qsort(t->flow[k].packet, t->flow[k].packets, sizeof(t->flow[k].packet[0]), by_issue);
    for (uint64_t now = 0; left; now++, first++) {
        int moved = 1;

        refill(t, n);
        while (moved) {
            moved = 0;
            for (unsigned k = 0; k < t->flows; k++) {
                struct turn *flow = &t->flow[(first + k) % t->flows];
                unsigned before = flow->next;

                if (flow->next < flow->packets)
                    moved |= take_turn(t, flow, now);
                left -= flow->next - before;
            }
        }
    }
}

static uint32_t below(struct prng *p, uint32_t limit)
{
    return (uint32_t)(prng_next(p) % limit);
}

static void draw_packets(struct traffic *f, struct prng *draw, uint32_t chips)
{
    f->packets = 20 + below(draw, 180);
    for (size_t k = 0; k < f->packets; k++) {
        uint32_t from = below(draw, chips), few = 1 + below(draw, 1472);
        uint32_t other = 1 + below(draw, chips - 1);

        f->p[k] = (struct link_packet){ .chip = from,
                                        .tile = below(draw, few),
                                        .to_chip = (from + other) % chips,
                                        .to_tile = below(draw, few),
                                        .bytes = 4 * (1 + below(draw, 64)),
                                        .number = (uint32_t)k,
                                        .issued = below(draw, 400) };
    }
}

static void test_random(void **state)
{
    struct traffic *f = emu_alloc(1, sizeof(*f));
    struct turns *t = emu_alloc(1, sizeof(*t));
    struct prng draw;

    (void)state;
    assert_true(f && t);
    prng_begin(&draw, (const uint32_t[]){ 7, 1 }, 0, 0);
    for (unsigned run = 0; run < 40; run++) {
        struct link_numbers n = numbers_of(2 + 2 * (run % 4), run % 3 ? MK2_MHZ : BOW_MHZ);

        n.is_torus = run / 4 % 2;
        draw_packets(f, &draw, n.chips);
        resolve(&n, f);
        take_turns(t, &n, f);
        for (unsigned k = 0; k < t->flows; k++) {
            const struct turn *flow = &t->flow[k];

            for (unsigned i = 0; i < flow->packets; i++) {
                int64_t got = (int64_t)(flow->packet[i]->arrived - flow->latency);
                int64_t off = got - (int64_t)flow->done[i];
                int64_t own = (int64_t)(flow->done[i] - flow->front[i]);

                if (off > own || -off > own)
                    fail_msg("run %u, flow %u, packet %u: left at %lld, in turns at %lld", run, k,
                             i, (long long)got, (long long)flow->done[i]);
            }
        }
    }
    ss_free(t);
    ss_free(f);
}

static uint64_t last_of(const struct link_numbers *n, struct traffic *f)
{
    uint64_t last = 0;

    resolve(n, f);
    for (size_t k = 0; k < f->packets; k++)
        last = f->p[k].arrived > last ? f->p[k].arrived : last;
    return last;
}

/* With half of all rates, or latencies twice as long, nothing is over earlier. With half of one
 * rate a phase may be over earlier by a part of a packet: what waits there lets others go first
 * that have more behind them, which is so wherever links are shared fairly. */
static void test_slower(void **state)
{
    enum { PACKET_CYCLES = 50 }; /* at a quarter of a rail */
    struct traffic *f = emu_alloc(1, sizeof(*f));
    struct prng draw;

    (void)state;
    assert_non_null(f);
    prng_begin(&draw, (const uint32_t[]){ 8, 1 }, 0, 0);
    for (unsigned run = 0; run < 100; run++) {
        const struct link_numbers n = numbers_of(2 + 2 * (run % 4), MK2_MHZ);
        struct link_numbers all = n, late = n;
        link_rate *rate[] = { &all.pair, &all.cross, &all.up, &all.down, &all.bundle };
        uint64_t last;

        draw_packets(f, &draw, n.chips);
        last = last_of(&n, f);
        for (unsigned k = 0; k < EMU_COUNT_OF(rate); k++) {
            struct link_numbers one = n;
            size_t offset = (size_t)((char *)rate[k] - (char *)&all);

            *rate[k] /= 2;
            memcpy((char *)&one + offset, rate[k], sizeof(*rate[k]));
            assert_true(last_of(&one, f) + PACKET_CYCLES >= last);
        }
        assert_true(last_of(&all, f) >= last);
        late.latency *= 2;
        assert_true(last_of(&late, f) > last);
    }
    ss_free(f);
}

/* Packets of one order or another are the same phase. */
static void test_order(void **state)
{
    struct traffic *f = emu_alloc(2, sizeof(*f)), *back = f + 1;
    const struct link_numbers n = numbers_of(4, MK2_MHZ);
    struct prng draw;

    (void)state;
    assert_non_null(f);
    prng_begin(&draw, (const uint32_t[]){ 9, 1 }, 0, 0);
    draw_packets(f, &draw, n.chips);
    for (size_t k = 0; k < f->packets; k++)
        back->p[f->packets - 1 - k] = f->p[k];
    back->packets = f->packets;
    resolve(&n, f);
    resolve(&n, back);
    for (size_t k = 0; k < f->packets; k++)
        assert_int_equal(f->p[k].arrived, back->p[f->packets - 1 - k].arrived);
    assert_int_equal(link_time(&n, f->p, 0), EMU_OK);
    ss_free(f);
}

static void refused(const struct link_numbers *n, struct link_packet p, const char *why)
{
    assert_int_equal(link_time(n, &p, 1), EMU_USAGE);
    assert_string_equal(ss_error(), why);
}

static void test_refused(void **state)
{
    const struct link_packet good = { .to_chip = 1, .bytes = 4 };
    struct link_numbers n = numbers_of(4, MK2_MHZ);
    struct link_packet p = good;

    (void)state;
    p.to_chip = 4;
    refused(&n, p, "a packet from chip 0 to chip 4, of 4");
    p = good;
    p.tile = 1472;
    refused(&n, p, "a packet from tile 1472 of chip 0 to tile 0 of chip 1, of 1472");
    p = good;
    p.chip = 1;
    refused(&n, p, "a packet of 4 bytes from chip 1 to itself");
    p = good;
    p.bytes = 0;
    refused(&n, p, "a packet of 0 bytes from chip 0 to another chip");
    n.pair = 0;
    refused(&n, good, "nothing can be sent over the links of chip 0");
}

static void test_no_memory(void **state)
{
    const struct link_numbers n = numbers_of(4, MK2_MHZ);
    struct link_packet p = { .to_chip = 3, .bytes = 4 };
    long live = alloc_live();
    enum emu_status s = EMU_NO_MEMORY;

    (void)state;
    for (long k = 0; s == EMU_NO_MEMORY; k++) {
        alloc_test_fail_at(k);
        s = link_time(&n, &p, 1);
        alloc_test_fail_at(-1);
        assert_int_equal(alloc_live(), live);
    }
    assert_int_equal(s, EMU_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),   cmocka_unit_test(test_routes),
        cmocka_unit_test(test_pair),      cmocka_unit_test(test_rail),
        cmocka_unit_test(test_both_ways), cmocka_unit_test(test_shared_rail),
        cmocka_unit_test(test_bundles),   cmocka_unit_test(test_random),
        cmocka_unit_test(test_slower),    cmocka_unit_test(test_order),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
