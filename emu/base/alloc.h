/* alloc.h - the only way emu/ gets memory: zeroed, overflow-checked, countable, breakable in tests.
 *
 * All functions may be called from any thread. The counters are exact only while one thread
 * allocates.
 */
#ifndef EMU_ALLOC_H
#define EMU_ALLOC_H

#include <stddef.h>

#include "emu/base/fail.h"
#include "emu/base/free.h"

/* count x size zeroed bytes, or NULL (also when the product overflows). Free with ss_free. */
void *emu_alloc(size_t count, size_t size);

/* The same at an address that is a multiple of align, a power of two. Free with ss_free; not for
 * emu_realloc. */
void *emu_alloc_aligned(size_t count, size_t size, size_t align);

/* Grows or shrinks p to count x size bytes; new bytes are not zeroed. NULL leaves p valid. */
void *emu_realloc(void *p, size_t count, size_t size);

char *emu_strdup(const char *s);            /* NULL when out of memory */
char *emu_strndup(const char *s, size_t n); /* at most n bytes */

/* Gives freed memory back to the system, including memory that other threads freed. Call it after a
 * stage that needed much memory. Has no effect on results. */
void emu_trim(void);

/* Address space of `bytes` zero bytes that costs no host memory until it is touched. NULL on
 * failure. */
void *emu_reserve(size_t bytes);
void emu_unreserve(void *p, size_t bytes);

/* Makes room for one more element: doubles *p (owned, element size `size`) when len == *cap. */
enum emu_status emu_grow(void **p, size_t len, size_t *cap, size_t size) EMU_MUST_CHECK;

/* For tests: makes the nth allocation from now fail (0: the next one); -1 switches this off. */
void alloc_test_fail_at(long nth);
long alloc_live(void); /* blocks allocated and not yet freed */

#endif
