/* fast_lanes.c - the LANES rows of insn.def for all workers at once: one function per rule of
 * emu/exec/lanes.def passes registers to a vector function and writes its results back. Plain
 * meaning: emu/exec/exec_lanes.c.
 *
 * Everything here is inlined into one function per row, in which shape, rule and operation are
 * constants.
 */
#include "emu/fast/fast_access.h"
#include "emu/fast/fast_convert.h"
#include "emu/fast/fast_f16.h"
#include "emu/fast/fast_f32.h"
#include "emu/fast/fast_int.h"
#include "emu/isa/insn_ops.h"
#include "emu/isa/insn_shape.h"

/* The functions that lanes.def names, by rule. f32 operands are flushed; *rare marks what the plain
 * function must decide. */
typedef v8u bits1_fn(v8u a);
typedef v8u bits2_fn(v8u a, v8u b);
typedef v8u f32_1_fn(v8u a, v8u *rare);
typedef v8u f32_2_fn(v8u a, v8u b, v8u *rare);
typedef v8u f32_clamps_fn(v8u a, v8u min, v8u max, v8u *rare);
typedef v8u f16_1_fn(v8u a);
typedef v8u f16_rounds_fn(v8u a, v8u b);
typedef v8u f16_picks_fn(v8u a, v8u b);
typedef v8u f16_clamps_fn(v8u a, v8u min, v8u max);

/* One access of every lane at its address; 0, nothing changed, if one would fault. */
typedef int access_fn(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr);

#define ARGUMENTS struct tile *t, uint32_t lanes, const struct insn *in, struct insn_shape shape

/* Word k of source n, 0 or 1: a register of A or B, or the immediate. A broadcast is one register
 * for all words. */
FAST_INLINE v8u word(const struct tile *t, const struct insn *in, struct insn_shape shape,
                     unsigned n, unsigned k)
{
    unsigned r = n ? in->b : in->a;

    switch (shape.source[n]) {
    case SOURCE_M:
        return fast_m(t, r);
    case SOURCE_A:
        return fast_a(t, n == 0 && shape.broadcast ? r : r + k);
    default:
        return fast_splat((uint32_t)in->i);
    }
}

/* The same for instructions on halves: a broadcast is one half for all of them. */
FAST_INLINE v8u halves(const struct tile *t, const struct insn *in, struct insn_shape shape,
                       unsigned n, unsigned k)
{
    v8u v = word(t, in, shape, n, k);

    if (n == 0 && shape.broadcast == BROADCAST_LOW)
        return f16_twice_low(v);
    if (n == 0 && shape.broadcast == BROADCAST_HIGH)
        return f16_twice_high(v);
    return v;
}

FAST_INLINE int set_words(ARGUMENTS, v8u r0, v8u r1)
{
    if (shape.file == SOURCE_M)
        fast_set_m(t, lanes, in->d, r0);
    else
        put_a(t, lanes, in->d, shape.words, r0, r1);
    return 1;
}

FAST_INLINE int bits1(ARGUMENTS, bits1_fn *fn)
{
    v8u r0 = fn(word(t, in, shape, 0, 0)), r1 = r0;

    if (shape.words == 2)
        r1 = fn(word(t, in, shape, 0, 1));
    return set_words(t, lanes, in, shape, r0, r1);
}

FAST_INLINE int bits2(ARGUMENTS, bits2_fn *fn)
{
    v8u r0 = fn(halves(t, in, shape, 0, 0), word(t, in, shape, 1, 0)), r1 = r0;

    if (shape.words == 2)
        r1 = fn(halves(t, in, shape, 0, 1), word(t, in, shape, 1, 1));
    return set_words(t, lanes, in, shape, r0, r1);
}

FAST_INLINE int f32_1(ARGUMENTS, f32_1_fn *fn)
{
    v8u rare = { 0 }, r0 = fn(word(t, in, shape, 0, 0), &rare), r1 = r0;

    if (shape.words == 2)
        r1 = fn(word(t, in, shape, 0, 1), &rare);
    if (is_rare(rare, lanes))
        return 0;
    return set_words(t, lanes, in, shape, r0, r1);
}

FAST_INLINE v8u f32_word(const struct tile *t, const struct insn *in, struct insn_shape shape,
                         unsigned n, unsigned k)
{
    return f32_flush(word(t, in, shape, n, k));
}

FAST_INLINE int f32_2(ARGUMENTS, f32_2_fn *fn)
{
    v8u rare = { 0 }, r0, r1;

    r0 = r1 = fn(f32_word(t, in, shape, 0, 0), f32_word(t, in, shape, 1, 0), &rare);
    if (shape.words == 2)
        r1 = fn(f32_word(t, in, shape, 0, 1), f32_word(t, in, shape, 1, 1), &rare);
    if (is_rare(rare, lanes))
        return 0;
    return set_words(t, lanes, in, shape, r0, r1);
}

/* The bounds are the pair B. */
FAST_INLINE int f32_clamps(ARGUMENTS, f32_clamps_fn *fn)
{
    v8u min = f32_flush(fast_a(t, in->b)), max = f32_flush(fast_a(t, in->b + 1u)), rare = { 0 };
    v8u r0 = fn(f32_word(t, in, shape, 0, 0), min, max, &rare), r1 = r0;

    if (shape.words == 2)
        r1 = fn(f32_word(t, in, shape, 0, 1), min, max, &rare);
    if (is_rare(rare, lanes))
        return 0;
    return set_words(t, lanes, in, shape, r0, r1);
}

/* Operands that are infinite or NaN go to the plain functions, too. */
FAST_INLINE int f16_1(ARGUMENTS, f16_1_fn *fn)
{
    v8u a0 = word(t, in, shape, 0, 0), a1 = shape.words == 2 ? word(t, in, shape, 0, 1) : a0;

    if (f16_rounds_otherwise(t, lanes) || is_rare(f16_special(a0) | f16_special(a1), lanes))
        return 0;
    return set_words(t, lanes, in, shape, fn(a0), shape.words == 2 ? fn(a1) : a0);
}

/* Operands that are infinite or NaN show in the result. */
FAST_INLINE int f16_rounds(ARGUMENTS, f16_rounds_fn *fn)
{
    v8u r0, r1;

    if (f16_rounds_otherwise(t, lanes))
        return 0;
    r0 = r1 = fn(halves(t, in, shape, 0, 0), word(t, in, shape, 1, 0));
    if (shape.words == 2)
        r1 = fn(halves(t, in, shape, 0, 1), word(t, in, shape, 1, 1));
    if (is_rare(f16_special(r0) | f16_special(r1), lanes))
        return 0;
    return set_words(t, lanes, in, shape, r0, r1);
}

FAST_INLINE int f16_picks(ARGUMENTS, f16_picks_fn *fn)
{
    v8u a0 = halves(t, in, shape, 0, 0), b0 = word(t, in, shape, 1, 0), a1 = a0, b1 = b0;
    v8u rare = f16_nan(a0) | f16_nan(b0);

    if (shape.words == 2) {
        a1 = halves(t, in, shape, 0, 1);
        b1 = word(t, in, shape, 1, 1);
        rare |= f16_nan(a1) | f16_nan(b1);
    }
    if (is_rare(rare, lanes))
        return 0;
    return set_words(t, lanes, in, shape, fn(a0, b0), fn(a1, b1));
}

/* The bounds are the halves of B. */
FAST_INLINE int f16_clamps(ARGUMENTS, f16_clamps_fn *fn)
{
    v8u a0 = word(t, in, shape, 0, 0), a1 = shape.words == 2 ? word(t, in, shape, 0, 1) : a0;
    v8u b = fast_a(t, in->b), min = f16_twice_low(b), max = f16_twice_high(b);

    if (is_rare(f16_nan(a0) | f16_nan(a1) | f16_nan(b), lanes))
        return 0;
    return set_words(t, lanes, in, shape, fn(a0, min, max), fn(a1, min, max));
}

/* Loads and stores. Step forms read delta and index before the destination is written and move the
 * delta after; a load into the delta is left to the plain function. */
FAST_INLINE int accesses(ARGUMENTS, uint32_t bytes, access_fn *access)
{
    bool in_register = shape.source[2] == SOURCE_M;
    v8u index = fast_splat((uint32_t)in->i), base = fast_m(t, in->a), delta = fast_m(t, in->x);

    if (in_register)
        index = fast_m(t, shape.steps ? in->t : in->c);
    if (!shape.steps)
        return access(t, lanes, in, base + fast_m(t, in->b) + index * bytes);
    if (shape.writes && shape.file == SOURCE_M && in->d == in->x)
        return 0;
    if (!access(t, lanes, in, base + delta))
        return 0;
    fast_set_m(t, lanes, in->x, delta + index * bytes);
    return 1;
}

/* What a row does, by its operation ... */
#define LANE(operation, rule, plain, vector)                                                       \
    enum { HAS_##operation = 1 };                                                                  \
    FAST_INLINE int lane_##operation(ARGUMENTS)                                                    \
    {                                                                                              \
        return rule(t, lanes, in, shape, vector);                                                  \
    }
#define PLAIN(operation, rule, plain)                                                              \
    enum { HAS_##operation = 0 };                                                                  \
    FAST_INLINE int lane_##operation(ARGUMENTS)                                                    \
    {                                                                                              \
        (void)t, (void)lanes, (void)in, (void)shape;                                               \
        return 0;                                                                                  \
    }
#define ACCESS(operation, bytes, plain, vector)                                                    \
    enum { HAS_##operation = 1 };                                                                  \
    FAST_INLINE int lane_##operation(ARGUMENTS)                                                    \
    {                                                                                              \
        return accesses(t, lanes, in, shape, bytes, vector);                                       \
    }
#include "emu/exec/lanes.def"
#undef LANE
#undef PLAIN
#undef ACCESS

/* ... and its operands. */
#define INSN(...)
#define ALIAS(...)
#define LANES(operation, id, mn, operands, ...)                                                    \
    static int fast_##id(struct tile *t, uint32_t lanes, const struct insn *in)                    \
    {                                                                                              \
        return lane_##operation(t, lanes, in, insn_shape(operands));                               \
    }
#include "emu/isa/insn.def"
#undef LANES

fast_fn *const fast_lanes[INSN_COUNT] = {
#define LANES(operation, id, ...) [INSN_##id] = HAS_##operation ? fast_##id : NULL,
#include "emu/isa/insn.def"
#undef INSN
#undef ALIAS
#undef LANES
};
