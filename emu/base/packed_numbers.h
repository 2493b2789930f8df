/* packed_numbers.h - lists of numbers in few bytes: the differences of neighbours, which are small
 * where addresses or tiles ascend, as zstd.
 */
#ifndef EMU_PACKED_NUMBERS_H
#define EMU_PACKED_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* The differences of n numbers, modulo 2^32; the first is that to 0. */
void packed_numbers_differ(uint32_t *difference, const uint32_t *number, size_t n);
/* And back, in place. */
void packed_numbers_sum(uint32_t *number, size_t n);

/* Packs n differences into out, which has packed_numbers_room(n) bytes; returns how many bytes that
 * are. zstd: a ZSTD_CCtx of the calling thread. The bytes depend on the numbers only (with one
 * release of zstd). */
size_t packed_numbers_room(size_t n);
size_t packed_numbers_pack(void *zstd, const uint32_t *difference, size_t n, void *out);
/* Whether n numbers were packed there; they are then in out. Trusts nothing. */
int packed_numbers_unpack(const void *packed, size_t bytes, uint32_t *out, size_t n);

#endif
