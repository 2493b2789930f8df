/* augment.c - the usual ways of changing pictures: torchvision's RandomResizedCrop and
 * RandomHorizontalFlip, and the shifts that are usual with CIFAR. */
#include "models/data/augment.h"

#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/random.h"

enum { TRIES = 10, SHIFT_PARTS = 8 };

/* 0 to 1. */
static double drawn(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* A rectangle of a picture; what lies outside is black. */
struct picture_piece {
    int64_t x, y;
    uint32_t width, height;
};

static enum emu_status cut(const struct picture *p, const struct picture_piece *r,
                           struct picture *out)
{
    memset(out, 0, sizeof(*out));
    out->width = r->width;
    out->height = r->height;
    out->rgb = emu_alloc((size_t)r->width * r->height, 3);
    if (!out->rgb)
        return FAIL(NO_MEMORY, "%u x %u pixels", r->width, r->height);
    for (uint32_t y = 0; y < r->height; y++) {
        for (uint32_t x = 0; x < r->width; x++) {
            int64_t fx = r->x + x, fy = r->y + y;

            if (fx >= 0 && fy >= 0 && fx < p->width && fy < p->height)
                memcpy(out->rgb + 3 * ((size_t)y * r->width + x),
                       p->rgb + 3 * ((size_t)fy * p->width + (size_t)fx), 3);
        }
    }
    return EMU_OK;
}

static void mirror(struct picture *p)
{
    for (uint32_t y = 0; y < p->height; y++) {
        uint8_t *row = p->rgb + 3 * (size_t)y * p->width;

        for (uint32_t x = 0; x < p->width / 2; x++) {
            uint8_t *a = row + 3 * (size_t)x, *b = row + 3 * (size_t)(p->width - 1 - x), t[3];

            memcpy(t, a, 3);
            memcpy(a, b, 3);
            memcpy(b, t, 3);
        }
    }
}

/* A piece with a drawn area and form; if none fits in some tries, the largest in the middle. */
static struct picture_piece draw_piece(const struct picture *p, uint64_t *state)
{
    double area = (double)p->width * p->height;
    uint32_t side = p->width < p->height ? p->width : p->height;
    struct picture_piece r;

    for (unsigned k = 0; k < TRIES; k++) {
        double a = area * (0.08 + 0.92 * drawn(state));
        double form = exp((2 * drawn(state) - 1) * log(4.0 / 3));
        double w = round(sqrt(a * form)), h = round(sqrt(a / form));

        if (w < 1 || h < 1 || w > p->width || h > p->height)
            continue;
        r.width = (uint32_t)w;
        r.height = (uint32_t)h;
        r.x = random_below(state, p->width - r.width + 1);
        r.y = random_below(state, p->height - r.height + 1);
        return r;
    }
    r = (struct picture_piece){ (p->width - side) / 2, (p->height - side) / 2, side, side };
    return r;
}

/* All of the picture, moved. */
static struct picture_piece draw_shift(const struct picture *p, uint64_t *state)
{
    uint32_t x = p->width / SHIFT_PARTS, y = p->height / SHIFT_PARTS;

    return (struct picture_piece){ (int64_t)random_below(state, 2 * x + 1) - x,
                                   (int64_t)random_below(state, 2 * y + 1) - y, p->width,
                                   p->height };
}

enum emu_status augment_picture(const struct picture *p, enum augment how, uint64_t seed,
                                uint32_t width, uint32_t height, struct picture *out)
{
    uint64_t state = hash_mix(seed);
    struct picture_piece r = { 0, 0, p->width, p->height };
    struct picture piece;
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    if (how == AUGMENT_CROP)
        r = draw_piece(p, &state);
    else if (how == AUGMENT_SHIFT)
        r = draw_shift(p, &state);
    TRY(cut(p, &r, &piece));
    if (how != AUGMENT_NONE && random_next(&state) >> 63)
        mirror(&piece);
    if (piece.width == width && piece.height == height) {
        *out = piece;
        return EMU_OK;
    }
    s = picture_resize(&piece, width, height, out);
    picture_free(&piece);
    return s;
}
