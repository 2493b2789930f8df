/* exec_slic.c - the sliding convolution: one position of a 1x4 kernel per instruction
 * (docs/matrix.md 6).
 *
 * A partial sum enters at units 6 and 7, moves down two units per step and meets one kernel
 * position at each, and leaves from units 0 and 1 in the fourth step after its entry. The odd
 * accumulators are not touched.
 */
#include "emu/exec/exec_amp.h"

struct slic_form {
    unsigned sets;
    bool half_in, half_out;
};

static void slic_set_step(struct amp_set *s, const uint16_t x[4], const uint64_t *weight,
                          const uint32_t partial[2], uint32_t out[2], struct fp_env *env)
{
    uint32_t running[AMP_UNITS];

    out[0] = s->even[0];
    out[1] = s->even[1];
    amp_shift(running, s->even, AMP_UNITS, partial);
    for (unsigned m = 0; m < AMP_UNITS; m++) {
        uint64_t entry = weight[AMP_VECTORS * m];
        uint16_t w[4];

        for (unsigned i = 0; i < 4; i++)
            w[i] = (uint16_t)(entry >> 16 * i);
        s->even[m] = fp_f32_add_exact_f16_products(running[m], x, w, 4, env);
    }
}

static enum fault f16_slic(struct tile *t, unsigned lane, const struct insn *in,
                           struct slic_form form)
{
    struct fp_env env;
    struct amp_set s[2];
    uint32_t partial[2], out[2] = { 0, 0 }, r[2];
    uint16_t x[4];
    enum fault fault;

    if (in->i < 0 || in->i > 1)
        return tile_fault(t, lane, FAULT_INVALID_INSTR, 0, "no such SLIC weight set");
    if (!amp_set_exists(t, form.sets - 1))
        return tile_fault(t, lane, FAULT_INVALID_INSTR, 0, "this machine has one set of AMP units");
    env = fp_env_begin(t, lane, form.half_out);
    amp_read_f16v4(t, lane, in->a, x);
    for (unsigned set = 0; set < form.sets; set++) {
        s[set] = amp_set_load(t, lane, set);
        amp_read_pair(t, lane, in->b + set, form.half_in, partial, &env);
        slic_set_step(&s[set], x, t->weight + AMP_VECTORS * AMP_UNITS * set + in->i, partial, out,
                      &env);
        r[set] = form.half_out ? amp_pack(out, 2 * set, &env) : out[0];
    }
    if (!form.half_out)
        r[1] = out[1];
    fault = fp_finish(t, lane, &env, in->d, r, form.half_out ? form.sets : 2);
    for (unsigned set = 0; fault == FAULT_NONE && set < form.sets; set++)
        amp_set_store(t, lane, set, &s[set]);
    return fault;
}

/* f16v4hihoslic aD, aA:2, aB, wsel */
enum fault exec_f16v4hihoslic(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_slic(t, lane, in,
                    (struct slic_form){ .sets = 1, .half_in = true, .half_out = true });
}

/* f16v4sihoslic aD, aA:2, aB:2, wsel */
enum fault exec_f16v4sihoslic(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_slic(t, lane, in, (struct slic_form){ .sets = 1, .half_out = true });
}

/* f16v4sisoslic aD:2, aA:2, aB:2, wsel */
enum fault exec_f16v4sisoslic(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_slic(t, lane, in, (struct slic_form){ .sets = 1 });
}

/* f16v4hihov4slic aD:2, aA:2, aB:2, wsel: lanes 0, 1 of partials and results belong to set 0 */
enum fault exec_f16v4hihov4slic(struct tile *t, unsigned lane, const struct insn *in)
{
    return f16_slic(t, lane, in,
                    (struct slic_form){ .sets = 2, .half_in = true, .half_out = true });
}

/* f32sisoslic aD:2, aA, aB:2, wsel */
enum fault exec_f32sisoslic(struct tile *t, unsigned lane, const struct insn *in)
{
    (void)in;
    return tile_fault(t, lane, FAULT_INVALID_INSTR, 0, "f32sisoslic: its meaning is not public");
}
