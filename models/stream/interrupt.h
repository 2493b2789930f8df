/* interrupt.h - SIGINT for a command that ends in good order and keeps what it has done. */
#ifndef MODELS_INTERRUPT_H
#define MODELS_INTERRUPT_H

#include "models/feed/feed.h"

/* From now on SIGINT ends the process with EXIT_PARTIAL and a line on stderr, since nothing is done
 * yet. If SIGINT is ignored, as in a shell's background jobs, it stays ignored. */
void interrupt_catch(void);
/* From now on SIGINT stops the feed and is remembered; a second one, at least 100 ms later, ends
 * the process at once. f is borrowed until interrupt_release(). */
void interrupt_defer(struct picture_feed *f);
/* From now on SIGINT ends the process at once, and the feed may be closed. */
void interrupt_release(void);
int interrupt_came(void); /* whether SIGINT came while it was deferred */

#endif
