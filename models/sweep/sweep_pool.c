/* sweep_pool.c - the manager of a sweep. */
#include "models/sweep/sweep_pool.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/base/progress.h"
#include "models/sweep/sweep_mpi.h"
#include "models/sweep/sweep_worker.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, threads)
OPTION_READ(FLAG, quiet)

enum {
    WAIT_MS = 1000, /* for workers of this machine */
    PROBE_MS = 10,  /* the same when there are others */
    TEXT_MAX = 200,
    NO_JOB = -1
};

/* The points of an image that are to be executed. */
struct sweep_job {
    uint32_t image;  /* the first point that has it */
    unsigned deaths; /* of those who had the job */
    enum { JOB_WAITS, JOB_RUNS, JOB_OVER } state;
};

/* A worker, on this machine or another one. */
struct worker_link {
    struct sweep_worker local; /* fd -1: elsewhere, or it has ended */
    struct sweep_remote remote;
    int is_remote, dead;
    long job; /* NO_JOB */
};

struct worker_pool {
    struct sweep_file *f;
    const struct sweep *s;
    struct sweep_job *job; /* owned */
    uint32_t jobs, over, given_up;
    struct worker_link *link; /* owned; those of this machine first */
    size_t links, cap;
    struct progress progress;
    time_t began;
};

static time_t seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* ---- jobs ---- */

static int is_open(const struct worker_pool *p, uint32_t point)
{
    return p->s->run_of[point] == point && !p->f->done[point];
}

static enum emu_status list_jobs(struct worker_pool *p)
{
    uint32_t *of = emu_alloc(p->s->axes.points, sizeof(*of)); /* by image: its job + 1 */

    p->job = emu_alloc(p->s->axes.points, sizeof(*p->job));
    if (!p->job || !of) {
        ss_free(of);
        return FAIL(NO_MEMORY, "a sweep");
    }
    for (uint32_t i = 0; i < p->s->axes.points; i++) {
        uint32_t image = p->s->image_of[i];

        if (!is_open(p, i) || of[image])
            continue;
        p->job[p->jobs] = (struct sweep_job){ .image = image };
        of[image] = ++p->jobs;
    }
    ss_free(of);
    return EMU_OK;
}

/* {"points": [..]} of what is left of a job; owned, free(). */
static char *job_text(const struct worker_pool *p, const struct sweep_job *j)
{
    json_t *o = json_pack("{s:[]}", "points");
    char *text;

    for (uint32_t i = j->image; i < p->s->axes.points; i++) {
        if (p->s->image_of[i] == j->image && is_open(p, i))
            json_array_append_new(json_object_get(o, "points"), json_integer(i));
    }
    text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return text;
}

/* Gives a link something to do, if there is something. */
static enum emu_status give_job(struct worker_pool *p, struct worker_link *l)
{
    uint32_t i = 0;
    char *text;

    while (i < p->jobs && p->job[i].state != JOB_WAITS)
        i++;
    if (i == p->jobs)
        return EMU_OK;
    text = job_text(p, &p->job[i]);
    if (!text)
        return FAIL(NO_MEMORY, "a sweep");
    if (l->is_remote)
        sweep_mpi_send(l->remote, text, strlen(text));
    else
        sweep_worker_send(&l->local, text, strlen(text));
    free(text); /* allocated by jansson */
    l->job = i;
    p->job[i].state = JOB_RUNS;
    return EMU_OK;
}

static enum emu_status give_jobs(struct worker_pool *p)
{
    for (size_t i = 0; i < p->links; i++) {
        if (p->link[i].job == NO_JOB && !p->link[i].dead)
            TRY(give_job(p, &p->link[i]));
    }
    return EMU_OK;
}

/* What is left of a job is not tried again. */
static void end_job(struct worker_pool *p, struct sweep_job *j)
{
    j->state = JOB_OVER;
    p->over++;
    for (uint32_t i = 0; i < p->s->axes.points; i++)
        p->given_up += p->s->image_of[i] == j->image && !p->f->done[i];
}

/* The host failed the worker that had the job; the job's other points may still be possible. */
static void give_up(struct worker_pool *p, struct worker_link *l, const char *why)
{
    struct sweep_job *j = l->job == NO_JOB ? NULL : &p->job[l->job];
    char text[TEXT_MAX];

    l->job = NO_JOB;
    if (!j || j->state != JOB_RUNS)
        return;
    sweep_point_text(&p->s->axes, j->image, text, sizeof(text));
    fprintf(stderr, "superstep sweep: %s: %s: given up\n", text, why);
    end_job(p, j);
}

/* The worker that had the job is dead: another one gets the job, unless that has happened too
 * often. */
static void return_job(struct worker_pool *p, struct worker_link *l, const char *why)
{
    struct sweep_job *j = l->job == NO_JOB ? NULL : &p->job[l->job];
    char text[TEXT_MAX];

    l->job = NO_JOB;
    if (!j || j->state != JOB_RUNS)
        return;
    j->deaths++;
    sweep_point_text(&p->s->axes, j->image, text, sizeof(text));
    fprintf(stderr, "superstep sweep: the process that had %s has ended (%s)%s\n", text, why,
            j->deaths < SWEEP_DEATHS ? "; another one gets its points" : " again: given up");
    if (j->deaths < SWEEP_DEATHS)
        j->state = JOB_WAITS;
    else
        end_job(p, j);
}

/* ---- progress ---- */

/* "; 12 min left", by the images that are over. */
static void time_left(const struct worker_pool *p, char out[TEXT_MAX])
{
    uint64_t s = (uint64_t)(seconds_now() - p->began);

    out[0] = 0;
    if (!p->over || p->over == p->jobs)
        return;
    s = s * (p->jobs - p->over) / p->over;
    if (s < 100)
        snprintf(out, TEXT_MAX, "; about %" PRIu64 " s left", s);
    else
        snprintf(out, TEXT_MAX, "; about %" PRIu64 " min left", (s + 30) / 60);
}

static void tell_result(struct worker_pool *p, const json_t *result, uint32_t added)
{
    const char *status = json_string_value(json_object_get(result, "status"));
    uint32_t point = (uint32_t)json_integer_value(json_object_get(result, "point")) - 1;
    uint64_t cycles = (uint64_t)json_integer_value(json_object_get(result, "cycles"));
    char text[TEXT_MAX], left[TEXT_MAX], more[TEXT_MAX] = "", number[32];

    sweep_point_text(&p->s->axes, point, text, sizeof(text));
    time_left(p, left);
    if (added > 1)
        snprintf(more, sizeof(more), ", as %u more", added - 1);
    snprintf(number, sizeof(number), "%u/%u", p->f->dones, p->s->axes.points);
    if (status && !strcmp(status, "ok"))
        progress_report(&p->progress, number, "%s: %s cycles%s%s", text, count_text(cycles).at,
                        more, left);
    else
        progress_report(&p->progress, number, "%s: %s%s%s", text, status, more, left);
}

/* ---- what links say ---- */

static enum emu_status take_message(struct worker_pool *p, struct worker_link *l, const char *text,
                                    size_t bytes)
{
    json_t *o = json_loadb(text, bytes, 0, NULL), *result = json_object_get(o, "result");
    const char *process = json_string_value(json_object_get(o, "process"));
    const char *error = json_string_value(json_object_get(o, "error"));
    const char *died = json_string_value(json_object_get(o, "died"));
    enum emu_status s = EMU_OK;
    uint32_t added;

    if (result && process) {
        s = sweep_file_add(p->f, result, process, &added);
        if (s == EMU_OK && added)
            tell_result(p, result, added);
    } else if (json_object_get(o, "done") && l->job != NO_JOB) {
        p->over += p->job[l->job].state == JOB_RUNS;
        p->job[l->job].state = JOB_OVER;
        l->job = NO_JOB;
    } else if (died) {
        return_job(p, l, died);
    } else if (error) {
        give_up(p, l, error);
    }
    json_decref(o);
    return s;
}

/* ---- links ---- */

/* What a child must not keep: sockets of its siblings. */
static enum emu_status fork_local(struct worker_pool *p, struct worker_link *l)
{
    struct sweep_worker *others = emu_alloc(p->links + 1, sizeof(*others)), w;
    size_t n = 0;
    enum emu_status s;

    if (!others)
        return FAIL(NO_MEMORY, "a sweep");
    for (size_t i = 0; i < p->links; i++) {
        if (&p->link[i] != l && !p->link[i].is_remote)
            others[n++] = p->link[i].local;
    }
    s = sweep_worker_new(p->s, p->f->store, others, n, &w);
    ss_free(others);
    l->local = w;
    return s;
}

static enum emu_status add_link(struct worker_pool *p, const struct worker_link *l)
{
    TRY(emu_grow((void **)&p->link, p->links, &p->cap, sizeof(*p->link)));
    p->link[p->links++] = *l;
    return EMU_OK;
}

static enum emu_status start_local(struct worker_pool *p, unsigned workers)
{
    for (unsigned i = 0; i < workers; i++) {
        TRY(add_link(p, &(struct worker_link){ .job = NO_JOB, .local = { .fd = -1 } }));
        TRY(fork_local(p, &p->link[p->links - 1]));
    }
    return EMU_OK;
}

static enum emu_status read_local(struct worker_pool *p, struct worker_link *l)
{
    char why[40], *text;
    size_t bytes;
    enum emu_status s = EMU_OK;

    if (!sweep_worker_read(&l->local, why, sizeof(why))) {
        return_job(p, l, why);
        return fork_local(p, l);
    }
    while (s == EMU_OK && (text = sweep_worker_message(&l->local, &bytes))) {
        s = take_message(p, l, text, bytes);
        ss_free(text);
    }
    return s;
}

/* Waits for messages of this machine's workers. */
static enum emu_status poll_local(struct worker_pool *p)
{
    struct pollfd *fd = emu_alloc(p->links + 1, sizeof(*fd));
    int wait = sweep_mpi_ranks() > 1 ? PROBE_MS : WAIT_MS, n;
    enum emu_status s = EMU_OK;

    if (!fd)
        return FAIL(NO_MEMORY, "a sweep");
    for (size_t i = 0; i < p->links; i++)
        fd[i] = (struct pollfd){ .fd = p->link[i].is_remote ? -1 : p->link[i].local.fd,
                                 .events = POLLIN };
    n = poll(fd, p->links, wait);
    if (n < 0 && errno != EINTR)
        s = FAIL(IO, "workers: %s", strerror(errno));
    for (size_t i = 0; n > 0 && s == EMU_OK && i < p->links; i++) {
        if (fd[i].revents)
            s = read_local(p, &p->link[i]);
    }
    ss_free(fd);
    return s;
}

/* The link of a worker of another rank: it is known from its first word on. */
static enum emu_status find_remote(struct worker_pool *p, struct sweep_remote from,
                                   struct worker_link **out)
{
    for (size_t i = 0; i < p->links; i++) {
        *out = &p->link[i];
        if ((*out)->is_remote && (*out)->remote.rank == from.rank &&
            (*out)->remote.worker == from.worker)
            return EMU_OK;
    }
    TRY(add_link(p, &(struct worker_link){
                        .job = NO_JOB, .local = { .fd = -1 }, .remote = from, .is_remote = 1 }));
    *out = &p->link[p->links - 1];
    return EMU_OK;
}

static enum emu_status read_remote(struct worker_pool *p)
{
    struct sweep_remote from;
    size_t bytes;
    char *text;

    while ((text = sweep_mpi_receive(&from, &bytes))) {
        struct worker_link *l;
        enum emu_status s = find_remote(p, from, &l);

        if (s == EMU_OK) {
            l->dead = 0;
            s = take_message(p, l, text, bytes);
        }
        ss_free(text);
        TRY(s);
    }
    for (size_t i = 0; i < p->links; i++) {
        struct worker_link *l = &p->link[i];

        if (!l->is_remote || l->dead || !sweep_mpi_is_dead(l->remote.rank))
            continue;
        l->dead = 1;
        return_job(p, l, "its rank is silent");
    }
    return EMU_OK;
}

/* ---- the whole ---- */

static unsigned local_workers(const struct worker_pool *p)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = option_threads(p->s->q);

    if (!n)
        n = sweep_mpi_ranks() > 1 || cores < 1 ? 1 : (uint64_t)cores;
    return n < p->jobs || sweep_mpi_ranks() > 1 ? (unsigned)n : p->jobs;
}

static enum emu_status work(struct worker_pool *p)
{
    TRY(start_local(p, local_workers(p)));
    while (p->over < p->jobs) {
        TRY(give_jobs(p));
        TRY(poll_local(p));
        if (sweep_mpi_ranks() > 1)
            TRY(read_remote(p));
    }
    return EMU_OK;
}

enum emu_status sweep_pool_run(struct sweep_file *f, uint32_t *given_up)
{
    struct worker_pool p = { .f = f,
                             .s = f->sweep,
                             .progress = progress_begin(option_quiet(f->sweep->q) ? NULL : stderr),
                             .began = seconds_now() };
    enum emu_status s = list_jobs(&p);

    if (s == EMU_OK && p.jobs)
        s = work(&p);
    *given_up = p.given_up;
    for (size_t i = 0; i < p.links; i++)
        sweep_worker_end(&p.link[i].local);
    ss_free(p.link);
    ss_free(p.job);
    return s;
}
