/* model_chart.h - the answer as a picture (SVG): the cycles of every block of the network, and what
 * the bytes of all tiles are for. */
#ifndef MODELS_MODEL_CHART_H
#define MODELS_MODEL_CHART_H

#include <stdio.h>

#include "models/run/model_report.h"

/* Creates or replaces a file. Without a run only memory is drawn. Errors: EMU_IO (the message names
 * file and reason; nothing else is lost), EMU_NO_MEMORY. */
enum emu_status model_chart(const struct model_answer *m, const char *path) EMU_MUST_CHECK;
/* The same into an open file, which may have an error afterwards. */
enum emu_status model_chart_draw(const struct model_answer *m, FILE *f) EMU_MUST_CHECK;

#endif
