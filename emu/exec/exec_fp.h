/* exec_fp.h - what the floating-point families share: the broadcast of a first source, and results
 * that are held back until the exceptions of the whole instruction are known. Private to emu/exec.
 */
#ifndef EMU_EXEC_FP_H
#define EMU_EXEC_FP_H

#include "emu/exec/exec.h"

/* How the first source is read: register by register, or one register for all: as a word, its low
 * or its high half twice. */
enum broadcast { BCAST_NONE, BCAST_WORD, BCAST_LO, BCAST_HI };

/* Word k of the first source of an instruction. */
static inline uint32_t first_source(const struct tile *t, unsigned lane, const struct insn *in,
                                    unsigned k, enum broadcast bcast)
{
    uint32_t v = tile_a(t, lane, bcast == BCAST_NONE ? in->a + k : in->a);

    if (bcast == BCAST_LO)
        return fp_f16_pack(fp_f16_lo(v), fp_f16_lo(v));
    if (bcast == BCAST_HI)
        return fp_f16_pack(fp_f16_hi(v), fp_f16_hi(v));
    return v;
}

/* Ends the instruction: records its exceptions, then writes `words` registers from d on; an enabled
 * exception leaves them alone. */
static inline enum fault fp_finish(struct tile *t, unsigned lane, const struct fp_env *env,
                                   unsigned d, const uint32_t *r, unsigned words)
{
    enum fault fault = fp_env_end(t, lane, env);

    if (EMU_UNLIKELY(fault != FAULT_NONE))
        return fault;
    for (unsigned k = 0; k < words; k++)
        tile_set_a(t, lane, d + k, r[k]);
    return FAULT_NONE;
}

#endif
