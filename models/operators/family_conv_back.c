/* family_conv_back.c - ConvWeightGradient: how a loss changes with the weights of Conv, from
 * its input x and the gradient dy of its result:
 *
 *   dw[o][i][tap] = sum over items and positions p of dy[o][p] x[i][p stride - pad + tap dilation]
 *
 * Sums run over items, then positions in ascending order, whatever the threads.
 */
#include "models/operators/op_families.h"
#include "models/operators/op_window.h"

enum { PARALLEL_MIN = 1 << 16 }; /* multiply-adds from which on threads pay */

struct conv_back_gradient {
    struct op_window w;
    uint32_t batch, groups, in_c, out_c; /* channels of one group */
    uint64_t taps, in_plane, out_plane;
};

static enum emu_status read(struct op_call *c, struct conv_back_gradient *v)
{
    const struct op_shape *x = c->in[0], *dy = c->in[1];
    int64_t groups = op_int(c, "group");
    struct op_shape want;

    *v = (struct conv_back_gradient){ .batch = x->dim[0] };
    TRY(op_window_read(c, x, NULL, &v->w));
    TRY(op_window_forward(c, 0, &v->w));
    if (dy->rank != x->rank)
        return op_refuse(c, "data of %u dimensions, a gradient of %u", x->rank, dy->rank);
    want = op_window_shape(&v->w, x->type, x->dim[0], dy->dim[1]);
    if (!op_shape_equal(&want, dy))
        return op_refuse(c, "the gradient has not the dimensions of the convolution's result");
    if (groups < 1 || groups > UINT32_MAX || x->dim[1] % groups || dy->dim[1] % groups)
        return op_refuse(c, "%u and %u channels in %lld groups", x->dim[1], dy->dim[1],
                         (long long)groups);
    v->groups = (uint32_t)groups;
    v->in_c = x->dim[1] / v->groups;
    v->out_c = dy->dim[1] / v->groups;
    v->taps = op_window_span(&v->w, v->w.kernel);
    v->in_plane = op_window_span(&v->w, v->w.in);
    v->out_plane = op_window_span(&v->w, v->w.out);
    return EMU_OK;
}

static enum emu_status conv_back_infer(struct op_call *c)
{
    struct conv_back_gradient v;

    TRY(read(c, &v));
    c->out[0] = (struct op_shape){ c->in[0]->type, v.w.dims + 2, { c->in[1]->dim[1], v.in_c } };
    for (unsigned d = 0; d < v.w.dims; d++)
        c->out[0].dim[2 + d] = (uint32_t)v.w.kernel[d];
    return EMU_OK;
}

/* The sum over a row of positions; reach: of the tap, x: a row of the input. */
static double row_sum(const struct op_window *w, int64_t reach, const double *dy, const double *x)
{
    unsigned last = w->dims - 1;
    int64_t at = reach - w->begin[last], stride = w->stride[last];
    double sum = 0;

    for (int64_t p = 0; p < w->out[last]; p++, at += stride) {
        if (at >= 0 && at < w->in[last])
            sum += dy[p] * x[at];
    }
    return sum;
}

/* Over one plane of each; tap: by dimension. */
static double plane_sum(const struct conv_back_gradient *v, const int64_t *tap, const double *dy,
                        const double *x)
{
    const struct op_window *w = &v->w;
    unsigned last = w->dims - 1;
    uint64_t width = (uint64_t)w->out[last], rows = width ? v->out_plane / width : 0;
    double sum = 0;

    for (uint64_t row = 0; row < rows; row++) {
        uint64_t left = row, step = (uint64_t)w->in[last], element = 0;
        int inside = 1;

        for (unsigned d = last; d-- > 0; left /= (uint64_t)w->out[d]) {
            int64_t at = (int64_t)(left % (uint64_t)w->out[d]) * w->stride[d] - w->begin[d] +
                         tap[d] * w->dilation[d];

            inside = inside && at >= 0 && at < w->in[d];
            element += inside ? (uint64_t)at * step : 0;
            step *= (uint64_t)w->in[d];
        }
        if (inside)
            sum += row_sum(w, tap[last] * w->dilation[last], dy + row * width, x + element);
    }
    return sum;
}

/* All taps of weight [o][i]; o counts all channels. */
static void weight_row(const struct conv_back_gradient *v, uint64_t o, uint64_t i, const double *x,
                       const double *dy, double *dw)
{
    uint64_t in_all = (uint64_t)v->in_c * v->groups, out_all = (uint64_t)v->out_c * v->groups;
    uint64_t channel = o / v->out_c * v->in_c + i;

    for (uint64_t t = 0; t < v->taps; t++) {
        int64_t tap[OP_WINDOW_DIMS];
        uint64_t left = t;

        for (unsigned d = v->w.dims; d-- > 0; left /= (uint64_t)v->w.kernel[d])
            tap[d] = (int64_t)(left % (uint64_t)v->w.kernel[d]);
        dw[t] = 0;
        for (uint64_t n = 0; n < v->batch; n++)
            dw[t] += plane_sum(v, tap, dy + (n * out_all + o) * v->out_plane,
                               x + (n * in_all + channel) * v->in_plane);
    }
}

static enum emu_status conv_back_ref(struct op_call *c, const struct op_tensor *const *in,
                                     struct op_tensor *out)
{
    struct conv_back_gradient v;
    int64_t rows;

    TRY(read(c, &v));
    rows = (int64_t)((uint64_t)v.out_c * v.groups * v.in_c);
#pragma omp parallel for schedule(dynamic) if ((uint64_t)rows * v.taps * v.out_plane * v.batch >=  \
                                               PARALLEL_MIN)
    for (int64_t k = 0; k < rows; k++)
        weight_row(&v, (uint64_t)k / v.in_c, (uint64_t)k % v.in_c, in[0]->f, in[1]->f,
                   out[0].f + (uint64_t)k * v.taps);
    return EMU_OK;
}

const struct op_family family_conv_back = { .infer = conv_back_infer, .ref = conv_back_ref };
