/* hash.h - two functions that compute XXH3 hashes; only their source file includes <xxhash.h>. */
#ifndef EMU_HASH_H
#define EMU_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash128 {
    uint64_t lo, hi;
};

uint64_t hash64(const void *data, size_t bytes);
struct hash128 hash128(const void *data, size_t bytes);

/* 32 lower-case hex digits and a NUL, high half first, as xxhsum prints. */
void hash128_text(struct hash128 h, char out[33]);

static inline int hash128_equal(struct hash128 a, struct hash128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

#endif
