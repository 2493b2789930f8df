/* copy_route.c - which way the bytes of a copy run go. Whole aligned words for another tile are
 * exchanged and arrive in their place. Other bytes for another tile are sent together with the
 * words around them, into a buffer of the receiving tile, and copied from there. Bytes that stay on
 * their tile are copied.
 */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

/* If the aligned middle of a run has at least this length, it is exchanged in place, and only the
 * ends go through a buffer. */
enum { MIDDLE_BYTES = 32 };

struct routes {
    struct copy_run_list word;  /* exchange, whole words */
    struct copy_run_list bytes; /* between tiles, through a buffer */
    struct copy_run_list local, out;
};

static uint32_t tile_of(const struct graph_lowering *w, uint32_t object)
{
    return lower_object(w, object)->tile;
}

/* Lengthens a run to whole words where no other data lie in the rest of the target's word. */
static struct copy_run widen(struct copy_run m)
{
    if ((m.from_at - m.to_at) & 3)
        return m;
    if (m.flags & RUN_FREE_BEFORE) {
        uint32_t n = m.to_at & 3;

        m.from_at -= n;
        m.to_at -= n;
        m.bytes += n;
    }
    if (m.flags & RUN_FREE_AFTER)
        m.bytes = round_up(m.to_at + m.bytes, 4) - m.to_at;
    return m;
}

/* A part of a run. */
static struct copy_run part(struct copy_run m, uint32_t at, uint32_t bytes)
{
    m.from_at += at;
    m.to_at += at;
    m.bytes = bytes;
    return m;
}

static enum emu_status route_remote(struct routes *r, struct copy_run m)
{
    struct copy_run x = widen(m);
    uint32_t head = -x.to_at & 3, middle;

    if (m.flags & RUN_STAGED)
        return VEC_PUSH(&r->bytes, m);
    if (!((x.from_at | x.to_at | x.bytes) & 3))
        return VEC_PUSH(&r->word, x);
    middle = x.bytes > head ? round_down(x.bytes - head, 4) : 0;
    if (((x.from_at - x.to_at) & 3) || middle < MIDDLE_BYTES)
        return VEC_PUSH(&r->bytes, m);
    if (head)
        TRY(VEC_PUSH(&r->bytes, part(x, 0, head)));
    TRY(VEC_PUSH(&r->word, part(x, head, middle)));
    if (x.bytes > head + middle)
        TRY(VEC_PUSH(&r->bytes, part(x, head + middle, x.bytes - head - middle)));
    return EMU_OK;
}

/* ---- buffers ---- */

/* A run and the tile that it goes to. */
struct inbound {
    uint32_t tile;
    struct copy_run m;
};

static enum emu_status sort_inbound(struct graph_lowering *w, const struct copy_run_list *m,
                                    struct inbound **out)
{
    struct inbound *p = emu_alloc(m->count, sizeof(*p));

    if (!p)
        return FAIL(NO_MEMORY, "%zu runs", m->count);
    for (size_t i = 0; i < m->count; i++)
        p[i] = (struct inbound){ tile_of(w, m->at[i].to), m->at[i] };
    *out = p;
    TRY(key_sort(p, m->count, sizeof(*p), offsetof(struct inbound, m.from), 2));
    return key_sort(p, m->count, sizeof(*p), offsetof(struct inbound, tile), 1);
}

/* Makes the buffer of one tile, which gets every word that holds bytes of the runs' sources, once.
 * Words that are neighbours in a source are neighbours in the buffer, so the copies out of it stay
 * as long as the runs. */
static enum emu_status buffer_tile(struct graph_lowering *w, const struct inbound *p, size_t n,
                                   struct routes *r)
{
    uint32_t owner = w->action.at[w->action.count - 1].name, buffer;
    uint64_t fill = 0;

    TRY(object_add_temporary(w, p->tile, 0, CATEGORY_MESSAGE_BUFFER, owner, &buffer));
    for (size_t i = 0, end; i < n; i = end) {
        uint32_t begin = round_down(p[i].m.from_at, 4), reach = begin;

        for (end = i; end < n && p[end].m.from == p[i].m.from && p[end].m.from_at <= reach + 3;
             end++) {
            const struct copy_run *m = &p[end].m;
            uint32_t stop = round_up(m->from_at + m->bytes, 4);

            reach = stop > reach ? stop : reach;
            TRY(VEC_PUSH(&r->out, (struct copy_run){ buffer, (uint32_t)fill + m->from_at - begin,
                                                     m->to, m->to_at, m->bytes, 0 }));
        }
        TRY(VEC_PUSH(&r->word, (struct copy_run){ p[i].m.from, begin, buffer, (uint32_t)fill,
                                                  reach - begin, 0 }));
        fill += reach - begin;
        if (fill > UINT32_MAX / 2)
            return FAIL(BAD_PROGRAM, "%s: a buffer of 2 GiB", strings_text(&w->l->strings, owner));
    }
    lower_object(w, buffer)->bytes = (uint32_t)fill;
    w->note.at[buffer].data_bytes = (uint32_t)fill;
    return EMU_OK;
}

static enum emu_status buffer_bytes(struct graph_lowering *w, struct routes *r)
{
    enum emu_status s = EMU_OK;
    struct inbound *p = NULL;
    size_t n = r->bytes.count;

    if (!n)
        return EMU_OK;
    s = sort_inbound(w, &r->bytes, &p);
    for (size_t i = 0, end; i < n && s == EMU_OK; i = end) {
        for (end = i + 1; end < n && p[end].tile == p[i].tile;)
            end++;
        s = buffer_tile(w, p + i, end - i, r);
    }
    ss_free(p);
    return s;
}

/* Sends a run that must not be written before all sources are read through a buffer of its own
 * tile. In the buffer it begins at the same byte of 8 as in its source, so that both copies can use
 * as wide a codelet as a direct one could. */
static enum emu_status stage(struct graph_lowering *w, struct routes *r, const struct copy_run *m)
{
    uint32_t owner = w->action.at[w->action.count - 1].name, tile = tile_of(w, m->to), buffer, at;
    uint64_t end;

    if (w->tile_mark[tile] != w->mark) {
        w->tile_mark[tile] = w->mark;
        TRY(object_add_temporary(w, tile, 0, CATEGORY_REARRANGEMENT, owner, &w->tile_value[tile]));
    }
    buffer = w->tile_value[tile];
    at = w->note.at[buffer].data_bytes;
    at += (m->from_at - at) & 7;
    end = (uint64_t)at + m->bytes;
    if (end > UINT32_MAX / 2)
        return FAIL(BAD_PROGRAM, "%s: a buffer of 2 GiB", strings_text(&w->l->strings, owner));
    w->note.at[buffer].data_bytes = (uint32_t)end;
    lower_object(w, buffer)->bytes = round_up((uint32_t)end, 4);
    TRY(VEC_PUSH(&r->local, (struct copy_run){ m->from, m->from_at, buffer, at, m->bytes, 0 }));
    return VEC_PUSH(&r->out, (struct copy_run){ buffer, at, m->to, m->to_at, m->bytes, 0 });
}

static enum emu_status route(struct graph_lowering *w, struct copy_run_list *m, struct routes *r)
{
    w->mark++;
    for (size_t i = 0; i < m->count; i++) {
        const struct copy_run *x = &m->at[i];

        if (tile_of(w, x->from) != tile_of(w, x->to))
            TRY(route_remote(r, *x));
        else if (x->flags & RUN_STAGED)
            TRY(stage(w, r, x));
        else
            TRY(VEC_PUSH(&r->local, *x));
    }
    m->count = 0;
    return buffer_bytes(w, r);
}

static enum emu_status build(struct graph_lowering *w, struct routes *r, enum phase exchange,
                             enum phase local, enum phase out)
{
    TRY(messages_build(w, &r->word, exchange));
    if (local == out) {
        for (size_t i = 0; i < r->out.count; i++)
            TRY(VEC_PUSH(&r->local, r->out.at[i]));
        return copy_calls_build(w, &r->local, local);
    }
    TRY(copy_calls_build(w, &r->local, local));
    return copy_calls_build(w, &r->out, out);
}

enum emu_status copy_runs_lower(struct graph_lowering *w, struct copy_run_list *m,
                                enum phase exchange, enum phase local, enum phase out)
{
    struct routes r = { 0 };
    enum emu_status s = route(w, m, &r);

    if (s == EMU_OK)
        s = build(w, &r, exchange, local, out);
    VEC_FREE(&r.word);
    VEC_FREE(&r.bytes);
    VEC_FREE(&r.local);
    VEC_FREE(&r.out);
    return s;
}
