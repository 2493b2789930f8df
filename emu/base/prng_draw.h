/* prng_draw.h - generators that a program seeds for a purpose, and masks that it draws from them:
 * what codelets that draw and hosts that know their draws have in common.
 */
#ifndef EMU_PRNG_DRAW_H
#define EMU_PRNG_DRAW_H

#include "emu/base/prng.h"

/* Begins with two words of a seed and two that say whose draws they are; the first outputs, in
 * which neighbouring words still show, are thrown away. */
static inline void prng_begin(struct prng *p, const uint32_t *seed, uint32_t who, uint32_t what)
{
    enum { THROWN_AWAY = 15 };

    *p = (struct prng){ .s0 = (uint64_t)seed[1] << 32 | seed[0], .s1 = (uint64_t)what << 32 | who };
    for (int i = 0; i < THROWN_AWAY; i++)
        prng_next(p);
}

/* What 16 f16v4rmask in a row keep of 64 lanes: 1 or 0 each. */
enum { PRNG_MASK_LANES = 64 };
static inline void prng_mask(struct prng *p, uint32_t probability, uint8_t kept[PRNG_MASK_LANES])
{
    for (unsigned k = 0; k < PRNG_MASK_LANES; k += 4) {
        uint64_t out = prng_next(p);

        for (unsigned i = 0; i < 4; i++)
            kept[k + i] = prng_rmask_keeps(out, i, probability);
    }
}

#endif
