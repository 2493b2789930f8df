/* parallel.c - numbers are handed out one by one (see parallel.h). */
#include "programs/compiler/base/parallel.h"

#include <omp.h>
#include <stdio.h>

unsigned parallel_threads(unsigned threads)
{
    unsigned cores = (unsigned)omp_get_num_procs();

    return threads && threads < cores ? threads : cores;
}

/* The failure of the lowest number. Messages belong to threads, so this one is kept. */
struct failure {
    uint32_t i;
    enum emu_status status;
    char text[1024];
};

static void note_failure(struct failure *f, uint32_t i, enum emu_status s)
{
#pragma omp critical
    if (f->status == EMU_OK || i < f->i) {
        f->i = i;
        f->status = s;
        snprintf(f->text, sizeof(f->text), "%s", ss_error());
    }
}

enum emu_status parallel_each(uint32_t n, unsigned threads, parallel_work *work, void *ctx)
{
    struct failure f = { .status = EMU_OK };

#pragma omp parallel for schedule(dynamic, 1) num_threads(parallel_threads(threads))
    for (uint32_t i = 0; i < n; i++) {
        enum emu_status s = work(ctx, i, (unsigned)omp_get_thread_num());

        if (s != EMU_OK)
            note_failure(&f, i, s);
    }
    return f.status == EMU_OK ? EMU_OK : ss_fail(f.status, "%s", f.text);
}
