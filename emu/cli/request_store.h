/* request_store.h - what fills a request: for command_line.c, and for tests. */
#ifndef EMU_REQUEST_STORE_H
#define EMU_REQUEST_STORE_H

#include "emu/cli/options.h"

/* Keeps the value of an option; arg NULL: it has none. EMU_USAGE with "--NAME: ..." for a value
 * that is none of its kind, EMU_NO_MEMORY. q: of request_new(). */
enum emu_status request_store(struct request *q, const struct option_row *o,
                              const char *arg) EMU_MUST_CHECK;
/* Whether everything that was given is for q->use and fits together. EMU_USAGE says what does not.
 */
enum emu_status request_check(const struct request *q) EMU_MUST_CHECK;
/* Whether nothing was given that is for a command that is typed (TYPED of options_begin.inc).
 * EMU_USAGE. */
enum emu_status request_check_called(const struct request *q) EMU_MUST_CHECK;
/* An empty request of all floors; NULL when out of memory. Free with request_free (NULL allowed).
 */
struct request *request_new(const struct command *c);
void request_free(struct request *q);

#endif
