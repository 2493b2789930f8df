/* exchange_check.c - resolves an exchange a second time, literally: one word, one event, one
 * address at a time.
 *
 * Written from docs/exchange.md alone and sharing nothing with the interval resolver but the logs:
 * it keeps every sender's words in an array by event and steps every receiver event by event.
 * Checking mode and the tests use it; it is slow and simple on purpose.
 */
#include "emu/arch/arch_elements.h"
#include "emu/exchange/exchange_private.h"

#include "emu/base/alloc.h"

/* What one tile puts on the fabric: byte address | ctl by event, 0 where it sends nothing; and
 * whether a tile has received it. */
struct wire {
    uint32_t *word;
    uint8_t *heard;
    uint32_t events;
};

/* What arrived last for one word of memory in this phase, at any tile that was stepped. */
struct heard_word {
    uint32_t event, from, from_addr;
    uint32_t to; /* the tile, counted from 1; 0: nothing arrived */
};

struct exchange_stepper {
    const struct arch *a;
    const struct exchange *x;
    struct wire *wire;          /* [tiles] */
    struct heard_word *arrival; /* [words of memory] */
    const struct exchange_phase *phase;
    const char **differ;
    int overlaps; /* some tile sends a word that is replaced */

    /* the tile being stepped */
    const struct exchange_log *log;
    uint32_t tile, lag, mux_pc;
    uint32_t words_in, last_event, pointer;
    size_t fetch;                   /* entry of log->fetch that counts */
    struct exchange_clash clash[2]; /* with sends, and with fetches */
    size_t copy;                    /* of the phase to compare with */
    uint32_t within;                /* words of that copy already seen */
    struct exchange_fault *fault;
};

static void differs(struct exchange_stepper *s, const char *what)
{
    if (s->phase && !*s->differ)
        *s->differ = what;
}

static uint32_t wire_word(const struct wire *w, int64_t event)
{
    return event >= 0 && event < w->events ? w->word[event] : 0;
}

static enum emu_status fill_wire(struct wire *w, const struct exchange_log *log)
{
    for (size_t i = 0; i < log->sends; i++) {
        uint32_t end = log->send[i].event + log->send[i].words;

        w->events = end > w->events ? end : w->events;
    }
    w->word = emu_alloc(w->events, sizeof(*w->word));
    w->heard = emu_alloc(w->events, sizeof(*w->heard));
    if (!w->word || !w->heard)
        return FAIL(NO_MEMORY, "%u events of a tile", w->events);
    for (size_t i = 0; i < log->sends; i++) {
        const struct exchange_send *s = &log->send[i];

        for (uint32_t k = 0; k < s->words; k++)
            w->word[s->event + k] = (s->addr + 4 * k) | s->ctl;
    }
    return EMU_OK;
}

static void fault_at(struct exchange_stepper *s, enum exchange_fault_kind kind, uint32_t event,
                     uint32_t other, uint32_t addr, uint32_t other_addr)
{
    *s->fault = (struct exchange_fault){ .kind = kind,
                                         .tile = s->tile,
                                         .other = other,
                                         .event = event,
                                         .addr = addr,
                                         .other_addr = other_addr,
                                         .pc = s->mux_pc,
                                         .cycle = s->log->release + event };
}

/* Compares one word with the next of the phase's copies. */
static void compare_word(struct exchange_stepper *s, uint32_t from, uint32_t from_addr,
                         uint32_t to_addr)
{
    const struct exchange_copy *c;

    if (!s->phase)
        return;
    if (s->copy >= s->phase->first_copy[s->tile + 1]) {
        differs(s, "a word has no copy");
        return;
    }
    c = &s->phase->copy[s->copy];
    if (c->from != from || c->to != s->tile ||
        c->from_off + 4 * s->within != from_addr - s->a->mem_base ||
        c->to_off + 4 * s->within != to_addr - s->a->mem_base)
        differs(s, "a word has another copy");
    if (++s->within == c->words) {
        s->copy++;
        s->within = 0;
    }
}

static void note_clash(struct exchange_stepper *s, unsigned with, const struct exchange_fault *f)
{
    struct exchange_clash *c = &s->clash[with];

    if (c->words++)
        return;
    c->first = *f;
    c->first.kind = with ? EXCHANGE_FAULT_CLASH_FETCH : EXCHANGE_FAULT_CLASH_SEND;
    c->first.tile = s->tile;
    c->first.cycle = s->log->release + f->event;
}

/* Holds the word that goes to the pointer at an event against what the tile reads then. */
static void check_clash(struct exchange_stepper *s, uint32_t event, uint32_t from,
                        uint32_t from_addr)
{
    const struct exchange_log *log = s->log;
    const struct arch *a = s->a;
    int element = arch_clash_element(a, s->pointer);
    uint32_t sent = wire_word(&s->wire[s->tile], event) & ~3u;
    struct exchange_fault f = { .event = event,
                                .other = from,
                                .other_addr = from_addr,
                                .addr = s->pointer,
                                .value = sent,
                                .element = (uint32_t)element };

    while (s->fetch < log->fetches && log->fetch[s->fetch].event <= event)
        s->fetch++;
    f.pc = s->fetch ? log->fetch[s->fetch - 1].pc : 0;
    if (sent && arch_clash_element(a, sent) == element)
        note_clash(s, 0, &f);
    f.value = f.pc;
    for (uint32_t at = f.pc; f.pc && at < f.pc + arch_fetch_ahead_bytes(a); at += 4) {
        if (at - a->mem_base >= a->region0_bytes || arch_clash_element(a, at) != element)
            continue;
        note_clash(s, 1, &f);
        break;
    }
}

/* Whether it was at the tile being stepped. */
static int arrived_here(const struct exchange_stepper *s, const struct heard_word *there)
{
    return there->to == s->tile + 1;
}

/* One word from the mux into memory. Returns 0 on a fault. */
static int store_word(struct exchange_stepper *s, uint32_t event, uint32_t from, uint32_t from_addr)
{
    uint32_t word = (s->pointer - s->a->mem_base) / 4;
    struct heard_word *there;

    if (s->pointer < s->a->mem_base || word >= s->a->mem_bytes / 4) {
        fault_at(s, EXCHANGE_FAULT_POINTER_OUTSIDE, event, from, s->pointer, from_addr);
        return 0;
    }
    there = &s->arrival[word];
    if (arrived_here(s, there)) {
        fault_at(s, EXCHANGE_FAULT_TWICE, event, from, s->pointer, from_addr);
        return 0;
    }
    *there = (struct heard_word){ event, from, from_addr, s->tile + 1 };
    compare_word(s, from, from_addr, s->pointer);
    check_clash(s, event + s->lag, from, from_addr);
    s->pointer += 4;
    s->words_in++;
    s->last_event = event;
    return 1;
}

/* What reaches the mux from a source at an event of the tile. Returns 0 on a fault. */
static int hear(struct exchange_stepper *s, uint32_t source, uint32_t event)
{
    uint32_t me = arch_tile_physical(s->a, s->tile),
             from = (uint32_t)arch_tile_logical(s->a, source);
    int64_t sent = (int64_t)event - arch_exchange_delay(s->a, source, me);
    uint32_t word = wire_word(&s->wire[from], sent);

    if (!word) {
        fault_at(s, EXCHANGE_FAULT_SILENT, event, from, s->pointer, 0);
        return 0;
    }
    if (!(word & 3 & arch_exchange_direction(s->a, source, me))) {
        fault_at(s, EXCHANGE_FAULT_OTHER_WAY, event, from, s->pointer, word & ~3u);
        return 0;
    }
    s->wire[from].heard[sent] = 1;
    return store_word(s, event, from, word & ~3u);
}

/* Steps the tile from its first mux change to its last. */
static void step_tile(struct exchange_stepper *s)
{
    const struct exchange_log *log = s->log;
    uint32_t source = s->a->null_source;
    size_t mux = 0, pic = 0;

    for (uint32_t event = log->muxes ? log->mux[0].event : 0; mux < log->muxes; event++) {
        if (log->mux[mux].event == event) {
            source = log->mux[mux].value;
            s->mux_pc = log->mux[mux++].pc;
        }
        while (pic < log->pics && log->pic[pic].event <= event + s->lag)
            s->pointer = log->pic[pic++].value;
        if (source == s->a->null_source) {
            if (mux < log->muxes)
                event = log->mux[mux].event - 1; /* nobody is listened to until then */
            continue;
        }
        if (mux == log->muxes) {
            fault_at(s, EXCHANGE_FAULT_MUX_LEFT_ON, event,
                     (uint32_t)arch_tile_logical(s->a, source), 0, 0);
            return;
        }
        if (!hear(s, source, event))
            return;
    }
    while (pic < log->pics)
        s->pointer = log->pic[pic++].value;
}

/* Holds every word the tile sends against what has arrived for its address. */
static void check_own_sends(struct exchange_stepper *s)
{
    const struct wire *w = &s->wire[s->tile];

    for (uint32_t event = 0; event < w->events; event++) {
        uint32_t addr = w->word[event] & ~3u;
        const struct heard_word *there;

        if (!w->word[event])
            continue;
        there = &s->arrival[(addr - s->a->mem_base) / 4];
        if (!arrived_here(s, there))
            continue;
        s->overlaps = 1;
        if (event < there->event)
            continue;
        if (s->fault->kind &&
            (s->fault->event < event ||
             (s->fault->event == event && s->fault->kind < EXCHANGE_FAULT_REPLACED)))
            return;
        s->mux_pc = 0;
        for (size_t i = 0; i < s->log->muxes; i++) {
            if (s->log->mux[i].event <= event)
                s->mux_pc = s->log->mux[i].pc;
        }
        fault_at(s, EXCHANGE_FAULT_REPLACED, event, there->from, addr, there->from_addr);
        return;
    }
}

/* Where a clash is a fault, the first one counts as such. */
static void fault_of_clash(struct exchange_stepper *s)
{
    for (unsigned with = 0; with < EMU_COUNT_OF(s->clash); with++) {
        const struct exchange_clash *c = &s->clash[with];

        if (c->words && exchange_fault_before(&c->first, s->fault))
            *s->fault = c->first;
    }
}

static void compare_figures(struct exchange_stepper *s, uint32_t d)
{
    const struct exchange_phase *p = s->phase;
    uint32_t out = 0;

    if (!p)
        return;
    for (uint32_t e = 0; e < s->wire[d].events; e++)
        out += s->wire[d].word[e] != 0;
    if (s->copy != p->first_copy[d + 1])
        differs(s, "a copy has no word");
    if (s->words_in != p->words_in[d] || out != p->words_out[d])
        differs(s, "the number of words");
    if (p->first_word[d + 1] - p->first_word[d] != s->words_in)
        differs(s, "the place of the words in the staging area");
    if (s->words_in && p->pointer[d] != s->pointer)
        differs(s, "the pointer after the phase");
    if (p->end_event[d] != (s->words_in ? s->last_event + s->lag : 0))
        differs(s, "the event at which the last word is in memory");
}

static void check_tile(struct exchange_stepper *s, uint32_t d)
{
    s->log = &s->x->log[d];
    s->tile = d;
    s->lag = arch_pic_lag(s->a, arch_tile_physical(s->a, d));
    s->words_in = s->last_event = s->mux_pc = s->within = 0;
    s->fetch = 0;
    memset(s->clash, 0, sizeof(s->clash));
    s->pointer = s->log->pointer;
    s->copy = s->phase ? s->phase->first_copy[d] : 0;
    if (s->log->muxes) {
        step_tile(s);
        check_own_sends(s);
        if (arch_exchange_clash(s->a) == ARCH_CLASH_FAULT)
            fault_of_clash(s);
    }
    if (s->fault->kind == EXCHANGE_FAULT_NONE)
        compare_figures(s, d);
}

static void add_clashes(const struct exchange_stepper *s, struct exchange_clashes *list)
{
    for (unsigned with = 0; with < EMU_COUNT_OF(s->clash); with++) {
        if (!s->clash[with].words)
            continue;
        list->total++;
        list->words += s->clash[with].words;
        if (list->count < EXCHANGE_CLASHES_MAX)
            list->clash[list->count++] = s->clash[with];
    }
}

static enum emu_status check_all(struct exchange_stepper *s, struct tile *const *tile,
                                 const struct exchange_notes *notes)
{
    for (uint32_t i = 0; i < s->a->tiles; i++) {
        if (tile[i])
            TRY(fill_wire(&s->wire[i], &s->x->log[i]));
    }
    for (uint32_t d = 0; d < s->a->tiles && s->fault->kind == EXCHANGE_FAULT_NONE; d++) {
        if (tile[d]) {
            check_tile(s, d);
            if (notes && s->fault->kind == EXCHANGE_FAULT_NONE)
                add_clashes(s, notes->clashes);
        } else if (s->phase && s->phase->first_copy[d] != s->phase->first_copy[d + 1])
            differs(s, "a tile that takes no part receives");
    }
    if (s->phase && s->fault->kind == EXCHANGE_FAULT_NONE && s->overlaps != s->phase->overlaps)
        differs(s, "whether the exchange is in place");
    return EMU_OK;
}

/* Words of the addresses that no tile has taken at any event: a word may be sent again and again so
 * that each listener takes it when it suits him. there: [words of memory], all 0 before and after.
 */
static void count_unheard(const struct arch *a, const struct wire *w, uint8_t *there,
                          uint64_t *unheard)
{
    for (uint32_t e = 0; e < w->events; e++) {
        if (w->word[e] && w->heard[e])
            there[((w->word[e] & ~3u) - a->mem_base) / 4] = 1;
    }
    for (uint32_t e = 0; e < w->events; e++)
        *unheard += w->word[e] && !there[((w->word[e] & ~3u) - a->mem_base) / 4];
    for (uint32_t e = 0; e < w->events; e++) {
        if (w->word[e])
            there[((w->word[e] & ~3u) - a->mem_base) / 4] = 0;
    }
}

enum emu_status exchange_check(const struct exchange *x, struct tile *const *tile,
                               const struct exchange_phase *p, struct exchange_fault *fault,
                               const char **differ, const struct exchange_notes *notes)
{
    struct exchange_stepper s = {
        .a = x->arch, .x = x, .phase = p, .differ = differ, .fault = fault
    };
    uint8_t *there = emu_alloc(x->arch->mem_bytes / 4, sizeof(*there));
    enum emu_status status;

    *fault = (struct exchange_fault){ .kind = EXCHANGE_FAULT_NONE };
    *differ = NULL;
    s.wire = emu_alloc(x->tiles, sizeof(*s.wire));
    s.arrival = emu_alloc(x->arch->mem_bytes / 4, sizeof(*s.arrival));
    if (s.wire && s.arrival && there)
        status = check_all(&s, tile, notes);
    else
        status = FAIL(NO_MEMORY, "the word-by-word exchange of %u tiles", x->tiles);
    for (uint32_t i = 0; s.wire && i < x->tiles; i++) {
        if (notes && status == EMU_OK && fault->kind == EXCHANGE_FAULT_NONE)
            count_unheard(s.a, &s.wire[i], there, &notes->unheard[i]);
        ss_free(s.wire[i].word);
        ss_free(s.wire[i].heard);
    }
    ss_free(s.wire);
    ss_free(s.arrival);
    ss_free(there);
    return status;
}
