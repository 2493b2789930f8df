/* lower_action.c - actions: the steps that one node of the program becomes, at most one for each
 * phase, and what they read and write.
 */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

uint32_t lowered_scope(const struct lowered *l, uint32_t owner)
{
    return owner < l->owner_scope.count ? l->owner_scope.at[owner] : 0;
}

enum emu_status lower_owner(struct graph_lowering *w, const char *name, uint32_t scope,
                            uint32_t *owner)
{
    struct lowered *l = w->l;
    uint32_t known = l->strings.count;

    *owner = strings_id(&l->strings, name);
    if (*owner == UINT32_MAX)
        return FAIL(NO_MEMORY, "the name %.200s", name);
    while (l->owner_scope.count < l->strings.count)
        TRY(VEC_PUSH(&l->owner_scope, 0));
    if (*owner >= known)
        l->owner_scope.at[*owner] = scope;
    return EMU_OK;
}

enum emu_status action_begin(struct graph_lowering *w, const char *name, uint32_t scope,
                             uint32_t *action)
{
    struct action s = { .scope = scope };

    TRY(lower_owner(w, name, scope, &s.name));
    w->access.count = 0;
    *action = (uint32_t)w->action.count;
    return VEC_PUSH(&w->action, s);
}

enum emu_status lower_access(struct graph_lowering *w, uint32_t object, uint32_t offset,
                             uint32_t bytes, enum phase phase, int write)
{
    struct object_note *n = &w->note.at[object];
    struct object_access *last;

    if (!bytes || n->life == LIFE_ALWAYS)
        return EMU_OK;
    if (n->life == LIFE_ACTION) {
        n->first = n->first < phase ? n->first : (uint8_t)phase;
        n->last = n->last > phase ? n->last : (uint8_t)phase;
        return EMU_OK;
    }
    last = w->access.count ? &w->access.at[w->access.count - 1] : NULL;
    if (last && last->object == object && last->phase == phase && last->write == write &&
        (last->end == offset || !write)) { /* which of its bytes are read does not matter */
        last->end = offset + bytes;
        return EMU_OK;
    }
    return VEC_PUSH(&w->access, (struct object_access){ object, offset, offset + bytes,
                                                        (uint8_t)phase, (uint8_t)write });
}

void action_set_step(struct graph_lowering *w, enum phase p, enum step_kind kind, size_t first,
                     size_t count)
{
    struct action *s = &w->action.at[w->action.count - 1];

    s->step[p] = (struct step){ .kind = kind,
                                .first = (uint32_t)first,
                                .count = count,
                                .name = s->name,
                                .scope = s->scope,
                                .share = s->share,
                                .shares = s->shares };
    s->has[p] = 1;
}

/* Sums up the sorted accesses of an action to one object. The object's former contents are not
 * needed if the writes of the action cover all of it and no step reads it from the first write to
 * the last. */
static enum emu_status sum_up(struct graph_lowering *w, const struct object_access *a, size_t count)
{
    uint8_t flags[PHASES] = { 0 };
    uint32_t covered = 0;
    unsigned first = PHASES, last = 0, kill;

    for (size_t i = 0; i < count; i++) {
        flags[a[i].phase] |= a[i].write ? USE_WRITE : USE_READ;
        if (a[i].write && a[i].begin <= covered && a[i].end > covered)
            covered = a[i].end;
    }
    for (unsigned p = 0; p < PHASES; p++) {
        if (flags[p] & USE_WRITE) {
            first = p < first ? p : first;
            last = p;
        }
    }
    kill = first < PHASES && covered >= w->note.at[a->object].data_bytes;
    for (unsigned p = first; p <= last && kill; p++)
        kill = !(flags[p] & USE_READ);
    if (kill)
        flags[first] |= USE_KILL;
    for (unsigned p = 0; p < PHASES; p++) {
        if (flags[p])
            TRY(VEC_PUSH(&w->use, (struct object_use){ a->object, (uint8_t)p, flags[p] }));
    }
    return EMU_OK;
}

enum emu_status action_end(struct graph_lowering *w)
{
    struct action *s = &w->action.at[w->action.count - 1];
    const struct object_access *a = w->access.at;
    size_t n = w->access.count;

    TRY(KEY_SORT(&w->access, struct object_access, object, 2));
    s->first_use = (uint32_t)w->use.count;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && a[end].object == a[i].object;)
            end++;
        TRY(sum_up(w, a + i, end - i));
    }
    if (w->use.count >= UINT32_MAX)
        return FAIL(BAD_PROGRAM, "lowering: too many accesses");
    s->uses = (uint32_t)(w->use.count - s->first_use);
    w->access.count = 0;
    return EMU_OK;
}

enum emu_status action_emit(struct graph_lowering *w, uint32_t action, uint64_t groups)
{
    struct action *s = &w->action.at[action];
    struct occurrence o = { .action = action };

    if (w->l->step.count > UINT32_MAX - PHASES)
        return FAIL(BAD_PROGRAM, "lowering: too many steps");
    for (unsigned p = 0; p < PHASES; p++) {
        struct step step = s->step[p];

        o.at[p] = s->has[p] ? (uint32_t)w->l->step.count : LOWERED_NONE;
        if (!s->has[p])
            continue;
        step.groups = groups;
        TRY(VEC_PUSH(&w->l->step, step));
        if (w->watch && !s->is_emitted && step.kind == STEP_EXCHANGE)
            w->watch->exchange(w->watch->ctx, w->l, o.at[p]);
    }
    s->is_emitted = 1;
    return VEC_PUSH(&w->occurrence, o);
}
