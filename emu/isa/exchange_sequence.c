/* exchange_sequence.c - merges the sends and settings of one tile into instructions (see
 * exchange_sequence.h).
 *
 * The settings come first: the mux changes at the first word of a message and after the last one,
 * the pointer somewhere in the gap that the pointer lag leaves for it. A walk then visits the
 * events at which anything begins, ends or changes. Each stretch between two of them becomes one
 * instruction, or more where the count field is too small for it.
 */
#include "emu/isa/exchange_sequence.h"

#include <inttypes.h>
#include <stdlib.h>

#include "emu/base/alloc.h"

enum {
    SEND_WORDS_MAX = 64,
    SENDOFF_WORDS_MAX = 4096,
    DELAY_EVENTS_MAX = 1 << 19,
    DELAYXPIC_EVENTS_MAX = 1 << 12,
    DELAYPIC_EVENTS_MAX = 1 << 7,
    LAST_EVENT = 1 << 30,
    PIC_SEARCH_EVENTS = 256, /* how far the pointer change looks for an event of its own */
    WIDE_BYTES = 8
};

struct mux_change {
    uint32_t event, source;
};

struct pointer_change {
    uint32_t event;
    struct symbolic_addr to;
};

struct sequencer {
    const struct sequence_options *o;
    const struct timed_send *send;
    const struct timed_receive *receive;
    size_t sends, receives;
    struct mux_change *mux;     /* owned, ascending */
    struct pointer_change *pic; /* owned, ascending */
    size_t muxes, pics;
    struct exchange_sequence *out;
    uint32_t bytes;     /* of the code so far, from a multiple of 8 */
    size_t behind_wide; /* first instruction after the last two-word one */
    uint32_t event;     /* the code so far ends here, but for `idle` events */
    uint32_t idle;      /* waited events that are not in the code yet */
    int quiet;          /* the stream is known to send nothing: sendpic sets, then waits */
};

/* ---- the messages ---- */

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int send_order(const void *a, const void *b)
{
    return compare(((const struct timed_send *)a)->event, ((const struct timed_send *)b)->event);
}

static int receive_order(const void *a, const void *b)
{
    return compare(((const struct timed_receive *)a)->event,
                   ((const struct timed_receive *)b)->event);
}

static enum emu_status check_message(const struct sequence_options *o, int64_t event,
                                     uint32_t words, int64_t free_from, const char *what,
                                     const char *where)
{
    int64_t first = o->first_event;

    if (!words)
        return FAIL(BAD_EXCHANGE, "no words to %s", what);
    if (event < first)
        return FAIL(BAD_EXCHANGE,
                    "%s at event %" PRId64 ", but this exchange begins at event %" PRId64
                    ": %" PRId64 " events too early",
                    where, event, first, first - event);
    if (event + words > LAST_EVENT)
        return FAIL(BAD_EXCHANGE, "%s at event %" PRId64 ", later than any exchange may last",
                    where, event);
    if (event < free_from)
        return FAIL(BAD_EXCHANGE,
                    "%s at event %" PRId64 ", but the message before it lasts to event %" PRId64
                    ": a tile cannot %s two words at one event",
                    where, event, free_from - 1, what);
    return EMU_OK;
}

static enum emu_status check_messages(const struct sequencer *p, size_t *culprit)
{
    int64_t free_from = 0;

    for (*culprit = 0; *culprit < p->receives; ++*culprit) {
        const struct timed_receive *r = &p->receive[*culprit];

        TRY(check_message(p->o, r->event, r->words, free_from, "receive",
                          "the first word arrives"));
        free_from = r->event + r->words;
    }
    free_from = 0;
    for (; *culprit < p->receives + p->sends; ++*culprit) {
        const struct timed_send *s = &p->send[*culprit - p->receives];

        TRY(check_message(p->o, s->event, s->words, free_from, "send", "the first word is sent"));
        free_from = s->event + s->words;
    }
    return EMU_OK;
}

static struct symbolic_addr addr_plus(struct symbolic_addr a, int64_t words)
{
    a.bytes += 4 * (uint32_t)words;
    return a;
}

static int addr_equal(struct symbolic_addr a, struct symbolic_addr b)
{
    return a.base == b.base && a.bytes == b.bytes;
}

/* ---- the settings ---- */

static void list_mux_changes(struct sequencer *p)
{
    uint32_t null = p->o->null_source, source = null;

    for (size_t k = 0; k < p->receives; k++) {
        const struct timed_receive *r = &p->receive[k];
        uint32_t end = (uint32_t)r->event + r->words;
        int more = k + 1 < p->receives && p->receive[k + 1].event == end;

        if (r->source != source)
            p->mux[p->muxes++] = (struct mux_change){ (uint32_t)r->event, r->source };
        source = r->source;
        if (more)
            continue;
        p->mux[p->muxes++] = (struct mux_change){ end, null };
        source = null;
    }
}

static int has_mux_change(const struct sequencer *p, uint32_t event)
{
    size_t low = 0, high = p->muxes;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (p->mux[mid].event == event)
            return 1;
        if (p->mux[mid].event < event)
            low = mid + 1;
        else
            high = mid;
    }
    return 0;
}

/* The last send that begins at or before an event, NULL if there is none. */
static const struct timed_send *send_before(const struct sequencer *p, uint32_t event)
{
    size_t low = 0, high = p->sends;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (p->send[mid].event <= event)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? &p->send[low - 1] : NULL;
}

/* The send that is under way at an event, or NULL. */
static const struct timed_send *send_during(const struct sequencer *p, uint32_t event)
{
    const struct timed_send *s = send_before(p, event);

    return s && event - s->event < s->words ? s : NULL;
}

/* Whether a send simply goes on where the stream stands. */
static int send_continues(const struct sequencer *p, const struct timed_send *s)
{
    return s > p->send && s[-1].event + s[-1].words == s->event && s[-1].ctl == s->ctl &&
           addr_equal(addr_plus(s[-1].addr, s[-1].words), s->addr);
}

static int begins_send(const struct sequencer *p, uint32_t event)
{
    const struct timed_send *s = send_before(p, event);

    return s && s->event == event && !send_continues(p, s);
}

/* The last event of a wait for a send, in [low, high], at which nothing changes; -1: there is none.
 * A pointer change there costs nothing: the wait needs an instruction anyway. */
static int64_t wait_end(const struct sequencer *p, int64_t low, int64_t high)
{
    const struct timed_send *s = send_before(p, (uint32_t)low), *end = p->send + p->sends;

    for (s = s ? s + 1 : p->send; s < end && s->event - 1 <= high; s++) {
        uint32_t event = (uint32_t)s->event - 1;

        if (s->event - 1 > low + PIC_SEARCH_EVENTS)
            break;
        if (s->event - 1 >= low && !send_during(p, event) && !has_mux_change(p, event))
            return event;
    }
    return -1;
}

/* Pointer changes lie between the last word of a message and the first of the next, as far behind
 * their arrival at the mux as the pointer is down the pipe. An event where nothing else changes
 * costs one word of code at most. */
static enum emu_status list_pointer_changes(struct sequencer *p, size_t *culprit)
{
    int64_t lag = p->o->pic_lag, low = p->o->first_event;

    for (size_t k = 0; k < p->receives; k++) {
        const struct timed_receive *r = &p->receive[k];
        int64_t high = r->event + lag, event;

        *culprit = k;
        if (k && addr_equal(r->addr, addr_plus(r[-1].addr, r[-1].words))) {
            low = high + r->words;
            continue;
        }
        event = wait_end(p, low, high);
        if (event < 0)
            event = low;
        while (event < high && event < low + PIC_SEARCH_EVENTS &&
               (has_mux_change(p, (uint32_t)event) || begins_send(p, (uint32_t)event)))
            event++;
        if (has_mux_change(p, (uint32_t)event) || begins_send(p, (uint32_t)event))
            event = low < high ? low + 1 : low; /* with something before it that can make room */
        p->pic[p->pics++] = (struct pointer_change){ (uint32_t)event, r->addr };
        low = high + r->words;
    }
    return EMU_OK;
}

static uint32_t source_at(const struct sequencer *p, uint32_t event)
{
    uint32_t source = p->o->null_source;

    for (size_t low = 0, high = p->muxes; low < high;) {
        size_t mid = (low + high) / 2;

        if (p->mux[mid].event <= event) {
            source = p->mux[mid].source;
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return source;
}

/* Where the next word goes that a pointer change at this event would act on: writing just that
 * changes nothing. */
static struct symbolic_addr pointer_at(const struct sequencer *p, uint32_t event)
{
    int64_t reached = (int64_t)event - p->o->pic_lag; /* the mux */
    const struct timed_receive *r;
    size_t low = 0, high = p->receives;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (p->receive[mid].event + p->receive[mid].words - 1 < reached)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == p->receives) {
        r = &p->receive[p->receives - 1];
        return addr_plus(r->addr, r->words);
    }
    r = &p->receive[low];
    return r->event >= reached ? r->addr : addr_plus(r->addr, reached - r->event);
}

/* ---- instructions ---- */

static enum emu_status add_code(struct sequencer *p, size_t at, const struct exchange_insn *c)
{
    struct exchange_sequence *out = p->out;

    TRY(emu_grow((void **)&out->code, out->count, &out->capacity, sizeof(*out->code)));
    for (size_t i = out->count++; i > at; i--)
        out->code[i] = out->code[i - 1];
    out->code[at] = *c;
    if (at + 1 == out->count && c->op <= EXCHANGE_SENDPICP && c->op != EXCHANGE_SENDXPIC &&
        c->op != EXCHANGE_SENDPIC)
        p->quiet = !c->ctl;
    p->bytes += c->op == EXCHANGE_SENDPICP ? WIDE_BYTES : WIDE_BYTES / 2;
    return EMU_OK;
}

/* What sets both at one event, and sends what is under way then. */
static struct exchange_insn wide_code(const struct sequencer *p, uint32_t event, uint32_t events)
{
    const struct timed_send *s = send_during(p, event);
    struct exchange_insn c = { .op = EXCHANGE_SENDPICP, .event = event, .events = events };

    c.source = source_at(p, event);
    c.to = pointer_at(p, event);
    if (s) {
        c.ctl = s->ctl;
        c.from = addr_plus(s->addr, event - s->event);
    }
    return c;
}

/* Cuts the instruction at index i after its first event, or one that waits first before its last.
 */
static enum emu_status split_code(struct sequencer *p, size_t i)
{
    struct exchange_insn *c = &p->out->code[i], rest = *c;
    const struct timed_send *s = send_during(p, c->event);

    if (c->op == EXCHANGE_DELAY || c->op == EXCHANGE_DELAYXPIC || c->op == EXCHANGE_DELAYPIC) {
        *c = (struct exchange_insn){ .op = EXCHANGE_DELAY,
                                     .event = c->event,
                                     .events = c->events - 1 };
        rest.event += c->events;
        rest.events = 1;
    } else {
        rest = (struct exchange_insn){ .op = EXCHANGE_DELAY, .event = c->event + 1 };
        if (s) {
            rest.op = EXCHANGE_SENDOFF;
            rest.ctl = s->ctl;
        }
        rest.events = c->events - 1;
        c->events = 1;
    }
    return add_code(p, i + 1, &rest);
}

/* Makes the next instruction stand on a multiple of 8. */
static enum emu_status align_code(struct sequencer *p)
{
    struct exchange_sequence *out = p->out;
    uint32_t bytes = p->behind_wide || !p->o->misaligned ? 0 : WIDE_BYTES / 2;

    if (p->bytes % WIDE_BYTES == 0)
        return EMU_OK;
    for (size_t i = p->behind_wide - (p->behind_wide > 0); i < out->count; i++) {
        if (out->code[i].events > 1)
            return split_code(p, i);
    }
    for (size_t i = p->behind_wide; i < out->count; i++, bytes += WIDE_BYTES / 2) {
        if (bytes % WIDE_BYTES)
            continue;
        out->code[i] = wide_code(p, out->code[i].event, 1);
        p->bytes += WIDE_BYTES / 2;
        return EMU_OK;
    }
    return FAIL(BAD_EXCHANGE, "the first instruction of this exchange takes two words, but does "
                              "not stand on a multiple of 8: put a nop before its sync");
}

static enum emu_status emit(struct sequencer *p, const struct exchange_insn *c)
{
    if (c->op == EXCHANGE_SENDPICP)
        TRY(align_code(p));
    TRY(add_code(p, p->out->count, c));
    if (c->op == EXCHANGE_SENDPICP)
        p->behind_wide = p->out->count;
    p->event += c->events;
    return EMU_OK;
}

/* Writes waited events into the code until at most `keep` of them are left. */
static enum emu_status emit_idle(struct sequencer *p, uint32_t keep)
{
    while (p->idle > keep) {
        uint32_t n = p->idle - keep < DELAY_EVENTS_MAX ? p->idle - keep : DELAY_EVENTS_MAX;
        struct exchange_insn c = { .op = EXCHANGE_DELAY, .event = p->event, .events = n };

        TRY(emit(p, &c));
        p->idle -= n;
    }
    return EMU_OK;
}

/* One setting while nothing is sent: the delay before it and the setting are one instruction. */
static enum emu_status emit_delayed(struct sequencer *p, const struct mux_change *mux,
                                    const struct pointer_change *pic)
{
    struct exchange_insn c = { .op = mux ? EXCHANGE_DELAYXPIC : EXCHANGE_DELAYPIC };

    TRY(emit_idle(p, (mux ? DELAYXPIC_EVENTS_MAX : DELAYPIC_EVENTS_MAX) - 1));
    c.event = p->event;
    c.events = p->idle + 1;
    p->idle = 0;
    if (mux)
        c.source = mux->source;
    else
        c.to = pic->to;
    return emit(p, &c);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A stretch of `events` events from `event` on during which nothing is sent; at the first of them
 * these settings change. What can wait after its change covers the stretch. */
static enum emu_status emit_waiting(struct sequencer *p, uint32_t event, uint32_t events,
                                    const struct mux_change *mux, const struct pointer_change *pic)
{
    struct exchange_insn c = { .event = event, .events = least(events, SEND_WORDS_MAX) };

    if (!mux && !pic) {
        p->idle += events;
        return EMU_OK;
    }
    if (mux && pic) {
        TRY(emit_idle(p, 0));
        c = wide_code(p, event, c.events);
    } else if (p->quiet && !p->idle) {
        c.op = mux ? EXCHANGE_SENDXPIC : EXCHANGE_SENDPIC;
        if (mux)
            c.source = mux->source;
        else
            c.to = pic->to;
    } else {
        TRY(emit_delayed(p, mux, pic));
        p->idle = events - 1;
        return EMU_OK;
    }
    TRY(emit(p, &c));
    p->idle = events - c.events;
    return EMU_OK;
}

/* What the first instruction of a stretch in which s is sent has to do. */
static struct exchange_insn sending_code(const struct sequencer *p, const struct timed_send *s,
                                         uint32_t event, uint32_t events,
                                         const struct mux_change *mux,
                                         const struct pointer_change *pic)
{
    int begins = begins_send(p, event);
    struct exchange_insn c = { .event = event };

    c.events = events < SEND_WORDS_MAX ? events : SEND_WORDS_MAX;
    if ((mux && pic) || (begins && (mux || pic)))
        return wide_code(p, event, c.events);
    if (mux) {
        c.op = EXCHANGE_SENDXPIC;
        c.source = mux->source;
    } else if (pic) {
        c.op = EXCHANGE_SENDPIC;
        c.to = pic->to;
    } else if (begins) {
        c.op = EXCHANGE_SEND;
        c.from = s->addr;
        c.ctl = s->ctl;
    } else {
        c.op = EXCHANGE_SENDOFF;
        c.ctl = s->ctl;
        c.events = events < SENDOFF_WORDS_MAX ? events : SENDOFF_WORDS_MAX;
    }
    return c;
}

/* A stretch during which s is sent. */
static enum emu_status emit_sending(struct sequencer *p, const struct timed_send *s, uint32_t event,
                                    uint32_t events, const struct mux_change *mux,
                                    const struct pointer_change *pic)
{
    struct exchange_insn c = sending_code(p, s, event, events, mux, pic);

    TRY(emit_idle(p, 0));
    for (;;) {
        TRY(emit(p, &c));
        events -= c.events;
        if (!events)
            return EMU_OK;
        c = (struct exchange_insn){ .op = EXCHANGE_SENDOFF, .event = p->event, .ctl = s->ctl };
        c.events = events < SENDOFF_WORDS_MAX ? events : SENDOFF_WORDS_MAX;
    }
}

/* The walk over all events at which anything begins, ends or changes. */
static enum emu_status emit_all(struct sequencer *p)
{
    uint32_t event = p->o->first_event, end = event;
    size_t mux = 0, pic = 0, send = 0;

    if (p->muxes)
        end = p->mux[p->muxes - 1].event + 1;
    if (p->pics && p->pic[p->pics - 1].event + 1 > end)
        end = p->pic[p->pics - 1].event + 1;
    if (p->sends && p->send[p->sends - 1].event + p->send[p->sends - 1].words > end)
        end = (uint32_t)p->send[p->sends - 1].event + p->send[p->sends - 1].words;
    p->event = event;
    while (event < end) {
        const struct mux_change *m = NULL;
        const struct pointer_change *c = NULL;
        const struct timed_send *s = send_during(p, event);
        uint32_t next = end;

        if (mux < p->muxes && p->mux[mux].event == event)
            m = &p->mux[mux++];
        if (pic < p->pics && p->pic[pic].event == event)
            c = &p->pic[pic++];
        while (send < p->sends && p->send[send].event <= event)
            send++;
        if (mux < p->muxes)
            next = least(next, p->mux[mux].event);
        if (pic < p->pics)
            next = least(next, p->pic[pic].event);
        if (send < p->sends)
            next = least(next, (uint32_t)p->send[send].event);
        if (s)
            next = least(next, (uint32_t)s->event + s->words);
        TRY(s ? emit_sending(p, s, event, next - event, m, c)
              : emit_waiting(p, event, next - event, m, c));
        event = next;
    }
    EMU_ASSERT(!p->idle && p->event == end);
    p->out->end_event = end;
    return EMU_OK;
}

static enum emu_status build(struct sequencer *p, size_t *culprit)
{
    TRY(check_messages(p, culprit));
    *culprit = 0;
    p->mux = emu_alloc(2 * p->receives + 1, sizeof(*p->mux));
    p->pic = emu_alloc(p->receives + 1, sizeof(*p->pic));
    if (!p->mux || !p->pic)
        return FAIL(NO_MEMORY, "the instructions of an exchange");
    list_mux_changes(p);
    TRY(list_pointer_changes(p, culprit));
    *culprit = 0;
    return emit_all(p);
}

enum emu_status exchange_sequence(const struct sequence_options *o, struct timed_send *send,
                                  size_t sends, struct timed_receive *receive, size_t receives,
                                  struct exchange_sequence *out, size_t *culprit)
{
    struct sequencer p = { .o = o,
                           .send = send,
                           .receive = receive,
                           .sends = sends,
                           .receives = receives,
                           .out = out,
                           .bytes = o->misaligned ? WIDE_BYTES / 2 : 0 };
    enum emu_status s;

    out->count = 0;
    if (sends)
        qsort(send, sends, sizeof(*send), send_order);
    if (receives)
        qsort(receive, receives, sizeof(*receive), receive_order);
    s = build(&p, culprit);
    ss_free(p.mux);
    ss_free(p.pic);
    if (s != EMU_OK)
        exchange_sequence_free(out);
    return s;
}

void exchange_sequence_free(struct exchange_sequence *p)
{
    ss_free(p->code);
    *p = (struct exchange_sequence){ .code = NULL };
}
