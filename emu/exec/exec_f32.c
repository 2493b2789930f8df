/* exec_f32.c - f32 arithmetic, comparison, limits, division and roots. Values are bit patterns;
 * emu/base/fp.h decides what one lane of an operation gives, here stand the operands: which
 * registers, how many lanes, what is broadcast. */
#include "emu/exec/exec_fp.h"

typedef uint32_t f32_fn1(uint32_t a, struct fp_env *env);
typedef uint32_t f32_fn2(uint32_t a, uint32_t b, struct fp_env *env);

static inline enum fault f32_lanes1(struct tile *t, unsigned lane, const struct insn *in,
                                    f32_fn1 *fn)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r = fn(tile_a(t, lane, in->a), &env);

    return fp_finish(t, lane, &env, in->d, &r, 1);
}

/* words is the number of f32 lanes, 1 or 2. */
static inline enum fault f32_lanes2(struct tile *t, unsigned lane, const struct insn *in,
                                    f32_fn2 *fn, unsigned words, enum broadcast bcast)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r[2];

    for (unsigned k = 0; k < words; k++)
        r[k] = fn(first_source(t, lane, in, k, bcast), tile_a(t, lane, in->b + k), &env);
    return fp_finish(t, lane, &env, in->d, r, words);
}

/* The bounds are the pair B, for all lanes. */
static inline enum fault f32_clamp(struct tile *t, unsigned lane, const struct insn *in,
                                   unsigned words)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t lo = tile_a(t, lane, in->b), hi = tile_a(t, lane, in->b + 1), r[2];

    for (unsigned k = 0; k < words; k++)
        r[k] = fp_f32_clamp(tile_a(t, lane, in->a + k), lo, hi, &env);
    return fp_finish(t, lane, &env, in->d, r, words);
}

/* f32add $aD, $aA, $aB */
enum fault exec_f32add(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_add, 1, BCAST_NONE);
}

/* f32v2add $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2add(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_add, 2, BCAST_NONE);
}

/* f32v2add $aD:D+1, $aA:B, $aB:B+1 */
enum fault exec_f32v2add_b(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_add, 2, BCAST_WORD);
}

/* f32sub $aD, $aA, $aB */
enum fault exec_f32sub(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_sub, 1, BCAST_NONE);
}

/* f32v2sub $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2sub(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_sub, 2, BCAST_NONE);
}

/* f32v2sub $aD:D+1, $aA:B, $aB:B+1 */
enum fault exec_f32v2sub_b(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_sub, 2, BCAST_WORD);
}

/* f32mul $aD, $aA, $aB */
enum fault exec_f32mul(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_mul, 1, BCAST_NONE);
}

/* f32v2mul $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2mul(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_mul, 2, BCAST_NONE);
}

/* f32v2mul $aD:D+1, $aA:B, $aB:B+1 */
enum fault exec_f32v2mul_b(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_mul, 2, BCAST_WORD);
}

/* f32v2mul $aD:D+1, $aA:BL, $aB:B+1 */
enum fault exec_f32v2mul_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_mul, 2, BCAST_WORD);
}

/* f32absadd $aD, $aA, $aB */
enum fault exec_f32absadd(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_absadd, 1, BCAST_NONE);
}

/* f32absmax $aD, $aA, $aB */
enum fault exec_f32absmax(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_absmax, 1, BCAST_NONE);
}

/* f32max $aD, $aA, $aB */
enum fault exec_f32max(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_max, 1, BCAST_NONE);
}

/* f32min $aD, $aA, $aB */
enum fault exec_f32min(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_min, 1, BCAST_NONE);
}

/* f32cmpeq $aD, $aA, $aB */
enum fault exec_f32cmpeq(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpeq, 1, BCAST_NONE);
}

/* f32cmpne $aD, $aA, $aB */
enum fault exec_f32cmpne(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpne, 1, BCAST_NONE);
}

/* f32cmplt $aD, $aA, $aB */
enum fault exec_f32cmplt(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmplt, 1, BCAST_NONE);
}

/* f32cmple $aD, $aA, $aB */
enum fault exec_f32cmple(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmple, 1, BCAST_NONE);
}

/* f32cmpgt $aD, $aA, $aB */
enum fault exec_f32cmpgt(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpgt, 1, BCAST_NONE);
}

/* f32cmpge $aD, $aA, $aB */
enum fault exec_f32cmpge(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpge, 1, BCAST_NONE);
}

/* f32v2absadd $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2absadd(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_absadd, 2, BCAST_NONE);
}

/* f32v2absmax $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2absmax(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_absmax, 2, BCAST_NONE);
}

/* f32v2max $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2max(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_max, 2, BCAST_NONE);
}

/* f32v2min $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2min(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_min, 2, BCAST_NONE);
}

/* f32v2cmpeq $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2cmpeq(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpeq, 2, BCAST_NONE);
}

/* f32v2cmpeq $aD:D+1, $aA:B, $aB:B+1 */
enum fault exec_f32v2cmpeq_b(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpeq, 2, BCAST_WORD);
}

/* f32v2cmpne $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2cmpne(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpne, 2, BCAST_NONE);
}

/* f32v2cmpne $aD:D+1, $aA:B, $aB:B+1 */
enum fault exec_f32v2cmpne_b(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpne, 2, BCAST_WORD);
}

/* f32v2cmplt $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2cmplt(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmplt, 2, BCAST_NONE);
}

/* f32v2cmplt $aD:D+1, $aA:B, $aB:B+1 */
enum fault exec_f32v2cmplt_b(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmplt, 2, BCAST_WORD);
}

/* f32v2cmple $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2cmple(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmple, 2, BCAST_NONE);
}

/* f32v2cmple $aD:D+1, $aA:B, $aB:B+1 */
enum fault exec_f32v2cmple_b(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmple, 2, BCAST_WORD);
}

/* f32v2cmpgt $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2cmpgt(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpgt, 2, BCAST_NONE);
}

/* f32v2cmpgt $aD:D+1, $aA:B, $aB:B+1 */
enum fault exec_f32v2cmpgt_b(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpgt, 2, BCAST_WORD);
}

/* f32v2cmpge $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2cmpge(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpge, 2, BCAST_NONE);
}

/* f32v2cmpge $aD:D+1, $aA:B, $aB:B+1 */
enum fault exec_f32v2cmpge_b(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_cmpge, 2, BCAST_WORD);
}

/* f32class $aD, $aA */
enum fault exec_f32class(struct tile *t, unsigned lane, const struct insn *in)
{
    tile_set_a(t, lane, in->d, fp_f32_class(tile_a(t, lane, in->a)));
    return FAULT_NONE;
}

/* f32v2class $aD, $aA:A+1
 *
 * One code per byte, as f16v2class; the packing is ASSUMED. */
enum fault exec_f32v2class(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t lo = fp_f32_class(tile_a(t, lane, in->a)),
             hi = fp_f32_class(tile_a(t, lane, in->a + 1));

    tile_set_a(t, lane, in->d, lo | hi << 8);
    return FAULT_NONE;
}

/* f32int $aD, $aA, mode */
enum fault exec_f32int(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r = fp_f32_int(tile_a(t, lane, in->a), (unsigned)in->i, &env);

    return fp_finish(t, lane, &env, in->d, &r, 1);
}

/* f32div $aD, $aA, $aB */
enum fault exec_f32div(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes2(t, lane, in, fp_f32_div, 1, BCAST_NONE);
}

/* f32sqrt $aD, $aA */
enum fault exec_f32sqrt(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes1(t, lane, in, fp_f32_sqrt);
}

/* f32oox $aD, $aA */
enum fault exec_f32oox(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes1(t, lane, in, fp_f32_oox);
}

/* f32oorx $aD, $aA */
enum fault exec_f32oorx(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_lanes1(t, lane, in, fp_f32_oorx);
}

/* f32clamp $aD, $aA, $aB:B+1 */
enum fault exec_f32clamp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_clamp(t, lane, in, 1);
}

/* f32v2clamp $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f32v2clamp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_clamp(t, lane, in, 2);
}
