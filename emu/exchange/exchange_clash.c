/* exchange_clash.c - words that are stored in a memory element from which their tile sends, or
 * fetches instructions, at that event (docs/exchange.md 4).
 *
 * Walks the words of a tile in the order in which they are stored, and beside them what the tile
 * sends and executes. Used where a clash is a fault; the checking mode counts clashes word by word
 * (exchange_check.c).
 */
#include "emu/arch/arch_elements.h"
#include "emu/exchange/exchange_private.h"

/* What a tile reads from its memory, event after event. */
struct reads {
    const struct exchange *x;
    const struct exchange_log *log;
    size_t send, fetch; /* neither is over before the event looked at */
};

/* Whether the tile sends a word from this element at an event; *addr is then its address. */
static int sends_from(struct reads *r, uint32_t event, int element, uint32_t *addr)
{
    const struct exchange_log *log = r->log;
    const struct exchange_send *s;

    while (r->send < log->sends && log->send[r->send].event + log->send[r->send].words <= event)
        r->send++;
    s = &log->send[r->send];
    if (r->send == log->sends || s->event > event)
        return 0;
    *addr = s->addr + 4 * (event - s->event);
    return arch_clash_element(r->x->arch, *addr) == element;
}

/* The entry of log->fetch that counts at an event, NULL before the first. */
static const struct exchange_fetch *executes(struct reads *r, uint32_t event)
{
    const struct exchange_log *log = r->log;

    while (r->fetch + 1 < log->fetches && log->fetch[r->fetch + 1].event <= event)
        r->fetch++;
    return log->fetches && log->fetch[r->fetch].event <= event ? &log->fetch[r->fetch] : NULL;
}

/* Whether one of the bytes that are fetched with the instruction at pc lies in an element. */
static int fetches_from(const struct arch *a, uint32_t pc, int element)
{
    uint32_t end = a->mem_base + a->region0_bytes;
    uint32_t last =
        end - pc < arch_fetch_ahead_bytes(a) ? end - 1 : pc + arch_fetch_ahead_bytes(a) - 1;

    return pc < end && element >= arch_clash_element(a, pc) &&
           element <= arch_clash_element(a, last);
}

/* Holds a word that is stored at an event against what the tile reads then. */
static enum exchange_fault_kind clash_of(struct reads *r, uint32_t event, struct exchange_fault *f)
{
    const struct exchange_fetch *now = executes(r, event);
    int element = arch_clash_element(r->x->arch, f->addr);

    f->event = event;
    f->element = (uint32_t)element;
    f->pc = now ? now->pc : 0;
    f->value = f->pc;
    if (sends_from(r, event, element, &f->value))
        return EXCHANGE_FAULT_CLASH_SEND;
    f->value = f->pc;
    return now && fetches_from(r->x->arch, now->pc, element) ? EXCHANGE_FAULT_CLASH_FETCH
                                                             : EXCHANGE_FAULT_NONE;
}

void exchange_find_clash(const struct exchange *x, uint32_t tile, const struct exchange_copy *copy,
                         const uint32_t *arrive, size_t n, struct exchange_fault *out)
{
    struct reads r = { .x = x, .log = &x->log[tile] };
    uint32_t base = x->arch->mem_base;

    out->kind = EXCHANGE_FAULT_NONE;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < copy[i].words; k++) {
            struct exchange_fault f = { .tile = tile,
                                        .other = copy[i].from,
                                        .addr = base + copy[i].to_off + 4 * k,
                                        .other_addr = base + copy[i].from_off + 4 * k };

            f.kind = clash_of(&r, arrive[i] + k + (uint32_t)x->lag[tile], &f);
            if (f.kind == EXCHANGE_FAULT_NONE)
                continue;
            f.cycle = r.log->release + f.event;
            *out = f;
            return;
        }
    }
}

int exchange_watches_clashes(const struct exchange *x)
{
    return x->options.check || arch_exchange_clash(x->arch) == ARCH_CLASH_FAULT;
}

struct exchange_clashes exchange_clashes(const struct exchange *x)
{
    return x->clashes;
}
