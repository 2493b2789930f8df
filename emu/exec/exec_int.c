/* exec_int.c - integer instructions of the main lane: arithmetic, logic, shifts, comparisons, bit
 * and byte permutations.
 *
 * All arithmetic is modulo 2^32; nothing sets flags and nothing faults. Immediates arrive extended
 * (isa.h). Meanings: docs/isa.md 2 to 4; the last column of insn.def has the source of each.
 */
#include "emu/exec/exec.h"

static inline uint32_t ra(const struct tile *t, unsigned lane, const struct insn *in)
{
    return tile_m(t, lane, in->a);
}

static inline uint32_t rb(const struct tile *t, unsigned lane, const struct insn *in)
{
    return tile_m(t, lane, in->b);
}

static inline uint32_t imm(const struct insn *in)
{
    return (uint32_t)in->i;
}

static inline enum fault set_d(struct tile *t, unsigned lane, const struct insn *in, uint32_t v)
{
    tile_set_m(t, lane, in->d, v);
    return FAULT_NONE;
}

/* Shift counts above 31: logical shifts give 0, the arithmetic one gives the sign [ASSUMED: the
 * record says "up to 31"]. */
static inline uint32_t shift_left(uint32_t v, uint32_t n)
{
    return n < 32 ? v << n : 0;
}

static inline uint32_t shift_right(uint32_t v, uint32_t n)
{
    return n < 32 ? v >> n : 0;
}

static inline uint32_t shift_right_signed(uint32_t v, uint32_t n)
{
    uint32_t sign = v >> 31 ? UINT32_MAX : 0;

    if (n == 0)
        return v;
    return n < 32 ? v >> n | sign << (32 - n) : sign;
}

static inline uint32_t signed_max(uint32_t x, uint32_t y)
{
    return (int32_t)x > (int32_t)y ? x : y;
}

static inline uint32_t signed_min(uint32_t x, uint32_t y)
{
    return (int32_t)x < (int32_t)y ? x : y;
}

static inline uint32_t leading_zeros(uint32_t v)
{
    return v ? (uint32_t)__builtin_clz(v) : 32;
}

/* Byte n of v, 0 the least significant. */
static inline uint32_t byte(uint32_t v, unsigned n)
{
    return v >> 8 * n & 0xff;
}

static inline uint32_t bytes(uint32_t b0, uint32_t b1, uint32_t b2, uint32_t b3)
{
    return b0 | b1 << 8 | b2 << 16 | b3 << 24;
}

/* add $mD, $mA, $mB */
enum fault exec_add_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) + rb(t, lane, in));
}

/* add $mD, $mA, uimm16 */
enum fault exec_add_mu16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) + imm(in));
}

/* add $mD, $mA, simm16 */
enum fault exec_add_ms16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) + imm(in));
}

/* sub $mD, $mA, $mB */
enum fault exec_sub_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) - rb(t, lane, in));
}

/* sub $mD, uimm16, $mB */
enum fault exec_sub_mu16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, imm(in) - rb(t, lane, in));
}

/* sub $mD, simm16, $mB */
enum fault exec_sub_ms16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, imm(in) - rb(t, lane, in));
}

/* mul $mD, $mA, $mB: low 32 bits */
enum fault exec_mul_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) * rb(t, lane, in));
}

/* mul $mD, $mA, simm16: low 32 bits */
enum fault exec_mul_ms16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) * imm(in));
}

/* abs $mD, $mA: 0x80000000 stays as it is */
enum fault exec_abs(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t v = ra(t, lane, in);

    return set_d(t, lane, in, v >> 31 ? 0u - v : v);
}

/* max $mD, $mA, $mB: signed */
enum fault exec_max_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, signed_max(ra(t, lane, in), rb(t, lane, in)));
}

/* max $mD, $mA, uimm16: signed */
enum fault exec_max_mu16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, signed_max(ra(t, lane, in), imm(in)));
}

/* max $mD, $mA, simm16: signed */
enum fault exec_max_ms16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, signed_max(ra(t, lane, in), imm(in)));
}

/* min $mD, $mA, $mB: signed */
enum fault exec_min_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, signed_min(ra(t, lane, in), rb(t, lane, in)));
}

/* min $mD, $mA, uimm16: signed */
enum fault exec_min_mu16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, signed_min(ra(t, lane, in), imm(in)));
}

/* min $mD, $mA, simm16: signed */
enum fault exec_min_ms16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, signed_min(ra(t, lane, in), imm(in)));
}

/* and $mD, $mA, $mB */
enum fault exec_and_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) & rb(t, lane, in));
}

/* and $mD, $mA, uimm12 */
enum fault exec_and_mu12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) & imm(in));
}

/* andc $mD, $mA, $mB */
enum fault exec_andc_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) & ~rb(t, lane, in));
}

/* andc $mD, $mA, uimm12 */
enum fault exec_andc_mu12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) & ~imm(in));
}

/* or $mD, $mA, $mB */
enum fault exec_or_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) | rb(t, lane, in));
}

/* or $mD, $mA, uimm12 */
enum fault exec_or_mu12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) | imm(in));
}

/* or $mD, $mA, himm12: the immediate stands in bits 31:20 */
enum fault exec_or_mh12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) | imm(in));
}

/* xor $mD, $mA, $mB */
enum fault exec_xor_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) ^ rb(t, lane, in));
}

/* xnor $mD, $mA, $mB */
enum fault exec_xnor(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ~(ra(t, lane, in) ^ rb(t, lane, in)));
}

/* shl $mD, $mA, $mB */
enum fault exec_shl_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, shift_left(ra(t, lane, in), rb(t, lane, in)));
}

/* shl $mD, $mA, uimm12 */
enum fault exec_shl_mu12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, shift_left(ra(t, lane, in), imm(in)));
}

/* shr $mD, $mA, $mB */
enum fault exec_shr_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, shift_right(ra(t, lane, in), rb(t, lane, in)));
}

/* shr $mD, $mA, uimm12 */
enum fault exec_shr_mu12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, shift_right(ra(t, lane, in), imm(in)));
}

/* shrs $mD, $mA, $mB */
enum fault exec_shrs_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, shift_right_signed(ra(t, lane, in), rb(t, lane, in)));
}

/* shrs $mD, $mA, uimm12 */
enum fault exec_shrs_mu12(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, shift_right_signed(ra(t, lane, in), imm(in)));
}

/* clz $mD, $mA: 32 for 0 */
enum fault exec_clz(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, leading_zeros(ra(t, lane, in)));
}

/* cms $mD, $mA: how many bits directly below the sign equal it, 0..31 */
enum fault exec_cms(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t v = ra(t, lane, in);

    return set_d(t, lane, in, leading_zeros(v >> 31 ? ~v : v) - 1);
}

/* popc $mD, $mA */
enum fault exec_popc(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, (uint32_t)__builtin_popcount(ra(t, lane, in)));
}

/* bitrev8 $mD, $mA: reverses the bits inside each byte */
enum fault exec_bitrev8(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t v = ra(t, lane, in);

    v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
    v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
    return set_d(t, lane, in, v);
}

/* cmpeq $mD, $mA, $mB: 1 or 0 */
enum fault exec_cmpeq_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) == rb(t, lane, in));
}

/* cmpeq $mD, $mA, uimm16 */
enum fault exec_cmpeq_mu16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) == imm(in));
}

/* cmpeq $mD, $mA, simm16 */
enum fault exec_cmpeq_ms16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) == imm(in));
}

/* cmpne $mD, $mA, $mB */
enum fault exec_cmpne(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) != rb(t, lane, in));
}

/* cmpslt $mD, $mA, $mB: signed */
enum fault exec_cmpslt_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, (int32_t)ra(t, lane, in) < (int32_t)rb(t, lane, in));
}

/* cmpslt $mD, $mA, simm16: signed */
enum fault exec_cmpslt_ms16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, (int32_t)ra(t, lane, in) < in->i);
}

/* cmpult $mD, $mA, $mB: unsigned */
enum fault exec_cmpult_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) < rb(t, lane, in));
}

/* cmpult $mD, $mA, uimm16: unsigned */
enum fault exec_cmpult_mu16(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) < imm(in));
}

/* movz $mD, $mA, $mB: if $mA is 0 */
enum fault exec_movz(struct tile *t, unsigned lane, const struct insn *in)
{
    return ra(t, lane, in) ? FAULT_NONE : set_d(t, lane, in, rb(t, lane, in));
}

/* movnz $mD, $mA, $mB: if $mA is not 0 */
enum fault exec_movnz(struct tile *t, unsigned lane, const struct insn *in)
{
    return ra(t, lane, in) ? set_d(t, lane, in, rb(t, lane, in)) : FAULT_NONE;
}

/* setzi $mD, uimm20 */
enum fault exec_setzi_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, imm(in));
}

/* atom $mD, $aA: raw bits; reads the auxiliary file, issues in the main lane */
enum fault exec_atom(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, tile_a(t, lane, in->a));
}

/* roll16 $mD, $mA, $mB: low half $mA.hi, high half $mB.lo */
enum fault exec_roll16_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) >> 16 | rb(t, lane, in) << 16);
}

/* roll8r $mD, $mA, $mB */
enum fault exec_roll8r(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) >> 8 | rb(t, lane, in) << 24);
}

/* roll8l $mD, $mA, $mB */
enum fault exec_roll8l(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) >> 24 | rb(t, lane, in) << 8);
}

/* sort4x16lo $mD, $mA, $mB: low halves */
enum fault exec_sort4x16lo_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, (ra(t, lane, in) & 0xffff) | rb(t, lane, in) << 16);
}

/* sort4x16hi $mD, $mA, $mB: high halves */
enum fault exec_sort4x16hi_m(struct tile *t, unsigned lane, const struct insn *in)
{
    return set_d(t, lane, in, ra(t, lane, in) >> 16 | (rb(t, lane, in) & 0xffff0000));
}

/* sort8x8lo $mD, $mA, $mB: even bytes of $mA, then of $mB */
enum fault exec_sort8x8lo(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t x = ra(t, lane, in), y = rb(t, lane, in);

    return set_d(t, lane, in, bytes(byte(x, 0), byte(x, 2), byte(y, 0), byte(y, 2)));
}

/* sort8x8hi $mD, $mA, $mB: odd bytes */
enum fault exec_sort8x8hi(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t x = ra(t, lane, in), y = rb(t, lane, in);

    return set_d(t, lane, in, bytes(byte(x, 1), byte(x, 3), byte(y, 1), byte(y, 3)));
}

/* shuf8x8lo $mD, $mA, $mB: interleaves the low two bytes */
enum fault exec_shuf8x8lo(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t x = ra(t, lane, in), y = rb(t, lane, in);

    return set_d(t, lane, in, bytes(byte(x, 0), byte(y, 0), byte(x, 1), byte(y, 1)));
}

/* shuf8x8hi $mD, $mA, $mB: interleaves the high two bytes */
enum fault exec_shuf8x8hi(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t x = ra(t, lane, in), y = rb(t, lane, in);

    return set_d(t, lane, in, bytes(byte(x, 2), byte(y, 2), byte(x, 3), byte(y, 3)));
}

/* sort8 $mD, $mA: even bytes, then odd ones */
enum fault exec_sort8(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t x = ra(t, lane, in);

    return set_d(t, lane, in, bytes(byte(x, 0), byte(x, 2), byte(x, 1), byte(x, 3)));
}

/* swap8 $mD, $mA: swaps the bytes of each half */
enum fault exec_swap8(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t x = ra(t, lane, in);

    return set_d(t, lane, in, bytes(byte(x, 1), byte(x, 0), byte(x, 3), byte(x, 2)));
}
