/* image_file.h - images as files: a program for a whole machine, as ss_graph_compile() makes it and
 * `superstep run FILE.img` runs it. image.h says what is in one.
 */
#ifndef EMU_IMAGE_FILE_H
#define EMU_IMAGE_FILE_H

#include <stddef.h>

#include "emu/base/api.h"
#include "emu/base/status.h"

SUPERSTEP_API_BEGIN

struct arch;
struct image;

void ss_image_free(struct image *im);
/* The machine that it is for; borrowed. */
const struct arch *ss_image_arch(const struct image *im);

/* Format: docs/image.md.
 *
 * The writer is deterministic: equal images give equal files (with one release of zstd). It writes
 * a new file next to path and then renames it, so a failure leaves the old file alone; it writes to
 * a device or pipe directly. EMU_IO when it cannot write, EMU_BAD_IMAGE when the blobs need more
 * than the memory of all tiles or a table more than 1 GiB. The reader trusts nothing: a damaged,
 * truncated, oversized or hostile file gives EMU_BAD_IMAGE with file, offset and what was expected.
 * It needs the image's memory and 16 MiB, or the bytes of one table; it uses all threads. */
enum emu_status ss_image_write(const struct image *im, const char *path) EMU_MUST_CHECK;
enum emu_status ss_image_read(const char *path, struct image **out) EMU_MUST_CHECK;
enum emu_status ss_image_read_bytes(const void *data, size_t bytes, const char *name_for_messages,
                                    struct image **out) EMU_MUST_CHECK;

/* The same for runs of the timing engine only: of a program that it can run, contents of memory
 * that are nothing but numbers are left zero. Their checksums are proven, but they are not
 * unpacked. */
enum emu_status ss_image_read_for_timing(const char *path, struct image **out) EMU_MUST_CHECK;
enum emu_status ss_image_read_bytes_for_timing(const void *data, size_t bytes,
                                               const char *name_for_messages,
                                               struct image **out) EMU_MUST_CHECK;

SUPERSTEP_API_END

#endif
