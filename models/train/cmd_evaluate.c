/* cmd_evaluate.c - `superstep evaluate`: how good a network is on pictures with labels, prepared
 * and scored as in the evaluations of a training.
 */
#include "models/train/cmd_evaluate.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/base/progress.h"
#include "emu/cli/commands.h"
#include "emu/cli/interrupt.h"
#include "emu/cli/request_look.h"
#include "emu/job/run_image.h"
#include "models/answer/layer_range.h"
#include "models/ask/model_request.h"
#include "models/ask/model_source.h"
#include "models/ask/network_choice.h"
#include "models/run/model_fit.h"
#include "models/train/train_evaluate.h"
#include "models/train/train_pictures.h"
#include "models/train/train_source.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(TEXT, digests)
OPTION_READ(FLAG, check)
OPTION_READ(FLAG, json)
OPTION_READ(FLAG, report)
OPTION_READ(FLAG, ranges)
OPTION_READ(TEXT, weights)
OPTION_READ(TEXT, dataset)
OPTION_READ(WORD, format)

enum { TABLE_CLASSES = 40 /* more are in the JSON only */, JSON_CLASSES = 1000 };

struct evaluating {
    const struct request *q; /* borrowed */
    struct arch arch;
    struct progress progress;
    struct dataset *data; /* owned, like all of these */
    struct train_source source;
    struct train_pictures prepared;
    struct batches batches;
    struct network_choice choice;
    struct net_cache_input kept_as; /* of the source, as the cache knows it */
    struct train_chip chip;
    struct evaluation result;
    struct layer_range *ranges;  /* by layer of the program, over all batches; NULL: not wanted */
    struct output_file *digests; /* owned; NULL: not wanted */
    int tries;                   /* 1: only whether the program fits is wanted (fit_search.h) */
};

static void evaluating_free(struct evaluating *e)
{
    evaluation_free(&e->result);
    ss_free(e->ranges);
    output_discard(e->digests);
    train_chip_free(&e->chip);
    batches_free(&e->batches);
    train_source_free(&e->source);
    dataset_free(e->data);
}

/* ---- the work ---- */

static enum emu_status open_data(struct evaluating *e)
{
    const struct request *q = e->q;

    if (!option_weights(q) && network_find(q->what))
        return FAIL(USAGE, "--weights FILE: a network by name has no parameters of its own");
    if (!option_dataset(q))
        return FAIL(USAGE, "--data DIR: pictures with labels are needed");
    TRY(dataset_open(option_dataset(q), dataset_tested_part(option_dataset(q)), &e->data));
    progress_report(&e->progress, "data", "%s: %s pictures of %u classes", e->data->format,
                    count_text(e->data->samples).at, e->data->classes);
    return EMU_OK;
}

static enum emu_status open_network(struct evaluating *e)
{
    const struct request *q = e->q;
    struct batch_options o;

    TRY(train_source_open(q, e->data, &e->source));
    TRY(train_pictures_of(q, &e->source.shape, e->data, &e->prepared));
    o = train_pictures_batches(&e->prepared, &e->source.shape);
    return batches_new(e->data, &o, &e->batches);
}

static enum emu_status compile(struct evaluating *e)
{
    struct op_graph *g = e->source.graph;
    struct train_chip_options o = { .program = { .compile = compile_options_of(e->q) },
                                    .what = "an evaluation of",
                                    .progress = &e->progress };
    struct train_step step;

    e->choice = network_choice_of(e->q);
    e->kept_as = (struct net_cache_input){
        .choice = &e->choice, .net = e->source.net, .model = e->source.model, .request = e->q
    };
    o.program.lower = network_lowering(&e->choice);
    o.folder = e->tries ? "" : e->choice.cache;
    o.kept_as = e->tries || option_ranges(e->q) ? NULL : &e->kept_as; /* ranges: by its steps */
    o.program.lower.real = option_format(e->q) == F32_F32 ? ELEM_F32 : ELEM_F16;
    o.program.lower.states = option_format(e->q) == F16_F16 ? STATES_F16_NEAREST : STATES_F32;
    o.program.outlook = e->tries;
    o.program.compile.progress = e->progress.f;
    TRY(train_eval_make(g, &step));
    TRY(train_graph_check(e->q, &e->arch, "in an evaluation", g));
    TRY(train_chip_new(&e->arch, g, &step, &o, &e->chip));
    progress_skip(&e->progress);
    return EMU_OK;
}

static enum emu_status score(struct evaluating *e)
{
    struct session_options o = session_options_of(e->q);
    struct progress_meter meter;
    enum emu_status s;

    o.record = 0;
    o.ranges = option_ranges(e->q);
    o.digests = output_stream(e->digests);
    if (o.ranges)
        TRY(system_bill_layers(&e->chip.system));
    TRY(train_chip_begin(&e->chip, &o));
    interrupt_defer(NULL, NULL);
    progress_meter_begin(&meter, e->progress.f, "evaluate", "pictures", e->data->samples);
    s = train_evaluate(&e->chip, &e->batches, &meter, interrupt_came, &e->result);
    progress_meter_end(&meter);
    TRY(s);
    TRY(layer_ranges_new(&e->chip.system.layers, e->chip.system.session, &e->ranges));
    if (e->ranges)
        layer_ranges_add(&e->chip.system.layers, e->chip.system.session, 0, e->ranges);
    return EMU_OK;
}

/* What --check has found. */
static void tell_findings(struct evaluating *e, int *code)
{
    struct run *r = system_machine(&e->chip.system);

    if (request_findings(e->q, r, 0))
        *code = EXIT_FAULTED;
    if (option_check(e->q))
        progress_report(&e->progress, "check", "%s findings", count_text(run_check_findings(r)).at);
}

/* ---- the answer ---- */

static double cycles_of_batch(const struct evaluation *r)
{
    return r->batches ? (double)r->cycles / (double)r->batches : 0;
}

static double chip_rate(const struct evaluating *e)
{
    double cycles = cycles_of_batch(&e->result);

    return cycles > 0 ? e->source.shape.batch * 1e6 * e->arch.clock_mhz / cycles : 0;
}

static uint64_t pictures_of(const struct evaluation *r, uint32_t label)
{
    uint64_t n = 0;

    for (uint32_t c = 0; c < r->classes; c++)
        n += r->taken[(size_t)label * r->classes + c];
    return n;
}

/* The other class that pictures of a label were most often taken for; the label: none was. */
static uint32_t confused_with(const struct evaluation *r, uint32_t label)
{
    const uint64_t *row = r->taken + (size_t)label * r->classes;
    uint32_t most = label;

    for (uint32_t c = 0; c < r->classes; c++) {
        if (c != label && row[c] > (most == label ? 0 : row[most]))
            most = c;
    }
    return most;
}

static void print_classes(const struct evaluating *e, FILE *f)
{
    const struct evaluation *r = &e->result;
    char **name = e->data->name;

    if (r->classes > TABLE_CLASSES)
        return;
    fprintf(f, "\n  class                 pictures     right   most often taken for\n");
    for (uint32_t k = 0; k < e->data->classes; k++) {
        uint64_t all = pictures_of(r, k), right = r->taken[(size_t)k * r->classes + k];
        uint32_t other = confused_with(r, k);

        if (!all)
            continue;
        fprintf(f, "  %5u %-14.14s %9" PRIu64 "  %6.2f %%", k, name ? name[k] : "", all,
                100.0 * (double)right / (double)all);
        if (other != k)
            fprintf(f, "   %u %.30s, %" PRIu64, other,
                    name && other < e->data->classes ? name[other] : "",
                    r->taken[(size_t)k * r->classes + other]);
        fputc('\n', f);
    }
}

static void print_engine(const struct evaluating *e, FILE *f)
{
    char engine[RUN_ENGINE_TEXT], digest[SYSTEM_DIGEST_TEXT];

    ss_run_engine_text(system_machine(&e->chip.system), engine);
    system_digest_text(&e->chip.system, digest);
    fprintf(f, "engine      %s\ndigest      %s\n", engine, digest);
}

static void print_text(const struct evaluating *e, FILE *f)
{
    const struct evaluation *r = &e->result;
    char text[PICTURES_TEXT];

    fprintf(f, "network     %s, %u classes, batches of %u, %s\n", e->q->what, r->classes,
            e->source.shape.batch, train_format_text(e->q));
    fprintf(f, "machine     %s, %s tiles at %u MHz\n", ss_arch_title(&e->arch).at,
            count_text(e->arch.tiles).at, e->arch.clock_mhz);
    fprintf(f, "data        %s: %s pictures of %u classes\n", e->data->format,
            count_text(e->data->samples).at, e->data->classes);
    fprintf(f, "pictures    %s\n", train_pictures_text(&e->prepared, 1, text));
    print_engine(e, f);
    fprintf(f, "a batch     %s cycles: %.0f pictures/s\n",
            count_text((uint64_t)cycles_of_batch(r)).at, chip_rate(e));
    print_classes(e, f);
    if (e->batches.bads)
        fprintf(f, "\nleft out    %" PRIu64 " pictures that cannot be read\n", e->batches.bads);
    fprintf(f, "\nloss        %.4f\naccuracy    %.2f %%: %" PRIu64 " of %" PRIu64 " pictures\n",
            r->loss, 100 * evaluation_accuracy(r), r->right, r->pictures);
}

/* [label][class]. */
static json_t *confusion_json(const struct evaluation *r)
{
    json_t *all = r->classes > JSON_CLASSES ? json_null() : json_array();

    for (uint32_t k = 0; json_is_array(all) && k < r->classes; k++) {
        json_t *row = json_array();

        for (uint32_t c = 0; c < r->classes; c++)
            json_array_append_new(row, json_integer((json_int_t)r->taken[k * r->classes + c]));
        json_array_append_new(all, row);
    }
    return all;
}

static enum emu_status print_json(const struct evaluating *e, FILE *f)
{
    const struct evaluation *r = &e->result;
    char text[PICTURES_TEXT], engine[RUN_ENGINE_TEXT], digest[SYSTEM_DIGEST_TEXT];
    json_t *o = json_pack(
        "{s:o, s:s, s:o, s:i, s:i, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o, s:o}",
        "network", json_text(e->q->what), "machine", e->arch.name, "machine_changes",
        ss_arch_changes(&e->arch), "batch", (int)e->source.shape.batch, "classes", (int)r->classes,
        "format", train_format_text(e->q), "prepared", train_pictures_text(&e->prepared, 1, text),
        "pictures", (json_int_t)r->pictures, "right", (json_int_t)r->right, "left_out",
        (json_int_t)e->batches.bads, "loss", r->loss, "accuracy", evaluation_accuracy(r),
        "cycles_per_batch", cycles_of_batch(r), "pictures_per_second", chip_rate(e), "confusion",
        confusion_json(r), "memory", memory_facts_json(&e->chip.system.memory));

    ss_run_engine_text(system_machine(&e->chip.system), engine);
    system_digest_text(&e->chip.system, digest);
    if (!o || json_object_set_new(o, "engine", json_string(engine)) ||
        json_object_set_new(o, "digest", json_string(digest)) ||
        (e->ranges &&
         json_object_set_new(o, "ranges", layer_ranges_json(&e->chip.system.layers, e->ranges)))) {
        json_decref(o);
        return FAIL(NO_MEMORY, "the answer");
    }
    ss_run_print_json(o, f);
    json_decref(o);
    return EMU_OK;
}

static enum emu_status report(const struct evaluating *e, int *code)
{
    const struct evaluation *r = &e->result;

    *code = e->batches.bads || interrupt_came() ? EXIT_PARTIAL : EXIT_RAN;
    if (interrupt_came())
        fprintf(stderr,
                "superstep evaluate: interrupted after %" PRIu64 " of %" PRIu64 " pictures\n",
                r->pictures, e->data->samples);
    if (option_json(e->q))
        return print_json(e, stdout);
    if (option_report(e->q))
        memory_facts_print(&e->chip.system.memory, stdout);
    if (e->ranges)
        layer_ranges_print(&e->chip.system.layers, e->ranges, stdout);
    print_text(e, stdout);
    return EMU_OK;
}

/* What is asked for and a change; the pictures are those of the evaluation. */
static enum emu_status compile_changed(void *ctx, const struct request *q, const struct arch *a,
                                       int *fits, uint64_t *need)
{
    const struct evaluating *e = ctx;
    struct evaluating u = {
        .q = q, .arch = *a, .data = e->data, .progress = progress_begin(NULL), .tries = 1
    };
    enum emu_status s = open_network(&u);

    if (s == EMU_OK)
        s = compile(&u);
    *fits = s == EMU_OK && system_fits(&u.chip.system);
    *need = s == EMU_OK ? system_need_bytes(&u.chip.system) : 0;
    u.data = NULL;
    evaluating_free(&u);
    return s;
}

static enum emu_status report_unfit(struct evaluating *e, int *code)
{
    const struct train_source *s = &e->source;
    const struct fit_subject subject = { .q = e->q,
                                         .arch = &e->arch,
                                         .need_bytes = system_need_bytes(&e->chip.system),
                                         .batch = train_source_batch(s),
                                         .compile = compile_changed,
                                         .ctx = e };
    struct fit_findings found;

    if (!system_compiled(&e->chip.system))
        TRY(train_chip_build(&e->chip));
    fit_search(&subject, &found);
    return fit_report(e->q, system_compiled(&e->chip.system), &found, stdout, code);
}

static enum emu_status evaluate(struct evaluating *e, int *code)
{
    TRY(request_arch(e->q, "mk2", &e->arch));
    e->progress = progress_begin(compile_options_of(e->q).progress);
    TRY(open_data(e));
    TRY(output_not_input(option_digests(e->q), e->q->what));
    TRY(output_open(option_digests(e->q), &e->digests));
    TRY(open_network(e));
    TRY(compile(e));
    if (!system_fits(&e->chip.system))
        return report_unfit(e, code);
    TRY(score(e));
    interrupt_release();
    TRY(report(e, code));
    tell_findings(e, code);
    TRY(output_finish(&e->digests, EMU_OK));
    fflush(stdout); /* people read the answer meanwhile */
    system_keep(&e->chip.system, NULL, NULL);
    return EMU_OK;
}

int cmd_evaluate(const struct request *q)
{
    struct evaluating e = { .q = q };
    int code = EXIT_BAD;

    interrupt_catch("superstep evaluate: interrupted before the first batch\n");
    if (evaluate(&e, &code) != EMU_OK)
        code = request_failed(q, q->what);
    interrupt_release();
    evaluating_free(&e);
    return code;
}
