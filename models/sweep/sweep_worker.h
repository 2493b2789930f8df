/* sweep_worker.h - a process that compiles and runs points: forked from the one that manages the
 * sweep, or from a rank of MPI, and connected with it by a socket.
 *
 * Messages are JSON objects, each after its length in four bytes. To a worker: {"points": [..]},
 * numbers from 0 that have the same image. From it: {"result": {..}, "process": "HOST:PID"} for
 * each point (sweep_measure.h), then {"done": true} or {"error": text}.
 */
#ifndef MODELS_SWEEP_WORKER_H
#define MODELS_SWEEP_WORKER_H

#include <jansson.h>
#include <sys/types.h>

#include "models/sweep/sweep_point.h"

struct profile;

struct sweep_worker {
    int fd; /* owned: of the socket; -1: it has ended */
    pid_t pid;
    char *in; /* owned: what has arrived of messages */
    size_t bytes, cap;
};

/* Forks a worker; it ends with its parent, and knows nothing of store (NULL allowed) or of the
 * other workers' sockets. EMU_IO, EMU_NO_MEMORY. */
enum emu_status sweep_worker_new(const struct sweep *s, struct profile *store,
                                 const struct sweep_worker *others, size_t n,
                                 struct sweep_worker *out) EMU_MUST_CHECK;
/* Sends a message. A worker that has ended is found by reading. */
void sweep_worker_send(const struct sweep_worker *w, const char *text, size_t bytes);
/* Reads what is there. Returns 0 when the worker has ended: then `why` says how, and it is over. */
int sweep_worker_read(struct sweep_worker *w, char *why, size_t bytes);
/* The next whole message, owned by the caller (ss_free); NULL: there is none yet. */
char *sweep_worker_message(struct sweep_worker *w, size_t *bytes);
/* Ends it, whatever it does. */
void sweep_worker_end(struct sweep_worker *w);

#endif
