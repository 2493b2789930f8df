/* bench_program.c - whole networks from the command line: seconds to compile them, to execute their
 * images on either engine, to run them again from the cache, and the memory that takes; of the
 * first one also what one thread takes, what watching costs, and a run that is compiled for the
 * timing engine only.
 *
 * usage: bench_program SUPERSTEP. The program may be that of another tree: only its command line is
 * used, and what it does not know has no row. SUPERSTEP_LONG=1: B4-G16 at batch 26, too, which
 * takes minutes and 5 GB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fixtures/bench_rows.h"

enum { ARGUMENTS = 14 };

struct network {
    const char *title, *name, *batch;
};

struct cost {
    double seconds, gib;
    int failed;
};

/* Runs a command line to its end, its output thrown away; NULL ends the arguments. */
static struct cost run(const char *const *argv)
{
    double from = bench_seconds(CLOCK_MONOTONIC);
    struct rusage u;
    int status;
    pid_t child = fork();

    if (!child) {
        if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
            execv(argv[0], (char **)(size_t)argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &u) != child)
        return (struct cost){ .failed = 1 };
    return (struct cost){ bench_seconds(CLOCK_MONOTONIC) - from, (double)u.ru_maxrss / (1 << 20),
                          status != 0 };
}

static void cost_rows(struct cost c, const char *network, const char *what)
{
    if (c.failed)
        return;
    bench_row("s", c.seconds, "%s, %s", network, what);
    bench_row("GiB", c.gib, "%s, %s: resident", network, what);
}

/* What all threads gain over one. */
static void gain_row(struct cost one, struct cost all, const char *network, const char *what)
{
    if (!one.failed && !all.failed)
        bench_row("x", one.seconds / all.seconds, "%s, %s: gain of all threads", network, what);
}

/* A network that is compiled for a run on the timing engine, and nothing else. */
static void bench_timing_only(const char *program, const struct network *n)
{
    cost_rows(run((const char *const[ARGUMENTS]){ program, "run", n->name, "--batch", n->batch,
                                                  "-q", "--no-calibration", "--no-cache",
                                                  "--engine", "timing" }),
              n->title, "compiled for the timing engine and run");
}

/* Rows of a network whose image is there, compiled and executed by all threads as said. */
static void bench_more(const char *program, const struct network *n, const char *image,
                       struct cost compile, struct cost execute)
{
    char other[80];
    struct cost one;

    snprintf(other, sizeof(other), "%s.other", image);
    one =
        run((const char *const[ARGUMENTS]){ program, "compile", n->name, "--batch", n->batch, "-q",
                                            "--no-calibration", "--no-cache", "-j1", "-o", other });
    cost_rows(one, n->title, "compile, one thread");
    gain_row(one, compile, n->title, "compile");
    one = run((const char *const[ARGUMENTS]){ program, "run", image, "-q", "-j1" });
    cost_rows(one, n->title, "execute its image, one thread");
    gain_row(one, execute, n->title, "execute its image");
    cost_rows(
        run((const char *const[ARGUMENTS]){ program, "run", image, "-q", "--digests", other }),
        n->title, "execute its image with --digests");
    cost_rows(
        run((const char *const[ARGUMENTS]){ program, "run", image, "-q", "--steps", "--tiles" }),
        n->title, "execute its image with --steps --tiles");
    unlink(other);
    bench_timing_only(program, n);
}

/* Rows of one network; more: all there are. The folder is empty; the cache is left in it. Returns 0
 * when it does not compile or its image does not run. */
static int bench(const char *program, const struct network *n, const char *folder, int more)
{
    char image[64];
    struct cost compile, execute;

    snprintf(image, sizeof(image), "%s/image", folder);
    compile =
        run((const char *const[ARGUMENTS]){ program, "compile", n->name, "--batch", n->batch, "-q",
                                            "--no-calibration", "-o", image, "--cache", folder });
    if (compile.failed) /* a program without a cache */
        compile =
            run((const char *const[ARGUMENTS]){ program, "compile", n->name, "--batch", n->batch,
                                                "-q", "--no-calibration", "-o", image });
    execute = run((const char *const[ARGUMENTS]){ program, "run", image, "-q" });
    cost_rows(compile, n->title, "compile");
    cost_rows(execute, n->title, "execute its image");
    cost_rows(
        run((const char *const[ARGUMENTS]){ program, "run", image, "-q", "--engine", "timing" }),
        n->title, "timing engine, its image");
    cost_rows(run((const char *const[ARGUMENTS]){ program, "run", n->name, "--batch", n->batch,
                                                  "-q", "--no-calibration", "--cache", folder }),
              n->title, "run from the cache");
    if (more)
        bench_more(program, n, image, compile, execute);
    unlink(image);
    return !compile.failed && !execute.failed;
}

int main(int argc, char **argv)
{
    static const struct network networks[] = {
        { "B4", "efficientnet-b4", "1" },
        { "B4-G16 at batch 3", "efficientnet-b4-g16", "3" },
    };
    char folder[] = "/tmp/bench_program.XXXXXX";
    int ok = 1;

    if (argc != 2 || !mkdtemp(folder)) {
        fprintf(stderr, "usage: bench_program SUPERSTEP, and /tmp must be writable\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
        if (!bench(argv[1], &networks[i], folder, i == 0)) {
            fprintf(stderr, "bench_program: %s failed\n", networks[i].title);
            ok = 0;
        }
        run((const char *const[ARGUMENTS]){ argv[1], "cache", "--clear", "--cache", folder });
    }
    if (getenv("SUPERSTEP_LONG"))
        bench_timing_only(argv[1],
                          &(struct network){ "B4-G16 at batch 26", "efficientnet-b4-g16", "26" });
    rmdir(folder);
    return !ok;
}
