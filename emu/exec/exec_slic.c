/* exec_slic.c - the sliding convolution: one position of a 1x4 kernel per instruction
 * (docs/matrix.md 6).
 *
 * A partial sum enters at units 6 and 7, moves down two units per step and meets one kernel
 * position at each, and leaves from units 0 and 1 in the fourth step after its entry. The odd
 * accumulators are not touched.
 */
#include "emu/exec/exec_amp.h"

static void slic_set_step(struct amp_set *s, const struct amp_step *step, const uint16_t x[4],
                          const uint64_t *weight, const uint32_t partial[2], uint32_t out[2],
                          struct fp_env *env)
{
    uint32_t running[AMP_UNITS];

    out[0] = s->even[0];
    out[1] = s->even[1];
    amp_shift(running, s->even, step->units, partial);
    for (unsigned m = 0; m < step->units; m++)
        s->even[m] = amp_dot_f16(running[m], x, weight[AMP_VECTORS * m + step->phase], env);
}

static enum fault f16_slic(struct tile *t, unsigned lane, const struct insn *in,
                           struct amp_step step)
{
    if (in->i < 0 || in->i > 1)
        return tile_fault(t, lane, FAULT_INVALID_INSTR, 0, "no such SLIC weight set");
    step.units = AMP_UNITS;
    step.phase = (unsigned)in->i;
    return amp_f16_instruction(t, lane, in, &step, slic_set_step);
}

/* f16v4hihoslic aD, aA:2, aB, wsel */
enum fault exec_f16v4hihoslic(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_slic(t, lane, in, (struct amp_step){ .sets = 1, .half_in = true, .half_out = true });
}

/* f16v4sihoslic aD, aA:2, aB:2, wsel */
enum fault exec_f16v4sihoslic(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_slic(t, lane, in, (struct amp_step){ .sets = 1, .half_out = true });
}

/* f16v4sisoslic aD:2, aA:2, aB:2, wsel */
enum fault exec_f16v4sisoslic(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_slic(t, lane, in, (struct amp_step){ .sets = 1 });
}

/* f16v4hihov4slic aD:2, aA:2, aB:2, wsel: lanes 0, 1 of partials and results belong to set 0 */
enum fault exec_f16v4hihov4slic(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_slic(t, lane, in, (struct amp_step){ .sets = 2, .half_in = true, .half_out = true });
}

static enum fault no_meaning(struct tile *t, unsigned lane, const struct insn *in)
{
    (void)in;
    return tile_fault(t, lane, FAULT_INVALID_INSTR, 0,
                      "SLIC with f32 data: its meaning is not public");
}

/* f32sisoslic aD:2, aA, aB:2, wsel */
enum fault exec_f32sisoslic(struct tile *t, unsigned lane, const struct insn *in)
{
    return no_meaning(t, lane, in);
}

/* f32sisov2slic aD:2, aA, aB:2, wsel */
enum fault exec_f32sisov2slic(struct tile *t, unsigned lane, const struct insn *in)
{
    return no_meaning(t, lane, in);
}
