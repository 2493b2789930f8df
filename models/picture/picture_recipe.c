/* picture_recipe.c - recipes of torchvision and timm.
 *
 * Source: torchvision/models/efficientnet.py and resnet.py (the transforms of the first published
 * weights of each), timm's crop_pct. torchvision's sizes are for its own side, and are scaled for
 * others.
 */
#include "models/picture/picture_recipe.h"

#include <string.h>

#include "emu/base/fp.h"
#include "models/picture/picture.h"

const char *picture_filter_name(enum picture_filter f)
{
    return f == FILTER_BILINEAR ? "bilinear" : "bicubic";
}

const char *picture_channels_name(enum picture_channels c)
{
    static const char *const name[PICTURE_ORDERS] = { "rgb", "bgr", "gray" };

    return name[c];
}

static const double imagenet_mean[3] = { 0.485, 0.456, 0.406 };
static const double imagenet_std[3] = { 0.229, 0.224, 0.225 };

struct picture_recipe picture_recipe_of_share(uint32_t width, uint32_t height, double share)
{
    struct picture_recipe r = { .width = width,
                                .height = height,
                                .cover_width = (uint32_t)(width / share),
                                .cover_height = (uint32_t)(height / share),
                                .planes = 3 };

    memcpy(r.mean, imagenet_mean, sizeof(r.mean));
    memcpy(r.std, imagenet_std, sizeof(r.std));
    return r;
}

void picture_recipe_gray(struct picture_recipe *r)
{
    r->planes = 1;
    r->channels = PICTURE_GRAY;
    for (unsigned c = 0; c < 3; c++)
        r->mean[c] = r->std[c] = 0.5;
}

struct picture_recipe picture_recipe_of(const struct net *n, const char *family)
{
    struct picture_recipe r = picture_recipe_of_share(n->resolution, n->resolution, n->crop);

    r.whose = family ? "timm's" : "its publication's";
    if (family && !strcmp(family, "torchvision")) {
        r.cover_width = (n->resolution * n->torch_resize + n->torch_side / 2) / n->torch_side;
        r.cover_height = r.cover_width;
        r.filter = n->torch_bilinear ? FILTER_BILINEAR : FILTER_BICUBIC;
        r.whose = "torchvision's";
    }
    return r;
}

struct picture_recipe picture_recipe_usual(uint32_t width, uint32_t height)
{
    struct picture_recipe r = picture_recipe_of_share(width, height, 0.875);

    r.whose = "the usual one of ImageNet";
    return r;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

enum emu_status picture_recipe_check(const struct picture_recipe *r)
{
    uint32_t side = smaller(r->width, r->height), resize = smaller(r->cover_width, r->cover_height);

    if (!side || r->width > PICTURE_SIDE_MAX || r->height > PICTURE_SIDE_MAX)
        return FAIL(USAGE, "pictures of %u x %u", r->width, r->height);
    if (resize && !r->whole && (resize < side || resize / 100 > side))
        return FAIL(USAGE, "a cut of %u x %u out of pictures whose shorter side is %u", r->width,
                    r->height, resize);
    if (r->planes == 1 && r->channels != PICTURE_GRAY)
        return FAIL(USAGE, "--channels %s: the network reads one channel, which is gray",
                    picture_channels_name(r->channels));
    return EMU_OK;
}

/* ---- in words ---- */

/* " 0.485 0.456 0.406", or one of them if all are equal. Returns the length. */
static size_t put_numbers(char *out, size_t bytes, const double v[3])
{
    int equal = v[0] == v[1] && v[1] == v[2];
    int n = snprintf(out, bytes, equal ? " %g" : " %g %g %g", v[0], v[1], v[2]);

    return (size_t)n < bytes ? (size_t)n : bytes - 1;
}

char *picture_normal_text(const struct picture_recipe *r, char out[NORMAL_TEXT])
{
    size_t n = (size_t)snprintf(out, NORMAL_TEXT, "%s, %s", picture_channels_name(r->channels),
                                r->bytes ? "as bytes" : "mean");

    if (!r->bytes) {
        n += put_numbers(out + n, NORMAL_TEXT - n, r->mean);
        n += (size_t)snprintf(out + n, NORMAL_TEXT - n, ", deviation");
        put_numbers(out + n, NORMAL_TEXT - n, r->std);
    }
    return out;
}

static int is_usual(const struct picture_recipe *r)
{
    return r->channels == PICTURE_RGB && !r->bytes &&
           !memcmp(r->mean, imagenet_mean, sizeof(r->mean)) &&
           !memcmp(r->std, imagenet_std, sizeof(r->std));
}

char *picture_recipe_text(const struct picture_recipe *r, char out[RECIPE_TEXT])
{
    const char *filter = picture_filter_name(r->filter);
    char resize[64] = "not resized, middle", normal[NORMAL_TEXT];

    if (r->whole)
        snprintf(resize, sizeof(resize), "all of a picture, resized (%s) to", filter);
    else if (r->cover_width && r->cover_width == r->cover_height)
        snprintf(resize, sizeof(resize), "shorter side to %u (%s), middle", r->cover_width, filter);
    else if (r->cover_width)
        snprintf(resize, sizeof(resize), "resized to cover %u x %u (%s), middle", r->cover_width,
                 r->cover_height, filter);
    snprintf(out, RECIPE_TEXT, "%s %u x %u (%s)%s%s", resize, r->width, r->height,
             r->whose ? r->whose : "as chosen", is_usual(r) ? "" : "; ",
             is_usual(r) ? "" : picture_normal_text(r, normal));
    return out;
}

/* ---- numbers ---- */

float picture_number(const struct picture_recipe *r, unsigned c, const uint8_t rgb[3])
{
    float v = r->channels == PICTURE_GRAY  ? (float)(rgb[0] + rgb[1] + rgb[2]) / 3
              : r->channels == PICTURE_BGR ? rgb[2 - c]
                                           : rgb[c];

    return r->bytes ? v : picture_normal(r->mean[c], r->std[c], v);
}

struct pixel_format picture_pixels(const double mean[3], const double std[3], enum elem elem)
{
    struct pixel_format f = { .elem = elem };
    struct fp_env nearest = { 0 };

    for (unsigned c = 0; c < EMU_COUNT_OF(f.table); c++) {
        for (unsigned v = 0; v < EMU_COUNT_OF(f.table[c]); v++) {
            f.number[c][v] = picture_normal(mean[c], std[c], (float)v);
            f.table[c][v] = fp_f16_from_f64((double)f.number[c][v], 0, &nearest);
        }
    }
    return f;
}
