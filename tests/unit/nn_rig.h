/* nn_rig.h - networks of a few layers on small machines: inputs, a run on the machine and in the
 * interpreter, values in the layout of an activation. Include cmocka before it.
 */
#ifndef NN_RIG_H
#define NN_RIG_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "programs/ops/nn.h"
#include "programs/programs.h"

/* A network of one or two layers with one input. */
struct nn_rig {
    struct arch arch;
    struct graph *g;
    struct nn *nn;
    struct program seq;
    uint64_t seed;
};

static inline void must(enum emu_status s)
{
    if (s == EMU_OK)
        return;
    fprintf(stderr, "%s\n", emu_error());
    abort();
}

static inline struct nn_rig nn_rig_new(const char *machine, uint32_t tiles)
{
    struct nn_rig r = { .arch = *arch_preset(machine), .seed = 1 };
    char set[32];

    if (tiles) {
        snprintf(set, sizeof(set), "tiles=%u", tiles);
        must(arch_set(&r.arch, set));
    }
    must(graph_new(&r.arch, &r.g));
    r.seq = program_sequence(r.g);
    must(nn_new(r.g, r.seq, 0, &r.nn));
    return r;
}

static inline void nn_rig_free(struct nn_rig *r)
{
    nn_free(r->nn);
    graph_free(r->g);
}

/* Numbers of a few bits in [-1, 1), so that sums are nearly exact. */
static inline float number(struct nn_rig *r)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (float)((int)(r->seed >> 60) - 8) / 8.0f;
}

static inline float *numbers(struct nn_rig *r, size_t n)
{
    float *x = calloc(n + 1, sizeof(*x));

    for (size_t i = 0; i < n; i++)
        x[i] = number(r);
    return x;
}

/* An input [c16][n][h][w][16], mapped unevenly, or a picture. */
static inline struct feature input(struct nn_rig *r, uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
    struct feature f;

    if (c <= 4) {
        f = op_picture(r->nn, n, h, w, "x");
        f.c = c;
        return f;
    }
    f = nn_feature(r->nn, n, c, h, w, "x");
    graph_map_linear(r->g, f.t, 48, 48, 0, r->arch.tiles);
    graph_keep(r->g, f.t);
    return f;
}

/* Index of [n][c][h][w] in a feature's memory. */
static inline size_t at(const struct feature *f, uint32_t n, uint32_t c, uint32_t y, uint32_t x)
{
    if (f->c <= 4)
        return (((size_t)n * f->h + y) * f->w + x) * 4 + c;
    return (((((size_t)(c / 16) * f->n + n) * f->h + y) * f->w) + x) * 16 + c % 16;
}

static inline size_t values(const struct feature *f)
{
    return f->c <= 4 ? (size_t)f->n * f->h * f->w * 4
                     : (size_t)nn_atoms(f->c) * 16 * f->n * f->h * f->w;
}

/* [n][c][h][w] numbers to f16 in the layout of f. */
static inline uint16_t *to_layout(const struct feature *f, const float *x)
{
    uint16_t *h = calloc(values(f), sizeof(*h));

    for (uint32_t n = 0; n < f->n; n++)
        for (uint32_t c = 0; c < f->c; c++)
            for (uint32_t i = 0; i < f->h * f->w; i++)
                h[at(f, n, c, i / f->w, i % f->w)] =
                    nn_half(x[((size_t)n * f->c + c) * f->h * f->w + i]);
    return h;
}

/* Compiles, runs on the machine with checks and in the interpreter, and compares these bit by bit.
 * Returns the values of y as numbers. */
static inline double *run(struct nn_rig *r, struct feature x, const float *in,
                          const struct feature *x2, const float *in2, struct feature y)
{
    struct compile_options co = { .threads = 1 };
    struct session_options so = { .threads = 1, .check = 1 };
    uint16_t *data = to_layout(&x, in), *data2 = x2 ? to_layout(x2, in2) : NULL;
    uint16_t *got = calloc(values(&y), sizeof(*got)), *want = calloc(values(&y), sizeof(*want));
    double *out = calloc(values(&y), sizeof(*out));
    struct compiled *c;
    struct session *s;
    struct interpreter *p;

    graph_keep(r->g, y.t);
    graph_set_program(r->g, r->seq);
    must(graph_compile(r->g, &co, &c));
    assert_true(compiled_fits(c));
    must(session_new(c, &so, &s));
    must(interpreter_new(r->g, &p));
    must(session_write(s, x.t, data));
    must(interpreter_write(p, x.t, data));
    if (x2) {
        must(session_write(s, x2->t, data2));
        must(interpreter_write(p, x2->t, data2));
    }
    must(session_run(s));
    must(interpreter_run(p, 1000000));
    must(session_read(s, y.t, got));
    must(interpreter_read(p, y.t, want));
    assert_memory_equal(got, want, values(&y) * sizeof(*got));
    for (size_t i = 0; i < values(&y); i++)
        out[i] = fp_f16_value(got[i]);
    interpreter_free(p);
    session_free(s);
    compiled_free(c);
    free(data);
    free(data2);
    free(got);
    free(want);
    return out;
}

static inline double activate(double v, enum activation act)
{
    return act == ACT_RELU      ? fmax(v, 0)
           : act == ACT_SWISH   ? v / (1 + exp(-v))
           : act == ACT_SIGMOID ? 1 / (1 + exp(-v))
                                : v;
}

#endif
