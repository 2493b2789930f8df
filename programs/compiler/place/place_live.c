/* place_live.c - the table of live sets that meet (see place_live.h). */
#include "programs/compiler/place/place_live.h"

/* A table of this many sets takes 8 MiB of host memory and well under a second to fill. */
enum { TABLE_SETS = 8192 };

static struct live_span span_of(const struct lowered *l, uint32_t set)
{
    const struct live_set *s = &l->live_set.at[set];

    if (set == LIVE_ALWAYS)
        return (struct live_span){ 0, UINT32_MAX };
    if (!s->count)
        return (struct live_span){ 0, 0 };
    return (struct live_span){ l->live_range.at[s->first].begin,
                               l->live_range.at[s->first + s->count - 1].end };
}

int live_ranges_meet(const struct live_table *t, uint32_t a, uint32_t b)
{
    const struct live_set *x = &t->l->live_set.at[a], *y = &t->l->live_set.at[b];
    const struct live_range *r = t->l->live_range.at;

    if (a == LIVE_ALWAYS || b == LIVE_ALWAYS)
        return 1;
    if (t->span[a].last <= t->span[b].first || t->span[b].last <= t->span[a].first)
        return 0;
    for (uint32_t i = 0, k = 0; i < x->count && k < y->count;) {
        struct live_range p = r[x->first + i], q = r[y->first + k];

        if (p.begin < q.end && q.begin < p.end)
            return 1;
        if (p.end < q.end)
            i++;
        else
            k++;
    }
    return 0;
}

static void fill_row(struct live_table *t, uint32_t a, uint32_t sets)
{
    uint64_t *row = t->meets + a * t->row;

    for (uint32_t b = 0; b < sets; b++)
        if (live_ranges_meet(t, a, b))
            row[b / 64] |= 1ull << b % 64;
}

enum emu_status live_table_init(struct live_table *t, const struct lowered *l, int threads)
{
    uint32_t sets = (uint32_t)l->live_set.count;

    *t = (struct live_table){ .l = l, .row = (sets + 63) / 64 };
    t->span = emu_alloc(sets + 1, sizeof(*t->span));
    if (!t->span)
        return FAIL(NO_MEMORY, "%u live sets", sets);
    for (uint32_t i = 0; i < sets; i++)
        t->span[i] = span_of(l, i);
    if (sets > TABLE_SETS)
        return EMU_OK;
    t->meets = emu_alloc(sets * t->row + 1, sizeof(*t->meets));
    if (!t->meets) {
        live_table_free(t);
        return FAIL(NO_MEMORY, "table of %u live sets", sets);
    }
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (uint32_t a = 0; a < sets; a++)
        fill_row(t, a, sets);
    return EMU_OK;
}

void live_table_free(struct live_table *t)
{
    ss_free(t->span);
    ss_free(t->meets);
    *t = (struct live_table){ 0 };
}

void live_list_objects(const struct lowered *l, size_t *first, uint32_t *object)
{
    for (size_t i = 0; i < l->object.count; i++)
        first[l->tile_index[l->object.at[i].tile]]++;
    for (uint32_t t = 1; t <= l->used_tiles; t++)
        first[t] += first[t - 1];
    for (size_t i = l->object.count; i--;)
        object[--first[l->tile_index[l->object.at[i].tile]]] = (uint32_t)i;
}

void live_add(const struct lowered *l, uint32_t set, uint32_t bytes, int64_t *change)
{
    const struct live_set *s = &l->live_set.at[set];
    uint32_t steps = (uint32_t)l->step.count;

    if (set == LIVE_ALWAYS) {
        change[0] += bytes;
        return;
    }
    for (uint32_t k = s->first; k < s->first + s->count; k++) {
        struct live_range r = l->live_range.at[k];

        change[r.begin < steps ? r.begin : steps] += bytes;
        change[r.end < steps ? r.end : steps] -= bytes;
    }
}

uint64_t live_peak(const struct lowered *l, const int64_t *change, uint32_t *step)
{
    int64_t now = 0, most = 0;

    *step = 0;
    for (uint32_t i = 0; i <= l->step.count; i++) {
        now += change[i];
        if (now > most) {
            most = now;
            *step = i;
        }
    }
    return (uint64_t)most;
}
