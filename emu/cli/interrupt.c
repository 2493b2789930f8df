/* interrupt.c - a signal handler has no arguments of its own, so what it needs is in variables of
 * this file. */
#include "emu/cli/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/base/output_file.h"
#include "emu/cli/commands.h"

/* timeout(1) signals a process and then its group: so soon after the first, a signal is the same
 * one. */
enum { SAME_MS = 100 };

/* People send the first, batch systems the second before they kill. */
static const int signals[] = { SIGINT, SIGTERM };

static const char *_Atomic early_text;
static void (*_Atomic stop_function)(void *ctx);
static void *_Atomic stop_ctx;
static atomic_int deferred; /* 0: nothing is done yet */
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
    void (*stop)(void *ctx) = atomic_load(&stop_function);

    if (!atomic_load(&deferred)) {
        const char *text = atomic_load(&early_text);
        ssize_t written = write(STDERR_FILENO, text, strlen(text));

        (void)written; /* it ends in any case */
        output_remove_temporaries();
        _exit(EXIT_PARTIAL);
    }
    if (!atomic_load(&came)) {
        atomic_store(&came_ms, now_ms());
        atomic_store(&came, 1);
        if (stop)
            stop(atomic_load(&stop_ctx));
    } else if (now_ms() - atomic_load(&came_ms) >= SAME_MS) {
        output_remove_temporaries();
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
}

void interrupt_catch(const char *text)
{
    struct sigaction a = { .sa_handler = handle, .sa_flags = SA_RESTART }, old;

    atomic_store(&early_text, text);
    sigemptyset(&a.sa_mask);
    for (size_t k = 0; k < EMU_COUNT_OF(signals); k++) {
        if (!sigaction(signals[k], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(signals[k], &a, NULL);
    }
}

void interrupt_defer(void (*stop)(void *ctx), void *ctx)
{
    atomic_store(&stop_function, stop);
    atomic_store(&stop_ctx, ctx);
    atomic_store(&deferred, 1);
}

void interrupt_release(void)
{
    struct sigaction old;

    atomic_store(&stop_function, NULL);
    for (size_t k = 0; k < EMU_COUNT_OF(signals); k++) {
        if (!sigaction(signals[k], NULL, &old) && old.sa_handler == handle)
            signal(signals[k], SIG_DFL);
    }
    output_handle_signals();
}

int interrupt_came(void)
{
    return atomic_load(&came);
}
