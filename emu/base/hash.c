/* hash.c - XXH3 (see hash.h). */
#include "emu/base/hash.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash64(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

struct hash128 hash128(const void *data, size_t bytes)
{
    XXH128_hash_t h = XXH3_128bits(data, bytes);

    return (struct hash128){ .lo = h.low64, .hi = h.high64 };
}

void hash128_text(struct hash128 h, char out[33])
{
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)h.hi, (unsigned long long)h.lo);
}
