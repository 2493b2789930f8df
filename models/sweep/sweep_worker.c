/* sweep_worker.c - a forked process, the socket to it, and what it does. */
#include "models/sweep/sweep_worker.h"

#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/profile/sweep_store.h"
#include "models/sweep/sweep_measure.h"

enum { READ_BYTES = 65536, HOST_BYTES = 64, MESSAGE_MAX = 1 << 26 };

/* ---- messages ---- */

/* Returns 0 when the other end is gone. */
static int write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;

    while (bytes) {
        ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        at += n;
        bytes -= (size_t)n;
    }
    return 1;
}

static int write_message(int fd, const char *text, size_t bytes)
{
    uint32_t n = (uint32_t)bytes;

    return write_all(fd, &n, sizeof(n)) && write_all(fd, text, bytes);
}

/* Takes over o; 0: it could not be sent. */
static int send_object(int fd, json_t *o)
{
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    int good = text && write_message(fd, text, strlen(text));

    free(text); /* allocated by jansson */
    json_decref(o);
    return good;
}

void sweep_worker_send(const struct sweep_worker *w, const char *text, size_t bytes)
{
    (void)!write_message(w->fd, text, bytes);
}

/* ---- the parent's side ---- */

static void ended(struct sweep_worker *w, char *why, size_t bytes)
{
    int status = 0;

    close(w->fd);
    w->fd = -1;
    waitpid(w->pid, &status, 0);
    ss_free(w->in);
    w->in = NULL;
    w->bytes = w->cap = 0;
    if (WIFSIGNALED(status))
        snprintf(why, bytes, "signal %d", WTERMSIG(status));
    else
        snprintf(why, bytes, "exit status %d", WEXITSTATUS(status));
}

int sweep_worker_read(struct sweep_worker *w, char *why, size_t bytes)
{
    ssize_t n;

    if (w->cap - w->bytes < READ_BYTES) {
        char *more = emu_realloc(w->in, w->bytes + 2 * READ_BYTES, 1);

        if (!more) {
            sweep_worker_end(w);
            snprintf(why, bytes, "out of host memory");
            return 0;
        }
        w->in = more;
        w->cap = w->bytes + 2 * READ_BYTES;
    }
    do {
        n = recv(w->fd, w->in + w->bytes, w->cap - w->bytes, 0);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        ended(w, why, bytes);
        return 0;
    }
    w->bytes += (size_t)n;
    return 1;
}

char *sweep_worker_message(struct sweep_worker *w, size_t *bytes)
{
    uint32_t n;
    char *text;

    if (w->bytes < sizeof(n))
        return NULL;
    memcpy(&n, w->in, sizeof(n));
    if (w->bytes - sizeof(n) < n)
        return NULL;
    text = emu_strndup(w->in + sizeof(n), n);
    *bytes = n;
    w->bytes -= sizeof(n) + n;
    memmove(w->in, w->in + sizeof(n) + n, w->bytes);
    return text;
}

void sweep_worker_end(struct sweep_worker *w)
{
    char why[40];

    if (w->fd < 0)
        return;
    kill(w->pid, SIGKILL);
    ended(w, why, sizeof(why));
}

/* ---- the worker's side ---- */

/* Reads a message into *text, owned; 0: the parent is gone. */
static int read_message(int fd, char **text, size_t *bytes)
{
    uint32_t n;

    *text = NULL;
    if (recv(fd, &n, sizeof(n), MSG_WAITALL) != sizeof(n) || n > MESSAGE_MAX)
        return 0;
    *text = emu_alloc(n + 1, 1);
    *bytes = n;
    return *text && recv(fd, *text, n, MSG_WAITALL) == (ssize_t)n;
}

struct reporter {
    int fd;
    char process[HOST_BYTES + 16];
};

static enum emu_status report(void *ctx, json_t *result)
{
    const struct reporter *r = ctx;

    return send_object(r->fd, json_pack("{s:O, s:s}", "result", result, "process", r->process))
               ? EMU_OK
               : FAIL(IO, "a result cannot be told");
}

/* One message of work; 0: the parent is gone. */
static int work(struct sweep_measurer *m, struct reporter *r, const char *text, size_t bytes)
{
    json_t *o = json_loadb(text, bytes, 0, NULL), *list = json_object_get(o, "points");
    size_t n = json_array_size(list);
    uint32_t *point = emu_alloc(n + 1, sizeof(*point));
    enum emu_status s = point && n ? EMU_OK : FAIL(NO_MEMORY, "points");

    for (size_t i = 0; s == EMU_OK && i < n; i++)
        point[i] = (uint32_t)json_integer_value(json_array_get(list, i));
    if (s == EMU_OK)
        s = sweep_measure(m, point, n, report, r);
    ss_free(point);
    json_decref(o);
    return send_object(r->fd, s == EMU_OK ? json_pack("{s:b}", "done", 1)
                                          : json_pack("{s:o}", "error", json_text(ss_error())));
}

static void be_worker(const struct sweep *s, int fd)
{
    struct reporter r = { .fd = fd };
    struct sweep_measurer m;
    char host[HOST_BYTES] = "", *text;
    size_t bytes;
    int there = 1;

    gethostname(host, sizeof(host) - 1);
    snprintf(r.process, sizeof(r.process), "%s:%d", host, (int)getpid());
    omp_set_num_threads(1);
    sweep_measurer_init(s, &m);
    while (there && read_message(fd, &text, &bytes)) {
        there = work(&m, &r, text, bytes);
        ss_free(text);
        emu_trim();
    }
    sweep_measurer_free(&m);
}

enum emu_status sweep_worker_new(const struct sweep *s, struct profile *store,
                                 const struct sweep_worker *others, size_t n,
                                 struct sweep_worker *out)
{
    pid_t parent = getpid();
    int pair[2];

    *out = (struct sweep_worker){ .fd = -1 };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return FAIL(IO, "a socket to a process: %s", strerror(errno));
    fflush(NULL);
    out->pid = fork();
    if (out->pid < 0) {
        close(pair[0]);
        close(pair[1]);
        return FAIL(IO, "a process: %s", strerror(errno));
    }
    if (out->pid > 0) {
        close(pair[1]);
        out->fd = pair[0];
        return EMU_OK;
    }
    signal(SIGINT, SIG_IGN); /* what ends the parent ends it */
    signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    for (size_t i = 0; i < n; i++) {
        if (others[i].fd >= 0)
            close(others[i].fd);
    }
    sweep_store_forget(store);
    close(pair[0]);
    be_worker(s, pair[1]);
    _exit(0);
}
