/* picture_decode.h - the decoders of picture_decode(). Messages do not name the file. */
#ifndef MODELS_PICTURE_DECODE_H
#define MODELS_PICTURE_DECODE_H

#include "models/picture/picture.h"

/* Even on failure the caller must free what p owns. */
enum emu_status jpeg_decode(const uint8_t *data, size_t bytes, uint64_t pixels_max,
                            struct picture *p) EMU_MUST_CHECK;
enum emu_status png_decode(const uint8_t *data, size_t bytes, uint64_t pixels_max,
                           struct picture *p) EMU_MUST_CHECK;

/* EMU_BAD_FILE when a side is 0 or too long, or when there are too many pixels. */
enum emu_status picture_check_size(uint32_t width, uint32_t height,
                                   uint64_t pixels_max) EMU_MUST_CHECK;
/* Checks the size and allocates the pixels of p. */
enum emu_status picture_allocate(struct picture *p, uint32_t width, uint32_t height,
                                 uint64_t pixels_max) EMU_MUST_CHECK;

#endif
