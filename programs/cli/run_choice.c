/* run_choice.c - parses the options of compiling and running. */
#include "programs/cli/run_choice.h"

#include <string.h>

enum { KEY_OUTPUT = 'o', KEY_THREADS = 'j', KEY_CHECK = 'k', KEY_PLAIN = 'p', KEY_QUIET = 'q' };
enum { KEY_EXCHANGE = 0x100, KEY_DIGESTS, KEY_JSON, KEY_REPORT, KEY_OOM };

static const struct argp_option options[] = {
    { "output", KEY_OUTPUT, "FILE", 0, "write the image of all tiles to this file", 0 },
    { "threads", KEY_THREADS, "N", 0, "host threads (default: all cores); changes no result", 0 },
    { "exchange", KEY_EXCHANGE, "cycles|memory", 0,
      "what exchange code is optimised for (default cycles)", 0 },
    { "check", KEY_CHECK, NULL, 0, "report reads of memory that was never written, and more", 0 },
    { "plain", KEY_PLAIN, NULL, 0, "without fast paths; changes no result", 0 },
    { "digests", KEY_DIGESTS, "FILE", 0, "write a digest of all memory after every superstep", 0 },
    { "report", KEY_REPORT, NULL, 0, "print what the memory of the tiles is for, too", 0 },
    { "json", KEY_JSON, NULL, 0, "print the answer as JSON", 0 },
    { "allow-oom", KEY_OOM, NULL, 0, "what does not fit is no failure: print the report and exit 0",
      0 },
    { "quiet", KEY_QUIET, NULL, 0, "no progress on stderr", 0 },
    { 0 },
};

static void choose_exchange(struct run_choice *c, const char *arg, struct argp_state *state)
{
    if (!strcmp(arg, "cycles"))
        c->compile->exchange = EXCHANGE_CYCLES;
    else if (!strcmp(arg, "memory"))
        c->compile->exchange = EXCHANGE_MEMORY;
    else
        argp_error(state, "--exchange is cycles or memory, not '%s'", arg);
}

/* Where a flag is kept; NULL for other options. */
static int *flag_of(int key, struct run_choice *c)
{
    switch (key) {
    case KEY_CHECK:
        return &c->run->check;
    case KEY_PLAIN:
        return &c->run->plain;
    case KEY_REPORT:
        return c->report;
    case KEY_JSON:
        return c->json;
    case KEY_OOM:
        return c->allow_oom;
    default:
        return NULL;
    }
}

static error_t parse_choice(int key, char *arg, struct argp_state *state)
{
    struct run_choice *c = state->input;
    int *flag = c ? flag_of(key, c) : NULL;

    if (flag) {
        *flag = 1;
        return 0;
    }
    switch (key) {
    case KEY_OUTPUT:
        *c->output = arg;
        return 0;
    case KEY_THREADS:
        c->run->threads = c->compile->threads = (unsigned)option_number(state, arg, 4096);
        return 0;
    case KEY_EXCHANGE:
        choose_exchange(c, arg, state);
        return 0;
    case KEY_DIGESTS:
        *c->digests = arg;
        return 0;
    case KEY_QUIET:
        c->compile->progress = NULL;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp run_choice_argp = { .options = options, .parser = parse_choice };
