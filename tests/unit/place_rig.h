/* place_rig.h - lowered programs made by hand, for the tests of placement and reports: objects with
 * live sets on some tiles, operations with names, no code.
 */
#ifndef TESTS_PLACE_RIG_H
#define TESTS_PLACE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "programs/lower/lowered.h"

#define OK(expr) assert_int_equal(expr, EMU_OK)

struct place_rig {
    struct arch arch;
    struct graph *graph;
    struct lowered l;
    uint64_t seed;
};

static inline uint32_t rig_below(struct place_rig *r, uint32_t n)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->seed >> 33) % n;
}

static inline uint32_t rig_name(struct place_rig *r, const char *name)
{
    uint32_t id = strings_id(&r->l.strings, name);

    assert_true(id != UINT32_MAX);
    return id;
}

/* Tiles 0 .. tiles - 1 are used; operations have names "op0", "op1", ... and do nothing. */
static inline void rig_init(struct place_rig *r, const char *machine, uint32_t tiles, uint32_t ops,
                            uint64_t seed)
{
    *r = (struct place_rig){ .arch = *arch_preset(machine), .seed = seed };
    OK(graph_new(&r->arch, &r->graph));
    r->l.graph = r->graph;
    r->l.used_tile = prog_alloc(&r->l.arena, tiles, sizeof(uint32_t));
    r->l.tile_index = prog_alloc(&r->l.arena, r->arch.tiles, sizeof(uint32_t));
    r->l.used_tiles = tiles;
    r->l.groups = 1;
    for (uint32_t t = 0; t < r->arch.tiles; t++)
        r->l.tile_index[t] = t < tiles ? t : LOWERED_NONE;
    for (uint32_t t = 0; t < tiles; t++)
        r->l.used_tile[t] = t;
    OK(VEC_PUSH(&r->l.live_range, (struct live_range){ 0, ops }));
    OK(VEC_PUSH(&r->l.live_set, (struct live_set){ 0, 1 }));
    for (uint32_t i = 0; i < ops; i++) {
        char name[32];

        snprintf(name, sizeof(name), "op%u", i);
        OK(VEC_PUSH(&r->l.op,
                    (struct op){ .kind = OP_CALLS, .groups = 1, .name = rig_name(r, name) }));
    }
    OK(VEC_PUSH(&r->l.function,
                (struct lowered_function){ .count = ops, .name = rig_name(r, "program") }));
}

/* A new live set of n ranges {begin, end, begin, end ...}. */
static inline uint32_t rig_live(struct place_rig *r, uint32_t n, const uint32_t *bounds)
{
    struct live_set s = { (uint32_t)r->l.live_range.count, n };

    for (uint32_t i = 0; i < n; i++)
        OK(VEC_PUSH(&r->l.live_range, (struct live_range){ bounds[2 * i], bounds[2 * i + 1] }));
    OK(VEC_PUSH(&r->l.live_set, s));
    return (uint32_t)r->l.live_set.count - 1;
}

/* Up to three random ranges. */
static inline uint32_t rig_random_live(struct place_rig *r)
{
    uint32_t ops = (uint32_t)r->l.op.count, n = 1 + rig_below(r, 3), bounds[6], at = 0, made = 0;

    for (uint32_t i = 0; i < n && at + 1 < ops; i++) {
        bounds[2 * i] = at + rig_below(r, (ops - at + 1) / 2);
        bounds[2 * i + 1] = bounds[2 * i] + 1 + rig_below(r, (ops - bounds[2 * i] + 1) / 2);
        at = bounds[2 * i + 1] + 1;
        made++;
    }
    return rig_live(r, made, bounds);
}

/* A variable of 4-byte words in any region; the caller may change what r->l.object.at[id] says. */
static inline uint32_t rig_object(struct place_rig *r, uint32_t tile, uint32_t bytes, uint32_t live,
                                  const char *owner)
{
    OK(VEC_PUSH(&r->l.object, (struct object){ .tile = tile,
                                               .bytes = bytes,
                                               .align = 4,
                                               .region = ANY,
                                               .category = CATEGORY_VARIABLE,
                                               .owner = rig_name(r, owner),
                                               .live = live }));
    return (uint32_t)r->l.object.count - 1;
}

static inline void rig_free(struct place_rig *r)
{
    VEC_FREE(&r->l.object);
    VEC_FREE(&r->l.live_set);
    VEC_FREE(&r->l.live_range);
    VEC_FREE(&r->l.apart);
    VEC_FREE(&r->l.op);
    VEC_FREE(&r->l.function);
    VEC_FREE(&r->l.transfer);
    VEC_FREE(&r->l.transfer_dest);
    strings_free(&r->l.strings);
    prog_arena_free(&r->l.arena);
    graph_free(r->graph);
}

#endif
