/* fast_math.c - tanh and sigmoid of f16 for all workers at once: there are only 65,536 arguments,
 * so each result is computed once, by the plain function, and looked up from then on. Networks
 * spend one instruction in twenty on them. Infinities, NaN and other roundings go to the plain
 * functions.
 */
#include <pthread.h>

#include "emu/base/fp_math.h"
#include "emu/fast/fast_fp.h"

enum { HALVES = 1 << 16 };

/* Written once, before the first use; the same whoever does it. */
static struct {
    pthread_once_t once;
    uint16_t tanh[HALVES], sigm[HALVES];
} tables = { .once = PTHREAD_ONCE_INIT };

static void fill_tables(void)
{
    for (unsigned x = 0; x < HALVES; x++) {
        struct fp_env nearest = { 0 };

        tables.tanh[x] = fp_f16_tanh((uint16_t)x, 0, &nearest);
        tables.sigm[x] = fp_f16_sigm((uint16_t)x, 0, &nearest);
    }
}

FAST_INLINE uint32_t both_halves(const uint16_t *table, uint32_t x)
{
    return table[x & 0xffff] | (uint32_t)table[x >> 16] << 16;
}

FAST_INLINE int look_up(struct tile *t, uint32_t lanes, const struct insn *in,
                        const uint16_t *table)
{
    v8u a = fast_a(t, in->a), r;
    uint32_t x[TILE_LANES];

    if (f16_rounds_otherwise(t, lanes) || is_rare(f16_special(a), lanes))
        return 0;
    pthread_once(&tables.once, fill_tables);
    memcpy(x, &a, sizeof(x));
    r = (v8u){ both_halves(table, x[0]),
               both_halves(table, x[1]),
               both_halves(table, x[2]),
               both_halves(table, x[3]),
               both_halves(table, x[4]),
               both_halves(table, x[5]),
               0,
               0 };
    put_a(t, lanes, in->d, 1, r, r);
    return 1;
}

int fast_f16v2tanh(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return look_up(t, lanes, in, tables.tanh);
}

int fast_f16v2sigm(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return look_up(t, lanes, in, tables.sigm);
}
