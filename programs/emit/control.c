/* control.c - one tile's walk over the operations of a program.
 *
 * Waiting is written late. What a launch, an exchange or a vote for syncs has to wait for is kept
 * in `wait` until the next thing that needs it, so that constants of what follows are loaded before
 * the wait, while workers or the fabric are busy. Syncs in which the tile has no part are counted
 * in `votes` and become one `sans`. Both are settled before any label and any branch.
 *
 * Registers: $m0 state of a supervisor codelet; $m1 state, $m2 .. $m4 entries of launches; $m5 for
 * predicates and counters in memory; $m6 .. $m9 counters; $m10 return address; $m11 the words of
 * the stack, if there are any.
 */
#include "programs/emit/control.h"

#include "programs/emit/exchange_code.h"

enum {
    M_SUPERVISOR_STATE = 0,
    M_STATE = 1,
    M_ENTRY = 2,
    M_ENTRIES = 3,
    M_SCRATCH = 5,
    M_COUNTER = 6,
    M_COUNTERS = 4,
    M_RETURN = 10,
    M_STACK = 11,
    M_ZERO = 15,
    M_CACHED = 5 /* $m0 .. $m4 are known to hold addresses */
};

enum { HOST_SEND_CTL = 4, HOST_HEADER_WORDS = 2, SETZI_BITS = 20, DELAY_MAX = 1 << 19 };

/* What is known of a register: the address of an object or of a codelet, by number. */
enum known_kind { KNOWN_NOT, KNOWN_OBJECT, KNOWN_ENTRY };
struct known {
    enum known_kind kind;
    uint32_t number;
};

enum wait { WAIT_NONE, WAIT_WORKERS, WAIT_WORDS, WAIT_VOTES };

/* The header of a request, written behind the code. */
struct host_header_place {
    uint32_t request, label, owner;
};

struct walk {
    const struct emit_plan *p;
    const struct lowered *l;
    struct code_buffer *b;
    enum control_mode mode;
    uint32_t tile; /* index in used_tile */
    unsigned group;
    struct known known[M_CACHED];
    unsigned next_entry; /* of M_ENTRIES, the one to be given away next */
    enum wait wait;
    struct code_range wait_for; /* category and owner of the wait */
    uint32_t votes, votes_owner;
    uint32_t break_label, depth;
    uint8_t *has_part; /* by function; owned */
    uint8_t *needed;   /* functions called so far, 2: written; owned */
    uint32_t *label;   /* of functions; owned */
    uint32_t stack_label, stack_words;
    VEC(uint32_t) stack_owner;            /* of its words; owned */
    VEC(struct host_header_place) header; /* owned */
};

/* ---- instructions ---- */

static void put(struct walk *w, struct insn in)
{
    code_insn(w->b, &in);
}

static void put_sync(struct walk *w, int zone)
{
    put(w, (struct insn){ .op = OP_sync, .i = zone });
}

/* $m = value, of any 32 bits */
static void put_constant(struct walk *w, unsigned m, uint32_t value)
{
    uint32_t high = value >> SETZI_BITS << SETZI_BITS;

    put(w, (struct insn){ .op = OP_setzi_m, .d = (uint8_t)m, .i = (int32_t)(value - high) });
    if (high)
        put(w, (struct insn){
                   .op = OP_or_mh12, .d = (uint8_t)m, .a = (uint8_t)m, .i = (int32_t)high });
}

static void put_address(struct walk *w, unsigned m, uint32_t addr)
{
    put(w, (struct insn){ .op = OP_setzi_m,
                          .d = (uint8_t)m,
                          .i = (int32_t)(addr & ((1u << SETZI_BITS) - 1)) });
}

static uint32_t address_of(const struct walk *w, uint32_t object)
{
    return w->mode == CONTROL_FINAL ? w->l->object.at[object].addr : 0;
}

static void put_load(struct walk *w, unsigned m, unsigned base, uint32_t word)
{
    put(w, (struct insn){ .op = OP_ld32_mi,
                          .d = (uint8_t)m,
                          .a = (uint8_t)base,
                          .b = M_ZERO,
                          .i = (int32_t)word });
}

static void put_store(struct walk *w, unsigned m, unsigned base, uint32_t word)
{
    put(w, (struct insn){ .op = OP_st32_mi,
                          .s = (uint8_t)m,
                          .a = (uint8_t)base,
                          .b = M_ZERO,
                          .i = (int32_t)word });
}

static void put_nop(struct walk *w)
{
    put(w, (struct insn){ .op = OP_or_mu12, .d = M_ZERO, .a = M_ZERO });
}

/* ---- what is known, what is awaited ---- */

static void forget(struct walk *w)
{
    for (unsigned m = 0; m < M_CACHED; m++)
        w->known[m] = (struct known){ KNOWN_NOT, 0 };
}

static int knows(const struct walk *w, unsigned m, struct known k)
{
    return w->known[m].kind == k.kind && w->known[m].number == k.number;
}

static void load_object(struct walk *w, unsigned m, uint32_t object)
{
    struct known k = { KNOWN_OBJECT, object };

    if (knows(w, m, k))
        return;
    put_address(w, m, address_of(w, object));
    w->known[m] = k;
}

/* The register that holds the entry of a codelet. */
static unsigned load_entry(struct walk *w, uint32_t codelet)
{
    struct known k = { KNOWN_ENTRY, codelet };
    unsigned m;

    for (m = M_ENTRY; m < M_ENTRY + M_ENTRIES; m++) {
        if (knows(w, m, k))
            return m;
    }
    m = M_ENTRY + w->next_entry;
    w->next_entry = (w->next_entry + 1) % M_ENTRIES;
    put_address(w, m, w->p->in->codelets->entry[codelet]);
    w->known[m] = k;
    return m;
}

static void await(struct walk *w, enum wait wait, enum category category, uint32_t owner)
{
    w->wait = wait;
    w->wait_for = (struct code_range){ 0, (uint32_t)category, owner };
}

static void put_votes(struct walk *w)
{
    code_range(w->b, CATEGORY_CONTROL_CODE, w->votes_owner);
    put(w, (struct insn){ .op = OP_sans, .i = (int32_t)w->votes - 1 });
    w->votes = 0;
    await(w, WAIT_VOTES, CATEGORY_CONTROL_CODE, w->votes_owner);
}

/* To be called before constants of what follows are loaded: votes are given first, so that nobody
 * waits for those constants. */
static void prepare(struct walk *w)
{
    if (w->wait == WAIT_NONE && w->votes > 1)
        put_votes(w);
}

static void settle_wait(struct walk *w)
{
    static const int zone[] = {
        [WAIT_WORKERS] = SYNC_LOCAL, [WAIT_WORDS] = SYNC_RECV, [WAIT_VOTES] = SYNC_ANS
    };

    if (w->wait == WAIT_NONE)
        return;
    code_range(w->b, w->wait_for.category, w->wait_for.owner);
    put_sync(w, zone[w->wait]);
    w->wait = WAIT_NONE;
}

/* Everything before is over when what follows begins. A single sync needs no vote. */
static void settle(struct walk *w)
{
    settle_wait(w);
    if (w->votes > 1) {
        put_votes(w);
        settle_wait(w);
    } else if (w->votes) {
        code_range(w->b, CATEGORY_CONTROL_CODE, w->votes_owner);
        put_sync(w, SYNC_INTERNAL);
        w->votes = 0;
    }
}

/* Words that settle() will write. */
static uint32_t settle_words(const struct walk *w)
{
    return (w->wait != WAIT_NONE) + (w->votes > 1 ? 2 : w->votes);
}

static void add_votes(struct walk *w, int32_t votes, uint32_t owner)
{
    if (!votes)
        return;
    if (w->votes + (uint32_t)votes > VOTES_MAX)
        settle(w);
    w->votes += (uint32_t)votes;
    w->votes_owner = owner;
}

/* A place that is reached from elsewhere. */
static void place_label(struct walk *w, uint32_t label)
{
    settle(w);
    code_place(w->b, label);
    forget(w);
}

static void put_branch(struct walk *w, enum insn_op op, unsigned m, uint32_t label)
{
    struct insn in = { .op = (uint16_t)op };

    if (op == OP_brnzdec)
        in.x = (uint8_t)m;
    else
        in.a = (uint8_t)m;
    code_insn_label(w->b, in, label);
}

/* ---- work lists of the walk ---- */

static int fail_sticky(struct walk *w, enum emu_status s)
{
    if (w->b->status == EMU_OK)
        w->b->status = s;
    return w->b->status != EMU_OK;
}

/* A new word of the stack. */
static uint32_t stack_word(struct walk *w, uint32_t owner)
{
    if (!fail_sticky(w, VEC_PUSH(&w->stack_owner, owner)))
        return w->stack_words++;
    return 0;
}

static int range_has_part(const struct walk *w, uint32_t first, uint32_t end)
{
    const struct emit_plan *p = w->p;

    if (emit_plan_first_part(p, w->tile, first, end))
        return 1;
    for (uint32_t k = 0; k < p->call_ops; k++) {
        const struct op *o = &w->l->op.at[p->call_op[k]];

        if (p->call_op[k] >= first && p->call_op[k] < end && o->groups >> w->group & 1 &&
            w->has_part[o->n])
            return 1;
    }
    return 0;
}

/* Whether [first, end) becomes code on this tile. */
static int range_has_code(const struct walk *w, uint32_t first, uint32_t end)
{
    return range_has_part(w, first, end) || emit_plan_votes(w->p, w->group, first, end) != 0;
}

/* Whether the code of [first, end) will change the return address: at least when it does. */
static int range_calls(const struct walk *w, uint32_t first, uint32_t end)
{
    const struct emit_plan *p = w->p;
    const struct tile_part *part = emit_plan_first_part(p, w->tile, first, end);

    for (; part && part < &p->part[p->part_first[w->tile + 1]] && part->op < end; part++) {
        const struct op *o = &w->l->op.at[part->op];

        for (uint32_t k = 0; k < part->count && o->kind == OP_CALLS; k++) {
            const struct call *c = &w->l->call.at[part->first + k];

            if (codelet_table[c->codelet].kind == CODELET_SUPERVISOR)
                return 1;
        }
    }
    for (uint32_t k = 0; k < p->call_ops; k++) {
        if (p->call_op[k] >= first && p->call_op[k] < end)
            return 1;
    }
    return 0;
}

/* ---- operations ---- */

static void emit_call(struct walk *w, const struct call *c, uint32_t owner)
{
    unsigned entry;

    prepare(w);
    if (codelet_table[c->codelet].kind == CODELET_SUPERVISOR) {
        code_range(w->b, CATEGORY_CONTROL_CODE, owner);
        load_object(w, M_SUPERVISOR_STATE, c->state);
        settle(w);
        code_range(w->b, CATEGORY_CONTROL_CODE, owner);
        put(w, (struct insn){ .op = OP_call,
                              .d = M_RETURN,
                              .i = (int32_t)w->p->in->codelets->entry[c->codelet] });
        forget(w);
        return;
    }
    code_range(w->b, CATEGORY_CONTROL_CODE, owner);
    entry = load_entry(w, c->codelet);
    load_object(w, M_STATE, c->state);
    settle(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, owner);
    put(w, (struct insn){ .op = OP_runall, .a = (uint8_t)entry, .b = M_STATE });
    await(w, WAIT_WORKERS, CATEGORY_CONTROL_CODE, owner);
}

static void emit_calls(struct walk *w, const struct tile_part *part, const struct op *o)
{
    uint32_t mark = code_mark(w->b, o->name);

    for (uint32_t k = 0; k < part->count; k++)
        emit_call(w, &w->l->call.at[part->first + k], o->name);
    code_unmark(w->b, mark);
}

/* A sync in which the tile has no part. */
static void emit_idle_sync(struct walk *w, const struct op *o)
{
    if (emit_plan_zone(w->p, o) == SYNC_INTERNAL) {
        add_votes(w, 1, o->name);
        return;
    }
    settle(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, o->name);
    put_sync(w, SYNC_CHIP);
}

static uint32_t plan_address(void *context, struct plan_addr a)
{
    const struct walk *w = context;

    return (uint32_t)(address_of(w, a.base) + a.bytes);
}

static void emit_exchange_words(struct walk *w, const struct tile_schedule *s)
{
    uint32_t words = exchange_code_bytes(&s->plan) / ISA_WORD_BYTES;
    uint32_t *word;

    EMU_ASSERT(exchange_code_bytes(&s->plan) == s->bytes);
    word = emu_alloc(words + 1, sizeof(*word));
    if (!word) {
        fail_sticky(w, FAIL(NO_MEMORY, "the code of an exchange"));
        return;
    }
    if (w->mode == CONTROL_FINAL)
        fail_sticky(w, exchange_encode(&s->plan, plan_address, w, word));
    for (uint32_t i = 0; i < words; i++)
        code_word(w->b, word[i]);
    emu_free(word);
}

/* Whether the code must begin at a multiple of 8. */
static int has_two_word_code(const struct exchange_plan *p)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->code[i].op == PLAN_SENDPICP)
            return 1;
    }
    return 0;
}

static void emit_exchange(struct walk *w, const struct tile_part *part, const struct op *o,
                          uint32_t op)
{
    const struct tile_schedule *s = part->count ? &w->p->in->schedule[op].tile[part->first] : NULL;
    uint32_t mark = code_mark(w->b, o->name);
    size_t at = w->b->word.count + settle_words(w) + 1;

    if (s && has_two_word_code(&s->plan) && at % 2) {
        code_range(w->b, CATEGORY_EXCHANGE_CODE, o->name);
        put_nop(w); /* hidden behind what is awaited */
    }
    settle(w);
    code_range(w->b, CATEGORY_EXCHANGE_CODE, o->name);
    put_sync(w, emit_plan_zone(w->p, o));
    if (s) {
        emit_exchange_words(w, s);
        await(w, WAIT_WORDS, CATEGORY_EXCHANGE_CODE, o->name);
    }
    code_unmark(w->b, mark);
}

/* Waits for n events. */
static void put_delay(struct walk *w, uint64_t n)
{
    while (n) {
        uint32_t part = n < DELAY_MAX ? (uint32_t)n : DELAY_MAX;

        put(w, (struct insn){ .op = OP_delay, .i = (int32_t)part - 1 });
        n -= part;
    }
}

/* All tiles issue their request of a round at the same event. */
static void emit_host(struct walk *w, const struct tile_part *part, const struct op *o)
{
    uint32_t mark = code_mark(w->b, o->name);
    uint64_t step = w->p->arch->host_send_min_events;
    uint32_t round = 0;

    if (step < HOST_HEADER_WORDS)
        step = HOST_HEADER_WORDS;
    settle(w);
    code_range(w->b, CATEGORY_HOST_CODE, o->name);
    put_sync(w, emit_plan_zone(w->p, o));
    for (uint32_t k = 0; k < part->count; k++) {
        const struct host_request *r = &w->l->host_request.at[part->first + k];
        struct host_header_place h = { part->first + k, code_label(w->b), o->name };

        put_delay(w, step * (r->round - round));
        round = r->round + 1;
        code_insn_label(
            w->b, (struct insn){ .op = OP_send, .i = HOST_HEADER_WORDS - 1, .k = HOST_SEND_CTL },
            h.label);
        fail_sticky(w, VEC_PUSH(&w->header, h));
    }
    if (part->count)
        await(w, WAIT_WORDS, CATEGORY_HOST_CODE, o->name);
    code_unmark(w->b, mark);
}

/* ---- control flow ---- */

static void walk_range(struct walk *w, uint32_t first, uint32_t end);

static void emit_counted_loop(struct walk *w, uint32_t op)
{
    const struct op *o = &w->l->op.at[op];
    uint32_t top = code_label(w->b), level = w->depth, word = 0;
    int in_memory = level >= M_COUNTERS;
    unsigned m = in_memory ? M_SCRATCH : M_COUNTER + level;

    prepare(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, o->name);
    put_constant(w, m, o->n - 1);
    place_label(w, top);
    code_range(w->b, CATEGORY_CONTROL_CODE, o->name);
    if (in_memory) {
        word = stack_word(w, o->name);
        put_store(w, m, M_STACK, word);
    }
    w->depth++;
    walk_range(w, op + 1, w->p->mate[op]);
    w->depth--;
    prepare(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, o->name);
    if (in_memory)
        put_load(w, m, M_STACK, word);
    settle(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, o->name);
    put_branch(w, OP_brnzdec, m, top);
}

static void emit_repeat(struct walk *w, uint32_t op)
{
    const struct op *o = &w->l->op.at[op];

    if (o->n == 1)
        walk_range(w, op + 1, w->p->mate[op]);
    else if (o->n && range_has_code(w, op + 1, w->p->mate[op]))
        emit_counted_loop(w, op);
}

static void emit_loop(struct walk *w, uint32_t op)
{
    const struct op *o = &w->l->op.at[op];
    uint32_t top = code_label(w->b), outer = w->break_label;

    w->break_label = code_label(w->b);
    place_label(w, top);
    walk_range(w, op + 1, w->p->mate[op]);
    settle(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, o->name);
    put_branch(w, OP_bri, 0, top);
    place_label(w, w->break_label);
    w->break_label = outer;
}

/* Branches on the predicate of an operation. */
static void put_test(struct walk *w, const struct op *o, enum insn_op branch, uint32_t label)
{
    uint32_t object = w->l->predicate.at[o->predicate + w->tile];

    prepare(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, o->name);
    put_address(w, M_SCRATCH, address_of(w, object));
    settle(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, o->name);
    put_load(w, M_SCRATCH, M_SCRATCH, 0);
    put_branch(w, branch, M_SCRATCH, label);
}

static void emit_if(struct walk *w, uint32_t op)
{
    const struct op *o = &w->l->op.at[op];
    uint32_t other = w->p->mate[op], end = w->p->mate[other];
    int has_then = range_has_code(w, op + 1, other), has_else = range_has_code(w, other + 1, end);
    uint32_t to_else = code_label(w->b), to_end = code_label(w->b);

    if (has_then) {
        put_test(w, o, OP_brz, to_else);
        walk_range(w, op + 1, other);
        settle(w);
        if (has_else) {
            code_range(w->b, CATEGORY_CONTROL_CODE, o->name);
            put_branch(w, OP_bri, 0, to_end);
        }
    } else {
        put_test(w, o, OP_brnz, to_end);
    }
    place_label(w, to_else);
    walk_range(w, other + 1, end);
    place_label(w, to_end);
}

static void emit_function_call(struct walk *w, const struct op *o)
{
    settle(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, o->name);
    code_insn_label(w->b, (struct insn){ .op = OP_call, .d = M_RETURN }, w->label[o->n]);
    if (!w->needed[o->n])
        w->needed[o->n] = 1;
    forget(w);
}

/* A construct in which the tile has no part. 0: its syncs must be made one by one. */
static int vote_for(struct walk *w, uint32_t op, int has_part)
{
    int32_t votes = w->p->votes[w->group][op];

    if (has_part || votes == VOTES_UNKNOWN)
        return 0;
    add_votes(w, votes, w->l->op.at[op].name);
    return 1;
}

static void emit_op(struct walk *w, uint32_t i)
{
    const struct op *o = &w->l->op.at[i];
    const struct tile_part *part = emit_plan_part(w->p, w->tile, i);

    switch (o->kind) {
    case OP_CALLS:
        if (part)
            emit_calls(w, part, o);
        break;
    case OP_EXCHANGE:
        if (part)
            emit_exchange(w, part, o, i);
        else
            emit_idle_sync(w, o);
        break;
    case OP_HOST:
        if (part)
            emit_host(w, part, o);
        else
            emit_idle_sync(w, o);
        break;
    case OP_REPEAT:
    case OP_LOOP:
    case OP_IF:
        if (vote_for(w, i, range_has_part(w, i + 1, emit_plan_next(w->p, i))))
            break;
        if (o->kind == OP_REPEAT)
            emit_repeat(w, i);
        else if (o->kind == OP_LOOP)
            emit_loop(w, i);
        else
            emit_if(w, i);
        break;
    case OP_BREAK:
        put_test(w, o, OP_brz, w->break_label);
        break;
    case OP_CALL:
        if (!vote_for(w, i, w->has_part[o->n]))
            emit_function_call(w, o);
        break;
    case OP_ELSE:
    case OP_END:
        break;
    }
}

static void walk_range(struct walk *w, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end && w->b->status == EMU_OK; i = emit_plan_next(w->p, i)) {
        if (w->l->op.at[i].groups >> w->group & 1)
            emit_op(w, i);
    }
}

/* ---- functions ---- */

/* The program: it runs again when the host answers its last sync. */
static void emit_main(struct walk *w, int has_stack)
{
    const struct lowered_function *f = &w->l->function.at[0];
    uint32_t mark = code_mark(w->b, f->name), start = code_label(w->b);

    code_range(w->b, CATEGORY_CONTROL_CODE, f->name);
    place_label(w, start);
    if (has_stack)
        code_insn_label(w->b, (struct insn){ .op = OP_setzi_m, .d = M_STACK }, w->stack_label);
    walk_range(w, f->first, f->first + f->count);
    settle(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, f->name);
    put_sync(w, SYNC_HOST);
    put_branch(w, OP_bri, 0, start);
    code_unmark(w->b, mark);
}

static void emit_function(struct walk *w, uint32_t number)
{
    const struct lowered_function *f = &w->l->function.at[number];
    uint32_t mark = code_mark(w->b, f->name), word = 0;
    int saves = range_calls(w, f->first, f->first + f->count);

    w->depth = w->p->depth[number];
    place_label(w, w->label[number]);
    code_range(w->b, CATEGORY_CONTROL_CODE, f->name);
    if (saves) {
        word = stack_word(w, f->name);
        put_store(w, M_RETURN, M_STACK, word);
    }
    walk_range(w, f->first, f->first + f->count);
    prepare(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, f->name);
    if (saves)
        put_load(w, M_RETURN, M_STACK, word);
    settle(w);
    code_range(w->b, CATEGORY_CONTROL_CODE, f->name);
    put(w, (struct insn){ .op = OP_br, .a = M_RETURN });
    code_unmark(w->b, mark);
}

/* Functions that the tile calls, each once. */
static void emit_functions(struct walk *w)
{
    uint32_t n = (uint32_t)w->l->function.count;
    int more;

    do {
        more = 0;
        for (uint32_t f = 1; f < n && w->b->status == EMU_OK; f++) {
            if (w->needed[f] != 1)
                continue;
            w->needed[f] = 2;
            emit_function(w, f);
            more = 1;
        }
    } while (more);
}

/* ---- data behind the code ---- */

static void emit_header(struct walk *w, const struct host_header_place *h)
{
    const struct host_request *r = &w->l->host_request.at[h->request];
    const struct stream *s = &w->l->graph->stream.at[r->stream];
    struct host_header header = { .stream = r->stream,
                                  .addr = address_of(w, r->object) + r->offset,
                                  .bytes = r->bytes,
                                  .to_host = s->way == STREAM_OUT };
    uint32_t word[HOST_HEADER_WORDS];

    if (r->bytes / ISA_WORD_BYTES >> HOST_HEADER_WORDS_BITS || r->stream >= HOST_HEADER_STREAMS) {
        fail_sticky(w,
                    FAIL(BAD_PROGRAM, "stream %s: a request of %u bytes, or more than %d streams",
                         s->name, r->bytes, HOST_HEADER_STREAMS));
        return;
    }
    host_header_pack(&header, word);
    code_range(w->b, CATEGORY_HOST_CODE, h->owner);
    code_place(w->b, h->label);
    code_word(w->b, word[0]);
    code_word(w->b, word[1]);
}

static void emit_data(struct walk *w)
{
    for (size_t i = 0; i < w->header.count && w->b->status == EMU_OK; i++)
        emit_header(w, &w->header.at[i]);
    code_place(w->b, w->stack_label);
    for (size_t i = 0; i < w->stack_owner.count; i++) {
        code_range(w->b, CATEGORY_STACK, w->stack_owner.at[i]);
        code_word(w->b, 0);
    }
}

/* ---- a tile ---- */

/* Which functions concern the tile; callees come first in the order of the plan. */
static void find_parts(struct walk *w)
{
    for (size_t k = 0; k < w->l->function.count; k++) {
        uint32_t f = w->p->order[k];
        const struct lowered_function *fn = &w->l->function.at[f];

        w->has_part[f] = (uint8_t)range_has_part(w, fn->first, fn->first + fn->count);
    }
}

/* Whether words of the stack may be needed: at least when they are. */
static int needs_stack(const struct walk *w)
{
    if (w->p->levels > M_COUNTERS)
        return 1;
    for (uint32_t f = 1; f < w->l->function.count; f++) {
        const struct lowered_function *fn = &w->l->function.at[f];

        if ((w->has_part[f] || w->p->function_votes[w->group][f] == VOTES_UNKNOWN) &&
            range_calls(w, fn->first, fn->first + fn->count))
            return 1;
    }
    return 0;
}

static void emit_tile(struct walk *w)
{
    find_parts(w);
    for (size_t f = 0; f < w->l->function.count; f++)
        w->label[f] = code_label(w->b);
    w->stack_label = code_label(w->b);
    emit_main(w, needs_stack(w));
    emit_functions(w);
    emit_data(w);
}

enum emu_status control_emit(const struct emit_plan *p, uint32_t tile, enum control_mode mode,
                             struct code_buffer *out)
{
    size_t functions = p->l->function.count;
    struct walk w = { .p = p, .l = p->l, .b = out, .mode = mode, .tile = tile };

    w.group = emit_plan_group(p, p->l->used_tile[tile]);
    w.has_part = emu_alloc(functions + 1, 1);
    w.needed = emu_alloc(functions + 1, 1);
    w.label = emu_alloc(functions + 1, sizeof(*w.label));
    if (w.has_part && w.needed && w.label)
        emit_tile(&w);
    else
        out->status = FAIL(NO_MEMORY, "%zu functions", functions);
    emu_free(w.has_part);
    emu_free(w.needed);
    emu_free(w.label);
    VEC_FREE(&w.stack_owner);
    VEC_FREE(&w.header);
    return out->status;
}
