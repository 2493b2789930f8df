/* copy_merge.c - the actions of copies. Neighbouring copies that do not depend on each other share
 * one action, and therefore one sync.
 */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

/* What a copy reads or writes of an object. */
struct copy_range {
    uint32_t object, begin, end, copy, write;
};
struct range_list {
    struct copy_range *at;
    size_t count, cap;
};

/* ---- which copies depend on which ---- */

/* Adds what runs cover, as few ranges as possible; the runs are sorted for that. */
static enum emu_status add_ranges(struct range_list *out, struct memory_run *p, size_t n,
                                  uint32_t copy, uint32_t write)
{
    size_t floor = out->count;

    TRY(key_sort(p, n, sizeof(*p), offsetof(struct memory_run, object), 2));
    for (size_t i = 0; i < n; i++) {
        struct copy_range *last = out->count > floor ? &out->at[out->count - 1] : NULL;
        uint32_t end = p[i].offset + p[i].bytes;

        if (last && last->object == p[i].object && p[i].offset <= last->end)
            last->end = end > last->end ? end : last->end;
        else
            TRY(VEC_PUSH(out, (struct copy_range){ p[i].object, p[i].offset, end, copy, write }));
    }
    return EMU_OK;
}

static enum emu_status add_view_ranges(struct graph_lowering *w, uint32_t view, uint32_t copy,
                                       uint32_t write, struct range_list *out)
{
    w->run.count = 0;
    TRY(storage_runs(w, view, &w->run));
    return add_ranges(out, w->run.at, w->run.count, copy, write);
}

/* r: n ranges sorted by object, then by beginning. Each range is compared with the earlier ones
 * that reach into it. before[k] becomes 1 + the last copy that must be complete before copy k
 * begins. open: room for n numbers. */
static void find_conflicts(struct copy_range *r, size_t n, uint32_t *open, uint32_t *before)
{
    size_t opened = 0;

    for (size_t i = 0; i < n; i++) {
        size_t kept = 0;

        if (i && !memcmp(&r[i - 1], &r[i], sizeof(*r)))
            continue;
        for (size_t k = 0; k < opened; k++) {
            const struct copy_range *o = &r[open[k]];
            uint32_t first, second;

            if (o->object != r[i].object || o->end <= r[i].begin)
                continue;
            open[kept++] = open[k];
            if (o->copy == r[i].copy || !(o->write || r[i].write))
                continue;
            first = o->copy < r[i].copy ? o->copy : r[i].copy;
            second = o->copy < r[i].copy ? r[i].copy : o->copy;
            if (before[second] < first + 1)
                before[second] = first + 1;
        }
        opened = kept;
        open[opened++] = (uint32_t)i;
    }
}

static enum emu_status find_order(struct graph_lowering *w, struct range_list *r, uint32_t *before)
{
    uint32_t *open;

    for (uint32_t i = 0; i < w->copy.count; i++) {
        const struct node *n = &w->g->node.at[w->copy.at[i]];

        TRY(add_view_ranges(w, n->a, i, 0, r));
        TRY(add_view_ranges(w, n->b, i, 1, r));
    }
    TRY(KEY_SORT(r, struct copy_range, object, 2));
    open = emu_alloc(r->count + 1, sizeof(*open));
    if (!open)
        return FAIL(NO_MEMORY, "%zu ranges", r->count);
    find_conflicts(r->at, r->count, open, before);
    ss_free(open);
    return EMU_OK;
}

/* ---- one action ---- */

/* Joins what overlaps or touches. */
static enum emu_status merge_ranges(struct range_list *r)
{
    size_t kept = 0;

    TRY(KEY_SORT(r, struct copy_range, object, 2));
    for (size_t i = 0; i < r->count; i++) {
        struct copy_range *last = kept ? &r->at[kept - 1] : NULL;

        if (last && last->object == r->at[i].object && r->at[i].begin <= last->end)
            last->end = r->at[i].end > last->end ? r->at[i].end : last->end;
        else
            r->at[kept++] = r->at[i];
    }
    r->count = kept;
    return EMU_OK;
}

static int ranges_meet(const struct range_list *r, const struct copy_run *m)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct copy_range *x = &r->at[middle];

        if (x->object < m->to || (x->object == m->to && x->end <= m->to_at))
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->count && r->at[low].object == m->to && r->at[low].begin < m->to_at + m->bytes;
}

/* Adds the runs of one copy: the memory runs of both views, matched from beginning to end. Bytes
 * that are in their place already need no run. */
static enum emu_status add_copy_runs(struct graph_lowering *w, const struct node *n,
                                     struct range_list *read)
{
    struct memory_run_list *p = &w->run;
    size_t from, to, from_end;
    uint32_t from_done = 0, to_done = 0;

    p->count = 0;
    TRY(storage_runs(w, n->a, p));
    from_end = p->count;
    TRY(storage_runs(w, n->b, p));
    for (from = 0, to = from_end; from < from_end && to < p->count;) {
        struct memory_run a = p->at[from], b = p->at[to];
        uint32_t left_a = a.bytes - from_done, left_b = b.bytes - to_done;
        struct copy_run m = { a.object,
                              a.offset + from_done,
                              b.object,
                              b.offset + to_done,
                              left_a < left_b ? left_a : left_b,
                              0 };

        if (m.to_at + m.bytes == w->note.at[m.to].data_bytes)
            m.flags = RUN_FREE_AFTER;
        if (m.from != m.to || m.from_at != m.to_at)
            TRY(VEC_PUSH(&w->copy_run, m));
        from_done = left_a == m.bytes ? 0 : from_done + m.bytes;
        to_done = left_b == m.bytes ? 0 : to_done + m.bytes;
        from += !from_done;
        to += !to_done;
    }
    EMU_ASSERT(from == from_end && to == p->count);
    return add_ranges(read, p->at, from_end, 0, 0);
}

/* Adds the bytes of the runs from `first` on, which belong to a copy of a scope, to its share. */
static enum emu_status add_share(struct graph_lowering *w, uint32_t scope, size_t first)
{
    uint64_t bytes = 0;
    size_t i = w->first_share;

    for (; first < w->copy_run.count; first++)
        bytes += w->copy_run.at[first].bytes;
    while (i < w->l->share.count && w->l->share.at[i].scope != scope)
        i++;
    if (i == w->l->share.count)
        TRY(VEC_PUSH(&w->l->share, (struct scope_share){ .scope = scope }));
    w->l->share.at[i].bytes += bytes;
    return EMU_OK;
}

static enum emu_status copies_begin(struct graph_lowering *w, size_t first, size_t end,
                                    uint32_t *action)
{
    const struct node *n = &w->g->node.at[w->copy.at[first]];
    struct view_run to = view_at(w->g, n->b, 0);
    struct action *s;
    char text[512];

    if (end - first > 1)
        snprintf(text, sizeof(text), "copy to %s and %zu more", w->g->variable.at[to.var].name,
                 end - first - 1);
    else
        snprintf(text, sizeof(text), "copy to %s", w->g->variable.at[to.var].name);
    TRY(action_begin(w, text, n->scope, action));
    s = &w->action.at[*action];
    s->share = (uint32_t)w->first_share;
    s->shares = (uint32_t)(w->l->share.count - w->first_share);
    if (s->shares == 1) { /* which is the scope's */
        s->shares = 0;
        w->l->share.count--;
    }
    return EMU_OK;
}

static enum emu_status lower_copies(struct graph_lowering *w, size_t first, size_t end,
                                    uint64_t groups, struct range_list *read)
{
    unsigned staged = 0;
    uint32_t action;

    w->copy_run.count = 0;
    read->count = 0;
    w->first_share = w->l->share.count;
    for (size_t i = first; i < end; i++) {
        const struct node *n = &w->g->node.at[w->copy.at[i]];
        size_t runs = w->copy_run.count;

        TRY(add_copy_runs(w, n, read));
        TRY(add_share(w, n->scope, runs));
    }
    if (!w->copy_run.count) {
        w->l->share.count = w->first_share;
        return EMU_OK;
    }
    TRY(merge_ranges(read));
    for (size_t i = 0; i < w->copy_run.count; i++) {
        if (ranges_meet(read, &w->copy_run.at[i])) {
            w->copy_run.at[i].flags |= RUN_STAGED;
            staged = 1;
        }
    }
    TRY(copies_begin(w, first, end, &action));
    TRY(copy_runs_lower(w, &w->copy_run, PHASE_FETCH, staged ? PHASE_GATHER : PHASE_SCATTER,
                        PHASE_SCATTER));
    TRY(action_end(w));
    return action_emit(w, action, groups);
}

/* Divides the copies, in their order, into groups that share an action. A new group begins with a
 * copy that depends on one of the group before. */
static enum emu_status lower_groups(struct graph_lowering *w, const uint32_t *before,
                                    uint64_t groups)
{
    struct range_list read = { 0 };
    enum emu_status s = EMU_OK;
    size_t first = 0;

    for (size_t i = 1; i <= w->copy.count && s == EMU_OK; i++) {
        if (i < w->copy.count && before[i] <= first)
            continue;
        s = lower_copies(w, first, i, groups, &read);
        first = i;
    }
    VEC_FREE(&read);
    return s;
}

enum emu_status copies_flush(struct graph_lowering *w, uint64_t groups)
{
    struct range_list r = { 0 };
    enum emu_status s = EMU_OK;
    uint32_t *before;
    size_t kept = 0;

    for (size_t i = 0; i < w->copy.count; i++) {
        if (w->g->view.at[w->g->node.at[w->copy.at[i]].b].elements)
            w->copy.at[kept++] = w->copy.at[i];
    }
    w->copy.count = kept;
    if (!kept)
        return EMU_OK;
    before = emu_alloc(kept, sizeof(*before));
    if (!before)
        return FAIL(NO_MEMORY, "%zu copies", kept);
    if (kept > 1)
        s = find_order(w, &r, before);
    VEC_FREE(&r);
    if (s == EMU_OK)
        s = lower_groups(w, before, groups);
    ss_free(before);
    w->copy.count = 0;
    return s;
}
