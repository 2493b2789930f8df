/* interrupt.h - SIGINT for a command that keeps what it has done. */
#ifndef MODELS_INTERRUPT_H
#define MODELS_INTERRUPT_H

#include "models/feed/feed.h"

/* From now on SIGINT ends the process with EXIT_PARTIAL and a line on stderr: nothing is done yet.
 * Stays ignored when it was, as it is for a shell's jobs in the background. */
void interrupt_catch(void);
/* From now on SIGINT stops the feed and is remembered; a second one, 100 ms later
 * or more, ends the process at once. */
void interrupt_defer(struct picture_feed *f);
/* From now on SIGINT ends the process at once, and the feed may be closed. */
void interrupt_release(void);
int interrupt_came(void); /* while deferred */

#endif
