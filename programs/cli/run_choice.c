/* run_choice.c - parses the options of compiling and running. */
#include "programs/cli/run_choice.h"

#include <string.h>

enum { KEY_OUTPUT = 'o', KEY_THREADS = 'j', KEY_CHECK = 'k', KEY_PLAIN = 'p', KEY_QUIET = 'q' };
enum { KEY_EXCHANGE = 0x100, KEY_DIGESTS, KEY_JSON, KEY_REPORT, KEY_OOM };

static const struct argp_option work_options[] = {
    { "threads", KEY_THREADS, "N", 0, "host threads (default: all cores); changes no result", 0 },
    { "exchange", KEY_EXCHANGE, "cycles|memory", 0,
      "what exchange code is optimised for (default cycles)", 0 },
    { "check", KEY_CHECK, NULL, 0, "report reads of memory that was never written, and more", 0 },
    { "plain", KEY_PLAIN, NULL, 0, "without fast paths; changes no result", 0 },
    { "json", KEY_JSON, NULL, 0, "print the answer as JSON", 0 },
    { "quiet", KEY_QUIET, NULL, 0, "no progress on stderr", 0 },
    { 0 },
};

static const struct argp_option options[] = {
    { "output", KEY_OUTPUT, "FILE", 0, "write the image of all tiles to this file", 0 },
    { "digests", KEY_DIGESTS, "FILE", 0, "write a digest of all memory after every superstep", 0 },
    { "report", KEY_REPORT, NULL, 0, "print what the memory of the tiles is for, too", 0 },
    { "allow-oom", KEY_OOM, NULL, 0, "what does not fit is no failure: print the report and exit 0",
      0 },
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

static error_t parse_work(int key, char *arg, struct argp_state *state)
{
    struct run_choice *c = state->input;

    switch (key) {
    case KEY_THREADS:
        c->run->threads = c->compile->threads = (unsigned)option_number(state, arg, 4096);
        return 0;
    case KEY_EXCHANGE:
        choose_exchange(c, arg, state);
        return 0;
    case KEY_CHECK:
        c->run->check = 1;
        return 0;
    case KEY_PLAIN:
        c->run->plain = 1;
        return 0;
    case KEY_JSON:
        *c->json = 1;
        return 0;
    case KEY_QUIET:
        c->compile->progress = NULL;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_choice(int key, char *arg, struct argp_state *state)
{
    struct run_choice *c = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = c;
        return 0;
    case KEY_OUTPUT:
        *c->output = arg;
        return 0;
    case KEY_DIGESTS:
        *c->digests = arg;
        return 0;
    case KEY_REPORT:
        *c->report = 1;
        return 0;
    case KEY_OOM:
        *c->allow_oom = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = { { &work_choice_argp, 0, NULL, 0 }, { 0 } };

const struct argp work_choice_argp = { .options = work_options, .parser = parse_work };
const struct argp run_choice_argp = { .options = options,
                                      .parser = parse_choice,
                                      .children = children };
