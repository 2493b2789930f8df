/* feed_file.h - a picture from a file that may be anything: never waits, never takes more memory
 * than a picture may need.
 */
#ifndef MODELS_FEED_FILE_H
#define MODELS_FEED_FILE_H

#include "models/picture/picture.h"

/* Opens, reads, decodes, resizes and cuts. Messages say what is wrong, without the path. Errors:
 * EMU_IO, EMU_BAD_FILE: the file is bad; EMU_NO_MEMORY. cut: free it with picture_free. */
enum emu_status feed_file_read(const char *path, uint32_t side, double crop, uint64_t pixels_max,
                               struct picture *cut) EMU_MUST_CHECK;

#endif
