/* picture_decode.h - the decoders behind picture_read_bytes(). */
#ifndef MODELS_PICTURE_DECODE_H
#define MODELS_PICTURE_DECODE_H

#include "models/picture/picture.h"

/* name is for messages. On failure the caller frees what p owns. */
enum emu_status jpeg_decode(const uint8_t *data, size_t bytes, const char *name,
                            struct picture *p) EMU_MUST_CHECK;
enum emu_status png_decode(const uint8_t *data, size_t bytes, const char *name,
                           struct picture *p) EMU_MUST_CHECK;

/* Room for the pixels of p, which owns it. EMU_BAD_FILE when a side is 0 or too long. */
enum emu_status picture_allocate(struct picture *p, uint32_t width, uint32_t height,
                                 const char *name) EMU_MUST_CHECK;

#endif
