/* docs_folder.c - looks for the pages beside the program's file (docs_folder.h). */
#include "emu/cli/docs_folder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether up/tail, seen from the folder of the program, has the pages; *out: its path then. */
static int look(const char *program, const char *tail, char out[PATH_MAX])
{
    char path[PATH_MAX + 64];
    int n = (int)(strrchr(program, '/') - program);

    snprintf(path, sizeof(path), "%.*s/%s/course.md", n, program, tail);
    if (access(path, R_OK))
        return 0;
    *strrchr(path, '/') = 0;
    return realpath(path, out) != NULL;
}

const char *docs_folder(void)
{
    static const char *const tail[] = { "../share/doc/superstep", "../docs", "../../docs" };
    static char found[PATH_MAX], here[PATH_MAX];
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (found[0] || n <= 0)
        return found[0] ? found : "docs";
    program[n] = 0;
    for (size_t i = 0; i < sizeof(tail) / sizeof(tail[0]) && !found[0]; i++) {
        if (!look(program, tail[i], found))
            found[0] = 0;
    }
    /* In the tree itself the short name will do. */
    if (!found[0] || (realpath("docs", here) && !strcmp(here, found)))
        strcpy(found, "docs");
    return found;
}
