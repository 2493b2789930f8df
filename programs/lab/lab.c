/* lab.c - the table of programs that `superstep run NAME` knows for teaching and measuring, and
 * what they share.
 */
#include "programs/lab/lab.h"

#include <math.h>
#include <string.h>

uint64_t lab_scaled(const struct arch *a, uint64_t full, unsigned root, uint64_t multiple)
{
    const struct arch *mk2 = ss_arch_preset("mk2");
    double part = (double)a->tiles * a->mem_bytes / ((double)mk2->tiles * mk2->mem_bytes);
    uint64_t n;

    if (part >= 1)
        return full;
    n = (uint64_t)((double)full * pow(part, 1.0 / root)) / multiple * multiple;
    return n ? n : multiple;
}

void lab_defaults(const struct named_program *n, const struct arch *a, uint64_t *value)
{
    static const struct {
        const struct named_program *program;
        void (*defaults)(const struct arch *a, uint64_t *value);
    } all[] = {
        { &lab_vector_add, lab_vector_defaults },    { &lab_total, lab_vector_defaults },
        { &lab_matmul, lab_matmul_defaults },        { &lab_transpose, lab_transpose_defaults },
        { &lab_softmax, lab_softmax_defaults },      { &lab_matvec_rows, lab_rows_defaults },
        { &lab_matvec_blocks, lab_blocks_defaults }, { &lab_conv, lab_conv_defaults },
    };

    for (size_t i = 0; i < EMU_COUNT_OF(all); i++) {
        if (all[i].program == n)
            all[i].defaults(a, value);
    }
}

float *lab_numbers(uint64_t n, uint64_t seed, unsigned bits)
{
    float *x = emu_alloc(n, sizeof(*x));
    uint64_t state = seed * HASH_STEP + 1;

    for (uint64_t i = 0; x && i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)((int64_t)(state >> (63 - bits)) - (1 << bits)) / (float)(1 << bits);
    }
    return x;
}

enum emu_status lab_new(struct lab **out)
{
    *out = emu_alloc(1, sizeof(**out));
    return *out ? EMU_OK : FAIL(NO_MEMORY, "a lab program");
}

enum emu_status lab_new_vector(struct graph *g, uint32_t n, struct lab **out)
{
    struct lab *l;

    TRY(lab_new(out));
    l = *out;
    l->size[0] = n;
    l->in[0] = ss_graph_variable(g, ELEM_F32, 1, &n, "x");
    ss_graph_map_linear(g, l->in[0], 2, 12, 0, ss_graph_arch(g)->tiles);
    ss_graph_keep(g, l->in[0]);
    return EMU_OK;
}

void lab_free(void *state)
{
    struct lab *l = state;

    if (!l)
        return;
    ss_free(l->x);
    ss_free(l->y);
    ss_free(l->want);
    ss_free(l);
}

enum emu_status lab_write(struct session *s, const struct graph *g, struct tensor t, const float *x,
                          uint64_t n)
{
    struct fp_env env = { 0 };
    enum emu_status st;
    uint16_t *h;

    if (!x)
        return FAIL(NO_MEMORY, "%llu numbers", (unsigned long long)n);
    if (ss_tensor_elem(g, t) == ELEM_F32)
        return ss_session_write(s, t, x);
    h = emu_alloc(n, sizeof(*h));
    if (!h)
        return FAIL(NO_MEMORY, "%llu numbers", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        h[i] = fp_f16_from_f64(x[i], 0, &env);
    st = ss_session_write(s, t, h);
    ss_free(h);
    return st;
}

enum emu_status lab_read(struct session *s, const struct graph *g, struct tensor t, float **out,
                         uint64_t n)
{
    float *x = emu_alloc(n, sizeof(*x));
    enum emu_status st;

    *out = x;
    if (!x)
        return FAIL(NO_MEMORY, "%llu numbers", (unsigned long long)n);
    if (ss_tensor_elem(g, t) == ELEM_F16) {
        uint16_t *h = emu_alloc(n, sizeof(*h));

        st = h ? ss_session_read(s, t, h) : FAIL(NO_MEMORY, "%llu numbers", (unsigned long long)n);
        for (uint64_t i = 0; st == EMU_OK && i < n; i++)
            x[i] = (float)fp_f16_value(h[i]);
        ss_free(h);
    } else {
        st = ss_session_read(s, t, x);
    }
    if (st != EMU_OK) {
        ss_free(x);
        *out = NULL;
    }
    return st;
}

void lab_note(json_t *answer, const char *key, double value)
{
    json_object_set_new(answer, key, json_real(value));
}

/* each: a bound for each number; NULL: `bound` for all. */
static enum emu_status compare(const float *got, const float *want, const float *each, double bound,
                               uint64_t n, json_t *answer)
{
    double worst = 0, largest_bound = 0;

    for (uint64_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - (double)want[i]), allowed = each ? (double)each[i] : bound;

        if (!(d <= allowed))
            return FAIL(FAULT, "result %llu is %.9g, plain C says %.9g: expected at most %g apart",
                        (unsigned long long)i, (double)got[i], (double)want[i], allowed);
        worst = d > worst ? d : worst;
        largest_bound = allowed > largest_bound ? allowed : largest_bound;
    }
    json_object_set_new(answer, "results", json_integer((json_int_t)n));
    lab_note(answer, "largest_difference", worst);
    lab_note(answer, "allowed_difference", largest_bound);
    return EMU_OK;
}

enum emu_status lab_compare(const float *got, const float *want, uint64_t n, double bound,
                            json_t *answer)
{
    return compare(got, want, NULL, bound, n, answer);
}

enum emu_status lab_compare_each(const float *got, const float *want, const float *bound,
                                 uint64_t n, json_t *answer)
{
    return compare(got, want, bound, 0, n, answer);
}

const struct named_program *const ss_lab_programs[] = {
    &lab_vector_add, &lab_total,       &lab_matvec_rows,  &lab_matvec_blocks, &lab_matmul,
    &lab_conv,       &lab_transpose,   &lab_softmax,      &lab_stencil,       &classic_broadcast,
    &classic_reduce, &classic_scan,    &classic_exchange, &classic_odd_even,  &classic_sample,
    &classic_inner,  &classic_summa,   &classic_lu,       &classic_cg,        &classic_list,
    &classic_search, &classic_rank,    &classic_halo,     &classic_life,      &classic_bodies,
    &classic_pi,     &classic_fourier, &mistake_memory,   &mistake_imbalance, NULL,
};
