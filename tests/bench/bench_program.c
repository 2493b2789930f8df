/* bench_program.c - whole networks from the command line: seconds to compile them, seconds to
 * execute their images, and the memory that either takes.
 *
 * usage: bench_program SUPERSTEP. The program may be that of another tree: only its command line is
 * used.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fixtures/bench_rows.h"

enum { ARGUMENTS = 12 };

struct network {
    const char *title, *name, *batch;
};

struct cost {
    double seconds, gib;
};

/* Runs a command line to its end, its output thrown away; NULL ends the arguments. */
static struct cost run(const char *const *argv)
{
    double from = bench_seconds(CLOCK_MONOTONIC);
    struct rusage u;
    int status;
    pid_t child = fork();

    if (!child) {
        if (freopen("/dev/null", "w", stdout))
            execv(argv[0], (char **)(size_t)argv);
        perror(argv[0]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &u) != child || status) {
        fprintf(stderr, "bench_program: %s %s failed\n", argv[0], argv[1]);
        exit(1);
    }
    return (struct cost){ bench_seconds(CLOCK_MONOTONIC) - from, (double)u.ru_maxrss / (1 << 20) };
}

static void bench(const char *program, const struct network *n, const char *image)
{
    const struct cost compile = run((const char *const[ARGUMENTS]){
                          program, "compile", n->name, "--batch", n->batch, "-q", "-o", image }),
                      execute = run((const char *const[ARGUMENTS]){ program, "run", image, "-q" });

    bench_row("s", compile.seconds, "%s, compile", n->title);
    bench_row("GiB", compile.gib, "%s, compile: resident", n->title);
    bench_row("s", execute.seconds, "%s, execute its image", n->title);
    bench_row("GiB", execute.gib, "%s, execute: resident", n->title);
}

int main(int argc, char **argv)
{
    static const struct network networks[] = {
        { "B4", "efficientnet-b4", "1" },
        { "B4-G16 at batch 3", "efficientnet-b4-g16", "3" },
    };
    char image[] = "/tmp/bench_program.XXXXXX";
    int file = mkstemp(image);

    if (argc != 2 || file < 0) {
        fprintf(stderr, "usage: bench_program SUPERSTEP, and /tmp must be writable\n");
        return 2;
    }
    close(file);
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
        bench(argv[1], &networks[i], image);
    unlink(image);
    return 0;
}
