/* picture_crop.c - resizes and cuts as PIL and torchvision do, to the bit: bicubic (a = -0.5) or
 * bilinear, the kernel widened by the scale when shrinking, weights with 22 fractional bits, first
 * along rows, then along columns, with 8 bits between the passes. Only what the cut keeps is
 * computed.
 *
 * Source: Pillow, src/libImaging/Resample.c; torchvision, transforms/functional.py (size of the
 * longer side, place of the cut).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/picture/picture.h"
#include "models/picture/picture_decode.h"

enum { WEIGHT_BITS = 22 };

static double bicubic(double x)
{
    const double a = -0.5;

    x = fabs(x);
    if (x < 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0)
        return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

static double bilinear(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

/* support: from where on it is 0. */
static const struct filter {
    double (*at)(double x);
    double support;
} filters[PICTURE_FILTERS] = {
    [FILTER_BICUBIC] = { bicubic, 2.0 }, [FILTER_BILINEAR] = { bilinear, 1.0 }
};

/* The weights of `count` results, from `first` on, of an axis resized from `in` to `out`. */
struct resampling {
    const struct filter *filter;
    uint32_t count, most;   /* most: inputs of one result */
    uint32_t *begin, *taps; /* owned; inputs of each result */
    int32_t *weight;        /* owned; [count][most] */
};

static void resampling_free(struct resampling *r)
{
    ss_free(r->begin);
    ss_free(r->taps);
    ss_free(r->weight);
}

/* w: room for the weights of one result. */
static void fill_result(struct resampling *r, uint32_t k, uint32_t in, double centre, double step,
                        double *w)
{
    double wide = step < 1.0 ? 1.0 : step, support = r->filter->support * wide, sum = 0;
    double low = centre - support + 0.5, high = centre + support + 0.5;
    uint32_t begin = low < 0 ? 0 : (uint32_t)low;
    uint32_t end = high > in ? in : (uint32_t)high;
    uint64_t largest = 0;

    for (uint32_t i = begin; i < end; i++) {
        w[i - begin] = r->filter->at((i - centre + 0.5) * (1.0 / wide));
        sum += w[i - begin];
    }
    r->begin[k] = begin;
    r->taps[k] = end - begin;
    for (uint32_t i = 0; i < end - begin; i++) {
        double v = (sum != 0 ? w[i] / sum : w[i]) * (1 << WEIGHT_BITS);
        int32_t weight = (int32_t)(v < 0 ? v - 0.5 : v + 0.5);

        r->weight[(size_t)k * r->most + i] = weight;
        largest += (uint32_t)abs(weight);
    }
    /* The negative lobes add less than half to the sum of 1, so sums fit 32 bits. */
    EMU_ASSERT(largest < (uint64_t)(INT32_MAX - (1 << WEIGHT_BITS)) / 255);
}

static enum emu_status resampling_init(struct resampling *r, enum picture_filter filter,
                                       uint32_t in, uint64_t out, uint64_t first, uint32_t count)
{
    double step = (double)in / (double)out;
    double *w;

    memset(r, 0, sizeof(*r));
    r->filter = &filters[filter];
    r->count = count;
    r->most = (uint32_t)ceil(r->filter->support * (step < 1.0 ? 1.0 : step)) * 2 + 1;
    r->begin = emu_alloc(count, sizeof(*r->begin));
    r->taps = emu_alloc(count, sizeof(*r->taps));
    r->weight = emu_alloc((size_t)count * r->most, sizeof(*r->weight));
    w = emu_alloc(r->most, sizeof(*w));
    if (!r->begin || !r->taps || !r->weight || !w) {
        ss_free(w);
        return FAIL(NO_MEMORY, "weights to resize a picture");
    }
    for (uint32_t k = 0; k < count; k++)
        fill_result(r, k, in, ((double)(first + k) + 0.5) * step, step, w);
    ss_free(w);
    return EMU_OK;
}

/* Sums of 32 bits are enough: see fill_result(). */
static uint8_t round_pixel(int32_t sum)
{
    int32_t v = (sum + (1 << (WEIGHT_BITS - 1))) >> WEIGHT_BITS;

    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* Rows [top, top + rows) of p, resized across: out has rows x count pixels. */
static void resize_across(const struct picture *p, uint32_t top, uint32_t rows,
                          const struct resampling *r, uint8_t *out)
{
    for (uint32_t y = 0; y < rows; y++) {
        const uint8_t *line = p->rgb + (size_t)(top + y) * p->width * 3;

        for (uint32_t k = 0; k < r->count; k++) {
            const int32_t *w = r->weight + (size_t)k * r->most;
            const uint8_t *in = line + 3 * (size_t)r->begin[k];
            int32_t red = 0, green = 0, blue = 0;

            for (uint32_t i = 0; i < r->taps[k]; i++, in += 3) {
                red += w[i] * in[0];
                green += w[i] * in[1];
                blue += w[i] * in[2];
            }
            *out++ = round_pixel(red);
            *out++ = round_pixel(green);
            *out++ = round_pixel(blue);
        }
    }
}

/* in: rows of `bytes` bytes from row `top` of the axis on. sum: room for one row. */
static void resize_down(const uint8_t *in, uint32_t top, size_t bytes, const struct resampling *r,
                        int32_t *sum, uint8_t *out)
{
    for (uint32_t k = 0; k < r->count; k++) {
        const int32_t *w = r->weight + (size_t)k * r->most;

        memset(sum, 0, bytes * sizeof(*sum));
        for (uint32_t i = 0; i < r->taps[k]; i++) {
            const uint8_t *row = in + (size_t)(r->begin[k] - top + i) * bytes;
            int32_t weight = w[i];

            for (size_t x = 0; x < bytes; x++)
                sum[x] += weight * row[x];
        }
        for (size_t x = 0; x < bytes; x++)
            *out++ = round_pixel(sum[x]);
    }
}

static enum emu_status resize(const struct picture *p, const struct resampling *across,
                              const struct resampling *down, struct picture *out)
{
    uint32_t last = down->count - 1, top = down->begin[0];
    uint32_t rows = down->begin[last] + down->taps[last] - top;
    size_t bytes = (size_t)across->count * 3;
    uint8_t *between = emu_alloc(rows, bytes);
    int32_t *sum = emu_alloc(bytes, sizeof(*sum));

    out->width = across->count;
    out->height = down->count;
    out->rgb = emu_alloc(down->count, bytes);
    if (!between || !sum || !out->rgb) {
        ss_free(between);
        ss_free(sum);
        return FAIL(NO_MEMORY, "a picture of %u x %u", across->count, down->count);
    }
    resize_across(p, top, rows, across, between);
    resize_down(between, top, bytes, down, sum, out->rgb);
    ss_free(between);
    ss_free(sum);
    return EMU_OK;
}

/* (length - side) / 2, rounded to nearest, halves to even. */
static uint64_t cut_begin(uint64_t length, uint32_t side)
{
    uint64_t twice = length - side;

    return twice / 2 + (twice % 2 && twice / 2 % 2);
}

/* The size of the picture before the cut. */
static enum emu_status size_before(const struct picture *p, const struct picture_recipe *r,
                                   uint64_t *width, uint64_t *height)
{
    uint64_t w = r->cover_width, h = r->cover_height;

    TRY(picture_recipe_check(r));
    *width = p->width;
    *height = p->height;
    if (p->width && p->height && w) {
        int across = p->width * h <= p->height * w; /* its width reaches the size last */

        *width = across ? w : h * p->width / p->height;
        *height = across ? w * p->height / p->width : h;
    }
    if (*width < r->width || *height < r->height)
        return FAIL(BAD_FILE, "%u x %u pixels%s: less than the %u x %u of the network", p->width,
                    p->height, w ? ", resized" : ", which are not resized", r->width, r->height);
    return EMU_OK;
}

/* The square or rectangle of `cut` pixels, from `first` on, of p resized to `size`; [0]: across. */
static enum emu_status resized_cut(const struct picture *p, enum picture_filter filter,
                                   const uint64_t size[2], const uint64_t first[2],
                                   const uint32_t cut[2], struct picture *out)
{
    struct resampling across = { 0 }, down = { 0 };
    enum emu_status s = resampling_init(&across, filter, p->width, size[0], first[0], cut[0]);

    if (s == EMU_OK)
        s = resampling_init(&down, filter, p->height, size[1], first[1], cut[1]);
    if (s == EMU_OK)
        s = resize(p, &across, &down, out);
    resampling_free(&across);
    resampling_free(&down);
    if (s != EMU_OK)
        picture_free(out);
    return s;
}

enum emu_status picture_crop(const struct picture *p, const struct picture_recipe *r,
                             struct picture *out)
{
    const uint32_t cut[2] = { r->width, r->height };
    uint64_t size[2] = { r->width, r->height }, first[2] = { 0, 0 };

    memset(out, 0, sizeof(*out));
    if (r->whole)
        TRY(picture_check_size(r->width, r->height, UINT64_MAX));
    else
        TRY(size_before(p, r, &size[0], &size[1]));
    for (unsigned k = 0; k < 2; k++)
        first[k] = cut_begin(size[k], cut[k]);
    return resized_cut(p, r->filter, size, first, cut, out);
}

enum emu_status picture_resize(const struct picture *p, uint32_t width, uint32_t height,
                               struct picture *out)
{
    const struct picture_recipe all = { .width = width, .height = height, .whole = 1 };

    return picture_crop(p, &all, out);
}

void picture_normalise(const struct picture *p, const struct picture_recipe *r, float *out)
{
    size_t pixels = (size_t)p->width * p->height;

    for (unsigned c = 0; c < r->planes; c++) {
        for (size_t i = 0; i < pixels; i++)
            out[c * pixels + i] = picture_number(r, c, p->rgb + 3 * i);
    }
}
