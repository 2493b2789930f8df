/* sweep_thing.h - manifests and images that are swept: what is known of them before a point is.
 */
#ifndef MODELS_SWEEP_THING_H
#define MODELS_SWEEP_THING_H

#include "emu/job/run_image.h"
#include "models/sweep/sweep_axes.h"

/* Reads the manifest or image that a request names; all NULL for what is compiled. EMU_USAGE for
 * an image whose tiles read streams, since nothing says what is in them; errors of the readers.
 * Free with sweep_thing_free, also on failure. */
enum emu_status sweep_thing_open(const struct request *q, struct sweep_thing *out) EMU_MUST_CHECK;
void sweep_thing_free(struct sweep_thing *t);

/* Whether the request is about one of these. */
int sweep_is_thing(const struct request *q);
/* The machine that the file says it is for. */
const struct arch *sweep_thing_arch(const struct sweep_thing *t);
/* Whether the host takes part in its runs, so that their cycles depend on the link to it. */
int sweep_thing_has_host(const struct sweep_thing *t);

/* Parameters of a manifest that a user may set: all but those that follow from others, whose low
 * and high are one expression. */
int sweep_thing_sets(const struct sweep_thing *t, const char *name);

/* EMU_USAGE for a field, or the number of chips, that no run of the file reads. */
enum emu_status sweep_thing_check(const struct sweep_thing *t,
                                  const struct arch_field *f) EMU_MUST_CHECK;

#endif
