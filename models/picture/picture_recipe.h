/* picture_recipe.h - how a picture becomes the input of a network: resized, cut, normalised.
 *
 * Families of weights were trained and measured with recipes of their own, so the recipe follows
 * the names of the tensors in the file of weights.
 */
#ifndef MODELS_PICTURE_RECIPE_H
#define MODELS_PICTURE_RECIPE_H

#include "models/net/net.h"
#include "programs/programs.h"

enum picture_filter { FILTER_BICUBIC, FILTER_BILINEAR, PICTURE_FILTERS };
/* "bicubic" */
const char *picture_filter_name(enum picture_filter f);

struct picture_recipe {
    uint32_t side;   /* of the square that is cut out of the middle, which the network takes */
    uint32_t resize; /* shorter side of the picture before that; 0: it keeps its size */
    enum picture_filter filter;
    double mean[3], std[3]; /* by channel: (v / 255 - mean) / std */
    const char *whose;      /* "timm's"; NULL: chosen by the user */
};

/* The square is this share of the shorter side, above 0.01 and at most 1; bicubic, ImageNet's mean
 * and deviation. */
struct picture_recipe picture_recipe_of_share(uint32_t side, double share);
/* The recipe of a network for its pictures. family: as in struct weights; NULL: no file of weights,
 * then that of the network's own publication. */
struct picture_recipe picture_recipe_of(const struct net *n, const char *family);
/* The usual one of ImageNet, seven eighths of the shorter side, where nothing is known. */
struct picture_recipe picture_recipe_usual(uint32_t side);
/* EMU_USAGE: the shorter side is less than what is cut out of it, or a size is out of range. */
enum emu_status picture_recipe_check(const struct picture_recipe *r) EMU_MUST_CHECK;

/* "shorter side to 384 (bicubic), middle 380 x 380 (torchvision's)". Returns out. */
enum { RECIPE_TEXT = 128 };
char *picture_recipe_text(const struct picture_recipe *r, char out[RECIPE_TEXT]);

/* A byte, or a mean of bytes, as the number that a network reads, in f32. */
static inline float picture_normal(double mean, double std, float v)
{
    return (v / 255.0f - (float)mean) / (float)std;
}
/* How the chip reads pictures of this type. From u8 it makes the same f16 and f32, to the bit, that
 * the host makes. */
struct pixel_format picture_pixels(const double mean[3], const double std[3], enum elem elem);

#endif
