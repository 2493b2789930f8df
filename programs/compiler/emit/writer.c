/* writer.c - instructions, addresses in registers, waits and votes of the code of a tile. */
#include "programs/compiler/emit/writer.h"

#include "emu/isa/insn_ops.h"

enum { SETZI_BITS = 20, SANS_VOTES = 2 };

/* ---- instructions ---- */

void writer_insn(struct writer *w, struct insn in)
{
    code_insn(w->b, &in);
}

void writer_sync(struct writer *w, int zone)
{
    writer_insn(w, (struct insn){ .op = INSN_sync, .i = zone });
}

void writer_constant(struct writer *w, unsigned m, uint32_t value)
{
    uint32_t high = value >> SETZI_BITS << SETZI_BITS;

    writer_insn(w,
                (struct insn){ .op = INSN_setzi_m, .d = (uint8_t)m, .i = (int32_t)(value - high) });
    if (high)
        writer_insn(w,
                    (struct insn){
                        .op = INSN_or_mh12, .d = (uint8_t)m, .a = (uint8_t)m, .i = (int32_t)high });
}

static void put_address(struct writer *w, unsigned m, uint32_t addr)
{
    writer_insn(w, (struct insn){ .op = INSN_setzi_m,
                                  .d = (uint8_t)m,
                                  .i = (int32_t)(addr & ((1u << SETZI_BITS) - 1)) });
}

uint32_t writer_address_of(const struct writer *w, uint32_t object)
{
    return w->object ? w->object[object].addr : 0;
}

void writer_address(struct writer *w, unsigned m, uint32_t object)
{
    put_address(w, m, writer_address_of(w, object));
}

void writer_load(struct writer *w, unsigned m, unsigned base, uint32_t word)
{
    writer_insn(w, (struct insn){ .op = INSN_ld32_mi,
                                  .d = (uint8_t)m,
                                  .a = (uint8_t)base,
                                  .b = M_ZERO,
                                  .i = (int32_t)word });
}

void writer_store(struct writer *w, unsigned m, unsigned base, uint32_t word)
{
    writer_insn(w, (struct insn){ .op = INSN_st32_mi,
                                  .s = (uint8_t)m,
                                  .a = (uint8_t)base,
                                  .b = M_ZERO,
                                  .i = (int32_t)word });
}

void writer_put(struct writer *w, unsigned csr, unsigned m)
{
    writer_insn(w, (struct insn){ .op = INSN_put, .i = (int32_t)csr, .a = (uint8_t)m });
}

void writer_nop(struct writer *w)
{
    writer_insn(w, (struct insn){ .op = INSN_nop });
}

/* ---- what is known, what is awaited ---- */

void writer_forget(struct writer *w)
{
    for (unsigned m = 0; m < M_CACHED; m++)
        w->known[m] = (struct known){ KNOWN_NOT, 0 };
}

static int knows(const struct writer *w, unsigned m, struct known k)
{
    return w->known[m].kind == k.kind && w->known[m].number == k.number;
}

void writer_object(struct writer *w, unsigned m, uint32_t object)
{
    struct known k = { KNOWN_OBJECT, object };

    if (knows(w, m, k))
        return;
    writer_address(w, m, object);
    w->known[m] = k;
}

/* A register for an entry: a free one if there is any, else the registers in turn. */
static unsigned choose_entry(struct writer *w)
{
    unsigned m;

    for (m = M_ENTRY; m < M_ENTRY + M_ENTRIES; m++) {
        if (w->known[m].kind == KNOWN_NOT)
            return m;
    }
    m = M_ENTRY + w->next_entry;
    w->next_entry = (w->next_entry + 1) % M_ENTRIES;
    return m;
}

static void load_entry(struct writer *w, unsigned m, uint32_t codelet)
{
    struct known k = { KNOWN_ENTRY, codelet };

    if (knows(w, m, k))
        return;
    put_address(w, m, w->entry[codelet]);
    w->known[m] = k;
}

unsigned writer_entry(struct writer *w, uint32_t codelet)
{
    struct known k = { KNOWN_ENTRY, codelet };
    unsigned m;

    for (m = M_ENTRY; m < M_ENTRY + M_ENTRIES; m++) {
        if (knows(w, m, k))
            return m;
    }
    m = choose_entry(w);
    load_entry(w, m, codelet);
    return m;
}

void writer_await(struct writer *w, enum wait wait, enum category category, uint32_t owner)
{
    w->wait = wait;
    w->wait_for = (struct code_range){ (uint32_t)w->b->word.count, (uint32_t)category, owner };
    w->wait_events = 0;
}

void writer_await_words(struct writer *w, uint32_t events, enum category category, uint32_t owner)
{
    writer_await(w, WAIT_WORDS, category, owner);
    w->wait_events = events;
}

/* Public code votes for one or two syncs at once, never for more. */
static void put_votes(struct writer *w)
{
    code_range(w->b, CATEGORY_CONTROL_CODE, w->votes_owner);
    for (; w->votes > SANS_VOTES; w->votes--)
        writer_sync(w, SYNC_INTERNAL);
    writer_insn(w, (struct insn){ .op = INSN_sans, .i = (int32_t)w->votes - 1 });
    w->votes = 0;
    writer_await(w, WAIT_VOTES, CATEGORY_CONTROL_CODE, w->votes_owner);
}

void writer_prepare(struct writer *w)
{
    if (w->wait == WAIT_NONE && w->votes > 1)
        put_votes(w);
}

/* Events that pass before RECV has to issue, so that the code after it begins when the last word is
 * in memory. Every word since the exchange has taken one, and RECV takes one. */
static uint32_t events_left(const struct writer *w)
{
    uint32_t taken = (uint32_t)w->b->word.count - w->wait_for.word + 1;

    return w->wait == WAIT_WORDS && w->wait_events > taken ? w->wait_events - taken : 0;
}

static void settle_wait(struct writer *w)
{
    static const int zone[] = {
        [WAIT_WORKERS] = SYNC_LOCAL, [WAIT_WORDS] = SYNC_RECV, [WAIT_VOTES] = SYNC_ANS
    };
    uint32_t events = events_left(w);

    if (w->wait == WAIT_NONE)
        return;
    code_range(w->b, w->wait_for.category, w->wait_for.owner);
    if (events)
        writer_insn(w, (struct insn){ .op = INSN_delay, .i = (int32_t)events - 1 });
    writer_sync(w, zone[w->wait]);
    w->wait = WAIT_NONE;
}

/* A single sync needs no vote. */
void writer_settle(struct writer *w)
{
    settle_wait(w);
    if (w->votes > 1) {
        put_votes(w);
        settle_wait(w);
    } else if (w->votes) {
        code_range(w->b, CATEGORY_CONTROL_CODE, w->votes_owner);
        writer_sync(w, SYNC_INTERNAL);
        w->votes = 0;
    }
}

uint32_t writer_settle_words(const struct writer *w)
{
    return (w->wait != WAIT_NONE) + (events_left(w) > 0) + w->votes;
}

void writer_vote(struct writer *w, int32_t votes, uint32_t owner)
{
    if (!votes)
        return;
    w->votes += (uint32_t)votes;
    w->votes_owner = owner;
}

void writer_label(struct writer *w, uint32_t label)
{
    writer_settle(w);
    code_place(w->b, label);
    writer_forget(w);
}

void writer_branch(struct writer *w, unsigned op, unsigned m, uint32_t label)
{
    struct insn in = { .op = (uint16_t)op };

    if (op == INSN_brnzdec)
        in.x = (uint8_t)m;
    else
        in.a = (uint8_t)m;
    code_insn_label(w->b, in, label);
}

/* ---- loops ---- */

void writer_loop_begin(struct writer *w, uint32_t label, struct writer_loop *l)
{
    if (l->launches) {
        l->entry = writer_entry(w, l->codelet);
        writer_object(w, M_STATE, l->state);
    }
    writer_label(w, label);
    if (l->launches) { /* here and at the end */
        w->known[l->entry] = (struct known){ KNOWN_ENTRY, l->codelet };
        w->known[M_STATE] = (struct known){ KNOWN_OBJECT, l->state };
    }
}

void writer_loop_end(struct writer *w, const struct writer_loop *l)
{
    if (!l->launches)
        return;
    load_entry(w, l->entry, l->codelet);
    writer_object(w, M_STATE, l->state);
}
