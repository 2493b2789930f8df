/* fast_mask.c - lane masks as vectors (see fast_rows.h). */
#include "emu/fast/fast_rows.h"

#define BIT(n, k) (1u << (k) & (n) ? 0xffffffffu : 0)
#define ROW(n)                                                                                     \
    {                                                                                              \
        BIT(n, 0), BIT(n, 1), BIT(n, 2), BIT(n, 3), BIT(n, 4), BIT(n, 5), 0, 0                     \
    }
#define ROWS4(n)  ROW(n), ROW((n) + 1), ROW((n) + 2), ROW((n) + 3)
#define ROWS16(n) ROWS4(n), ROWS4((n) + 4), ROWS4((n) + 8), ROWS4((n) + 12)

_Alignas(64) const uint32_t fast_masks[1 << TILE_WORKERS][TILE_LANES] = { ROWS16(0), ROWS16(16),
                                                                          ROWS16(32), ROWS16(48) };
