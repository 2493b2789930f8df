/* lower.c - from the program tree to steps: which tiles take part, control flow, functions. Begins
 * and ends a lowering.
 */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

/* At most so many copies are considered for one action; more would only cost memory. */
enum { COPIES_TOGETHER = 256, MAX_GROUPS = 64 };

static const char *const category_names[CATEGORY_COUNT] = {
#define CATEGORY(id, name) [CATEGORY_##id] = name,
    CATEGORIES
#undef CATEGORY
};

const char *category_name(enum category c)
{
    return c < CATEGORY_COUNT ? category_names[c] : "?";
}

/* ---- tiles ---- */

/* Marks the tiles of vertices that can run, and those that words of channels are dealt over. */
static enum emu_status mark_tiles(struct graph_lowering *w, uint32_t node, uint8_t *seen)
{
    const struct node *n = &w->g->node.at[node];

    if (seen[node])
        return EMU_OK;
    seen[node] = 1;
    if (n->kind == NODE_EXECUTE) {
        const struct compute_set *cs = &w->g->compute_set.at[n->a];

        for (size_t i = 0; i < cs->vertex.count; i++)
            w->l->tile_index[w->g->vertex.at[cs->vertex.at[i]].tile] = 0;
    }
    if (n->kind == NODE_CHIPS)
        TRY(chip_deals(w, n));
    if (n->kind == NODE_CALL)
        TRY(mark_tiles(w, w->g->function.at[n->a].body, seen));
    for (size_t i = 0; i < n->child.count; i++)
        TRY(mark_tiles(w, n->child.at[i], seen));
    return EMU_OK;
}

/* A chip that others wait for comes to their syncs, if only by one tile. */
static void mark_a_tile(struct graph_lowering *w)
{
    uint32_t t = 0;

    while (t < w->g->arch.tiles && w->l->tile_index[t] == LOWERED_NONE)
        t++;
    if (t == w->g->arch.tiles && w->g->arch.chips > 1)
        w->l->tile_index[0] = 0;
}

/* Numbers the tiles that have objects or vertices. */
static enum emu_status number_tiles(struct graph_lowering *w)
{
    struct lowered *l = w->l;
    uint8_t *seen = emu_alloc(w->g->node.count + 1, 1);
    uint32_t tiles = w->g->arch.tiles;
    enum emu_status s = EMU_OK;

    if (!seen)
        return FAIL(NO_MEMORY, "%zu nodes", w->g->node.count);
    if (w->g->program != GRAPH_NONE)
        s = mark_tiles(w, w->g->program, seen);
    ss_free(seen);
    TRY(s);
    mark_a_tile(w);
    l->used_tile = prog_alloc(&l->arena, tiles + 1, sizeof(*l->used_tile));
    w->predicate_object = prog_alloc(&l->arena, tiles + 1, sizeof(*w->predicate_object));
    if (!l->used_tile || !w->predicate_object)
        return FAIL(NO_MEMORY, "%u tiles", tiles);
    for (uint32_t t = 0; t < tiles; t++) {
        if (l->tile_index[t] == LOWERED_NONE)
            continue;
        if (w->g->group[t] >= MAX_GROUPS)
            return FAIL(BAD_PROGRAM, "tile %u is in sync group %u: at most %u groups", t,
                        w->g->group[t], MAX_GROUPS);
        l->tile_index[t] = l->used_tiles;
        w->predicate_object[l->used_tiles] = LOWERED_NONE;
        l->used_tile[l->used_tiles++] = t;
        l->groups |= UINT64_C(1) << w->g->group[t];
    }
    return EMU_OK;
}

/* ---- the program tree ---- */

static enum emu_status walk(struct graph_lowering *w, uint32_t node, uint64_t groups);

/* A part of the program whose copies are not merged with those after it. */
static enum emu_status walk_body(struct graph_lowering *w, uint32_t node, uint64_t groups)
{
    TRY(walk(w, node, groups));
    return copies_flush(w, groups);
}

/* Adds a step of control flow, which needs no action. `step` has its kind and n. */
static enum emu_status add_step(struct graph_lowering *w, const struct node *node, struct step step,
                                uint64_t groups, const char *name)
{
    step.groups = groups;
    step.scope = node->scope;
    TRY(lower_owner(w, name, step.scope, &step.name));
    if (w->l->step.count >= UINT32_MAX - 1)
        return FAIL(BAD_PROGRAM, "lowering: too many steps");
    return VEC_PUSH(&w->l->step, step);
}

static enum emu_status walk_execute(struct graph_lowering *w, uint32_t compute_set, uint64_t groups)
{
    uint32_t action;

    TRY(compute_set_action(w, compute_set, &action));
    return action == LOWERED_NONE ? EMU_OK : action_emit(w, action, groups);
}

static enum emu_status walk_repeat(struct graph_lowering *w, const struct node *n, uint64_t groups)
{
    size_t begin = w->l->step.count;

    if (!n->a)
        return EMU_OK;
    TRY(add_step(w, n, (struct step){ .kind = STEP_REPEAT, .n = n->a }, groups, "repeat"));
    TRY(walk_body(w, n->child.at[0], groups));
    if (w->l->step.count == begin + 1) {
        w->l->step.count = begin;
        return EMU_OK;
    }
    return add_step(w, n, (struct step){ .kind = STEP_END }, groups, "repeat");
}

static enum emu_status walk_while(struct graph_lowering *w, const struct node *n, uint64_t groups)
{
    uint32_t action;

    TRY(add_step(w, n, (struct step){ .kind = STEP_LOOP }, groups, "while"));
    TRY(walk_body(w, n->child.at[0], groups));
    TRY(predicate_action(w, n, STEP_BREAK, groups, &action));
    TRY(action_emit(w, action, groups));
    TRY(walk_body(w, n->child.at[1], groups));
    return add_step(w, n, (struct step){ .kind = STEP_END }, groups, "while");
}

static enum emu_status walk_if(struct graph_lowering *w, const struct node *n, uint64_t groups)
{
    uint32_t action;

    TRY(predicate_action(w, n, STEP_IF, groups, &action));
    w->action.at[action].step[PHASE_CONTROL].rare = n->kind == NODE_RARE;
    TRY(action_emit(w, action, groups));
    TRY(walk_body(w, n->child.at[0], groups));
    TRY(add_step(w, n, (struct step){ .kind = STEP_ELSE }, groups, "if"));
    if (n->child.count > 1)
        TRY(walk_body(w, n->child.at[1], groups));
    return add_step(w, n, (struct step){ .kind = STEP_END }, groups, "if");
}

/* A function is lowered once for every set of groups that call it. */
static enum emu_status walk_call(struct graph_lowering *w, const struct node *n, uint64_t groups)
{
    uint32_t i = 0, function = n->a;

    while (i < w->function.count &&
           (w->function.at[i].function != function || w->function.at[i].groups != groups))
        i++;
    if (i == w->function.count)
        TRY(VEC_PUSH(&w->function, (struct function_copy){ function, groups }));
    return add_step(w, n, (struct step){ .kind = STEP_CALL, .n = i + 1 }, groups,
                    w->g->function.at[function].name);
}

static enum emu_status walk_together(struct graph_lowering *w, const struct node *n,
                                     uint64_t groups)
{
    for (size_t i = 0; i < n->child.count; i++) {
        uint64_t part = n->groups[i] < MAX_GROUPS ? groups & UINT64_C(1) << n->groups[i] : 0;

        if (part)
            TRY(walk_body(w, n->child.at[i], part));
    }
    return EMU_OK;
}

static enum emu_status walk_stream(struct graph_lowering *w, const struct node *n, uint64_t groups)
{
    uint32_t action;

    if (n->kind == NODE_STREAM_END)
        TRY(host_await_action(w, n->a, n->b, &action));
    else
        TRY(host_action(w, n->a, n->b, n->kind == NODE_STREAM_BEGIN, &action));
    return action == LOWERED_NONE ? EMU_OK : action_emit(w, action, groups);
}

static enum emu_status walk_chips(struct graph_lowering *w, const struct node *n, uint64_t groups)
{
    uint32_t action;

    TRY(chips_action(w, n, &action));
    return action_emit(w, action, groups);
}

static enum emu_status walk(struct graph_lowering *w, uint32_t node, uint64_t groups)
{
    const struct node *n = &w->g->node.at[node];

    if (n->kind == NODE_COPY) {
        TRY(VEC_PUSH(&w->copy, node));
        return w->copy.count < COPIES_TOGETHER ? EMU_OK : copies_flush(w, groups);
    }
    if (n->kind != NODE_SEQUENCE)
        TRY(copies_flush(w, groups));
    switch (n->kind) {
    case NODE_SEQUENCE:
        for (size_t i = 0; i < n->child.count; i++)
            TRY(walk(w, n->child.at[i], groups));
        return EMU_OK;
    case NODE_EXECUTE:
        return walk_execute(w, n->a, groups);
    case NODE_REPEAT:
        return walk_repeat(w, n, groups);
    case NODE_WHILE:
        return walk_while(w, n, groups);
    case NODE_IF:
    case NODE_RARE:
        return walk_if(w, n, groups);
    case NODE_CALL:
        return walk_call(w, n, groups);
    case NODE_TOGETHER:
        return walk_together(w, n, groups);
    case NODE_STREAM:
    case NODE_STREAM_BEGIN:
    case NODE_STREAM_END:
        return walk_stream(w, n, groups);
    case NODE_CHIPS:
        return walk_chips(w, n, groups);
    case NODE_COPY:
        break;
    }
    return EMU_OK;
}

static enum emu_status walk_function(struct graph_lowering *w, uint32_t node, uint64_t groups,
                                     const char *name)
{
    struct lowered_function f = { .first = (uint32_t)w->l->step.count,
                                  .name = strings_id(&w->l->strings, name) };

    if (f.name == UINT32_MAX)
        return FAIL(NO_MEMORY, "name of a function");
    if (node != GRAPH_NONE && groups)
        TRY(walk_body(w, node, groups));
    f.count = (uint32_t)w->l->step.count - f.first;
    return VEC_PUSH(&w->l->function, f);
}

static enum emu_status walk_program(struct graph_lowering *w)
{
    TRY(walk_function(w, w->g->program, w->l->groups, "program"));
    for (size_t i = 0; i < w->function.count; i++) {
        struct function_copy f = w->function.at[i];

        TRY(walk_function(w, w->g->function.at[f.function].body, f.groups,
                          w->g->function.at[f.function].name));
    }
    return EMU_OK;
}

/* ---- begin and end ---- */

static enum emu_status sort_pairs(struct lowered *l)
{
    size_t kept = 0;

    TRY(KEY_SORT(&l->apart, struct object_pair, a, 2));
    for (size_t i = 0; i < l->apart.count; i++) {
        if (!kept || memcmp(&l->apart.at[kept - 1], &l->apart.at[i], sizeof(*l->apart.at)) != 0)
            l->apart.at[kept++] = l->apart.at[i];
    }
    l->apart.count = kept;
    return EMU_OK;
}

static enum emu_status lowering_begin(struct graph_lowering *w)
{
    struct lowered *l = w->l;
    struct graph *g = w->g;

    l->graph = g;
    l->tile_index = prog_alloc(&l->arena, g->arch.tiles + 1, sizeof(*l->tile_index));
    w->tile_mark = emu_alloc(g->arch.tiles + 1, sizeof(*w->tile_mark));
    w->tile_value = emu_alloc(g->arch.tiles + 1, sizeof(*w->tile_value));
    w->hint = emu_alloc(g->variable.count + 1, sizeof(*w->hint));
    w->set_action = emu_alloc(g->compute_set.count + 1, sizeof(*w->set_action));
    w->deal = emu_alloc(g->use.count + 1, sizeof(*w->deal));
    w->arrival_first = emu_alloc(g->channel.count + 1, sizeof(*w->arrival_first));
    if (!l->tile_index || !w->tile_mark || !w->tile_value || !w->hint || !w->set_action ||
        !w->deal || !w->arrival_first)
        return FAIL(NO_MEMORY, "lowering");
    memset(l->tile_index, 0xff, (g->arch.tiles + 1) * sizeof(*l->tile_index));
    memset(w->set_action, 0xff, (g->compute_set.count + 1) * sizeof(*w->set_action));
    return EMU_OK;
}

static void lowering_end(struct graph_lowering *w)
{
    VEC_FREE(&w->note);
    VEC_FREE(&w->action);
    VEC_FREE(&w->access);
    VEC_FREE(&w->use);
    VEC_FREE(&w->occurrence);
    VEC_FREE(&w->run);
    VEC_FREE(&w->fetched);
    VEC_FREE(&w->copy_run);
    VEC_FREE(&w->back);
    VEC_FREE(&w->work_list);
    VEC_FREE(&w->copy);
    VEC_FREE(&w->function);
    VEC_FREE(&w->arrival);
    index_table_free(&w->fetched_table);
    index_table_free(&w->work_table);
    index_table_free(&w->codelet_numbers);
    index_table_free(&w->forms);
    ss_free(w->hint);
    ss_free(w->tile_mark);
    ss_free(w->tile_value);
    ss_free(w->set_action);
    ss_free(w->deal);
    ss_free(w->arrival_first);
}

static enum emu_status lower(struct graph_lowering *w)
{
    TRY(lowering_begin(w));
    TRY(storage_build(w));
    TRY(number_tiles(w));
    TRY(walk_program(w));
    TRY(lowered_match(w->l));
    TRY(sort_pairs(w->l));
    return liveness_build(w);
}

enum emu_status lower_graph(struct graph *g, const struct lower_watch *watch, struct lowered **out)
{
    struct graph_lowering w = { .g = g, .l = emu_alloc(1, sizeof(struct lowered)), .watch = watch };
    enum emu_status s;

    if (!w.l)
        return FAIL(NO_MEMORY, "lowering");
    s = lower(&w);
    lowering_end(&w);
    if (s != EMU_OK) {
        lowered_free(w.l);
        return s;
    }
    *out = w.l;
    return EMU_OK;
}

void lowered_free_work(struct lowered *l)
{
    VEC_FREE(&l->apart);
    VEC_FREE(&l->message);
    VEC_FREE(&l->message_dest);
}

void lowered_free(struct lowered *l)
{
    if (!l)
        return;
    prog_arena_free(&l->arena);
    strings_free(&l->strings);
    lowered_free_work(l);
    VEC_FREE(&l->object);
    VEC_FREE(&l->word);
    VEC_FREE(&l->call);
    VEC_FREE(&l->form);
    VEC_FREE(&l->form_length);
    VEC_FREE(&l->codelet);
    VEC_FREE(&l->predicate);
    VEC_FREE(&l->live_set);
    VEC_FREE(&l->live_range);
    VEC_FREE(&l->step);
    VEC_FREE(&l->function);
    VEC_FREE(&l->host_request);
    VEC_FREE(&l->chip_part);
    VEC_FREE(&l->chip_packet);
    VEC_FREE(&l->storage);
    VEC_FREE(&l->storage_run);
    VEC_FREE(&l->stream_run);
    VEC_FREE(&l->stream_layout);
    VEC_FREE(&l->share);
    VEC_FREE(&l->owner_scope);
    ss_free(l);
}
