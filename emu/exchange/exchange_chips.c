/* exchange_chips.c - what tiles send to tiles of other chips: headers, the words that follow them,
 * and what is wrong with either.
 *
 * Words for other chips pass no mux and are not part of the phase that the fabric of a chip
 * resolves. They are only gathered here; the system delivers them (emu/pod).
 */
#include "emu/exchange/exchange_private.h"

#include "emu/base/alloc.h"

static enum fault raise_far(struct exchange_log *log, struct tile *t, enum exchange_fault_kind kind,
                            uint32_t event, const struct exchange_transfer *s, uint32_t value)
{
    const struct exchange_fault f = { .kind = kind,
                                      .event = event,
                                      .other = s->to.tile,
                                      .is_far = 1,
                                      .chip = s->to.chip,
                                      .addr = s->from,
                                      .other_addr = s->to.addr,
                                      .value = value };

    return exchange_raise(log, t, &f);
}

void exchange_open_chips(struct exchange *x, uint32_t tile)
{
    exchange_log_of(x, tile)->to_chips = 1;
}

/* FAULT_KIND NONE: the header may be sent. All chips are alike. */
static enum exchange_fault_kind header_error(const struct exchange_log *log, const struct tile *t,
                                             const struct link_header *h)
{
    const struct exchange *x = log->fabric;

    if (!log->to_chips)
        return EXCHANGE_FAULT_OUTSIDE_OUTER;
    if (h->chip >= x->arch->chips || h->chip == x->options.chip)
        return EXCHANGE_FAULT_NO_CHIP;
    if (h->tile >= x->tiles)
        return EXCHANGE_FAULT_NO_TILE;
    return exchange_in_memory(t, h->addr, 4 * h->words) ? EXCHANGE_FAULT_NONE
                                                        : EXCHANGE_FAULT_CHIP_ADDRESS;
}

enum fault exchange_send_header(struct exchange_log *log, struct tile *t, uint32_t addr,
                                const uint32_t word[2])
{
    struct exchange_transfer s = { .cycle = t->cycle, .from = addr };
    enum exchange_fault_kind wrong;
    uint32_t event;
    enum fault f = exchange_enter(log, t, LINK_HEADER_WORDS, &event);

    if (f != FAULT_NONE)
        return f;
    if (!link_header_unpack(word, &s.to))
        return raise_far(log, t, EXCHANGE_FAULT_RESERVED, event, &s, word[0]);
    wrong = header_error(log, t, &s.to);
    if (wrong != EXCHANGE_FAULT_NONE)
        return raise_far(log, t, wrong, event, &s,
                         wrong == EXCHANGE_FAULT_NO_CHIP ? log->fabric->arch->chips : s.to.words);
    log->header = s;
    log->header_end = t->cycle + LINK_HEADER_WORDS;
    log->port.lasts = LINK_HEADER_WORDS;
    return FAULT_NONE;
}

enum fault exchange_payload_missing(struct exchange_log *log, struct tile *t)
{
    const struct exchange_transfer s = log->header;
    uint64_t event = t->cycle - log->release;

    log->header.to.words = 0;
    return raise_far(log, t, EXCHANGE_FAULT_LENGTH,
                     event < EXCHANGE_EVENTS ? (uint32_t)event : EXCHANGE_EVENTS, &s, s.to.words);
}

/* Copies the words, which the timing engine does not have. */
static enum emu_status keep_payload(struct exchange_log *log, const struct tile *t,
                                    struct exchange_transfer *s)
{
    uint32_t bytes = 4 * s->to.words;

    s->payload = log->payload_bytes;
    if (log->fabric->options.figures)
        return EMU_OK;
    while (log->payload_cap - log->payload_bytes < bytes)
        TRY(emu_grow((void **)&log->payload, log->payload_cap, &log->payload_cap, 1));
    memcpy(log->payload + log->payload_bytes, t->mem + (s->from - t->mem_base), bytes);
    log->payload_bytes += bytes;
    return EMU_OK;
}

enum fault exchange_send_payload(struct exchange_log *log, struct tile *t, uint32_t addr,
                                 uint32_t words)
{
    struct exchange_transfer s = log->header;
    uint32_t least = exchange_least_events(log->fabric), event;
    enum fault f;

    if (words != s.to.words || t->cycle != log->header_end)
        return exchange_payload_missing(log, t);
    log->header.to.words = 0;
    s.from = addr;
    s.pc = t->pc[LANE_SUPER];
    f = exchange_enter(log, t, words, &event);
    if (f != FAULT_NONE)
        return f;
    if (!exchange_in_memory(t, addr, 4 * words))
        return raise_far(log, t, EXCHANGE_FAULT_SEND_OUTSIDE, event, &s, words);
    if (keep_payload(log, t, &s) != EMU_OK ||
        emu_grow((void **)&log->transfer, log->transfers, &log->transfer_cap, sizeof(s)) != EMU_OK)
        return raise_far(log, t, EXCHANGE_FAULT_NO_HOST_MEMORY, event, &s, words);
    log->transfer[log->transfers++] = s;
    log->port.lasts = LINK_HEADER_WORDS + words < least ? least - LINK_HEADER_WORDS : words;
    return FAULT_NONE;
}

void exchange_take_transfers(struct exchange *x, uint32_t tile)
{
    struct exchange_log *log = exchange_log_of(x, tile);

    log->transfers = 0;
    log->payload_bytes = 0;
}

void exchange_raise_arrival(struct exchange *x, struct tile *t, const struct exchange_fault *f)
{
    struct exchange_log *log = (struct exchange_log *)t->exchange;

    EMU_ASSERT(log->fabric == x);
    exchange_raise(log, t, f);
}
