/* interrupt.h - SIGINT for a command that ends in good order and keeps what it has done. */
#ifndef EMU_INTERRUPT_H
#define EMU_INTERRUPT_H

/* From now on SIGINT ends the process with EXIT_PARTIAL and `text` on stderr, a line that says that
 * nothing is done yet; borrowed for good. If SIGINT is ignored, as in a shell's background jobs, it
 * stays ignored. */
void interrupt_catch(const char *text);
/* From now on SIGINT is remembered, and calls stop(ctx) from the signal handler (NULL: nothing); a
 * second one, at least 100 ms later, ends the process at once. ctx is borrowed until
 * interrupt_release(). */
void interrupt_defer(void (*stop)(void *ctx), void *ctx);
/* From now on SIGINT ends the process at once; ctx is no longer used. */
void interrupt_release(void);
int interrupt_came(void); /* whether SIGINT came while it was deferred */

#endif
