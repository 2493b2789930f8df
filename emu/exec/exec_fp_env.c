/* exec_fp_env.c - the worker's side of floating point: $FP_CTL and the PRNG before an instruction,
 * $FP_STS or a trap after it. */
#include "emu/exec/exec.h"

enum { FP_CTL_RND_MASK = 7, FP_CTL_ENABLES = FP_INV | FP_DIV0 | FP_OFLO };

struct fp_env fp_env_begin(struct tile *t, unsigned lane, int draws_f16)
{
    uint32_t ctl = t->fp_ctl[lane];
    struct fp_env env = { .rnd = ctl >> FP_CTL_RND_SHIFT & FP_CTL_RND_MASK,
                          .nanoo = !!(ctl & FP_CTL_NANOO) };

    if (draws_f16 && (ctl & FP_CTL_ESR)) {
        env.stochastic = 1;
        env.random = prng_next(&t->prng[lane]);
    }
    return env;
}

static const char *trap_text(uint32_t trapped)
{
    if (trapped & FP_INV)
        return "invalid operation";
    if (trapped & FP_DIV0)
        return "division by zero";
    return "overflow";
}

enum fault fp_env_end(struct tile *t, unsigned lane, const struct fp_env *env)
{
    uint32_t trapped = env->flags & t->fp_ctl[lane] & FP_CTL_ENABLES;

    if (EMU_UNLIKELY(trapped))
        return tile_fault(t, lane, FAULT_FP, 0, trap_text(trapped));
    t->fp_sts[lane] |= env->flags;
    return FAULT_NONE;
}
