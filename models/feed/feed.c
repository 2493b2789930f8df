/* feed.c - a ring of pictures between the threads that decode and the caller that takes them.
 *
 * Number i of the order goes through slot i modulo the length of the ring. A thread that is free
 * takes the next name, decodes it into its slot and marks the slot done; the caller waits for the
 * slots in turn. Names are taken by one thread at a time, without the lock, because a directory or
 * a pipe may be slow.
 */
#include "models/feed/feed.h"

#include <errno.h>
#include <inttypes.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "models/feed/bad_files.h"
#include "models/feed/feed_file.h"
#include "models/feed/feed_names.h"

enum { QUEUE_MORE = 8, REASON_BYTES = 256, WAIT_MS = 50 };

static const uint64_t PIXELS_DEFAULT = 1 << 26;

/* A file on its way. Written by one thread, read by the caller when done. */
struct slot {
    int done;
    enum emu_status status; /* IO or BAD_FILE: a bad file; NO_MEMORY: the end of everything */
    char *name;             /* owned */
    char reason[REASON_BYTES];
    struct picture cut; /* owned; pixels of a good file */
    uint64_t other;     /* feed_names_other() when this name came */
};

struct picture_feed {
    struct feed_options o; /* defaults filled in */
    pthread_t *thread;     /* owned */
    unsigned threads;      /* that run */
    atomic_int stop;

    pthread_mutex_t lock;     /* of all that follows, up to the next empty line */
    pthread_cond_t room;      /* a slot is free, or naming is over */
    pthread_cond_t done;      /* a slot is done, or the end is known */
    struct slot *slot;        /* owned; [o.queue] */
    uint64_t head, tail;      /* files passed by the caller; files named */
    int naming;               /* a thread is taking a name, and alone uses `names` */
    int ended;                /* there are no names after tail */
    struct feed_names *names; /* owned */
    uint64_t other;           /* names of no pictures, counted when `names` had ended */

    struct feed_counts count; /* only the caller uses this and what follows */
    struct bad_files bad;
    char *name;    /* owned; of the picture that was handed out last */
    char *skipped; /* owned */
    int over;      /* no more pictures are handed out */
};

/* ---- threads ---- */

static void note_reason(struct slot *s)
{
    if (s->status != EMU_OK)
        snprintf(s->reason, sizeof(s->reason), "%s", ss_error());
}

/* Takes the next name into the slot at tail; returns 0 when there is none. The lock is held at the
 * call and the return, but not while the name is looked for. */
static int take_name(struct picture_feed *f, struct slot *slot)
{
    struct feed_name n;
    int more = 0;

    f->naming = 1;
    pthread_mutex_unlock(&f->lock);
    slot->status = feed_names_next(f->names, &n, &more);
    if (slot->status == EMU_OK && more) {
        slot->name = emu_strdup(n.name);
        if (!slot->name)
            slot->status = FAIL(NO_MEMORY, "the name of a picture");
        else if (n.reason)
            slot->status = FAIL(IO, "%s", n.reason);
    }
    note_reason(slot);
    slot->other = feed_names_other(f->names);
    pthread_mutex_lock(&f->lock);
    f->naming = 0;
    f->other = slot->other;
    return more || slot->status != EMU_OK;
}

/* Names and decodes one file. The lock is held at the call and the return. */
static void work(struct picture_feed *f)
{
    struct slot *slot = &f->slot[f->tail % f->o.queue];

    memset(slot, 0, sizeof(*slot));
    if (!take_name(f, slot)) {
        f->ended = 1;
    } else {
        f->tail++;
        f->ended |= slot->status == EMU_NO_MEMORY;
        pthread_cond_broadcast(&f->room);
        if (slot->status == EMU_OK) {
            pthread_mutex_unlock(&f->lock);
            slot->status = feed_file_read(slot->name, &f->o.recipe, f->o.pixels_max, &slot->cut);
            note_reason(slot);
            pthread_mutex_lock(&f->lock);
        }
        slot->done = 1;
    }
    pthread_cond_broadcast(&f->room);
    pthread_cond_signal(&f->done);
}

static void *run_thread(void *arg)
{
    struct picture_feed *f = arg;

    pthread_mutex_lock(&f->lock);
    while (!atomic_load(&f->stop) && !f->ended) {
        if (f->naming || f->tail - f->head == f->o.queue)
            pthread_cond_wait(&f->room, &f->lock);
        else
            work(f);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* ---- the caller ---- */

static void slot_free(struct slot *s)
{
    ss_free(s->name);
    picture_free(&s->cut);
}

/* Waits a little and no longer, because feed_stop(), which a signal handler may call, cannot wake a
 * thread. */
static void wait_done(struct picture_feed *f)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += WAIT_MS * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&f->done, &f->lock, &t);
}

/* Moves the file at head into *out; returns 0 when there is none left. */
static int take_slot(struct picture_feed *f, struct slot *out)
{
    int got = 0, end = 0;

    pthread_mutex_lock(&f->lock);
    while (!got && !end && !atomic_load(&f->stop)) {
        struct slot *s = &f->slot[f->head % f->o.queue];

        got = f->head < f->tail && s->done;
        end = f->head == f->tail && f->ended;
        if (got) {
            *out = *s;
            memset(s, 0, sizeof(*s));
            f->head++;
            f->count.other = out->other;
            pthread_cond_signal(&f->room);
        } else if (end) {
            f->count.other = f->other;
        } else {
            wait_done(f);
        }
    }
    pthread_mutex_unlock(&f->lock);
    return got;
}

static void give_picture(struct picture_feed *f, struct slot *s, uint8_t *rgb, const char **name)
{
    memcpy(rgb, s->cut.rgb, (size_t)f->o.recipe.width * f->o.recipe.height * 3);
    ss_free(f->name);
    f->name = s->name;
    s->name = NULL;
    *name = f->name;
    f->count.good++;
}

/* The status of a feed that has ended. */
static enum emu_status end_feed(struct picture_feed *f)
{
    const char *name, *reason;

    f->over = 1;
    if (f->count.good || f->o.skip || atomic_load(&f->stop))
        return EMU_OK;
    if (f->count.bad) {
        TRY(bad_files_get(&f->bad, 0, &name, &reason));
        return FAIL(BAD_FILE, "no good picture, %" PRIu64 " bad; the first: %.400s: %s",
                    f->count.bad, name, reason);
    }
    if (f->count.other)
        return FAIL(BAD_FILE,
                    "no pictures: none of %" PRIu64 " files is called .jpg, .jpeg or .png; the "
                    "first is %.400s",
                    f->count.other, feed_names_other_first(f->names));
    return FAIL(BAD_FILE, "no pictures: empty directories or lists");
}

/* Uses a slot that was taken: hands its picture out (*more = 1), or notes a bad file or the end. */
static enum emu_status use_slot(struct picture_feed *f, struct slot *s, uint8_t *rgb,
                                const char **name, int *more)
{
    if (s->status == EMU_NO_MEMORY)
        return FAIL(NO_MEMORY, "%.400s: %s", s->name ? s->name : "names", s->reason);
    if (s->status == EMU_OK) {
        give_picture(f, s, rgb, name);
        *more = 1;
        return EMU_OK;
    }
    TRY(bad_files_add(&f->bad, s->name, s->reason));
    f->count.bad++;
    return EMU_OK;
}

enum emu_status feed_next(struct picture_feed *f, uint8_t *rgb, const char **name, uint64_t *index,
                          int *more)
{
    struct slot s;

    *more = 0;
    while (!f->over && !*more) {
        enum emu_status st;

        if (!take_slot(f, &s))
            return end_feed(f);
        st = use_slot(f, &s, rgb, name, more);
        slot_free(&s);
        *index = f->o.skip + f->count.good + f->count.bad - 1;
        if (st != EMU_OK) {
            f->over = 1;
            feed_stop(f);
            return st;
        }
    }
    return EMU_OK;
}

void feed_stop(struct picture_feed *f)
{
    atomic_store(&f->stop, 1);
}

struct feed_counts feed_count(struct picture_feed *f)
{
    struct feed_counts c = f->count;

    pthread_mutex_lock(&f->lock);
    c.ahead = f->tail - f->head;
    pthread_mutex_unlock(&f->lock);
    return c;
}

const char *feed_skipped(const struct picture_feed *f)
{
    return f->skipped;
}

enum emu_status feed_bad(struct picture_feed *f, uint64_t i, const char **name, const char **reason)
{
    if (i >= f->count.bad)
        return FAIL(USAGE, "bad file %" PRIu64 " of %" PRIu64, i, f->count.bad);
    return bad_files_get(&f->bad, i, name, reason);
}

static enum emu_status write_bad(struct picture_feed *f, uint64_t i, struct text_line *line,
                                 FILE *to)
{
    const char *name, *reason;

    TRY(feed_bad(f, i, &name, &reason));
    line->count = 0;
    text_add(line, "  ", 2);
    name_add_plain(line, name);
    text_add(line, ": ", 2);
    name_add_plain(line, reason);
    text_add(line, "\n", 1);
    if (line->failed)
        return FAIL(NO_MEMORY, "the report of bad files");
    if (fwrite(line->at, 1, line->count, to) != line->count)
        return FAIL(IO, "the report of bad files: %s", strerror(errno));
    return EMU_OK;
}

enum emu_status feed_report(struct picture_feed *f, FILE *to)
{
    struct text_line line = { 0 };
    enum emu_status s = EMU_OK;

    if (f->count.other) {
        name_add_plain(&line, feed_names_other_first(f->names));
        fprintf(to,
                "%" PRIu64 " not tried, as their names do not end in .jpg, .jpeg or .png: "
                "%.*s%s\n",
                f->count.other, (int)line.count, line.at, f->count.other > 1 ? ", ..." : "");
    }
    if (f->count.bad)
        fprintf(to, "%" PRIu64 " of %" PRIu64 " pictures are bad:\n", f->count.bad,
                f->count.good + f->count.bad);
    for (uint64_t i = 0; i < f->count.bad && s == EMU_OK; i++)
        s = write_bad(f, i, &line, to);
    text_free(&line);
    return s;
}

/* ---- begin and end ---- */

static enum emu_status check_options(const struct feed_options *o, size_t paths)
{
    if (!paths)
        return FAIL(USAGE, "no pictures: expected files, directories or lists");
    TRY(picture_recipe_check(&o->recipe));
    if (o->threads > FEED_THREADS_MAX || o->queue > FEED_QUEUE_MAX)
        return FAIL(USAGE, "%u threads and a queue of %u; at most %d and %d", o->threads, o->queue,
                    FEED_THREADS_MAX, FEED_QUEUE_MAX);
    return EMU_OK;
}

static void fill_options(struct feed_options *o)
{
    if (!o->threads)
        o->threads = (unsigned)omp_get_num_procs();
    if (!o->queue)
        o->queue = 2 * o->threads + QUEUE_MORE;
    if (!o->pixels_max)
        o->pixels_max = PIXELS_DEFAULT;
}

static enum emu_status skip_names(struct picture_feed *f)
{
    struct feed_name n;
    int more;

    for (uint64_t i = 0; i < f->o.skip; i++) {
        TRY(feed_names_next(f->names, &n, &more));
        if (!more)
            return FAIL(BAD_FILE,
                        "%" PRIu64 " files are to be passed over, but there are only %" PRIu64,
                        f->o.skip, i);
        if (i + 1 < f->o.skip)
            continue;
        f->skipped = emu_strdup(n.name);
        if (!f->skipped)
            return FAIL(NO_MEMORY, "the name of a picture");
    }
    return EMU_OK;
}

/* Starts as many of the wanted threads as the host allows, at least one. They block all signals, so
 * that other threads of the program get them. */
static enum emu_status start_threads(struct picture_feed *f)
{
    sigset_t all, before;
    int error = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (f->threads < f->o.threads && !error) {
        error = pthread_create(&f->thread[f->threads], NULL, run_thread, f);
        f->threads += !error;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return f->threads ? EMU_OK : FAIL(NO_MEMORY, "a thread: %s", strerror(error));
}

static void init_locks(struct picture_feed *f)
{
    pthread_condattr_t clock;

    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->room, NULL);
    pthread_cond_init(&f->done, &clock);
    pthread_condattr_destroy(&clock);
}

static enum emu_status open_all(struct picture_feed *f, const char *const *path, size_t paths)
{
    f->thread = emu_alloc(f->o.threads, sizeof(*f->thread));
    f->slot = emu_alloc(f->o.queue, sizeof(*f->slot));
    if (!f->thread || !f->slot)
        return FAIL(NO_MEMORY, "a queue of %u pictures", f->o.queue);
    TRY(feed_names_open(path, paths, &f->stop, FEED_NAMES_HELD, &f->names));
    TRY(skip_names(f));
    return start_threads(f);
}

enum emu_status feed_open(const char *const *path, size_t paths, const struct feed_options *o,
                          struct picture_feed **out)
{
    struct picture_feed *f;
    enum emu_status s;

    *out = NULL;
    TRY(check_options(o, paths));
    f = emu_alloc(1, sizeof(*f));
    if (!f)
        return FAIL(NO_MEMORY, "a feed of pictures");
    f->o = *o;
    fill_options(&f->o);
    init_locks(f);
    s = open_all(f, path, paths);
    if (s == EMU_OK)
        *out = f;
    else
        feed_close(f);
    return s;
}

void feed_close(struct picture_feed *f)
{
    if (!f)
        return;
    feed_stop(f);
    pthread_mutex_lock(&f->lock);
    pthread_cond_broadcast(&f->room);
    pthread_mutex_unlock(&f->lock);
    for (unsigned i = 0; i < f->threads; i++)
        pthread_join(f->thread[i], NULL);
    for (unsigned i = 0; f->slot && i < f->o.queue; i++)
        slot_free(&f->slot[i]);
    bad_files_free(&f->bad);
    feed_names_close(f->names);
    pthread_cond_destroy(&f->done);
    pthread_cond_destroy(&f->room);
    pthread_mutex_destroy(&f->lock);
    ss_free(f->name);
    ss_free(f->skipped);
    ss_free(f->slot);
    ss_free(f->thread);
    ss_free(f);
}
