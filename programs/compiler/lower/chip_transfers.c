/* chip_transfers.c - exchanges between chips: what each tile has of the channels, and the copies
 * between there and the tensors where words are dealt out (chip_deal.c).
 */
#include "programs/compiler/lower/lower_private.h"

/* Memory of a channel in the order of its bytes. */
struct chip_job {
    struct graph_lowering *w;
    size_t first;              /* of its parts in lowered.chip_part */
    struct copy_run_list back; /* from buffers to tensors */
};

/* Adds the words that a run of memory has of a channel. */
static enum emu_status add_chip_part(struct chip_job *j, uint32_t channel, struct memory_run p,
                                     uint32_t at)
{
    struct graph_lowering *w = j->w;
    uint32_t bytes = round_up(p.bytes, 4);

    TRY(lower_access(w, p.object, p.offset, p.bytes, PHASE_WORK,
                     w->g->channel.at[channel].way == CHANNEL_RECEIVE));
    return VEC_PUSH(&w->l->chip_part, (struct chip_part){ .tile = lower_object(w, p.object)->tile,
                                                          .channel = channel,
                                                          .object = p.object,
                                                          .offset = p.offset,
                                                          .bytes = bytes,
                                                          .at = at });
}

static enum emu_status add_straight(struct chip_job *j, const struct channel_use *u)
{
    struct graph_lowering *w = j->w;
    uint32_t at = 0;

    w->run.count = 0;
    TRY(storage_runs(w, u->t.view, &w->run));
    for (size_t i = 0; i < w->run.count; i++) {
        TRY(add_chip_part(j, u->channel, w->run.at[i], at));
        at += w->run.at[i].bytes;
    }
    return EMU_OK;
}

/* ---- dealt words ---- */

/* Adds buffers for the words of a channel. Those of arrivals are the same wherever the channel is
 * used, because the sender knows only one place: they are in use like variables. */
static enum emu_status add_buffers(struct chip_job *j, const struct channel *c, uint32_t tiles)
{
    struct graph_lowering *w = j->w;
    uint64_t words = (c->elements * ss_elem_bytes(c->elem) + 3) / 4;
    uint32_t owner = w->action.at[w->action.count - 1].name;

    for (uint32_t k = 0; k < tiles; k++) {
        uint64_t begin = chip_deal_begin(words, k, tiles);
        uint32_t bytes = (uint32_t)(4 * (chip_deal_begin(words, k + 1, tiles) - begin));
        struct object o = { .tile = chip_deal_tile(w->g, k, tiles),
                            .bytes = bytes,
                            .align = 8,
                            .region = ANY,
                            .category = CATEGORY_MESSAGE_BUFFER,
                            .owner = owner };
        struct memory_run p = { .bytes = bytes };

        if (c->way == CHANNEL_RECEIVE)
            TRY(object_add(w, &o, LIFE_FLOW, &p.object));
        else
            TRY(object_add_temporary(w, o.tile, bytes, CATEGORY_MESSAGE_BUFFER, owner, &p.object));
        TRY(VEC_PUSH(&w->arrival, p));
    }
    return EMU_OK;
}

/* The first of the buffers of a channel, one for each tile. */
static enum emu_status find_buffers(struct chip_job *j, uint32_t channel, uint32_t tiles,
                                    size_t *first)
{
    struct graph_lowering *w = j->w;
    const struct channel *c = &w->g->channel.at[channel];

    *first = w->arrival.count;
    if (c->way == CHANNEL_RECEIVE && w->arrival_first[channel]) {
        *first = w->arrival_first[channel] - 1;
        return EMU_OK;
    }
    w->arrival_first[channel] = *first + 1;
    return add_buffers(j, c, tiles);
}

/* Copies between a tensor and the buffers that have its words. */
static enum emu_status add_copies(struct chip_job *j, const struct channel_use *u, size_t buffer)
{
    struct graph_lowering *w = j->w;
    int receives = w->g->channel.at[u->channel].way == CHANNEL_RECEIVE;
    uint32_t fill = 0; /* of the buffer */

    w->run.count = 0;
    TRY(storage_runs(w, u->t.view, &w->run));
    for (size_t i = 0; i < w->run.count; i++) {
        struct memory_run p = w->run.at[i];

        while (p.bytes) {
            struct memory_run b = w->arrival.at[buffer];
            uint32_t n = b.bytes - fill < p.bytes ? b.bytes - fill : p.bytes;

            TRY(receives ? VEC_PUSH(&j->back,
                                    (struct copy_run){ b.object, fill, p.object, p.offset, n, 0 })
                         : VEC_PUSH(&w->copy_run,
                                    (struct copy_run){ p.object, p.offset, b.object, fill, n, 0 }));
            p.offset += n;
            p.bytes -= n;
            fill += n;
            buffer += fill == b.bytes;
            fill = fill == b.bytes ? 0 : fill;
        }
    }
    return EMU_OK;
}

static enum emu_status add_dealt(struct chip_job *j, const struct channel_use *u, uint32_t tiles)
{
    uint32_t at = 0;
    size_t first;

    TRY(find_buffers(j, u->channel, tiles, &first));
    for (size_t k = first; k < first + tiles; k++) {
        TRY(add_chip_part(j, u->channel, j->w->arrival.at[k], at));
        at += j->w->arrival.at[k].bytes;
    }
    return add_copies(j, u, first);
}

/* ---- all of it ---- */

static enum emu_status build(struct chip_job *j, const struct node *n)
{
    struct graph_lowering *w = j->w;
    struct lowered *l = w->l;
    size_t count;

    for (uint32_t i = n->a; i < n->a + n->b; i++) {
        const struct channel_use *u = &w->g->use.at[i];

        TRY(w->deal[i].tiles ? add_dealt(j, u, w->deal[i].tiles) : add_straight(j, u));
    }
    count = l->chip_part.count - j->first;
    if (l->chip_part.count >= UINT32_MAX)
        return FAIL(BAD_PROGRAM, "lowering: too many parts of exchanges between chips");
    if (count)
        TRY(key_sort(l->chip_part.at + j->first, count, sizeof(*l->chip_part.at),
                     offsetof(struct chip_part, tile), 1));
    action_set_step(w, PHASE_WORK, STEP_CHIPS, j->first, count);
    w->action.at[w->action.count - 1].step[PHASE_WORK].n = n->chips;
    TRY(copy_runs_lower(w, &w->copy_run, PHASE_FETCH, PHASE_GATHER, PHASE_GATHER));
    return copy_runs_lower(w, &j->back, PHASE_RETURN, PHASE_SCATTER, PHASE_SCATTER);
}

enum emu_status chips_action(struct graph_lowering *w, const struct node *n, uint32_t *action)
{
    struct chip_job j = { .w = w, .first = w->l->chip_part.count };
    const char *name = n->b ? w->g->channel.at[w->g->use.at[n->a].channel].name : "meet";
    enum emu_status s;

    w->copy_run.count = 0;
    TRY(action_begin(w, name, n->scope, action));
    s = build(&j, n);
    VEC_FREE(&j.back);
    TRY(s);
    return action_end(w);
}
