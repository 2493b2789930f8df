/* exec_f16.c - f16 arithmetic, comparison and limits on two or four lanes. emu/base/fp.h decides
 * what one lane gives, here stand the operands. Instructions that round to f16 draw one PRNG output
 * for all their lanes when $FP_CTL.ESR is set. */
#include "emu/exec/exec_fp.h"

typedef uint16_t f16_round_fn(uint16_t a, uint16_t b, unsigned lane, struct fp_env *env);
typedef uint16_t f16_pick_fn(uint16_t a, uint16_t b, struct fp_env *env);

/* Operations that round. words is the number of registers, each with two f16 lanes. */
static inline enum fault f16_round2(struct tile *t, unsigned lane, const struct insn *in,
                                    f16_round_fn *fn, unsigned words, enum broadcast bcast)
{
    struct fp_env env = fp_env_begin(t, lane, 1);
    uint32_t r[2];

    for (unsigned k = 0; k < words; k++) {
        uint32_t a = first_source(t, lane, in, k, bcast), b = tile_a(t, lane, in->b + k);
        uint16_t lo = fn(fp_f16_lo(a), fp_f16_lo(b), 2 * k, &env);
        uint16_t hi = fn(fp_f16_hi(a), fp_f16_hi(b), 2 * k + 1, &env);

        r[k] = fp_f16_pack(lo, hi);
    }
    return fp_finish(t, lane, &env, in->d, r, words);
}

/* Operations that choose or compare and never round. */
static inline enum fault f16_pick2(struct tile *t, unsigned lane, const struct insn *in,
                                   f16_pick_fn *fn, unsigned words, enum broadcast bcast)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r[2];

    for (unsigned k = 0; k < words; k++) {
        uint32_t a = first_source(t, lane, in, k, bcast), b = tile_a(t, lane, in->b + k);
        uint16_t lo = fn(fp_f16_lo(a), fp_f16_lo(b), &env),
                 hi = fn(fp_f16_hi(a), fp_f16_hi(b), &env);

        r[k] = fp_f16_pack(lo, hi);
    }
    return fp_finish(t, lane, &env, in->d, r, words);
}

/* The bounds are the halves of B, for all lanes. */
static inline enum fault f16_clamp(struct tile *t, unsigned lane, const struct insn *in,
                                   unsigned words)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t bound = tile_a(t, lane, in->b), r[2];
    uint16_t min = fp_f16_lo(bound), max = fp_f16_hi(bound);

    for (unsigned k = 0; k < words; k++) {
        uint32_t a = tile_a(t, lane, in->a + k);
        uint16_t lo = fp_f16_clamp(fp_f16_lo(a), min, max, &env);
        uint16_t hi = fp_f16_clamp(fp_f16_hi(a), min, max, &env);

        r[k] = fp_f16_pack(lo, hi);
    }
    return fp_finish(t, lane, &env, in->d, r, words);
}

static inline enum fault f16_sum(struct tile *t, unsigned lane, const struct insn *in,
                                 unsigned words)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t r[2];

    for (unsigned k = 0; k < words; k++) {
        uint32_t a = tile_a(t, lane, in->a + k);

        r[k] = fp_f32_sum_exact_f16(fp_f16_lo(a), fp_f16_hi(a), &env);
    }
    return fp_finish(t, lane, &env, in->d, r, words);
}

static uint16_t max_of_halves(uint32_t a, struct fp_env *env)
{
    return fp_f16_max(fp_f16_lo(a), fp_f16_hi(a), env);
}

static uint32_t class_bytes(uint32_t a)
{
    return (uint32_t)fp_f16_class(fp_f16_lo(a)) | (uint32_t)fp_f16_class(fp_f16_hi(a)) << 8;
}

/* f16v2add $aD, $aA, $aB */
enum fault exec_f16v2add(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_add, 1, BCAST_NONE);
}

/* f16v2add $aD, $aA:BL, $aB */
enum fault exec_f16v2add_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_add, 1, BCAST_LO);
}

/* f16v2add $aD, $aA:BU, $aB */
enum fault exec_f16v2add_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_add, 1, BCAST_HI);
}

/* f16v4add $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4add(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_add, 2, BCAST_NONE);
}

/* f16v4add $aD:D+1, $aA:BL, $aB:B+1 */
enum fault exec_f16v4add_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_add, 2, BCAST_LO);
}

/* f16v4add $aD:D+1, $aA:BU, $aB:B+1 */
enum fault exec_f16v4add_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_add, 2, BCAST_HI);
}

/* f16v2sub $aD, $aA, $aB */
enum fault exec_f16v2sub(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_sub, 1, BCAST_NONE);
}

/* f16v2sub $aD, $aA:BL, $aB */
enum fault exec_f16v2sub_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_sub, 1, BCAST_LO);
}

/* f16v2sub $aD, $aA:BU, $aB */
enum fault exec_f16v2sub_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_sub, 1, BCAST_HI);
}

/* f16v4sub $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4sub(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_sub, 2, BCAST_NONE);
}

/* f16v4sub $aD:D+1, $aA:BL, $aB:B+1 */
enum fault exec_f16v4sub_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_sub, 2, BCAST_LO);
}

/* f16v4sub $aD:D+1, $aA:BU, $aB:B+1 */
enum fault exec_f16v4sub_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_sub, 2, BCAST_HI);
}

/* f16v2mul $aD, $aA, $aB */
enum fault exec_f16v2mul(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_mul, 1, BCAST_NONE);
}

/* f16v2mul $aD, $aA:BL, $aB */
enum fault exec_f16v2mul_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_mul, 1, BCAST_LO);
}

/* f16v2mul $aD, $aA:BU, $aB */
enum fault exec_f16v2mul_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_mul, 1, BCAST_HI);
}

/* f16v4mul $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4mul(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_mul, 2, BCAST_NONE);
}

/* f16v4mul $aD:D+1, $aA:BL, $aB:B+1 */
enum fault exec_f16v4mul_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_mul, 2, BCAST_LO);
}

/* f16v4mul $aD:D+1, $aA:BU, $aB:B+1 */
enum fault exec_f16v4mul_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_mul, 2, BCAST_HI);
}

/* f16v4mul $aD:D+1, $aA:B, $aB:B+1 */
enum fault exec_f16v4mul_b(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_mul, 2, BCAST_LO);
}

/* f16v2absadd $aD, $aA, $aB */
enum fault exec_f16v2absadd(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_absadd, 1, BCAST_NONE);
}

/* f16v2absmax $aD, $aA, $aB */
enum fault exec_f16v2absmax(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_absmax, 1, BCAST_NONE);
}

/* f16v2max $aD, $aA, $aB */
enum fault exec_f16v2max(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_max, 1, BCAST_NONE);
}

/* f16v2min $aD, $aA, $aB */
enum fault exec_f16v2min(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_min, 1, BCAST_NONE);
}

/* f16v2cmpeq $aD, $aA, $aB */
enum fault exec_f16v2cmpeq(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpeq, 1, BCAST_NONE);
}

/* f16v2cmpeq $aD, $aA:BL, $aB */
enum fault exec_f16v2cmpeq_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpeq, 1, BCAST_LO);
}

/* f16v2cmpeq $aD, $aA:BU, $aB */
enum fault exec_f16v2cmpeq_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpeq, 1, BCAST_HI);
}

/* f16v2cmpne $aD, $aA, $aB */
enum fault exec_f16v2cmpne(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpne, 1, BCAST_NONE);
}

/* f16v2cmpne $aD, $aA:BL, $aB */
enum fault exec_f16v2cmpne_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpne, 1, BCAST_LO);
}

/* f16v2cmpne $aD, $aA:BU, $aB */
enum fault exec_f16v2cmpne_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpne, 1, BCAST_HI);
}

/* f16v2cmplt $aD, $aA, $aB */
enum fault exec_f16v2cmplt(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmplt, 1, BCAST_NONE);
}

/* f16v2cmplt $aD, $aA:BL, $aB */
enum fault exec_f16v2cmplt_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmplt, 1, BCAST_LO);
}

/* f16v2cmplt $aD, $aA:BU, $aB */
enum fault exec_f16v2cmplt_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmplt, 1, BCAST_HI);
}

/* f16v2cmple $aD, $aA, $aB */
enum fault exec_f16v2cmple(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmple, 1, BCAST_NONE);
}

/* f16v2cmple $aD, $aA:BL, $aB */
enum fault exec_f16v2cmple_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmple, 1, BCAST_LO);
}

/* f16v2cmple $aD, $aA:BU, $aB */
enum fault exec_f16v2cmple_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmple, 1, BCAST_HI);
}

/* f16v2cmpgt $aD, $aA, $aB */
enum fault exec_f16v2cmpgt(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpgt, 1, BCAST_NONE);
}

/* f16v2cmpgt $aD, $aA:BL, $aB */
enum fault exec_f16v2cmpgt_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpgt, 1, BCAST_LO);
}

/* f16v2cmpgt $aD, $aA:BU, $aB */
enum fault exec_f16v2cmpgt_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpgt, 1, BCAST_HI);
}

/* f16v2cmpge $aD, $aA, $aB */
enum fault exec_f16v2cmpge(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpge, 1, BCAST_NONE);
}

/* f16v2cmpge $aD, $aA:BL, $aB */
enum fault exec_f16v2cmpge_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpge, 1, BCAST_LO);
}

/* f16v2cmpge $aD, $aA:BU, $aB */
enum fault exec_f16v2cmpge_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpge, 1, BCAST_HI);
}

/* f16v4absadd $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4absadd(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_round2(t, lane, in, fp_f16_absadd, 2, BCAST_NONE);
}

/* f16v4absmax $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4absmax(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_absmax, 2, BCAST_NONE);
}

/* f16v4max $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4max(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_max, 2, BCAST_NONE);
}

/* f16v4min $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4min(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_min, 2, BCAST_NONE);
}

/* f16v4cmpeq $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4cmpeq(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpeq, 2, BCAST_NONE);
}

/* f16v4cmpeq $aD:D+1, $aA:BL, $aB:B+1 */
enum fault exec_f16v4cmpeq_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpeq, 2, BCAST_LO);
}

/* f16v4cmpeq $aD:D+1, $aA:BU, $aB:B+1 */
enum fault exec_f16v4cmpeq_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpeq, 2, BCAST_HI);
}

/* f16v4cmpne $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4cmpne(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpne, 2, BCAST_NONE);
}

/* f16v4cmpne $aD:D+1, $aA:BL, $aB:B+1 */
enum fault exec_f16v4cmpne_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpne, 2, BCAST_LO);
}

/* f16v4cmpne $aD:D+1, $aA:BU, $aB:B+1 */
enum fault exec_f16v4cmpne_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpne, 2, BCAST_HI);
}

/* f16v4cmplt $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4cmplt(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmplt, 2, BCAST_NONE);
}

/* f16v4cmplt $aD:D+1, $aA:BL, $aB:B+1 */
enum fault exec_f16v4cmplt_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmplt, 2, BCAST_LO);
}

/* f16v4cmplt $aD:D+1, $aA:BU, $aB:B+1 */
enum fault exec_f16v4cmplt_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmplt, 2, BCAST_HI);
}

/* f16v4cmple $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4cmple(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmple, 2, BCAST_NONE);
}

/* f16v4cmple $aD:D+1, $aA:BL, $aB:B+1 */
enum fault exec_f16v4cmple_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmple, 2, BCAST_LO);
}

/* f16v4cmple $aD:D+1, $aA:BU, $aB:B+1 */
enum fault exec_f16v4cmple_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmple, 2, BCAST_HI);
}

/* f16v4cmpgt $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4cmpgt(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpgt, 2, BCAST_NONE);
}

/* f16v4cmpgt $aD:D+1, $aA:BL, $aB:B+1 */
enum fault exec_f16v4cmpgt_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpgt, 2, BCAST_LO);
}

/* f16v4cmpgt $aD:D+1, $aA:BU, $aB:B+1 */
enum fault exec_f16v4cmpgt_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpgt, 2, BCAST_HI);
}

/* f16v4cmpge $aD:D+1, $aA:A+1, $aB:B+1 */
enum fault exec_f16v4cmpge(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpge, 2, BCAST_NONE);
}

/* f16v4cmpge $aD:D+1, $aA:BL, $aB:B+1 */
enum fault exec_f16v4cmpge_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpge, 2, BCAST_LO);
}

/* f16v4cmpge $aD:D+1, $aA:BU, $aB:B+1 */
enum fault exec_f16v4cmpge_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_pick2(t, lane, in, fp_f16_cmpge, 2, BCAST_HI);
}

/* f16v2class $aD, $aA
 *
 * One code per byte, lane 0 lowest, as f16v4class; the upper half is 0 (ASSUMED). */
enum fault exec_f16v2class(struct tile *t, unsigned lane, const struct insn *in)
{
    tile_set_a(t, lane, in->d, class_bytes(tile_a(t, lane, in->a)));
    return FAULT_NONE;
}

/* f16v4class $aD, $aA:A+1 */
enum fault exec_f16v4class(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t lo = class_bytes(tile_a(t, lane, in->a)), hi = class_bytes(tile_a(t, lane, in->a + 1));

    tile_set_a(t, lane, in->d, lo | hi << 16);
    return FAULT_NONE;
}

/* f16v2sum $aD, $aA */
enum fault exec_f16v2sum(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_sum(t, lane, in, 1);
}

/* f16v4sum $aD:D+1, $aA:A+1 */
enum fault exec_f16v4sum(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_sum(t, lane, in, 2);
}

/* f16v2maxc $aD, $aA
 *
 * The maximum lands in both halves (ASSUMED for the upper one). */
enum fault exec_f16v2maxc(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint16_t h = max_of_halves(tile_a(t, lane, in->a), &env);
    uint32_t r = fp_f16_pack(h, h);

    return fp_finish(t, lane, &env, in->d, &r, 1);
}

/* f16v4maxc $aD, $aA:A+1 */
enum fault exec_f16v4maxc(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint16_t lo = max_of_halves(tile_a(t, lane, in->a), &env);
    uint16_t hi = max_of_halves(tile_a(t, lane, in->a + 1), &env);
    uint32_t r = fp_f16_pack(lo, hi);

    return fp_finish(t, lane, &env, in->d, &r, 1);
}

/* f16v2clamp $aD, $aA, $aB */
enum fault exec_f16v2clamp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_clamp(t, lane, in, 1);
}

/* f16v4clamp $aD:D+1, $aA:A+1, $aB */
enum fault exec_f16v4clamp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_clamp(t, lane, in, 2);
}
