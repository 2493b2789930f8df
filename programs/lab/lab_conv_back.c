/* lab_conv_back.c - the gradients of a convolution, by their definition: every product of a weight
 * and a position counts once for the input and once for the weight. */
#include "programs/lab/lab_conv_back.h"

#include <math.h>

/* A weight, and what meets it in a row of the result: columns [begin, end) of y, and where the
 * input of the first of them is. */
struct weight_row {
    uint32_t begin, end;
    const float *slope; /* of column 0 */
    size_t in;          /* of column `begin` */
};

/* Row oy of output channel o of picture n, with a tap of input channel c; 0: the tap is outside. */
static int row_of(const struct conv_back *b, const uint32_t place[4], uint32_t tap,
                  struct weight_row *r)
{
    const struct conv_layer *l = b->layer;
    uint32_t n = place[0], o = place[1], c = place[2], oy = place[3];
    uint32_t y = oy * l->stride_h + tap / l->kernel_w - l->pad_top, column = tap % l->kernel_w;

    if (y >= b->x.h) /* above the field it wraps */
        return 0;
    r->begin = 0;
    while (r->begin < b->y.w && r->begin * l->stride_w + column < l->pad_left)
        r->begin++;
    r->end = b->y.w;
    while (r->end > r->begin && (r->end - 1) * l->stride_w + column - l->pad_left >= b->x.w)
        r->end--;
    r->slope = b->slope + (((size_t)n * b->y.c + o) * b->y.h + oy) * b->y.w;
    r->in = (((size_t)n * b->x.c + c) * b->x.h + y) * b->x.w + r->begin * l->stride_w + column -
            l->pad_left;
    return r->begin < r->end;
}

typedef void visit_row(const struct conv_back *b, size_t weight, const struct weight_row *r,
                       double *sum, double *root);

static void visit_rows(const struct conv_back *b, visit_row *visit, double *sum, double *root)
{
    const struct conv_layer *l = b->layer;
    uint32_t each = b->x.c / l->groups, taps = l->kernel_h * l->kernel_w;
    struct weight_row r;

    for (uint32_t o = 0; o < b->y.c; o++) {
        uint32_t first = o / (b->y.c / l->groups) * each;

        for (uint32_t k = 0; k < each * taps; k++) {
            for (uint32_t i = 0; i < b->y.n * b->y.h; i++) {
                const uint32_t place[4] = { i / b->y.h, o, first + k / taps, i % b->y.h };

                if (row_of(b, place, k % taps, &r))
                    visit(b, (size_t)o * each * taps + k, &r, sum, root);
            }
        }
    }
}

static void row_of_data(const struct conv_back *b, size_t weight, const struct weight_row *r,
                        double *sum, double *root)
{
    double w = (double)b->weights[weight];

    for (uint32_t k = r->begin; k < r->end; k++) {
        size_t at = r->in + (size_t)(k - r->begin) * b->layer->stride_w;
        double p = w * (double)r->slope[k];

        sum[at] += p;
        root[at] += p * p;
    }
}

static void row_of_weights(const struct conv_back *b, size_t weight, const struct weight_row *r,
                           double *sum, double *root)
{
    double s = 0, q = 0;

    for (uint32_t k = r->begin; k < r->end; k++) {
        double p = (double)b->in[r->in + (size_t)(k - r->begin) * b->layer->stride_w] *
                   (double)r->slope[k];

        s += p;
        q += p * p;
    }
    sum[weight] += s;
    root[weight] += q;
}

static void take_roots(double *root, size_t n)
{
    for (size_t k = 0; k < n; k++)
        root[k] = sqrt(root[k]);
}

void conv_back_data(const struct conv_back *b, double *sum, double *root)
{
    visit_rows(b, row_of_data, sum, root);
    take_roots(root, (size_t)b->x.n * b->x.c * b->x.h * b->x.w);
}

void conv_back_weights(const struct conv_back *b, double *sum, double *root)
{
    visit_rows(b, row_of_weights, sum, root);
    take_roots(root, (size_t)b->y.c * (b->x.c / b->layer->groups) * b->layer->kernel_h *
                         b->layer->kernel_w);
}

/* ---- bounds ---- */

enum { DEVIATIONS = 8 };

/* n partial sums, the k-th of which has k / n of the products, rounded to one part in 1 / unit: the
 * standard deviation of what comes of it, over the root. */
static double rounding_of(double n, double unit)
{
    return unit / sqrt(3) * sqrt((n + 1) / 2);
}

double conv_back_data_bound(const struct conv_back *b, double sum, double root)
{
    const struct conv_layer *l = b->layer;
    uint32_t each = l->out_c / l->groups;
    double n = (double)l->kernel_h * l->kernel_w * ceil(each / 16.0);
    /* One channel a group: every product is rounded to f16. */
    double unit = l->partials == PARTIALS_F32 && each > 1 ? 0x1p-22 : 0x1p-11;

    return DEVIATIONS * rounding_of(n, unit) * root + 3 * 0x1p-11 * fabs(sum) + 0x1p-24;
}

/* At most 16 sums of 16 products are added up in f16, and what comes of it in f32. */
double conv_back_weights_bound(double sum, double root)
{
    return DEVIATIONS * rounding_of(16, 0x1p-11) * root + 0x1p-20 * fabs(sum) + 0x1p-24;
}
