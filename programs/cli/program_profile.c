/* program_profile.c - what the compiler knows of a program, as rows of a profile: the steps in
 * order, and every object of every tile with the steps in which it is in use. */
#include "programs/cli/program_request.h"

#include <stdlib.h>
#include <string.h>

#include "programs/compiler/compiled.h"
#include "programs/compiler/report/memory_advice.h"

/* What a chip of the system runs. */
struct chip_rows {
    struct profile *p;
    const struct compiled *c;
    uint32_t chip;
};

/* ---- steps ---- */

static void add_step(const struct chip_rows *x, size_t position, const struct trace_step *t)
{
    static const char *const kind[] = { [TRACE_COMPUTE] = "compute",
                                        [TRACE_EXCHANGE] = "exchange",
                                        [TRACE_HOST] = "host",
                                        [TRACE_CHIPS] = "chips" };

    PROFILE_ROW(x->p, "program", PROFILE_I(x->chip), PROFILE_I(position), PROFILE_I(t->step),
                PROFILE_I(t->superstep), PROFILE_T(kind[t->kind]),
                PROFILE_I(profile_name(x->p, t->name)), PROFILE_I(t->scope), PROFILE_I(t->max_tile),
                PROFILE_I(t->max_tile_bytes));
}

static enum emu_status add_steps(const struct chip_rows *x)
{
    struct trace_step *trace = NULL;
    size_t steps = 0;
    enum emu_status s = ss_compiled_trace(x->c, &trace, &steps);

    for (size_t i = 0; i < steps && s == EMU_OK; i++)
        add_step(x, i, &trace[i]);
    ss_free(trace);
    return s == EMU_USAGE ? EMU_OK : s; /* the order is not known */
}

/* ---- objects ---- */

/* Lifetime 0 is all the time, and has no rows. */
static void add_lifetimes(const struct chip_rows *x)
{
    const struct lowered *l = x->c->lowered;

    for (size_t i = 1; i < l->live_set.count; i++) {
        const struct live_set *set = &l->live_set.at[i];

        for (uint32_t k = set->first; k < set->first + set->count; k++)
            PROFILE_ROW(x->p, "lifetimes", PROFILE_I(x->chip), PROFILE_I(i),
                        PROFILE_I(l->live_range.at[k].begin),
                        PROFILE_I(l->live_range.at[k].end - 1));
    }
}

/* What the objects of all tiles become. */
struct object_rows {
    uint32_t *first; /* owned: by tile, and one more: in order */
    uint32_t *order; /* owned: objects, tile by tile */
    uint32_t *name;  /* owned: by string, its id in the profile; 0: not yet */
    uint32_t *plane; /* owned: the numbers of one tile */
};

enum { OBJECT_PLANES = 5 };

/* By address, then by lifetime: tiles of one program are alike then, and pack well. */
static int by_address(const void *a, const void *b, void *lowered)
{
    const struct lowered *l = lowered;
    const struct object *x = &l->object.at[*(const uint32_t *)a],
                        *y = &l->object.at[*(const uint32_t *)b];

    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return x->live < y->live ? -1 : x->live > y->live;
}

static enum emu_status sort_objects(const struct lowered *l, uint32_t tiles, struct object_rows *r)
{
    r->first = emu_alloc(tiles + 2, sizeof(*r->first));
    r->order = emu_alloc(l->object.count + 1, sizeof(*r->order));
    r->name = emu_alloc(l->strings.count + 1, sizeof(*r->name));
    r->plane = emu_alloc(l->object.count + 1, OBJECT_PLANES * sizeof(*r->plane));
    if (!r->first || !r->order || !r->name || !r->plane)
        return FAIL(NO_MEMORY, "variables of a profile");
    for (size_t i = 0; i < l->object.count; i++)
        r->first[l->object.at[i].tile + 2]++;
    for (uint32_t t = 2; t <= tiles + 1; t++)
        r->first[t] += r->first[t - 1];
    for (uint32_t i = 0; i < l->object.count; i++)
        r->order[r->first[l->object.at[i].tile + 1]++] = i;
    return EMU_OK;
}

static uint32_t name_of(const struct chip_rows *x, struct object_rows *r, uint32_t string)
{
    if (!r->name[string])
        r->name[string] = profile_name(x->p, strings_text(&x->c->lowered->strings, string));
    return r->name[string];
}

static enum emu_status add_tile(const struct chip_rows *x, struct object_rows *r, uint32_t tile)
{
    const struct lowered *l = x->c->lowered;
    uint32_t first = r->first[tile], n = r->first[tile + 1] - first;

    qsort_r(r->order + first, n, sizeof(*r->order), by_address, (void *)(uintptr_t)l);
    for (uint32_t k = 0; k < n; k++) {
        const struct object *o = &l->object.at[r->order[first + k]];
        const uint32_t v[OBJECT_PLANES] = {
            o->addr, o->bytes, profile_name(x->p, category_name((enum category)o->category)),
            name_of(x, r, o->owner), o->live
        };

        for (unsigned j = 0; j < OBJECT_PLANES; j++)
            r->plane[(size_t)j * n + k] = v[j];
    }
    if (!n)
        return EMU_OK;
    return profile_put_numbers(
        x->p, "tile_variables",
        (const struct profile_value[]){ PROFILE_I(x->chip), PROFILE_I(tile), PROFILE_I(n) }, 3,
        r->plane, (size_t)OBJECT_PLANES * n);
}

static enum emu_status add_objects(const struct chip_rows *x)
{
    uint32_t tiles = ss_graph_arch(x->c->graph)->tiles;
    struct object_rows r = { .first = NULL };
    enum emu_status s = sort_objects(x->c->lowered, tiles, &r);

    for (uint32_t t = 0; t < tiles && s == EMU_OK; t++)
        s = add_tile(x, &r, t);
    ss_free(r.first);
    ss_free(r.order);
    ss_free(r.name);
    ss_free(r.plane);
    return s;
}

/* ---- needs ---- */

static void add_needs(const struct chip_rows *x, const struct memory_report *a)
{
    for (uint32_t t = 0; t < a->tiles; t++) {
        const struct tile_place *n = &x->c->place.tile[t];

        PROFILE_ROW(x->p, "tile_needs", PROFILE_I(x->chip), PROFILE_I(x->c->lowered->used_tile[t]),
                    PROFILE_I(n->need_bytes), PROFILE_I(n->code_need), PROFILE_I(n->peak_step),
                    PROFILE_I(n->peak_bytes));
    }
}

static enum emu_status add_peak(const struct chip_rows *x, const struct memory_report *a,
                                uint32_t tile)
{
    struct owner_bytes *o = NULL;
    size_t n = 0;

    TRY(memory_report_owners(a, tile, &o, &n));
    for (size_t i = 0; i < n; i++)
        PROFILE_ROW(
            x->p, "peak_owners", PROFILE_I(x->chip), PROFILE_I(x->c->lowered->used_tile[tile]),
            PROFILE_I(profile_name(x->p, o[i].owner)),
            PROFILE_I(profile_name(x->p, category_name(o[i].category))), PROFILE_I(o[i].bytes));
    ss_free(o);
    return EMU_OK;
}

/* What helps a chip helps those of all replicas that run the same. */
static enum emu_status add_advice(const struct chip_rows *x, const struct memory_report *a)
{
    struct advice v;
    enum emu_status s = EMU_OK;

    if (x->chip != x->c->number)
        return EMU_OK;
    s = shortage_advice(a, &v);
    for (size_t i = 0; i < v.line.count && s == EMU_OK; i++)
        PROFILE_ROW(x->p, "advice", PROFILE_I(x->chip), PROFILE_I(i), PROFILE_T(v.line.at[i]));
    advice_free(&v);
    return s;
}

static enum emu_status add_memory(const struct chip_rows *x)
{
    struct memory_report a;
    enum emu_status s = memory_report_init(x->c, &a);

    if (s == EMU_OK)
        add_needs(x, &a);
    for (uint32_t i = 0; i < a.fullest_count && s == EMU_OK; i++)
        s = add_peak(x, &a, a.fullest[i]);
    if (s == EMU_OK)
        s = add_advice(x, &a);
    memory_report_free(&a);
    return s;
}

static enum emu_status add_chip(const struct chip_rows *x)
{
    TRY(add_steps(x));
    add_lifetimes(x);
    TRY(add_memory(x));
    return add_objects(x);
}

/* For all chips of the system; those of a replica have one program. */
static enum emu_status each_chip(struct profile *p, const struct compiled *c,
                                 enum emu_status (*add)(const struct chip_rows *x))
{
    for (uint32_t chip = 0; chip < ss_graph_arch(c->graph)->chips; chip++)
        TRY(add(&(struct chip_rows){ p, ss_compiled_chip(c, chip % ss_compiled_chips(c)), chip }));
    return EMU_OK;
}

enum emu_status program_profile_rows(struct profile *p, const struct compiled *c)
{
    return each_chip(p, c, add_chip);
}

/* ---- kept ---- */

enum emu_status program_profile_pack(const struct compiled *c, void **data, size_t *bytes)
{
    struct profile *p;
    enum emu_status s = profile_new(0, &p);
    char *text = NULL;
    FILE *f;

    *data = NULL;
    *bytes = 0;
    TRY(s);
    f = open_memstream(&text, bytes);
    s = f ? program_profile_rows(p, c) : FAIL(NO_MEMORY, "a profile");
    if (s == EMU_OK)
        s = profile_write(p, f);
    profile_free(p);
    if (f && fclose(f) && s == EMU_OK)
        s = FAIL(NO_MEMORY, "a profile");
    if (s == EMU_OK) {
        *data = emu_alloc(*bytes, 1);
        s = *data ? EMU_OK : FAIL(NO_MEMORY, "a profile");
    }
    if (s == EMU_OK)
        memcpy(*data, text, *bytes);
    free(text); /* allocated by open_memstream() */
    return s;
}

enum emu_status program_profile_unpack(struct profile *p, const void *data, size_t bytes)
{
    static const char *const tables[] = { "program",    "lifetimes",   "tile_variables",
                                          "tile_needs", "peak_owners", "advice",
                                          NULL };
    struct profile *kept;
    enum emu_status s;

    TRY(profile_read_bytes(data, bytes, "an entry of the cache", &kept));
    s = profile_take(p, kept, tables);
    profile_free(kept);
    return s;
}

/* ---- what does not fit ---- */

struct unfit {
    const struct compiled *c;
    enum emu_status (*add)(void *ctx, struct profile *p);
    void *ctx;
};

static void add_unfit_tile(const struct chip_rows *x, const struct memory_report *a, uint32_t tile)
{
    uint32_t number = x->c->lowered->used_tile[tile];
    const uint64_t *bytes = a->tile[tile].category;

    profile_add_tile(x->p, ss_graph_arch(x->c->graph),
                     &(struct profile_tile){
                         .chip = x->chip, .tile = number, .used_bytes = a->tile[tile].used });
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        if (bytes[i])
            PROFILE_ROW(x->p, "tile_bytes", PROFILE_I(x->chip), PROFILE_I(number),
                        PROFILE_T(category_name((enum category)i)), PROFILE_I(bytes[i]));
    }
}

static enum emu_status add_unfit_chip(const struct chip_rows *x)
{
    struct memory_report a;
    enum emu_status s = memory_report_init(x->c, &a);

    profile_add_place(x->p, x->chip, x->c->first ? x->c->first->chips : x->c->chips);
    for (uint32_t t = 0; t < a.tiles && s == EMU_OK; t++)
        add_unfit_tile(x, &a, t);
    memory_report_free(&a);
    return s;
}

static void add_scopes(struct profile *p, const struct compiled *c)
{
    for (uint32_t i = 0; i < ss_graph_scopes(c->graph); i++)
        PROFILE_ROW(p, "scopes", PROFILE_I(i),
                    PROFILE_I(i ? ss_graph_scope_parent(c->graph, i) : 0),
                    PROFILE_T(i ? ss_graph_scope_path(c->graph, i) : ""));
}

static enum emu_status add_unfit(void *ctx, struct profile *p)
{
    const struct unfit *u = ctx;

    TRY(each_chip(p, u->c, add_unfit_chip));
    add_scopes(p, u->c);
    TRY(program_profile_rows(p, u->c));
    return u->add ? u->add(u->ctx, p) : EMU_OK;
}

enum emu_status program_profile_unfit(const struct request *q, const struct compiled *c,
                                      enum emu_status (*add)(void *ctx, struct profile *p),
                                      void *ctx, struct profile_files *f)
{
    struct unfit u = { c, add, ctx };

    return request_profile_unfit(q, ss_graph_arch(c->graph),
                                 &(struct profile_extras){ .add = add_unfit, .ctx = &u }, f);
}

/* ---- overflows ---- */

/* Of the compute steps of a superstep, which has the first of them at *at. */
static struct session_range range_of(const struct session *s, uint32_t chip, uint64_t superstep,
                                     size_t *at)
{
    size_t steps;
    const struct session_range *r = ss_session_chip_ranges(s, chip, &steps);
    struct session_range sum = { 0 };

    for (; *at < steps && ss_session_chip_range_superstep(s, chip, *at) <= superstep; ++*at) {
        if (ss_session_chip_range_superstep(s, chip, *at) < superstep)
            continue;
        sum.numbers += r[*at].numbers;
        sum.saturated += r[*at].saturated;
    }
    return sum;
}

static void add_overflows(struct profile *p, const struct session *s, uint32_t chip,
                          const uint32_t *layer, size_t layers)
{
    size_t supersteps, ranges, at = 0;
    const uint32_t *tiles = ss_session_chip_overflow_tiles(s, chip, &supersteps);

    ss_session_chip_ranges(s, chip, &ranges);
    for (size_t i = 0; i < supersteps; i++) {
        struct session_range r = range_of(s, chip, i, &at);
        int known = i < layers && layer[i] != UINT32_MAX;

        if (tiles[i] || r.saturated)
            PROFILE_ROW(p, "saturations", PROFILE_I(chip), PROFILE_I(i),
                        known ? PROFILE_I(layer[i]) : PROFILE_N, PROFILE_I(tiles[i]),
                        ranges ? PROFILE_I(r.numbers) : PROFILE_N,
                        ranges ? PROFILE_I(r.saturated) : PROFILE_N);
    }
}

enum emu_status program_profile_overflows(struct profile *p, const struct session *s,
                                          const uint32_t *layer, size_t layers)
{
    uint32_t chips = s ? ss_session_run_image((struct session *)(uintptr_t)s)->chips : 0;

    for (uint32_t chip = 0; chip < chips; chip++)
        add_overflows(p, s, chip, layer, layers);
    return EMU_OK;
}

static enum emu_status add_program(void *ctx, struct profile *p)
{
    return program_profile_rows(p, ctx);
}

enum emu_status program_profile(const struct request *q, const struct compiled *c,
                                struct session *s, struct profile_files *f)
{
    const struct profile_extras x = { .add = add_program, .ctx = (void *)(uintptr_t)c };

    return request_profile(q, ss_session_run_image(s), &x, f);
}
