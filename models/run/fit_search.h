/* fit_search.h - finds by trying which changes would make a network fit. One thing of the request
 * or of the machine is changed at a time, the program is planned and compiled again, and what
 * fitted is said in words that can be typed.
 */
#ifndef MODELS_FIT_SEARCH_H
#define MODELS_FIT_SEARCH_H

#include <jansson.h>

#include "emu/arch/arch.h"
#include "emu/cli/request.h"

enum { FIT_CHANGE_TEXT = 64, FIT_TRIES_MAX = 40, FIT_LINES_MAX = 10, FIT_LINE_TEXT = 320 };

/* Compiles what a request asks for, for a machine. *need: the bytes of the tile that needs most,
 * *fits: whether there is a program; when there is none, *need may be an estimate. Any error counts
 * as "does not fit". */
typedef enum emu_status fit_compile(void *ctx, const struct request *q, const struct arch *a,
                                    int *fits, uint64_t *need);

/* Everything is borrowed. */
struct fit_subject {
    const struct request *q; /* what was asked for */
    const struct arch *arch; /* and of which machine */
    uint64_t need_bytes;     /* of the tile that needs most */
    uint32_t batch;          /* that may be lowered; 0: the file or the user's files fix it */
    uint32_t resolution;     /* the same of square pictures */
    int trains;              /* 1: a step of training */
    fit_compile *compile;
    void *ctx; /* its own */
};

/* A change that was tried. */
struct fit_try {
    char change[FIT_CHANGE_TEXT]; /* as it is typed: "--batch 28" */
    int fits;
    uint64_t need_bytes; /* 0: unknown */
};

struct fit_findings {
    struct fit_try tried[FIT_TRIES_MAX];
    unsigned tries;
    char line[FIT_LINES_MAX][FIT_LINE_TEXT]; /* sentences for users, the most useful first */
    unsigned lines;
};

/* Tries for at most as long as --try-for says; what is under way then is still finished. Prints
 * what it does on stderr unless the request is quiet. out has a line in any case, and is the
 * caller's. */
void fit_search(const struct fit_subject *s, struct fit_findings *out);

/* What was tried, as a new list of {change, fits, need_bytes}; NULL when out of memory. */
json_t *fit_findings_json(const struct fit_findings *f);

#endif
