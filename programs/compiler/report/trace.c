/* trace.c - the steps of a compiled program in the order in which they run, what is in memory
 * meanwhile, and what always is: for reports of cycles and memory by layer.
 */
#include <string.h>

#include "programs/compiler/base/parallel.h"
#include "programs/compiler/place/place_live.h"
#include "programs/compiler/report/memory_report.h"

enum { TRACE_STEPS_MAX = 1 << 20 };

/* ---- bytes in use ---- */

/* By step of lowered: the fullest tile and its bytes. */
struct fullness {
    uint64_t *bytes; /* owned */
    uint32_t *tile;  /* owned; index in used_tile */
};

static enum emu_status fullness_alloc(size_t steps, struct fullness *f)
{
    f->bytes = emu_alloc(steps + 1, sizeof(*f->bytes));
    f->tile = emu_alloc(steps + 1, sizeof(*f->tile));
    return f->bytes && f->tile ? EMU_OK : FAIL(NO_MEMORY, "%zu steps", steps);
}

static void fullness_free(struct fullness *f)
{
    ss_free(f->bytes);
    ss_free(f->tile);
}

/* Of two tiles that are as full the lower one counts. */
static void note_fullness(struct fullness *f, size_t step, uint64_t bytes, uint32_t tile)
{
    if (bytes > f->bytes[step] || (bytes == f->bytes[step] && tile < f->tile[step])) {
        f->bytes[step] = bytes;
        f->tile[step] = tile;
    }
}

/* The fullest of the tiles that a thread has looked at. */
struct fullness_part {
    struct fullness full;
    int64_t *change; /* owned; of one tile: live_add() */
};

struct fullness_work {
    struct memory_report lists;
    struct fullness_part *part; /* by thread; owned */
};

static enum emu_status note_tile(void *ctx, uint32_t tile, unsigned thread)
{
    const struct fullness_work *w = ctx;
    const struct memory_report *a = &w->lists;
    const struct lowered *l = a->c->lowered;
    int64_t use = a->c->place.tile[tile].code_bytes, *change = w->part[thread].change;

    memset(change, 0, (l->step.count + 1) * sizeof(*change));
    for (size_t i = a->first[tile]; i < a->first[tile + 1]; i++) {
        const struct object *o = &l->object.at[a->object[i]];

        live_add(l, o->live, o->bytes, change);
    }
    for (size_t step = 0; step < l->step.count; step++) {
        use += change[step];
        note_fullness(&w->part[thread].full, step, (uint64_t)use, tile);
    }
    return EMU_OK;
}

static enum emu_status note_tiles(struct fullness_work *w, unsigned threads, struct fullness *f)
{
    size_t steps = w->lists.c->lowered->step.count;

    w->part = emu_alloc(threads, sizeof(*w->part));
    if (!w->part)
        return FAIL(NO_MEMORY, "%u threads", threads);
    for (unsigned i = 0; i < threads; i++) {
        TRY(fullness_alloc(steps, &w->part[i].full));
        w->part[i].change = emu_alloc(steps + 1, sizeof(*w->part[i].change));
        if (!w->part[i].change)
            return FAIL(NO_MEMORY, "%zu steps", steps);
    }
    TRY(parallel_each(w->lists.tiles, threads, note_tile, w));
    for (unsigned i = 0; i < threads; i++) {
        for (size_t step = 0; step < steps; step++)
            note_fullness(f, step, w->part[i].full.bytes[step], w->part[i].full.tile[step]);
    }
    return EMU_OK;
}

static enum emu_status fullness_init(const struct compiled *c, struct fullness *f)
{
    unsigned threads = parallel_threads(c->threads);
    struct fullness_work w = { .part = NULL };
    enum emu_status s = fullness_alloc(c->lowered->step.count, f);

    if (s == EMU_OK)
        s = memory_report_list(c, &w.lists);
    if (s == EMU_OK)
        s = note_tiles(&w, threads, f);
    for (unsigned i = 0; w.part && i < threads; i++) {
        fullness_free(&w.part[i].full);
        ss_free(w.part[i].change);
    }
    ss_free(w.part);
    memory_report_free(&w.lists);
    return s;
}

/* ---- order ---- */

struct report_tracer {
    const struct compiled *c;
    struct fullness full;
    VEC(struct trace_step) step;
    uint32_t superstep;
    uint32_t call; /* the outermost STEP_CALL that runs now; UINT32_MAX: none */
    int zeros;     /* predicates of STEP_IF are 0 */
};

static enum emu_status trace_one(struct report_tracer *t, uint32_t index)
{
    const struct lowered *l = t->c->lowered;
    const struct step *step = &l->step.at[index];
    struct trace_step out = { .name = strings_text(&l->strings, step->name),
                              .step = index,
                              .scope = step->scope,
                              .call =
                                  t->call == UINT32_MAX ? step->scope : l->step.at[t->call].scope,
                              .share = step->shares ? &l->share.at[step->share] : NULL,
                              .shares = step->shares,
                              .max_tile = l->used_tile[t->full.tile[index]],
                              .max_tile_bytes = t->full.bytes[index] };

    out.kind = step->kind == STEP_EXCHANGE ? TRACE_EXCHANGE
               : step->kind == STEP_HOST   ? TRACE_HOST
               : step->kind == STEP_CHIPS  ? TRACE_CHIPS
                                           : TRACE_COMPUTE;
    t->superstep += out.kind != TRACE_COMPUTE;
    out.superstep = t->superstep;
    if (t->step.count >= TRACE_STEPS_MAX)
        return FAIL(USAGE, "the program takes more than %d steps", TRACE_STEPS_MAX);
    return VEC_PUSH(&t->step, out);
}

static enum emu_status trace_range(struct report_tracer *t, uint32_t first, uint32_t end);

static enum emu_status trace_repeat(struct report_tracer *t, uint32_t index)
{
    const struct step *step = &t->c->lowered->step.at[index];

    for (uint32_t i = 0; i < step->n; i++)
        TRY(trace_range(t, index + 1, step->match));
    return EMU_OK;
}

static enum emu_status trace_call(struct report_tracer *t, uint32_t index)
{
    const struct lowered *l = t->c->lowered;
    const struct lowered_function *f = &l->function.at[l->step.at[index].n];
    int outermost = t->call == UINT32_MAX;

    t->call = outermost ? index : t->call;
    TRY(trace_range(t, f->first, f->first + f->count));
    t->call = outermost ? UINT32_MAX : t->call;
    return EMU_OK;
}

static enum emu_status trace_range(struct report_tracer *t, uint32_t first, uint32_t end)
{
    const struct lowered *l = t->c->lowered;

    for (uint32_t i = first; i < end; i = lowered_next(l, i)) {
        const struct step *step = &l->step.at[i];

        if (!(step->groups & 1))
            continue;
        switch (step->kind) {
        case STEP_CALLS:
        case STEP_EXCHANGE:
        case STEP_HOST:
        case STEP_CHIPS:
            TRY(trace_one(t, i));
            break;
        case STEP_AWAIT:
            break;
        case STEP_REPEAT:
            TRY(trace_repeat(t, i));
            break;
        case STEP_CALL:
            TRY(trace_call(t, i));
            break;
        case STEP_IF: /* match: its STEP_ELSE, whose match is its STEP_END */
            if (t->zeros) {
                t->superstep += step->consensus; /* a sync decides */
                TRY(trace_range(t, step->match + 1, l->step.at[step->match].match));
                break;
            }
            /* fallthrough */
        default:
            return FAIL(USAGE, "%s: the order of the program depends on data",
                        strings_text(&l->strings, step->name));
        }
    }
    return EMU_OK;
}

static enum emu_status trace(const struct compiled *c, int zeros, struct trace_step **out,
                             size_t *steps)
{
    struct report_tracer t = { .c = c, .call = UINT32_MAX, .zeros = zeros };
    const struct lowered_function *f;
    enum emu_status s;

    *out = NULL;
    *steps = 0;
    if (!c)
        return FAIL(BAD_PROGRAM, "there is no compiled program: ss_graph_compile() has failed");
    f = &c->lowered->function.at[0];
    s = fullness_init(c, &t.full);
    if (s == EMU_OK)
        s = trace_range(&t, f->first, f->first + f->count);
    fullness_free(&t.full);
    if (s != EMU_OK) {
        VEC_FREE(&t.step);
        return s;
    }
    *out = t.step.at;
    *steps = t.step.count;
    return EMU_OK;
}

enum emu_status ss_compiled_trace(const struct compiled *c, struct trace_step **out, size_t *steps)
{
    return trace(c, 0, out, steps);
}

enum emu_status ss_compiled_trace_of_zeros(const struct compiled *c, struct trace_step **out,
                                           size_t *steps)
{
    return trace(c, 1, out, steps);
}

/* ---- what is always there ---- */

/* Steps that merge copies of several scopes, by their names: 1 + the first one of the name; 0:
 * there is none. */
struct merged_steps {
    uint32_t *of_name; /* owned; by string of the lowered program */
    uint32_t *of_text; /* owned; by string of the image, [texts] */
    uint32_t texts;
};

static void merged_steps_free(struct merged_steps *m)
{
    ss_free(m->of_name);
    ss_free(m->of_text);
}

static void find_names(const struct lowered *l, struct merged_steps *m)
{
    for (uint32_t step = l->step.count; step--;)
        if (l->step.at[step].shares)
            m->of_name[l->step.at[step].name] = 1 + step;
}

/* The string of the image that is a name, plus one; 0: no step has the name, or no range. */
static uint32_t text_of(const struct compiled *c, const struct merged_steps *m, uint32_t name)
{
    if (!m->of_name[name])
        return 0;
    return image_find_string(compiled_image(c), strings_text(&c->lowered->strings, name)) + 1;
}

static enum emu_status merged_steps_init(const struct compiled *c, struct merged_steps *m)
{
    uint32_t names = c->lowered->strings.count;

    *m = (struct merged_steps){ .of_name = emu_alloc(names + 1, sizeof(*m->of_name)) };
    if (!m->of_name)
        return FAIL(NO_MEMORY, "the steps of %u names", names);
    find_names(c->lowered, m);
    for (uint32_t i = 0; compiled_image(c) && i < names; i++)
        m->texts = text_of(c, m, i) > m->texts ? text_of(c, m, i) : m->texts;
    m->of_text = emu_alloc(m->texts + 1, sizeof(*m->of_text));
    if (!m->of_text)
        return FAIL(NO_MEMORY, "the steps of %u names", m->texts);
    for (uint32_t i = 0; compiled_image(c) && i < names; i++)
        if (text_of(c, m, i))
            m->of_text[text_of(c, m, i) - 1] = m->of_name[i];
    return EMU_OK;
}

/* Where everything is reported to, and what divides it. */
struct holding {
    const struct compiled *c;
    struct merged_steps merged;
    held_visit *visit;
    void *ctx;
};

/* Reports bytes of an owner; those of merged copies in proportion to the bytes that they move. */
static void report_held(const struct holding *h, uint32_t tile, struct held_bytes x,
                        uint32_t merged)
{
    const struct step *step = merged ? &h->c->lowered->step.at[merged - 1] : NULL;
    const struct scope_share *share = step ? &h->c->lowered->share.at[step->share] : NULL;
    uint64_t all = 0, seen = 0, given = 0, bytes = x.bytes;

    for (uint32_t i = 0; step && i < step->shares; i++)
        all += share[i].bytes;
    if (!all) {
        h->visit(h->ctx, tile, &x);
        return;
    }
    for (uint32_t i = 0; i < step->shares; i++) {
        seen += share[i].bytes;
        x.scope = share[i].scope;
        x.bytes = bytes * seen / all - given;
        given += x.bytes;
        h->visit(h->ctx, tile, &x);
    }
}

static void visit_code(const struct holding *h, uint32_t tile)
{
    const struct compiled *c = h->c;
    const struct image_tile *it = image_find_tile(compiled_image(c), c->number, tile);
    uint64_t end = (uint64_t)ss_arch_loader_base(ss_graph_arch(c->graph)) +
                   c->place.tile[c->lowered->tile_index[tile]].code_bytes;
    size_t n = 0;
    const struct image_range *r = it ? image_map_of(compiled_image(c), it->map, &n) : NULL;

    for (size_t i = 0; i < n && r[i].addr < end; i++)
        report_held(h, tile,
                    (struct held_bytes){ .owner = image_text(compiled_image(c), r[i].owner),
                                         .category = image_text(compiled_image(c), r[i].category),
                                         .scope = image_scope_of(compiled_image(c), r[i].owner),
                                         .bytes = r[i].bytes },
                    r[i].owner < h->merged.texts ? h->merged.of_text[r[i].owner] : 0);
}

static void visit_objects(const struct holding *h, const struct memory_report *a, uint32_t tile)
{
    const struct lowered *l = h->c->lowered;

    for (size_t i = a->first[tile]; i < a->first[tile + 1]; i++) {
        const struct object *o = &l->object.at[a->object[i]];

        if (o->live == LIVE_ALWAYS)
            report_held(h, l->used_tile[tile],
                        (struct held_bytes){ .owner = strings_text(&l->strings, o->owner),
                                             .category = category_name((enum category)o->category),
                                             .scope = lowered_scope(l, o->owner),
                                             .bytes = o->bytes },
                        h->merged.of_name[o->owner]);
    }
}

enum emu_status ss_compiled_held(const struct compiled *c, held_visit *visit, void *ctx)
{
    struct holding h = { .c = c, .visit = visit, .ctx = ctx };
    struct memory_report a;
    enum emu_status s = memory_report_list(c, &a);

    if (s == EMU_OK)
        s = merged_steps_init(c, &h.merged);
    for (uint32_t t = 0; s == EMU_OK && t < c->lowered->used_tiles; t++) {
        if (compiled_image(c))
            visit_code(&h, c->lowered->used_tile[t]);
        visit_objects(&h, &a, t);
    }
    merged_steps_free(&h.merged);
    memory_report_free(&a);
    return s;
}

enum emu_status ss_compiled_tiles(const struct compiled *c, tile_bytes_visit *visit, void *ctx)
{
    struct memory_report a;
    enum emu_status s = memory_report_init(c, &a);

    for (uint32_t t = 0; t < a.tiles && s == EMU_OK; t++)
        visit(ctx, c->lowered->used_tile[t], a.tile[t].category);
    memory_report_free(&a);
    return s;
}

const char *ss_compiled_category(unsigned i)
{
    return i < CATEGORY_COUNT ? category_name((enum category)i) : NULL;
}
