/* picture.h - reads JPEG and PNG files, cuts and normalises them. */
#ifndef MODELS_PICTURE_H
#define MODELS_PICTURE_H

#include "models/picture/picture_recipe.h"

/* 8-bit RGB, row by row. */
struct picture {
    uint32_t width, height;
    uint8_t *rgb; /* owned */
};

enum { PICTURE_SIDE_MAX = 16384 };

/* Reads a JPEG (any subsampling, grey, CMYK) or PNG (any depth, palette, alpha over black); which
 * of them is seen from the content. Errors: EMU_BAD_FILE with the decoder's message, EMU_IO,
 * EMU_NO_MEMORY. Free with picture_free. */
enum emu_status picture_read(const char *path, struct picture *out) EMU_MUST_CHECK;
enum emu_status picture_read_bytes(const void *data, size_t bytes, const char *name,
                                   struct picture *out) EMU_MUST_CHECK;
/* The same, but refuses a picture of more than pixels_max pixels before taking memory for it, and
 * without a name in its messages. */
enum emu_status picture_decode(const void *data, size_t bytes, uint64_t pixels_max,
                               struct picture *out) EMU_MUST_CHECK;
void picture_free(struct picture *p);

/* Resizes (antialiased, as PIL does), then cuts out the centre, as the recipe says. *out has its
 * size; free with picture_free. Errors: those of picture_recipe_check(); EMU_BAD_FILE for a picture
 * that is smaller than the cut; EMU_NO_MEMORY. */
enum emu_status picture_crop(const struct picture *p, const struct picture_recipe *r,
                             struct picture *out) EMU_MUST_CHECK;

/* All of a picture in another size, by the same filter. Errors: EMU_BAD_FILE (a side is 0 or too
 * long), EMU_NO_MEMORY. Free *out with picture_free. */
enum emu_status picture_resize(const struct picture *p, uint32_t width, uint32_t height,
                               struct picture *out) EMU_MUST_CHECK;

/* The numbers of a picture of the recipe's size. out: [planes][h][w], the caller's. */
void picture_normalise(const struct picture *p, const struct picture_recipe *r, float *out);

#endif
