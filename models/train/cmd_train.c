/* cmd_train.c - `superstep train`: a request to a training. */
#include "models/train/cmd_train.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/cli/commands.h"
#include "emu/cli/interrupt.h"
#include "emu/cli/request_look.h"
#include "emu/job/run_image.h"
#include "emu/load/image.h"
#include "models/run/model_fit.h"
#include "models/ask/model_request.h"
#include "models/train/training.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(WORD, engine)
OPTION_READ(FLAG, check)
OPTION_READ(TEXT, digests)
OPTION_READ(TEXT, output)
OPTION_READ(NUMBER, seed)
OPTION_READ(FLAG, resume)
OPTION_READ(NUMBER, limit)
OPTION_READ(TEXT, dataset)
OPTION_READ(TEXT, test_dataset)
OPTION_READ(REAL, average)
OPTION_READ(TEXT, checkpoint)
OPTION_READ(LIST, curve)
OPTION_READ(TEXT, gradients)

/* ---- files ---- */

/* -o: an image, or parameters. */
static enum emu_status open_output(struct training *t)
{
    const char *name = option_output(t->q), *dot = name ? strrchr(name, '.') : NULL;

    if (dot && !strcmp(dot, ".img"))
        return output_open(name, &t->image);
    if (name && option_engine(t->q))
        return FAIL(USAGE,
                    "--output %s: parameters need values, and --engine timing has none; "
                    "FILE.img is the image",
                    name);
    return output_open(name, &t->parameters);
}

/* Outputs are opened before the work, so that mistakes in their names show at once. */
static enum emu_status open_outputs(struct training *t)
{
    const struct request *q = t->q;

    TRY(open_output(t));
    TRY(output_open(option_gradients(q), &t->gradients));
    TRY(output_not_input(option_digests(q), q->what));
    TRY(output_open(option_digests(q), &t->digests));
    TRY(profile_files_open(q, &t->profile));
    for (size_t k = 0; k < option_curve(q)->count; k++) {
        const char *name = option_curve(q)->item[k], *dot = strrchr(name, '.');

        if (!dot || (strcmp(dot, ".csv") && strcmp(dot, ".svg")))
            return FAIL(USAGE, "--curve %s: expected FILE.csv or FILE.svg", name);
        TRY(output_open(name, &t->curve[k]));
    }
    return EMU_OK;
}

/* ---- data ---- */

/* The directory that is tested with, which may be that of the training pictures; NULL: none. */
static const char *test_dir(const struct request *q)
{
    if (option_test_dataset(q))
        return option_test_dataset(q);
    return option_dataset(q) && dataset_has(option_dataset(q), DATASET_TEST) ? option_dataset(q)
                                                                             : NULL;
}

static enum emu_status open_data(struct training *t)
{
    const char *test = test_dir(t->q);

    if (!option_dataset(t->q))
        return EMU_OK;
    TRY(dataset_open(option_dataset(t->q), DATASET_TRAIN, &t->data));
    if (test)
        TRY(dataset_open(test, dataset_tested_part(test), &t->test_data));
    progress_report(&t->progress, "data", "%s: %s pictures of %u classes, %s to test with",
                    t->data->format, count_text(t->data->samples).at, t->data->classes,
                    t->test_data ? count_text(t->test_data->samples).at : "none");
    if (t->test_data && t->test_data->classes > t->data->classes)
        return FAIL(BAD_FILE, "%s has %u classes, %s %u", test, t->test_data->classes,
                    option_dataset(t->q), t->data->classes);
    return EMU_OK;
}

static enum emu_status open_batches(struct training *t)
{
    struct batch_options o = train_pictures_batches(&t->prepared, &t->source.shape);

    if (!t->data)
        return EMU_OK;
    o.seed = t->at.seed;
    o.smoothing = t->smoothing;
    o.shuffle = 1;
    o.recipe.bytes = t->link.pixels.elem == ELEM_U8;
    TRY(batches_new(t->data, &o, &t->batches));
    t->steps_epoch = t->data->samples / o.batch / t->accumulate;
    if (!t->steps_epoch)
        return FAIL(USAGE, "%" PRIu64 " pictures are fewer than %u, which a step takes",
                    t->data->samples, t->accumulate * o.batch);
    if (!t->test_data)
        return EMU_OK;
    o = train_pictures_batches(&t->prepared, &t->source.shape); /* numbers: the host writes them */
    return batches_new(t->test_data, &o, &t->test_batches);
}

static void set_schedule(struct training *t)
{
    t->steps_max = option_limit(t->q) ? option_limit(t->q) : UINT64_MAX;
    t->schedule.steps = t->epochs * t->steps_epoch;
    if (!t->schedule.every)
        t->schedule.every = t->steps_epoch;
    t->at.batch = t->source.shape.batch;
    training_set_options(t);
}

static void keep_programs(struct training *t)
{
    fflush(stdout); /* people read the answer meanwhile */
    training_keep(t);
}

static void superstep_done(void *ctx, const struct machine_superstep *s)
{
    struct training *t = ctx;

    if (!s->group)
        progress_meter_add(&t->meter, 1);
}

/* The image of the step, with what the first one begins with, before --resume. */
static enum emu_status write_image(struct training *t)
{
    enum emu_status s;

    if (!t->image)
        return EMU_OK;
    s = train_chip_image(&t->chip, train_rate(&t->schedule, 0));
    if (s == EMU_OK)
        s = system_write_image(&t->chip.system, t->image);
    return output_finish(&t->image, s);
}

static enum emu_status begin_machines(struct training *t)
{
    struct session_options o = session_options_of(t->q);
    size_t supersteps;

    o.max_cycles = 0; /* no step begins after it, but one that has begun is whole */
    supersteps = t->passes.supersteps;
    o.record = supersteps || o.record_exchanges;
    if (t->link.io_tiles) /* which have fewer of their own */
        supersteps *= 2;
    o.record_limit = o.record_exchanges ? PROFILE_SUPERSTEPS : supersteps;
    o.watch = superstep_done;
    o.watch_ctx = t;
    o.digests = output_stream(t->digests);
    t->supersteps = supersteps;
    TRY(train_chip_begin(&t->chip, &o));
    o.record = 0;
    o.watch = NULL;
    o.digests = NULL;
    if (t->test_data)
        TRY(train_chip_begin(&t->test_chip, &o));
    return EMU_OK;
}

/* Room for a batch. */
static enum emu_status make_tensors(struct training *t)
{
    const struct op_graph *g = t->source.graph;

    TRY(op_tensor_new(&g->value[t->chip.step.data].shape, &t->pictures));
    TRY(op_tensor_new(&g->value[t->chip.step.targets].shape, &t->targets));
    for (unsigned k = 0; k < UNDER_WAY; k++) {
        t->way[k].label = emu_alloc(t->source.shape.batch, sizeof(*t->way[k].label));
        if (!t->way[k].label)
            return FAIL(NO_MEMORY, "labels");
    }
    return EMU_OK;
}

/* Goes on from a checkpoint, if there is one. */
static enum emu_status resume(struct training *t)
{
    if (!option_resume(t->q) || access(option_checkpoint(t->q), F_OK))
        return EMU_OK;
    TRY(train_checkpoint_read(&t->chip, &t->at, &t->log, &t->average, option_checkpoint(t->q)));
    progress_report(&t->progress, "resume", "%s: after step %" PRIu64, option_checkpoint(t->q),
                    t->at.steps);
    return EMU_OK;
}

/* ---- the command ---- */

/* Whether --max-cycles has ended it. */
static int is_cut_off(const struct training *t)
{
    return t->stopped && t->at.steps < t->steps_max && training_is_out_of_cycles(t);
}

/* How the training ended; what it has made until then is written in any case. */
static enum emu_status judge(struct training *t, enum emu_status s)
{
    t->code = EXIT_RAN;
    if (t->batches.bads || t->test_batches.bads || interrupt_came() || is_cut_off(t))
        t->code = EXIT_PARTIAL;
    if (s == EMU_FAULT) {
        t->code = EXIT_FAULTED;
        fprintf(stderr, "superstep train: %s\n", ss_error());
    } else if (s != EMU_OK) {
        return s;
    }
    if (interrupt_came())
        fprintf(stderr, "superstep train: interrupted after step %" PRIu64 "%s\n", t->at.steps,
                option_checkpoint(t->q) ? ", which the checkpoint has" : "");
    else if (is_cut_off(t))
        fprintf(stderr, "superstep train: %s cycles: stopped after step %" PRIu64 "\n",
                count_text(ss_session_cycles(t->chip.system.session)).at, t->at.steps);
    return EMU_OK;
}

/* What --check has found, on both machines. */
static void tell_findings(struct training *t)
{
    const struct train_chip *chip[] = { &t->chip, &t->test_chip };
    uint64_t all = 0;

    for (size_t k = 0; k < EMU_COUNT_OF(chip); k++) {
        if (!chip[k]->system.session)
            continue;
        if (request_findings(t->q, system_machine(&chip[k]->system), 0))
            t->code = EXIT_FAULTED;
        all += run_check_findings(system_machine(&chip[k]->system));
    }
    if (option_check(t->q))
        progress_report(&t->progress, "check", "%s findings", count_text(all).at);
}

/* What is asked for and a change; data and files are those of the training. */
static enum emu_status compile_changed(void *ctx, const struct request *q, const struct arch *a,
                                       int *fits, uint64_t *need)
{
    struct training *t = ctx, u = { .q = q,
                                    .arch = *a,
                                    .data = t->data,
                                    .test_data = t->test_data,
                                    .at.seed = t->at.seed,
                                    .progress = progress_begin(NULL),
                                    .tries = 1 };
    enum emu_status s = training_read_options(&u);

    if (q == t->q) /* only the machine is another one */
        u.unfit = t->unfit;
    if (s == EMU_OK)
        s = training_open_network(&u);
    if (s == EMU_OK)
        s = training_compile(&u);
    *fits = s == EMU_OK && training_chip_fits(&u.chip) &&
            (!u.test_data || training_chip_fits(&u.test_chip));
    *need = s != EMU_OK ? 0 : system_need_bytes(&u.chip.system);
    if (*need <= a->mem_bytes && system_need_bytes(&u.test_chip.system) > *need)
        *need = system_need_bytes(&u.test_chip.system);
    u.data = u.test_data = NULL;
    training_free(&u);
    return s;
}

static enum emu_status report_unfit(struct training *t, struct train_chip *chip)
{
    const struct system *s = &chip->system;
    const struct fit_subject subject = { .q = t->q,
                                         .arch = &t->arch,
                                         .need_bytes = system_need_bytes(s),
                                         .batch = train_source_batch(&t->source),
                                         .trains = 1,
                                         .compile = compile_changed,
                                         .ctx = t };
    struct fit_findings found;

    if (!system_compiled(s))
        TRY(train_chip_build(chip));
    fit_search(&subject, &found);
    TRY(fit_report(t->q, system_compiled(s), &found, stdout, &t->code));
    return program_profile_unfit(t->q, system_compiled(s), NULL, NULL, &t->profile);
}

static enum emu_status write_profile(struct training *t)
{
    return program_profile(t->q, system_compiled(&t->chip.system), t->chip.system.session,
                           &t->profile);
}

static enum emu_status train(struct training *t)
{
    enum emu_status s;

    if (!training_chip_fits(&t->chip))
        return report_unfit(t, &t->chip);
    if (t->test_data && !training_chip_fits(&t->test_chip))
        return report_unfit(t, &t->test_chip);
    TRY(training_know_passes(t));
    if (t->image) /* as long as the image has no inputs */
        keep_programs(t);
    TRY(write_image(t));
    TRY(begin_machines(t));
    if (option_engine(t->q)) {
        TRY(training_time(t));
        t->code = EXIT_RAN;
        TRY(training_report(t, stdout));
        if (!t->image)
            keep_programs(t);
        return write_profile(t);
    }
    TRY(make_tensors(t));
    TRY(train_average_new(t->chip.g, option_average(t->q), &t->average));
    TRY(resume(t));
    interrupt_defer(NULL, NULL);
    s = training_run(t);
    TRY(judge(t, s));
    training_write_files(t);
    tell_findings(t);
    interrupt_release();
    TRY(training_report(t, stdout));
    TRY(output_finish(&t->digests, EMU_OK));
    if (!t->image)
        keep_programs(t);
    return write_profile(t);
}

static enum emu_status begin(struct training *t)
{
    TRY(request_arch(t->q, "mk2", &t->arch));
    TRY(training_read_options(t));
    if (!option_dataset(t->q) && !option_engine(t->q))
        return FAIL(USAGE, "--data DIR: pictures with labels are needed");
    t->at.seed = request_has(t->q, OPTION_seed) ? option_seed(t->q) : 1;
    t->progress = progress_begin(compile_options_of(t->q).progress);
    TRY(open_data(t));
    TRY(open_outputs(t));
    TRY(training_open_network(t));
    TRY(open_batches(t));
    set_schedule(t);
    return training_compile(t);
}

int cmd_train(const struct request *q)
{
    struct training t = { .q = q, .code = EXIT_BAD };
    enum emu_status s;

    interrupt_catch("superstep train: interrupted before the first step\n");
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    s = begin(&t);
    if (s == EMU_OK)
        s = train(&t);
    if (s != EMU_OK)
        t.code = request_failed(q, q->what);
    interrupt_release();
    training_free(&t);
    return t.code;
}
