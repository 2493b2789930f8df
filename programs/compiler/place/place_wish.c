/* place_wish.c - lists the pairs of objects that one exchange sends from and stores into, on each
 * tile. An object that does both is no pair: no placement can help it.
 */
#include "programs/compiler/place/place_wish.h"

#include "programs/compiler/base/key_sort.h"

/* An object that takes part in an exchange. */
struct party {
    uint32_t tile, object;
};

/* The objects of one step, each once. */
struct parties {
    VEC(struct party) sent, stored;
    uint32_t *sent_in, *stored_in; /* owned; by object: 1 + the last step that listed it */
};

static enum emu_status list_parties(const struct lowered *l, uint32_t index, struct parties *p)
{
    const struct step *step = &l->step.at[index];

    p->sent.count = p->stored.count = 0;
    for (uint64_t i = 0; i < step->count; i++) {
        const struct message *m = &l->message.at[step->first + i];

        if (p->sent_in[m->object] != index + 1)
            TRY(VEC_PUSH(&p->sent, (struct party){ l->object.at[m->object].tile, m->object }));
        p->sent_in[m->object] = index + 1;
        for (uint32_t k = 0; k < m->dests; k++) {
            uint32_t o = l->message_dest.at[m->first + k].object;

            if (p->stored_in[o] != index + 1)
                TRY(VEC_PUSH(&p->stored, (struct party){ l->object.at[o].tile, o }));
            p->stored_in[o] = index + 1;
        }
    }
    return EMU_OK;
}

static enum emu_status add_pair(struct place_wishes *w, uint32_t a, uint32_t b)
{
    if (a == b)
        return EMU_OK;
    return VEC_PUSH(&w->pair, (struct object_pair){ a < b ? a : b, a < b ? b : a });
}

/* Every object sent from with every one stored into on the same tile. */
static enum emu_status add_pairs(struct place_wishes *w, struct parties *p)
{
    size_t first = 0;

    TRY(KEY_SORT(&p->sent, struct party, tile, 2));
    TRY(KEY_SORT(&p->stored, struct party, tile, 2));
    for (size_t i = 0; i < p->sent.count; i++) {
        const struct party *s = &p->sent.at[i];

        while (first < p->stored.count && p->stored.at[first].tile < s->tile)
            first++;
        for (size_t k = first; k < p->stored.count && p->stored.at[k].tile == s->tile; k++)
            TRY(add_pair(w, s->object, p->stored.at[k].object));
    }
    for (size_t k = 0; k < p->stored.count; k++)
        w->receives[p->stored.at[k].object] = 1;
    return EMU_OK;
}

static enum emu_status keep_each_once(struct place_wishes *w)
{
    size_t kept = 0;

    TRY(KEY_SORT(&w->pair, struct object_pair, a, 2));
    for (size_t i = 0; i < w->pair.count; i++) {
        struct object_pair x = w->pair.at[i], *last = kept ? &w->pair.at[kept - 1] : NULL;

        if (!last || last->a != x.a || last->b != x.b)
            w->pair.at[kept++] = x;
    }
    w->pair.count = kept;
    return EMU_OK;
}

static enum emu_status read_steps(struct place_wishes *w, const struct lowered *l,
                                  struct parties *p)
{
    p->sent_in = emu_alloc(l->object.count + 1, sizeof(*p->sent_in));
    p->stored_in = emu_alloc(l->object.count + 1, sizeof(*p->stored_in));
    w->receives = emu_alloc(l->object.count + 1, sizeof(*w->receives));
    if (!p->sent_in || !p->stored_in || !w->receives)
        return FAIL(NO_MEMORY, "the exchanges of %zu objects", l->object.count);
    for (uint32_t i = 0; i < l->step.count; i++) {
        if (l->step.at[i].kind != STEP_EXCHANGE)
            continue;
        TRY(list_parties(l, i, p));
        TRY(add_pairs(w, p));
    }
    return keep_each_once(w);
}

enum emu_status place_wishes_init(struct place_wishes *w, const struct lowered *l)
{
    struct parties p = { .sent_in = NULL };
    enum emu_status s;

    *w = (struct place_wishes){ .receives = NULL };
    s = read_steps(w, l, &p);
    VEC_FREE(&p.sent);
    VEC_FREE(&p.stored);
    ss_free(p.sent_in);
    ss_free(p.stored_in);
    return s;
}

void place_wishes_free(struct place_wishes *w)
{
    VEC_FREE(&w->pair);
    ss_free(w->receives);
    w->receives = NULL;
}
