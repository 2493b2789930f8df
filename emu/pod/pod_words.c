/* pod_words.c - what the chips of a phase have sent each other: when it arrives, and whether the
 * tiles that receive it expect it.
 */
#include "emu/pod/pod_internal.h"

#include <stdlib.h>

#include "emu/base/alloc.h"

/* A packet on its way. */
struct parcel {
    struct link_packet *packet; /* its times and places */
    const struct exchange_transfer *transfer;
    const uint8_t *payload; /* NULL with the timing engine */
    uint32_t index;         /* of all packets of the phase, in order of chips and tiles */
};

struct delivery {
    struct pod *pod;
    struct pod_outer *outer;
    struct link_packet *packet; /* owned */
    struct parcel *parcel;      /* owned */
    struct parcel **by_addr;    /* owned: scratch, those of one tile */
    size_t parcels;
};

static struct exchange_log *log_of(const struct pod *p, uint32_t chip, uint32_t tile)
{
    return exchange_log_of(machine_exchange(p->chip[chip].machine), tile);
}

/* ---- gathering ---- */

static size_t count_transfers(const struct pod *p, const struct pod_outer *o)
{
    size_t n = 0;

    for (uint32_t chip = o->first_chip; chip < o->first_chip + o->chips; chip++)
        for (uint32_t tile = 0; tile < p->arch.tiles; tile++)
            n += log_of(p, chip, tile)->transfers;
    return n;
}

static void gather_tile(struct delivery *d, uint32_t chip, uint32_t tile)
{
    const struct exchange_log *log = log_of(d->pod, chip, tile);

    for (size_t i = 0; i < log->transfers; i++) {
        const struct exchange_transfer *t = &log->transfer[i];
        struct link_packet *packet = &d->packet[d->parcels];

        *packet = (struct link_packet){ .chip = chip,
                                        .tile = tile,
                                        .to_chip = t->to.chip,
                                        .to_tile = t->to.tile,
                                        .bytes = 4 * t->to.words,
                                        .issued = t->cycle - d->outer->release };
        d->parcel[d->parcels] =
            (struct parcel){ .packet = packet,
                             .transfer = t,
                             .payload = log->payload ? log->payload + t->payload : NULL,
                             .index = (uint32_t)d->parcels };
        d->parcels++;
    }
}

static enum emu_status gather(struct delivery *d, size_t n)
{
    const struct pod_outer *o = d->outer;

    d->packet = emu_alloc(n, sizeof(*d->packet));
    d->parcel = emu_alloc(n, sizeof(*d->parcel));
    d->by_addr = emu_alloc(n, sizeof(*d->by_addr));
    if (!d->packet || !d->parcel || !d->by_addr)
        return FAIL(NO_MEMORY, "%zu packets between chips", n);
    for (uint32_t chip = o->first_chip; chip < o->first_chip + o->chips; chip++)
        for (uint32_t tile = 0; tile < d->pod->arch.tiles; tile++)
            gather_tile(d, chip, tile);
    return EMU_OK;
}

/* ---- the links ---- */

static enum emu_status add_load(struct pod *p, struct pod_outer *o, struct link_hop link,
                                uint64_t bytes)
{
    struct pod_load *l;

    for (size_t i = o->first_load; i < p->loads; i++) {
        if (p->load[i].link.kind == link.kind && p->load[i].link.chip == link.chip) {
            p->load[i].bytes += bytes;
            return EMU_OK;
        }
    }
    TRY(emu_grow((void **)&p->load, p->loads, &p->load_cap, sizeof(*l)));
    p->load[p->loads++] = (struct pod_load){ .link = link, .bytes = bytes };
    o->loads++;
    return EMU_OK;
}

/* Bytes from a chip to each of the others in turn. */
static enum emu_status add_loads_of(struct delivery *d, uint32_t chip, uint64_t *bytes,
                                    struct link_route *route)
{
    for (uint32_t to = 0; to < d->pod->chips; to++) {
        if (!bytes[to])
            continue;
        TRY(link_route_find(&d->pod->links, chip, to, route));
        for (size_t i = 0; i < route->hops; i++)
            TRY(add_load(d->pod, d->outer, route->hop[i], bytes[to]));
        bytes[to] = 0;
    }
    return EMU_OK;
}

/* What the busiest chip sends or receives. */
static enum emu_status count_chips(struct delivery *d)
{
    uint32_t chips = d->pod->chips;
    uint64_t *bytes = emu_alloc(2 * (size_t)chips, sizeof(*bytes)), *most = &d->outer->chip_bytes;

    if (!bytes)
        return FAIL(NO_MEMORY, "what chips send");
    for (size_t i = 0; i < d->parcels; i++) {
        bytes[d->packet[i].chip] += d->packet[i].bytes;
        bytes[chips + d->packet[i].to_chip] += d->packet[i].bytes;
    }
    for (uint32_t i = 0; i < 2 * chips; i++)
        *most = *most < bytes[i] ? bytes[i] : *most;
    ss_free(bytes);
    return EMU_OK;
}

static enum emu_status count_loads(struct delivery *d)
{
    struct pod *p = d->pod;
    uint64_t *bytes = emu_alloc(p->chips, sizeof(*bytes));
    struct link_route route = { .hop = NULL };
    enum emu_status s = bytes ? EMU_OK : FAIL(NO_MEMORY, "the load of links");

    d->outer->first_load = p->loads;
    for (size_t i = 0; i < d->parcels && s == EMU_OK; i++) {
        const struct link_packet *packet = &d->packet[i];

        bytes[packet->to_chip] += packet->bytes;
        d->outer->bytes += packet->bytes;
        if (i + 1 == d->parcels || d->packet[i + 1].chip != packet->chip)
            s = add_loads_of(d, packet->chip, bytes, &route);
    }
    for (size_t i = d->outer->first_load; i < p->loads; i++)
        p->load[i].busy_cycles =
            link_busy_cycles(&p->links, p->load[i].link.kind, p->load[i].bytes);
    link_route_free(&route);
    ss_free(bytes);
    return s;
}

static uint64_t jitter(const struct delivery *d, size_t i)
{
    uint64_t key[3] = { d->pod->options.seed, d->outer->release, i };

    return hash64(key, sizeof(key)) % (d->pod->options.jitter_cycles + 1);
}

static enum emu_status find_times(struct delivery *d)
{
    TRY(link_time(&d->pod->links, d->packet, d->parcels));
    d->outer->packets = d->parcels;
    for (size_t i = 0; i < d->parcels; i++) {
        struct link_packet *packet = &d->packet[i];

        if (d->pod->options.jitter_cycles)
            packet->arrived += jitter(d, i);
        if (d->outer->arrived < d->outer->release + packet->arrived)
            d->outer->arrived = d->outer->release + packet->arrived;
    }
    TRY(count_chips(d));
    return count_loads(d);
}

/* ---- the tiles that receive ---- */

static int by_receiver(const void *x, const void *y)
{
    const struct parcel *a = x, *b = y;

    if (a->packet->to_chip != b->packet->to_chip)
        return a->packet->to_chip < b->packet->to_chip ? -1 : 1;
    if (a->packet->to_tile != b->packet->to_tile)
        return a->packet->to_tile < b->packet->to_tile ? -1 : 1;
    if (a->packet->arrived != b->packet->arrived)
        return a->packet->arrived < b->packet->arrived ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int by_addr(const void *x, const void *y)
{
    const struct parcel *const *a = x, *const *b = y;
    uint32_t s = (*a)->transfer->to.addr, t = (*b)->transfer->to.addr;

    if (s != t)
        return s < t ? -1 : 1;
    return (*a)->index < (*b)->index ? -1 : (*a)->index > (*b)->index;
}

static enum emu_status fault_at(struct delivery *d, const struct parcel *p,
                                enum exchange_fault_kind kind, uint32_t value)
{
    const struct exchange_fault f = { .kind = kind,
                                      .event = (uint32_t)p->packet->arrived,
                                      .other = p->packet->tile,
                                      .is_far = 1,
                                      .chip = p->packet->chip,
                                      .addr = p->transfer->to.addr,
                                      .other_addr = p->transfer->from,
                                      .value = value };
    char text[320];

    machine_raise_far(d->pod->chip[p->packet->to_chip].machine, p->packet->to_tile, &f);
    exchange_fault_print(&f, text, sizeof(text));
    return FAIL(FAULT, "chip %u: %s", p->packet->to_chip, text);
}

/* The program does not use the tile: a fault of the sender. */
static enum emu_status fault_of_sender(struct delivery *d, const struct parcel *p)
{
    const struct exchange_fault f = { .kind = EXCHANGE_FAULT_NO_TILE,
                                      .event = (uint32_t)p->packet->issued,
                                      .other = p->packet->to_tile,
                                      .is_far = 1,
                                      .chip = p->packet->to_chip,
                                      .addr = p->transfer->from,
                                      .other_addr = p->transfer->to.addr,
                                      .value = p->transfer->to.words };

    machine_raise_far(d->pod->chip[p->packet->chip].machine, p->packet->tile, &f);
    return FAIL(FAULT, "chip %u: tile %u sends words to a tile that takes no part", p->packet->chip,
                p->packet->tile);
}

/* No two of n packets for one tile have words for the same address. */
static enum emu_status check_once(struct delivery *d, const struct parcel *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        d->by_addr[i] = (struct parcel *)&p[i];
    qsort(d->by_addr, n, sizeof(*d->by_addr), by_addr);
    for (size_t i = 1; i < n; i++) {
        const struct link_header *a = &d->by_addr[i - 1]->transfer->to,
                                 *b = &d->by_addr[i]->transfer->to;

        if (b->addr < a->addr + 4 * a->words)
            return fault_at(d, d->by_addr[i], EXCHANGE_FAULT_CHIP_TWICE, 0);
    }
    return EMU_OK;
}

static enum emu_status check_tile(struct delivery *d, const struct parcel *p, size_t n)
{
    const struct machine *m = d->pod->chip[p->packet->to_chip].machine;
    uint32_t tile = p->packet->to_tile, due, words = 0;

    if (!machine_tile_used(m, tile))
        return fault_of_sender(d, p);
    if (machine_has_host_transfers(m, tile))
        return fault_at(d, p, EXCHANGE_FAULT_CHIP_AND_HOST, 0);
    TRY(check_once(d, p, n));
    due = machine_far_words(m, tile);
    for (size_t i = 0; i < n; i++)
        words += p[i].transfer->to.words;
    return words > due ? fault_at(d, &p[n - 1], EXCHANGE_FAULT_LEFT_OVER, words - due) : EMU_OK;
}

/* The links have given the packets of one tile: who has sent how much? */
static enum emu_status note_flow(struct pod *p, const struct parcel *from)
{
    struct pod_flow *last = p->flows ? &p->flow[p->flows - 1] : NULL;
    const struct link_packet *k = from->packet;

    for (; last && last >= p->flow && last->chip == k->to_chip && last->tile == k->to_tile;
         last--) {
        if (last->from_chip != k->chip)
            continue;
        last->words += from->transfer->to.words;
        return EMU_OK;
    }
    TRY(emu_grow((void **)&p->flow, p->flows, &p->flow_cap, sizeof(*p->flow)));
    p->flow[p->flows++] =
        (struct pod_flow){ k->to_chip, k->to_tile, k->chip, from->transfer->to.words };
    return EMU_OK;
}

static enum emu_status deliver_tile(struct delivery *d, const struct parcel *p, size_t n)
{
    struct machine *m = d->pod->chip[p->packet->to_chip].machine;

    TRY(check_tile(d, p, n));
    for (size_t i = 0; i < n; i++) {
        const struct machine_far f = { .tile = p[i].packet->to_tile,
                                       .addr = p[i].transfer->to.addr,
                                       .words = p[i].transfer->to.words,
                                       .cycle = d->outer->release + p[i].packet->arrived,
                                       .chip = p[i].packet->chip,
                                       .from = p[i].packet->tile,
                                       .from_addr = p[i].transfer->from };

        TRY(note_flow(d->pod, &p[i]));
        TRY(machine_arrival_far(m, &f, p[i].payload));
    }
    return EMU_OK;
}

static enum emu_status deliver_all(struct delivery *d)
{
    qsort(d->parcel, d->parcels, sizeof(*d->parcel), by_receiver);
    for (size_t first = 0, n; first < d->parcels; first += n) {
        const struct link_packet *of = d->parcel[first].packet;

        for (n = 1; first + n < d->parcels; n++) {
            const struct link_packet *next = d->parcel[first + n].packet;

            if (next->to_chip != of->to_chip || next->to_tile != of->to_tile)
                break;
        }
        TRY(deliver_tile(d, &d->parcel[first], n));
    }
    return EMU_OK;
}

/* ---- a phase ---- */

static void forget_flows(struct pod *p, const struct pod_outer *o)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->flows; i++) {
        if (p->flow[i].chip - o->first_chip >= o->chips)
            p->flow[kept++] = p->flow[i];
    }
    p->flows = kept;
}

static void forget_transfers(struct pod *p, const struct pod_outer *o)
{
    for (uint32_t chip = o->first_chip; chip < o->first_chip + o->chips; chip++)
        for (uint32_t tile = 0; tile < p->arch.tiles; tile++)
            exchange_take_transfers(machine_exchange(p->chip[chip].machine), tile);
}

enum emu_status pod_deliver(struct pod *p, uint32_t phase)
{
    struct delivery d = { .pod = p, .outer = &p->outer[phase] };
    size_t n = count_transfers(p, d.outer);
    enum emu_status s;

    forget_flows(p, d.outer);
    d.outer->packets = d.outer->bytes = d.outer->chip_bytes = d.outer->arrived = 0;
    d.outer->loads = 0;
    if (!n)
        return EMU_OK;
    s = gather(&d, n);
    if (s == EMU_OK)
        s = find_times(&d);
    if (s == EMU_OK)
        s = deliver_all(&d);
    forget_transfers(p, d.outer);
    ss_free(d.packet);
    ss_free(d.parcel);
    ss_free(d.by_addr);
    return s;
}
