/* parallel.h - the same work on many tiles, steps or sets, by all threads.
 *
 * What it does must not depend on the order or on the thread. Of several failures, the one of the
 * lowest number is reported, whatever thread came first.
 */
#ifndef PROGRAMS_PARALLEL_H
#define PROGRAMS_PARALLEL_H

#include "emu/emu.h"

/* The number of threads that a request stands for; 0: as many as there are cores. At least 1. */
unsigned parallel_threads(unsigned threads);

/* Does number i. thread: below parallel_threads(), for scratch memory. */
typedef enum emu_status parallel_work(void *ctx, uint32_t i, unsigned thread);

/* Does all numbers below n, also after a failure. ss_error() is as the work has set it. */
enum emu_status parallel_each(uint32_t n, unsigned threads, parallel_work *work,
                              void *ctx) EMU_MUST_CHECK;

#endif
