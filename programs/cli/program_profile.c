/* program_profile.c - what the compiler knows of a program, as rows of a profile: the steps in
 * order, and every object of every tile with the steps in which it is in use. */
#include "programs/cli/program_request.h"

#include <stdlib.h>
#include <string.h>

#include "programs/compiler/compiled.h"
#include "programs/compiler/report/memory_advice.h"

/* A compiled program is one of one chip. */
enum { CHIP = 0 };

/* ---- steps ---- */

static void add_step(struct profile *p, size_t position, const struct trace_step *t)
{
    static const char *const kind[] = { [TRACE_COMPUTE] = "compute",
                                        [TRACE_EXCHANGE] = "exchange",
                                        [TRACE_HOST] = "host",
                                        [TRACE_CHIPS] = "chips" };

    PROFILE_ROW(p, "program", PROFILE_I(CHIP), PROFILE_I(position), PROFILE_I(t->step),
                PROFILE_I(t->superstep), PROFILE_T(kind[t->kind]),
                PROFILE_I(profile_name(p, t->name)), PROFILE_I(t->scope), PROFILE_I(t->max_tile),
                PROFILE_I(t->max_tile_bytes));
}

static enum emu_status add_steps(struct profile *p, const struct compiled *c)
{
    struct trace_step *trace = NULL;
    size_t steps = 0;
    enum emu_status s = ss_compiled_trace(c, &trace, &steps);

    for (size_t i = 0; i < steps && s == EMU_OK; i++)
        add_step(p, i, &trace[i]);
    ss_free(trace);
    return s == EMU_USAGE ? EMU_OK : s; /* the order is not known */
}

/* ---- objects ---- */

/* Lifetime 0 is all the time, and has no rows. */
static void add_lifetimes(struct profile *p, const struct lowered *l)
{
    for (size_t i = 1; i < l->live_set.count; i++) {
        const struct live_set *set = &l->live_set.at[i];

        for (uint32_t k = set->first; k < set->first + set->count; k++)
            PROFILE_ROW(p, "lifetimes", PROFILE_I(CHIP), PROFILE_I(i),
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

static uint32_t name_of(struct profile *p, const struct lowered *l, struct object_rows *r,
                        uint32_t string)
{
    if (!r->name[string])
        r->name[string] = profile_name(p, strings_text(&l->strings, string));
    return r->name[string];
}

static enum emu_status add_tile(struct profile *p, const struct lowered *l, struct object_rows *r,
                                uint32_t tile)
{
    uint32_t first = r->first[tile], n = r->first[tile + 1] - first;

    qsort_r(r->order + first, n, sizeof(*r->order), by_address, (void *)(uintptr_t)l);
    for (uint32_t k = 0; k < n; k++) {
        const struct object *o = &l->object.at[r->order[first + k]];
        const uint32_t v[OBJECT_PLANES] = {
            o->addr, o->bytes, profile_name(p, category_name((enum category)o->category)),
            name_of(p, l, r, o->owner), o->live
        };

        for (unsigned j = 0; j < OBJECT_PLANES; j++)
            r->plane[(size_t)j * n + k] = v[j];
    }
    if (!n)
        return EMU_OK;
    return profile_put_numbers(
        p, "tile_variables",
        (const struct profile_value[]){ PROFILE_I(CHIP), PROFILE_I(tile), PROFILE_I(n) }, 3,
        r->plane, (size_t)OBJECT_PLANES * n);
}

static enum emu_status add_objects(struct profile *p, const struct compiled *c)
{
    uint32_t tiles = ss_graph_arch(c->graph)->tiles;
    struct object_rows r = { .first = NULL };
    enum emu_status s = sort_objects(c->lowered, tiles, &r);

    for (uint32_t t = 0; t < tiles && s == EMU_OK; t++)
        s = add_tile(p, c->lowered, &r, t);
    ss_free(r.first);
    ss_free(r.order);
    ss_free(r.name);
    ss_free(r.plane);
    return s;
}

/* ---- needs ---- */

static void add_needs(struct profile *p, const struct memory_report *a)
{
    for (uint32_t t = 0; t < a->tiles; t++) {
        const struct tile_place *n = &a->c->place.tile[t];

        PROFILE_ROW(p, "tile_needs", PROFILE_I(CHIP), PROFILE_I(a->c->lowered->used_tile[t]),
                    PROFILE_I(n->need_bytes), PROFILE_I(n->code_need), PROFILE_I(n->peak_step),
                    PROFILE_I(n->peak_bytes));
    }
}

static enum emu_status add_peak(struct profile *p, const struct memory_report *a, uint32_t tile)
{
    struct owner_bytes *o = NULL;
    size_t n = 0;

    TRY(memory_report_owners(a, tile, &o, &n));
    for (size_t i = 0; i < n; i++)
        PROFILE_ROW(p, "peak_owners", PROFILE_I(CHIP), PROFILE_I(a->c->lowered->used_tile[tile]),
                    PROFILE_I(profile_name(p, o[i].owner)),
                    PROFILE_I(profile_name(p, category_name(o[i].category))),
                    PROFILE_I(o[i].bytes));
    ss_free(o);
    return EMU_OK;
}

static enum emu_status add_advice(struct profile *p, const struct memory_report *a)
{
    struct advice v;
    enum emu_status s = shortage_advice(a, &v);

    for (size_t i = 0; i < v.line.count && s == EMU_OK; i++)
        PROFILE_ROW(p, "advice", PROFILE_I(i), PROFILE_T(v.line.at[i]));
    advice_free(&v);
    return s;
}

static enum emu_status add_memory(struct profile *p, const struct compiled *c)
{
    struct memory_report a;
    enum emu_status s = memory_report_init(c, &a);

    if (s == EMU_OK)
        add_needs(p, &a);
    for (uint32_t i = 0; i < a.fullest_count && s == EMU_OK; i++)
        s = add_peak(p, &a, a.fullest[i]);
    if (s == EMU_OK)
        s = add_advice(p, &a);
    memory_report_free(&a);
    return s;
}

enum emu_status program_profile_rows(struct profile *p, const struct compiled *c)
{
    TRY(add_steps(p, c));
    add_lifetimes(p, c->lowered);
    TRY(add_memory(p, c));
    return add_objects(p, c);
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

static void add_unfit_tile(struct profile *p, const struct memory_report *a, uint32_t tile)
{
    uint32_t number = a->c->lowered->used_tile[tile];
    const uint64_t *bytes = a->tile[tile].category;

    profile_add_tile(
        p, ss_graph_arch(a->c->graph),
        &(struct profile_tile){ .chip = CHIP, .tile = number, .used_bytes = a->tile[tile].used });
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        if (bytes[i])
            PROFILE_ROW(p, "tile_bytes", PROFILE_I(CHIP), PROFILE_I(number),
                        PROFILE_T(category_name((enum category)i)), PROFILE_I(bytes[i]));
    }
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
    struct memory_report a;
    enum emu_status s = memory_report_init(u->c, &a);

    for (uint32_t t = 0; t < a.tiles && s == EMU_OK; t++)
        add_unfit_tile(p, &a, t);
    memory_report_free(&a);
    TRY(s);
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
static struct session_range range_of(const struct session *s, uint64_t superstep, size_t *at)
{
    size_t steps;
    const struct session_range *r = ss_session_ranges(s, &steps);
    struct session_range sum = { 0 };

    for (; *at < steps && ss_session_range_superstep(s, *at) <= superstep; ++*at) {
        if (ss_session_range_superstep(s, *at) < superstep)
            continue;
        sum.numbers += r[*at].numbers;
        sum.saturated += r[*at].saturated;
    }
    return sum;
}

enum emu_status program_profile_overflows(struct profile *p, const struct session *s,
                                          const uint32_t *layer, size_t layers)
{
    size_t supersteps, ranges, at = 0;
    const uint32_t *tiles = ss_session_overflow_tiles(s, &supersteps);

    ss_session_ranges(s, &ranges);
    for (size_t i = 0; i < supersteps; i++) {
        struct session_range r = range_of(s, i, &at);
        int known = i < layers && layer[i] != UINT32_MAX;

        if (tiles[i] || r.saturated)
            PROFILE_ROW(p, "saturations", PROFILE_I(CHIP), PROFILE_I(i),
                        known ? PROFILE_I(layer[i]) : PROFILE_N, PROFILE_I(tiles[i]),
                        ranges ? PROFILE_I(r.numbers) : PROFILE_N,
                        ranges ? PROFILE_I(r.saturated) : PROFILE_N);
    }
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
