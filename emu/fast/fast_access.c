/* fast_access.c - stores of some workers, or into code (see fast_access.h). */
#include "emu/fast/fast_access.h"

static void put32(struct tile *t, uint32_t lanes, const uint32_t *off, const uint32_t *v)
{
    for (; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctz(lanes);

        memcpy(t->mem + off[lane], &v[lane], 4);
        tile_written(t, off[lane], 4);
    }
}

static void put64(struct tile *t, uint32_t lanes, const uint32_t *off, const uint64_t *v)
{
    for (; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctz(lanes);

        memcpy(t->mem + off[lane], &v[lane], 8);
        tile_written(t, off[lane], 8);
    }
}

void fast_put32_some(struct tile *t, uint32_t lanes, v8u off, v8u v)
{
    uint32_t at[TILE_LANES], value[TILE_LANES];

    memcpy(at, &off, sizeof(at));
    memcpy(value, &v, sizeof(value));
    put32(t, lanes & ~t->fast->late_lanes, at, value);
    put32(t, lanes & t->fast->late_lanes, at, value);
}

void fast_put64_some(struct tile *t, uint32_t lanes, v8u off, v8u lo, v8u hi)
{
    uint32_t at[TILE_LANES];
    _Alignas(16) uint64_t value[TILE_LANES];

    memcpy(at, &off, sizeof(at));
    fast_store_pairs(value, lo, hi);
    put64(t, lanes & ~t->fast->late_lanes, at, value);
    put64(t, lanes & t->fast->late_lanes, at, value);
}
