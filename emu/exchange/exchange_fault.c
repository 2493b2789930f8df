/* exchange_fault.c - faults of the fabric: names, sentences, which one is reported, and how it gets
 * into the tile.
 */
#include "emu/exchange/exchange_private.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    const char *name, *text;
} rows[EXCHANGE_FAULT_KINDS] = {
#define EXCHANGE_FAULT(name, text) { #name, text },
#include "emu/exchange/exchange_fault.def"
#undef EXCHANGE_FAULT
};

const char *exchange_fault_name(enum exchange_fault_kind k)
{
    return (unsigned)k < EXCHANGE_FAULT_KINDS ? rows[k].name : "?";
}

const char *exchange_fault_text(enum exchange_fault_kind k)
{
    return (unsigned)k < EXCHANGE_FAULT_KINDS ? rows[k].text : "?";
}

int exchange_fault_before(const struct exchange_fault *a, const struct exchange_fault *b)
{
    if (b->kind == EXCHANGE_FAULT_NONE || a->event != b->event)
        return b->kind == EXCHANGE_FAULT_NONE || a->event < b->event;
    return a->kind < b->kind;
}

int exchange_fault_equal(const struct exchange_fault *a, const struct exchange_fault *b)
{
    return a->kind == b->kind && a->tile == b->tile && a->other == b->other &&
           a->is_far == b->is_far && a->chip == b->chip && a->event == b->event &&
           a->addr == b->addr && a->other_addr == b->other_addr && a->value == b->value &&
           a->element == b->element && a->pc == b->pc && a->cycle == b->cycle;
}

/* The part after "tile 17 ". */
static int print_what(const struct exchange_fault *f, char *out, size_t bytes)
{
    char when[64];

    snprintf(when, sizeof(when), "at event %u (cycle %" PRIu64 ")", f->event, f->cycle);
    switch (f->kind) {
    case EXCHANGE_FAULT_SILENT:
        return snprintf(
            out, bytes,
            "listens to tile %u %s but it sends nothing then; the word would go to 0x%x", f->other,
            when, f->addr);
    case EXCHANGE_FAULT_OTHER_WAY:
        return snprintf(
            out, bytes,
            "listens to tile %u %s but it sends the word at 0x%x only into the other direction",
            f->other, when, f->other_addr);
    case EXCHANGE_FAULT_POINTER_OUTSIDE:
        return snprintf(
            out, bytes,
            "receives a word of tile %u (its 0x%x) %s for 0x%x, which is outside tile memory",
            f->other, f->other_addr, when, f->addr);
    case EXCHANGE_FAULT_TWICE:
        return snprintf(out, bytes, "receives a second word for 0x%x %s, from 0x%x of tile %u",
                        f->addr, when, f->other_addr, f->other);
    case EXCHANGE_FAULT_REPLACED:
        return snprintf(
            out, bytes,
            "sends its word at 0x%x %s but the replacement, 0x%x of tile %u, has arrived by then",
            f->addr, when, f->other_addr, f->other);
    case EXCHANGE_FAULT_CLASH_SEND:
    case EXCHANGE_FAULT_CLASH_FETCH:
        return snprintf(
            out, bytes,
            "stores a word of tile %u (its 0x%x) at 0x%x in memory element %u %s while it %s 0x%x "
            "there",
            f->other, f->other_addr, f->addr, f->element, when,
            f->kind == EXCHANGE_FAULT_CLASH_SEND ? "sends its word at" : "fetches instructions at",
            f->value);
    case EXCHANGE_FAULT_MUX_LEFT_ON:
        return snprintf(out, bytes,
                        "listens to tile %u %s and does not stop before the exchange ends",
                        f->other, when);
    case EXCHANGE_FAULT_MISSING_RECV:
        return snprintf(out, bytes,
                        "ends its superstep %s but has not ended its exchange with RECV", when);
    case EXCHANGE_FAULT_OUTSIDE_OUTER:
        return snprintf(out, bytes,
                        "sends words to tile %u of chip %u %s but no sync of several chips has "
                        "begun its exchange",
                        f->other, f->chip, when);
    case EXCHANGE_FAULT_NO_CHIP:
        return snprintf(out, bytes, "sends words to tile %u of chip %u %s: %s (of %u)", f->other,
                        f->chip, when, "it is its own, or there is none", f->value);
    case EXCHANGE_FAULT_NO_TILE:
        return snprintf(out, bytes, "sends words to tile %u of chip %u %s, which has no such tile",
                        f->other, f->chip, when);
    case EXCHANGE_FAULT_CHIP_ADDRESS:
        return snprintf(
            out, bytes,
            "sends %u words to 0x%x of tile %u of chip %u %s, which is outside its memory",
            f->value, f->other_addr, f->other, f->chip, when);
    case EXCHANGE_FAULT_LENGTH:
        return snprintf(
            out, bytes,
            "has sent the header of %u words for tile %u of chip %u, and %s does not send them",
            f->value, f->other, f->chip, when);
    case EXCHANGE_FAULT_CHIP_TWICE:
        return snprintf(out, bytes,
                        "receives a second word for 0x%x %s, from 0x%x of tile %u of chip %u",
                        f->addr, when, f->other_addr, f->other, f->chip);
    case EXCHANGE_FAULT_LEFT_OVER:
        return snprintf(out, bytes,
                        "receives %u words more than it waits for %s, the last for 0x%x from 0x%x "
                        "of tile %u of "
                        "chip %u",
                        f->value, when, f->addr, f->other_addr, f->other, f->chip);
    case EXCHANGE_FAULT_CHIP_AND_HOST:
        return snprintf(out, bytes,
                        "receives words from 0x%x of tile %u of chip %u %s while its transfers "
                        "with the host are "
                        "under way",
                        f->other_addr, f->other, f->chip, when);
    case EXCHANGE_FAULT_SEND_OUTSIDE:
    case EXCHANGE_FAULT_HOST_HEADER:
        return snprintf(out, bytes, "%s: %s: %u words from 0x%x", when, rows[f->kind].text,
                        f->value, f->addr);
    case EXCHANGE_FAULT_WORKERS:
    case EXCHANGE_FAULT_OUTSIDE_PHASE:
    case EXCHANGE_FAULT_NO_HOST_MEMORY:
        return snprintf(out, bytes, "%s: %s", when, rows[f->kind].text);
    default:
        return snprintf(out, bytes, "%s: %s: 0x%x", when, rows[f->kind].text, f->value);
    }
}

int exchange_fault_print(const struct exchange_fault *f, char *out, size_t bytes)
{
    char what[256];

    if (f->kind == EXCHANGE_FAULT_NONE)
        return snprintf(out, bytes, "%s", rows[f->kind].text);
    print_what(f, what, sizeof(what));
    return snprintf(out, bytes, "tile %u %s", f->tile, what);
}

enum fault exchange_raise(struct exchange_log *log, struct tile *t, const struct exchange_fault *f)
{
    enum fault kind = f->kind == EXCHANGE_FAULT_NO_HOST_MEMORY ? FAULT_MEMERR : FAULT_EXERR;

    if (log->fault.kind == EXCHANGE_FAULT_NONE) {
        log->fault = *f;
        log->fault.tile = log->tile;
        log->fault.pc = t->pc[LANE_SUPER];
        log->fault.cycle = log->release + f->event;
    }
    return tile_fault(t, LANE_SUPER, kind, f->addr, rows[f->kind].text);
}

const struct exchange_fault *exchange_last_fault(struct exchange *x)
{
    if (x->fault.kind != EXCHANGE_FAULT_NONE)
        return &x->fault;
    for (uint32_t i = 0; i < x->tiles; i++) {
        if (x->log[i].fault.kind != EXCHANGE_FAULT_NONE)
            return &x->log[i].fault;
    }
    return NULL;
}
