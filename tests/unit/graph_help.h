/* graph_help.h - what tests of graphs share: cmocka with the headers it wants, shapes in place, and
 * errors with the message that is expected.
 */
#ifndef TESTS_GRAPH_HELP_H
#define TESTS_GRAPH_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "programs/graph/graph.h"

/* SHAPE(4, 5): rank and sizes, as two arguments. */
#define SHAPE(...)                                                                                 \
    (unsigned)(sizeof((uint32_t[]){ __VA_ARGS__ }) / 4), (uint32_t[])                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static inline struct graph *help_graph(const char *machine)
{
    struct graph *g;

    assert_int_equal(graph_new(arch_preset(machine), &g), EMU_OK);
    return g;
}

/* emu_error() must contain each of the texts, which are separated by '|'. */
static inline void help_error_says(const char *texts)
{
    char *all = strdup(texts), *rest = all;

    for (const char *t; (t = strtok_r(rest, "|", &rest));) {
        if (!strstr(emu_error(), t))
            print_error("expected \"%s\" in \"%s\"\n", t, emu_error());
        assert_non_null(strstr(emu_error(), t));
    }
    free(all);
}

/* The graph has the error of a builder call. */
static inline void help_builder_says(const struct graph *g, const char *texts)
{
    assert_int_equal(graph_status(g), EMU_BAD_PROGRAM);
    help_error_says(texts);
}

static inline uint32_t help_below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

#endif
