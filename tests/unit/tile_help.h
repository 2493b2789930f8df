/* tile_help.h - what tests of a single tile share: cmocka with the headers it wants, numbers from a
 * seed, and a tile with memory of its own.
 */
#ifndef TESTS_TILE_HELP_H
#define TESTS_TILE_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "emu/base/alloc.h"
#include "emu/tile/tile.h"

/* The upper half of a 64-bit linear congruence. */
static inline uint32_t help_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 32);
}

static inline uint32_t help_random_below(uint64_t *seed, uint32_t n)
{
    return (help_random(seed) >> 1) % n;
}

/* A tile whose memory is zero. */
static inline void help_tile_new(struct tile *t, const struct arch *a, uint32_t id)
{
    uint8_t *mem = emu_alloc(a->mem_bytes, 1);

    assert_non_null(mem);
    assert_int_equal(tile_init(t, a, id, mem), EMU_OK);
}

/* Nothing else may be allocated any more. */
static inline void help_tile_free(struct tile *t)
{
    emu_free(t->mem);
    tile_free(t);
    assert_int_equal(alloc_live(), 0);
}

#endif
