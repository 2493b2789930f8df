/* exec_mem.c - loads and stores with one address: plain forms, and step forms that move their
 * delta.
 *
 *   plain   address = $mA + $mB + index * size
 *   step    address = $mA + $mX; then $mX += step * size
 *
 * All address arithmetic wraps at 32 bits. A load into a zero register makes its access like any
 * other [ASSUMED].
 */
#include "emu/exec/exec.h"

/* One access of an instruction at an address: loads into d or stores from s. */
typedef enum fault access_fn(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr);

static enum fault access_ld32_m(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    uint32_t v;
    enum fault f = tile_load32(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->d, v);
    return f;
}

static enum fault access_ldz16(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    uint16_t v;
    enum fault f = tile_load16(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->d, v);
    return f;
}

static enum fault access_lds16(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    uint16_t v;
    enum fault f = tile_load16(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->d, (uint32_t)(int16_t)v);
    return f;
}

static enum fault access_ldz8(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    uint8_t v;
    enum fault f = tile_load8(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->d, v);
    return f;
}

static enum fault access_lds8(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    uint8_t v;
    enum fault f = tile_load8(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->d, (uint32_t)(int8_t)v);
    return f;
}

static enum fault access_ld32_a(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    uint32_t v;
    enum fault f = tile_load32(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_a(t, lane, in->d, v);
    return f;
}

/* Both halves of the register receive the value. */
static enum fault access_ldb16(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    uint16_t v;
    enum fault f = tile_load16(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_a(t, lane, in->d, v | (uint32_t)v << 16);
    return f;
}

static enum fault access_ld64(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    uint32_t v[2];
    enum fault f = tile_load64(t, lane, addr, v);

    if (f != FAULT_NONE)
        return f;
    for (unsigned k = 0; k < 2; k++)
        tile_set_a(t, lane, in->d + k, v[k]);
    return FAULT_NONE;
}

static enum fault access_ld128(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    uint32_t v[4];
    enum fault f = tile_load128(t, lane, addr, v);

    if (f != FAULT_NONE)
        return f;
    for (unsigned k = 0; k < 4; k++)
        tile_set_a(t, lane, in->d + k, v[k]);
    return FAULT_NONE;
}

static enum fault access_st32_m(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    return tile_store32(t, lane, addr, tile_m(t, lane, in->s));
}

static enum fault access_st32_a(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    return tile_store32(t, lane, addr, tile_a(t, lane, in->s));
}

static enum fault access_st64(struct tile *t, unsigned lane, const struct insn *in, uint32_t addr)
{
    uint32_t v[2] = { tile_a(t, lane, in->s), tile_a(t, lane, in->s + 1u) };

    return tile_store64(t, lane, addr, v);
}

/* Address of a plain form: base + delta + index * size. */
static uint32_t plain(const struct tile *t, unsigned lane, const struct insn *in, uint32_t index,
                      uint32_t size)
{
    return tile_m(t, lane, in->a) + tile_m(t, lane, in->b) + index * size;
}

/* A step form; the delta moves by step * size only if the access succeeded, by the values registers
 * had before it. */
static enum fault stepped(struct tile *t, unsigned lane, const struct insn *in, uint32_t step,
                          uint32_t size, access_fn *access)
{
    uint32_t delta = tile_m(t, lane, in->x);
    enum fault f = access(t, lane, in, tile_m(t, lane, in->a) + delta);

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->x, delta + step * size);
    return f;
}

/* The same for a load into the main file, whose destination may not be the delta register
 * [ASSUMED]. */
static enum fault stepped_m(struct tile *t, unsigned lane, const struct insn *in, uint32_t step,
                            uint32_t size, access_fn *access)
{
    if (in->d == in->x && in->d < 12)
        return tile_fault(t, lane, FAULT_INVALID_OP, 0, "destination and delta are one register");
    return stepped(t, lane, in, step, size, access);
}

/* ld32 $mD, $mA, $mB, $mC */
enum fault exec_ld32_mr(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ld32_m(t, lane, in, plain(t, lane, in, tile_m(t, lane, in->c), 4));
}

/* ld32 $mD, $mA, $mB, uimm12 */
enum fault exec_ld32_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ld32_m(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 4));
}

/* ldz16 $mD, $mA, $mB, $mC */
enum fault exec_ldz16_mr(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ldz16(t, lane, in, plain(t, lane, in, tile_m(t, lane, in->c), 2));
}

/* ldz16 $mD, $mA, $mB, uimm12 */
enum fault exec_ldz16_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ldz16(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 2));
}

/* lds16 $mD, $mA, $mB, $mC */
enum fault exec_lds16_mr(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_lds16(t, lane, in, plain(t, lane, in, tile_m(t, lane, in->c), 2));
}

/* lds16 $mD, $mA, $mB, uimm12 */
enum fault exec_lds16_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_lds16(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 2));
}

/* ldz8 $mD, $mA, $mB, $mC */
enum fault exec_ldz8_mr(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ldz8(t, lane, in, plain(t, lane, in, tile_m(t, lane, in->c), 1));
}

/* ldz8 $mD, $mA, $mB, uimm12 */
enum fault exec_ldz8_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ldz8(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 1));
}

/* lds8 $mD, $mA, $mB, $mC */
enum fault exec_lds8_mr(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_lds8(t, lane, in, plain(t, lane, in, tile_m(t, lane, in->c), 1));
}

/* lds8 $mD, $mA, $mB, uimm12 */
enum fault exec_lds8_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_lds8(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 1));
}

/* ld32 $aD, $mA, $mB, $mC */
enum fault exec_ld32_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ld32_a(t, lane, in, plain(t, lane, in, tile_m(t, lane, in->c), 4));
}

/* ld32 $aD, $mA, $mB, uimm12 */
enum fault exec_ld32_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ld32_a(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 4));
}

/* ldb16 $aD, $mA, $mB, $mC */
enum fault exec_ldb16_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ldb16(t, lane, in, plain(t, lane, in, tile_m(t, lane, in->c), 2));
}

/* ldb16 $aD, $mA, $mB, uimm12 */
enum fault exec_ldb16_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ldb16(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 2));
}

/* ld64 $aD:2, $mA, $mB, $mC */
enum fault exec_ld64_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ld64(t, lane, in, plain(t, lane, in, tile_m(t, lane, in->c), 8));
}

/* ld64 $aD:2, $mA, $mB, uimm12 */
enum fault exec_ld64_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ld64(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 8));
}

/* ld128 $aD:4, $mA, $mB, $mC */
enum fault exec_ld128_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ld128(t, lane, in, plain(t, lane, in, tile_m(t, lane, in->c), 16));
}

/* ld128 $aD:4, $mA, $mB, uimm12 */
enum fault exec_ld128_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_ld128(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 16));
}

/* st32 $mS, $mA, $mB, uimm12 */
enum fault exec_st32_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_st32_m(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 4));
}

/* st32 $aS, $mA, $mB, $mC */
enum fault exec_st32_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_st32_a(t, lane, in, plain(t, lane, in, tile_m(t, lane, in->c), 4));
}

/* st32 $aS, $mA, $mB, uimm12 */
enum fault exec_st32_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_st32_a(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 4));
}

/* st64 $aS:2, $mA, $mB, $mC */
enum fault exec_st64_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_st64(t, lane, in, plain(t, lane, in, tile_m(t, lane, in->c), 8));
}

/* st64 $aS:2, $mA, $mB, uimm12 */
enum fault exec_st64_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return access_st64(t, lane, in, plain(t, lane, in, (uint32_t)in->i, 8));
}

/* stm32 $mS, $mA, $mB: the second register counts words */
enum fault exec_stm32(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t addr = tile_m(t, lane, in->a) + 4 * tile_m(t, lane, in->b);

    return tile_store32(t, lane, addr, tile_m(t, lane, in->s));
}

/* ld32step $mD, $mA, $mX+=, simm8 */
enum fault exec_ld32step_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped_m(t, lane, in, (uint32_t)in->i, 4, access_ld32_m);
}

/* ld32step $mD, $mA, $mX+=, $mT */
enum fault exec_ld32step_mr(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped_m(t, lane, in, tile_m(t, lane, in->t), 4, access_ld32_m);
}

/* ldz16step $mD, $mA, $mX+=, simm8 */
enum fault exec_ldz16step_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped_m(t, lane, in, (uint32_t)in->i, 2, access_ldz16);
}

/* ldz16step $mD, $mA, $mX+=, $mT */
enum fault exec_ldz16step_mr(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped_m(t, lane, in, tile_m(t, lane, in->t), 2, access_ldz16);
}

/* lds16step $mD, $mA, $mX+=, simm8 */
enum fault exec_lds16step_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped_m(t, lane, in, (uint32_t)in->i, 2, access_lds16);
}

/* lds16step $mD, $mA, $mX+=, $mT */
enum fault exec_lds16step_mr(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped_m(t, lane, in, tile_m(t, lane, in->t), 2, access_lds16);
}

/* ldz8step $mD, $mA, $mX+=, simm8 */
enum fault exec_ldz8step_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped_m(t, lane, in, (uint32_t)in->i, 1, access_ldz8);
}

/* ldz8step $mD, $mA, $mX+=, $mT */
enum fault exec_ldz8step_mr(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped_m(t, lane, in, tile_m(t, lane, in->t), 1, access_ldz8);
}

/* lds8step $mD, $mA, $mX+=, simm8 */
enum fault exec_lds8step_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped_m(t, lane, in, (uint32_t)in->i, 1, access_lds8);
}

/* lds8step $mD, $mA, $mX+=, $mT */
enum fault exec_lds8step_mr(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped_m(t, lane, in, tile_m(t, lane, in->t), 1, access_lds8);
}

/* ld32step $aD, $mA, $mX+=, simm8 */
enum fault exec_ld32step_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, (uint32_t)in->i, 4, access_ld32_a);
}

/* ld32step $aD, $mA, $mX+=, $mT */
enum fault exec_ld32step_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, tile_m(t, lane, in->t), 4, access_ld32_a);
}

/* ldb16step $aD, $mA, $mX+=, simm8 */
enum fault exec_ldb16step_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, (uint32_t)in->i, 2, access_ldb16);
}

/* ldb16step $aD, $mA, $mX+=, $mT */
enum fault exec_ldb16step_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, tile_m(t, lane, in->t), 2, access_ldb16);
}

/* ld64step $aD:2, $mA, $mX+=, simm8 */
enum fault exec_ld64step_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, (uint32_t)in->i, 8, access_ld64);
}

/* ld64step $aD:2, $mA, $mX+=, $mT */
enum fault exec_ld64step_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, tile_m(t, lane, in->t), 8, access_ld64);
}

/* ld128step $aD:4, $mA, $mX+=, simm8 */
enum fault exec_ld128step_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, (uint32_t)in->i, 16, access_ld128);
}

/* ld128step $aD:4, $mA, $mX+=, $mT */
enum fault exec_ld128step_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, tile_m(t, lane, in->t), 16, access_ld128);
}

/* st32step $mS, $mA, $mX+=, simm8 */
enum fault exec_st32step_mi(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, (uint32_t)in->i, 4, access_st32_m);
}

/* st32step $aS, $mA, $mX+=, simm8 */
enum fault exec_st32step_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, (uint32_t)in->i, 4, access_st32_a);
}

/* st32step $aS, $mA, $mX+=, $mT */
enum fault exec_st32step_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, tile_m(t, lane, in->t), 4, access_st32_a);
}

/* st64step $aS:2, $mA, $mX+=, simm8 */
enum fault exec_st64step_ai(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, (uint32_t)in->i, 8, access_st64);
}

/* st64step $aS:2, $mA, $mX+=, $mT */
enum fault exec_st64step_ar(struct tile *t, unsigned lane, const struct insn *in)
{
    return stepped(t, lane, in, tile_m(t, lane, in->t), 8, access_st64);
}

/* stm32step $mS, $mX+=, $mT: the address is $mX itself */
enum fault exec_stm32step(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t addr = tile_m(t, lane, in->x);
    enum fault f = tile_store32(t, lane, addr, tile_m(t, lane, in->s));

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->x, addr + 4 * tile_m(t, lane, in->t));
    return f;
}
