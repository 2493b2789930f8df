/* sweep_mpi.h - a sweep on many machines: rank 0 manages, every other rank passes messages on
 * between it and workers of its own (docs/sweep.md).
 *
 * A rank is only a relay and computes nothing, so that it always answers: rank 0 takes one that has
 * not been heard of for a while for dead. Only the program of `make mpi` has this; in others there
 * is one process, and mpirun is refused.
 */
#ifndef MODELS_SWEEP_MPI_H
#define MODELS_SWEEP_MPI_H

#include <stddef.h>

#include "models/sweep/sweep_point.h"

/* Whether this process was started by mpirun. */
int sweep_mpi_asked(void);
/* Joins the others. EMU_USAGE when the program has no MPI, EMU_IO. */
enum emu_status sweep_mpi_begin(void) EMU_MUST_CHECK;
unsigned sweep_mpi_rank(void);  /* 0: it manages */
unsigned sweep_mpi_ranks(void); /* 1 without MPI */

/* What a rank other than 0 does until rank 0 ends it. workers: processes that it forks. EMU_IO,
 * EMU_NO_MEMORY. */
enum emu_status sweep_mpi_relay(const struct sweep *s, unsigned workers) EMU_MUST_CHECK;

/* Messages of rank 0 to workers of other ranks and from them; a worker counts from 0. */
struct sweep_remote {
    unsigned rank, worker;
};
void sweep_mpi_send(struct sweep_remote to, const char *text, size_t bytes);
/* A message that has come, owned (ss_free); NULL: there is none. */
char *sweep_mpi_receive(struct sweep_remote *from, size_t *bytes);

/* Whether a rank has been silent for so long that it counts as dead. */
int sweep_mpi_is_dead(unsigned rank);

/* Ends MPI; rank 0 tells the others. Does nothing without MPI, or a second time. */
void sweep_mpi_end(void);

#endif
