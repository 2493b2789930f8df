/* fast_int.c - integer, move and byte-permutation instructions for all workers at once. Plain
 * meaning: emu/exec/exec_int.c. */
#include "emu/fast/fast.h"
#include "emu/fast/fast_rows.h"

static inline int set(struct tile *t, uint32_t lanes, const struct insn *in, v8u v)
{
    fast_set_m(t, lanes, in->d, v);
    return 1;
}

static inline v8u splat(uint32_t v)
{
    v8u z = { 0 };

    return z + v;
}

static inline v8u ma(const struct tile *t, const struct insn *in)
{
    return fast_m(t, in->a);
}

static inline v8u mb(const struct tile *t, const struct insn *in)
{
    return fast_m(t, in->b);
}

static inline v8u imm(const struct insn *in)
{
    return splat((uint32_t)in->i);
}

static inline v8u boolean(v8u mask)
{
    return mask & 1;
}

static inline v8u choose(v8u mask, v8u yes, v8u no)
{
    return (yes & mask) | (no & ~mask);
}

int fast_add_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) + mb(t, in));
}

int fast_add_mu16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) + imm(in));
}

int fast_add_ms16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) + imm(in));
}

int fast_sub_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) - mb(t, in));
}

int fast_sub_mu16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, imm(in) - mb(t, in));
}

int fast_sub_ms16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, imm(in) - mb(t, in));
}

int fast_mul_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) * mb(t, in));
}

int fast_mul_ms16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) * imm(in));
}

static inline v8u smax(v8u a, v8u b)
{
    return choose((v8u)((v8i)a > (v8i)b), a, b);
}

static inline v8u smin(v8u a, v8u b)
{
    return choose((v8u)((v8i)a < (v8i)b), a, b);
}

int fast_max_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, smax(ma(t, in), mb(t, in)));
}

int fast_min_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, smin(ma(t, in), mb(t, in)));
}

int fast_min_mu16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, smin(ma(t, in), imm(in)));
}

int fast_and_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) & mb(t, in));
}

int fast_and_mu12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) & imm(in));
}

int fast_andc_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) & ~mb(t, in));
}

int fast_andc_mu12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) & ~imm(in));
}

int fast_or_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) | mb(t, in));
}

int fast_or_mu12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) | imm(in));
}

int fast_or_mh12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) | imm(in));
}

int fast_xor_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) ^ mb(t, in));
}

int fast_xnor(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ~(ma(t, in) ^ mb(t, in)));
}

/* Logical shifts by 32 and more give 0. */
int fast_shl_mu12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, in->i < 32 ? ma(t, in) << in->i : splat(0));
}

int fast_shr_mu12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, in->i < 32 ? ma(t, in) >> in->i : splat(0));
}

int fast_shrs_mu12(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, (v8u)((v8i)ma(t, in) >> (in->i < 32 ? in->i : 31)));
}

int fast_shl_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u n = mb(t, in);

    return set(t, lanes, in, (ma(t, in) << (n & 31)) & (v8u)(n < 32));
}

int fast_shr_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u n = mb(t, in);

    return set(t, lanes, in, (ma(t, in) >> (n & 31)) & (v8u)(n < 32));
}

int fast_cmpeq_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, boolean((v8u)(ma(t, in) == mb(t, in))));
}

int fast_cmpeq_mu16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, boolean((v8u)(ma(t, in) == imm(in))));
}

int fast_cmpeq_ms16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, boolean((v8u)(ma(t, in) == imm(in))));
}

int fast_cmpne(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, boolean((v8u)(ma(t, in) != mb(t, in))));
}

int fast_cmpslt_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, boolean((v8u)((v8i)ma(t, in) < (v8i)mb(t, in))));
}

int fast_cmpslt_ms16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, boolean((v8u)((v8i)ma(t, in) < (v8i)imm(in))));
}

int fast_cmpult_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, boolean((v8u)(ma(t, in) < mb(t, in))));
}

int fast_cmpult_mu16(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, boolean((v8u)(ma(t, in) < imm(in))));
}

int fast_movz(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, choose((v8u)(ma(t, in) == 0), mb(t, in), fast_m(t, in->d)));
}

int fast_movnz(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, choose((v8u)(ma(t, in) != 0), mb(t, in), fast_m(t, in->d)));
}

int fast_setzi_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, imm(in));
}

int fast_atom(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, fast_a(t, in->a));
}

int fast_roll16_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) >> 16 | mb(t, in) << 16);
}

int fast_roll8r(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) >> 8 | mb(t, in) << 24);
}

int fast_roll8l(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, mb(t, in) << 8 | ma(t, in) >> 24);
}

int fast_sort4x16lo_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, (ma(t, in) & 0xffff) | mb(t, in) << 16);
}

int fast_sort4x16hi_m(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return set(t, lanes, in, ma(t, in) >> 16 | (mb(t, in) & 0xffff0000u));
}

/* --- control: next addresses of all lanes; t->npc holds the fall-through on entry --- */

static inline int branch(struct tile *t, uint32_t lanes, v8u taken, v8u target)
{
    fast_store(t->npc, lanes, choose(taken, target, fast_load(t->npc)));
    return 1;
}

int fast_br(struct tile *t, uint32_t lanes, const struct insn *in)
{
    fast_store(t->npc, lanes, ma(t, in));
    return 1;
}

int fast_bri(struct tile *t, uint32_t lanes, const struct insn *in)
{
    fast_store(t->npc, lanes, imm(in));
    return 1;
}

int fast_brz(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return branch(t, lanes, (v8u)(ma(t, in) == 0), imm(in));
}

int fast_brnz(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return branch(t, lanes, (v8u)(ma(t, in) != 0), imm(in));
}

int fast_brneg(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return branch(t, lanes, (v8u)((v8i)ma(t, in) < 0), imm(in));
}

int fast_brpos(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return branch(t, lanes, (v8u)((v8i)ma(t, in) >= 0), imm(in));
}

int fast_brnzdec(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x), taken = (v8u)(x != 0);

    fast_set_m(t, lanes, in->x, x + taken); /* all ones is -1 */
    return branch(t, lanes, taken, imm(in));
}
