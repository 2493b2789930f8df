/* predicates.c - brings the predicate of a branch to all tiles.
 *
 * With one sync group it is sent to a word on every tile, before the branch that reads it. With
 * several groups consensus decides: the tile that has the predicate sets its LC to it, all others
 * set theirs to one, and after a sync all tiles read GC. An exchange would not do, because it does
 * not end on a tile before all host data that the tile has asked for is there; a sync does not wait
 * for that.
 */
#include "programs/compiler/lower/lower_private.h"

/* The word on a used tile that gets predicates: the same for all branches of the program. */
static enum emu_status predicate_word(struct graph_lowering *w, uint32_t index, uint32_t *object)
{
    struct object o = { .tile = w->l->used_tile[index],
                        .bytes = 4,
                        .align = 4,
                        .region = ANY,
                        .category = CATEGORY_MESSAGE_BUFFER };

    *object = w->predicate_object[index];
    if (*object != LOWERED_NONE)
        return EMU_OK;
    TRY(lower_owner(w, "predicate", 0, &o.owner));
    TRY(object_add(w, &o, LIFE_FLOW, object));
    w->predicate_object[index] = *object;
    return EMU_OK;
}

enum emu_status predicate_action(struct graph_lowering *w, const struct node *n,
                                 enum step_kind kind, uint64_t groups, uint32_t *action)
{
    struct memory_run p;
    uint32_t first = (uint32_t)w->l->predicate.count;
    int consensus = (w->l->groups & (w->l->groups - 1)) != 0;

    w->run.count = w->copy_run.count = 0;
    TRY(action_begin(w, "predicate", n->scope, action));
    TRY(storage_runs(w, n->a, &w->run));
    if (w->run.count != 1 || w->run.at[0].bytes != 4)
        return FAIL(BAD_PROGRAM, "a predicate must be one element of 32 bits");
    p = w->run.at[0];
    if (!(groups >> w->g->group[lower_object(w, p.object)->tile] & 1))
        return FAIL(BAD_PROGRAM, "the predicate on tile %u belongs to another sync group",
                    lower_object(w, p.object)->tile);
    for (uint32_t i = 0; i < w->l->used_tiles; i++) {
        uint32_t tile = w->l->used_tile[i], object = LOWERED_NONE;

        if (consensus ? tile == lower_object(w, p.object)->tile
                      : (int)(groups >> w->g->group[tile] & 1)) {
            object = p.object;
            if (tile != lower_object(w, p.object)->tile || p.offset) {
                TRY(predicate_word(w, i, &object));
                TRY(VEC_PUSH(&w->copy_run,
                             (struct copy_run){ p.object, p.offset, object, 0, 4, 0 }));
            }
            TRY(lower_access(w, object, object == p.object ? p.offset : 0, 4, PHASE_CONTROL, 0));
        }
        TRY(VEC_PUSH(&w->l->predicate, object));
    }
    TRY(copy_runs_lower(w, &w->copy_run, PHASE_FETCH, PHASE_GATHER, PHASE_GATHER));
    action_set_step(w, PHASE_CONTROL, kind, 0, 0);
    w->action.at[*action].step[PHASE_CONTROL].predicate = first;
    w->action.at[*action].step[PHASE_CONTROL].consensus = (uint8_t)consensus;
    return action_end(w);
}
