/* feed_file.h - reads a picture from a file that may turn out to be anything, without ever waiting
 * for it or taking more memory than a picture may need.
 */
#ifndef MODELS_FEED_FILE_H
#define MODELS_FEED_FILE_H

#include "models/picture/picture.h"

/* Opens, reads and decodes; messages and errors as of feed_file_read(). Free *whole with
 * picture_free. */
enum emu_status feed_file_decode(const char *path, uint64_t pixels_max,
                                 struct picture *whole) EMU_MUST_CHECK;
/* All bytes of a file, at most `most`; *data is owned by the caller. Messages and errors as of
 * feed_file_read(). */
enum emu_status feed_file_bytes(const char *path, uint64_t most, uint8_t **data,
                                size_t *bytes) EMU_MUST_CHECK;

/* Opens, reads, decodes, resizes and cuts. Messages say what is wrong without naming the file.
 * Errors: EMU_IO and EMU_BAD_FILE mean that the file is bad; EMU_NO_MEMORY. Free *cut with
 * picture_free. */
enum emu_status feed_file_read(const char *path, const struct picture_recipe *r,
                               uint64_t pixels_max, struct picture *cut) EMU_MUST_CHECK;

#endif
