/* fast_branch.c - branches, repeats, the exit, the worker's number, moves that depend on a
 * condition and permutations of register pairs for all workers at once. Plain meaning:
 * emu/exec/exec_ctl.c and exec_bits.c. */
#include "emu/arch/arch_numbers.h"
#include "emu/fast/fast_fp.h"
#include "emu/isa/csr_names.h"

FAST_INLINE v8u choose(v8u mask, v8u yes, v8u no)
{
    return (yes & mask) | (no & ~mask);
}

int fast_nop(struct tile *t, uint32_t lanes, const struct insn *in)
{
    (void)t, (void)lanes, (void)in;
    return 1;
}

int fast_fnop(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return fast_nop(t, lanes, in);
}

int fast_movnz(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u take = (v8u)(fast_m(t, in->a) != 0);

    fast_set_m(t, lanes, in->d, choose(take, fast_m(t, in->b), fast_m(t, in->d)));
    return 1;
}

int fast_roll32(struct tile *t, uint32_t lanes, const struct insn *in)
{
    put_a(t, lanes, in->d, 2, fast_a(t, in->a + 1u), fast_a(t, in->b));
    return 1;
}

int fast_sort4x32lo(struct tile *t, uint32_t lanes, const struct insn *in)
{
    put_a(t, lanes, in->d, 2, fast_a(t, in->a), fast_a(t, in->b));
    return 1;
}

int fast_sort4x32hi(struct tile *t, uint32_t lanes, const struct insn *in)
{
    put_a(t, lanes, in->d, 2, fast_a(t, in->a + 1u), fast_a(t, in->b + 1u));
    return 1;
}

/* Control: next addresses of all lanes; t->npc holds the fall-through on entry. */

FAST_INLINE int branch(struct tile *t, uint32_t lanes, v8u taken, v8u target)
{
    fast_store(t->npc, lanes, choose(taken, target, fast_load(t->npc)));
    return 1;
}

int fast_br(struct tile *t, uint32_t lanes, const struct insn *in)
{
    fast_store(t->npc, lanes, fast_m(t, in->a));
    return 1;
}

int fast_bri(struct tile *t, uint32_t lanes, const struct insn *in)
{
    fast_store(t->npc, lanes, fast_splat((uint32_t)in->i));
    return 1;
}

int fast_brz(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return branch(t, lanes, (v8u)(fast_m(t, in->a) == 0), fast_splat((uint32_t)in->i));
}

int fast_brnz(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return branch(t, lanes, (v8u)(fast_m(t, in->a) != 0), fast_splat((uint32_t)in->i));
}

int fast_brneg(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return branch(t, lanes, (v8u)((v8i)fast_m(t, in->a) < 0), fast_splat((uint32_t)in->i));
}

int fast_brpos(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return branch(t, lanes, (v8u)((v8i)fast_m(t, in->a) >= 0), fast_splat((uint32_t)in->i));
}

int fast_brnzdec(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x), taken = (v8u)(x != 0);

    fast_set_m(t, lanes, in->x, x + taken); /* all ones is -1 */
    return branch(t, lanes, taken, fast_splat((uint32_t)in->i));
}

/* Repeats the bundles after this instruction; the fall-through says where it stands. */
FAST_INLINE int repeat(struct tile *t, uint32_t lanes, v8u count, uint32_t length)
{
    const v8u first = fast_load(t->npc), end = first + (length + 1) * ISA_BUNDLE_BYTES;

    if (fast_any((v8u)((first & (ISA_BUNDLE_BYTES - 1)) != 0), lanes))
        return 0;
    count &= (1u << arch_rpt_count_bits(t->arch)) - 1;
    fast_store(t->rpt_count, lanes, count);
    fast_store(t->rpt_first, lanes, first);
    fast_store(t->rpt_end, lanes, end);
    fast_store(t->npc, lanes, choose((v8u)(count == 0), end, first));
    return 1;
}

int fast_rpt_r(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return repeat(t, lanes, fast_m(t, in->a), (uint32_t)in->i);
}

int fast_rpt_i(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return repeat(t, lanes, fast_splat((uint32_t)in->i), in->j);
}

int fast_exitz(struct tile *t, uint32_t lanes, const struct insn *in)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if (lanes >> lane & 1)
            t->state[lane] = CONTEXT_INACTIVE;
    }
    t->exited |= (uint8_t)lanes;
    if (fast_any((v8u)(fast_m(t, in->a) != 0), lanes))
        t->ssr &= ~(uint32_t)SSR_LC;
    return 1;
}

/* $WSR of a tile without a fault, which is the number of the worker. */
int fast_get(struct tile *t, uint32_t lanes, const struct insn *in)
{
    if (in->i != CSR_W_WSR || t->fault.kind)
        return 0;
    fast_set_m(t, lanes, in->d, (v8u){ 0, 1, 2, 3, 4, 5, 6, 7 });
    return 1;
}
