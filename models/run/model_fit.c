/* model_fit.c - tries a network with changes, and reports one that does not fit. */
#include "models/run/model_fit.h"

#include "models/ask/model_request.h"
#include "models/run/cut_list.h"
#include "models/system/system.h"
#include "programs/cli/program_request.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(FLAG, allow_oom)

enum emu_status model_source_open_blank(const struct request *q, const struct arch *a,
                                        struct model_source *out)
{
    struct progress quiet = progress_begin(NULL);

    TRY(model_source_open(q, a, &quiet, out));
    out->choice.blank = !out->choice.weights;
    return model_source_finish(out, &quiet);
}

static enum emu_status compile_changed(void *ctx, const struct request *q, const struct arch *a,
                                       int *fits, uint64_t *need)
{
    struct model_source source = { .net = NULL };
    struct system system = { .graph = NULL };
    enum emu_status s = model_source_open_blank(q, a, &source);
    struct system_options o = { .program = { .lower = network_lowering(&source.choice),
                                             .compile = compile_options_of(q),
                                             .schedules = ctx,
                                             .outlook = 1 },
                                .folder = "",
                                .chips = a->chips,
                                .cut = cut_names(q) };

    o.program.compile.progress = NULL;
    if (s == EMU_OK) {
        system_init(&system, a, source.graph, &o);
        s = system_build(&system);
    }
    *fits = s == EMU_OK && system_fits(&system);
    *need = s == EMU_OK ? system_need_bytes(&system) : 0;
    system_free(&system);
    model_source_free(&source);
    return s;
}

void fit_search_source(struct fit_subject *subject, const struct model_source *s,
                       struct fit_findings *out)
{
    const struct model_facts facts = model_source_facts(s);
    struct schedule_store *schedules = NULL;

    subject->batch = s->net || s->model->batched ? facts.batch : 0;
    subject->resolution = s->net ? facts.resolution : 0;
    if (schedule_store_new("", &schedules) == EMU_OK)
        subject->ctx = schedules;
    fit_search(subject, out);
    schedule_store_free(schedules);
}

void model_fit_search(const struct request *q, const struct arch *a, const struct model_source *s,
                      uint64_t need_bytes, struct fit_findings *out)
{
    struct fit_subject subject = {
        .q = q, .arch = a, .need_bytes = need_bytes, .compile = compile_changed
    };

    fit_search_source(&subject, s, out);
}

/* ---- the answer ---- */

static enum emu_status print_json(const struct compiled *c, const struct fit_findings *found,
                                  FILE *f)
{
    json_t *o = ss_compiled_report_json(c);

    if (!o || json_object_set_new(o, "tried", fit_findings_json(found))) {
        json_decref(o);
        return FAIL(NO_MEMORY, "the report");
    }
    ss_run_print_json(o, f);
    json_decref(o);
    return EMU_OK;
}

enum emu_status fit_report(const struct request *q, struct compiled *c,
                           const struct fit_findings *found, FILE *f, int *code)
{
    const char *line[FIT_LINES_MAX];

    for (unsigned k = 0; k < found->lines; k++)
        line[k] = found->line[k];
    if (found->lines)
        TRY(compiled_set_advice(c, line, found->lines));
    if (!option_json(q))
        return program_out_of_memory(q, c, f, code);
    *code = option_allow_oom(q) ? EXIT_RAN : EXIT_FAULTED;
    program_note_unwritten(q);
    return print_json(c, found, f);
}
