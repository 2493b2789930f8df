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

struct picture_recipe picture_recipe_of_share(uint32_t side, double share)
{
    return (struct picture_recipe){ .side = side,
                                    .resize = (uint32_t)(side / share),
                                    .mean = { 0.485, 0.456, 0.406 },
                                    .std = { 0.229, 0.224, 0.225 } };
}

struct picture_recipe picture_recipe_of(const struct net *n, const char *family)
{
    struct picture_recipe r = picture_recipe_of_share(n->resolution, n->crop);

    r.whose = family ? "timm's" : "its publication's";
    if (family && !strcmp(family, "torchvision")) {
        r.resize = (n->resolution * n->torch_resize + n->torch_side / 2) / n->torch_side;
        r.filter = n->torch_bilinear ? FILTER_BILINEAR : FILTER_BICUBIC;
        r.whose = "torchvision's";
    }
    return r;
}

struct picture_recipe picture_recipe_usual(uint32_t side)
{
    struct picture_recipe r = picture_recipe_of_share(side, 0.875);

    r.whose = "the usual one of ImageNet";
    return r;
}

enum emu_status picture_recipe_check(const struct picture_recipe *r)
{
    if (!r->side || r->side > PICTURE_SIDE_MAX)
        return FAIL(USAGE, "pictures of %u x %u", r->side, r->side);
    if (r->resize && (r->resize < r->side || r->resize / 100 > r->side))
        return FAIL(USAGE, "a cut of %u x %u out of pictures whose shorter side is %u", r->side,
                    r->side, r->resize);
    return EMU_OK;
}

char *picture_recipe_text(const struct picture_recipe *r, char out[RECIPE_TEXT])
{
    char resize[64] = "not resized";

    if (r->resize)
        snprintf(resize, sizeof(resize), "shorter side to %u (%s)", r->resize,
                 picture_filter_name(r->filter));
    snprintf(out, RECIPE_TEXT, "%s, middle %u x %u (%s)", resize, r->side, r->side,
             r->whose ? r->whose : "as chosen");
    return out;
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
