/* control.c - one tile's walk over the steps of a program: launches, exchanges, requests to
 * the host, loops, branches, functions.
 */
#include "programs/compiler/emit/control.h"

#include "emu/arch/arch_numbers.h"
#include "emu/isa/csr_names.h"
#include "emu/isa/insn_ops.h"
#include "programs/compiler/emit/exchange_code.h"
#include "programs/compiler/emit/transfer_code.h"

struct walk {
    const struct emit_index *p;
    const struct lowered *l;
    struct writer out;
    uint32_t tile; /* index in used_tile */
    unsigned group;
    uint32_t break_label, depth;
    uint8_t *has_part; /* by function; owned */
    uint8_t *needed;   /* by function: 1 called so far, 2 also written; owned */
    uint32_t *label;   /* of functions; owned */
    uint32_t stack_label, stack_words;
    VEC(uint32_t) stack_owner; /* of its words; owned */
    int calls_own;             /* the tile calls supervisor codelets from elsewhere, which need */
    uint32_t frame_bytes, frame_owner; /* so much stack below these words */
    struct transfer_code transfer;
};

/* Steps are the owners of their code. */
static void use_control(struct walk *w, uint32_t owner)
{
    code_range(w->out.b, CATEGORY_CONTROL_CODE, owner);
}

/* ---- work lists of the walk ---- */

static int fail_sticky(struct walk *w, enum emu_status s)
{
    if (w->out.b->status == EMU_OK)
        w->out.b->status = s;
    return w->out.b->status != EMU_OK;
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
    const struct emit_index *p = w->p;

    if (emit_index_first_part(p, w->tile, first, end))
        return 1;
    for (uint32_t k = 0; k < p->call_steps; k++) {
        const struct step *step = &w->l->step.at[p->call_step[k]];

        if (p->call_step[k] >= first && p->call_step[k] < end && step->groups >> w->group & 1 &&
            w->has_part[step->n])
            return 1;
    }
    return 0;
}

/* Whether [first, end) becomes code on this tile. */
static int range_has_code(const struct walk *w, uint32_t first, uint32_t end)
{
    return range_has_part(w, first, end) || emit_index_votes(w->p, w->group, first, end) != 0;
}

/* Whether the code of [first, end) may change the return address: 1 whenever it does, perhaps also
 * when it does not. */
static int range_calls(const struct walk *w, uint32_t first, uint32_t end)
{
    const struct emit_index *p = w->p;
    const struct step_part *part = emit_index_first_part(p, w->tile, first, end);

    for (; part && part < &p->part[p->part_first[w->tile + 1]] && part->step < end; part++) {
        const struct step *step = &w->l->step.at[part->step];

        for (uint32_t k = 0; k < part->count && step->kind == STEP_CALLS; k++) {
            const struct call *c = &w->l->call.at[part->first + k];

            if (w->l->codelet.at[c->codelet]->kind == CODELET_SUPERVISOR)
                return 1;
        }
    }
    for (uint32_t k = 0; k < p->call_steps; k++) {
        if (p->call_step[k] >= first && p->call_step[k] < end)
            return 1;
    }
    return 0;
}

/* ---- steps ---- */

static int is_own_supervisor(const struct codelet *c)
{
    return c->files && c->kind == CODELET_SUPERVISOR;
}

/* Compiled functions change $m6, which is the counter of the outermost loop. */
static void call_supervisor(struct walk *w, const struct call *c, uint32_t owner)
{
    int saves = w->depth && is_own_supervisor(w->l->codelet.at[c->codelet]);
    uint32_t word = saves ? stack_word(w, owner) : 0;

    use_control(w, owner);
    writer_object(&w->out, M_SUPERVISOR_STATE, c->state);
    if (saves)
        writer_store(&w->out, M_COUNTER, M_STACK, word);
    writer_settle(&w->out);
    use_control(w, owner);
    code_call(w->out.b, (uint32_t)(c - w->l->call.at));
    writer_insn(&w->out, (struct insn){ .op = INSN_call,
                                        .d = M_RETURN,
                                        .i = (int32_t)w->p->in->codelets->entry[c->codelet] });
    if (saves)
        writer_load(&w->out, M_COUNTER, M_STACK, word);
    writer_forget(&w->out);
}

static void emit_call(struct walk *w, const struct call *c, uint32_t owner)
{
    unsigned entry;

    writer_prepare(&w->out);
    if (w->l->codelet.at[c->codelet]->kind == CODELET_SUPERVISOR) {
        call_supervisor(w, c, owner);
        return;
    }
    use_control(w, owner);
    entry = writer_entry(&w->out, c->codelet);
    writer_object(&w->out, M_STATE, c->state);
    writer_settle(&w->out);
    use_control(w, owner);
    code_call(w->out.b, (uint32_t)(c - w->l->call.at));
    writer_insn(&w->out, (struct insn){ .op = INSN_runall, .a = (uint8_t)entry, .b = M_STATE });
    writer_await(&w->out, WAIT_WORKERS, CATEGORY_CONTROL_CODE, owner);
}

static void emit_calls(struct walk *w, const struct step_part *part, const struct step *step)
{
    uint32_t mark = code_mark(w->out.b, step->name);

    for (uint32_t k = 0; k < part->count; k++)
        emit_call(w, &w->l->call.at[part->first + k], step->name);
    code_unmark(w->out.b, mark);
}

/* A sync in which the tile has no part. */
static void emit_idle_sync(struct walk *w, const struct step *step)
{
    int zone = emit_index_zone(w->p, step);

    if (zone == SYNC_INTERNAL) {
        writer_vote(&w->out, 1, step->name);
        return;
    }
    writer_settle(&w->out);
    use_control(w, step->name);
    writer_sync(&w->out, zone);
}

struct code_place {
    const struct walk *w;
    const uint32_t *object; /* by base; NULL: bases are objects */
};

static uint32_t code_address(void *context, struct symbolic_addr a)
{
    const struct code_place *p = context;
    uint32_t object = p->object ? p->object[a.base] : a.base;

    return writer_address_of(&p->w->out, object) + a.bytes;
}

static void emit_exchange_words(struct walk *w, const struct exchange_schedule *s,
                                const struct tile_schedule *t)
{
    struct code_place place = { w, s->object };
    uint32_t *word = code_words(w->out.b, t->bytes / ISA_WORD_BYTES);

    if (!word || !w->out.object)
        return;
    fail_sticky(w, exchange_encode(s, t, code_address, &place, word));
}

/* Whether the code must begin at a multiple of 8. */
static int has_two_word_code(const struct tile_schedule *t)
{
    return t->bytes != t->insns * ISA_WORD_BYTES;
}

/* Makes the code after the next sync begin at a multiple of 8. A nop costs nothing, because it runs
 * during the wait before that sync. It may make the delay of that wait unnecessary; then it takes a
 * second one, which may cost a cycle. */
static void align_after_sync(struct walk *w, uint32_t owner)
{
    code_range(w->out.b, CATEGORY_EXCHANGE_CODE, owner);
    for (unsigned i = 0; i < 2 && (w->out.b->word.count + writer_settle_words(&w->out) + 1) % 2;
         i++)
        writer_nop(&w->out);
}

static void emit_exchange(struct walk *w, const struct step_part *part, const struct step *step,
                          uint32_t index)
{
    const struct exchange_schedule *s = &w->p->in->schedule[index];
    const struct tile_schedule *t = part->count ? &s->tile[part->first] : NULL;
    uint32_t mark = code_mark(w->out.b, step->name);

    if (t && has_two_word_code(t))
        align_after_sync(w, step->name);
    writer_settle(&w->out);
    code_range(w->out.b, CATEGORY_EXCHANGE_CODE, step->name);
    writer_sync(&w->out, emit_index_zone(w->p, step));
    if (t) {
        code_exchange(w->out.b, index, t);
        emit_exchange_words(w, s, t);
        writer_await_words(&w->out, t->arrival > t->end_event ? t->arrival - t->end_event : 0,
                           CATEGORY_EXCHANGE_CODE, step->name);
    }
    code_unmark(w->out.b, mark);
}

/* ---- control flow ---- */

static void walk_range(struct walk *w, uint32_t first, uint32_t end);

/* Whether a loop over [first, end) begins with a launch on this tile. */
static struct writer_loop loop_of(const struct walk *w, uint32_t first, uint32_t end)
{
    uint32_t i = first;
    const struct step_part *part;
    const struct call *c;

    while (i < end && (!(w->l->step.at[i].groups >> w->group & 1) ||
                       !range_has_code(w, i, lowered_next(w->l, i))))
        i = lowered_next(w->l, i);
    part =
        i < end && w->l->step.at[i].kind == STEP_CALLS ? emit_index_part(w->p, w->tile, i) : NULL;
    if (!part)
        return (struct writer_loop){ .launches = 0 };
    c = &w->l->call.at[part->first];
    return (struct writer_loop){ .launches = w->l->codelet.at[c->codelet]->kind == CODELET_MULTI,
                                 .codelet = c->codelet,
                                 .state = c->state };
}

static void emit_counted_loop(struct walk *w, uint32_t index)
{
    const struct step *step = &w->l->step.at[index];
    struct writer_loop loop = loop_of(w, index + 1, step->match);
    uint32_t top = code_label(w->out.b), level = w->depth, word = 0;
    int in_memory = level >= M_COUNTERS;
    unsigned m = in_memory ? M_SCRATCH : M_COUNTER + level;

    writer_prepare(&w->out);
    use_control(w, step->name);
    writer_constant(&w->out, m, step->n - 1);
    writer_loop_begin(&w->out, top, &loop);
    use_control(w, step->name);
    if (in_memory) {
        word = stack_word(w, step->name);
        writer_store(&w->out, m, M_STACK, word);
    }
    w->depth++;
    walk_range(w, index + 1, step->match);
    w->depth--;
    writer_prepare(&w->out);
    use_control(w, step->name);
    if (in_memory)
        writer_load(&w->out, m, M_STACK, word);
    writer_loop_end(&w->out, &loop);
    writer_settle(&w->out);
    use_control(w, step->name);
    writer_branch(&w->out, INSN_brnzdec, m, top);
}

static void emit_repeat(struct walk *w, uint32_t index)
{
    const struct step *step = &w->l->step.at[index];

    if (step->n == 1)
        walk_range(w, index + 1, step->match);
    else if (step->n && range_has_code(w, index + 1, step->match))
        emit_counted_loop(w, index);
}

static void emit_loop(struct walk *w, uint32_t index)
{
    const struct step *step = &w->l->step.at[index];
    struct writer_loop loop = loop_of(w, index + 1, step->match);
    uint32_t top = code_label(w->out.b), outer = w->break_label;

    w->break_label = code_label(w->out.b);
    writer_prepare(&w->out);
    use_control(w, step->name);
    writer_loop_begin(&w->out, top, &loop);
    walk_range(w, index + 1, step->match);
    writer_prepare(&w->out);
    use_control(w, step->name);
    writer_loop_end(&w->out, &loop);
    writer_settle(&w->out);
    use_control(w, step->name);
    writer_branch(&w->out, INSN_bri, 0, top);
    writer_label(&w->out, w->break_label);
    w->break_label = outer;
}

/* Sets the tile's LC to the predicate if the tile has it, else to 1; after the sync, M_SCRATCH is
 * the AND of all. */
static void put_consensus(struct walk *w, const struct step *step)
{
    uint32_t object = w->l->predicate.at[step->predicate + w->tile];

    writer_prepare(&w->out);
    writer_settle(&w->out);
    use_control(w, step->name);
    if (object == LOWERED_NONE) {
        writer_constant(&w->out, M_SCRATCH, CR_LC_SET);
    } else {
        writer_address(&w->out, M_SCRATCH, object);
        writer_load(&w->out, M_SCRATCH, M_SCRATCH, 0);
        writer_insn(&w->out,
                    (struct insn){ .op = INSN_cmpne, .d = M_SCRATCH, .a = M_SCRATCH, .b = M_ZERO });
        writer_insn(&w->out, (struct insn){ .op = INSN_add_ms16,
                                            .d = M_SCRATCH,
                                            .a = M_SCRATCH,
                                            .i = CR_LC_CLR }); /* 1 clears it, 2 sets it */
    }
    writer_put(&w->out, CSR_S_CR, M_SCRATCH);
    writer_sync(&w->out, emit_index_zone(w->p, step));
    writer_insn(&w->out, (struct insn){ .op = INSN_get, .d = M_SCRATCH, .i = CSR_S_SSR });
    writer_insn(&w->out,
                (struct insn){ .op = INSN_and_mu12, .d = M_SCRATCH, .a = M_SCRATCH, .i = SSR_GC });
}

/* Branches on the predicate of a step. */
static void put_test(struct walk *w, const struct step *step, enum insn_op branch, uint32_t label)
{
    uint32_t object = w->l->predicate.at[step->predicate + w->tile];

    if (step->consensus) {
        put_consensus(w, step);
    } else {
        writer_prepare(&w->out);
        use_control(w, step->name);
        writer_address(&w->out, M_SCRATCH, object);
        writer_settle(&w->out);
        use_control(w, step->name);
        writer_load(&w->out, M_SCRATCH, M_SCRATCH, 0);
    }
    if (step->rare)
        code_call(w->out.b, CODE_RARE);
    writer_branch(&w->out, branch, M_SCRATCH, label);
}

static void emit_if(struct walk *w, uint32_t index)
{
    const struct step *step = &w->l->step.at[index];
    uint32_t other = step->match, end = w->l->step.at[other].match;
    int has_then = range_has_code(w, index + 1, other),
        has_else = range_has_code(w, other + 1, end);
    uint32_t to_else = code_label(w->out.b), to_end = code_label(w->out.b);

    if (has_then) {
        put_test(w, step, INSN_brz, to_else);
        walk_range(w, index + 1, other);
        writer_settle(&w->out);
        if (has_else) {
            use_control(w, step->name);
            writer_branch(&w->out, INSN_bri, 0, to_end);
        }
    } else {
        put_test(w, step, INSN_brnz, to_end);
    }
    writer_label(&w->out, to_else);
    walk_range(w, other + 1, end);
    writer_label(&w->out, to_end);
}

static void emit_function_call(struct walk *w, const struct step *step)
{
    writer_settle(&w->out);
    use_control(w, step->name);
    code_insn_label(w->out.b, (struct insn){ .op = INSN_call, .d = M_RETURN }, w->label[step->n]);
    if (!w->needed[step->n])
        w->needed[step->n] = 1;
    writer_forget(&w->out);
}

/* Skips a construct in which the tile has no part. Returns 0 if its syncs must be made one by one.
 */
static int vote_for(struct walk *w, uint32_t step, int has_part)
{
    int32_t votes = w->p->votes[w->group][step];

    if (has_part || votes == VOTES_UNKNOWN)
        return 0;
    writer_vote(&w->out, votes, w->l->step.at[step].name);
    return 1;
}

static void emit_step(struct walk *w, uint32_t i)
{
    const struct step *step = &w->l->step.at[i];
    const struct step_part *part = emit_index_part(w->p, w->tile, i);

    switch (step->kind) {
    case STEP_CALLS:
        if (part)
            emit_calls(w, part, step);
        break;
    case STEP_EXCHANGE:
        if (part)
            emit_exchange(w, part, step, i);
        else
            emit_idle_sync(w, step);
        break;
    case STEP_HOST:
        if (part)
            transfer_host(&w->transfer, part, step);
        else
            emit_idle_sync(w, step);
        break;
    case STEP_AWAIT:
        if (part)
            transfer_await(&w->transfer, step);
        break;
    case STEP_CHIPS:
        if (part)
            transfer_chips(&w->transfer, part, step);
        else
            emit_idle_sync(w, step);
        break;
    case STEP_REPEAT:
    case STEP_LOOP:
    case STEP_IF:
        if (vote_for(w, i, range_has_part(w, i + 1, lowered_next(w->l, i))))
            break;
        if (step->kind == STEP_REPEAT)
            emit_repeat(w, i);
        else if (step->kind == STEP_LOOP)
            emit_loop(w, i);
        else
            emit_if(w, i);
        break;
    case STEP_BREAK:
        put_test(w, step, INSN_brz, w->break_label);
        break;
    case STEP_CALL:
        if (!vote_for(w, i, w->has_part[step->n]))
            emit_function_call(w, step);
        break;
    case STEP_ELSE:
    case STEP_END:
        break;
    }
}

static void walk_range(struct walk *w, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end && w->out.b->status == EMU_OK; i = lowered_next(w->l, i)) {
        if (w->l->step.at[i].groups >> w->group & 1)
            emit_step(w, i);
    }
}

/* ---- functions ---- */

/* Makes that it does not matter what the loader left: its workers have ended, and registers whose
 * contents the code relies on are set. The tile listens to nobody, addresses of exchange code count
 * from 0, workers begin without exceptions and without stochastic rounding; what is beyond f16
 * becomes the largest f16, or NaN. The mux comes last: its constant is there by then. */
static void put_start_state(struct walk *w)
{
    enum { FP_ICTL_NANOO = 1 << 20 };
    static const uint8_t zero[] = { CSR_S_INCOMING_BASE, CSR_S_INCOMING_DELTA,
                                    CSR_S_INCOMING_FORMAT, CSR_S_OUTGOING_BASE, CSR_S_FP_ICTL };
    int nan = ss_graph_has_nan_on_overflow(w->l->graph);

    writer_sync(&w->out, SYNC_LOCAL);
    if (nan) {
        writer_constant(&w->out, M_SCRATCH, FP_ICTL_NANOO);
        writer_put(&w->out, CSR_S_FP_ICTL, M_SCRATCH);
    }
    writer_constant(&w->out, M_SCRATCH, w->p->arch->null_source);
    for (size_t i = 0; i < EMU_COUNT_OF(zero) - (size_t)nan; i++)
        writer_put(&w->out, zero[i], M_ZERO);
    writer_put(&w->out, CSR_S_INCOMING_MUX, M_SCRATCH);
}

/* The object with the stacks of the tile's workers; LOWERED_NONE: they have none. */
static uint32_t worker_stacks(const struct walk *w)
{
    const struct emit_index *p = w->p;

    for (uint32_t i = p->object_first[w->tile]; i < p->object_first[w->tile + 1]; i++) {
        if (w->l->object.at[p->object[i]].category == CATEGORY_STACK)
            return p->object[i];
    }
    return LOWERED_NONE;
}

/* Sets $WORKERn_BASE to the middle of what each worker has. */
static void put_worker_stacks(struct walk *w)
{
    uint32_t object = worker_stacks(w);
    int32_t half;

    if (object == LOWERED_NONE)
        return;
    half = (int32_t)(w->l->object.at[object].bytes / WORKER_STACKS);
    writer_address(&w->out, M_SCRATCH, object);
    for (uint8_t k = 0; k < TILE_WORKERS; k++) {
        writer_insn(&w->out, (struct insn){ .op = INSN_add_ms16,
                                            .d = M_SCRATCH,
                                            .a = M_SCRATCH,
                                            .i = k ? 2 * half : half });
        writer_put(&w->out, CSR_S_WORKER0_BASE + k, M_SCRATCH);
    }
}

/* The program: what comes after the start state runs again when the host answers its last sync. */
static void emit_main(struct walk *w, int has_stack)
{
    const struct lowered_function *f = &w->l->function.at[0];
    uint32_t mark = code_mark(w->out.b, f->name), start = code_label(w->out.b);

    use_control(w, f->name);
    put_start_state(w);
    put_worker_stacks(w);
    writer_label(&w->out, start);
    if (has_stack)
        code_insn_label(w->out.b, (struct insn){ .op = INSN_setzi_m, .d = M_STACK },
                        w->stack_label);
    walk_range(w, f->first, f->first + f->count);
    writer_settle(&w->out);
    use_control(w, f->name);
    writer_sync(&w->out, (int)control_host_zone(w->p->arch));
    writer_branch(&w->out, INSN_bri, 0, start);
    code_unmark(w->out.b, mark);
}

static void emit_function(struct walk *w, uint32_t number)
{
    const struct lowered_function *f = &w->l->function.at[number];
    uint32_t mark = code_mark(w->out.b, f->name), word = 0;
    int saves = range_calls(w, f->first, f->first + f->count);

    w->depth = w->p->depth[number];
    writer_label(&w->out, w->label[number]);
    use_control(w, f->name);
    if (saves) {
        word = stack_word(w, f->name);
        writer_store(&w->out, M_RETURN, M_STACK, word);
    }
    walk_range(w, f->first, f->first + f->count);
    writer_prepare(&w->out);
    use_control(w, f->name);
    if (saves)
        writer_load(&w->out, M_RETURN, M_STACK, word);
    writer_settle(&w->out);
    use_control(w, f->name);
    writer_insn(&w->out, (struct insn){ .op = INSN_br, .a = M_RETURN });
    code_unmark(w->out.b, mark);
}

/* Functions that the tile calls, each once. */
static void emit_functions(struct walk *w)
{
    uint32_t n = (uint32_t)w->l->function.count;
    int more;

    do {
        more = 0;
        for (uint32_t f = 1; f < n && w->out.b->status == EMU_OK; f++) {
            if (w->needed[f] != 1)
                continue;
            w->needed[f] = 2;
            emit_function(w, f);
            more = 1;
        }
    } while (more);
}

/* ---- data after the code ---- */

/* The stack of called codelets, down from a multiple of 8. */
static void emit_frames(struct walk *w)
{
    uint32_t words = w->frame_bytes / ISA_WORD_BYTES;

    if (!w->calls_own)
        return;
    code_range(w->out.b, CATEGORY_STACK, w->frame_owner);
    for (words += (w->out.b->word.count + words) % 2; words; words--)
        code_word(w->out.b, 0);
}

static void emit_data(struct walk *w)
{
    transfer_headers(&w->transfer);
    emit_frames(w);
    code_place(w->out.b, w->stack_label);
    for (size_t i = 0; i < w->stack_owner.count; i++) {
        code_range(w->out.b, CATEGORY_STACK, w->stack_owner.at[i]);
        code_word(w->out.b, 0);
    }
}

/* ---- a tile ---- */

/* Finds out which functions concern the tile; in the order of the index, callees come first. */
static void find_parts(struct walk *w)
{
    for (size_t k = 0; k < w->l->function.count; k++) {
        uint32_t f = w->p->order[k];
        const struct lowered_function *fn = &w->l->function.at[f];

        w->has_part[f] = (uint8_t)range_has_part(w, fn->first, fn->first + fn->count);
    }
}

/* Finds out what supervisor codelets from elsewhere the tile calls, and whether it begins transfers
 * that it does not wait for. */
static void find_own_calls(struct walk *w)
{
    const struct emit_index *p = w->p;

    for (uint32_t i = p->part_first[w->tile]; i < p->part_first[w->tile + 1]; i++) {
        const struct step *step = &w->l->step.at[p->part[i].step];

        w->transfer.begins |= step->kind == STEP_HOST && step->begins;
        for (uint32_t k = 0; k < p->part[i].count && step->kind == STEP_CALLS; k++) {
            uint32_t codelet = w->l->call.at[p->part[i].first + k].codelet;

            if (!is_own_supervisor(w->l->codelet.at[codelet]))
                continue;
            if (!w->calls_own)
                w->frame_owner = step->name;
            w->calls_own = 1;
            if (p->in->codelets->stack[codelet] > w->frame_bytes)
                w->frame_bytes = p->in->codelets->stack[codelet];
        }
    }
}

/* Whether words of the stack may be needed: 1 whenever they are, perhaps also when they are not. */
static int needs_stack(const struct walk *w)
{
    if (w->p->levels > M_COUNTERS || w->calls_own)
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
    find_own_calls(w);
    for (size_t f = 0; f < w->l->function.count; f++)
        w->label[f] = code_label(w->out.b);
    w->stack_label = code_label(w->out.b);
    emit_main(w, needs_stack(w));
    emit_functions(w);
    emit_data(w);
}

enum emu_status control_emit(const struct emit_index *p, uint32_t tile, enum control_mode mode,
                             struct code_buffer *out)
{
    size_t functions = p->l->function.count;
    struct walk w = { .p = p, .l = p->l, .tile = tile };

    w.out.b = out;
    w.out.object = mode == CONTROL_FINAL ? p->l->object.at : NULL;
    w.out.entry = p->in->codelets->entry;
    w.group = emit_index_group(p, p->l->used_tile[tile]);
    w.transfer.p = p;
    w.transfer.out = &w.out;
    w.has_part = emu_alloc(functions + 1, 1);
    w.needed = emu_alloc(functions + 1, 1);
    w.label = emu_alloc(functions + 1, sizeof(*w.label));
    if (w.has_part && w.needed && w.label)
        emit_tile(&w);
    else
        out->status = FAIL(NO_MEMORY, "%zu functions", functions);
    ss_free(w.has_part);
    ss_free(w.needed);
    ss_free(w.label);
    VEC_FREE(&w.stack_owner);
    transfer_code_free(&w.transfer);
    return out->status;
}

uint32_t control_host_zone(const struct arch *a)
{
    return arch_sync_host_zone(a);
}
