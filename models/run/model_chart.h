/* model_chart.h - the answer as a picture (SVG): the cycles of every block of the network, and what
 * the bytes of all tiles are for. */
#ifndef MODELS_MODEL_CHART_H
#define MODELS_MODEL_CHART_H

#include <stdio.h>

#include "models/run/model_report.h"

/* Into an open file, which may have an error afterwards. Without a run only memory is drawn.
 * Errors: EMU_NO_MEMORY. */
enum emu_status model_chart_draw(const struct model_answer *m, FILE *f) EMU_MUST_CHECK;

#endif
