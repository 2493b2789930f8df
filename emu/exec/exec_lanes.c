/* exec_lanes.c - the LANES rows of insn.def: one function per rule of lanes.def passes the operands
 * of an instruction to the function of one lane, and writes its results to registers.
 *
 * Functions that round to f16 draw one PRNG output for all their lanes when $FP_CTL.ESR is set.
 */
#include "emu/exec/exec_lanes.h"

#include "emu/exec/exec_fp.h"
#include "emu/isa/insn_shape.h"

/* Shape, rule and operation are constants where a row calls: the functions must melt into it. */
#define LANE_INLINE static inline __attribute__((always_inline))
#define ARGUMENTS   struct tile *t, unsigned lane, const struct insn *in, struct insn_shape shape

/* Word k of source n, 0 or 1: a register of A or B, or the immediate. A broadcast is one register
 * for all words. */
LANE_INLINE uint32_t word(const struct tile *t, unsigned lane, const struct insn *in,
                          struct insn_shape shape, unsigned n, unsigned k)
{
    unsigned r = n ? in->b : in->a;

    switch (shape.source[n]) {
    case SOURCE_M:
        return tile_m(t, lane, r);
    case SOURCE_A:
        return tile_a(t, lane, n == 0 && shape.broadcast ? r : r + k);
    case SOURCE_IMMEDIATE:
        return (uint32_t)in->i;
    default:
        return 0;
    }
}

/* The same for instructions on halves: a broadcast is one half for all of them. */
LANE_INLINE uint32_t halves(const struct tile *t, unsigned lane, const struct insn *in,
                            struct insn_shape shape, unsigned n, unsigned k)
{
    uint32_t v = word(t, lane, in, shape, n, k);

    if (n == 0 && shape.broadcast == BROADCAST_LOW)
        return fp_f16_pack(fp_f16_lo(v), fp_f16_lo(v));
    if (n == 0 && shape.broadcast == BROADCAST_HIGH)
        return fp_f16_pack(fp_f16_hi(v), fp_f16_hi(v));
    return v;
}

LANE_INLINE enum fault set_words(struct tile *t, unsigned lane, const struct insn *in,
                                 struct insn_shape shape, const uint32_t *r)
{
    if (shape.file == SOURCE_M)
        tile_set_m(t, lane, in->d, r[0]);
    for (unsigned k = 0; shape.file == SOURCE_A && k < shape.words; k++)
        tile_set_a(t, lane, in->d + k, r[k]);
    return FAULT_NONE;
}

LANE_INLINE enum fault bits1(ARGUMENTS, bits1_fn *fn)
{
    uint32_t r[2];

    for (unsigned k = 0; k < shape.words; k++)
        r[k] = fn(word(t, lane, in, shape, 0, k));
    return set_words(t, lane, in, shape, r);
}

LANE_INLINE enum fault bits2(ARGUMENTS, bits2_fn *fn)
{
    uint32_t r[2];

    for (unsigned k = 0; k < shape.words; k++)
        r[k] = fn(halves(t, lane, in, shape, 0, k), word(t, lane, in, shape, 1, k));
    return set_words(t, lane, in, shape, r);
}

LANE_INLINE enum fault f32_1(ARGUMENTS, f32_1_fn *fn)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r[2];

    for (unsigned k = 0; k < shape.words; k++)
        r[k] = fn(word(t, lane, in, shape, 0, k), &env);
    return fp_finish(t, lane, &env, in->d, r, shape.words);
}

LANE_INLINE enum fault f32_2(ARGUMENTS, f32_2_fn *fn)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r[2];

    for (unsigned k = 0; k < shape.words; k++)
        r[k] = fn(word(t, lane, in, shape, 0, k), word(t, lane, in, shape, 1, k), &env);
    return fp_finish(t, lane, &env, in->d, r, shape.words);
}

/* The bounds are the pair B, for all lanes. */
LANE_INLINE enum fault f32_clamps(ARGUMENTS, f32_clamps_fn *fn)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t min = tile_a(t, lane, in->b), max = tile_a(t, lane, in->b + 1), r[2];

    for (unsigned k = 0; k < shape.words; k++)
        r[k] = fn(word(t, lane, in, shape, 0, k), min, max, &env);
    return fp_finish(t, lane, &env, in->d, r, shape.words);
}

LANE_INLINE enum fault f16_1(ARGUMENTS, f16_1_fn *fn)
{
    struct fp_env env = fp_env_begin(t, lane, 1);
    uint32_t r[2];

    for (unsigned k = 0; k < shape.words; k++) {
        uint32_t a = word(t, lane, in, shape, 0, k);
        uint16_t lo = fn(fp_f16_lo(a), 2 * k, &env), hi = fn(fp_f16_hi(a), 2 * k + 1, &env);

        r[k] = fp_f16_pack(lo, hi);
    }
    return fp_finish(t, lane, &env, in->d, r, shape.words);
}

LANE_INLINE enum fault f16_rounds(ARGUMENTS, f16_rounds_fn *fn)
{
    struct fp_env env = fp_env_begin(t, lane, 1);
    uint32_t r[2];

    for (unsigned k = 0; k < shape.words; k++) {
        uint32_t a = halves(t, lane, in, shape, 0, k), b = word(t, lane, in, shape, 1, k);
        uint16_t lo = fn(fp_f16_lo(a), fp_f16_lo(b), 2 * k, &env);
        uint16_t hi = fn(fp_f16_hi(a), fp_f16_hi(b), 2 * k + 1, &env);

        r[k] = fp_f16_pack(lo, hi);
    }
    return fp_finish(t, lane, &env, in->d, r, shape.words);
}

LANE_INLINE enum fault f16_picks(ARGUMENTS, f16_picks_fn *fn)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r[2];

    for (unsigned k = 0; k < shape.words; k++) {
        uint32_t a = halves(t, lane, in, shape, 0, k), b = word(t, lane, in, shape, 1, k);
        uint16_t lo = fn(fp_f16_lo(a), fp_f16_lo(b), &env);
        uint16_t hi = fn(fp_f16_hi(a), fp_f16_hi(b), &env);

        r[k] = fp_f16_pack(lo, hi);
    }
    return fp_finish(t, lane, &env, in->d, r, shape.words);
}

/* The bounds are the halves of B, for all lanes. */
LANE_INLINE enum fault f16_clamps(ARGUMENTS, f16_clamps_fn *fn)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t bounds = tile_a(t, lane, in->b), r[2];
    uint16_t min = fp_f16_lo(bounds), max = fp_f16_hi(bounds);

    for (unsigned k = 0; k < shape.words; k++) {
        uint32_t a = word(t, lane, in, shape, 0, k);
        uint16_t lo = fn(fp_f16_lo(a), min, max, &env), hi = fn(fp_f16_hi(a), min, max, &env);

        r[k] = fp_f16_pack(lo, hi);
    }
    return fp_finish(t, lane, &env, in->d, r, shape.words);
}

/* Loads and stores. All address arithmetic wraps at 32 bits. A load into a zero register makes its
 * access like any other [ASSUMED].
 *
 *   plain   address = A + B + index * bytes
 *   step    address = A + X; then X += index * bytes, by the values registers had before
 *
 * A step into the main file may not load its own delta [ASSUMED]. */
LANE_INLINE enum fault accesses(ARGUMENTS, uint32_t bytes, access_fn *access)
{
    unsigned r = shape.steps ? in->t : in->c;
    uint32_t index = shape.source[2] == SOURCE_M ? tile_m(t, lane, r) : (uint32_t)in->i;
    uint32_t base = tile_m(t, lane, in->a), delta = tile_m(t, lane, in->x);
    enum fault f;

    if (!shape.steps)
        return access(t, lane, in, base + tile_m(t, lane, in->b) + index * bytes);
    if (shape.writes && shape.file == SOURCE_M && in->d == in->x && in->d < 12)
        return tile_fault(t, lane, FAULT_INVALID_OP, 0, "destination and delta are one register");
    f = access(t, lane, in, base + delta);
    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->x, delta + index * bytes);
    return f;
}

/* What a row does, by its operation ... */
#define LANE(operation, rule, plain, vector)                                                       \
    LANE_INLINE enum fault lane_##operation(ARGUMENTS)                                             \
    {                                                                                              \
        return rule(t, lane, in, shape, plain);                                                    \
    }
#define PLAIN(operation, rule, plain) LANE(operation, rule, plain, )
#define ACCESS(operation, bytes, plain, vector)                                                    \
    LANE_INLINE enum fault lane_##operation(ARGUMENTS)                                             \
    {                                                                                              \
        return accesses(t, lane, in, shape, bytes, plain);                                         \
    }
#include "emu/exec/lanes.def"
#undef LANE
#undef PLAIN
#undef ACCESS

/* ... and its operands. */
#define INSN(...)
#define ALIAS(...)
#define LANES(operation, id, mn, operands, ...)                                                    \
    enum fault exec_##id(struct tile *t, unsigned lane, const struct insn *in)                     \
    {                                                                                              \
        return lane_##operation(t, lane, in, insn_shape(operands));                                \
    }
#include "emu/isa/insn.def"
#undef INSN
#undef ALIAS
#undef LANES
