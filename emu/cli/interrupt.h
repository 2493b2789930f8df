/* interrupt.h - SIGINT and SIGTERM for a command that ends in good order and keeps what it has
 * done: an interrupt is either of them. */
#ifndef EMU_INTERRUPT_H
#define EMU_INTERRUPT_H

/* From now on an interrupt ends the process with EXIT_PARTIAL and `text` on stderr, a line that
 * says that nothing is done yet; borrowed for good. A signal that is ignored, as SIGINT in a
 * shell's background jobs, stays ignored. */
void interrupt_catch(const char *text);
/* From now on an interrupt is remembered, and calls stop(ctx) from the signal handler (NULL:
 * nothing); a second one, at least 100 ms later, ends the process at once. ctx is borrowed until
 * interrupt_release(). */
void interrupt_defer(void (*stop)(void *ctx), void *ctx);
/* From now on an interrupt ends the process at once; ctx is no longer used. */
void interrupt_release(void);
int interrupt_came(void); /* whether one came while it was deferred */

#endif
