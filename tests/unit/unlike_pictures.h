/* unlike_pictures.h - twenty pictures as unlike each other as photographs, drawings and mistakes of
 * a camera are: gradients, stripes, shapes, noise, flat, dark, bright, text, landscapes, and cuts
 * of the two that come with Superstep. Integers and exactly rounded arithmetic only: the same bytes
 * everywhere. None of them is one that calibration looks at.
 */
#ifndef TESTS_UNLIKE_PICTURES_H
#define TESTS_UNLIKE_PICTURES_H

#include <math.h>
#include <stdlib.h>

#include "models/picture/picture.h"

enum { UNLIKE_PICTURES = 20, UNLIKE_DRAWN = 18 };

static const char *const unlike_name[UNLIKE_PICTURES] = {
    "gradient", "sunset",  "fine-stripes", "broad-stripes", "board", "discs",     "blobs",
    "noise",    "haze",    "grey",         "red",           "night", "paper",     "text",
    "screen",   "horizon", "rings",        "tiles",         "cat",   "landscape",
};

/* A uniform number of 0..1 for a place; splitmix64 of all that names it. */
static inline double unlike_random(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t z = (a * 0x9e3779b97f4a7c15 + b) * 0xd1342543de82ef95 + c;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Smoothly interpolated random numbers of a grid with `cells` a side, 0..1. */
static inline double unlike_field(uint64_t seed, double cells, double y, double x)
{
    double cy = y * cells, cx = x * cells, value = 0;
    uint64_t iy = (uint64_t)cy, ix = (uint64_t)cx;
    double ty = cy - (double)iy, tx = cx - (double)ix;

    ty = ty * ty * (3 - 2 * ty);
    tx = tx * tx * (3 - 2 * tx);
    for (unsigned k = 0; k < 4; k++)
        value += (k / 2 ? ty : 1 - ty) * (k % 2 ? tx : 1 - tx) *
                 unlike_random(seed, iy + k / 2, ix + k % 2);
    return value;
}

/* Dark strokes in rows of words: 1 where there is ink. */
static inline int unlike_ink(double y, double x)
{
    uint64_t row = (uint64_t)(y * 20), column = (uint64_t)(x * 64), word = column / 6;
    double in_row = y * 20 - (double)row, in_column = x * 64 - (double)column;

    if (in_row < 0.25 || in_row > 0.8 || unlike_random(81, row, word) < 0.15 || column % 6 == 5)
        return 0;
    return in_column < 0.3 ||
           (unlike_random(82, row, column) < 0.6 && in_row > 0.45 && in_row < 0.6) ||
           (unlike_random(83, row, column) < 0.5 && in_row < 0.35);
}

/* The top one of 25 coloured discs that covers a place; its number, 0 for none. */
static inline unsigned unlike_disc(double y, double x)
{
    for (unsigned d = 25; d > 0; d--) {
        double dy = y - unlike_random(61, d, 0), dx = x - unlike_random(61, d, 1);
        double r = 0.03 + 0.14 * unlike_random(61, d, 2);

        if (dy * dy + dx * dx < r * r)
            return d;
    }
    return 0;
}

/* Colour c of a place, y and x in 0..1, iy and ix in pixels; 0..1, clamped by the caller. */
static inline double unlike_at(unsigned i, double y, double x, uint32_t iy, uint32_t ix, unsigned c)
{
    static const double sky[3] = { 0.45, 0.65, 0.95 }, ground[3] = { 0.3, 0.4, 0.15 };
    static const double first[3] = { 0.95, 0.5, 0.15 }, second[3] = { 0.15, 0.1, 0.35 };
    double d, r2 = (y - 0.5) * (y - 0.5) + (x - 0.5) * (x - 0.5);

    switch (i) {
    case 0:
        return x;
    case 1:
        return first[c] * (1 - y) + second[c] * y;
    case 2:
        return ix / 2 % 2;
    case 3:
        return unlike_random(31, (uint64_t)((x + 0.5 * y) * 9), c);
    case 4:
        return (iy / 24 + ix / 24) % 2 ? 0.95 : 0.05;
    case 5:
        return unlike_random(51, unlike_disc(y, x), c);
    case 6:
        return 1.8 * unlike_field(60 + c, 4, y, x) - 0.4;
    case 7:
        return unlike_random(70 + c, iy, ix);
    case 8:
        return 0.6 + 0.06 * unlike_field(80, 6, y, x) + 0.03 * unlike_random(84 + c, iy, ix);
    case 9:
        return 0.5;
    case 10:
        return c ? 0.05 : 0.9;
    case 11:
        return 0.03 * unlike_field(110, 5, y, x) +
               (unlike_random(111, iy / 3, ix / 3) > 0.998 ? 0.9 : 0);
    case 12:
        return 0.97 - 0.04 * unlike_field(120, 9, y, x) - 0.02 * unlike_random(121, iy, ix);
    case 13:
        return unlike_ink(y, x) ? 0.1 : 0.95;
    case 14:
        return unlike_ink(x, y) ? (c == 1 ? 0.9 : 0.4) : 0.07;
    case 15:
        d = 0.4 + 0.1 * unlike_field(150, 3, 0.5, x);
        return y < d ? sky[c] * (0.7 + 0.5 * y)
                     : ground[c] *
                           (0.4 + unlike_field(151, 40, y, x) + 0.5 * unlike_random(152, iy, ix));
    case 16:
        return (uint64_t)(r2 * 160) % 2 ? 0.9 - 0.2 * c : 0.1 + 0.2 * c;
    default:
        d = unlike_random(171, (uint64_t)(y * 11), (uint64_t)(x * 8));
        return d * unlike_random(172, (uint64_t)(y * 11), c) + 0.2 * unlike_field(173, 30, y, x);
    }
}

static inline void unlike_draw(unsigned i, struct picture *p)
{
    for (uint32_t k = 0; k < p->width * p->height; k++) {
        uint32_t iy = k / p->width, ix = k % p->width;
        double y = (iy + 0.5) / p->height, x = (ix + 0.5) / p->width;

        for (unsigned c = 0; c < 3; c++) {
            double v = unlike_at(i, y, x, iy, ix, c);

            v = v < 0 ? 0 : v > 1 ? 1 : v;
            p->rgb[3 * k + c] = (uint8_t)(v * 255 + 0.5);
        }
    }
}

/* side x side pixels of a shipped picture that do not begin at its corner, turned by a quarter. */
static inline enum emu_status unlike_cut(unsigned i, struct picture *p)
{
    const char *file =
        i == UNLIKE_DRAWN ? "models/pictures/cat.jpg" : "models/pictures/landscape.png";
    struct picture whole, cut;
    uint32_t side = p->width;

    TRY(picture_read(file, &whole));
    TRY(picture_crop(&whole, side, 0.6, &cut));
    for (uint32_t k = 0; k < side * side * 3; k++)
        p->rgb[k] = cut.rgb[(k / 3 % side * side + side - 1 - k / 3 / side) * 3 + k % 3];
    picture_free(&cut);
    picture_free(&whole);
    return EMU_OK;
}

/* Picture i as it comes from a file. EMU_IO where the shipped ones are not below the working
 * folder. Free with picture_free. */
static inline enum emu_status unlike_picture(unsigned i, uint32_t side, struct picture *out)
{
    *out = (struct picture){ side, side, emu_alloc((size_t)side * side, 3) };
    if (!out->rgb)
        return FAIL(NO_MEMORY, "a picture");
    if (i >= UNLIKE_DRAWN)
        return unlike_cut(i, out);
    unlike_draw(i, out);
    return EMU_OK;
}

#endif
