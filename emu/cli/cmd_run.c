/* cmd_run.c - runs a manifest or an image on a whole machine and prints what came out. */
#include "emu/cli/emu_commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/output_file.h"
#include "emu/cli/commands.h"
#include "emu/cli/execute_meter.h"
#include "emu/cli/look_file.h"
#include "emu/cli/manifest_request.h"
#include "emu/cli/request_look.h"
#include "emu/cli/request_profile.h"
#include "emu/cli/step_session.h"
#include "emu/job/run_image.h"
#include "emu/job/run_in_memory.h"

/* What is read of the command line. */
OPTION_READ(TEXT, machine)
OPTION_READ(LIST, set)
OPTION_READ(NUMBER, chips)
OPTION_READ(NUMBER, threads)
OPTION_READ(WORD, engine)
OPTION_READ(FLAG, check)
OPTION_READ(FLAG, plain)
OPTION_READ(NUMBER, max_cycles)
OPTION_READ(NUMBER, runs)
OPTION_READ(LIST, stream)
OPTION_READ(LIST, input)
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, digests)
OPTION_READ(TEXT, chart)
OPTION_READ(NUMBER, link_jitter)

/* A run of a file, and what those who made the image add to it. */
struct file_run {
    const struct request *q;         /* borrowed, like the following */
    const struct image_hooks *hooks; /* NULL: nothing */
    const struct manifest *m;        /* NULL: it is an image */
    struct run *run;
    struct profile_files profile;
    struct progress_meter meter;
};

static enum emu_status connect_stream(const struct request *q, struct run *run, const char *text)
{
    const char *equals = strchr(text, '=');
    unsigned long id;
    int64_t chip = -1;
    char *end;

    id = strtoul(text, &end, 10);
    if (*end == '@' && end[1] >= '0' && end[1] <= '9')
        chip = (int64_t)strtoul(end + 1, &end, 10);
    if (!equals || end != equals || id >= HOST_MAX_STREAMS)
        return FAIL(USAGE, "'%s' is not ID=FILE, or ID@CHIP=FILE", text);
    return request_steps(q) ? run_stream_in_memory(run, chip, (uint32_t)id, equals + 1, 0)
                            : run_stream_of_chip(run, chip, (uint32_t)id, equals + 1);
}

static enum emu_status write_inputs(const struct request *q, struct run *run)
{
    for (size_t i = 0; i < option_input(q)->count; i++) {
        const char *text = option_input(q)->item[i], *equals = strchr(text, '=');
        char name[128];

        if (!equals || (size_t)(equals - text) >= sizeof(name))
            return FAIL(USAGE, "--input '%s' is not NAME=FILE", text);
        snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
        TRY(ss_run_input_file(run, name, equals + 1));
    }
    return EMU_OK;
}

/* Streams of the command line; those to the host that nobody connected go into memory. */
static enum emu_status connect_streams(const struct request *q, struct run *run)
{
    const struct image *im = run->im;

    for (size_t i = 0; i < option_stream(q)->count; i++)
        TRY(connect_stream(q, run, option_stream(q)->item[i]));
    for (size_t i = 0; i < image_stream_count(im); i++) {
        const struct image_stream *s = image_stream_at(im, i);

        if (s->direction == STREAM_TO_HOST && !host_record(run->chip[s->chip].host, s->id))
            TRY(run_stream_of_chip(run, s->chip, s->id, NULL));
    }
    return EMU_OK;
}

static const char *status_of(const struct run *r, const struct manifest *m, uint64_t unmet)
{
    static const char *const stops[] = {
        [MACHINE_HOST] = "ok",           [MACHINE_FAULT] = "fault", [MACHINE_OUTER] = "error",
        [MACHINE_DEADLOCK] = "deadlock", [MACHINE_LIMIT] = "limit", [MACHINE_ERROR] = "error"
    };
    int expected = r->stop == MACHINE_FAULT && m && m->expect_fault.is_set && !unmet;

    if (r->stop != MACHINE_HOST && !expected)
        return stops[r->stop];
    if (unmet)
        return "failed";
    if (m && m->expect_check)
        return "ok: reported as expected";
    if (run_check_findings(r))
        return "check";
    return expected ? "ok: faulted as expected" : "ok";
}

static enum emu_status print_answer(const struct request *q, const struct run *run, json_t *report)
{
    TRY(request_put_steps(q, run, option_json(q) ? report : NULL, stdout));
    if (option_json(q))
        ss_run_print_json(report, stdout);
    else
        ss_run_print(report, stdout);
    return EMU_OK;
}

static enum emu_status answer(const struct file_run *x, const char *status,
                              const json_t *differences, uint64_t unmet, uint64_t checked)
{
    json_t *report = ss_run_report(x->run, status, differences, unmet, checked);
    enum emu_status s = report ? EMU_OK : FAIL(NO_MEMORY, "the answer");
    int printed = 0;

    if (s == EMU_OK && x->m && x->m->parameters &&
        json_object_set_new(report, "parameters", manifest_parameters_json(x->m)))
        s = FAIL(NO_MEMORY, "the answer");
    if (s == EMU_OK && !x->m && x->hooks && x->run->stop == MACHINE_HOST &&
        ss_run_has_values(x->run))
        s = x->hooks->after(x->q, x->run, report);
    if (s == EMU_OK)
        s = request_show(x->q, x->run, report, stdout);
    if (s == EMU_OK && x->hooks && x->hooks->print)
        s = x->hooks->print(x->q, x->run, report, &printed);
    if (s == EMU_OK && !printed)
        s = print_answer(x->q, x->run, report);
    json_decref(report);
    return s;
}

/* What is for several chips. */
static enum emu_status check_chips(const struct request *q, const struct run *r)
{
    if (request_has(q, OPTION_link_jitter) && r->chips == 1)
        return FAIL(USAGE, "--link-jitter does nothing on one chip");
    return EMU_OK;
}

static enum emu_status execute(struct file_run *x, int *code)
{
    const struct manifest *m = x->m;
    int own_machine = !option_machine(x->q) && !option_set(x->q)->count &&
                      !request_has(x->q, OPTION_chips) && (!m || manifest_own_parameters(m));
    struct run *run = x->run;
    json_t *differences = NULL;
    uint64_t unmet = 0, checked = 0;
    struct look_trace *trace;
    const char *status;
    enum emu_status s;

    TRY(check_chips(x->q, run));
    TRY(request_look_check(x->q, run->im));
    TRY(write_inputs(x->q, run));
    if (x->hooks && !x->m)
        TRY(x->hooks->before(x->q, run));
    if (request_steps(x->q)) {
        TRY(m ? run_manifest_streams_in_memory(run, m) : connect_streams(x->q, run));
        return step_session(x->q, run, NULL, code);
    }
    TRY(m ? ss_run_manifest_streams(run, m) : connect_streams(x->q, run));
    if (option_chart(x->q))
        TRY(run_count_pairs(run));
    TRY(request_trace_begin(x->q, run, &trace));
    execute_meter_begin(&x->meter, x->q, 0);
    s = ss_run_execute(run);
    progress_meter_end(&x->meter);
    request_trace_end(trace);
    TRY(s);
    if (m && (run->stop == MACHINE_HOST || run->stop == MACHINE_FAULT))
        TRY(ss_run_check(run, m, own_machine, &differences, &unmet, &checked));
    status = status_of(run, m, unmet);
    *code = !strncmp(status, "ok", 2)  ? EXIT_RAN
            : !strcmp(status, "limit") ? EXIT_PARTIAL
                                       : EXIT_FAULTED;
    s = answer(x, status, differences, unmet, checked);
    json_decref(differences);
    if (s == EMU_OK)
        s = ss_run_commit(run);
    return s == EMU_OK ? request_profile(x->q, run, NULL, &x->profile) : s;
}

static enum emu_status run_it(struct file_run *x, const struct image *im, FILE *digests, int *code)
{
    const struct request *q = x->q;
    const struct manifest *m = x->m;
    const struct run_options o = {
        .watch = execute_meter_watch,
        .watch_ctx = &x->meter,
        .threads = (unsigned)option_threads(q),
        .engine = option_engine(q) ? ENGINE_TIMING : ENGINE_VALUES,
        .plain = option_plain(q),
        .check = option_check(q) || (m && m->expect_check),
        .digests = digests,
        .link_jitter_ns = (uint32_t)option_link_jitter(q),
        .record_exchanges = request_profiles(q),
        .host = { .keep_transfers = request_profiles(q) },
        .max_cycles = request_has(q, OPTION_max_cycles) ? option_max_cycles(q)
                      : m                               ? m->max_cycles
                                                        : UINT64_MAX / 2,
        .runs = request_has(q, OPTION_runs) ? option_runs(q)
                : m                         ? m->runs
                                            : 0,
    };
    enum emu_status s;

    s = profile_files_open(q, &x->profile);
    if (s == EMU_OK)
        s = ss_run_new(im, &o, &x->run);
    if (s == EMU_OK)
        s = execute(x, code);
    ss_run_free(x->run);
    profile_files_close(&x->profile);
    return s;
}

static enum emu_status read_image(const struct request *q, struct image **out)
{
    if (q->bytes)
        return (option_engine(q) ? ss_image_read_bytes_for_timing : ss_image_read_bytes)(
            q->bytes, q->byte_count, look_file_name(q), out);
    return (option_engine(q) ? ss_image_read_for_timing : ss_image_read)(q->what, out);
}

static enum emu_status run_image_file(const struct request *q, const struct image_hooks *hooks,
                                      FILE *digests, int *code)
{
    struct file_run x = { .q = q, .hooks = hooks };
    struct image *im;
    enum emu_status s;

    TRY(read_image(q, &im));
    s = run_it(&x, im, digests, code);
    ss_image_free(im);
    return s;
}

static enum emu_status run_manifest_file(const struct request *q, const struct image_hooks *hooks,
                                         FILE *digests, int *code)
{
    struct file_run x = { .q = q, .hooks = hooks };
    struct manifest *m;
    struct image *im = NULL;
    enum emu_status s;

    TRY(manifest_of_request(q, &m));
    x.m = m;
    s = ss_manifest_build(m, (unsigned)option_threads(q), stderr, &im);
    if (s == EMU_OK)
        s = run_it(&x, im, digests, code);
    ss_image_free(im);
    ss_manifest_free(m);
    return s;
}

/* The digests come into their place after the answer, which they cannot take away. */
static enum emu_status with_digests(const struct request *q, const struct image_hooks *hooks,
                                    int *code)
{
    struct output_file *digests;
    FILE *f;

    TRY(output_not_input(option_digests(q), q->path ? q->path : q->what));
    TRY(output_open(option_digests(q), &digests));
    f = output_stream(digests);
    return output_end(digests, q->use & THING_IMAGE ? run_image_file(q, hooks, f, code)
                                                    : run_manifest_file(q, hooks, f, code));
}

/* A source of an exercise, or of a manifest, that is run by itself. */
static void note_lone_source(const struct request *q)
{
    if (q->use & THING_SOURCE && strstr(ss_error(), "undefined symbol"))
        fprintf(stderr,
                "superstep run: a source that is run by itself knows no memories and parameters: a "
                "manifest has them (docs/lab.md 2), those of an exercise `superstep lab check N "
                "%s`\n",
                q->what);
}

int run_file(const struct request *q, const struct image_hooks *hooks)
{
    int code = EXIT_BAD;

    if (with_digests(q, hooks, &code) == EMU_OK)
        return code;
    code = request_failed(q, NULL);
    note_lone_source(q);
    return code;
}
