/* ref_conv.c - convolutions in f64: depthwise ones row by row, the others as products of weights
 * with a few output positions at a time whose inputs were gathered first.
 *
 * Every sum runs over input channel, row and column of the window in ascending order, padding
 * counted as 0, so all ways give the same bits.
 */
#include <string.h>

#include "models/ref/ref_layers.h"

/* Positions and terms that are gathered together (16 KiB, which stay in the first-level cache), and
 * sums that are computed together: 4 channels x 8 positions fit in registers. */
enum { POSITIONS = 16, TERMS = 128, LANES = 4, VECTORS = 2, CHANNELS = 4 };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef double gathered[TERMS][POSITIONS];

/* A part of one group's sums: some outputs, and some terms of each. */
struct ref_part {
    uint32_t first, count; /* positions; count <= POSITIONS */
    uint32_t term, terms;  /* terms <= TERMS */
};

/* Gathers the inputs of some outputs, terms in the order of the weights. in: the group's channels.
 */
static void gather(const struct layer *l, const double *in, const struct ref_part *p, gathered got)
{
    uint32_t taps = l->kernel * l->kernel;
    size_t plane = (size_t)l->in_h * l->in_w;

    for (uint32_t t = 0; t < p->terms; t++) {
        uint32_t c = (p->term + t) / taps, tap = (p->term + t) % taps;
        int64_t dy = (int64_t)(tap / l->kernel) - l->pad.before_h;
        int64_t dx = (int64_t)(tap % l->kernel) - l->pad.before_w;
        uint32_t oy = p->first / l->out_w, ox = p->first % l->out_w;
        const double *x = in + c * plane;

        for (uint32_t i = 0; i < POSITIONS; i++) {
            int64_t iy = (int64_t)oy * l->stride + dy, ix = (int64_t)ox * l->stride + dx;
            int inside = i < p->count && iy >= 0 && iy < l->in_h && ix >= 0 && ix < l->in_w;

            got[t][i] = inside ? x[iy * l->in_w + ix] : 0;
            if (++ox == l->out_w) {
                ox = 0;
                oy++;
            }
        }
    }
}

/* The same for a full part of a 1x1 convolution, whose inputs lie side by side. */
static void gather_pointwise(const struct layer *l, const double *in, const struct ref_part *p,
                             gathered got)
{
    size_t plane = (size_t)l->in_h * l->in_w;

    for (uint32_t t = 0; t < p->terms; t++)
        memcpy(got[t], in + (p->term + t) * plane + p->first, sizeof(got[t]));
}

/* Adds terms to CHANNELS sums at VECTORS x LANES positions from `at` on. */
static void multiply(const float *const weight[CHANNELS], const gathered got, uint32_t terms,
                     unsigned at, lanes sum[CHANNELS][VECTORS])
{
    lanes s[CHANNELS][VECTORS];

    memcpy(s, sum, sizeof(s));
    for (uint32_t t = 0; t < terms; t++) {
        lanes x0, x1;

        memcpy(&x0, &got[t][at], sizeof(x0));
        memcpy(&x1, &got[t][at + LANES], sizeof(x1));
        for (unsigned c = 0; c < CHANNELS; c++) {
            double w = weight[c][t];

            s[c][0] += w * x0;
            s[c][1] += w * x1;
        }
    }
    memcpy(sum, s, sizeof(s));
}

/* Adds a part to all channels of a group. Between parts the sums are kept in the output. Beyond the
 * last channel its weights are used again, and the sums dropped. */
static void add_part(const struct layer *l, const float *weight, const gathered got,
                     const struct ref_part *p, double *out)
{
    uint32_t channels = l->out_c / l->groups, plane = l->out_h * l->out_w;
    size_t terms = (size_t)(l->in_c / l->groups) * l->kernel * l->kernel;

    for (uint32_t c = 0; c < channels; c += CHANNELS) {
        uint32_t real = channels - c < CHANNELS ? channels - c : CHANNELS;
        const float *row[CHANNELS];

        for (uint32_t i = 0; i < CHANNELS; i++)
            row[i] = weight + terms * (c + (i < real ? i : real - 1)) + p->term;
        for (uint32_t at = 0; at < p->count; at += LANES * VECTORS) {
            uint32_t width = p->count - at < LANES * VECTORS ? p->count - at : LANES * VECTORS;
            lanes sum[CHANNELS][VECTORS] = { 0 };

            for (uint32_t i = 0; p->term && i < real; i++)
                memcpy(sum[i], out + (size_t)(c + i) * plane + p->first + at, width * 8);
            multiply(row, got, p->terms, at, sum);
            for (uint32_t i = 0; i < real; i++)
                memcpy(out + (size_t)(c + i) * plane + p->first + at, sum[i], width * 8);
        }
    }
}

/* Adds w times a row of the input, shifted by `offset` columns, to a row of the output. */
static void add_row(const struct layer *l, const double *in, int64_t offset, double w, double *out)
{
    int64_t s = l->stride, begin = 0, end = l->out_w;

    while (begin < end && begin * s + offset < 0)
        begin++;
    while (end > begin && (end - 1) * s + offset >= l->in_w)
        end--;
    if (s == 1) {
        for (int64_t x = begin; x < end; x++)
            out[x] += w * in[x + offset];
    } else {
        for (int64_t x = begin; x < end; x++)
            out[x] += w * in[x * s + offset];
    }
}

/* One channel of a depthwise convolution. */
static void depthwise_plane(const struct layer *l, const float *weight, double bias,
                            const double *in, double *out)
{
    uint32_t k = l->kernel;

    for (uint32_t y = 0; y < l->out_h; y++) {
        double *row = out + (size_t)y * l->out_w;

        memset(row, 0, l->out_w * sizeof(*row));
        for (uint32_t t = 0; t < k * k; t++) {
            int64_t from = (int64_t)y * l->stride - l->pad.before_h + t / k;

            if (from >= 0 && from < l->in_h)
                add_row(l, in + from * l->in_w, (int64_t)(t % k) - l->pad.before_w, weight[t], row);
        }
        for (uint32_t x = 0; x < l->out_w; x++)
            row[x] += bias;
    }
}

static void depthwise(const struct layer *l, uint32_t batch, const float *weight, const float *bias,
                      const double *in, double *out)
{
    size_t from = (size_t)l->in_h * l->in_w, to = (size_t)l->out_h * l->out_w;
    int64_t planes = (int64_t)batch * l->out_c;

#pragma omp parallel for schedule(dynamic) if (layer_macs(l) * batch > REF_SMALL)
    for (int64_t i = 0; i < planes; i++) {
        size_t c = (size_t)i % l->out_c;

        depthwise_plane(l, weight + c * l->kernel * l->kernel, bias ? bias[c] : 0,
                        in + (size_t)i * from, out + (size_t)i * to);
    }
}

/* Work item i: some positions of one group of one picture. */
static void dense_item(const struct layer *l, int64_t i, const float *weight, const float *bias,
                       const double *in, double *out)
{
    uint32_t plane = l->out_h * l->out_w, blocks = (plane + POSITIONS - 1) / POSITIONS;
    size_t g = (size_t)(i / blocks) % l->groups, n = (size_t)(i / blocks) / l->groups;
    size_t in_c = l->in_c / l->groups, out_c = l->out_c / l->groups;
    uint32_t all = (uint32_t)in_c * l->kernel * l->kernel;
    struct ref_part p = { .first = (uint32_t)(i % blocks) * POSITIONS };
    gathered got;

    in += (n * l->in_c + g * in_c) * l->in_h * l->in_w;
    out += (n * l->out_c + g * out_c) * plane;
    p.count = plane - p.first < POSITIONS ? plane - p.first : POSITIONS;
    for (; p.term < all; p.term += p.terms) {
        p.terms = all - p.term < TERMS ? all - p.term : TERMS;
        if (l->kernel == 1 && l->stride == 1 && p.count == POSITIONS)
            gather_pointwise(l, in, &p, got);
        else
            gather(l, in, &p, got);
        add_part(l, weight + g * out_c * all, got, &p, out);
    }
    for (size_t c = 0; bias && c < out_c; c++) {
        for (uint32_t k = 0; k < p.count; k++)
            out[c * plane + p.first + k] += bias[g * out_c + c];
    }
}

void ref_conv(const struct layer *l, uint32_t batch, const float *weight, const float *bias,
              const double *in, double *out)
{
    uint32_t plane = l->out_h * l->out_w;
    int64_t items = (int64_t)batch * l->groups * ((plane + POSITIONS - 1) / POSITIONS);

    if (l->groups == l->in_c && l->groups == l->out_c) {
        depthwise(l, batch, weight, bias, in, out);
        return;
    }
#pragma omp parallel for schedule(dynamic, 4) if (layer_macs(l) * batch > REF_SMALL)
    for (int64_t i = 0; i < items; i++)
        dense_item(l, i, weight, bias, in, out);
}
