/* matrix_run.c - command lines, processes, and what is said of them. */
#include "tests/matrix/matrix.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/base/random.h"

enum { SECONDS_MAX = 120, SHOWN = 300 };

void words_add(struct words *w, const char *fmt, ...)
{
    size_t n = strlen(w->text);
    va_list ap;

    if (n)
        w->text[n++] = ' ';
    va_start(ap, fmt);
    vsnprintf(w->text + n, sizeof(w->text) - n, fmt, ap);
    va_end(ap);
}

static char *read_text(const struct group *g, const char *name)
{
    char path[PATH_BYTES + 16], *text = NULL;
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", g->folder, name);
    f = fopen(path, "r");
    if (f && getdelim(&text, &n, '\0', f) < 0 && text)
        *text = '\0';
    if (f)
        fclose(f);
    return text ? text : calloc(1, 1);
}

static void redirect(const char *name, int to)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    if (fd < 0 || dup2(fd, to) < 0)
        _exit(126);
    close(fd);
}

static void be_superstep(const struct group *g, const struct words *w)
{
    char text[sizeof(w->text)], *word[WORDS_MAX], *rest = text;
    int n = 0;

    if (chdir(g->folder))
        _exit(126);
    redirect("out", STDOUT_FILENO);
    redirect("err", STDERR_FILENO);
    snprintf(text, sizeof(text), "%s", w->text);
    word[n++] = (char *)(uintptr_t)g->m->program;
    while (n < WORDS_MAX - 1 && (word[n] = strtok_r(rest, " ", &rest)))
        n++;
    word[n] = NULL;
    alarm(SECONDS_MAX);
    execv(g->m->program, word);
    _exit(126);
}

struct ended run_words(const struct group *g, const struct words *w)
{
    struct ended e = { .code = -1 };
    int status = 0;
    pid_t pid = fork();

    if (!pid)
        be_superstep(g, w);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status))
        e.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status))
        e.signal = WTERMSIG(status);
    e.out = read_text(g, "out");
    e.err = read_text(g, "err");
    atomic_fetch_add(&g->m->totals->combinations, 1);
    return e;
}

void ended_free(struct ended *e)
{
    free(e->out);
    free(e->err);
}

void say_wrong(const struct group *g, enum wrong kind, const struct words *w, const char *fmt, ...)
{
    static const char *const name[] = { "CRASH", "STATUS", "LOST", "NUMBER" };
    char text[SHOWN];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    for (char *c = text; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    printf("%s: superstep %s: %s\n", name[kind], w->text, text);
    fflush(stdout);
    atomic_fetch_add(&g->m->totals->failed[kind], 1);
}

int is_picked(struct group *g)
{
    const struct matrix *m = g->m;
    uint64_t h = hash_mix(hash_mix(m->seed * SOURCES + g->source) + g->combination++);
    unsigned first = (unsigned)(h >> 8) % m->networks;

    if (m->share >= m->networks)
        return 1;
    if (g->source != SOURCE_DRAWN && h % 4)
        return 0;
    return (g->network_index + m->networks - first) % m->networks < m->share;
}
