/* own_session.c - Jacobi's method for A x = b on a small machine, A = tridiag(-1, 4, -1):
 * x[i] becomes (x[i - 1] + x[i + 1] + b[i]) / 4 in every step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <superstep.h>

enum { N = 1000, STEPS = 20 };

static struct tensor vector_of(struct graph *g, uint32_t n, const char *name)
{
    struct tensor t = ss_graph_variable(g, ELEM_F32, 1, &n, name);

    ss_graph_map_linear(g, t, 2, 8, 0, ss_graph_arch(g)->tiles);
    ss_graph_keep(g, t);
    return t;
}

/* x has a zero before its first element and one after its last. */
static void build(struct graph *g, struct tensor x, struct tensor b)
{
    struct program step = ss_program_sequence(g);
    struct tensor left = ss_tensor_slice(g, x, 0, 0, N), right = ss_tensor_slice(g, x, 0, 2, N + 2);
    struct tensor sum = ss_op_binary(g, step, BINARY_ADD, left, right, "neighbours");

    sum = ss_op_binary(g, step, BINARY_ADD, sum, b, "with_b");
    sum = ss_op_binary_scalar(g, step, BINARY_MUL, sum, 0.25f, "quarter");
    ss_program_add(g, step, ss_program_copy(g, sum, ss_tensor_slice(g, x, 0, 1, N + 1)));
    ss_graph_set_program(g, ss_program_repeat(g, STEPS, step));
}

static enum emu_status solve(struct graph *g, const float *b, float *x, uint64_t *cycles)
{
    struct tensor tx = vector_of(g, N + 2, "x"), tb = vector_of(g, N, "b");
    struct compiled *c = NULL;
    struct session *s = NULL;
    enum emu_status st;

    build(g, tx, tb);
    st = ss_graph_compile(g, NULL, &c);
    if (st == EMU_OK)
        st = ss_session_new(c, NULL, &s);
    if (st == EMU_OK)
        st = ss_session_write(s, tx, x);
    if (st == EMU_OK)
        st = ss_session_write(s, tb, b);
    if (st == EMU_OK)
        st = ss_session_run(s);
    if (st == EMU_OK)
        st = ss_session_read(s, tx, x);
    *cycles = st == EMU_OK ? ss_session_cycles(s) : 0;
    ss_session_free(s);
    ss_compiled_free(c);
    return st;
}

int main(void)
{
    static float b[N], x[N + 2];
    struct graph *g = NULL;
    uint64_t cycles = 0;
    float worst = 0;

    for (int i = 0; i < N; i++)
        b[i] = (float)(i % 7);
    if (ss_graph_new(ss_arch_preset("toy16"), &ss_kernel_library, &g) != EMU_OK ||
        solve(g, b, x, &cycles) != EMU_OK) {
        fprintf(stderr, "%s\n", ss_error());
        return 1;
    }
    for (int i = 0; i < N; i++)
        worst = fmaxf(worst, fabsf(4 * x[i + 1] - x[i] - x[i + 2] - b[i]));
    printf("cycles %llu\nworst residual %g\n", (unsigned long long)cycles, (double)worst);
    ss_graph_free(g);
    return worst > 1e-3f;
}
