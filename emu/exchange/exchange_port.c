/* exchange_port.c - issue of the exchange instructions: what each of them adds to the log of its
 * tile.
 *
 * Nothing here looks at another tile, so tiles may issue on different threads. The barrel keeps the
 * time: an instruction that covers n + 1 events occupies the supervisor for as many cycles, so
 * sends of one tile never overlap and changes come in order.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/exchange/exchange_private.h"

#include "emu/base/alloc.h"
#include "emu/exchange/host_header.h"
#include "emu/isa/insn_ops.h"

enum {
    CTL_WAYS = 3, /* directions of a send */
    HOST_HEADER_WORDS = 2,
    SENDPIC_XPIC = 0,
    SENDPIC_PIC = 2,
    MUX_BITS = 13
};

static enum fault raise_at(struct exchange_log *log, struct tile *t, enum exchange_fault_kind kind,
                           uint32_t event, uint32_t addr, uint32_t value)
{
    const struct exchange_fault f = {
        .kind = kind, .event = event, .other = EXCHANGE_NOBODY, .addr = addr, .value = value
    };

    return exchange_raise(log, t, &f);
}

uint32_t exchange_least_events(const struct exchange *x)
{
    return arch_host_send_min_events(x->arch);
}

/* Event of the instruction being issued; a clock beyond the limit gives the limit. */
static uint32_t event_of(const struct exchange_log *log, const struct tile *t)
{
    uint64_t events = t->cycle - log->release;

    return events < EXCHANGE_EVENTS ? (uint32_t)events : EXCHANGE_EVENTS;
}

static int workers_active(const struct tile *t)
{
    unsigned active = 0;

    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        active |= t->state[lane] == CONTEXT_ACTIVE;
    return active != 0;
}

enum fault exchange_open(struct exchange_log *log, struct tile *t)
{
    if (log->open)
        return FAULT_NONE;
    if ((t->xcsr[XCSR_IN_BASE] | t->xcsr[XCSR_OUT_BASE]) & 3)
        return raise_at(log, t, EXCHANGE_FAULT_MISALIGNED, event_of(log, t), 0,
                        t->xcsr[XCSR_IN_BASE] & 3 ? t->xcsr[XCSR_IN_BASE] : t->xcsr[XCSR_OUT_BASE]);
    log->open = 1;
    log->pointer = t->xcsr[XCSR_IN_BASE] + 4 * t->xcsr[XCSR_DELTA];
    return FAULT_NONE;
}

enum fault exchange_enter(struct exchange_log *log, struct tile *t, uint32_t events,
                          uint32_t *event)
{
    *event = event_of(log, t);
    if (workers_active(t))
        return raise_at(log, t, EXCHANGE_FAULT_WORKERS, *event, 0, 0);
    if (!log->running)
        return raise_at(log, t, EXCHANGE_FAULT_OUTSIDE_PHASE, *event, 0, 0);
    if (*event + events > EXCHANGE_EVENTS)
        return raise_at(log, t, EXCHANGE_FAULT_TOO_LATE, *event, 0, events);
    EMU_ASSERT(*event >= log->free_event);
    log->free_event = *event + events;
    return exchange_open(log, t);
}

/* --- the stream --- */

static enum emu_status log_send(struct exchange_log *log, const struct exchange_send *s)
{
    struct exchange_send *last = log->sends ? &log->send[log->sends - 1] : NULL;

    log->words_out += s->words;
    if (last && last->ctl == s->ctl && last->event + last->words == s->event &&
        last->addr + 4 * last->words == s->addr) {
        last->words += s->words;
        return EMU_OK;
    }
    TRY(emu_grow((void **)&log->send, log->sends, &log->send_cap, sizeof(*log->send)));
    log->send[log->sends++] = *s;
    return EMU_OK;
}

int exchange_in_memory(const struct tile *t, uint32_t addr, uint32_t bytes)
{
    uint32_t off = addr - t->mem_base;

    return addr % 4 == 0 && off <= t->mem_bytes && bytes <= t->mem_bytes - off;
}

/* Sends words from where the stream stands and moves it on. */
static enum fault stream(struct exchange_log *log, struct tile *t, uint32_t event, uint32_t words)
{
    struct exchange_send s = { .event = event,
                               .addr = t->xcsr[XCSR_OUT_BASE] + log->stream_addr,
                               .words = words,
                               .ctl = log->stream_ctl };

    if (s.ctl & EXCHANGE_CTL_WIDE)
        return raise_at(log, t, EXCHANGE_FAULT_WIDE, event, s.addr, s.ctl);
    log->stream_addr += 4 * words;
    if (!(s.ctl & CTL_WAYS))
        return FAULT_NONE;
    if (!exchange_in_memory(t, s.addr, 4 * words))
        return raise_at(log, t, EXCHANGE_FAULT_SEND_OUTSIDE, event, s.addr, words);
    if (log_send(log, &s) != EMU_OK)
        return raise_at(log, t, EXCHANGE_FAULT_NO_HOST_MEMORY, event, s.addr, words);
    return FAULT_NONE;
}

/* --- the settings --- */

enum exchange_fault_kind exchange_source_error(const struct exchange *x, uint32_t tile,
                                               uint32_t value)
{
    const struct arch *a = x->arch;

    if (value == a->null_source)
        return EXCHANGE_FAULT_NONE;
    if (value < x->physicals && x->logical[value] >= 0)
        return (uint32_t)x->logical[value] == tile ? EXCHANGE_FAULT_SELF : EXCHANGE_FAULT_NONE;
    return value >= arch_host_source(a) && value - arch_host_source(a) < arch_host_source_count(a)
               ? EXCHANGE_FAULT_HOST_SOURCE
               : EXCHANGE_FAULT_NO_SOURCE;
}

uint32_t exchange_log_source(const struct exchange_log *log)
{
    return log->muxes ? log->mux[log->muxes - 1].value : log->fabric->arch->null_source;
}

static enum emu_status log_set(struct exchange_set **list, size_t *len, size_t *cap, uint32_t event,
                               uint32_t value, uint32_t pc)
{
    EMU_ASSERT(!*len || (*list)[*len - 1].event < event);
    TRY(emu_grow((void **)list, *len, cap, sizeof(**list)));
    (*list)[(*len)++] = (struct exchange_set){ .event = event, .value = value, .pc = pc };
    return EMU_OK;
}

/* A mux value that was put before the phase counts from event 0; the first instruction may replace
 * it there. */
enum emu_status exchange_log_mux(struct exchange_log *log, uint32_t event, uint32_t value,
                                 uint32_t pc)
{
    if (log->muxes && log->mux[log->muxes - 1].event == event)
        log->muxes--;
    if (value == exchange_log_source(log))
        return EMU_OK;
    return log_set(&log->mux, &log->muxes, &log->mux_cap, event, value, pc);
}

static enum fault set_source(struct exchange_log *log, struct tile *t, uint32_t event,
                             uint32_t value)
{
    enum exchange_fault_kind wrong;

    if (value >> MUX_BITS)
        return raise_at(log, t, EXCHANGE_FAULT_RESERVED, event, 0, value);
    wrong = exchange_source_error(log->fabric, log->tile, value);
    if (wrong != EXCHANGE_FAULT_NONE)
        return raise_at(log, t, wrong, event, 0, value);
    t->xcsr[XCSR_MUX] = value;
    if (exchange_log_mux(log, event, value, t->pc[LANE_SUPER]) != EMU_OK)
        return raise_at(log, t, EXCHANGE_FAULT_NO_HOST_MEMORY, event, 0, value);
    return FAULT_NONE;
}

static enum fault set_pointer(struct exchange_log *log, struct tile *t, uint32_t event,
                              uint32_t value)
{
    uint32_t addr = t->xcsr[XCSR_IN_BASE] + 4 * value;

    if (addr % 4)
        return raise_at(log, t, EXCHANGE_FAULT_MISALIGNED, event, addr, t->xcsr[XCSR_IN_BASE]);
    t->xcsr[XCSR_DELTA] = value;
    if (log_set(&log->pic, &log->pics, &log->pic_cap, event, addr, t->pc[LANE_SUPER]) != EMU_OK)
        return raise_at(log, t, EXCHANGE_FAULT_NO_HOST_MEMORY, event, addr, value);
    return FAULT_NONE;
}

static enum fault reserved(struct exchange_log *log, struct tile *t, uint32_t event, uint32_t value)
{
    return raise_at(log, t, EXCHANGE_FAULT_RESERVED, event, 0, value);
}

/* --- requests to the host --- */

/* For a transfer to the host reads its bytes, as they are now; $INCOMING_DCOUNT counts its words.
 */
static enum fault host_request(struct exchange_log *log, struct tile *t, uint32_t addr,
                               const uint32_t word[2])
{
    struct exchange_host_request r = { .cycle = t->cycle, .word = { word[0], word[1] } };
    uint32_t event = event_of(log, t);
    struct host_header h;

    if (!host_header_unpack(r.word, &h) || !h.bytes)
        return reserved(log, t, event, r.word[0]);
    if (!exchange_in_memory(t, h.addr, h.bytes))
        return raise_at(log, t, EXCHANGE_FAULT_HOST_HEADER, event, h.addr, h.bytes / 4);
    if (emu_grow((void **)&log->request, log->requests, &log->request_cap, sizeof(r)) != EMU_OK)
        return raise_at(log, t, EXCHANGE_FAULT_NO_HOST_MEMORY, event, addr, 0);
    if (h.to_host) {
        r.data = emu_alloc(h.bytes, 1);
        if (!r.data)
            return raise_at(log, t, EXCHANGE_FAULT_NO_HOST_MEMORY, event, h.addr, h.bytes / 4);
        tile_read(t, h.addr, r.data, h.bytes);
    }
    log->request[log->requests++] = r;
    t->xcsr[XCSR_DCOUNT] += h.bytes / 4;
    return FAULT_NONE;
}

void exchange_take_requests(struct exchange *x, uint32_t tile)
{
    struct exchange_log *log = exchange_log_of(x, tile);

    for (size_t i = 0; i < log->requests; i++)
        ss_free(log->request[i].data);
    log->requests = 0;
}

/* The first words of a send beyond the chip say whether it goes to the host or to another chip; the
 * words for that one follow. */
static int is_wide(const struct exchange_log *log, const struct insn *in)
{
    return in->op == INSN_send && in->k == EXCHANGE_CTL_WIDE &&
           (in->i == HOST_HEADER_WORDS - 1 || log->header.to.words);
}

static enum fault issue_wide(struct exchange_log *log, struct tile *t, const struct insn *in)
{
    uint32_t addr = t->xcsr[XCSR_OUT_BASE] + in->j, words = (uint32_t)in->i + 1, word[2];

    log->port.lasts = 0;
    if (log->header.to.words)
        return exchange_send_payload(log, t, addr, words);
    if (addr % 4 || !tile_read(t, addr, word, sizeof(word)))
        return raise_at(log, t, EXCHANGE_FAULT_SEND_OUTSIDE, event_of(log, t), addr,
                        HOST_HEADER_WORDS);
    return link_header_is(word) ? exchange_send_header(log, t, addr, word)
                                : host_request(log, t, addr, word);
}

/* --- one function per instruction, called with the event it begins at
 * ---------------------------------------------------------- */

static enum fault issue_send(struct exchange_log *log, struct tile *t, const struct insn *in,
                             uint32_t event)
{
    log->stream_addr = in->j;
    log->stream_ctl = in->k;
    return stream(log, t, event, (uint32_t)in->i + 1);
}

static enum fault issue_sendoff(struct exchange_log *log, struct tile *t, const struct insn *in,
                                uint32_t event)
{
    log->stream_addr += 4 * in->j;
    log->stream_ctl = in->k;
    return stream(log, t, event, (uint32_t)in->i + 1);
}

static enum fault issue_sendpic(struct exchange_log *log, struct tile *t, const struct insn *in,
                                uint32_t event)
{
    enum fault f;

    if (in->j == SENDPIC_XPIC)
        f = set_source(log, t, event, in->k);
    else if (in->j == SENDPIC_PIC)
        f = set_pointer(log, t, event, in->k);
    else
        f = reserved(log, t, event, in->j);
    return f != FAULT_NONE ? f : stream(log, t, event, (uint32_t)in->i + 1);
}

static enum fault issue_sendpicp(struct exchange_log *log, struct tile *t, const struct insn *in,
                                 uint32_t event)
{
    enum fault f;

    if (in->l)
        return reserved(log, t, event, in->l);
    f = set_source(log, t, event, in->n);
    if (f == FAULT_NONE)
        f = set_pointer(log, t, event, in->o);
    return f != FAULT_NONE ? f : issue_send(log, t, in, event);
}

/* delaypic and delayxpic change their setting at the last of their events. */
static enum fault issue_delay_set(struct exchange_log *log, struct tile *t, const struct insn *in,
                                  uint32_t event)
{
    uint32_t last = event + (uint32_t)in->i;

    if (in->j)
        return reserved(log, t, event, in->j);
    return in->op == INSN_delaypic ? set_pointer(log, t, last, in->k)
                                   : set_source(log, t, last, in->k);
}

static enum fault issue_delay(struct exchange_log *log, struct tile *t)
{
    if (workers_active(t))
        return raise_at(log, t, EXCHANGE_FAULT_WORKERS, event_of(log, t), 0, 0);
    return FAULT_NONE;
}

static enum fault issue_sans(struct exchange_log *log, struct tile *t, const struct insn *in)
{
    int64_t votes = (int64_t)log->votes + in->i + 1;

    log->votes = votes < INT32_MAX ? (int32_t)votes : INT32_MAX;
    log->vote_cycle = t->cycle;
    log->vote_lc = t->ssr & SSR_LC;
    return FAULT_NONE;
}

/* Whether no word can be stored at an event or later, unless an instruction opens the mux again. */
static int is_quiet(const struct exchange_log *log, uint32_t event)
{
    const struct exchange *x = log->fabric;
    const struct exchange_set *last = log->muxes ? &log->mux[log->muxes - 1] : NULL;

    return !last || (last->value == x->arch->null_source &&
                     last->event + (int64_t)x->lag[log->tile] <= event);
}

/* Keeps the entries during which words may be stored, and the latest. */
enum fault exchange_fetch(struct exchange_port *p, struct tile *t)
{
    struct exchange_log *log = (struct exchange_log *)p;
    uint32_t event = event_of(log, t);

    if (!log->running)
        return FAULT_NONE;
    if (log->fetches && is_quiet(log, log->fetch[log->fetches - 1].event))
        log->fetches--;
    if (emu_grow((void **)&log->fetch, log->fetches, &log->fetch_cap, sizeof(*log->fetch)) !=
        EMU_OK)
        return raise_at(log, t, EXCHANGE_FAULT_NO_HOST_MEMORY, event, 0, 0);
    log->fetch[log->fetches++] = (struct exchange_fetch){ .event = event, .pc = t->pc[LANE_SUPER] };
    return FAULT_NONE;
}

enum fault exchange_issue(struct exchange_port *p, struct tile *t, const struct insn *in)
{
    struct exchange_log *log = (struct exchange_log *)p;
    uint32_t event;
    enum fault f;

    if (in->op == INSN_sans)
        return issue_sans(log, t, in);
    if (in->op == INSN_delay)
        return issue_delay(log, t);
    if (is_wide(log, in))
        return issue_wide(log, t, in);
    if (log->header.to.words)
        return exchange_payload_missing(log, t);
    f = exchange_enter(log, t, (uint32_t)in->i + 1, &event);
    if (f != FAULT_NONE)
        return f;
    switch (in->op) {
    case INSN_send:
        return issue_send(log, t, in, event);
    case INSN_sendoff:
        return issue_sendoff(log, t, in, event);
    case INSN_sendpic:
        return issue_sendpic(log, t, in, event);
    case INSN_sendpicp:
        return issue_sendpicp(log, t, in, event);
    default:
        EMU_ASSERT(in->op == INSN_delaypic || in->op == INSN_delayxpic);
        return issue_delay_set(log, t, in, event);
    }
}
