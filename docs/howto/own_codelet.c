/* own_codelet.c - a vertex of one's own, whose code is a file: own_codelet FILE, where FILE is
 * own_codelet.S, an object made of it, or an archive. */
#include <stdio.h>

#include <superstep.h>

enum { N = 1000 };

/* What cube does, for the interpreter. */
static void meaning_of_cube(const struct codelet_call *call)
{
    const uint32_t *x = (const uint32_t *)call->arg[0].data;
    uint32_t *y = (uint32_t *)call->arg[1].data;

    for (uint32_t i = 0; i < call->arg[2].value; i++)
        y[i] = x[i] * x[i] * x[i];
}

static void add_cube(struct graph *g, const char *file)
{
    static const struct own_field field[] = {
        { FIELD_IN, "x", ELEM_U32, 4, NULL },
        { FIELD_OUT, "y", ELEM_U32, 4, NULL },
        { FIELD_LENGTH, "n", ELEM_U32, 0, "x" },
    };
    const struct own_codelet cube = {
        "cube", &file, 1, CODELET_MULTI, field, 3, 0, meaning_of_cube
    };

    ss_graph_add_codelet(g, &cube);
}

static struct tensor vector_of(struct graph *g, const char *name)
{
    const uint32_t n = N;
    struct tensor t = ss_graph_variable(g, ELEM_U32, 1, &n, name);

    ss_graph_map_linear(g, t, 1, 8, 0, ss_graph_arch(g)->tiles);
    ss_graph_keep(g, t);
    return t;
}

/* A vertex on each tile, for the elements that lie there. */
static void cube_of(struct graph *g, struct tensor x, struct tensor y)
{
    const uint32_t set = ss_graph_compute_set(g, "cubes");
    struct tile_run *run = NULL;
    size_t runs = 0;

    if (ss_graph_tile_runs(g, x, &run, &runs) != EMU_OK)
        return;
    for (size_t i = 0; i < runs; i++) {
        const uint32_t begin = (uint32_t)run[i].begin, end = (uint32_t)run[i].end;
        const uint32_t v = ss_graph_vertex(g, set, "cube", run[i].tile);

        ss_vertex_connect(g, v, "x", ss_tensor_slice(g, x, 0, begin, end));
        ss_vertex_connect(g, v, "y", ss_tensor_slice(g, y, 0, begin, end));
    }
    ss_free(run);
    ss_graph_set_program(g, ss_program_execute(g, set));
}

/* On the machine. */
static enum emu_status run(struct graph *g, struct tensor tx, const uint32_t *x, struct tensor ty,
                           uint32_t *y, uint64_t *cycles)
{
    struct compiled *c = NULL;
    struct session *s = NULL;
    enum emu_status st = ss_graph_compile(g, NULL, &c);

    if (st == EMU_OK)
        st = ss_session_new(c, NULL, &s);
    if (st == EMU_OK)
        st = ss_session_write(s, tx, x);
    if (st == EMU_OK)
        st = ss_session_run(s);
    if (st == EMU_OK)
        st = ss_session_read(s, ty, y);
    *cycles = st == EMU_OK ? ss_session_cycles(s) : 0;
    ss_session_free(s);
    ss_compiled_free(c);
    return st;
}

/* The same in C. */
static enum emu_status interpret(struct graph *g, struct tensor tx, const uint32_t *x,
                                 struct tensor ty, uint32_t *y)
{
    struct interpreter *p = NULL;
    enum emu_status st = ss_interpreter_new(g, &p);

    if (st == EMU_OK)
        st = ss_interpreter_write(p, tx, x);
    if (st == EMU_OK)
        st = ss_interpreter_run(p, 100);
    if (st == EMU_OK)
        st = ss_interpreter_read(p, ty, y);
    ss_interpreter_free(p);
    return st;
}

static enum emu_status compare(struct graph *g, const char *file)
{
    static uint32_t x[N], y[N], want[N];
    struct tensor tx = vector_of(g, "x"), ty = vector_of(g, "y");
    uint64_t cycles;
    int wrong = 0;
    enum emu_status st;

    for (uint32_t i = 0; i < N; i++)
        x[i] = i + 1;
    add_cube(g, file);
    cube_of(g, tx, ty);
    st = run(g, tx, x, ty, y, &cycles);
    if (st == EMU_OK)
        st = interpret(g, tx, x, ty, want);
    for (uint32_t i = 0; i < N; i++)
        wrong += y[i] != want[i] || want[i] != x[i] * x[i] * x[i];
    if (st == EMU_OK)
        printf("cycles %llu\n%d of %d wrong\n", (unsigned long long)cycles, wrong, N);
    return st;
}

int main(int argc, char **argv)
{
    struct graph *g = NULL;
    enum emu_status st;

    if (argc != 2) {
        fprintf(stderr, "usage: own_codelet FILE\n");
        return 1;
    }
    st = ss_graph_new(ss_arch_preset("toy16"), &ss_kernel_library, &g);
    if (st == EMU_OK)
        st = compare(g, argv[1]);
    if (st != EMU_OK)
        fprintf(stderr, "%s\n", ss_error());
    ss_graph_free(g);
    return st != EMU_OK;
}
