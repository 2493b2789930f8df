/* exec_amp.h - what the matrix, sliding-window and accumulator families share: a set of units as
 * two chains, how values enter and leave it, and the frame of the instructions with f16 weights.
 * Private to emu/exec. Meaning: docs/matrix.md 1.
 */
#ifndef EMU_EXEC_AMP_H
#define EMU_EXEC_AMP_H

#include "emu/arch/arch_numbers.h"
#include "emu/exec/exec_fp.h"

enum { AMP_UNITS = 8, AMP_VECTORS = 4 /* weight entries of a unit */ };

/* One set of units of a worker: the even and the odd accumulator of each, f32 bits. */
struct amp_set {
    uint32_t even[AMP_UNITS], odd[AMP_UNITS];
};

static inline struct amp_set amp_set_load(const struct tile *t, unsigned lane, unsigned set)
{
    struct amp_set s;

    for (unsigned m = 0; m < AMP_UNITS; m++) {
        s.even[m] = t->acc[lane][acc_index(AMP_UNITS * set + m, 0)];
        s.odd[m] = t->acc[lane][acc_index(AMP_UNITS * set + m, 1)];
    }
    return s;
}

static inline void amp_set_store(struct tile *t, unsigned lane, unsigned set,
                                 const struct amp_set *s)
{
    for (unsigned m = 0; m < AMP_UNITS; m++) {
        t->acc[lane][acc_index(AMP_UNITS * set + m, 0)] = s->even[m];
        t->acc[lane][acc_index(AMP_UNITS * set + m, 1)] = s->odd[m];
    }
    acc_changed(t);
}

/* Whether the machine has this set: mk1 has only one. */
static inline bool amp_set_exists(const struct tile *t, unsigned set)
{
    return arch_accumulators(t->arch) >= 2 * AMP_UNITS * (set + 1);
}

/* What a chain of `units` units holds after it has moved by one pair. `to` may equal `from`. */
static inline void amp_shift(uint32_t *to, const uint32_t *from, unsigned units,
                             const uint32_t in[2])
{
    for (unsigned m = 0; m + 2 < units; m++)
        to[m] = from[m + 2];
    to[units - 2] = in[0];
    to[units - 1] = in[1];
}

/* Four f16 of two registers, lane 0 first. */
static inline void amp_read_f16v4(const struct tile *t, unsigned lane, unsigned reg,
                                  uint16_t out[4])
{
    for (unsigned k = 0; k < 2; k++) {
        uint32_t v = tile_a(t, lane, reg + k);

        out[2 * k] = fp_f16_lo(v);
        out[2 * k + 1] = fp_f16_hi(v);
    }
}

/* The two partial sums in register(s) reg: a pair of f32, whose bits are kept, or one of f16. */
static inline void amp_read_pair(const struct tile *t, unsigned lane, unsigned reg, bool half,
                                 uint32_t out[2], struct fp_env *env)
{
    uint32_t v = tile_a(t, lane, reg);

    if (half) {
        out[0] = fp_f16_to_f32(fp_f16_lo(v), env);
        out[1] = fp_f16_to_f32(fp_f16_hi(v), env);
    } else {
        out[0] = v;
        out[1] = tile_a(t, lane, reg + 1);
    }
}

/* Two accumulators as f16, in rounding lanes `first` and `first` + 1. */
static inline uint32_t amp_pack(const uint32_t v[2], unsigned first, struct fp_env *env)
{
    uint16_t lo = fp_f16_from_f32(v[0], first, env);

    return fp_f16_pack(lo, fp_f16_from_f32(v[1], first + 1, env));
}

/* acc plus the products of x with the four f16 of a weight entry, rounded once. */
static inline uint32_t amp_dot_f16(uint32_t acc, const uint16_t x[4], uint64_t weight,
                                   struct fp_env *env)
{
    uint16_t w[4];

    for (unsigned i = 0; i < 4; i++)
        w[i] = (uint16_t)(weight >> 16 * i);
    return fp_f32_add_exact_f16_products(acc, x, w, 4, env);
}

/* What an instruction does to each set: the units that take part, which of their weights are
 * multiplied, and in which format partial sums enter and results leave. */
struct amp_step {
    unsigned units, phase, sets;
    bool half_in, half_out;
};

/* Splits the six-bit immediate of an instruction with f16 or FP8 weights into units and phase, and
 * says that there is none for a value. */
bool amp_f16_phase(int32_t immediate, struct amp_step *step);
enum fault amp_bad_phase(struct tile *t, unsigned lane);

/* One set: its new chains and the pair that leaves. weight: entry 0 of the set's first unit. */
typedef void amp_set_fn(struct amp_set *s, const struct amp_step *step, const uint16_t x[4],
                        const uint64_t *weight, const uint32_t partial[2], uint32_t out[2],
                        struct fp_env *env);

/* An instruction with f16 weights: aA:2 is x, aB the partial sums, aD the results. */
enum fault amp_f16_instruction(struct tile *t, unsigned lane, const struct insn *in,
                               const struct amp_step *step, amp_set_fn *set_step);

#endif
