/* sweep_point.h - what a point of a sweep means: a request and a machine; and which points have the
 * same image, or the same cycles.
 */
#ifndef MODELS_SWEEP_POINT_H
#define MODELS_SWEEP_POINT_H

#include "models/ask/model_request.h"
#include "models/sweep/sweep_axes.h"
#include "models/sweep/sweep_thing.h"

enum { SWEEP_WHY_BYTES = 512 };

struct sweep_point {
    struct request model; /* as if the point stood on the command line; owns its lists */
    struct arch arch;
    struct manifest *manifest; /* owned: for that machine; NULL: no manifest is swept, or: */
    char why[SWEEP_WHY_BYTES]; /* why the manifest is none for it, or "" */
};

/* What the command line says of a sweep. */
struct sweep {
    const struct request *q; /* borrowed */
    struct sweep_thing thing;
    struct sweep_axes axes;
    int of_chips;                /* some point is a system of several chips */
    uint32_t *image_of, *run_of; /* owned; by point: the first with the same image, same cycles */
};

/* Reads the axes, and proves for every point that its values are ones that options, parameters and
 * machine take, and that the network is there and its instructions, too. Nothing is compiled. A
 * manifest may be for some of the machines only, so its other points have a reason instead.
 *
 * Errors  EMU_USAGE, EMU_BAD_MACHINE: ss_error() begins with the point, and offers the nearest
 *         values where there are some; those of sweep_axes_read() and model_source_open(); of a
 *         manifest that is for no point the reason of the first one.
 * Free with sweep_free, also on failure. */
enum emu_status sweep_new(const struct request *q, struct sweep *out) EMU_MUST_CHECK;
void sweep_free(struct sweep *s);

/* The machine that nothing is varied of. */
enum emu_status sweep_base(const struct sweep *s, struct arch *out) EMU_MUST_CHECK;

/* The request and the machine of a point. Errors: those of sweep_new(). Free with sweep_point_free,
 * also on failure. */
enum emu_status sweep_point_new(const struct sweep *s, uint32_t point,
                                struct sweep_point *out) EMU_MUST_CHECK;
void sweep_point_free(const struct sweep *s, struct sweep_point *p);

/* Whether an error is the host's, and not the point's. */
int sweep_is_of_host(enum emu_status s);

/* What another value of an axis changes: 'compile', 'run' or 'seconds' (sweep.sql). */
const char *sweep_axis_stage(const struct sweep *s, const struct sweep_axis *a);

#endif
