/* cmd_train.c - `superstep train`: a request to a training. */
#include "models/train/cmd_train.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/base/hash.h"
#include "emu/cli/commands.h"
#include "emu/cli/interrupt.h"
#include "emu/cli/request_look.h"
#include "emu/job/run_image.h"
#include "emu/load/image.h"
#include "models/ask/model_source.h"
#include "models/operators/op_update.h"
#include "models/run/model_fit.h"
#include "models/ask/network_choice.h"
#include "models/ask/model_facts.h"
#include "models/ask/model_request.h"
#include "models/train/recompute.h"
#include "models/train/train_options.h"
#include "models/train/training.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

enum { EPOCHS = 5, LOSS_SCALE = 1024 };

static void training_free(struct training *t)
{
    profile_files_close(&t->profile);
    for (unsigned k = 0; k < TRAINING_CURVES; k++)
        output_discard(t->curve[k]);
    output_discard(t->parameters);
    output_discard(t->image);
    output_discard(t->gradients);
    train_average_free(&t->average); /* borrows the chip's graph */
    train_chip_free(&t->chip);
    train_chip_free(&t->test_chip);
    train_source_free(&t->source);
    train_source_free(&t->test_source);
    batches_free(&t->batches);
    batches_free(&t->test_batches);
    dataset_free(t->data);
    dataset_free(t->test_data);
    op_tensor_free(&t->pictures);
    op_tensor_free(&t->targets);
    for (unsigned k = 0; k < UNDER_WAY; k++)
        emu_free(t->way[k].label);
    train_log_free(&t->log);
    train_passes_free(&t->passes);
}

/* ---- options ---- */

static enum emu_status read_optimiser(struct training *t)
{
    static const double rate[] = { 0.1, 0.001, 1, 0.001 };
    const struct request *q = t->q;

    TRY(train_optimiser_of(op_update_method_name(model_request(q)->optimiser), &t->optimiser));
    if (request_has(q, OPTION_momentum))
        t->optimiser.alpha = model_request(q)->momentum;
    if (request_has(q, OPTION_decay))
        t->optimiser.decay = model_request(q)->decay;
    if (t->optimiser.alpha >= 1)
        return FAIL(USAGE, "--momentum: expected a number below 1, got %g", t->optimiser.alpha);
    t->schedule.rate =
        request_has(q, OPTION_rate) ? model_request(q)->rate : rate[model_request(q)->optimiser];
    return EMU_OK;
}

/* "1024", "dynamic" or "dynamic:1024". */
static enum emu_status read_loss_scale(struct training *t)
{
    const char *text = model_request(t->q)->loss_scale, *number = text;
    static const char dynamic[] = "dynamic";
    char *end;

    t->loss_scale = t->real == ELEM_F32 ? 1 : LOSS_SCALE;
    if (text && !strncmp(text, dynamic, strlen(dynamic))) {
        t->dynamic_scale = 1;
        t->loss_scale = LOSS_SCALE_MAX;
        number = text + strlen(dynamic);
        number = *number == ':' ? number + 1 : *number ? "" : NULL;
    }
    if (number)
        t->loss_scale = strtod(number, &end);
    if (number && (!*number || *end || !(t->loss_scale >= 1 && t->loss_scale <= LOSS_SCALE_MAX)))
        return FAIL(USAGE, "--loss-scale: expected 1 to %d, dynamic or dynamic:S, got %s",
                    LOSS_SCALE_MAX, text);
    t->skips = request_has(t->q, OPTION_on_overflow) ? (int)model_request(t->q)->on_overflow
                                                     : t->dynamic_scale;
    if (t->dynamic_scale && !t->skips)
        return FAIL(USAGE, "--on-overflow stop: a dynamic loss scale is found by skipping steps");
    return EMU_OK;
}

static enum emu_status read_format(struct training *t)
{
    const struct request *q = t->q;

    t->real = model_request(q)->format == F32_F32 ? ELEM_F32 : ELEM_F16;
    t->states = model_request(q)->format != F16_F16 ? STATES_F32
                : model_request(q)->rounding        ? STATES_F16_NEAREST
                                                    : STATES_F16_STOCHASTIC;
    if (request_has(q, OPTION_rounding) && model_request(q)->format != F16_F16)
        return FAIL(USAGE, "--rounding: only --format 16.16 rounds parameters");
    return EMU_OK;
}

static enum emu_status read_shares(struct training *t)
{
    const struct request *q = t->q;

    t->optimiser.drop =
        (struct train_dropout){ model_request(q)->dropout, model_request(q)->drop_connect };
    if (model_request(q)->dropout >= 1 || model_request(q)->drop_connect >= 1 ||
        model_request(q)->average >= 1)
        return FAIL(USAGE, "--%s: expected a number below 1",
                    model_request(q)->dropout >= 1        ? "dropout"
                    : model_request(q)->drop_connect >= 1 ? "drop-connect"
                                                          : "average");
    return EMU_OK;
}

static enum emu_status read_options(struct training *t)
{
    static const enum train_schedule_kind kind[] = { SCHEDULE_COSINE, SCHEDULE_CONSTANT,
                                                     SCHEDULE_STEP, SCHEDULE_EXPONENTIAL,
                                                     SCHEDULE_POLYNOMIAL };
    const struct request *q = t->q;

    TRY(read_optimiser(t));
    TRY(read_format(t));
    TRY(read_loss_scale(t));
    TRY(read_shares(t));
    t->schedule.kind = kind[model_request(q)->schedule];
    t->schedule.warmup = model_request(q)->warmup;
    t->schedule.every = model_request(q)->rate_steps;
    t->schedule.factor = request_has(q, OPTION_rate_factor) ? model_request(q)->rate_factor : 0.5;
    t->epochs = model_request(q)->epochs ? model_request(q)->epochs : EPOCHS;
    t->accumulate = model_request(q)->accumulate ? (uint32_t)model_request(q)->accumulate : 1;
    t->smoothing = model_request(q)->smoothing;
    if (t->smoothing >= 1)
        return FAIL(USAGE, "--smoothing: expected a number below 1, got %g", t->smoothing);
    if (!model_request(q)->dataset && !q->engine)
        return FAIL(USAGE, "--data DIR: pictures with labels are needed");
    return EMU_OK;
}

/* -o: an image, or parameters. */
static enum emu_status open_output(struct training *t)
{
    const char *name = t->q->output, *dot = name ? strrchr(name, '.') : NULL;

    if (dot && !strcmp(dot, ".img"))
        return output_open(name, &t->image);
    if (name && t->q->engine)
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
    TRY(output_open(model_request(q)->gradients, &t->gradients));
    TRY(profile_files_open(q, &t->profile));
    for (size_t k = 0; k < model_request(q)->curve.count; k++) {
        const char *name = model_request(q)->curve.item[k], *dot = strrchr(name, '.');

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
    if (model_request(q)->test_dataset)
        return model_request(q)->test_dataset;
    return model_request(q)->dataset && dataset_has(model_request(q)->dataset, DATASET_TEST)
               ? model_request(q)->dataset
               : NULL;
}

static enum emu_status open_data(struct training *t)
{
    const char *test = test_dir(t->q);

    if (!model_request(t->q)->dataset)
        return EMU_OK;
    TRY(dataset_open(model_request(t->q)->dataset, DATASET_TRAIN, &t->data));
    if (test)
        TRY(dataset_open(test, dataset_tested_part(test), &t->test_data));
    progress_report(&t->progress, "data", "%s: %s pictures of %u classes, %s to test with",
                    t->data->format, count_text(t->data->samples).at, t->data->classes,
                    t->test_data ? count_text(t->test_data->samples).at : "none");
    if (t->test_data && t->test_data->classes > t->data->classes)
        return FAIL(BAD_FILE, "%s has %u classes, %s %u", test, t->test_data->classes,
                    model_request(t->q)->dataset, t->data->classes);
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

/* ---- network ---- */

static enum emu_status open_network(struct training *t)
{
    const struct request *q = t->q;

    TRY(train_source_open(q, t->data, &t->source));
    if (t->test_data)
        TRY(train_source_open(q, t->data, &t->test_source));
    TRY(train_pictures_of(q, &t->source.shape, t->data, &t->prepared));
    TRY(train_link_of(q, &t->arch, &t->source.shape, &t->prepared.recipe, t->data, t->real,
                      &t->link));
    progress_report(&t->progress, "network", "%s: %u nodes, %s parameters, batches of %u", q->what,
                    t->source.graph->nodes, count_text(op_graph_parameters(t->source.graph)).at,
                    t->source.shape.batch);
    return EMU_OK;
}

/* What must be the same to go on. */
static void set_options(struct training *t)
{
    t->at.options = training_options(t, t->options);
    t->at.recipe = hash64(t->options, strlen(t->options));
}

static void set_schedule(struct training *t)
{
    t->steps_max = model_request(t->q)->limit ? model_request(t->q)->limit : UINT64_MAX;
    t->schedule.steps = t->epochs * t->steps_epoch;
    if (!t->schedule.every)
        t->schedule.every = t->steps_epoch;
    t->at.batch = t->source.shape.batch;
    set_options(t);
}

/* ---- programs ---- */

static enum emu_status compile_one(struct training *t, struct op_graph *g,
                                   const struct train_step *step, struct train_chip *chip)
{
    struct train_chip_options o = { .program = { .lower = network_lowering(&t->choice),
                                                 .compile = compile_options_of(t->q) },
                                    .loss_scale = t->loss_scale,
                                    .dynamic_scale = t->dynamic_scale,
                                    .seed = t->at.seed,
                                    .folder = t->tries ? "" : t->choice.cache,
                                    .batches = chip == &t->chip ? t->accumulate : 1 };

    o.program.lower.real = t->real;
    o.program.lower.states = t->states;
    o.program.lower.share_blocks = model_request(t->q)->share_blocks ? SHARE_NONE : SHARE_EQUAL;
    o.program.lower.gradients = model_request(t->q)->gradients != NULL && chip == &t->chip;
    if (chip == &t->chip) {
        o.program.lower.loop.link =
            (struct prefetch_options){ t->link.io_tiles, t->link.io_tiles != 0 };
        o.program.lower.loop.pixels = t->link.pixels.elem == ELEM_U8 ? &t->link.pixels : NULL;
    }
    TRY(train_graph_check(t->q, &t->arch, "in a step of training", g));
    o.program.outlook = t->tries;
    o.program.compile.progress = t->tries ? NULL : o.program.compile.progress;
    if (!t->tries && !request_profiles(t->q)) /* which need the compiler's own objects */
        o.kept_as = &t->kept_as;
    o.what = chip == &t->chip ? "a step of training" : "an evaluation of";
    o.for_timing = t->q->engine && !t->image;
    o.progress = &t->progress;
    t->chip_options = chip == &t->chip ? o : t->chip_options;
    TRY(train_chip_new(&t->arch, g, step, &o, chip));
    progress_skip(&t->progress);
    return EMU_OK;
}

static int chip_fits(const struct train_chip *chip)
{
    return system_fits(&chip->system);
}

static enum emu_status recompute(struct training *t, const char *names)
{
    uint32_t blocks;

    TRY(train_recompute(t->source.graph, names, &blocks));
    progress_report(&t->progress, "recompute", "%u blocks are computed again", blocks);
    return EMU_OK;
}

/* Whether blocks are computed again only where the step does not fit otherwise. */
static int recomputes_to_fit(const struct training *t)
{
    return !model_request(t->q)->recompute || !strcmp(model_request(t->q)->recompute, "auto");
}

/* The blocks that are asked for, or all. */
static enum emu_status recompute_blocks(struct training *t)
{
    const char *names = recomputes_to_fit(t) ? "all" : model_request(t->q)->recompute;

    return strcmp(names, "none") ? recompute(t, names) : EMU_OK;
}

/* The step with as many blocks computed again as are asked for, or as it needs to fit. */
static enum emu_status compile_recomputing(struct training *t, const struct train_step *step)
{
    int is_auto = recomputes_to_fit(t);

    if (!is_auto)
        TRY(recompute_blocks(t));
    if (!is_auto || t->unfit.plain <= t->arch.mem_bytes) {
        TRY(compile_one(t, t->source.graph, step, &t->chip));
        if (!is_auto || chip_fits(&t->chip))
            return EMU_OK;
        t->unfit.plain = system_need_bytes(&t->chip.system);
        train_chip_free(&t->chip);
    }
    TRY(recompute_blocks(t));
    return compile_one(t, t->source.graph, step, &t->chip);
}

/* Whether the memory of the IO tiles, dealt out to all, may be what is missing; need is that of the
 * fullest tile. */
static int io_tiles_matter(const struct training *t)
{
    enum { UNEVEN = 8 /* a share of it that other tiles may take as well */ };
    uint64_t need = system_need_bytes(&t->chip.system);

    need -= need / UNEVEN;
    return need * (t->arch.tiles - t->link.io_tiles) <= (uint64_t)t->arch.mem_bytes * t->arch.tiles;
}

/* The step; IO tiles that nobody has asked for go if it does not fit beside them. */
static enum emu_status compile_step(struct training *t)
{
    int may_go = t->link.io_tiles && !request_has(t->q, OPTION_io_tiles);
    struct train_step step;

    TRY(train_step_make(t->source.graph, &t->optimiser, &step));
    if (!may_go || t->unfit.beside_io <= t->arch.mem_bytes) {
        TRY(compile_recomputing(t, &step));
        if (!may_go || chip_fits(&t->chip) || !io_tiles_matter(t))
            return EMU_OK;
        t->unfit.beside_io = system_need_bytes(&t->chip.system);
        train_chip_free(&t->chip);
    } else {
        TRY(recompute_blocks(t));
    }
    t->link.io_tiles = 0;
    set_options(t);
    progress_report(&t->progress, "again", "does not fit beside IO tiles: without them");
    return compile_one(t, t->source.graph, &step, &t->chip);
}

static enum emu_status compile(struct training *t)
{
    struct train_step step;

    t->choice = network_choice_of(t->q);
    t->kept_as = (struct net_cache_input){
        .choice = &t->choice, .net = t->source.net, .model = t->source.model, .request = t->q
    };
    TRY(compile_step(t));
    if (!t->test_data || !chip_fits(&t->chip))
        return EMU_OK;
    TRY(train_eval_make(t->test_source.graph, &step));
    return compile_one(t, t->test_source.graph, &step, &t->test_chip);
}

/* What the supersteps of the step are for: of a program that was found it was kept. */
static enum emu_status know_passes(struct training *t)
{
    if (system_compiled(&t->chip.system))
        return train_passes_of(&t->chip, &t->passes);
    if (!train_passes_take(system_more(&t->chip.system), &t->passes))
        train_passes_free(&t->passes);
    return EMU_OK;
}

/* For the next training; nothing depends on it. */
static void keep_programs(struct training *t)
{
    json_t *passes = train_passes_json(&t->passes);

    fflush(stdout); /* people read the answer meanwhile */
    if (passes)
        system_keep(&t->chip.system, NULL, passes);
    json_decref(passes);
    system_keep(&t->test_chip.system, NULL, NULL);
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
        s = image_write_to(system_image(&t->chip.system), t->image);
    return output_finish(&t->image, s);
}

static enum emu_status begin_machines(struct training *t)
{
    struct session_options o = session_options_of(t->q);
    size_t supersteps;

    supersteps = t->passes.supersteps;
    o.record = supersteps || o.record_exchanges;
    if (t->link.io_tiles) /* which have fewer of their own */
        supersteps *= 2;
    o.record_limit = o.record_exchanges ? PROFILE_SUPERSTEPS : supersteps;
    o.watch = superstep_done;
    o.watch_ctx = t;
    t->supersteps = supersteps;
    TRY(train_chip_begin(&t->chip, &o));
    o.record = 0;
    o.watch = NULL;
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
    if (!model_request(t->q)->resume || access(model_request(t->q)->checkpoint, F_OK))
        return EMU_OK;
    TRY(train_checkpoint_read(&t->chip, &t->at, &t->log, &t->average,
                              model_request(t->q)->checkpoint));
    progress_report(&t->progress, "resume", "%s: after step %" PRIu64,
                    model_request(t->q)->checkpoint, t->at.steps);
    return EMU_OK;
}

/* ---- the command ---- */

/* How the training ended; what it has made until then is written in any case. */
static enum emu_status judge(struct training *t, enum emu_status s)
{
    t->code = EXIT_RAN;
    if (t->batches.bads || t->test_batches.bads || interrupt_came())
        t->code = EXIT_PARTIAL;
    if (s == EMU_FAULT) {
        t->code = EXIT_FAULTED;
        fprintf(stderr, "superstep train: %s\n", emu_error());
    } else if (s != EMU_OK) {
        return s;
    }
    if (interrupt_came())
        fprintf(stderr, "superstep train: interrupted after step %" PRIu64 "%s\n", t->at.steps,
                model_request(t->q)->checkpoint ? ", which the checkpoint has" : "");
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
    if (t->q->check)
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
    enum emu_status s = read_options(&u);

    if (q == t->q) /* only the machine is another one */
        u.unfit = t->unfit;
    if (s == EMU_OK)
        s = open_network(&u);
    if (s == EMU_OK)
        s = compile(&u);
    *fits = s == EMU_OK && chip_fits(&u.chip) && (!u.test_data || chip_fits(&u.test_chip));
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

    if (!chip_fits(&t->chip))
        return report_unfit(t, &t->chip);
    if (t->test_data && !chip_fits(&t->test_chip))
        return report_unfit(t, &t->test_chip);
    TRY(know_passes(t));
    if (t->image) /* while nothing is written into it */
        keep_programs(t);
    TRY(write_image(t));
    TRY(begin_machines(t));
    if (t->q->engine) {
        TRY(training_time(t));
        t->code = EXIT_RAN;
        TRY(training_report(t, stdout));
        if (!t->image)
            keep_programs(t);
        return write_profile(t);
    }
    TRY(make_tensors(t));
    TRY(train_average_new(t->chip.g, model_request(t->q)->average, &t->average));
    TRY(resume(t));
    interrupt_defer(NULL, NULL);
    s = training_run(t);
    TRY(judge(t, s));
    training_write_files(t);
    tell_findings(t);
    interrupt_release();
    TRY(training_report(t, stdout));
    if (!t->image)
        keep_programs(t);
    return write_profile(t);
}

static enum emu_status begin(struct training *t)
{
    TRY(request_arch(t->q, "mk2", &t->arch));
    TRY(read_options(t));
    t->at.seed = request_has(t->q, OPTION_seed) ? model_request(t->q)->seed : 1;
    t->progress = progress_begin(compile_options_of(t->q).progress);
    TRY(open_data(t));
    TRY(open_outputs(t));
    TRY(open_network(t));
    TRY(open_batches(t));
    set_schedule(t);
    return compile(t);
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
