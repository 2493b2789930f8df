/* fast_amp32.c - the f32 matrix instructions for all workers at once.
 *
 * A host FMA is the definition itself, once subnormals are flushed before and after it. New sums
 * are collected first: if one is NaN or infinite nothing is changed and the plain functions find
 * the exceptions.
 */
#include "emu/fast/fast_amp.h"
#include "emu/fast/fast_round.h"
#include "emu/fast/fast_weights.h"

/* Which of the eight units of a set take part, how their chain moves and where the pair enters. */
struct units {
    v8u part;
    v8i moved;
    v8u enters;
};

#define ON 0xffffffff

static const struct units units_all = { { ON, ON, ON, ON, ON, ON, ON, ON },
                                        { 2, 3, 4, 5, 6, 7, 6, 7 },
                                        { 0, 0, 0, 0, 0, 0, ON, ON } };
static const struct units units_four = { { ON, ON, ON, ON, 0, 0, 0, 0 },
                                         { 2, 3, 2, 3, 4, 5, 6, 7 },
                                         { 0, 0, ON, ON, 0, 0, 0, 0 } };
static const struct units units_two = { { ON, ON, 0, 0, 0, 0, 0, 0 },
                                        { 0, 1, 2, 3, 4, 5, 6, 7 },
                                        { ON, ON, 0, 0, 0, 0, 0, 0 } };

struct job32 {
    _Alignas(32) uint64_t pair[TILE_LANES]; /* what enters, by worker */
    _Alignas(32) uint32_t x[TILE_LANES];
    _Alignas(32) uint32_t sum[TILE_WORKERS][2 * SET_UNITS]; /* the new E */
    struct tile *t;
    const struct units *units;
    uint32_t lanes;
    unsigned phase, sets;
};

FAST_INLINE v8u load8(const uint32_t *p)
{
    v8u v;

    memcpy(&v, p, sizeof(v));
    return v;
}

FAST_INLINE void store8(uint32_t *p, v8u v)
{
    memcpy(p, &v, sizeof(v));
}

FAST_INLINE v8u fma8(v8u a, v8u b, v8u c)
{
    return (v8u)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

/* Fills j->sum. False if a sum is NaN or infinite. */
FAST_INLINE bool sums(struct job32 *j, const float w[2 * SET_UNITS], unsigned sets)
{
    const v8u part = j->units->part;
    unsigned from = j->phase ? CHAIN_E : CHAIN_O;
    v8u special = { 0 };

#pragma GCC unroll 6
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        const uint32_t *acc = j->t->acc[lane];
        v8u x = (v8u)_mm256_set1_epi32((int)j->x[lane]);

        if (!(j->lanes >> lane & 1))
            continue;
#pragma GCC unroll 2
        for (unsigned set = 0; set < sets; set++) {
            unsigned at = SET_UNITS * set;
            v8u v = (v8u)_mm256_loadu_ps(w + at), e = load8(acc + CHAIN_E + at);
            v8u r = fma8(x, v, f32_flush(load8(acc + from + at)));

            special |= f32_special(r) & part;
            store8(&j->sum[lane][at], (f32_flush(r) & part) | (e & ~part));
        }
    }
    return _mm256_testz_si256((__m256i)special, (__m256i)special);
}

/* Moves the chain of one set, or only exchanges it in phase 0. */
FAST_INLINE void move(struct job32 *j, unsigned lane, unsigned set, bool moves)
{
    const struct units *u = j->units;
    uint32_t *e = &j->t->acc[lane][CHAIN_E + SET_UNITS * set];
    uint32_t *o = &j->t->acc[lane][CHAIN_O + SET_UNITS * set];
    v8u old = load8(o), leaving = j->phase ? old : load8(e), enter;

    if (moves) {
        enter = (v8u)_mm256_set1_epi64x((long long)j->pair[lane]);
        leaving = (v8u)_mm256_permutevar8x32_epi32((__m256i)leaving, (__m256i)u->moved);
        leaving = (leaving & ~u->enters) | (enter & u->enters);
    }
    store8(o, (leaving & u->part) | (old & ~u->part));
}

FAST_INLINE void commit(struct job32 *j, unsigned sets)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if (!(j->lanes >> lane & 1))
            continue;
#pragma GCC unroll 2
        for (unsigned set = 0; set < sets; set++) {
            bool moves = j->phase % 2 == set;

            if (moves || !j->phase)
                move(j, lane, set, moves);
            store8(&j->t->acc[lane][CHAIN_E + SET_UNITS * set],
                   load8(&j->sum[lane][SET_UNITS * set]));
        }
    }
    acc_changed(j->t);
}

/* Immediates 0..7: eight units, phase; 8..11: four; 12: two units, phase 2. */
FAST_INLINE bool decode(const struct insn *in, struct job32 *j)
{
    unsigned i = (unsigned)in->i;

    if (EMU_LIKELY(i < 8)) {
        j->units = &units_all;
        j->phase = i;
        return true;
    }
    j->units = i < 12 ? &units_four : &units_two;
    j->phase = i < 12 ? i - 8 : 2;
    return i <= 12;
}

FAST_INLINE int f32_instruction(struct tile *t, uint32_t lanes, const struct insn *in,
                                unsigned sets)
{
    struct job32 j;
    struct f32_pairs out = { _mm256_setzero_si256(), _mm_setzero_si128() };
    unsigned set;

    if (!decode(in, &j))
        return 0;
    j.t = t;
    j.lanes = lanes;
    store8(j.x, f32_flush(fast_a(t, in->a)));
    fast_store_pairs(j.pair, fast_a(t, in->b), fast_a(t, in->b + 1));
    if (!sums(&j, fast_weights(t, WEIGHTS_F32)->f32[j.phase], sets))
        return 0;
    set = j.phase % 2;
    if (set < sets)
        out = fast_acc_pairs(t, (j.phase ? CHAIN_O : CHAIN_E) + SET_UNITS * set);
    commit(&j, sets);
    fast_set_pairs(t, lanes, in->d, out);
    return 1;
}

int fast_f32sisoamp(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f32_instruction(t, lanes, in, 1);
}

int fast_f32sisov2amp(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f32_instruction(t, lanes, in, 2);
}
