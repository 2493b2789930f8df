/* prng.h - the random number generator of a worker, xoroshiro128aox, and how the random
 * instructions use its outputs.
 *
 * Source of the generator: IEEE Transactions on Computers 2022, arXiv 2203.04058; seeding:
 * $PRNG_SEED, docs/machine.md 6.2. How outputs become samples and masks is ASSUMED (docs/facts.md).
 */
#ifndef EMU_PRNG_H
#define EMU_PRNG_H

#include <stdint.h>

#include "emu/base/fp.h"

/* $PRNG_0_0, $PRNG_0_1 are the low and high word of s0; $PRNG_1_0, $PRNG_1_1 of s1. */
struct prng {
    uint64_t s0, s1;
};

static inline uint64_t prng_rotl(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

/* Returns the next output and advances. The all-zero state stays where it is. */
static inline uint64_t prng_next(struct prng *p)
{
    uint64_t sx = p->s0 ^ p->s1, sa = p->s0 & p->s1;

    p->s0 = prng_rotl(p->s0, 55) ^ sx ^ sx << 14;
    p->s1 = prng_rotl(sx, 36);
    return sx ^ (prng_rotl(sa, 1) | prng_rotl(sa, 2));
}

/* What a write of v to $PRNG_SEED does. No outputs are discarded. */
static inline void prng_seed(struct prng *p, uint32_t v)
{
    uint32_t n = ~v;

    p->s0 = (uint64_t)n << 32 | v;
    p->s1 = (uint64_t)(n << 13 | v >> 19) << 32 | (v << 13 | n >> 19);
}

/* One sample of about N(0, 1) in units of 1/32, from one output: twelve 5-bit fields, bits 59:0,
 * less their mean. -186..186. */
static inline int prng_grand(struct prng *p)
{
    uint64_t out = prng_next(p);
    int sum = 0;

    for (int i = 0; i < 12; i++)
        sum += (int)(out >> 5 * i & 31);
    return sum - 186;
}

/* The same as f32 and f16 bits; both hold every sample exactly, so no rounding mode matters. */
static inline uint32_t prng_grand_f32(struct prng *p)
{
    return fp_bits((float)prng_grand(p) * 0x1p-5f);
}

static inline uint16_t prng_grand_f16(struct prng *p)
{
    struct fp_env env = { 0 };

    return fp_f16_from_f64(prng_grand(p) * 0x1p-5, 0, &env);
}

/* Whether lane 0..3 survives rmask with probability operand p: all if p[16], else if its 16 bits of
 * out are below p[15:0]. */
static inline bool prng_rmask_keeps(uint64_t out, unsigned lane, uint32_t p)
{
    return p & 0x10000 || (out >> 16 * lane & 0xffff) < (p & 0xffff);
}

/* f16v4rmask: lanes holds four f16, lane 0 in bits 15:0; those that do not survive become +0. */
static inline uint64_t prng_rmask_f16v4(uint64_t out, uint64_t lanes, uint32_t p)
{
    uint64_t keep = 0;

    for (unsigned i = 0; i < 4; i++)
        if (prng_rmask_keeps(out, i, p))
            keep |= (uint64_t)0xffff << 16 * i;
    return lanes & keep;
}

/* f32v2rmask: lanes holds two f32, lane 0 in bits 31:0; lane i is decided by bits 16i+15:16i of
 * out. */
static inline uint64_t prng_rmask_f32v2(uint64_t out, uint64_t lanes, uint32_t p)
{
    uint64_t keep = 0;

    for (unsigned i = 0; i < 2; i++)
        if (prng_rmask_keeps(out, i, p))
            keep |= (uint64_t)0xffffffff << 32 * i;
    return lanes & keep;
}

#endif
