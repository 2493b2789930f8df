/* synthetic.c - drawn pictures in place of photographs: soft and rough fields, hard edged shapes,
 * stripes, strokes, gradients and noise, of any brightness, tint and contrast. Integers and exactly
 * rounded arithmetic only, so the bits are the same everywhere. */
#include <math.h>

#include "emu/base/random.h"
#include "models/weights/calibrate.h"

/* A field has details of five sizes, 3, 6, 12, 24 and 48 cells a side, each fainter than the one
 * before. */
enum { OCTAVES = 5, CELLS = 3, CHANNELS = 3, SHAPES = 12 };

/* Black and white of a normalised photograph. */
static const double black = -2.1, white = 2.6;

/* What is drawn; a picture has the kind of its number. */
enum synthetic_kind { FIELDS, COLLAGE, SOFT, STROKES, STRIPES, FLAT, NOISE, GRADIENT, KINDS };

/* How one picture is drawn. */
struct style {
    uint64_t field; /* number of the first of its random fields */
    enum synthetic_kind kind;
    double fade;                       /* amplitude of one size of detail over the size before */
    double contrast, offset[CHANNELS]; /* of the ground */
    double noise;                      /* deviation */
    double angle_y, angle_x, period;   /* of stripes and gradients; periods in pixels */
};

/* ---- random numbers and fields ---- */

/* A uniform number in -1..1 for a grid point of a field: a hash of the point's coordinates. */
static double lattice(uint64_t field, uint32_t octave, uint32_t y, uint32_t x)
{
    uint64_t place = (uint64_t)octave << 56 | (uint64_t)y << 28 | x;

    return (double)(int64_t)hash_mix(field * HASH_STEP + place) * 0x1p-63;
}

static double smooth(double t)
{
    return t * t * (3 - 2 * t);
}

/* One size of detail at (y, x), both in 0..1: values of the grid, smoothly interpolated. */
static double detail(uint64_t field, uint32_t octave, double y, double x)
{
    uint32_t cells = CELLS << octave;
    double cy = y * cells, cx = x * cells;
    uint32_t iy = (uint32_t)cy, ix = (uint32_t)cx;
    double ty = smooth(cy - iy), tx = smooth(cx - ix);
    double top =
        lattice(field, octave, iy, ix) * (1 - tx) + lattice(field, octave, iy, ix + 1) * tx;
    double low =
        lattice(field, octave, iy + 1, ix) * (1 - tx) + lattice(field, octave, iy + 1, ix + 1) * tx;

    return top * (1 - ty) + low * ty;
}

/* A field of deviation about 1: uniform lattice values have variance 1 / 3, interpolation over a
 * cell leaves about 0.55 of it. */
static double field_at(uint64_t field, double fade, double y, double x)
{
    double sum = 0, power = 0, amplitude = 1;

    for (uint32_t o = 0; o < OCTAVES; o++) {
        sum += amplitude * detail(field, o, y, x);
        power += amplitude * amplitude;
        amplitude *= fade;
    }
    return sum / sqrt(power * 0.55 / 3);
}

/* ---- kinds ---- */

/* A random number in 0..1 for one purpose in a picture. */
static double choice(uint64_t field, uint32_t purpose, uint32_t i)
{
    return 0.5 + 0.5 * lattice(field, 200 + purpose, i, 0);
}

/* The top shape that covers a place, from 1; 0: the ground. Discs, boxes and half planes. */
static uint32_t shape_at(const struct style *s, double y, double x)
{
    for (uint32_t i = SHAPES; i > 0; i--) {
        double dy = y - choice(s->field, 1, i), dx = x - choice(s->field, 2, i);
        double size = 0.04 + 0.3 * choice(s->field, 3, i);
        int inside = i % 3 == 0   ? dy * dy + dx * dx < size * size
                     : i % 3 == 1 ? fabs(dy) < size && fabs(dx) < 0.6 * size
                                  : i == 2 && dy * choice(s->field, 4, 0) > dx;

        if (inside)
            return i;
    }
    return 0;
}

/* Thin strokes in rows: 1 on a stroke. */
static int is_stroke(const struct style *s, uint32_t iy, uint32_t ix)
{
    uint32_t pitch = 4 + (uint32_t)(20 * choice(s->field, 5, 0));
    uint32_t row = iy / pitch, column = ix / (pitch / 2), thick = pitch / 8 + 1;

    if (iy % pitch > 2 * pitch / 3)
        return 0;
    return (lattice(s->field, 210, row, column) > 0 && ix % (pitch / 2) < thick) ||
           (lattice(s->field, 211, row, column) > 0.2 && iy % pitch % (pitch / 3) < thick);
}

/* A part that all channels share plus a part of each channel's own; deviation about 1 together. */
static double fields(const struct style *s, double y, double x, uint32_t c)
{
    return 0.8 * field_at(s->field, s->fade, y, x) +
           0.6 * field_at(s->field + 1 + c, s->fade, y, x);
}

static double draw(const struct style *s, double y, double x, uint32_t iy, uint32_t ix, uint32_t c)
{
    double place = s->angle_y * iy + s->angle_x * ix;
    uint32_t shape;

    switch (s->kind) {
    case COLLAGE:
        shape = shape_at(s, y, x);
        if (!shape)
            return fields(s, y, x, c);
        return 2.2 * lattice(s->field, 220, shape, c) + 0.3 * (shape % 2) * fields(s, x, y, c);
    case STROKES:
        return is_stroke(s, iy, ix) ? -2 : 0.8 + 0.1 * fields(s, y, x, c);
    case STRIPES:
        return lattice(s->field, 230, (uint32_t)(place / s->period + 1000) % 2, c) * 2 +
               0.3 * fields(s, y, x, c);
    case NOISE:
        return 0.5 * fields(s, y, x, c) + lattice(s->field + c, 240, iy, ix);
    case GRADIENT:
        return 1.5 * ((y - 0.5) * s->angle_y + (x - 0.5) * s->angle_x) *
                   (2 + lattice(s->field, 250, c, 0)) +
               0.1 * fields(s, y, x, c);
    default:
        return fields(s, y, x, c);
    }
}

static struct style style_of(uint64_t seed, uint32_t p)
{
    struct style s = { .field = (seed * 0x10001 + p) * (CHANNELS + 1), .kind = p % KINDS };
    double level = 1.3 * lattice(s.field, 201, 0, 0), direction = lattice(s.field, 202, 0, 0);

    s.fade = s.kind == SOFT ? 0.3 : 0.5 + 0.4 * choice(s.field, 6, 0);
    s.contrast = s.kind == FLAT ? 0.02 + 0.2 * choice(s.field, 7, 0) : 0.4 + choice(s.field, 7, 0);
    for (uint32_t c = 0; c < CHANNELS; c++)
        s.offset[c] = level + 0.5 * lattice(s.field, 203, c, 0);
    s.noise = 0.1 * choice(s.field, 8, 0) * choice(s.field, 8, 1);
    s.angle_y = direction;
    s.angle_x = lattice(s.field, 202, 1, 0) < 0 ? 1 - fabs(direction) : fabs(direction) - 1;
    s.period = 1.5 + 30 * choice(s.field, 9, 0) * choice(s.field, 9, 1);
    return s;
}

void synthetic_pictures(uint32_t resolution, uint64_t seed, uint32_t pictures, float *out)
{
    size_t plane = (size_t)resolution * resolution;

    for (uint32_t p = 0; p < pictures; p++) {
        struct style s = style_of(seed, p);
        float *to = out + p * CHANNELS * plane;

#pragma omp parallel for
        for (uint32_t i = 0; i < plane; i++) {
            uint32_t iy = i / resolution, ix = i % resolution;
            double y = (iy + 0.5) / resolution, x = (ix + 0.5) / resolution;

            for (uint32_t c = 0; c < CHANNELS; c++) {
                double v = s.offset[c] + s.contrast * draw(&s, y, x, iy, ix, c) +
                           s.noise * 1.7 * lattice(s.field + c, 204, iy, ix);

                to[c * plane + i] = (float)(v < black ? black : v > white ? white : v);
            }
        }
    }
}
