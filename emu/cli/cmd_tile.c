/* cmd_tile.c - runs one codelet on one tile from a case file (docs/case_format.md) and prints what
 * came out, for people or as JSON. */
#include "emu/cli/emu_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/job/case_run.h"
#include "emu/cli/commands.h"
#include "emu/cli/look_file.h"
#include "emu/cli/tile_source.h"

/* What is read of the command line. */
OPTION_READ(TEXT, machine)
OPTION_READ(LIST, set)
OPTION_READ(FLAG, check)
OPTION_READ(FLAG, plain)
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, case_file)
OPTION_READ(WORD, trace)
OPTION_READ(FLAG, raw)

static int is_source(const char *path)
{
    size_t n = strlen(path);

    return n > 2 && (!strcmp(path + n - 2, ".S") || !strcmp(path + n - 2, ".s"));
}

static enum emu_status read_source(const struct request *q, const char *path,
                                   const struct manifest_options *o, struct manifest **out)
{
    struct arch a;
    char *text;
    enum emu_status s;

    TRY(request_arch(q, "mk2", &a));
    s = tile_source_case(&a, path, option_raw(q), &text);
    if (s == EMU_OK)
        s = ss_manifest_read_text(text, strlen(text), path, o, out);
    free(text); /* allocated by json_dumps() */
    return s;
}

static enum emu_status read_case(const struct request *q, struct manifest **out)
{
    const char *path = option_case_file(q) ? option_case_file(q) : q->what;
    const struct manifest_options o = { .machine = option_machine(q),
                                        .set = option_set(q)->item,
                                        .sets = option_set(q)->count,
                                        .raw = option_raw(q) };

    if (!path || (option_case_file(q) && q->what))
        return FAIL(USAGE, "%s",
                    path ? "one case at a time" : "which case? superstep tile FILE.json");
    if (is_source(path))
        return read_source(q, path, &o, out);
    return q->bytes ? ss_manifest_read_text(q->bytes, q->byte_count, look_file_name(q), &o, out)
                    : ss_manifest_read(path, &o, out);
}

static enum emu_status run_and_print(struct case_run *r, int as_json, enum case_status *verdict)
{
    struct case_before *before = NULL;
    json_t *differences;
    uint64_t total;
    enum emu_status s;

    TRY(case_load(r));
    if (!as_json)
        TRY(case_before_new(r, &before));
    case_execute(r);
    s = case_compare(r, &differences, &total);
    if (s == EMU_OK) {
        *verdict = case_verdict(r, total);
        s = as_json ? case_print(r, differences, total, stdout)
                    : case_print_text(r, before, differences, total, stdout);
        json_decref(differences);
    }
    case_before_free(before);
    return s;
}

static enum emu_status answer(const struct request *q, enum case_status *verdict)
{
    const struct case_options o = { .messages = stderr,
                                    .trace = request_has(q, OPTION_trace) ? stderr : NULL,
                                    .check = option_check(q),
                                    .plain = option_plain(q) };
    struct manifest *m;
    struct case_run *r = NULL;
    enum emu_status s;

    TRY(read_case(q, &m));
    s = request_check_arch(&m->arch);
    if (s == EMU_OK)
        s = case_build(m, &o, &r);
    if (s == EMU_OK)
        s = run_and_print(r, option_json(q), verdict);
    case_run_free(r);
    ss_manifest_free(m);
    return s;
}

int cmd_tile(const struct request *q)
{
    enum case_status verdict = CASE_FAIL;

    if (answer(q, &verdict) != EMU_OK)
        return request_failed(q, NULL);
    return verdict == CASE_PASS ? EXIT_RAN : EXIT_FAULTED;
}
