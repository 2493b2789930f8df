/* synthetic.c - pictures of smooth random fields, in place of photographs. Integers and exactly
 * rounded arithmetic only, so the bits are the same everywhere. */
#include <math.h>

#include "models/ref/ref.h"

/* Sizes of detail: 3, 6, 12, 24 and 48 cells a side, each with 0.6 of the amplitude before. */
enum { OCTAVES = 5, CELLS = 3, COLOURS = 3 };
static const double fade = 0.6;

/* A uniform number of -1..1 for a grid point of a field; splitmix64 of all that names it. */
static double lattice(uint64_t field, uint32_t octave, uint32_t y, uint32_t x)
{
    uint64_t z = field * 0x9e3779b97f4a7c15 + ((uint64_t)octave << 56 | (uint64_t)y << 28 | x);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return (double)(int64_t)z * 0x1p-63;
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
static double field_at(uint64_t field, double y, double x)
{
    double sum = 0, power = 0, amplitude = 1;

    for (uint32_t o = 0; o < OCTAVES; o++) {
        sum += amplitude * detail(field, o, y, x);
        power += amplitude * amplitude;
        amplitude *= fade;
    }
    return sum / sqrt(power * 0.55 / 3);
}

void ref_pictures(uint32_t resolution, uint64_t seed, uint32_t pictures, float *out)
{
    size_t plane = (size_t)resolution * resolution;

    for (uint32_t p = 0; p < pictures; p++) {
        uint64_t first = (seed * 0x10001 + p) * (COLOURS + 1);
        float *to = out + p * COLOURS * plane;

#pragma omp parallel for
        for (uint32_t i = 0; i < plane; i++) {
            double y = (i / resolution + 0.5) / resolution, x = (i % resolution + 0.5) / resolution;
            double common = field_at(first, y, x);

            for (uint32_t c = 0; c < COLOURS; c++)
                to[c * plane + i] = (float)(0.8 * common + 0.6 * field_at(first + 1 + c, y, x));
        }
    }
}
