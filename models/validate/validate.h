/* validate.h - `superstep validate`: what silicon and the vendor's tools are known to do, beside
 * what is executed here.
 *
 *   models/answer/published.def  the figures, one row each
 *   validate_amp.c        a matrix codelet on one tile
 *   validate_machine.c    exchange, sync, supersteps, host
 *   validate_network.c    layers, and what fits a chip
 *   cmd_validate.c        the table
 */
#ifndef MODELS_VALIDATE_H
#define MODELS_VALIDATE_H

#include "emu/base/progress.h"
#include "emu/cli/request.h"
#include "models/validate/amp_points.h"

struct validation {
    const struct request *q; /* borrowed */
    struct progress progress;
    struct amp_fit fit[AMP_KERNELS]; /* made when first asked for */
};

/* What a measurement has found. */
struct outcome {
    double value;
    char skipped[128]; /* why there is no value; "": there is one */
};

/* Finds our figure for a row, or says why it cannot. Errors are those of the runs it takes. */
typedef enum emu_status measure_figure(struct validation *v, struct outcome *o);

#define GROUP(title)
#define FIGURE(id, low, high, unit, evidence, measure, what, source, why) measure_figure measure;
#include "models/answer/published.def"

/* `superstep validate`. Exit code: 0, unless something did not run. */
int cmd_validate(const struct request *q);

#endif
