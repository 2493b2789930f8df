/* link_route.c - the way of a packet over rungs, rails and gateways; what links carry, and what a
 * sync of several chips costs. */
#include "emu/link/link.h"

#include "emu/arch/arch_numbers.h"
#include "emu/base/alloc.h"

/* The quotient of two products that do not fit 64 bits. */
__extension__ typedef unsigned __int128 wide;

/* The payload rate of links of mbytes_per_s (1,000,000 bytes) each way. */
static link_rate rate_of(const struct arch *a, uint32_t links, uint32_t mbytes_per_s)
{
    wide payload = (wide)links * mbytes_per_s * arch_link_payload_permille(a);

    return (link_rate)((payload << LINK_RATE_SHIFT) / ((wide)1000 * a->clock_mhz));
}

struct link_numbers link_numbers_of(const struct arch *a)
{
    uint32_t mbytes = arch_link_mbytes_per_s(a), words = arch_link_packet_words(a);
    struct link_numbers n = { .chips = a->chips,
                              .rack_chips = arch_gateway_machines(a) * arch_chips_per_machine(a),
                              .machine_chips = arch_chips_per_machine(a),
                              .is_torus = arch_rail(a) == ARCH_RAIL_TORUS,
                              .tiles = a->tiles,
                              .bundles = arch_link_bundles(a) };

    n.pair = rate_of(a, arch_links_pair(a), mbytes);
    n.cross = rate_of(a, arch_links_cross(a), mbytes);
    n.up = rate_of(a, arch_links_up(a), mbytes);
    n.down = rate_of(a, arch_links_down(a), mbytes);
    n.gateway = rate_of(a, arch_gateway_links(a), arch_gateway_mbytes_per_s(a));
    n.bundle = ((link_rate)arch_exchange_bytes(a) << LINK_RATE_SHIFT) * words /
               (words + arch_link_header_words(a));
    n.latency = (uint32_t)ss_arch_cycles_from_ns(a, arch_link_latency_ns(a));
    n.gateway_latency = (uint32_t)ss_arch_cycles_from_ns(a, arch_gateway_latency_ns(a));
    return n;
}

uint64_t link_busy_cycles(const struct link_numbers *n, enum link_kind kind, uint64_t bytes)
{
    link_rate rate = link_rate_of(n, kind);

    return rate ? (uint64_t)((((wide)bytes << LINK_RATE_SHIFT) + rate - 1) / rate) : 0;
}

link_rate link_rate_of(const struct link_numbers *n, enum link_kind kind)
{
    const link_rate rate[LINK_KINDS] = {
        n->pair, n->cross, n->up, n->down, n->gateway, n->gateway
    };

    return kind < LINK_KINDS ? rate[kind] : n->bundle;
}

static enum emu_status add(struct link_route *r, enum link_kind kind, uint32_t chip,
                           uint32_t latency)
{
    void *hop = r->hop;
    enum emu_status s = emu_grow(&hop, r->hops, &r->room, sizeof(*r->hop));

    r->hop = hop;
    if (s != EMU_OK)
        return s;
    r->hop[r->hops++] = (struct link_hop){ kind, chip };
    r->latency += latency;
    return EMU_OK;
}

/* Steps from place `from` to place `to` of `places`, upwards if positive. */
static int64_t steps_to(uint32_t from, uint32_t to, uint32_t places, int is_ring)
{
    int64_t way = (int64_t)to - from;

    if (!is_ring)
        return way;
    if (way < 0)
        way += places;
    return way <= places / 2 ? way : way - places;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Along the rail to the rung of the same rack, *chip follows. */
static enum emu_status along_rail(const struct link_numbers *n, uint32_t rung, uint32_t *chip,
                                  struct link_route *r)
{
    uint32_t first = *chip - *chip % n->rack_chips, rungs = least(n->rack_chips, n->chips) / 2;
    uint32_t at = *chip % n->rack_chips / 2, side = *chip % 2;
    int64_t way = steps_to(at, rung, rungs, n->is_torus && rungs > 2);

    for (; way; way += way < 0 ? 1 : -1) {
        TRY(add(r, way < 0 ? LINK_DOWN : LINK_UP, first + 2 * at + side, n->latency));
        at = (at + (way < 0 ? rungs - 1 : 1)) % rungs;
    }
    *chip = first + 2 * at + side;
    return EMU_OK;
}

static enum emu_status through_gateways(const struct link_numbers *n, uint32_t to, uint32_t chip,
                                        struct link_route *r)
{
    uint32_t racks = (n->chips + n->rack_chips - 1) / n->rack_chips, at = chip / n->rack_chips;
    uint32_t machine = chip % n->rack_chips / n->machine_chips * n->machine_chips;
    int64_t way = steps_to(at, to / n->rack_chips, racks, 1);

    for (; way; way += way < 0 ? 1 : -1) {
        TRY(add(r, way < 0 ? LINK_GATEWAY_DOWN : LINK_GATEWAY_UP, at * n->rack_chips + machine,
                n->gateway_latency));
        at = (at + (way < 0 ? racks - 1 : 1)) % racks;
    }
    return EMU_OK;
}

enum emu_status link_route_find(const struct link_numbers *n, uint32_t from, uint32_t to,
                                struct link_route *route)
{
    uint32_t chip = from;

    route->hops = 0;
    route->latency = 0;
    if (from % 2 != to % 2) {
        TRY(add(route, from / 2 == to / 2 ? LINK_PAIR : LINK_CROSS, from, n->latency));
        chip = from ^ 1;
    }
    TRY(along_rail(n, to % n->rack_chips / 2, &chip, route));
    return through_gateways(n, to, chip, route);
}

void link_route_free(struct link_route *route)
{
    ss_free(route->hop);
    *route = (struct link_route){ .hop = NULL };
}

/* ---- syncs ---- */

enum { RUNG_CHIPS = 2, THERE_AND_BACK = 2 };

uint64_t link_sync_cycles(const struct arch *a, uint32_t chips)
{
    uint32_t near = arch_sync_chips_near(a);
    uint64_t cycles = arch_sync_chips_cycles(a), rungs;

    if (chips <= near)
        return cycles;
    rungs = (chips - near + RUNG_CHIPS - 1) / RUNG_CHIPS;
    if (arch_rail(a) == ARCH_RAIL_TORUS)
        rungs = (rungs + 1) / 2;
    return cycles + rungs * THERE_AND_BACK * ss_arch_cycles_from_ns(a, arch_sync_hop_ns(a));
}
