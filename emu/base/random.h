/* random.h - numbers from a seed, for tests and made-up data: splitmix64 (Steele, Lea and Flood,
 * OOPSLA 2014). The same numbers on every host.
 *
 * The state is one word, of which every value is as good as any other. Seeds that lie a multiple of
 * HASH_STEP apart give the same numbers, shifted; hash_mix() of a seed avoids that. The generator
 * of the emulated workers is another one: prng.h.
 */
#ifndef EMU_RANDOM_H
#define EMU_RANDOM_H

#include <stdint.h>

/* 2^64 / golden ratio: multiples of it are spread evenly over all words. */
#define HASH_STEP UINT64_C(0x9e3779b97f4a7c15)

/* One word to another, one to one; words that differ little give results that differ in about half
 * of the bits. */
static inline uint64_t hash_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline uint64_t random_next(uint64_t *state)
{
    return hash_mix(*state += HASH_STEP);
}

static inline uint32_t random_u32(uint64_t *state)
{
    return (uint32_t)(random_next(state) >> 32);
}

/* 0 .. n - 1; 0 if n is 0. */
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)((uint64_t)random_u32(state) * n >> 32);
}

/* About normally distributed, mean 0, deviation 1: the sum of twelve uniform numbers. */
static inline double random_normal(uint64_t *state)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += (double)(random_next(state) >> 40) * 0x1p-24;
    return sum;
}

#endif
