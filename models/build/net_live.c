/* net_live.c - bytes of activations that are live while each layer runs. */
#include "emu/base/alloc.h"
#include "models/build/fusion.h"
#include "models/build/net_memory.h"

enum { PICTURE_CHANNELS = 4, HALF_BYTES = 2 };

/* A result in memory, of one or several layers. */
struct stored {
    uint64_t bytes;
    uint32_t last; /* layer that reads it */
    int kept;      /* to the end */
};

struct live_walk {
    const struct net *n;
    uint32_t keep_begin, keep_end;
    uint32_t *users;       /* owned; [layers] */
    uint32_t *where;       /* owned; [layers] the layer whose result is stored there */
    struct stored *stored; /* owned; [layers] by that layer */
};

static uint64_t stored_bytes(const struct net *n, const struct layer *l)
{
    uint64_t field = (uint64_t)n->batch * l->out_h * l->out_w * HALF_BYTES;

    if (l->op == LAYER_INPUT)
        return field * PICTURE_CHANNELS;
    return field * ((l->out_c + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK) * CHANNEL_BLOCK;
}

/* Whether a layer, with what is fused after it, stays to the end. */
static int is_kept(const struct live_walk *w, uint32_t first, uint32_t last)
{
    for (uint32_t i = w->keep_begin; i < w->keep_end; i++) {
        if (i >= first && i <= last)
            return 1;
        for (int k = 0; k < 2; k++) {
            uint32_t input = w->n->layer[i].input[k];

            if (input != LAYER_NONE && input >= first && input <= last)
                return 1;
        }
    }
    return 0;
}

/* Layers that work on their first input in place. */
static int is_in_place(enum layer_op op)
{
    return op == LAYER_SCALE || op == LAYER_ADD || op == LAYER_NORM;
}

static void store(struct live_walk *w, uint32_t first, uint32_t last)
{
    const struct layer *l = &w->n->layer[first];
    uint32_t at = first;

    if (is_in_place(l->op) && !w->stored[w->where[l->input[0]]].kept)
        at = w->where[l->input[0]];
    else
        w->stored[first].bytes = stored_bytes(w->n, l);
    w->stored[at].kept |= is_kept(w, first, last);
    for (uint32_t i = first; i <= last; i++) {
        w->where[i] = at;
        for (int k = 0; k < 2; k++) {
            uint32_t input = w->n->layer[i].input[k];

            if (input != LAYER_NONE && w->where[input] != at)
                w->stored[w->where[input]].last = first;
        }
    }
    w->stored[at].last = first;
}

static void add_up(const struct live_walk *w, uint64_t *live)
{
    for (uint32_t i = 0; i < w->n->layers; i++) {
        live[i] = 0;
        for (uint32_t k = 0; k < w->n->layers; k++) {
            const struct stored *s = &w->stored[k];
            int made = k < i || (k == i && w->n->layer[i].op != LAYER_CONV);

            if (s->kept || (made && s->last >= i))
                live[i] += s->bytes;
        }
    }
}

enum emu_status net_live_bytes(const struct net *n, uint32_t keep_begin, uint32_t keep_end,
                               uint64_t *live)
{
    struct live_walk w = { .n = n, .keep_begin = keep_begin, .keep_end = keep_end };
    enum emu_status s = EMU_OK;

    w.users = emu_alloc(n->layers + 1, sizeof(*w.users));
    w.where = emu_alloc(n->layers + 1, sizeof(*w.where));
    w.stored = emu_alloc(n->layers + 1, sizeof(*w.stored));
    if (w.users && w.where && w.stored) {
        fusion_count_users(n, w.users);
        for (uint32_t i = 0, last; i < n->layers; i = last + 1) {
            last = fusion_last(n, w.users, i);
            store(&w, i, last);
        }
        add_up(&w, live);
    } else {
        s = FAIL(NO_MEMORY, "activations of %u layers", n->layers);
    }
    emu_free(w.users);
    emu_free(w.where);
    emu_free(w.stored);
    return s;
}
