/* cmd_tile.c - runs one codelet on one tile from a case file (docs/case_format.md) and prints what
 * came out as JSON. */
#include "emu/cli/cmd_tile.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "emu/case/case_run.h"
#include "emu/cli/command_line.h"
#include "emu/cli/commands.h"
#include "emu/cli/machine_choice.h"

enum { KEY_CASE = 'c', KEY_TRACE = 't', KEY_CHECK = 'k', KEY_PLAIN = 'p' };
enum { KEY_RAW = 'r' };

struct request {
    const char *path;
    struct machine_choice machine;
    struct case_options options;
};

static error_t take_path(struct request *r, const char *path, struct argp_state *state)
{
    if (r->path) {
        argp_error(state, "one case at a time: '%s' is one too many", path);
        return EINVAL;
    }
    r->path = path;
    return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct request *r = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &r->machine;
        return 0;
    case KEY_CASE:
    case ARGP_KEY_ARG:
        return take_path(r, arg, state);
    case KEY_TRACE:
        if (strcmp(arg, "i")) {
            argp_error(state, "--trace knows only 'i', the issued instructions, not '%s'", arg);
            return EINVAL;
        }
        r->options.trace = stderr;
        return 0;
    case KEY_CHECK:
        r->options.check = 1;
        return 0;
    case KEY_PLAIN:
        r->options.plain = 1;
        return 0;
    case KEY_RAW:
        r->options.raw = 1;
        return 0;
    case ARGP_KEY_END:
        if (!r->path) {
            argp_error(state, "which case? tile --case FILE.json");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    { "case", KEY_CASE, "FILE", 0, "the case to run; '-' reads it from the standard input", 0 },
    { "trace", KEY_TRACE, "i", 0,
      "print every issue on stderr: cycle, tile.context, pc, symbol, instruction (50x slower)", 0 },
    { "check", KEY_CHECK, NULL, 0,
      "report reads of memory nobody wrote, races and stack overruns (10x slower)", 0 },
    { "plain", KEY_PLAIN, NULL, 0, "use only the plain reference functions; same answer, slower",
      0 },
    { "raw", KEY_RAW, NULL, 0, "assemble without the C preprocessor", 0 },
    { 0 },
};

static const struct argp_child children[] = { { &machine_choice_argp, 0, NULL, 0 }, { 0 } };

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .children = children,
    .args_doc = "[FILE]",
    .doc = "Run one codelet on one tile and print registers, memory and cycles as JSON.\v"
           "Exit status: 0 pass, 1 fail, fault, timeout or reports of --check, 2 bad usage or bad "
           "file.",
};

static enum emu_status run_and_print(struct case_run *r, enum case_status *verdict)
{
    json_t *differences;
    uint64_t total;
    enum emu_status s;

    TRY(case_load(r));
    case_execute(r);
    TRY(case_compare(r, &differences, &total));
    *verdict = case_verdict(r, total);
    s = case_print(r, differences, total, stdout);
    json_decref(differences);
    return s;
}

static enum emu_status answer(const struct request *q, enum case_status *verdict)
{
    struct tile_case *c;
    struct case_run *r = NULL;
    enum emu_status s;

    TRY(case_read(q->path, &c));
    s = case_build(c, &q->options, &r);
    if (s == EMU_OK)
        s = run_and_print(r, verdict);
    case_run_free(r);
    case_free(c);
    return s;
}

int cmd_tile(int argc, char **argv)
{
    struct request q = { .options = { .messages = stderr } };
    enum case_status verdict = CASE_FAIL;
    error_t bad;

    bad = command_line_parse(&parser, argc, argv, &q);
    if (bad)
        return EXIT_BAD;
    q.options.machine = q.machine.name;
    q.options.set = q.machine.set;
    q.options.set_count = q.machine.sets;
    if (answer(&q, &verdict) != EMU_OK) {
        fprintf(stderr, "tile: %s\n", emu_error());
        return EXIT_BAD;
    }
    return verdict == CASE_PASS ? EXIT_RAN : EXIT_FAULTED;
}
