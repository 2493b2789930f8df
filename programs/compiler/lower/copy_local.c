/* copy_local.c - runs within tiles become calls of copy codelets: one call for each tile and width,
 * which takes a list if there are several runs.
 */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

/* The workers share the run of a `copy` codelet, but each run of a `copy_list` goes to one worker.
 * So where a list has too few runs to keep all workers busy, runs of at least this length get a
 * call of their own. */
enum { LONG_BYTES = 256, LIST_RUNS = 2 };

struct local_run {
    uint32_t tile;
    uint32_t width; /* log2 of bytes */
    struct copy_run m;
};
struct local_list {
    struct local_run *at;
    size_t count, cap;
};

/* The widest codelet for a run, as log2 of its bytes. The one for 8 bytes needs both sides at
 * multiples of 8 and copies whole words; the others need multiples of their width. */
static uint32_t width_of(const struct graph_lowering *w, const struct copy_run *m)
{
    uint32_t at =
        m->from_at | m->to_at | lower_object(w, m->from)->align | lower_object(w, m->to)->align;

    if (!(at & 7) && !(m->bytes & 3))
        return 3;
    at |= m->bytes | 4;
    return (uint32_t)__builtin_ctz(at);
}

/* ---- calls ---- */

/* Edges of a copy codelet for n runs: those of its field `out` or those of its other one. */
static void fill_edges(const struct codelet *c, const struct local_run *m, size_t n, int out,
                       struct edge *e)
{
    uint32_t f = 0;

    while (field_is_written(c->field[f].kind) != out ||
           !(field_is_edge(c->field[f].kind) || field_is_list(c->field[f].kind)))
        f++;
    for (size_t i = 0; i < n; i++) {
        const struct copy_run *x = &m[i].m;

        e[i] = (struct edge){ .field = f,
                              .bytes = x->bytes,
                              .elements = x->bytes / ss_elem_bytes(c->field[f].elem),
                              .object = out ? x->to : x->from,
                              .offset = out ? x->to_at : x->from_at };
    }
}

/* The library's codelet for a run or a list of runs; width: log2 of bytes. */
static enum emu_status find_codelet(const struct codelet_library *l, uint32_t width, int list,
                                    const struct codelet **out)
{
    *out = list ? l->copy_list[width] : l->copy[width];
    if (!*out)
        return FAIL(BAD_PROGRAM,
                    "lowering: the library has no codelet that copies %s at multiples of %u bytes",
                    list ? "lists of runs" : "a run", 1u << width);
    return EMU_OK;
}

/* One call for runs of one tile and width; lists are in the order of target addresses, which lets
 * the codelets write parts of words that neighbouring runs share. */
static enum emu_status add_call(struct graph_lowering *w, const struct local_run *m, size_t n,
                                enum phase phase)
{
    uint32_t owner = w->action.at[w->action.count - 1].name, first_field, state;
    const struct codelet *c;
    struct edge *e, swap;
    enum emu_status s;

    TRY(find_codelet(w->g->library, m->width, n > 1, &c));
    for (size_t i = 0; i < n; i++)
        TRY(lower_access(w, m[i].m.from, m[i].m.from_at, m[i].m.bytes, phase, 0));
    for (size_t i = 0; i < n; i++)
        TRY(lower_access(w, m[i].m.to, m[i].m.to_at, m[i].m.bytes, phase, 1));
    e = emu_alloc(n, 2 * sizeof(*e));
    if (!e)
        return FAIL(NO_MEMORY, "a copy of %zu runs", n);
    fill_edges(c, m, n, 0, e);
    fill_edges(c, m, n, 1, e + n);
    first_field = e[0].field;
    if (e[n].field < first_field) {
        for (size_t i = 0; i < n; i++)
            swap = e[i], e[i] = e[n + i], e[n + i] = swap;
    }
    s = vertex_state_build(w, c, m->tile, NULL, e, 2 * n, owner, &state);
    if (s == EMU_OK)
        s = call_add(w, c, m->tile, NULL, e, 2 * n, state);
    ss_free(e);
    return s;
}

/* Calls for all runs of one tile and width. */
static enum emu_status add_group(struct graph_lowering *w, struct local_run *m, size_t n,
                                 enum phase phase)
{
    size_t left = 0;

    for (size_t i = 0; i < n; i++) {
        if (n <= LIST_RUNS * (size_t)w->g->arch.workers && m[i].m.bytes >= LONG_BYTES)
            TRY(add_call(w, &m[i], 1, phase));
        else
            m[left++] = m[i];
    }
    return left ? add_call(w, m, left, phase) : EMU_OK;
}

static enum emu_status add_calls(struct graph_lowering *w, struct local_list *p, enum phase phase)
{
    size_t first = w->l->call.count;

    TRY(KEY_SORT(p, struct local_run, tile, 2));
    for (size_t i = 0, end; i < p->count; i = end) {
        for (end = i + 1; end < p->count && p->at[end].tile == p->at[i].tile &&
                          p->at[end].width == p->at[i].width;)
            end++;
        TRY(add_group(w, p->at + i, end - i, phase));
    }
    action_set_step(w, phase, STEP_CALLS, first, w->l->call.count - first);
    return EMU_OK;
}

enum emu_status copy_calls_build(struct graph_lowering *w, struct copy_run_list *m,
                                 enum phase phase)
{
    struct local_list parts = { 0 };
    enum emu_status s = EMU_OK;

    if (!m->count)
        return EMU_OK;
    TRY(copy_runs_join(m));
    for (size_t i = 0; i < m->count && s == EMU_OK; i++)
        s = VEC_PUSH(&parts, (struct local_run){ lower_object(w, m->at[i].to)->tile,
                                                 width_of(w, &m->at[i]), m->at[i] });
    if (s == EMU_OK)
        s = add_calls(w, &parts, phase);
    ss_free(parts.at);
    return s;
}
