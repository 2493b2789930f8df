/* sweep_image.h - points of a sweep of a manifest or an image: its image, its runs, its memory.
 */
#ifndef MODELS_SWEEP_IMAGE_H
#define MODELS_SWEEP_IMAGE_H

#include <jansson.h>

#include "emu/job/run_image.h"
#include "emu/profile/bill.h"
#include "models/sweep/sweep_point.h"

struct sweep_image {
    const struct sweep_point *p; /* the first of those that have the image; borrowed */
    struct image *image;         /* of a manifest owned, else the sweep's own */
    struct run *run;             /* owned; NULL: none is open */
};

/* Assembles the manifest of a point; an image is there. Errors: those of ss_manifest_build(), with
 * the first diagnostic of the assembler. Free with sweep_image_free, also on failure. */
enum emu_status sweep_image_make(const struct sweep *s, const struct sweep_point *p,
                                 struct sweep_image *out) EMU_MUST_CHECK;
void sweep_image_free(struct sweep_image *x);

/* Opens the run on machine a, with one thread; streams are read from their files, and written to
 * none. */
enum emu_status sweep_image_open(struct sweep_image *x, const struct arch *a) EMU_MUST_CHECK;
void sweep_image_close(struct sweep_image *x);
/* Runs it. EMU_FAULT: it faulted, waits for ever or came to its limit, and the manifest does not
 * expect that; EMU_BAD_PROGRAM: it left other values than the manifest expects. */
enum emu_status sweep_image_run(struct sweep_image *x) EMU_MUST_CHECK;

/* Where the cycles of a run went: the bill of the sync group that ended last, the first of several,
 * whose parts add up to the cycles of the run; words of all groups and chips. */
struct bill sweep_bill_of(const struct run *r);

/* Adds "need_bytes", "fullest_tile", "used_bytes" and "categories" to a result. */
enum emu_status sweep_image_memory(const struct sweep_image *x, json_t *result) EMU_MUST_CHECK;

#endif
