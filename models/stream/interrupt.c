/* interrupt.c - a signal handler has no arguments of its own, so what it needs is in variables of
 * this file. */
#include "models/stream/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "emu/cli/commands.h"

/* timeout(1) signals a process and then its group: so soon after the first, a signal is the same
 * one. */
enum { SAME_MS = 100 };

static struct picture_feed *_Atomic deferred_for; /* NULL: nothing is done yet */
static atomic_int came;
static atomic_llong came_ms;

static long long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void handle(int signal_number)
{
    static const char text[] = "superstep stream: interrupted before the first picture\n";
    struct picture_feed *f = atomic_load(&deferred_for);

    if (!f) {
        ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

        (void)written; /* it ends in any case */
        _exit(EXIT_PARTIAL);
    }
    if (!atomic_load(&came)) {
        atomic_store(&came_ms, now_ms());
        atomic_store(&came, 1);
        feed_stop(f);
    } else if (now_ms() - atomic_load(&came_ms) >= SAME_MS) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
}

void interrupt_catch(void)
{
    struct sigaction a = { .sa_handler = handle, .sa_flags = SA_RESTART }, old;

    sigemptyset(&a.sa_mask);
    if (!sigaction(SIGINT, NULL, &old) && old.sa_handler != SIG_IGN)
        sigaction(SIGINT, &a, NULL);
}

void interrupt_defer(struct picture_feed *f)
{
    atomic_store(&deferred_for, f);
}

void interrupt_release(void)
{
    struct sigaction old;

    if (!sigaction(SIGINT, NULL, &old) && old.sa_handler == handle)
        signal(SIGINT, SIG_DFL);
}

int interrupt_came(void)
{
    return atomic_load(&came);
}
