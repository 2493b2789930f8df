/* exec_fp.h - what the floating-point families share: results that are held back until the
 * exceptions of the whole instruction are known. Private to emu/exec. */
#ifndef EMU_EXEC_FP_H
#define EMU_EXEC_FP_H

#include "emu/exec/exec_rows.h"

/* Ends the instruction: records its exceptions, then writes `words` registers from d on; if an
 * exception is enabled, they stay unchanged. */
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
