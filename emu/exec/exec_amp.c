/* exec_amp.c - the matrix unit: one step of the state machine of docs/matrix.md 4 and 5
 * per instruction.
 *
 * Per set of units there are two chains, E and O. In phase 0 the partial sums that waited in O
 * start to accumulate and the results in E start to leave; in the other phases E accumulates and O
 * moves. Each dot product is rounded once. Partial sums in f32 and what leaves as f32 are moved as
 * bits; only arithmetic and conversions raise exceptions.
 */
#include "emu/exec/exec_amp.h"

/* Immediates of six bits. Their numbers are ours: docs/facts.md. */
enum { F16_E4_P0 = 0, F16_E2_P0 = 4, F16_E1_P0 = 6, F16_PHASES = 7 };
enum { F32_E4_P0 = 0, F32_E2_P0 = 8, F32_E1_P2 = 12, F32_PHASES = 13 };

enum { UNITS_E4 = 8, UNITS_E2 = 4, UNITS_E1 = 2 }; /* units per set that take part */

enum fault amp_bad_phase(struct tile *t, unsigned lane)
{
    return tile_fault(t, lane, FAULT_INVALID_INSTR, 0, "no such AMP phase");
}

bool amp_f16_phase(int32_t immediate, struct amp_step *step)
{
    if (immediate < F16_E4_P0 || immediate >= F16_PHASES)
        return false;
    if (immediate < F16_E2_P0) {
        step->units = UNITS_E4;
        step->phase = (unsigned)(immediate - F16_E4_P0);
    } else if (immediate < F16_E1_P0) {
        step->units = UNITS_E2;
        step->phase = (unsigned)(immediate - F16_E2_P0);
    } else {
        step->units = UNITS_E1;
        step->phase = 0;
    }
    return true;
}

static bool f32_phase(int32_t immediate, struct amp_step *step)
{
    if (immediate < F32_E4_P0 || immediate >= F32_PHASES)
        return false;
    if (immediate < F32_E2_P0) {
        step->units = UNITS_E4;
        step->phase = (unsigned)(immediate - F32_E4_P0);
    } else if (immediate < F32_E1_P2) {
        step->units = UNITS_E2;
        step->phase = (unsigned)(immediate - F32_E2_P0);
    } else {
        step->units = UNITS_E1;
        step->phase = 2;
    }
    return true;
}

static void f16_set_step(struct amp_set *s, const struct amp_step *step, const uint16_t x[4],
                         const uint64_t *weight, const uint32_t partial[2], uint32_t out[2],
                         struct fp_env *env)
{
    const struct amp_set old = *s;
    const uint32_t *running = step->phase ? old.even : old.odd;
    const uint32_t *leaving = step->phase ? old.odd : old.even;

    out[0] = leaving[0];
    out[1] = leaving[1];
    for (unsigned m = 0; m < step->units; m++)
        s->even[m] = amp_dot_f16(running[m], x, weight[AMP_VECTORS * m + step->phase], env);
    amp_shift(s->odd, leaving, step->units, partial);
}

enum fault amp_f16_instruction(struct tile *t, unsigned lane, const struct insn *in,
                               const struct amp_step *step, amp_set_fn *set_step)
{
    struct fp_env env;
    struct amp_set s[2];
    uint32_t partial[2], out[2] = { 0, 0 }, r[2];
    uint16_t x[4];
    enum fault fault;

    env = fp_env_begin(t, lane, step->half_out);
    amp_read_f16v4(t, lane, in->a, x);
    for (unsigned set = 0; set < step->sets; set++) {
        s[set] = amp_set_load(t, lane, set);
        amp_read_pair(t, lane, in->b + set, step->half_in, partial, &env);
        set_step(&s[set], step, x, t->weight + AMP_VECTORS * AMP_UNITS * set, partial, out, &env);
        r[set] = step->half_out ? amp_pack(out, 2 * set, &env) : out[0];
    }
    if (!step->half_out)
        r[1] = out[1];
    fault = fp_finish(t, lane, &env, in->d, r, step->half_out ? step->sets : 2);
    for (unsigned set = 0; fault == FAULT_NONE && set < step->sets; set++)
        amp_set_store(t, lane, set, &s[set]);
    return fault;
}

static enum fault f16_amp(struct tile *t, unsigned lane, const struct insn *in,
                          struct amp_step step)
{
    if (!amp_f16_phase(in->i, &step))
        return amp_bad_phase(t, lane);
    return amp_f16_instruction(t, lane, in, &step, f16_set_step);
}

/* f16v4hihoamp aD, aA:2, aB, phase */
enum fault exec_f16v4hihoamp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_amp(t, lane, in, (struct amp_step){ .sets = 1, .half_in = true, .half_out = true });
}

/* f16v4sihoamp aD, aA:2, aB:2, phase */
enum fault exec_f16v4sihoamp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_amp(t, lane, in, (struct amp_step){ .sets = 1, .half_out = true });
}

/* f16v4sisoamp aD:2, aA:2, aB:2, phase */
enum fault exec_f16v4sisoamp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_amp(t, lane, in, (struct amp_step){ .sets = 1 });
}

/* f16v4hihov4amp aD:2, aA:2, aB:2, phase: lanes 0, 1 of partials and results belong to set 0 */
enum fault exec_f16v4hihov4amp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_amp(t, lane, in, (struct amp_step){ .sets = 2, .half_in = true, .half_out = true });
}

/* moves: the chain hands out a pair and takes one in; else phase 0 only exchanges E and O. */
static void f32_set_step(struct amp_set *s, const struct amp_step *step, uint32_t x,
                         const uint64_t *weight, bool moves, const uint32_t partial[2],
                         uint32_t out[2], struct fp_env *env)
{
    const struct amp_set old = *s;
    const uint32_t *running = step->phase ? old.even : old.odd;
    const uint32_t *leaving = step->phase ? old.odd : old.even;
    unsigned entry = step->phase / 2, word = step->phase % 2;

    for (unsigned m = 0; m < step->units; m++) {
        uint32_t w = (uint32_t)(weight[AMP_VECTORS * m + entry] >> 32 * word);

        s->even[m] = fp_f32_fma(x, w, running[m], env);
        s->odd[m] = leaving[m];
    }
    if (!moves)
        return;
    out[0] = leaving[0];
    out[1] = leaving[1];
    amp_shift(s->odd, leaving, step->units, partial);
}

static enum fault f32_amp(struct tile *t, unsigned lane, const struct insn *in, unsigned sets)
{
    struct amp_step step = { .sets = sets };
    struct fp_env env;
    struct amp_set s[2];
    uint32_t partial[2], out[2] = { 0, 0 };
    uint32_t x = tile_a(t, lane, in->a);
    enum fault fault;

    if (!f32_phase(in->i, &step))
        return amp_bad_phase(t, lane);
    env = fp_env_begin(t, lane, 0);
    amp_read_pair(t, lane, in->b, false, partial, &env);
    for (unsigned set = 0; set < sets; set++) {
        s[set] = amp_set_load(t, lane, set);
        /* Even phases serve the chain of set 0, odd ones that of set 1. */
        f32_set_step(&s[set], &step, x, t->weight + AMP_VECTORS * AMP_UNITS * set,
                     step.phase % 2 == set, partial, out, &env);
    }
    fault = fp_finish(t, lane, &env, in->d, out, 2);
    for (unsigned set = 0; fault == FAULT_NONE && set < sets; set++)
        amp_set_store(t, lane, set, &s[set]);
    return fault;
}

/* f32sisoamp aD:2, aA, aB:2, phase: odd phases give (0, 0) */
enum fault exec_f32sisoamp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_amp(t, lane, in, 1);
}

/* f32sisov2amp aD:2, aA, aB:2, phase */
enum fault exec_f32sisov2amp(struct tile *t, unsigned lane, const struct insn *in)
{
    return f32_amp(t, lane, in, 2);
}
