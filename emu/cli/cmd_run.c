/* cmd_run.c - runs a manifest or an image on a whole machine and prints what came out. */
#include "emu/cli/cmd_run.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cli/command_line.h"
#include "emu/cli/commands.h"
#include "emu/cli/machine_choice.h"
#include "emu/run/run_image.h"

enum { STREAMS_MAX = 128 };
enum {
    KEY_THREADS = 'j',
    KEY_CHECK = 'k',
    KEY_PLAIN = 'p',
    KEY_STEPS = 0x100,
    KEY_TILES,
    KEY_DIGESTS,
    KEY_JSON,
    KEY_MAX_CYCLES,
    KEY_RUNS,
    KEY_STREAM
};

struct request {
    const char *path;
    struct machine_choice machine;
    const char *stream[STREAMS_MAX]; /* ID=FILE */
    size_t streams;
    struct manifest_options manifest;
    struct run_options run;
    const char *digests;
    const char *tiles; /* of --tiles */
    uint64_t max_cycles;
    int steps, json, has_runs;
};

/* ---- command line ---- */

static error_t parse_figure(int key, char *arg, struct argp_state *state)
{
    struct request *r = state->input;
    uint64_t n = option_number(state, arg, key == KEY_THREADS ? 4096 : INT64_MAX);

    if (key == KEY_MAX_CYCLES && !n)
        argp_error(state, "--max-cycles is at least 1");
    if (key == KEY_THREADS)
        r->run.threads = (unsigned)n;
    else if (key == KEY_MAX_CYCLES)
        r->max_cycles = n;
    else
        r->run.runs = n;
    r->has_runs |= key == KEY_RUNS;
    return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct request *r = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &r->machine;
        return 0;
    case ARGP_KEY_ARG:
        if (r->path)
            argp_error(state, "one program at a time: '%s' is one too many", arg);
        r->path = arg;
        return 0;
    case KEY_THREADS:
    case KEY_MAX_CYCLES:
    case KEY_RUNS:
        return parse_figure(key, arg, state);
    case KEY_STREAM:
        if (r->streams == STREAMS_MAX)
            argp_error(state, "more than %d --stream options", STREAMS_MAX);
        else
            r->stream[r->streams++] = arg;
        return 0;
    case KEY_CHECK:
        r->run.check = 1;
        return 0;
    case KEY_PLAIN:
        r->run.plain = 1;
        return 0;
    case KEY_STEPS:
        r->steps = 1;
        return 0;
    case KEY_TILES:
        r->steps = 1;
        r->tiles = arg ? arg : "all";
        return 0;
    case KEY_DIGESTS:
        r->digests = arg;
        return 0;
    case KEY_JSON:
        r->json = 1;
        return 0;
    case ARGP_KEY_END:
        if (!r->path)
            argp_error(state, "which program? run FILE.bsp.json, run FILE.img or run FILE.S");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    { "threads", KEY_THREADS, "N", 0, "host threads (default: all cores); changes no result", 0 },
    { "steps", KEY_STEPS, NULL, 0, "print a table of all supersteps", 0 },
    { "tiles", KEY_TILES, "LIST", OPTION_ARG_OPTIONAL,
      "and what each of these tiles did in every superstep: 0-15, 0-31:2, 1,3,8-11 (default all)",
      0 },
    { "digests", KEY_DIGESTS, "FILE", 0,
      "write the digest of every superstep, for `superstep diff`", 0 },
    { "json", KEY_JSON, NULL, 0, "print one JSON object", 0 },
    { "check", KEY_CHECK, NULL, 0,
      "report reads of memory nobody wrote and races, and resolve the exchange twice (slow)", 0 },
    { "plain", KEY_PLAIN, NULL, 0, "use only the plain reference functions; same answer, slower",
      0 },
    { "max-cycles", KEY_MAX_CYCLES, "N", 0,
      "stop at this cycle, from 1 on (default: the manifest's limit, else none)", 0 },
    { "runs", KEY_RUNS, "N", 0, "how often the host answers the host sync", 0 },
    { "stream", KEY_STREAM, "ID=FILE", 0, "connect a stream of an image to a file; may be repeated",
      0 },
    { 0 },
};

static const struct argp_child children[] = { { &machine_choice_argp, 0, NULL, 0 }, { 0 } };

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .children = children,
    .args_doc = "FILE.bsp.json|FILE.img|FILE.S|NAME",
    .doc = "Run a program on a whole machine. A source file runs on all tiles, from its label main "
           "on. A NAME is one of the programs that `superstep --help` lists; `superstep run NAME "
           "--help` says what it takes.\v"
           "Exit status: 0 ran and met its expectations, 1 fault, deadlock, unmet expectations or "
           "reports of --check, 2 bad usage or bad file, 3 stopped at --max-cycles.",
};

/* ---- what is run ---- */

/* Images begin with a byte that no text has. */
static enum emu_status is_image(const char *path, int *out)
{
    FILE *f = fopen(path, "r");
    int c;

    if (!f)
        return FAIL(IO, "%s: %s", path, strerror(errno));
    c = getc(f);
    fclose(f);
    *out = c == 0x89;
    return EMU_OK;
}

/* Assembly is text too; a manifest begins with a brace. */
static int is_source(const char *path)
{
    size_t n = strlen(path);

    return n > 2 && (!strcmp(path + n - 2, ".S") || !strcmp(path + n - 2, ".s"));
}

static enum emu_status connect_stream(struct run *run, const char *text)
{
    const char *equals = strchr(text, '=');
    unsigned long id;
    char *end;

    id = strtoul(text, &end, 10);
    if (!equals || end != equals || id >= HOST_MAX_STREAMS)
        return FAIL(USAGE, "'%s' is not ID=FILE", text);
    return run_stream_file(run, (uint32_t)id, equals + 1, 0);
}

/* Streams of the command line; those to the host that nobody connected go into memory. */
static enum emu_status connect_streams(const struct request *q, struct run *run)
{
    const struct image *im = run->im;

    for (size_t i = 0; i < q->streams; i++)
        TRY(connect_stream(run, q->stream[i]));
    for (size_t i = 0; i < image_stream_count(im); i++) {
        const struct image_stream *s = image_stream_at(im, i);

        if (s->direction == STREAM_TO_HOST && !host_record(run->host, s->id))
            TRY(run_stream_file(run, s->id, NULL, 0));
    }
    return EMU_OK;
}

static const char *status_of(const struct run *r, const struct manifest *m, uint64_t unmet)
{
    static const char *const stops[] = { [MACHINE_HOST] = "ok",
                                         [MACHINE_FAULT] = "fault",
                                         [MACHINE_DEADLOCK] = "deadlock",
                                         [MACHINE_LIMIT] = "limit",
                                         [MACHINE_ERROR] = "error" };
    int expected = r->stop == MACHINE_FAULT && m && m->expect_fault.is_set && !unmet;

    if (r->stop != MACHINE_HOST && !expected)
        return stops[r->stop];
    if (unmet)
        return "failed";
    if (run_check_reports(r))
        return "check";
    return expected ? "ok: faulted as expected" : "ok";
}

/* The tiles of --tiles; empty when it was not given. */
static enum emu_status list_tiles(const struct request *q, const struct run *run,
                                  struct tile_list *out)
{
    struct case_reader reader = { .file = "--tiles" };
    json_t *text;
    enum emu_status s;

    if (!q->tiles)
        return EMU_OK;
    text = json_string(q->tiles);
    s = text ? tile_list_read(&reader, NULL, text, image_arch(run->im), out)
             : FAIL(USAGE, "--tiles: not text");
    json_decref(text);
    return s;
}

static enum emu_status print_answer(const struct request *q, const struct run *run,
                                    const struct tile_list *tiles, json_t *report)
{
    if (!q->json) {
        if (q->steps)
            run_print_steps(run, tiles, stdout);
        run_print(report, stdout);
        return EMU_OK;
    }
    if (q->steps && json_object_set_new(report, "steps", run_steps_json(run, tiles)))
        return FAIL(NO_MEMORY, "the answer");
    run_print_json(report, stdout);
    return EMU_OK;
}

static enum emu_status answer(const struct request *q, struct run *run, const char *status,
                              const json_t *differences, uint64_t unmet, uint64_t checked)
{
    struct tile_list tiles = { .tile = NULL };
    json_t *report = run_report(run, status, differences, unmet, checked);
    enum emu_status s = report ? list_tiles(q, run, &tiles) : FAIL(NO_MEMORY, "the answer");

    if (s == EMU_OK)
        s = print_answer(q, run, &tiles, report);
    json_decref(report);
    tile_list_free(&tiles);
    return s;
}

static enum emu_status execute(const struct request *q, struct run *run, const struct manifest *m,
                               int *code)
{
    int own_machine = !q->machine.name && !q->machine.sets;
    json_t *differences = NULL;
    uint64_t unmet = 0, checked = 0;
    const char *status;
    enum emu_status s;

    TRY(m ? run_manifest_streams(run, m) : connect_streams(q, run));
    TRY(run_execute(run));
    if (m && (run->stop == MACHINE_HOST || run->stop == MACHINE_FAULT))
        TRY(run_check(run, m, own_machine, &differences, &unmet, &checked));
    status = status_of(run, m, unmet);
    *code = !strncmp(status, "ok", 2)  ? EXIT_RAN
            : !strcmp(status, "limit") ? EXIT_PARTIAL
                                       : EXIT_FAULTED;
    s = answer(q, run, status, differences, unmet, checked);
    json_decref(differences);
    return s;
}

static enum emu_status run_it(const struct request *q, const struct image *im,
                              const struct manifest *m, FILE *digests, int *code)
{
    struct run_options o = q->run;
    struct run *run;
    enum emu_status s;

    o.digests = digests;
    o.max_cycles = q->max_cycles ? q->max_cycles : m ? m->max_cycles : UINT64_MAX / 2;
    if (!q->has_runs)
        o.runs = m ? m->runs : 0;
    TRY(run_new(im, &o, &run));
    s = execute(q, run, m, code);
    run_free(run);
    return s;
}

static enum emu_status with_digests(const struct request *q, const struct image *im,
                                    const struct manifest *m, int *code)
{
    FILE *f = NULL;
    enum emu_status s;

    if (q->digests) {
        f = fopen(q->digests, "w");
        if (!f)
            return FAIL(IO, "%s: %s", q->digests, strerror(errno));
    }
    s = run_it(q, im, m, f, code);
    if (f && fclose(f) && s == EMU_OK)
        s = FAIL(IO, "%s: %s", q->digests, strerror(errno));
    return s;
}

static enum emu_status run_image_file(const struct request *q, int *code)
{
    struct image *im;
    enum emu_status s;

    if (q->machine.name || q->machine.sets)
        return FAIL(USAGE, "an image runs on the machine it was made for; --machine and --set are "
                           "for manifests");
    TRY(image_read(q->path, &im));
    s = with_digests(q, im, NULL, code);
    image_free(im);
    return s;
}

static enum emu_status run_manifest_file(const struct request *q, int *code)
{
    struct manifest *m;
    struct image *im = NULL;
    enum emu_status s;

    if (q->streams)
        return FAIL(USAGE, "--stream is for images; a manifest names its files itself");
    TRY(is_source(q->path) ? manifest_for_source(q->path, &q->manifest, &m)
                           : manifest_read(q->path, &q->manifest, &m));
    s = manifest_build(m, q->run.threads, stderr, &im);
    if (s == EMU_OK)
        s = with_digests(q, im, m, code);
    image_free(im);
    manifest_free(m);
    return s;
}

int cmd_run(int argc, char **argv)
{
    struct request q = { .path = NULL };
    int image = 0, code = EXIT_BAD;
    enum emu_status s;

    if (command_line_parse(&parser, argc, argv, &q))
        return EXIT_BAD;
    q.manifest.machine = q.machine.name;
    q.manifest.set = q.machine.set;
    q.manifest.sets = q.machine.sets;
    s = is_image(q.path, &image);
    if (s == EMU_OK)
        s = image ? run_image_file(&q, &code) : run_manifest_file(&q, &code);
    if (s == EMU_OK)
        return code;
    fprintf(stderr, "superstep run: %s\n", emu_error());
    return EXIT_BAD;
}
