/* lowered_check.c - proves of a lowered program what place and emit rely on. */
#include "programs/compiler/lower/lowered.h"

#include "programs/compiler/base/key_sort.h"
#include "programs/compiler/base/parallel.h"

/* Bytes of an object that an exchange stores or sends. */
struct checked_span {
    uint32_t object, begin, end;
};

/* The proof of one step after the other; one per thread. */
struct check {
    const struct lowered *l;
    const uint8_t *repeats; /* by step: an exchange whose messages an earlier one has; borrowed */
    uint32_t *mark;         /* of every tile; owned, like what follows */
    uint32_t marks;
    VEC(struct checked_span) stored;
    VEC(struct checked_span) sent;
    uint32_t step; /* the one being looked at, for messages */
};

/* Fails with the step in front. */
#define STEP_FAIL(c, fmt, ...)                                                                     \
    FAIL(BAD_PROGRAM, "lowered: step %u (%s): " fmt, (c)->step,                                    \
         strings_text(&(c)->l->strings, (c)->l->step.at[(c)->step].name), __VA_ARGS__)

/* ---- objects ---- */

static enum emu_status check_live_set(const struct lowered *l, uint32_t i)
{
    const struct live_set *s = &l->live_set.at[i];
    uint32_t steps = l->step.count ? (uint32_t)l->step.count : 1, end = 0;

    if (s->first > l->live_range.count || s->count > l->live_range.count - s->first)
        return FAIL(BAD_PROGRAM, "lowered: live set %u has no ranges", i);
    for (uint32_t k = s->first; k < s->first + s->count; k++) {
        struct live_range r = l->live_range.at[k];

        if (r.begin >= r.end || r.end > steps || (k > s->first && r.begin <= end))
            return FAIL(BAD_PROGRAM, "lowered: live set %u: [%u, %u) is not in order", i, r.begin,
                        r.end);
        end = r.end;
    }
    return EMU_OK;
}

static enum emu_status check_words(const struct lowered *l, uint32_t i)
{
    const struct object *o = &l->object.at[i];

    if (o->word > l->word.count || o->words > l->word.count - o->word || 4 * o->words != o->bytes)
        return FAIL(BAD_PROGRAM, "lowered: object %u: %u words for %u bytes", i, o->words,
                    o->bytes);
    for (uint32_t k = o->word; k < o->word + o->words; k++) {
        struct object_word x = l->word.at[k];

        if (x.object == LOWERED_NONE)
            continue;
        if (x.object >= l->object.count || l->object.at[x.object].tile != o->tile ||
            x.value >= l->object.at[x.object].bytes)
            return FAIL(BAD_PROGRAM, "lowered: object %u: a word points to byte %u of object %u", i,
                        x.value, x.object);
    }
    return EMU_OK;
}

static enum emu_status check_object(const struct lowered *l, uint32_t i)
{
    const struct object *o = &l->object.at[i];
    const char *name = strings_text(&l->strings, o->owner);

    if (o->tile >= l->graph->arch.tiles || l->tile_index[o->tile] == LOWERED_NONE)
        return FAIL(BAD_PROGRAM, "lowered: object %u (%s) is on tile %u", i, name, o->tile);
    if (!o->bytes || o->bytes % 4 || o->align < 4 || o->align & (o->align - 1))
        return FAIL(BAD_PROGRAM, "lowered: object %u (%s): %u bytes at multiples of %u", i, name,
                    o->bytes, o->align);
    if (o->region > REGION1 || o->category >= CATEGORY_COUNT || o->live >= l->live_set.count)
        return FAIL(BAD_PROGRAM, "lowered: object %u (%s): region %u, category %u, live set %u", i,
                    name, o->region, o->category, o->live);
    if ((o->data || o->words) && (o->live != LIVE_ALWAYS || (o->data && o->words)))
        return FAIL(BAD_PROGRAM, "lowered: object %u (%s) has contents but is not always alive", i,
                    name);
    return o->words ? check_words(l, i) : EMU_OK;
}

static enum emu_status check_storage(const struct lowered *l, uint32_t var)
{
    const struct variable *v = &l->graph->variable.at[var];
    const struct storage *s = &l->storage.at[var];
    unsigned unit = ss_elem_bytes(v->elem);
    uint64_t at = 0;

    for (uint32_t i = s->first; i < s->first + s->count; i++) {
        const struct storage_run *r = &l->storage_run.at[i];

        if (r->begin != at || r->end <= at || r->object >= l->object.count ||
            r->offset + (r->end - r->begin) * unit > l->object.at[r->object].bytes)
            return FAIL(BAD_PROGRAM, "lowered: %s: elements %llu .. %llu are nowhere", v->name,
                        (unsigned long long)at, (unsigned long long)r->end);
        at = r->end;
    }
    if (at != v->elements)
        return FAIL(BAD_PROGRAM, "lowered: %s: %llu of %llu elements are somewhere", v->name,
                    (unsigned long long)at, (unsigned long long)v->elements);
    return EMU_OK;
}

static enum emu_status check_memory(const struct lowered *l)
{
    if (!l->live_set.count || l->storage.count != l->graph->variable.count)
        return FAIL(BAD_PROGRAM, "lowered: %zu live sets, storage of %zu variables",
                    l->live_set.count, l->storage.count);
    for (uint32_t i = 0; i < l->used_tiles; i++) {
        if (l->tile_index[l->used_tile[i]] != i || (i && l->used_tile[i - 1] >= l->used_tile[i]))
            return FAIL(BAD_PROGRAM, "lowered: tile %u is not in order", l->used_tile[i]);
    }
    for (uint32_t i = 0; i < l->live_set.count; i++)
        TRY(check_live_set(l, i));
    for (uint32_t i = 0; i < l->object.count; i++)
        TRY(check_object(l, i));
    for (size_t i = 0; i < l->apart.count; i++) {
        struct object_pair p = l->apart.at[i];

        if (p.a == p.b || p.a >= l->object.count || p.b >= l->object.count ||
            l->object.at[p.a].tile != l->object.at[p.b].tile)
            return FAIL(BAD_PROGRAM, "lowered: objects %u and %u cannot be apart", p.a, p.b);
    }
    for (uint32_t i = 0; i < l->storage.count; i++)
        TRY(check_storage(l, i));
    return EMU_OK;
}

/* ---- steps ---- */

static int is_live(const struct lowered *l, uint32_t object, uint32_t step)
{
    const struct live_set *s = &l->live_set.at[l->object.at[object].live];
    uint32_t low = s->first, high = s->first + s->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (l->live_range.at[middle].end <= step)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->first + s->count && l->live_range.at[low].begin <= step;
}

/* An access of whole words by the step: inside the object, which is in use, on a tile that
 * runs the step. */
static enum emu_status check_access(const struct check *c, uint32_t object, uint32_t offset,
                                    uint32_t bytes)
{
    const struct lowered *l = c->l;
    const struct object *o;

    if (object >= l->object.count)
        return STEP_FAIL(c, "object %u does not exist", object);
    o = &l->object.at[object];
    if ((offset | bytes) & 3 || !bytes || offset > o->bytes || bytes > o->bytes - offset)
        return STEP_FAIL(c, "bytes %u .. %llu of object %u, which has %u", offset,
                         (unsigned long long)offset + bytes, object, o->bytes);
    if (!(l->step.at[c->step].groups >> l->graph->group[o->tile] & 1))
        return STEP_FAIL(c, "tile %u does not take part", o->tile);
    if (!is_live(l, object, c->step))
        return STEP_FAIL(c, "object %u (%s) is not alive", object,
                         strings_text(&l->strings, o->owner));
    return EMU_OK;
}

/* What a word of a vertex state or table points to is in use, and lies as the field demands. */
static enum emu_status check_pointer(const struct check *c, const struct codelet_field *f,
                                     const struct object_word *w)
{
    const struct object *o;

    if (w->object == LOWERED_NONE)
        return EMU_OK;
    TRY(check_access(c, w->object, w->value & ~3u, 4));
    o = &c->l->object.at[w->object];
    if (w->value % f->align || o->align % f->align)
        return STEP_FAIL(c,
                         "field %s needs multiples of %u, byte %u of object %u at multiples of %u",
                         f->name, f->align, w->value, w->object, o->align);
    if (f->region != ANY && o->region != f->region)
        return STEP_FAIL(c, "field %s needs region %d, object %u", f->name, f->region - REGION0,
                         w->object);
    return EMU_OK;
}

static enum emu_status check_field(const struct check *c, const struct codelet_field *f,
                                   const struct object_word *w)
{
    const struct object *table;

    if (field_is_edge(f->kind))
        return check_pointer(c, f, w);
    if (!field_is_list(f->kind) || w->object == LOWERED_NONE)
        return EMU_OK;
    TRY(check_access(c, w->object, w->value, 4));
    table = &c->l->object.at[w->object];
    for (uint32_t k = 0; k + 1 < table->words; k += 2)
        TRY(check_pointer(c, f, &c->l->word.at[table->word + k]));
    return EMU_OK;
}

static enum emu_status check_fields(const struct check *c, const struct call *x)
{
    const struct codelet *k = c->l->codelet.at[x->codelet];
    const struct object_word *w = &c->l->word.at[c->l->object.at[x->state].word];

    for (unsigned f = 0; f < k->fields; f++) {
        if (k->field[f].kind != FIELD_APART)
            TRY(check_field(c, &k->field[f], w++));
    }
    return EMU_OK;
}

static enum emu_status check_calls(const struct check *c, const struct step *step)
{
    const struct lowered *l = c->l;

    if (step->first > l->call.count || step->count > l->call.count - step->first)
        return STEP_FAIL(c, "has %llu calls", (unsigned long long)step->count);
    for (uint64_t i = step->first; i < step->first + step->count; i++) {
        const struct call *x = &l->call.at[i];
        uint32_t bytes;

        if (x->codelet >= l->codelet.count)
            return STEP_FAIL(c, "call %llu: codelet %u", (unsigned long long)i, x->codelet);
        bytes = codelet_state_bytes(l->codelet.at[x->codelet]);
        TRY(check_access(c, x->state, 0, bytes ? bytes : 4));
        if (l->object.at[x->state].tile != x->tile ||
            l->object.at[x->state].bytes != (bytes ? bytes : 4))
            return STEP_FAIL(c, "call %llu: the state of %s on tile %u", (unsigned long long)i,
                             l->codelet.at[x->codelet]->name, x->tile);
        if (i > step->first && l->call.at[i - 1].tile > x->tile)
            return STEP_FAIL(c, "call %llu is not in the order of tiles", (unsigned long long)i);
        TRY(check_fields(c, x));
    }
    return EMU_OK;
}

static int spans_meet(const struct checked_span *a, const struct checked_span *b)
{
    return a->object == b->object && a->begin < b->end && b->begin < a->end;
}

/* No word is stored twice, and none that is sent. */
static enum emu_status check_spans(struct check *c)
{
    size_t n = c->stored.count, k = 0;

    TRY(KEY_SORT(&c->stored, struct checked_span, object, 2));
    for (size_t i = 1; i < n; i++) {
        if (spans_meet(&c->stored.at[i - 1], &c->stored.at[i]))
            return STEP_FAIL(c, "byte %u of object %u is stored twice", c->stored.at[i].begin,
                             c->stored.at[i].object);
    }
    for (size_t i = 0; i < c->sent.count; i++) {
        const struct checked_span *x = &c->sent.at[i];
        size_t low = 0, high = n;

        while (low < high) {
            k = low + (high - low) / 2;
            if (c->stored.at[k].object < x->object ||
                (c->stored.at[k].object == x->object && c->stored.at[k].end <= x->begin))
                low = k + 1;
            else
                high = k;
        }
        if (low < n && spans_meet(&c->stored.at[low], x))
            return STEP_FAIL(c, "bytes %u .. %u of object %u are sent and stored", x->begin, x->end,
                             x->object);
    }
    return EMU_OK;
}

static enum emu_status check_message(struct check *c, const struct message *t, int first_time)
{
    const struct lowered *l = c->l;

    TRY(check_access(c, t->object, t->offset, t->bytes));
    if (!t->dests || t->first > l->message_dest.count ||
        t->dests > l->message_dest.count - t->first)
        return STEP_FAIL(c, "a message to %u places", t->dests);
    c->mark[l->object.at[t->object].tile] = ++c->marks;
    if (first_time)
        TRY(VEC_PUSH(&c->sent,
                     (struct checked_span){ t->object, t->offset, t->offset + t->bytes }));
    for (uint32_t i = t->first; i < t->first + t->dests; i++) {
        const struct message_dest *d = &l->message_dest.at[i];

        TRY(check_access(c, d->object, d->offset, t->bytes));
        if (c->mark[l->object.at[d->object].tile] == c->marks)
            return STEP_FAIL(c, "a message that concerns tile %u twice",
                             l->object.at[d->object].tile);
        c->mark[l->object.at[d->object].tile] = c->marks;
        if (first_time)
            TRY(VEC_PUSH(&c->stored,
                         (struct checked_span){ d->object, d->offset, d->offset + t->bytes }));
    }
    return EMU_OK;
}

static enum emu_status check_exchange(struct check *c, const struct step *step)
{
    const struct lowered *l = c->l;
    int first_time = !c->repeats[c->step];

    if (!step->count || step->first > l->message.count ||
        step->count > l->message.count - step->first)
        return STEP_FAIL(c, "has %llu messages", (unsigned long long)step->count);
    c->stored.count = c->sent.count = 0;
    for (uint64_t i = step->first; i < step->first + step->count; i++)
        TRY(check_message(c, &l->message.at[i], first_time));
    return first_time ? check_spans(c) : EMU_OK;
}

/* Words of chip parts lie on their tiles; tiles ascend. */
static enum emu_status check_chips(struct check *c, const struct step *step)
{
    const struct lowered *l = c->l;

    if (step->first > l->chip_part.count || step->count > l->chip_part.count - step->first ||
        step->groups != l->groups || step->n > CHIPS_OF_POD)
        return STEP_FAIL(c, "has %llu parts, of groups 0x%llx", (unsigned long long)step->count,
                         (unsigned long long)step->groups);
    for (uint64_t i = step->first; i < step->first + step->count; i++) {
        const struct chip_part *p = &l->chip_part.at[i];

        if (p->object >= l->object.count)
            return STEP_FAIL(c, "object %u does not exist", p->object);
        TRY(check_access(c, p->object, p->offset, p->bytes));
        if (l->object.at[p->object].tile != p->tile || p->channel >= l->graph->channel.count ||
            p->at % 4 || (i > step->first && p[-1].tile > p->tile))
            return STEP_FAIL(c, "part %llu of tile %u", (unsigned long long)i, p->tile);
    }
    return EMU_OK;
}

static enum emu_status check_host(const struct check *c, const struct step *step)
{
    const struct lowered *l = c->l;
    uint64_t bytes = 0;

    if (!step->count || step->first > l->host_request.count ||
        step->count > l->host_request.count - step->first ||
        (step->kind == STEP_HOST && step->n >= l->stream_layout.count))
        return STEP_FAIL(c, "has %llu requests", (unsigned long long)step->count);
    for (uint64_t i = step->first; i < step->first + step->count; i++) {
        const struct host_request *r = &l->host_request.at[i];
        int follows = i > step->first && r[-1].tile == r->tile;

        if (r->object >= l->object.count)
            return STEP_FAIL(c, "object %u does not exist", r->object);
        if (step->kind == STEP_HOST || r->bytes)
            TRY(check_access(c, r->object, r->offset, r->bytes));
        if (l->object.at[r->object].tile != r->tile || r->stream >= l->graph->stream.count ||
            r->round != (follows ? r[-1].round + 1 : 0) ||
            (i > step->first && r[-1].tile > r->tile))
            return STEP_FAIL(c, "request %llu of tile %u", (unsigned long long)i, r->tile);
        bytes += r->bytes;
    }
    if (step->kind == STEP_AWAIT)
        return EMU_OK;
    for (uint32_t i = 0; i < l->stream_layout.at[step->n].runs; i++)
        bytes -= l->stream_run.at[l->stream_layout.at[step->n].first + i].bytes;
    if (bytes)
        return STEP_FAIL(c, "the layout of stream %s has another length",
                         l->graph->stream.at[l->stream_layout.at[step->n].stream].name);
    return EMU_OK;
}

static enum emu_status check_predicate(const struct check *c, const struct step *step)
{
    const struct lowered *l = c->l;
    uint32_t holders = 0;

    if (step->predicate > l->predicate.count ||
        l->used_tiles > l->predicate.count - step->predicate)
        return STEP_FAIL(c, "has no predicates at %u", step->predicate);
    for (uint32_t i = 0; i < l->used_tiles; i++) {
        uint32_t object = l->predicate.at[step->predicate + i], tile = l->used_tile[i];
        int takes_part = (int)(step->groups >> l->graph->group[tile] & 1);

        if (!takes_part || (step->consensus && object == LOWERED_NONE))
            continue;
        TRY(check_access(c, object, 0, 4));
        if (l->object.at[object].tile != tile)
            return STEP_FAIL(c, "the predicate of tile %u is on tile %u", tile,
                             l->object.at[object].tile);
        holders++;
    }
    return holders || !step->consensus ? EMU_OK : STEP_FAIL(c, "has %u predicates", holders);
}

static enum emu_status check_step(struct check *c, uint32_t p)
{
    const struct step *step = &c->l->step.at[p];

    c->step = p;
    if (!step->groups || step->groups & ~c->l->groups)
        return STEP_FAIL(c, "is for groups %llx", (unsigned long long)step->groups);
    switch (step->kind) {
    case STEP_CALLS:
        return check_calls(c, step);
    case STEP_EXCHANGE:
        return check_exchange(c, step);
    case STEP_HOST:
    case STEP_AWAIT:
        return check_host(c, step);
    case STEP_CHIPS:
        return check_chips(c, step);
    case STEP_BREAK:
    case STEP_IF:
        return check_predicate(c, step);
    case STEP_REPEAT:
        return step->n ? EMU_OK : STEP_FAIL(c, "repeats %u times", step->n);
    case STEP_CALL:
        return step->n && step->n < c->l->function.count
                   ? EMU_OK
                   : STEP_FAIL(c, "calls function %u", step->n);
    case STEP_LOOP:
    case STEP_ELSE:
    case STEP_END:
        break;
    }
    return EMU_OK;
}

/* ---- control flow ---- */

/* Functions call without recursion: again and again those that call only proven ones are proven. */
static enum emu_status check_recursion(const struct lowered *l, uint8_t *proven)
{
    for (size_t done = 0, before = SIZE_MAX; done < l->function.count;) {
        if (before == done)
            return FAIL(BAD_PROGRAM, "lowered: functions call each other in a circle");
        before = done;
        for (size_t i = l->function.count; i-- > 0;) {
            const struct lowered_function *f = &l->function.at[i];
            uint32_t p = f->first;

            while (p < f->first + f->count &&
                   (l->step.at[p].kind != STEP_CALL || proven[l->step.at[p].n]))
                p++;
            if (!proven[i] && p == f->first + f->count) {
                proven[i] = 1;
                done++;
            }
        }
    }
    return EMU_OK;
}

/* Functions follow each other and hold all steps. */
static enum emu_status check_functions(const struct lowered *l)
{
    uint32_t next = 0;

    for (size_t i = 0; i < l->function.count; i++) {
        const struct lowered_function *f = &l->function.at[i];

        if (f->first != next || f->count > l->step.count - next)
            return FAIL(BAD_PROGRAM, "lowered: function %zu does not follow the one before", i);
        next = f->first + f->count;
    }
    return next != l->step.count || !l->function.count
               ? FAIL(BAD_PROGRAM, "lowered: steps after the last function")
               : EMU_OK;
}

/* ---- all steps ---- */

struct step_checks {
    struct check *check;   /* by thread; owned, like what follows */
    const uint32_t *match; /* of every step */
    uint8_t *repeats;      /* of every step */
};

static enum emu_status check_next(void *ctx, uint32_t p, unsigned thread)
{
    const struct step_checks *x = ctx;
    struct check *c = &x->check[thread];

    TRY(check_step(c, p));
    if (c->l->step.at[p].match != x->match[p])
        return STEP_FAIL(c, "belongs to step %u, not to %u", x->match[p], c->l->step.at[p].match);
    return EMU_OK;
}

/* Finds the exchanges that have the messages of an earlier one. */
static enum emu_status find_repeats(const struct lowered *l, uint8_t *repeats)
{
    uint8_t *seen = emu_alloc(l->message.count + 1, 1); /* by first message */

    if (!seen)
        return FAIL(NO_MEMORY, "check");
    for (size_t i = 0; i < l->step.count; i++) {
        const struct step *step = &l->step.at[i];

        if (step->kind != STEP_EXCHANGE || step->first > l->message.count)
            continue;
        repeats[i] = seen[step->first];
        seen[step->first] = 1;
    }
    ss_free(seen);
    return EMU_OK;
}

static enum emu_status check_steps(const struct lowered *l, unsigned threads, const uint32_t *match)
{
    struct step_checks x = { emu_alloc(threads, sizeof(*x.check)), match,
                             emu_alloc(l->step.count + 1, 1) };
    enum emu_status s = x.check && x.repeats ? find_repeats(l, x.repeats)
                                             : FAIL(NO_MEMORY, "check of %u threads", threads);

    for (unsigned i = 0; i < threads && s == EMU_OK; i++) {
        x.check[i] = (struct check){ .l = l, .repeats = x.repeats };
        x.check[i].mark = emu_alloc(l->graph->arch.tiles + 1, sizeof(*x.check[i].mark));
        if (!x.check[i].mark)
            s = FAIL(NO_MEMORY, "check");
    }
    if (s == EMU_OK)
        s = parallel_each((uint32_t)l->step.count, threads, check_next, &x);
    for (unsigned i = 0; x.check && i < threads; i++) {
        ss_free(x.check[i].mark);
        VEC_FREE(&x.check[i].stored);
        VEC_FREE(&x.check[i].sent);
    }
    ss_free(x.check);
    ss_free(x.repeats);
    return s;
}

enum emu_status lowered_check(const struct lowered *l, unsigned threads)
{
    uint32_t *match = emu_alloc(l->step.count + 1, sizeof(*match));
    uint8_t *proven = emu_alloc(l->function.count + 1, 1);
    enum emu_status s = match && proven ? check_memory(l) : FAIL(NO_MEMORY, "check");

    if (s == EMU_OK)
        s = check_functions(l);
    if (s == EMU_OK)
        s = lowered_matches(l, match);
    if (s == EMU_OK)
        s = check_steps(l, parallel_threads(threads), match);
    if (s == EMU_OK)
        s = check_recursion(l, proven);
    ss_free(match);
    ss_free(proven);
    return s;
}
