/* copy_route.c - moves of bytes sorted into what they become: whole aligned words between tiles are
 * exchanged in place, other bytes between tiles go with the words around them through a buffer of
 * the receiving tile, bytes of one tile are copied.
 */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

/* The aligned middle of a run is exchanged in place, and only its ends through a buffer, from this
 * length on. */
enum { MIDDLE_BYTES = 32 };

struct routes {
    struct move_list word;  /* exchange, whole words */
    struct move_list bytes; /* between tiles, through a buffer */
    struct move_list local, out;
};

static uint32_t tile_of(const struct lowering *w, uint32_t object)
{
    return lower_object(w, object)->tile;
}

/* Grows a move to whole words over bytes of the target that are nobody's. */
static struct move widen(struct move m)
{
    if ((m.from_at - m.to_at) & 3)
        return m;
    if (m.flags & MOVE_FREE_BEFORE) {
        uint32_t n = m.to_at & 3;

        m.from_at -= n;
        m.to_at -= n;
        m.bytes += n;
    }
    if (m.flags & MOVE_FREE_BEHIND)
        m.bytes = round_up(m.to_at + m.bytes, 4) - m.to_at;
    return m;
}

/* A part of a move. */
static struct move part(struct move m, uint32_t at, uint32_t bytes)
{
    m.from_at += at;
    m.to_at += at;
    m.bytes = bytes;
    return m;
}

static enum emu_status route_remote(struct routes *r, struct move m)
{
    struct move x = widen(m);
    uint32_t head = -x.to_at & 3, middle;

    if (m.flags & MOVE_STAGED)
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

/* Something that goes to a tile. */
struct inbound {
    uint32_t tile;
    struct move m;
};

static enum emu_status sort_inbound(struct lowering *w, const struct move_list *m,
                                    struct inbound **out)
{
    struct inbound *p = emu_alloc(m->count, sizeof(*p));

    if (!p)
        return FAIL(NO_MEMORY, "%zu moves", m->count);
    for (size_t i = 0; i < m->count; i++)
        p[i] = (struct inbound){ tile_of(w, m->at[i].to), m->at[i] };
    *out = p;
    TRY(lower_sort(p, m->count, sizeof(*p), offsetof(struct inbound, m.from), 2));
    return lower_sort(p, m->count, sizeof(*p), offsetof(struct inbound, tile), 1);
}

/* The buffer of one tile: every word around the moves' sources once. The words of a source that
 * touch each other stay together, so copies out of them do, too. */
static enum emu_status buffer_tile(struct lowering *w, const struct inbound *p, size_t n,
                                   struct routes *r)
{
    uint32_t owner = w->step.at[w->step.count - 1].name, buffer;
    uint64_t fill = 0;

    TRY(object_add_temporary(w, p->tile, 0, CATEGORY_MESSAGE_BUFFER, owner, &buffer));
    for (size_t i = 0, end; i < n; i = end) {
        uint32_t begin = round_down(p[i].m.from_at, 4), reach = begin;

        for (end = i; end < n && p[end].m.from == p[i].m.from && p[end].m.from_at <= reach + 3;
             end++) {
            const struct move *m = &p[end].m;
            uint32_t stop = round_up(m->from_at + m->bytes, 4);

            reach = stop > reach ? stop : reach;
            TRY(VEC_PUSH(&r->out, (struct move){ buffer, (uint32_t)fill + m->from_at - begin, m->to,
                                                 m->to_at, m->bytes, 0 }));
        }
        TRY(VEC_PUSH(&r->word, (struct move){ p[i].m.from, begin, buffer, (uint32_t)fill,
                                              reach - begin, 0 }));
        fill += reach - begin;
        if (fill > UINT32_MAX / 2)
            return FAIL(BAD_PROGRAM, "%s: a buffer of 2 GiB", strings_text(&w->l->strings, owner));
    }
    lower_object(w, buffer)->bytes = (uint32_t)fill;
    w->note.at[buffer].data_bytes = (uint32_t)fill;
    return EMU_OK;
}

static enum emu_status buffer_bytes(struct lowering *w, struct routes *r)
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
    emu_free(p);
    return s;
}

/* A move within a tile that must wait until all sources were read: through a buffer of the tile, in
 * which it keeps its position in the 8 bytes, so that both copies are as wide as one would be. */
static enum emu_status stage(struct lowering *w, struct routes *r, const struct move *m)
{
    uint32_t owner = w->step.at[w->step.count - 1].name, tile = tile_of(w, m->to), buffer, at;
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
    TRY(VEC_PUSH(&r->local, (struct move){ m->from, m->from_at, buffer, at, m->bytes, 0 }));
    return VEC_PUSH(&r->out, (struct move){ buffer, at, m->to, m->to_at, m->bytes, 0 });
}

static enum emu_status route(struct lowering *w, struct move_list *m, struct routes *r)
{
    w->mark++;
    for (size_t i = 0; i < m->count; i++) {
        const struct move *x = &m->at[i];

        if (tile_of(w, x->from) != tile_of(w, x->to))
            TRY(route_remote(r, *x));
        else if (x->flags & MOVE_STAGED)
            TRY(stage(w, r, x));
        else
            TRY(VEC_PUSH(&r->local, *x));
    }
    m->count = 0;
    return buffer_bytes(w, r);
}

static enum emu_status build(struct lowering *w, struct routes *r, enum phase exchange,
                             enum phase local, enum phase out)
{
    TRY(transfers_build(w, &r->word, exchange));
    if (local == out) {
        for (size_t i = 0; i < r->out.count; i++)
            TRY(VEC_PUSH(&r->local, r->out.at[i]));
        return copy_calls_build(w, &r->local, local);
    }
    TRY(copy_calls_build(w, &r->local, local));
    return copy_calls_build(w, &r->out, out);
}

enum emu_status moves_lower(struct lowering *w, struct move_list *m, enum phase exchange,
                            enum phase local, enum phase out)
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
