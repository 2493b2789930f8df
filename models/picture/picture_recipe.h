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

/* What the channels of a network read. PICTURE_GRAY: the mean of the three colours, each of them.
 */
enum picture_channels { PICTURE_RGB, PICTURE_BGR, PICTURE_GRAY, PICTURE_ORDERS };
/* "rgb" */
const char *picture_channels_name(enum picture_channels c);

struct picture_recipe {
    uint32_t width, height; /* of the part that is cut out of the middle, which the network reads */
    /* Before the cut the picture is resized, keeping its form, until it just covers these; 0: it
     * keeps its size. If both are equal, its shorter side gets this size. */
    uint32_t cover_width, cover_height;
    int whole; /* 1: nothing is cut; the whole picture is resized to this size, whatever its form */
    enum picture_filter filter;
    unsigned planes; /* channels of the network: 1 or 3 */
    enum picture_channels channels;
    int bytes;              /* 1: the network reads 0 to 255, and nothing is normalised */
    double mean[3], std[3]; /* by channel of the network: (v / 255 - mean) / std */
    const char *whose;      /* "timm's"; NULL: chosen by the user */
};

/* The cut is this share of the largest one of its form, above 0.01 and at most 1; bicubic, three
 * channels, ImageNet's mean and deviation. */
struct picture_recipe picture_recipe_of_share(uint32_t width, uint32_t height, double share);
/* One plane of gray, normalised to -1 to 1. */
void picture_recipe_gray(struct picture_recipe *r);
/* The recipe of a network for its pictures. family: as in struct weights; NULL: no file of weights,
 * then that of the network's own publication. */
struct picture_recipe picture_recipe_of(const struct net *n, const char *family);
/* The usual one of ImageNet, seven eighths of the shorter side, where nothing is known. */
struct picture_recipe picture_recipe_usual(uint32_t width, uint32_t height);
/* EMU_USAGE: the shorter side is less than what is cut out of it, or a size is out of range; or
 * colours for a network of one channel. */
enum emu_status picture_recipe_check(const struct picture_recipe *r) EMU_MUST_CHECK;

/* "shorter side to 384 (bicubic), middle 380 x 380 (torchvision's)"; what is not usual of channels
 * and numbers follows: "; bgr, mean 0, deviation 1". Returns out. */
enum { RECIPE_TEXT = 256 };
char *picture_recipe_text(const struct picture_recipe *r, char out[RECIPE_TEXT]);
/* "gray, mean 0.5, deviation 0.5"; "rgb, as bytes". Returns out. */
enum { NORMAL_TEXT = 128 };
char *picture_normal_text(const struct picture_recipe *r, char out[NORMAL_TEXT]);

/* The number that channel c of the network reads of a pixel's red, green and blue. */
float picture_number(const struct picture_recipe *r, unsigned c, const uint8_t rgb[3]);

/* A byte, or a mean of bytes, as the number that a network reads, in f32. */
static inline float picture_normal(double mean, double std, float v)
{
    return (v / 255.0f - (float)mean) / (float)std;
}
/* How the chip reads pictures of this type. From u8 it makes the same f16 and f32, to the bit, that
 * the host makes. */
struct pixel_format picture_pixels(const double mean[3], const double std[3], enum elem elem);

#endif
