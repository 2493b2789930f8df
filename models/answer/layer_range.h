/* layer_range.h - the f16 numbers that each layer's codelets left in memory during a run: the
 * largest magnitude, and how many are at the end of the range.
 */
#ifndef MODELS_LAYER_RANGE_H
#define MODELS_LAYER_RANGE_H

#include <jansson.h>
#include <stdio.h>

#include "models/answer/layer_cycles.h"

/* Results of a layer, those between its codelets included. */
struct layer_range {
    uint64_t numbers, saturated; /* saturated: +-65504, or no numbers */
    double largest;              /* magnitude of those that are numbers */
};

/* By row of k, all 0, for a session with ranges. *out is owned by the caller; NULL if the session
 * has none. EMU_NO_MEMORY. */
enum emu_status layer_ranges_new(const struct layer_cycles *k, const struct session *s,
                                 struct layer_range **out) EMU_MUST_CHECK;
/* Adds what was seen on a chip, whose rows these are, after runs with session_options.ranges. out:
 * by row of k. */
void layer_ranges_add(const struct layer_cycles *k, const struct session *s, unsigned chip,
                      struct layer_range *out);
/* Rows that have numbers, and the largest of all; as JSON a list. NULL when out of memory. */
void layer_ranges_print(const struct layer_cycles *k, const struct layer_range *range, FILE *f);
json_t *layer_ranges_json(const struct layer_cycles *k, const struct layer_range *range);

#endif
