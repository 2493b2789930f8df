/* ops_rig.h - a graph of operations, run on the machine and by the interpreter.
 *
 *     ops_rig_new(&r, "toy4", 0, sources);
 *     a = ops_input(&r, ELEM_F16, SHAPE(3, 5), MAP_SCATTERED, numbers);
 *     y = ops_output(&r, op_unary(r.g, r.seq, UNARY_EXP, a, "y"));
 *     ops_run(&r);       both ways: all outputs equal to the bit
 *     y->value[i]        as numbers
 *     ops_rig_free(&r);  no memory is left
 */
#ifndef TESTS_OPS_RIG_H
#define TESTS_OPS_RIG_H

#include <math.h>

#include "programs/compile/compiled.h"
#include "tests/unit/graph_help.h"

enum { OPS_INPUTS = 8, OPS_OUTPUTS = 64 };

/* How the elements of an input lie. */
enum ops_map {
    MAP_EVEN,      /* in equal pieces of whole 8-byte vectors */
    MAP_ODD,       /* in equal pieces of any size */
    MAP_SCATTERED, /* pieces of 1, 3, 5 elements, each on another tile than the one before */
    MAP_ONE,       /* all on the last tile */
    MAP_COUNT
};

struct ops_output {
    struct tensor t;
    double *value; /* owned, like bits */
    void *bits;
    uint64_t n;
};

struct ops_rig {
    struct graph *g;
    struct program seq;
    struct codelet_sources *sources; /* borrowed */
    struct tensor in[OPS_INPUTS];
    void *data[OPS_INPUTS]; /* owned */
    unsigned ins, outs;
    struct ops_output out[OPS_OUTPUTS];
    uint64_t cycles;
    long live;
};

/* tiles: 0 for those of the machine. */
static inline void ops_rig_new(struct ops_rig *r, const char *machine, uint32_t tiles,
                               struct codelet_sources *sources)
{
    struct arch a = *arch_preset(machine);
    char set[32];

    memset(r, 0, sizeof(*r));
    r->live = alloc_live();
    r->sources = sources;
    snprintf(set, sizeof(set), "tiles=%u", tiles ? tiles : a.tiles);
    if (arch_set(&a, set) != EMU_OK || arch_check(&a) != EMU_OK || graph_new(&a, &r->g) != EMU_OK)
        fail_msg("%s", emu_error());
    r->seq = program_sequence(r->g);
    graph_set_program(r->g, r->seq);
}

static inline void ops_map(struct ops_rig *r, struct tensor t, enum ops_map map)
{
    uint32_t tiles = graph_arch(r->g)->tiles, n = (uint32_t)tensor_elements(r->g, t), k = 0;
    struct tensor flat = tensor_flatten(r->g, t);

    if (map == MAP_EVEN || map == MAP_ODD) {
        uint32_t grain = map == MAP_ODD ? 1 : 8 / elem_bytes(tensor_elem(r->g, t));

        graph_map_linear(r->g, t, grain, grain, 0, tiles);
        return;
    }
    if (map == MAP_ONE) {
        graph_map(r->g, t, tiles - 1);
        return;
    }
    for (uint32_t at = 0, end; at < n; at = end, k++) {
        end = at + 1 + 2 * (k % 3) < n ? at + 1 + 2 * (k % 3) : n;
        graph_map(r->g, tensor_slice(r->g, flat, 0, at, end), (k * 3 + 1) % tiles);
    }
}

/* A number as an element. */
static inline void ops_put(enum elem e, void *data, uint64_t i, double x)
{
    struct fp_env env = { 0 };

    if (e == ELEM_F16)
        ((uint16_t *)data)[i] = fp_f16_from_f64(x, 0, &env);
    else if (e == ELEM_F32)
        ((float *)data)[i] = (float)x;
    else if (e == ELEM_U8)
        ((uint8_t *)data)[i] = (uint8_t)x;
    else
        ((uint32_t *)data)[i] = (uint32_t)(int64_t)x;
}

static inline double ops_get(enum elem e, const void *data, uint64_t i)
{
    if (e == ELEM_F16)
        return fp_f16_value(((const uint16_t *)data)[i]);
    if (e == ELEM_F32)
        return (double)((const float *)data)[i];
    return e == ELEM_U8 ? ((const uint8_t *)data)[i] : (double)((const uint32_t *)data)[i];
}

/* A kept variable without contents yet. */
static inline struct tensor ops_tensor(struct ops_rig *r, enum elem e, unsigned rank,
                                       const uint32_t *shape, enum ops_map map)
{
    struct tensor t = graph_variable(r->g, e, rank, shape, "in");

    ops_map(r, t, map);
    graph_keep(r->g, t);
    return t;
}

/* Gives a tensor its contents: all elements, rounded to its type. */
static inline void ops_fill(struct ops_rig *r, struct tensor t, const double *x)
{
    enum elem e = tensor_elem(r->g, t);
    uint64_t n = tensor_elements(r->g, t);
    void *data = malloc(n * elem_bytes(e) + 1);

    assert_true(r->ins < OPS_INPUTS);
    for (uint64_t i = 0; i < n; i++)
        ops_put(e, data, i, x[i]);
    r->in[r->ins] = t;
    r->data[r->ins++] = data;
}

static inline struct tensor ops_input(struct ops_rig *r, enum elem e, unsigned rank,
                                      const uint32_t *shape, enum ops_map map, const double *x)
{
    struct tensor t = ops_tensor(r, e, rank, shape, map);

    ops_fill(r, t, x);
    return t;
}

static inline struct ops_output *ops_output(struct ops_rig *r, struct tensor t)
{
    struct ops_output *o = &r->out[r->outs++];

    assert_true(r->outs <= OPS_OUTPUTS);
    graph_keep(r->g, t);
    o->t = t;
    o->n = tensor_elements(r->g, t);
    return o;
}

#define OPS_OK(expr)                                                                               \
    do {                                                                                           \
        if ((expr) != EMU_OK)                                                                      \
            fail_msg("%s", emu_error());                                                           \
    } while (0)

static inline void ops_compare(struct ops_rig *r, struct ops_output *o, struct interpreter *p,
                               struct session *s)
{
    enum elem e = tensor_elem(r->g, o->t);
    size_t bytes = o->n * elem_bytes(e);
    void *other = malloc(bytes + 1);

    o->bits = malloc(bytes + 1);
    o->value = malloc(o->n * sizeof(*o->value) + 1);
    OPS_OK(session_read(s, o->t, o->bits));
    OPS_OK(interpreter_read(p, o->t, other));
    if (memcmp(other, o->bits, bytes))
        fail_msg("output %d differs from the interpreter's", (int)(o - r->out));
    for (uint64_t i = 0; i < o->n; i++)
        o->value[i] = ops_get(e, o->bits, i);
    free(other);
}

static inline void ops_run(struct ops_rig *r)
{
    const struct compile_options co = { .threads = 1, .sources = r->sources };
    const struct session_options so = { .threads = 1 };
    struct interpreter *p = NULL;
    struct compiled *c = NULL;
    struct session *s = NULL;

    OPS_OK(graph_compile(r->g, &co, &c));
    OPS_OK(session_new(c, &so, &s));
    OPS_OK(interpreter_new(r->g, &p));
    for (unsigned i = 0; i < r->ins; i++) {
        OPS_OK(session_write(s, r->in[i], r->data[i]));
        OPS_OK(interpreter_write(p, r->in[i], r->data[i]));
    }
    OPS_OK(session_run(s));
    OPS_OK(interpreter_run(p, UINT64_MAX));
    for (unsigned i = 0; i < r->outs; i++)
        ops_compare(r, &r->out[i], p, s);
    r->cycles = session_cycles(s);
    session_free(s);
    compiled_free(c);
    interpreter_free(p);
}

static inline void ops_rig_free(struct ops_rig *r)
{
    for (unsigned i = 0; i < r->ins; i++)
        free(r->data[i]);
    for (unsigned i = 0; i < r->outs; i++) {
        free(r->out[i].value);
        free(r->out[i].bits);
    }
    graph_free(r->g);
    if (!r->sources) /* which grow */
        assert_int_equal(alloc_live(), r->live);
}

/* n numbers in [-2, 2), multiples of 1/64: exact in f16. Free them. */
static inline double *ops_numbers(uint64_t n, uint64_t seed)
{
    double *x = malloc(n * sizeof(*x) + 1);

    for (uint64_t i = 0; i < n; i++)
        x[i] = ((double)help_below(&seed, 256) - 128) / 64;
    return x;
}

/* got is x rounded to the type, or off by at most `units` halves of a unit of it. */
static inline void ops_near(const char *what, uint64_t i, enum elem e, double got, double x,
                            double units)
{
    double unit = e == ELEM_F16 ? 0x1p-11 : 0x1p-24, tiny = e == ELEM_F16 ? 0x1p-25 : 0x1p-149;

    if (!(fabs(got - x) <= units * (fabs(x) * unit + tiny)))
        fail_msg("%s[%d]: %.9g, plain C says %.9g", what, (int)i, got, x);
}

#endif
