/* exec_acc.c - the accumulators without the matrix: sums, squares and products into the even
 * accumulators of set 0, the shift chains, and the 4x4 transposition (docs/matrix.md 2 and 3).
 *
 * E(m) is AACC[2m], O(m) is AACC[2m+1], of set 0 unless said otherwise. Accumulators that are
 * handed out or shifted in as f32 keep their bits, so any 32-bit pattern survives.
 */
#include "emu/exec/exec_amp.h"

static uint32_t even(const struct tile *t, unsigned lane, unsigned unit)
{
    return t->acc[lane][acc_index(unit, 0)];
}

static void set_even(struct tile *t, unsigned lane, unsigned unit, uint32_t v)
{
    t->acc[lane][acc_index(unit, 0)] = v;
    acc_changed(t);
}

/* Ends an instruction that changes E(0) .. E(n - 1) and writes `words` registers from d on. */
static enum fault finish_even(struct tile *t, unsigned lane, const struct fp_env *env,
                              const uint32_t *e, unsigned n, unsigned d, const uint32_t *r,
                              unsigned words)
{
    enum fault fault = fp_finish(t, lane, env, d, r, words);

    for (unsigned m = 0; fault == FAULT_NONE && m < n; m++)
        set_even(t, lane, m, e[m]);
    return fault;
}

/* What a term is before it is added. */
enum term { TERM_PLAIN, TERM_ABS, TERM_SQUARE };

/* E(i) += lane i of the four registers of A. */
static inline enum fault f32_accumulate(struct tile *t, unsigned lane, const struct insn *in,
                                        enum term term)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t e[4];

    for (unsigned i = 0; i < 4; i++) {
        uint32_t x = tile_a(t, lane, in->a + i), acc = even(t, lane, i);

        if (term == TERM_SQUARE)
            e[i] = fp_f32_fma(x, x, acc, &env);
        else
            e[i] = fp_f32_add(acc, term == TERM_ABS ? fp_f32_abs(x) : x, &env);
    }
    return finish_even(t, lane, &env, e, 4, 0, NULL, 0);
}

/* f32v4acc aA:4 */
enum fault exec_f32v4acc(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_accumulate(t, lane, in, TERM_PLAIN);
}

/* f32v4absacc aA:4 */
enum fault exec_f32v4absacc(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_accumulate(t, lane, in, TERM_ABS);
}

/* f32v4sqacc aA:4: one rounding per lane */
enum fault exec_f32v4sqacc(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_accumulate(t, lane, in, TERM_SQUARE);
}

/* E(i) += f16 lane i of `words` registers of A. */
static inline enum fault f16_accumulate(struct tile *t, unsigned lane, const struct insn *in,
                                        unsigned words, enum term term)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t e[AMP_UNITS];

    for (unsigned i = 0; i < 2 * words; i++) {
        uint32_t v = tile_a(t, lane, in->a + i / 2), acc = even(t, lane, i);
        uint16_t x = i % 2 ? fp_f16_hi(v) : fp_f16_lo(v);

        if (term == TERM_SQUARE) {
            e[i] = fp_f32_add_exact_f16_products(acc, &x, &x, 1, &env);
        } else {
            if (term == TERM_ABS)
                x = fp_f16_abs(x);
            e[i] = fp_f32_add(acc, fp_f16_to_f32(x, &env), &env);
        }
    }
    return finish_even(t, lane, &env, e, 2 * words, 0, NULL, 0);
}

/* f16v4acc aA:2 */
enum fault exec_f16v4acc(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_accumulate(t, lane, in, 2, TERM_PLAIN);
}

/* f16v4absacc aA:2 */
enum fault exec_f16v4absacc(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_accumulate(t, lane, in, 2, TERM_ABS);
}

/* f16v8acc aA:4 */
enum fault exec_f16v8acc(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_accumulate(t, lane, in, 4, TERM_PLAIN);
}

/* f16v8absacc aA:4 */
enum fault exec_f16v8absacc(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_accumulate(t, lane, in, 4, TERM_ABS);
}

/* f16v8sqacc aA:4 */
enum fault exec_f16v8sqacc(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_accumulate(t, lane, in, 4, TERM_SQUARE);
}

/* E(k) += the two products of register k of A and of B, rounded once. */
static inline enum fault f16_cmac(struct tile *t, unsigned lane, const struct insn *in,
                                  unsigned words)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t e[2];

    for (unsigned k = 0; k < words; k++) {
        uint32_t a = tile_a(t, lane, in->a + k), b = tile_a(t, lane, in->b + k);
        const uint16_t x[2] = { fp_f16_lo(a), fp_f16_hi(a) };
        const uint16_t y[2] = { fp_f16_lo(b), fp_f16_hi(b) };

        e[k] = fp_f32_add_exact_f16_products(even(t, lane, k), x, y, 2, &env);
    }
    return finish_even(t, lane, &env, e, words, 0, NULL, 0);
}

/* f16v2cmac aA, aB */
enum fault exec_f16v2cmac(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_cmac(t, lane, in, 1);
}

/* f16v4cmac aA:2, aB:2 */
enum fault exec_f16v4cmac(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_cmac(t, lane, in, 2);
}

static inline enum fault f32_mac(struct tile *t, unsigned lane, const struct insn *in,
                                 unsigned words)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t e[2];

    for (unsigned k = 0; k < words; k++)
        e[k] = fp_f32_fma(tile_a(t, lane, in->a + k), tile_a(t, lane, in->b + k), even(t, lane, k),
                          &env);
    return finish_even(t, lane, &env, e, words, 0, NULL, 0);
}

/* f32mac aA, aB */
enum fault exec_f32mac(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_mac(t, lane, in, 1);
}

/* f32v2mac aA:2, aB:2 */
enum fault exec_f32v2mac(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_mac(t, lane, in, 2);
}

/* f32v2axpy aD:2, aA:2, aB:2: hands out the result of the previous one */
enum fault exec_f32v2axpy(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    const uint32_t old[2] = { even(t, lane, 0), even(t, lane, 1) };
    uint32_t e[2];

    for (unsigned k = 0; k < 2; k++)
        e[k] =
            fp_f32_fma(t->tas[lane], tile_a(t, lane, in->a + k), tile_a(t, lane, in->b + k), &env);
    return finish_even(t, lane, &env, e, 2, in->d, old, 2);
}

/* f32v2aop aA:2, aB:2, imm: outer product; every immediate means the same */
enum fault exec_f32v2aop(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 0);
    uint32_t e[4];

    for (unsigned k = 0; k < 4; k++)
        e[k] = fp_f32_fma(tile_a(t, lane, in->a + k % 2), tile_a(t, lane, in->b + k / 2),
                          even(t, lane, k), &env);
    return finish_even(t, lane, &env, e, 4, 0, NULL, 0);
}

/* E(0) .. E(3) as four f16. */
static void pack_even(struct tile *t, unsigned lane, uint32_t r[2], struct fp_env *env)
{
    for (unsigned k = 0; k < 2; k++) {
        const uint32_t v[2] = { even(t, lane, 2 * k), even(t, lane, 2 * k + 1) };

        r[k] = amp_pack(v, 2 * k, env);
    }
}

/* f16v4mix aD:2, aA:2, aB:2: hands out the result of the previous one */
enum fault exec_f16v4mix(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 1);
    const uint16_t scale[2] = { fp_f16_lo(t->tas[lane]), fp_f16_hi(t->tas[lane]) };
    uint16_t x[4], y[4];
    uint32_t e[4], r[2];

    amp_read_f16v4(t, lane, in->a, x);
    amp_read_f16v4(t, lane, in->b, y);
    pack_even(t, lane, r, &env);
    for (unsigned i = 0; i < 4; i++) {
        const uint16_t xy[2] = { x[i], y[i] };

        e[i] = fp_f32_sum_exact_f16_products(xy, scale, 2, &env);
    }
    return finish_even(t, lane, &env, e, 4, in->d, r, 2);
}

/* f16v4gacc aD:2 */
enum fault exec_f16v4gacc(struct tile *t, unsigned lane, const struct insn *in)
{
    struct fp_env env = fp_env_begin(t, lane, 1);
    uint32_t r[2];

    pack_even(t, lane, r, &env);
    return fp_finish(t, lane, &env, in->d, r, 2);
}

/* Immediates 0..3: E of set 0, O of set 0, E of set 1, O of set 1. */
static inline enum fault gina(struct tile *t, unsigned lane, const struct insn *in, bool half)
{
    unsigned set = (unsigned)in->i / 2;
    struct fp_env env;
    struct amp_set s;
    uint32_t *chain = in->i % 2 ? s.odd : s.even;
    uint32_t entering[2], leaving[2], r;
    enum fault fault;

    if (in->i < 0 || in->i > 3 || !amp_set_exists(t, set))
        return tile_fault(t, lane, FAULT_INVALID_INSTR, 0, "no such accumulator chain");
    env = fp_env_begin(t, lane, half);
    s = amp_set_load(t, lane, set);
    amp_read_pair(t, lane, in->a, half, entering, &env);
    leaving[0] = chain[0];
    leaving[1] = chain[1];
    amp_shift(chain, chain, AMP_UNITS, entering);
    if (half)
        r = amp_pack(leaving, 0, &env);
    fault = fp_finish(t, lane, &env, in->d, half ? &r : leaving, half ? 1 : 2);
    if (fault == FAULT_NONE)
        amp_set_store(t, lane, set, &s);
    return fault;
}

/* f32v2gina aD:2, aA:2, chain */
enum fault exec_f32v2gina(struct tile *t, unsigned lane, const struct insn *in)
{
    return gina(t, lane, in, false);
}

/* f16v2gina aD, aA, chain */
enum fault exec_f16v2gina(struct tile *t, unsigned lane, const struct insn *in)
{
    return gina(t, lane, in, true);
}

static enum fault bad_flag(struct tile *t, unsigned lane)
{
    return tile_fault(t, lane, FAULT_INVALID_INSTR, 0, "no such phase of the transposition");
}

/* The chain O moves by one pair of `from`; zeros enter. What left goes to D. */
static void transpose_shift(struct tile *t, unsigned lane, const struct insn *in, bool from_even)
{
    static const uint32_t zero[2];
    struct amp_set s = amp_set_load(t, lane, 0);
    const uint32_t *from = from_even ? s.even : s.odd;
    const uint32_t leaving[2] = { from[0], from[1] };

    amp_shift(s.odd, from, AMP_UNITS, zero);
    amp_set_store(t, lane, 0, &s);
    tile_set_a(t, lane, in->d, leaving[0]);
    tile_set_a(t, lane, in->d + 1, leaving[1]);
}

/* f16v4stacc aD:2, flag: 0 copies the chain E to O, 1 moves O on */
enum fault exec_f16v4stacc(struct tile *t, unsigned lane, const struct insn *in)
{
    if (in->i < 0 || in->i > 1)
        return bad_flag(t, lane);
    transpose_shift(t, lane, in, in->i == 0);
    return FAULT_NONE;
}

/* f16v4istacc aD:2, aA:2, aB:2, flag: E(flag), E(flag + 2), ... take the halves of A and B */
enum fault exec_f16v4istacc(struct tile *t, unsigned lane, const struct insn *in)
{
    uint16_t a[4], b[4];

    if (in->i < 0 || in->i > 1)
        return bad_flag(t, lane);
    amp_read_f16v4(t, lane, in->a, a);
    amp_read_f16v4(t, lane, in->b, b);
    transpose_shift(t, lane, in, false);
    for (unsigned i = 0; i < 4; i++)
        set_even(t, lane, 2 * i + (unsigned)in->i, fp_f16_pack(a[i], b[i]));
    return FAULT_NONE;
}
