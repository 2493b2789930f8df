/* place_outlook.c - what every tile will need, before anything is scheduled or placed (place.h).
 *
 * Code is counted by what it is made of: the codelets, a few words for each call, and some bytes
 * for each message that a tile sends or hears. Gaps come on top.
 */
#include "emu/arch/arch_numbers.h"
#include "programs/compiler/place/place.h"

#include <string.h>

#include "programs/compiler/base/parallel.h"
#include "programs/compiler/place/place_live.h"

enum { CALL_BYTES = 8 /* its vertex, the launch */ };

struct outlook {
    const struct lowered *l;
    size_t *first;    /* by index in used_tile, and one more: in object */
    uint32_t *object; /* in the order of tiles */
    uint64_t *code;   /* bytes, by tile */
    int64_t *change;  /* by thread, step, and one more of each: live_add() */
    struct tile_place *out;
};

static uint32_t tile_of(const struct lowered *l, uint32_t object)
{
    return l->tile_index[l->object.at[object].tile];
}

/* ---- code ---- */

static void count_messages(const struct lowered *l, const struct step *step, uint32_t bytes,
                           uint64_t *code)
{
    for (uint64_t m = step->first; m < step->first + step->count; m++) {
        const struct message *x = &l->message.at[m];

        code[tile_of(l, x->object)] += bytes;
        for (uint32_t k = x->first; k < x->first + x->dests; k++)
            code[tile_of(l, l->message_dest.at[k].object)] += bytes;
    }
}

static void count_code(const struct lowered *l, uint32_t codelet_bytes, uint32_t message_bytes,
                       uint64_t *code)
{
    for (uint32_t t = 0; t < l->used_tiles; t++)
        code[t] = codelet_bytes;
    for (size_t i = 0; i < l->call.count; i++)
        code[l->tile_index[l->call.at[i].tile]] += CALL_BYTES;
    for (size_t i = 0; i < l->step.count; i++)
        if (l->step.at[i].kind == STEP_EXCHANGE)
            count_messages(l, &l->step.at[i], message_bytes, code);
}

/* ---- tiles ---- */

static enum emu_status look_at_tile(void *ctx, uint32_t tile, unsigned thread)
{
    const struct outlook *o = ctx;
    const struct lowered *l = o->l;
    struct tile_place *p = &o->out[tile];
    int64_t *change = o->change + thread * (l->step.count + 1);
    uint64_t most;

    memset(change, 0, (l->step.count + 1) * sizeof(*change));
    for (size_t i = o->first[tile]; i < o->first[tile + 1]; i++)
        live_add(l, l->object.at[o->object[i]].live, l->object.at[o->object[i]].bytes, change);
    most = live_peak(l, change, &p->peak_step);
    p->code_need = arch_loader_head_bytes(ss_graph_arch(l->graph)) + o->code[tile];
    p->need_bytes = p->code_need + most;
    return EMU_OK;
}

static enum emu_status look(struct outlook *o, uint32_t codelet_bytes, uint32_t message_bytes,
                            unsigned threads, struct placement *out)
{
    size_t steps = o->l->step.count, tiles = o->l->used_tiles;

    o->first = emu_alloc(tiles + 2, sizeof(*o->first));
    o->object = emu_alloc(o->l->object.count + 1, sizeof(*o->object));
    o->code = emu_alloc(tiles + 1, sizeof(*o->code));
    o->change = emu_alloc(threads * (steps + 1), sizeof(*o->change));
    out->tile = o->out = emu_alloc(tiles + 1, sizeof(*out->tile));
    if (!o->first || !o->object || !o->code || !o->change || !o->out)
        return FAIL(NO_MEMORY, "the outlook of %zu tiles", tiles);
    count_code(o->l, codelet_bytes, message_bytes, o->code);
    live_list_objects(o->l, o->first, o->object);
    TRY(parallel_each((uint32_t)tiles, threads, look_at_tile, o));
    placement_conclude(out, ss_graph_arch(o->l->graph));
    return EMU_OK;
}

enum emu_status place_outlook(const struct lowered *l, uint32_t codelet_bytes,
                              uint32_t message_bytes, unsigned threads, struct placement *out)
{
    struct outlook o = { .l = l };
    enum emu_status s;

    *out = (struct placement){ .tiles = l->used_tiles };
    s = look(&o, codelet_bytes, message_bytes, parallel_threads(threads), out);
    ss_free(o.first);
    ss_free(o.object);
    ss_free(o.code);
    ss_free(o.change);
    if (s != EMU_OK)
        placement_free(out);
    return s;
}
