/* emit_index.c - one look at the whole program before the tiles are walked one by one. */
#include "programs/compiler/emit/emit_index.h"

#include <string.h>

/* The instructions send and setzi and the pointer field of receives hold addresses of 20 bits. */
enum { ADDRESS_END = 1 << 20 };

unsigned emit_index_group(const struct emit_index *p, uint32_t tile)
{
    return p->l->graph->group[tile];
}

/* ---- functions ---- */

static enum emu_status find_calls(struct emit_index *p)
{
    const struct lowered *l = p->l;

    p->call_step = prog_alloc(&p->arena, l->step.count, sizeof(*p->call_step));
    if (!p->call_step)
        return FAIL(NO_MEMORY, "%zu steps", l->step.count);
    for (uint32_t i = 0; i < l->step.count; i++) {
        if (l->step.at[i].kind != STEP_CALL)
            continue;
        if (l->step.at[i].n >= l->function.count)
            return FAIL(BAD_PROGRAM, "step %u: function %u of %zu", i, l->step.at[i].n,
                        l->function.count);
        p->call_step[p->call_steps++] = i;
    }
    return EMU_OK;
}

enum visit { NEW, OPEN, DONE };

/* Callees first. */
static enum emu_status order_function(const struct emit_index *p, uint32_t f, uint8_t *visit,
                                      uint32_t *order, uint32_t *ordered)
{
    const struct lowered_function *fn = &p->l->function.at[f];

    if (visit[f] == OPEN)
        return FAIL(BAD_PROGRAM, "function %s calls itself",
                    strings_text(&p->l->strings, fn->name));
    if (visit[f] == DONE)
        return EMU_OK;
    visit[f] = OPEN;
    for (uint32_t i = fn->first; i < fn->first + fn->count; i++) {
        if (p->l->step.at[i].kind == STEP_CALL)
            TRY(order_function(p, p->l->step.at[i].n, visit, order, ordered));
    }
    visit[f] = DONE;
    order[(*ordered)++] = f;
    return EMU_OK;
}

static enum emu_status order_functions(struct emit_index *p)
{
    uint32_t n = (uint32_t)p->l->function.count, ordered = 0;
    uint8_t *visit = prog_alloc(&p->arena, n, 1);

    p->order = prog_alloc(&p->arena, n, sizeof(*p->order));
    p->depth = prog_alloc(&p->arena, n, sizeof(*p->depth));
    if (!visit || !p->order || !p->depth)
        return FAIL(NO_MEMORY, "%u functions", n);
    for (uint32_t f = 0; f < n; f++)
        TRY(order_function(p, f, visit, p->order, &ordered));
    return EMU_OK;
}

/* Loops with counters around the steps [first, end): `depth`. */
static void note_depth(struct emit_index *p, uint32_t first, uint32_t end, uint32_t depth)
{
    for (uint32_t i = first; i < end; i = lowered_next(p->l, i)) {
        const struct step *step = &p->l->step.at[i];

        if (step->kind == STEP_REPEAT || step->kind == STEP_LOOP) {
            note_depth(p, i + 1, step->match, depth + (step->kind == STEP_REPEAT));
        } else if (step->kind == STEP_IF) {
            note_depth(p, i + 1, step->match, depth);
            note_depth(p, step->match + 1, p->l->step.at[step->match].match, depth);
        } else if (step->kind == STEP_CALL && p->depth[step->n] < depth) {
            p->depth[step->n] = depth;
        }
        if (step->kind == STEP_REPEAT && p->levels < depth + 1)
            p->levels = depth + 1;
    }
}

/* ---- syncs that a tile may vote for ahead ---- */

int emit_index_zone(const struct emit_index *p, const struct step *step)
{
    uint64_t all = p->l->groups;

    if (step->kind == STEP_CHIPS)
        return step->n == CHIPS_OF_POD ? SYNC_POD : SYNC_REPLICA;
    return all & (all - 1) && (step->groups & all) == all ? SYNC_CHIP : SYNC_INTERNAL;
}

static int32_t votes_times(int32_t votes, uint64_t times)
{
    if (!votes || !times)
        return 0;
    return votes > 0 && times <= (uint64_t)(VOTES_MAX / votes) ? (int32_t)(votes * times)
                                                               : VOTES_UNKNOWN;
}

int32_t emit_index_votes(const struct emit_index *p, unsigned group, uint32_t first, uint32_t end)
{
    int32_t sum = 0;

    for (uint32_t i = first; i < end && sum >= 0; i = lowered_next(p->l, i)) {
        int32_t v = p->votes[group][i];

        sum = v < 0 || v > VOTES_MAX - sum ? VOTES_UNKNOWN : sum + v;
    }
    return sum;
}

/* Whether all tiles of the groups must wait in the sync of a branch. */
static int is_consensus(const struct step *step)
{
    return (step->kind == STEP_BREAK || step->kind == STEP_IF) && step->consensus;
}

static int32_t step_votes(const struct emit_index *p, unsigned group, uint32_t i)
{
    const struct step *step = &p->l->step.at[i];
    int32_t a, b;

    if (!(step->groups >> group & 1))
        return 0;
    if (is_consensus(step))
        return VOTES_UNKNOWN;
    switch (step->kind) {
    case STEP_EXCHANGE:
    case STEP_HOST:
    case STEP_CHIPS:
        return emit_index_zone(p, step) == SYNC_INTERNAL ? 1 : VOTES_UNKNOWN;
    case STEP_REPEAT:
        return votes_times(emit_index_votes(p, group, i + 1, step->match), step->n);
    case STEP_LOOP:
        return emit_index_votes(p, group, i + 1, step->match) ? VOTES_UNKNOWN : 0;
    case STEP_IF:
        a = emit_index_votes(p, group, i + 1, step->match);
        b = emit_index_votes(p, group, step->match + 1, p->l->step.at[step->match].match);
        return a == b ? a : VOTES_UNKNOWN;
    case STEP_CALL:
        return p->function_votes[group][step->n];
    default:
        return 0;
    }
}

/* Inner constructs stand after outer ones, and callees come first in p->order. */
static enum emu_status count_votes(struct emit_index *p, unsigned group)
{
    size_t functions = p->l->function.count;

    p->votes[group] = prog_alloc(&p->arena, p->l->step.count, sizeof(**p->votes));
    p->function_votes[group] = prog_alloc(&p->arena, functions, sizeof(**p->votes));
    if (!p->votes[group] || !p->function_votes[group])
        return FAIL(NO_MEMORY, "the syncs of group %u", group);
    for (size_t k = 0; k < functions; k++) {
        const struct lowered_function *f = &p->l->function.at[p->order[k]];

        for (uint32_t i = f->first + f->count; i-- > f->first;)
            p->votes[group][i] = step_votes(p, group, i);
        p->function_votes[group][p->order[k]] =
            emit_index_votes(p, group, f->first, f->first + f->count);
    }
    return EMU_OK;
}

/* ---- parts ---- */

/* Calls back for every part of every step, in the order of steps and, within each, of
 * tiles. */
typedef void part_visit(struct emit_index *p, uint32_t tile, struct step_part part);

/* No tile has anything to do in a sync of one group, but not all of its tiles may vote ahead. */
static void visit_leader(struct emit_index *p, uint32_t i, part_visit *visit)
{
    const struct step *step = &p->l->step.at[i];
    uint64_t own = step->groups & p->l->groups;

    if (own && emit_index_zone(p, step) == SYNC_INTERNAL)
        visit(p, p->leader[__builtin_ctzll(own)], (struct step_part){ i, 0, 0 });
}

static void visit_exchange(struct emit_index *p, uint32_t i, part_visit *visit)
{
    const struct exchange_schedule *s = &p->in->schedule[i];

    for (uint32_t k = 0; k < s->tiles; k++)
        visit(p, p->l->tile_index[s->tile[k].tile], (struct step_part){ i, k, 1 });
    if (!s->tiles)
        visit_leader(p, i, visit);
}

/* The tile of an entry of a step's list. */
static uint32_t entry_tile(const struct lowered *l, const struct step *step, uint32_t k)
{
    return step->kind == STEP_CALLS   ? l->call.at[k].tile
           : step->kind == STEP_CHIPS ? l->chip_part.at[k].tile
                                      : l->host_request.at[k].tile;
}

static void visit_runs(struct emit_index *p, uint32_t i, part_visit *visit)
{
    const struct lowered *l = p->l;
    const struct step *step = &l->step.at[i];
    uint32_t end = step->first + (uint32_t)step->count, k = step->first;

    while (k < end) {
        uint32_t first = k, tile = entry_tile(l, step, k);

        while (k < end && tile == entry_tile(l, step, k))
            k++;
        visit(p, l->tile_index[tile], (struct step_part){ i, first, k - first });
    }
    if (!step->count && step->kind == STEP_HOST)
        visit_leader(p, i, visit);
}

static void visit_parts(struct emit_index *p, part_visit *visit)
{
    for (uint32_t i = 0; i < p->l->step.count; i++) {
        enum step_kind k = p->l->step.at[i].kind;

        if (k == STEP_EXCHANGE)
            visit_exchange(p, i, visit);
        else if (k == STEP_CALLS || k == STEP_HOST || k == STEP_AWAIT || k == STEP_CHIPS)
            visit_runs(p, i, visit);
    }
}

static void count_part(struct emit_index *p, uint32_t tile, struct step_part part)
{
    (void)part;
    p->part_first[tile + 1]++;
}

static void store_part(struct emit_index *p, uint32_t tile, struct step_part part)
{
    p->part[p->part_first[tile]++] = part;
}

/* Makes the lists by tile: counts their entries, stores them, and then sets back the beginnings
 * that storing has moved. */
static void sum_up(uint32_t *first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        first[i + 1] += first[i];
}

static void set_back(uint32_t *first, uint32_t n)
{
    memmove(first + 1, first, n * sizeof(*first));
    first[0] = 0;
}

static enum emu_status list_parts(struct emit_index *p)
{
    uint32_t tiles = p->l->used_tiles;

    p->part_first = prog_alloc(&p->arena, (size_t)tiles + 1, sizeof(*p->part_first));
    if (!p->part_first)
        return FAIL(NO_MEMORY, "the parts of %u tiles", tiles);
    visit_parts(p, count_part);
    sum_up(p->part_first, tiles);
    p->part = prog_alloc(&p->arena, (size_t)p->part_first[tiles] + 1, sizeof(*p->part));
    if (!p->part)
        return FAIL(NO_MEMORY, "the parts of %u tiles", tiles);
    visit_parts(p, store_part);
    set_back(p->part_first, tiles);
    return EMU_OK;
}

static enum emu_status list_objects(struct emit_index *p)
{
    const struct lowered *l = p->l;
    uint32_t tiles = l->used_tiles;

    p->object_first = prog_alloc(&p->arena, (size_t)tiles + 1, sizeof(*p->object_first));
    p->object = prog_alloc(&p->arena, l->object.count + 1, sizeof(*p->object));
    if (!p->object_first || !p->object)
        return FAIL(NO_MEMORY, "the objects of %u tiles", tiles);
    for (size_t i = 0; i < l->object.count; i++)
        p->object_first[l->tile_index[l->object.at[i].tile] + 1]++;
    sum_up(p->object_first, tiles);
    for (uint32_t i = 0; i < l->object.count; i++)
        p->object[p->object_first[l->tile_index[l->object.at[i].tile]]++] = i;
    set_back(p->object_first, tiles);
    return EMU_OK;
}

/* The first part at step `step` or later; the end of the list if there is none. */
static const struct step_part *part_from(const struct emit_index *p, uint32_t tile, uint32_t step)
{
    uint32_t lo = p->part_first[tile], hi = p->part_first[tile + 1];

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (p->part[mid].step < step)
            lo = mid + 1;
        else
            hi = mid;
    }
    return &p->part[lo];
}

const struct step_part *emit_index_first_part(const struct emit_index *p, uint32_t tile,
                                              uint32_t first, uint32_t end)
{
    const struct step_part *part = part_from(p, tile, first);

    return part < &p->part[p->part_first[tile + 1]] && part->step < end ? part : NULL;
}

const struct step_part *emit_index_part(const struct emit_index *p, uint32_t tile, uint32_t step)
{
    return emit_index_first_part(p, tile, step, step + 1);
}

/* ---- all of it ---- */

static enum emu_status check_groups(const struct emit_index *p)
{
    uint64_t all = p->l->groups;

    for (uint32_t i = 0; i < p->l->step.count; i++) {
        const struct step *step = &p->l->step.at[i];
        uint64_t own = step->groups & all;

        if ((step->kind == STEP_EXCHANGE || step->kind == STEP_HOST || is_consensus(step)) &&
            own != all && own & (own - 1))
            return FAIL(BAD_PROGRAM,
                        "step %u (%s): groups 0x%llx of 0x%llx, expected one of them or all", i,
                        strings_text(&p->l->strings, step->name), (unsigned long long)own,
                        (unsigned long long)all);
    }
    return EMU_OK;
}

enum emu_status emit_index_init(const struct emit_input *in, struct emit_index *out)
{
    struct emit_index *p = out;

    *out = (struct emit_index){ .in = in, .l = in->lowered, .arch = &in->lowered->graph->arch };
    if ((uint64_t)p->arch->mem_base + p->arch->region0_bytes > PLACE_REACH)
        return FAIL(BAD_MACHINE,
                    "machine %.64s has code up to 0x%llx, expected at most 0x%x: "
                    "the addresses of calls end there",
                    p->arch->name, (unsigned long long)p->arch->mem_base + p->arch->region0_bytes,
                    PLACE_REACH);
    TRY(check_groups(p));
    TRY(find_calls(p));
    TRY(order_functions(p));
    for (size_t k = p->l->function.count; k-- > 0;) {
        const struct lowered_function *f = &p->l->function.at[p->order[k]];

        note_depth(p, f->first, f->first + f->count, p->depth[p->order[k]]);
    }
    for (uint32_t i = p->l->used_tiles; i-- > 0;)
        p->leader[emit_index_group(p, p->l->used_tile[i])] = i;
    for (unsigned g = 0; g < EMIT_GROUPS; g++) {
        if (p->l->groups >> g & 1)
            TRY(count_votes(p, g));
    }
    TRY(list_parts(p));
    return list_objects(p);
}

void emit_index_free(struct emit_index *p)
{
    prog_arena_free(&p->arena);
}
