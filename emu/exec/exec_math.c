/* exec_math.c - exponentials, logarithms, tanh and sigmoid. emu/base/fp_math.h decides the values:
 * the true one, rounded once; an instruction on f16 draws one PRNG output for both lanes when
 * $FP_CTL.ESR is set. */
#include "emu/base/fp_math.h"
#include "emu/exec/exec_fp.h"

typedef uint32_t f32_math_fn(uint32_t x, struct fp_env *env);
typedef uint16_t f16_math_fn(uint16_t x, unsigned lane, struct fp_env *env);

static enum fault f32_math(struct tile *t, unsigned lane, const struct insn *in, f32_math_fn *fn)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r = fn(tile_a(t, lane, in->a), &env);

    return fp_finish(t, lane, &env, in->d, &r, 1);
}

static enum fault f16v2_math(struct tile *t, unsigned lane, const struct insn *in, f16_math_fn *fn)
{
    struct fp_env env = fp_env_begin(t, lane, 1);
    uint32_t a = tile_a(t, lane, in->a);
    uint16_t lo = fn(fp_f16_lo(a), 0, &env), hi = fn(fp_f16_hi(a), 1, &env);
    uint32_t r = fp_f16_pack(lo, hi);

    return fp_finish(t, lane, &env, in->d, &r, 1);
}

/* f32exp $aD, $aA */
enum fault exec_f32exp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_math(t, lane, in, fp_f32_exp);
}

/* f32exp2 $aD, $aA */
enum fault exec_f32exp2(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_math(t, lane, in, fp_f32_exp2);
}

/* f32ln $aD, $aA */
enum fault exec_f32ln(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_math(t, lane, in, fp_f32_ln);
}

/* f32log2 $aD, $aA */
enum fault exec_f32log2(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_math(t, lane, in, fp_f32_log2);
}

/* f32tanh $aD, $aA */
enum fault exec_f32tanh(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_math(t, lane, in, fp_f32_tanh);
}

/* f32sigm $aD, $aA */
enum fault exec_f32sigm(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_math(t, lane, in, fp_f32_sigm);
}

/* f16v2exp $aD, $aA */
enum fault exec_f16v2exp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16v2_math(t, lane, in, fp_f16_exp);
}

/* f16v2exp2 $aD, $aA */
enum fault exec_f16v2exp2(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16v2_math(t, lane, in, fp_f16_exp2);
}

/* f16v2ln $aD, $aA */
enum fault exec_f16v2ln(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16v2_math(t, lane, in, fp_f16_ln);
}

/* f16v2log2 $aD, $aA */
enum fault exec_f16v2log2(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16v2_math(t, lane, in, fp_f16_log2);
}

/* f16v2tanh $aD, $aA */
enum fault exec_f16v2tanh(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16v2_math(t, lane, in, fp_f16_tanh);
}

/* f16v2sigm $aD, $aA */
enum fault exec_f16v2sigm(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16v2_math(t, lane, in, fp_f16_sigm);
}
