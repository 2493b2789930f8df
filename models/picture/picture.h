/* picture.h - JPEG and PNG files in, [3][h][w] numbers out. */
#ifndef MODELS_PICTURE_H
#define MODELS_PICTURE_H

#include "models/net/net.h"

/* 8-bit RGB, row by row. */
struct picture {
    uint32_t width, height;
    uint8_t *rgb; /* owned */
};

enum { PICTURE_SIDE_MAX = 16384 };

/* Reads a JPEG (any subsampling, grey, CMYK) or PNG (any depth, palette, alpha over black), told by
 * its content. Errors: EMU_BAD_FILE with the decoder's words, EMU_IO, EMU_NO_MEMORY. Free with
 * picture_free. */
enum emu_status picture_read(const char *path, struct picture *out) EMU_MUST_CHECK;
enum emu_status picture_read_bytes(const void *data, size_t bytes, const char *name,
                                   struct picture *out) EMU_MUST_CHECK;
/* The same of at most pixels_max pixels, which is known before memory is taken; its messages do not
 * begin with a name. */
enum emu_status picture_decode(const void *data, size_t bytes, uint64_t pixels_max,
                               struct picture *out) EMU_MUST_CHECK;
void picture_free(struct picture *p);

/* The usual recipe of evaluation: the shorter side resized (bicubic, antialiased, as PIL does) to
 * side / crop, the centre side x side cut out. out owns side x side pixels. crop: 0.922 for B4. */
enum emu_status picture_crop(const struct picture *p, uint32_t side, double crop,
                             struct picture *out) EMU_MUST_CHECK;

/* (v / 255 - mean) / std of a picture of the net's resolution: [3][h][w], 3 x h x w floats. */
void picture_normalise(const struct picture *p, const struct net *n, float *out);

#endif
