/* sweep_page.h - a sweep as a page that opens from disk and needs nothing else: plots of cycles and
 * memory, the Pareto front, a line for each varied field (sweep_page.html). */
#ifndef EMU_SWEEP_PAGE_H
#define EMU_SWEEP_PAGE_H

#include "emu/profile/profile_store.h"

/* Errors: those of sweep_report_json(); whoever commits the file asks for others. */
enum emu_status sweep_page_write(struct profile *p, FILE *f) EMU_MUST_CHECK;

#endif
