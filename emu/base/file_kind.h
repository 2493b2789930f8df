/* file_kind.h - what a file is that was taken for another: by its first bytes. */
#ifndef EMU_FILE_KIND_H
#define EMU_FILE_KIND_H

#include <stddef.h>

/* What a file was wanted for. */
enum file_use { FILE_TO_RUN, FILE_OF_WEIGHTS };

/* What is known by its first bytes, can neither be run nor be read as a network, and what to do
 * with it: "a PNG picture: superstep run NETWORK --image FILE takes it". bytes may be a part of the
 * file, but not none of one that has some. NULL: nothing that is known, or what was wanted. The
 * text stays until the thread asks again. */
const char *file_kind(const void *data, size_t bytes, enum file_use use);

#endif
