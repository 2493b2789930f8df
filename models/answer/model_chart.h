/* model_chart.h - the answer as a picture (SVG): the cycles of every block of the network, and the
 * bytes of every tile by what they are for. */
#ifndef MODELS_MODEL_CHART_H
#define MODELS_MODEL_CHART_H

#include <stdio.h>

#include "models/answer/model_report.h"

/* Draws into an open file; the caller checks that for errors of writing. Without a run only memory
 * is drawn. Errors: EMU_NO_MEMORY. */
enum emu_status model_chart_draw(const struct model_answer *m, FILE *f) EMU_MUST_CHECK;

#endif
