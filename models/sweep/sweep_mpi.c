/* sweep_mpi.c - messages between ranks, and a rank as a relay. */
#include "models/sweep/sweep_mpi.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/sweep/sweep_worker.h"

int sweep_mpi_asked(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE");
}

#ifdef SUPERSTEP_MPI

#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Every rank tells the others regularly that it is alive; a rank that stays silent counts as dead.
 * The time is long because rank 0 may wait for its disk. */
enum { RELAY_MS = 20, ALIVE_S = 1, SILENCE_S = 15, MANAGER_SILENCE_S = 60, HEAD_BYTES = 4 };

static int my_rank, all_ranks = 1, began, anybody_dead;
static time_t *heard; /* owned; by rank: when it sent something last */
static time_t told;   /* when this rank said that it is alive */

static const char alive[] = "{\"alive\":true}", stop[] = "{\"stop\":true}",
                  stop_dead[] = "{\"stop\":true,\"dead\":true}";

static time_t seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

enum emu_status sweep_mpi_begin(void)
{
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
        return FAIL(IO, "MPI cannot begin");
    began = 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &all_ranks);
    heard = emu_alloc((size_t)all_ranks, sizeof(*heard));
    for (int r = 0; heard && r < all_ranks; r++)
        heard[r] = seconds_now();
    return heard ? EMU_OK : FAIL(NO_MEMORY, "ranks");
}

unsigned sweep_mpi_rank(void)
{
    return (unsigned)my_rank;
}

unsigned sweep_mpi_ranks(void)
{
    return (unsigned)all_ranks;
}

int sweep_mpi_is_dead(unsigned rank)
{
    int dead = seconds_now() - heard[rank] > (rank ? SILENCE_S : MANAGER_SILENCE_S);

    anybody_dead |= dead;
    return dead;
}

/* A message is the number of a worker and text. A rank that is dead is found by its silence, so
 * nothing here looks at errors. */
static void send_to(int rank, unsigned worker, const char *text, size_t bytes)
{
    char *data = emu_alloc(HEAD_BYTES + bytes, 1);
    uint32_t head = worker;

    if (!data)
        return;
    memcpy(data, &head, HEAD_BYTES);
    memcpy(data + HEAD_BYTES, text, bytes);
    (void)MPI_Send(data, (int)(HEAD_BYTES + bytes), MPI_BYTE, rank, 0, MPI_COMM_WORLD);
    ss_free(data);
}

void sweep_mpi_send(struct sweep_remote to, const char *text, size_t bytes)
{
    if (!sweep_mpi_is_dead(to.rank)) /* whose queue would fill up */
        send_to((int)to.rank, to.worker, text, bytes);
}

/* To rank 0 in the name of each worker, or from it to all ranks. */
static void tell_alive(unsigned workers)
{
    if (seconds_now() - told < ALIVE_S)
        return;
    told = seconds_now();
    for (unsigned i = 0; my_rank && i < workers; i++)
        send_to(0, i, alive, strlen(alive));
    for (unsigned r = 1; !my_rank && r < (unsigned)all_ranks; r++)
        sweep_mpi_send((struct sweep_remote){ .rank = r }, alive, strlen(alive));
}

char *sweep_mpi_receive(struct sweep_remote *from, size_t *bytes)
{
    MPI_Status status;
    int there = 0, n = 0;
    uint32_t head;
    char *data;

    if (!my_rank)
        tell_alive(0);
    if (MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there)
        return NULL;
    MPI_Get_count(&status, MPI_BYTE, &n);
    data = emu_alloc((size_t)n + 1, 1);
    if (!data || n < HEAD_BYTES ||
        MPI_Recv(data, n, MPI_BYTE, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS) {
        ss_free(data);
        return NULL;
    }
    heard[status.MPI_SOURCE] = seconds_now();
    memcpy(&head, data, HEAD_BYTES);
    *from = (struct sweep_remote){ (unsigned)status.MPI_SOURCE, head };
    *bytes = (size_t)n - HEAD_BYTES;
    memmove(data, data + HEAD_BYTES, *bytes);
    data[*bytes] = 0;
    return data;
}

/* ---- a relay ---- */

struct relay {
    const struct sweep *s;
    struct sweep_worker *worker; /* owned */
    struct pollfd *fd;           /* owned */
    unsigned workers;
    int stops;
};

static enum emu_status fork_worker(struct relay *r, unsigned i)
{
    struct sweep_worker w;
    enum emu_status s;

    r->worker[i].fd = -1;
    s = sweep_worker_new(r->s, NULL, r->worker, r->workers, &w);
    r->worker[i] = w;
    return s;
}

static enum emu_status pass_up(struct relay *r, unsigned i)
{
    char why[40], died[80], *text;
    size_t bytes;

    if (!sweep_worker_read(&r->worker[i], why, sizeof(why))) {
        snprintf(died, sizeof(died), "{\"died\":\"%s\"}", why);
        send_to(0, i, died, strlen(died));
        return fork_worker(r, i);
    }
    while ((text = sweep_worker_message(&r->worker[i], &bytes))) {
        send_to(0, i, text, bytes);
        ss_free(text);
    }
    return EMU_OK;
}

static void pass_down(struct relay *r)
{
    struct sweep_remote from;
    size_t bytes;
    char *text;

    while ((text = sweep_mpi_receive(&from, &bytes))) {
        if (strstr(text, "\"stop\"")) {
            r->stops = 1;
            anybody_dead = strstr(text, "\"dead\"") != NULL;
        } else if (!strstr(text, "\"alive\"") && from.worker < r->workers)
            sweep_worker_send(&r->worker[from.worker], text, bytes);
        ss_free(text);
    }
    r->stops |= sweep_mpi_is_dead(0);
}

static enum emu_status relay(struct relay *r)
{
    while (!r->stops) {
        tell_alive(r->workers);
        for (unsigned i = 0; i < r->workers; i++)
            r->fd[i] = (struct pollfd){ .fd = r->worker[i].fd, .events = POLLIN };
        poll(r->fd, r->workers, RELAY_MS);
        for (unsigned i = 0; i < r->workers; i++) {
            if (r->fd[i].revents)
                TRY(pass_up(r, i));
        }
        pass_down(r);
    }
    return EMU_OK;
}

enum emu_status sweep_mpi_relay(const struct sweep *s, unsigned workers)
{
    struct relay r = { .s = s,
                       .worker = emu_alloc(workers, sizeof(*r.worker)),
                       .fd = emu_alloc(workers, sizeof(*r.fd)) };
    enum emu_status st = r.worker && r.fd ? EMU_OK : FAIL(NO_MEMORY, "workers");

    for (unsigned i = 0; i < workers && st == EMU_OK; i++) {
        r.workers = i + 1;
        st = fork_worker(&r, i);
    }
    if (st == EMU_OK)
        st = relay(&r);
    anybody_dead |= st != EMU_OK; /* the other ranks go on without this one */
    for (unsigned i = 0; i < r.workers; i++)
        sweep_worker_end(&r.worker[i]);
    ss_free(r.worker);
    ss_free(r.fd);
    return st;
}

void sweep_mpi_end(void)
{
    if (!began)
        return;
    for (unsigned r = 1; !my_rank && r < (unsigned)all_ranks; r++)
        (void)sweep_mpi_is_dead(r);
    for (unsigned r = 1; !my_rank && r < (unsigned)all_ranks; r++) {
        const char *text = anybody_dead ? stop_dead : stop;

        sweep_mpi_send((struct sweep_remote){ .rank = r }, text, strlen(text));
    }
    if (!anybody_dead)
        MPI_Finalize(); /* waits for all */
    ss_free(heard);
    heard = NULL;
    began = 0;
}

#else

enum emu_status sweep_mpi_begin(void)
{
    return FAIL(USAGE,
                "this program was built without MPI, and under mpirun each process would do the "
                "same: `make mpi` builds superstep-mpi");
}

unsigned sweep_mpi_rank(void)
{
    return 0;
}

unsigned sweep_mpi_ranks(void)
{
    return 1;
}

enum emu_status sweep_mpi_relay(const struct sweep *s, unsigned workers)
{
    (void)s;
    (void)workers;
    return EMU_OK;
}

void sweep_mpi_send(struct sweep_remote to, const char *text, size_t bytes)
{
    (void)to;
    (void)text;
    (void)bytes;
}

char *sweep_mpi_receive(struct sweep_remote *from, size_t *bytes)
{
    (void)from;
    (void)bytes;
    return NULL;
}

int sweep_mpi_is_dead(unsigned rank)
{
    (void)rank;
    return 0;
}

void sweep_mpi_end(void)
{
}

#endif
