/* run_in_memory.h - streams of a run that may go back: files are read before it, and what would go
 * into a file stays in memory. */
#ifndef EMU_RUN_IN_MEMORY_H
#define EMU_RUN_IN_MEMORY_H

#include "emu/job/run_file.h"

/* As run_stream_of_chip() (run_image.h) and ss_run_manifest_streams() (run_file.h). */
enum emu_status run_stream_in_memory(struct run *r, int64_t chip, uint32_t id, const char *path,
                                     int repeat) EMU_MUST_CHECK;
enum emu_status run_manifest_streams_in_memory(struct run *r,
                                               const struct manifest *m) EMU_MUST_CHECK;

#endif
