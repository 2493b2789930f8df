/* sweep_file.h - a sweep in its file: what it is, which points are done, new results.
 */
#ifndef MODELS_SWEEP_FILE_H
#define MODELS_SWEEP_FILE_H

#include <jansson.h>

#include "emu/profile/sweep_store.h"
#include "models/sweep/sweep_point.h"

struct sweep_file {
    const struct sweep *sweep; /* borrowed */
    struct profile *store;     /* owned */
    uint8_t *done;             /* owned; by point, 1: it has a result */
    uint32_t dones;
};

/* Opens the file q->output, or makes it. EMU_USAGE when it holds a sweep that something else
 * defines: ss_error() names the first difference; errors of sweep_store_open(). Free with
 * sweep_file_close, also on failure. */
enum emu_status sweep_file_open(const struct sweep *s, struct sweep_file *out) EMU_MUST_CHECK;
void sweep_file_close(struct sweep_file *f);

/* Adds the result of a point (sweep_measure.h) and those of all points with the same cycles, in one
 * transaction; process: who executed it. Does nothing when it is there. *added: points that it has
 * now and had not before. EMU_IO, EMU_NO_MEMORY. */
enum emu_status sweep_file_add(struct sweep_file *f, const json_t *result, const char *process,
                               uint32_t *added) EMU_MUST_CHECK;

#endif
