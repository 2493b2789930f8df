/* fast_acc_move.c - instructions that move accumulators in and out along the chains, and the 4x4
 * transposition, for all workers at once. Plain meaning: emu/exec/exec_acc.c.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/fast/fast_amp.h"
#include "emu/fast/fast_round.h"

/* Moves `from` of each worker into `to`; pair[lane] enters. */
FAST_INLINE void move_chains(struct tile *t, uint32_t lanes, unsigned to, unsigned from,
                             const uint64_t pair[TILE_LANES])
{
#pragma GCC unroll 6
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)&t->acc[lane][from]);

        if (lanes >> lane & 1)
            _mm256_storeu_si256((__m256i *)&t->acc[lane][to], amp_moved(v, pair[lane]));
    }
}

/* Where the chain of an immediate of gina stands. */
FAST_INLINE unsigned chain_of(const struct insn *in)
{
    return (in->i & 1 ? CHAIN_O : CHAIN_E) + SET_UNITS * ((unsigned)in->i / 2);
}

FAST_INLINE bool chain_exists(const struct tile *t, const struct insn *in)
{
    return (unsigned)in->i < (arch_accumulators(t->arch) < TILE_ACC ? 2 : 4);
}

int fast_f32v2gina(struct tile *t, uint32_t lanes, const struct insn *in)
{
    _Alignas(32) uint64_t pair[TILE_LANES];
    struct f32_pairs leaving;

    if (!chain_exists(t, in))
        return 0;
    leaving = fast_acc_pairs(t, chain_of(in));
    fast_store_pairs(pair, fast_a(t, in->a), fast_a(t, in->a + 1));
    move_chains(t, lanes, chain_of(in), chain_of(in), pair);
    acc_changed(t);
    fast_set_pairs(t, lanes, in->d, leaving);
    return 1;
}

int fast_f16v2gina(struct tile *t, uint32_t lanes, const struct insn *in)
{
    _Alignas(32) uint64_t pair[TILE_LANES];
    struct fast_rounding rounding;
    v8u enter = fast_a(t, in->a), row;

    if (!chain_exists(t, in) || is_rare(f16_special(enter), lanes) ||
        !fast_rounding_begin(t, lanes, &rounding) ||
        !fast_round_pairs(&rounding, fast_acc_pairs(t, chain_of(in)), 0, lanes, &row))
        return 0;
    _mm256_store_ps((float *)pair, f16_widen_low(enter));
    _mm256_store_ps((float *)(pair + 4), f16_widen_high(enter));
    move_chains(t, lanes, chain_of(in), chain_of(in), pair);
    acc_changed(t);
    fast_rounding_end(t, lanes, &rounding);
    put_a(t, lanes, in->d, 1, row, row);
    return 1;
}

/* The odd chain takes over `from`, moved on; zeros enter. */
FAST_INLINE void transpose_shift(struct tile *t, uint32_t lanes, const struct insn *in,
                                 unsigned from)
{
    static const uint64_t zero[TILE_LANES];
    struct f32_pairs leaving = fast_acc_pairs(t, from);

    move_chains(t, lanes, CHAIN_O, from, zero);
    acc_changed(t);
    fast_set_pairs(t, lanes, in->d, leaving);
}

int fast_f16v4stacc(struct tile *t, uint32_t lanes, const struct insn *in)
{
    if ((unsigned)in->i > 1)
        return 0;
    transpose_shift(t, lanes, in, in->i ? CHAIN_O : CHAIN_E);
    return 1;
}

int fast_f16v4istacc(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u word[4];

    if ((unsigned)in->i > 1)
        return 0;
    for (unsigned k = 0; k < 2; k++) {
        v8u a = fast_a(t, in->a + k), b = fast_a(t, in->b + k);

        word[2 * k] = (a & 0xffff) | b << 16;
        word[2 * k + 1] = a >> 16 | (b & 0xffff0000);
    }
    transpose_shift(t, lanes, in, CHAIN_O);
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        for (unsigned i = 0; lanes >> lane & 1 && i < 4; i++)
            t->acc[lane][CHAIN_E + 2 * i + (unsigned)in->i] = word[i][lane];
    return 1;
}
