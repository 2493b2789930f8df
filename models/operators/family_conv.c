/* family_conv.c - Conv and ConvTranspose: for a few output positions at a time the inputs are
 * gathered, then multiplied by the weights. A transposed convolution gathers other inputs and is
 * otherwise the same.
 *
 * Every sum runs over input channel and tap in ascending order, padding counted as 0, the bias
 * last, so the bits depend neither on the threads nor on how the work is cut into blocks.
 */
#include <string.h>

#include "models/operators/op_families.h"
#include "models/operators/op_window.h"

/* Positions and terms that are gathered together (16 KiB, which stay in the first-level cache), and
 * sums that are computed together: 4 channels x 8 positions fit in registers. */
enum { POSITIONS = 16, TERMS = 128, LANES = 4, VECTORS = 2, CHANNELS = 4 };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef double gathered[TERMS][POSITIONS];

enum { PARALLEL_MIN = 1 << 16 }; /* multiply-adds from which on threads pay */

struct conv {
    struct op_window w;
    int transposed;
    uint32_t batch, groups, in_c, out_c; /* channels of one group */
    size_t taps, in_plane, out_plane;
    const double *weight; /* [groups x out_c][in_c][taps] */
    const double *bias;   /* [groups x out_c]; NULL: none */
};

/* --- shapes ------------------------------------------------------------------------------- */

/* Checks channels and groups. Conv's weights are [out][in / groups][..], those of ConvTranspose
 * [in][out / groups][..]. */
static enum emu_status read_channels(struct op_call *c, struct conv *v)
{
    const struct op_shape *x = c->in[0], *w = c->in[1];
    int64_t groups = op_int(c, "group");
    uint64_t outer = w->dim[0], inner = w->dim[1], in = v->transposed ? outer : inner * groups;

    if (groups < 1 || groups > UINT32_MAX || outer % (uint64_t)groups)
        return op_refuse(c, "%llu channels in %lld groups", (unsigned long long)outer,
                         (long long)groups);
    if (in != x->dim[1])
        return op_refuse(c, "weights for %llu channels, the input has %u", (unsigned long long)in,
                         x->dim[1]);
    v->batch = x->dim[0];
    v->groups = (uint32_t)groups;
    v->in_c = x->dim[1] / v->groups;
    if (!v->transposed)
        v->out_c = w->dim[0] / v->groups;
    else if (inner * v->groups > UINT32_MAX)
        return op_refuse(c, "%u channels in each of %u groups", w->dim[1], v->groups);
    else
        v->out_c = w->dim[1];
    return EMU_OK;
}

static enum emu_status conv_read(struct op_call *c, struct conv *v)
{
    const struct op_shape *x = c->in[0], *w = c->in[1], *bias = op_given(c, 2) ? c->in[2] : NULL;

    *v = (struct conv){ .transposed = op_named(c, OP_ConvTranspose) };
    if (x->rank != w->rank)
        return op_refuse(c, "an input of %u dimensions and weights of %u", x->rank, w->rank);
    TRY(op_window_read(c, x, w->dim + 2, &v->w));
    TRY(read_channels(c, v));
    if (bias && (bias->rank != 1 || bias->dim[0] != v->out_c * v->groups))
        return op_refuse(c, "the bias is not a list of %u numbers", v->out_c * v->groups);
    if (v->transposed)
        TRY(op_window_transposed(c, &v->w));
    else
        TRY(op_window_forward(c, 0, &v->w));
    v->taps = op_window_span(&v->w, v->w.kernel);
    v->in_plane = op_window_span(&v->w, v->w.in);
    return EMU_OK;
}

static enum emu_status conv_infer(struct op_call *c)
{
    struct conv v;

    TRY(conv_read(c, &v));
    c->out[0] = op_window_shape(&v.w, c->in[0]->type, v.batch, v.out_c * v.groups);
    return EMU_OK;
}

/* --- numbers ------------------------------------------------------------------------------ */

/* Outputs side by side in a row, and where the first one's window begins in the input; of a
 * transposed convolution, the output counted from where the first window begins. */
struct conv_run {
    uint32_t count;
    int64_t at[OP_WINDOW_DIMS];
};

/* A part of one group's sums: some outputs, and some terms of each. */
struct sums_part {
    size_t first, term;    /* output and term where it begins */
    uint32_t count, terms; /* at most POSITIONS and TERMS */
    uint32_t runs;
    struct conv_run run[POSITIONS];
};

/* Cuts the outputs of a part into runs. */
static void locate(const struct conv *v, struct sums_part *p)
{
    const struct op_window *w = &v->w;
    unsigned last = w->dims - 1;

    p->runs = 0;
    for (uint32_t i = 0; i < p->count; i += p->run[p->runs++].count) {
        struct conv_run *run = &p->run[p->runs];
        uint64_t o = p->first + i, more = (uint64_t)w->out[last] - o % (uint64_t)w->out[last];

        run->count = more < p->count - i ? (uint32_t)more : p->count - i;
        for (unsigned d = w->dims; d-- > 0; o /= (uint64_t)w->out[d]) {
            int64_t at = (int64_t)(o % (uint64_t)w->out[d]);

            run->at[d] = v->transposed ? at + w->begin[d] : at * w->stride[d] - w->begin[d];
        }
    }
}

/* The row of inputs that a run sees through a tap, as an element of the plane; -1: there is none.
 * reach: how far the tap is from the window's begin. */
static int64_t row_seen(const struct conv *v, const struct conv_run *run, const int64_t *reach)
{
    const struct op_window *w = &v->w;
    int64_t element = 0;

    for (unsigned d = 0; d + 1 < w->dims; d++) {
        int64_t i = run->at[d] + (v->transposed ? -reach[d] : reach[d]);

        if (v->transposed && i % w->stride[d])
            return -1;
        if (v->transposed)
            i /= w->stride[d];
        if (i < 0 || i >= w->in[d])
            return -1;
        element = element * w->in[d] + i;
    }
    return element * w->in[w->dims - 1];
}

/* What a run sees in a row; reach: of the tap along the row. */
static void gather_run(const struct conv *v, const double *row, const struct conv_run *run,
                       int64_t reach, double *to)
{
    unsigned last = v->w.dims - 1;
    int64_t in = v->w.in[last], stride = v->w.stride[last], at = run->at[last];

    if (!v->transposed) {
        for (int64_t k = 0, i = at + reach; k < run->count; k++, i += stride)
            to[k] = i >= 0 && i < in ? row[i] : 0;
        return;
    }
    for (int64_t k = 0, i = at - reach; k < run->count; k++, i++)
        to[k] = i >= 0 && i % stride == 0 && i / stride < in ? row[i / stride] : 0;
}

/* Gathers the inputs of some outputs, terms in the order of the weights. in: the group's channels.
 */
static void gather(const struct conv *v, const double *in, const struct sums_part *p, gathered got)
{
    memset(got, 0, p->terms * sizeof(*got));
    for (uint32_t t = 0; t < p->terms; t++) {
        size_t tap = (p->term + t) % v->taps;
        const double *plane = in + (p->term + t) / v->taps * v->in_plane;
        int64_t reach[OP_WINDOW_DIMS];
        double *to = got[t];

        for (unsigned d = v->w.dims; d-- > 0;) {
            reach[d] = (int64_t)(tap % (size_t)v->w.kernel[d]) * v->w.dilation[d];
            tap /= (size_t)v->w.kernel[d];
        }
        for (uint32_t k = 0; k < p->runs; to += p->run[k++].count) {
            int64_t row = row_seen(v, &p->run[k], reach);

            if (row >= 0)
                gather_run(v, plane + row, &p->run[k], reach[v->w.dims - 1], to);
        }
    }
}

/* Adds terms to CHANNELS sums at VECTORS x LANES positions from `at` on. */
static void multiply(const double *const weight[CHANNELS], const gathered got, uint32_t terms,
                     unsigned at, lanes sum[CHANNELS][VECTORS])
{
    lanes s[CHANNELS][VECTORS];

    memcpy(s, sum, sizeof(s));
    for (uint32_t t = 0; t < terms; t++) {
        lanes x0, x1;

        memcpy(&x0, &got[t][at], sizeof(x0));
        memcpy(&x1, &got[t][at + LANES], sizeof(x1));
        for (unsigned c = 0; c < CHANNELS; c++) {
            s[c][0] += weight[c][t] * x0;
            s[c][1] += weight[c][t] * x1;
        }
    }
    memcpy(sum, s, sizeof(s));
}

/* Adds a part to all channels of a group. Between parts the sums are kept in the output. Beyond the
 * last channel its weights are used again, and the sums dropped. */
static void add_part(const struct conv *v, const double *weight, const gathered got,
                     const struct sums_part *p, double *out)
{
    size_t terms = v->in_c * v->taps;

    for (uint32_t c = 0; c < v->out_c; c += CHANNELS) {
        uint32_t real = v->out_c - c < CHANNELS ? v->out_c - c : CHANNELS;
        const double *row[CHANNELS];

        for (uint32_t i = 0; i < CHANNELS; i++)
            row[i] = weight + terms * (c + (i < real ? i : real - 1)) + p->term;
        for (uint32_t at = 0; at < p->count; at += LANES * VECTORS) {
            uint32_t width = p->count - at < LANES * VECTORS ? p->count - at : LANES * VECTORS;
            double *to = out + c * v->out_plane + p->first + at;
            lanes sum[CHANNELS][VECTORS] = { 0 };

            for (uint32_t i = 0; p->term && i < real; i++)
                memcpy(sum[i], to + i * v->out_plane, width * sizeof(*to));
            multiply(row, got, p->terms, at, sum);
            for (uint32_t i = 0; i < real; i++)
                memcpy(to + i * v->out_plane, sum[i], width * sizeof(*to));
        }
    }
}

static void add_bias(const struct conv *v, size_t channel, const struct sums_part *p, double *out)
{
    for (uint32_t c = 0; v->bias && c < v->out_c; c++) {
        for (uint32_t i = 0; i < p->count; i++)
            out[c * v->out_plane + p->first + i] += v->bias[channel + c];
    }
}

/* Work item i: some positions of one group of one batch item. */
static void conv_item(const struct conv *v, int64_t i, const double *in, double *out)
{
    size_t blocks = (v->out_plane + POSITIONS - 1) / POSITIONS, at = (size_t)i / blocks;
    size_t channel = at % v->groups * v->out_c, terms = v->in_c * v->taps;
    struct sums_part p = { .first = (size_t)i % blocks * POSITIONS };
    gathered got;

    in += at * v->in_c * v->in_plane;
    out += at * v->out_c * v->out_plane;
    p.count = v->out_plane - p.first < POSITIONS ? (uint32_t)(v->out_plane - p.first) : POSITIONS;
    locate(v, &p);
    for (; p.term < terms; p.term += p.terms) {
        p.terms = terms - p.term < TERMS ? (uint32_t)(terms - p.term) : TERMS;
        gather(v, in, &p, got);
        add_part(v, v->weight + channel * terms, got, &p, out);
    }
    add_bias(v, channel, &p, out);
}

/* [groups][in_c][out_c][taps] as [groups][out_c][in_c][taps]. */
static void swap_channels(const struct conv *v, const double *from, double *to)
{
    for (size_t g = 0; g < v->groups; g++) {
        for (size_t i = 0; i < v->in_c; i++) {
            for (size_t o = 0; o < v->out_c; o++, from += v->taps)
                memcpy(to + ((g * v->out_c + o) * v->in_c + i) * v->taps, from,
                       v->taps * sizeof(*to));
        }
    }
}

static enum emu_status conv_ref(struct op_call *c, const struct op_tensor *const *in,
                                struct op_tensor *out)
{
    uint64_t weights = op_shape_count(c->in[1]), positions;
    double *swapped = NULL;
    struct conv v;
    int64_t items;

    TRY(conv_read(c, &v));
    if (!op_shape_count(&out->shape))
        return EMU_OK;
    v.out_plane = op_window_span(&v.w, v.w.out);
    v.weight = in[1]->f;
    v.bias = op_given(c, 2) ? in[2]->f : NULL;
    if (v.transposed) {
        v.weight = swapped = emu_alloc(weights + 1, sizeof(*swapped));
        if (!swapped)
            return FAIL(NO_MEMORY, "%llu weights", (unsigned long long)weights);
        swap_channels(&v, in[1]->f, swapped);
    }
    positions = v.batch * v.out_plane;
    items = (int64_t)v.batch * v.groups * (int64_t)((v.out_plane + POSITIONS - 1) / POSITIONS);
#pragma omp parallel for schedule(dynamic, 4) if (positions * weights >= PARALLEL_MIN)
    for (int64_t i = 0; i < items; i++)
        conv_item(&v, i, in[0]->f, out[0].f);
    ss_free(swapped);
    return EMU_OK;
}

const struct op_family family_conv = { .infer = conv_infer,
                                       .ref = conv_ref,
                                       .gradient = gradient_conv_node };
