/* progress_meter.c - lines about a stage that takes long (see progress_meter.h). */
#include "emu/base/progress_meter.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void progress_meter_begin(struct progress_meter *m, FILE *f, const char *stage, const char *unit,
                          uint64_t all)
{
    *m = (struct progress_meter){ .f = f, .stage = stage, .unit = unit, .all = all };
    if (!f)
        return;
    m->terminal = isatty(fileno(f));
    m->begun_ms = now_ms();
    atomic_init(&m->next_ms,
                m->begun_ms + (m->terminal ? PROGRESS_METER_PATIENCE_MS : PROGRESS_METER_FILE_MS));
}

/* "50 s", "4 min 10 s", "2 h 5 min". */
static int print_time(char *out, size_t bytes, uint64_t seconds)
{
    if (seconds < 60)
        return snprintf(out, bytes, "%" PRIu64 " s", seconds);
    if (seconds < 3600)
        return snprintf(out, bytes, "%" PRIu64 " min %" PRIu64 " s", seconds / 60, seconds % 60);
    return snprintf(out, bytes, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600, seconds / 60 % 60);
}

int progress_meter_text(char *out, size_t bytes, const struct progress_meter *m, int64_t ms)
{
    uint64_t done = atomic_load(&m->done), percent;
    double seconds = (double)ms / 1000;
    char left[40];

    if (!m->all)
        return snprintf(out, bytes, "%-10s %8.3f s   %" PRIu64 " %s", m->stage, seconds, done,
                        m->unit);
    done = done < m->all ? done : m->all;
    percent = (uint64_t)(100.0 * (double)done / (double)m->all);
    if (!percent)
        return snprintf(out, bytes, "%-10s %8.3f s   0 %%, %" PRIu64 " of %" PRIu64 " %s", m->stage,
                        seconds, done, m->all, m->unit);
    print_time(left, sizeof(left),
               (uint64_t)(seconds * (double)(m->all - done) / (double)done + 0.5));
    return snprintf(out, bytes, "%-10s %8.3f s   %" PRIu64 " %%, about %s left", m->stage, seconds,
                    percent, left);
}

/* Prints a line if one is due and no other thread does. */
static void show(struct progress_meter *m)
{
    int64_t now = now_ms();
    int_fast64_t due = atomic_load(&m->next_ms);
    char text[160];

    if (now < due || !atomic_compare_exchange_strong(
                         &m->next_ms, &due,
                         now + (m->terminal ? PROGRESS_METER_TERMINAL_MS : PROGRESS_METER_FILE_MS)))
        return;
    progress_meter_text(text, sizeof(text), m, now - m->begun_ms);
    atomic_store(&m->shown, 1);
    fprintf(m->f, m->terminal ? "\r%s\033[K" : "%s\n", text);
    fflush(m->f);
}

void progress_meter_add(struct progress_meter *m, uint64_t n)
{
    if (!m->f)
        return;
    atomic_fetch_add(&m->done, n);
    show(m);
}

void progress_meter_set(struct progress_meter *m, uint64_t done)
{
    if (!m->f)
        return;
    atomic_store(&m->done, done);
    show(m);
}

void progress_meter_end(struct progress_meter *m)
{
    if (m->f && m->terminal && atomic_load(&m->shown))
        fprintf(m->f, "\r\033[K");
    m->f = NULL;
}
