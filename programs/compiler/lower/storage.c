/* storage.c - where variables lie, and which bytes the elements of a view are. A variable has one
 * object on each of its tiles, with the elements in the order of the variable and without gaps.
 */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

/* Lets copies move 8 bytes at a time. Fields that need more raise the alignment of their objects.
 */
enum { VARIABLE_ALIGN = 8 };

enum emu_status object_add(struct graph_lowering *w, const struct object *o, enum life life,
                           uint32_t *out)
{
    struct object_note note = {
        .data_bytes = o->bytes, .action = LOWERED_NONE, .life = life, .first = PHASES
    };
    struct object padded = *o;

    if (w->l->object.count >= LOWERED_NONE - 1)
        return FAIL(BAD_PROGRAM, "lowering: more than %u objects", LOWERED_NONE - 1);
    padded.bytes = round_up(o->bytes, 4);
    TRY(VEC_PUSH(&w->note, note));
    TRY(VEC_PUSH(&w->l->object, padded));
    *out = (uint32_t)w->l->object.count - 1;
    return EMU_OK;
}

enum emu_status object_add_temporary(struct graph_lowering *w, uint32_t tile, uint64_t bytes,
                                     enum category c, uint32_t owner, uint32_t *out)
{
    struct object o = { .tile = tile,
                        .bytes = (uint32_t)bytes,
                        .align = VARIABLE_ALIGN,
                        .region = ANY,
                        .category = (uint8_t)c,
                        .owner = owner };

    if (bytes > UINT32_MAX - 64)
        return FAIL(BAD_PROGRAM, "%s: %llu bytes for tile %u", strings_text(&w->l->strings, owner),
                    (unsigned long long)bytes, tile);
    TRY(object_add(w, &o, LIFE_ACTION, out));
    w->note.at[*out].action = (uint32_t)w->action.count - 1;
    return EMU_OK;
}

enum emu_status object_add_word(struct graph_lowering *w, uint32_t object, uint32_t value)
{
    return VEC_PUSH(&w->l->word, (struct object_word){ object, value });
}

/* ---- of a variable ---- */

static enum life life_of(const struct variable *v)
{
    if (variable_stays(v))
        return LIFE_ALWAYS;
    return v->input ? LIFE_INPUT : LIFE_FLOW;
}

/* Adds a run of a variable to its object on a tile, which is made with the first run there. */
static enum emu_status add_run(struct graph_lowering *w, const struct variable *v, uint32_t owner,
                               const struct map_run *m)
{
    unsigned unit = ss_elem_bytes(v->elem);
    uint64_t bytes = (m->end - m->begin) * unit, fill = 0;
    struct object *o;

    if (m->tile >= w->g->arch.tiles)
        return FAIL(BAD_PROGRAM, "%s: elements %llu .. %llu are on no tile", v->name,
                    (unsigned long long)m->begin, (unsigned long long)m->end);
    if (w->tile_mark[m->tile] == w->mark)
        fill = w->note.at[w->tile_value[m->tile]].data_bytes;
    if (bytes > UINT32_MAX - 64 - fill)
        return FAIL(BAD_PROGRAM, "%s: 4 GiB or more on tile %u", v->name, m->tile);
    if (w->tile_mark[m->tile] != w->mark) {
        struct object new = { .tile = m->tile,
                              .align = VARIABLE_ALIGN,
                              .region = ANY,
                              .category = v->constant ? CATEGORY_CONSTANT : CATEGORY_VARIABLE,
                              .owner = owner };

        w->tile_mark[m->tile] = w->mark;
        TRY(object_add(w, &new, life_of(v), &w->tile_value[m->tile]));
    }
    o = lower_object(w, w->tile_value[m->tile]);
    w->note.at[w->tile_value[m->tile]].data_bytes = (uint32_t)(fill + bytes);
    o->bytes = round_up((uint32_t)(fill + bytes), 4);
    return VEC_PUSH(
        &w->l->storage_run,
        (struct storage_run){ m->begin, m->end, w->tile_value[m->tile], (uint32_t)fill });
}

/* Initial contents. An object that is one run of whole words borrows the data of the variable;
 * others get a copy. */
static enum emu_status add_contents(struct graph_lowering *w, const struct variable *v,
                                    const struct storage *s)
{
    unsigned unit = ss_elem_bytes(v->elem);

    for (uint32_t i = s->first; i < s->first + s->count; i++) {
        const struct storage_run *r = &w->l->storage_run.at[i];
        struct object *o = lower_object(w, r->object);
        uint8_t *to = (uint8_t *)(uintptr_t)o->data;

        if ((r->end - r->begin) * unit == o->bytes)
            o->data = variable_contents(v, r->begin, r->end - r->begin);
        if (o->data && !to)
            continue;
        if (!to)
            o->data = to = prog_alloc(&w->l->arena, o->bytes, 1);
        if (!to)
            return FAIL(NO_MEMORY, "contents of %s", v->name);
        variable_copy_contents(v, r->begin, r->end - r->begin, to + r->offset);
    }
    return EMU_OK;
}

static enum emu_status build_variable(struct graph_lowering *w, uint32_t var)
{
    const struct variable *v = &w->g->variable.at[var];
    uint32_t owner;
    struct storage s = { (uint32_t)w->l->storage_run.count, 0 };
    const struct map_run *run;
    size_t runs;

    TRY(variable_map(w->g, var, &run, &runs));
    TRY(lower_owner(w, v->name, v->scope, &owner));
    w->mark++;
    for (size_t i = 0; i < runs; i++)
        TRY(add_run(w, v, owner, &run[i]));
    if (w->l->storage_run.count >= LOWERED_NONE)
        return FAIL(BAD_PROGRAM, "lowering: variables in more than %u runs", LOWERED_NONE);
    s.count = (uint32_t)(w->l->storage_run.count - s.first);
    w->hint[var] = s.first;
    TRY(VEC_PUSH(&w->l->storage, s));
    return v->initial ? add_contents(w, v, &s) : EMU_OK;
}

enum emu_status storage_build(struct graph_lowering *w)
{
    uint32_t *used;

    for (uint32_t i = 0; i < w->g->variable.count; i++)
        TRY(build_variable(w, i));
    used = w->l->tile_index; /* 0 where used until lower_graph() numbers them */
    for (size_t i = 0; i < w->l->object.count; i++)
        used[w->l->object.at[i].tile] = 0;
    return EMU_OK;
}

/* ---- of a view ---- */

struct runs_ctx {
    struct graph_lowering *w;
    struct memory_run_list *out;
    size_t floor; /* runs before this belong to others */
};

/* The storage run of an element. Tries the run that was found last and the one after it before it
 * searches. */
static uint32_t find_run(struct graph_lowering *w, uint32_t var, uint64_t element)
{
    const struct storage *s = &w->l->storage.at[var];
    const struct storage_run *r = w->l->storage_run.at;
    uint32_t low = s->first, high = s->first + s->count, i = w->hint[var];

    if (i + 1 < high && r[i].end <= element)
        i++;
    if (r[i].begin <= element && element < r[i].end)
        return w->hint[var] = i;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (r[middle].begin <= element)
            low = middle;
        else
            high = middle;
    }
    return w->hint[var] = low;
}

static enum emu_status add_memory_runs(void *ctx, const struct view_run *v)
{
    struct runs_ctx *c = ctx;
    unsigned unit = ss_elem_bytes(c->w->g->variable.at[v->var].elem);
    uint64_t at = v->offset, end = v->offset + v->elements;
    uint32_t i;

    if (at == end)
        return EMU_OK;
    i = find_run(c->w, v->var, at);
    for (; at < end; i++) {
        const struct storage_run *r = &c->w->l->storage_run.at[i];
        uint64_t stop = end < r->end ? end : r->end;
        struct memory_run p = { r->object, r->offset + (uint32_t)((at - r->begin) * unit),
                                (uint32_t)((stop - at) * unit) };
        struct memory_run *last = c->out->count > c->floor ? &c->out->at[c->out->count - 1] : NULL;

        if (last && last->object == p.object && last->offset + last->bytes == p.offset &&
            last->bytes + (uint64_t)p.bytes < UINT32_MAX)
            last->bytes += p.bytes;
        else
            TRY(VEC_PUSH(c->out, p));
        c->w->hint[v->var] = i;
        at = stop;
    }
    return EMU_OK;
}

enum emu_status storage_runs(struct graph_lowering *w, uint32_t view, struct memory_run_list *out)
{
    struct runs_ctx c = { w, out, out->count };

    return view_runs(w->g, view, 0, w->g->view.at[view].elements, add_memory_runs, &c);
}
