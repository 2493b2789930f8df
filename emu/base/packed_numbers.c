/* packed_numbers.c - differences of numbers as zstd (see packed_numbers.h). */
#include "emu/base/packed_numbers.h"

#include <zstd.h>

#include "emu/base/fail.h"

enum { LEVEL = 1 };

void packed_numbers_differ(uint32_t *difference, const uint32_t *number, size_t n)
{
    uint32_t before = 0;

    for (size_t i = 0; i < n; i++) {
        difference[i] = number[i] - before;
        before = number[i];
    }
}

void packed_numbers_sum(uint32_t *number, size_t n)
{
    for (size_t i = 1; i < n; i++)
        number[i] += number[i - 1];
}

size_t packed_numbers_room(size_t n)
{
    return ZSTD_compressBound(n * sizeof(uint32_t));
}

size_t packed_numbers_pack(void *zstd, const uint32_t *difference, size_t n, void *out)
{
    size_t bytes = ZSTD_compressCCtx(zstd, out, packed_numbers_room(n), difference,
                                     n * sizeof(*difference), LEVEL);

    EMU_ASSERT(!ZSTD_isError(bytes)); /* there is room */
    return bytes;
}

int packed_numbers_unpack(const void *packed, size_t bytes, uint32_t *out, size_t n)
{
    if (!packed || ZSTD_decompress(out, n * sizeof(*out), packed, bytes) != n * sizeof(*out))
        return 0;
    packed_numbers_sum(out, n);
    return 1;
}
