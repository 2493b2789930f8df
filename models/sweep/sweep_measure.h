/* sweep_measure.h - points of a sweep, compiled and run: what a process does with points that have
 * the same image.
 */
#ifndef MODELS_SWEEP_MEASURE_H
#define MODELS_SWEEP_MEASURE_H

#include <jansson.h>

#include "models/ask/model_source.h"
#include "models/sweep/sweep_point.h"

/* What a process keeps from image to image. */
struct sweep_measurer {
    const struct sweep *sweep;  /* borrowed */
    struct model_source source; /* owned: the network of the last image, with its parameters */
    char *source_key;           /* owned; NULL: there is none */
};

void sweep_measurer_init(const struct sweep *s, struct sweep_measurer *out);
void sweep_measurer_free(struct sweep_measurer *m);

/* Takes the result of a point: {"point": from 1, "status", "message", "categories": [[name, bytes,
 * bytes on the fullest tile], ..], "work": [[stage, seconds], ..], and the columns of the table
 * results (emu/profile/sweep.sql) as far as they are known, without seconds}; borrowed. An error
 * ends the work. */
typedef enum emu_status sweep_result_visit(void *ctx, json_t *result);

/* Compiles the image of the first of these points, or finds it in the cache, and runs it for each
 * of them. All have the same image and different cycles. A point that does not fit, faults or
 * cannot be built is a result, too. Uses one thread. Errors: EMU_NO_MEMORY, EMU_IO: of the host,
 * not of the points; those of visit. */
enum emu_status sweep_measure(struct sweep_measurer *m, const uint32_t *point, size_t points,
                              sweep_result_visit *visit, void *ctx) EMU_MUST_CHECK;

#endif
