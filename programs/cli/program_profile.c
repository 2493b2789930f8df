/* program_profile.c - what the compiler knows of a program, as rows of a profile: the steps in
 * order, and every object of every tile with the steps in which it is in use. */
#include "programs/cli/program_request.h"
#include "programs/compiler/compiled.h"

/* ---- steps ---- */

static void add_step(struct profile *p, size_t position, const struct trace_step *t)
{
    static const char *const kind[] = {
        [TRACE_COMPUTE] = "compute", [TRACE_EXCHANGE] = "exchange", [TRACE_HOST] = "host"
    };

    PROFILE_ROW(p, "program", PROFILE_I(position), PROFILE_I(t->step), PROFILE_I(t->superstep),
                PROFILE_T(kind[t->kind]), PROFILE_I(profile_name(p, t->name)), PROFILE_I(t->scope),
                PROFILE_I(t->max_tile), PROFILE_I(t->max_tile_bytes));
}

static enum emu_status add_steps(struct profile *p, const struct compiled *c)
{
    struct trace_step *trace = NULL;
    size_t steps = 0;
    enum emu_status s = compiled_trace(c, &trace, &steps);

    for (size_t i = 0; i < steps && s == EMU_OK; i++)
        add_step(p, i, &trace[i]);
    emu_free(trace);
    return s == EMU_USAGE ? EMU_OK : s; /* the order is not known */
}

/* ---- objects ---- */

/* Lifetime 0 is all the time, and has no rows. */
static void add_lifetimes(struct profile *p, const struct lowered *l)
{
    for (size_t i = 1; i < l->live_set.count; i++) {
        const struct live_set *set = &l->live_set.at[i];

        for (uint32_t k = set->first; k < set->first + set->count; k++)
            PROFILE_ROW(p, "lifetimes", PROFILE_I(i), PROFILE_I(l->live_range.at[k].begin),
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
    return profile_put_numbers(p, "tile_variables",
                               (const struct profile_value[]){ PROFILE_I(tile), PROFILE_I(n) }, 2,
                               r->plane, (size_t)OBJECT_PLANES * n);
}

static enum emu_status add_objects(struct profile *p, const struct compiled *c)
{
    uint32_t tiles = graph_arch(c->graph)->tiles;
    struct object_rows r = { .first = NULL };
    enum emu_status s = sort_objects(c->lowered, tiles, &r);

    for (uint32_t t = 0; t < tiles && s == EMU_OK; t++)
        s = add_tile(p, c->lowered, &r, t);
    emu_free(r.first);
    emu_free(r.order);
    emu_free(r.name);
    emu_free(r.plane);
    return s;
}

enum emu_status program_profile_rows(struct profile *p, const struct compiled *c)
{
    TRY(add_steps(p, c));
    add_lifetimes(p, c->lowered);
    return add_objects(p, c);
}

static enum emu_status add_program(void *ctx, struct profile *p)
{
    return program_profile_rows(p, ctx);
}

enum emu_status program_profile(const struct request *q, const struct compiled *c,
                                struct session *s, struct profile_files *f)
{
    const struct profile_extras x = { .add = add_program, .ctx = (void *)(uintptr_t)c };

    return request_profile(q, session_run_image(s), &x, f);
}
