/* report_page.h - a profile as one HTML file that needs nothing beside it: docs/profile.md. */
#ifndef EMU_REPORT_PAGE_H
#define EMU_REPORT_PAGE_H

#include "emu/profile/profile_store.h"

/* Writes the page. Errors: EMU_BAD_FILE, EMU_NO_MEMORY; whoever commits the file asks for errors of
 * f. */
enum emu_status report_page_write(struct profile *p, FILE *f) EMU_MUST_CHECK;

#endif
