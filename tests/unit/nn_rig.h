/* nn_rig.h - networks of a few layers on small machines: inputs, a run on the machine and in the
 * interpreter, values in the layout of an activation, a convolution against plain C.
 */
#ifndef NN_RIG_H
#define NN_RIG_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

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

/* ---- convolutions ---- */

static inline double convolve(const struct feature *x, const float *in, const struct conv_layer *l,
                              uint32_t n, uint32_t o, uint32_t oy, uint32_t ox)
{
    uint32_t each = x->c / l->groups, k = l->kernel, group = o / (l->out_c / l->groups);
    double sum = l->bias ? (double)l->bias[o] : 0;

    for (uint32_t c = 0; c < each; c++)
        for (uint32_t i = 0; i < k * k; i++) {
            int64_t y = (int64_t)oy * l->stride + i / k - l->pad_top;
            int64_t q = (int64_t)ox * l->stride + i % k - l->pad_left;

            if (y >= 0 && q >= 0 && y < x->h && q < x->w)
                sum +=
                    (double)l->weights[((size_t)o * each + c) * k * k + i] *
                    (double)in[((n * (size_t)x->c + group * each + c) * x->h + (size_t)y) * x->w +
                               (size_t)q];
        }
    return sum;
}

struct conv_test {
    const char *machine;
    uint32_t tiles, n, c, h, w, out_c, kernel, stride, groups, before, after;
    enum activation act;
    int add;
};

/* Compares, and returns how it was cut. kib_price: of parameters. */
static inline struct conv_plan conv_made(const struct conv_test *t, enum conv_partials partials,
                                         uint32_t kib_price)
{
    struct nn_rig r = nn_rig_new(t->machine, t->tiles);
    struct feature x = input(&r, t->n, t->c, t->h, t->w), y, add = { .n = 0 };
    uint32_t each = t->c / t->groups;
    float *in = numbers(&r, (size_t)t->n * t->c * t->h * t->w), *residual = NULL;
    float *w = numbers(&r, (size_t)t->out_c * each * t->kernel * t->kernel);
    float *bias = numbers(&r, t->out_c);
    struct conv_layer l = { .out_c = t->out_c,
                            .kernel = t->kernel,
                            .stride = t->stride,
                            .groups = t->groups,
                            .pad_top = t->before,
                            .pad_left = t->before,
                            .pad_bottom = t->after,
                            .pad_right = t->after,
                            .weights = w,
                            .bias = bias,
                            .act = t->act,
                            .partials = partials };
    struct conv_plan plan;
    double *got;

    if (t->add) {
        add = nn_feature(r.nn, t->n, t->out_c, t->h, t->w, "add");
        graph_map_linear(r.g, add.t, 16, 16, 0, r.arch.tiles);
        graph_keep(r.g, add.t);
        residual = numbers(&r, (size_t)t->n * t->out_c * t->h * t->w);
        l.add = &add;
    }
    nn_set_price(r.nn, kib_price);
    y = op_conv(r.nn, x, &l, &plan, "conv");
    must(graph_status(r.g));
    got = run(&r, x, in, t->add ? &add : NULL, residual, y);
    for (uint32_t n = 0; n < y.n; n++)
        for (uint32_t o = 0; o < y.c; o++)
            for (uint32_t i = 0; i < y.h * y.w; i++) {
                double want = convolve(&x, in, &l, n, o, i / y.w, i % y.w);

                if (t->add)
                    want += (double)residual[(n * (size_t)y.c + o) * y.h * y.w + i];
                want = activate(want, t->act);
                if (!(fabs(got[at(&y, n, o, i / y.w, i % y.w)] - want) <=
                      0.01 * (1 + fabs(want) + each * 0.1))) {
                    print_error("%s %ux%u k%u s%u: [%u][%u][%u] is %g, plain C says %g\n",
                                conv_method_name(plan.method), t->h, t->w, t->kernel, t->stride, n,
                                o, i, got[at(&y, n, o, i / y.w, i % y.w)], want);
                    fail();
                }
            }
    free(got);
    free(in);
    free(w);
    free(bias);
    free(residual);
    nn_rig_free(&r);
    return plan;
}

static inline struct conv_plan conv(const struct conv_test *t)
{
    return conv_made(t, PARTIALS_F16, 0);
}

static inline struct conv_plan conv_with(const struct conv_test *t, enum conv_partials partials)
{
    return conv_made(t, partials, 0);
}

static inline void conv_all(const struct conv_test *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)conv(&t[i]);
}

#endif
