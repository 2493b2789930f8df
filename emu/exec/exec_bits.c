/* exec_bits.c - instructions of the auxiliary lane that move and combine raw bits: no arithmetic,
 * no floating-point rules, no faults.
 *
 * A pair is the registers n and n + 1; of two f16 in a register the low half is lane 0.
 */
#include "emu/exec/exec.h"

static inline uint32_t ra(const struct tile *t, unsigned lane, const struct insn *in)
{
    return tile_a(t, lane, in->a);
}

static inline uint32_t rb(const struct tile *t, unsigned lane, const struct insn *in)
{
    return tile_a(t, lane, in->b);
}

/* Register k of the pair of an operand. */
static inline uint32_t ra2(const struct tile *t, unsigned lane, const struct insn *in, unsigned k)
{
    return tile_a(t, lane, in->a + k);
}

static inline uint32_t rb2(const struct tile *t, unsigned lane, const struct insn *in, unsigned k)
{
    return tile_a(t, lane, in->b + k);
}

static inline uint32_t imm(const struct insn *in)
{
    return (uint32_t)in->i;
}

static inline enum fault set_d(struct tile *t, unsigned lane, const struct insn *in, uint32_t v)
{
    tile_set_a(t, lane, in->d, v);
    return FAULT_NONE;
}

/* Both values are computed by the caller before the first is written. */
static inline enum fault set_d2(struct tile *t, unsigned lane, const struct insn *in, uint32_t v0,
                                uint32_t v1)
{
    tile_set_a(t, lane, in->d, v0);
    tile_set_a(t, lane, in->d + 1u, v1);
    return FAULT_NONE;
}

/* and $aD, $aA, $aB */
enum fault exec_and_a(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) & rb(t, lane, in));
}

/* and $aD, $aA, uimm12 */
enum fault exec_and_au12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) & imm(in));
}

/* and $aD, $aA, himm12: the immediate stands in bits 31:20 */
enum fault exec_and_ah12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) & imm(in));
}

/* andc $aD, $aA, $aB */
enum fault exec_andc_a(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) & ~rb(t, lane, in));
}

/* andc $aD, $aA, uimm12 */
enum fault exec_andc_au12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) & ~imm(in));
}

/* andc $aD, $aA, himm12: the immediate stands in bits 31:20 */
enum fault exec_andc_ah12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) & ~imm(in));
}

/* or $aD, $aA, $aB */
enum fault exec_or_a(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) | rb(t, lane, in));
}

/* or $aD, $aA, uimm12 */
enum fault exec_or_au12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) | imm(in));
}

/* or $aD, $aA, himm12: the immediate stands in bits 31:20 */
enum fault exec_or_ah12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) | imm(in));
}

/* not $aD, $aA */
enum fault exec_not(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ~ra(t, lane, in));
}

/* and64 $aD:2, $aA:2, $aB:2 */
enum fault exec_and64(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d2(t, lane, in, ra2(t, lane, in, 0) & rb2(t, lane, in, 0),
                  ra2(t, lane, in, 1) & rb2(t, lane, in, 1));
}

/* andc64 $aD:2, $aA:2, $aB:2 */
enum fault exec_andc64(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d2(t, lane, in, ra2(t, lane, in, 0) & ~rb2(t, lane, in, 0),
                  ra2(t, lane, in, 1) & ~rb2(t, lane, in, 1));
}

/* or64 $aD:2, $aA:2, $aB:2 */
enum fault exec_or64(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d2(t, lane, in, ra2(t, lane, in, 0) | rb2(t, lane, in, 0),
                  ra2(t, lane, in, 1) | rb2(t, lane, in, 1));
}

/* not64 $aD:2, $aA:2 */
enum fault exec_not64(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d2(t, lane, in, ~ra2(t, lane, in, 0), ~ra2(t, lane, in, 1));
}

/* setzi $aD, uimm20 */
enum fault exec_setzi_a(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, imm(in));
}

/* roll16 $aD, $aA, $aB: low half $aA.hi, high half $aB.lo */
enum fault exec_roll16_a(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) >> 16 | rb(t, lane, in) << 16);
}

/* roll32 $aD:2, $aA:2, $aB:2: second of $aA, first of $aB */
enum fault exec_roll32(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d2(t, lane, in, ra2(t, lane, in, 1), rb2(t, lane, in, 0));
}

/* sort4x16lo $aD, $aA, $aB: low halves */
enum fault exec_sort4x16lo_a(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, (ra(t, lane, in) & 0xffff) | rb(t, lane, in) << 16);
}

/* sort4x16lo $aD, $aA:BU, $aB: $aA.hi stands for both halves of $aA */
enum fault exec_sort4x16lo_bu(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) >> 16 | rb(t, lane, in) << 16);
}

/* sort4x16hi $aD, $aA, $aB: high halves */
enum fault exec_sort4x16hi_a(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) >> 16 | (rb(t, lane, in) & 0xffff0000));
}

/* sort4x16hi $aD, $aA:BL, $aB: $aA.lo stands for both halves of $aA */
enum fault exec_sort4x16hi_bl(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, (ra(t, lane, in) & 0xffff) | (rb(t, lane, in) & 0xffff0000));
}

/* sort4x32lo $aD:2, $aA:2, $aB:2: first of each */
enum fault exec_sort4x32lo(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d2(t, lane, in, ra2(t, lane, in, 0), rb2(t, lane, in, 0));
}

/* sort4x32hi $aD:2, $aA:2, $aB:2: second of each */
enum fault exec_sort4x32hi(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d2(t, lane, in, ra2(t, lane, in, 1), rb2(t, lane, in, 1));
}
