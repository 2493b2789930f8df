/* sweep_pool.h - the workers of a sweep: processes of this machine and, under mpirun, of others.
 * One process manages: it alone has the file, gives out images, and takes results. A worker that
 * dies is replaced, and its points are given to another one.
 */
#ifndef MODELS_SWEEP_POOL_H
#define MODELS_SWEEP_POOL_H

#include "models/sweep/sweep_file.h"

/* Executes what is not done. Progress goes to stderr unless the request is quiet.
 *
 * given_up  points that are left, because their process died SWEEP_DEATHS times; the same command
 *           tries them again
 * Errors    of the host, as a worker has told them; those of sweep_file_add() */
enum { SWEEP_DEATHS = 3 };
enum emu_status sweep_pool_run(struct sweep_file *f, uint32_t *given_up) EMU_MUST_CHECK;

#endif
