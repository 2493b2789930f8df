/* sweep_report.h - a sweep for people, as one JSON object, and as CSV. */
#ifndef EMU_SWEEP_REPORT_H
#define EMU_SWEEP_REPORT_H

#include <jansson.h>

#include "emu/profile/profile_store.h"

/* The last screen of a sweep: its points (of many those of the Pareto front), what each value of
 * each axis gives, what does not fit, what was executed, the best point. Errors: EMU_BAD_FILE,
 * EMU_NO_MEMORY. */
enum emu_status sweep_report(struct profile *p, FILE *f) EMU_MUST_CHECK;
/* All points, with keys as docs/sweep.md has them. *out: a new object. */
enum emu_status sweep_report_json(struct profile *p, json_t **out) EMU_MUST_CHECK;

enum sweep_csv { SWEEP_CSV_POINTS, SWEEP_CSV_BYTES };
enum emu_status sweep_report_csv(struct profile *p, enum sweep_csv which, FILE *f) EMU_MUST_CHECK;

#endif
