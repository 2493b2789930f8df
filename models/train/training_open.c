/* training_open.c - a request to a training that is compiled: what the options say, the network,
 * its programs. */
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/hash.h"
#include "models/ask/model_facts.h"
#include "models/ask/model_request.h"
#include "models/ask/network_choice.h"
#include "models/operators/op_update.h"
#include "models/train/recompute.h"
#include "models/train/train_options.h"
#include "models/train/training.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(WORD, engine)
OPTION_READ(NUMBER, io_tiles)
OPTION_READ(NUMBER, epochs)
OPTION_READ(WORD, optimiser)
OPTION_READ(REAL, rate)
OPTION_READ(REAL, momentum)
OPTION_READ(REAL, decay)
OPTION_READ(WORD, schedule)
OPTION_READ(NUMBER, accumulate)
OPTION_READ(NUMBER, warmup)
OPTION_READ(NUMBER, rate_steps)
OPTION_READ(REAL, rate_factor)
OPTION_READ(REAL, smoothing)
OPTION_READ(WORD, format)
OPTION_READ(WORD, rounding)
OPTION_READ(TEXT, loss_scale)
OPTION_READ(WORD, on_overflow)
OPTION_READ(REAL, dropout)
OPTION_READ(REAL, drop_connect)
OPTION_READ(REAL, average)
OPTION_READ(TEXT, gradients)
OPTION_READ(TEXT, recompute)
OPTION_READ(WORD, share_blocks)

enum { EPOCHS = 5, LOSS_SCALE = 1024 };

void training_free(struct training *t)
{
    profile_files_close(&t->profile);
    for (unsigned k = 0; k < TRAINING_CURVES; k++)
        output_discard(t->curve[k]);
    output_discard(t->parameters);
    output_discard(t->image);
    output_discard(t->gradients);
    output_discard(t->digests);
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
        ss_free(t->way[k].label);
    train_log_free(&t->log);
    train_passes_free(&t->passes);
}

/* ---- options ---- */

static enum emu_status read_optimiser(struct training *t)
{
    static const double rate[] = { 0.1, 0.001, 1, 0.001 };
    const struct request *q = t->q;

    TRY(train_optimiser_of(op_update_method_name(option_optimiser(q)), &t->optimiser));
    if (request_has(q, OPTION_momentum))
        t->optimiser.alpha = option_momentum(q);
    if (request_has(q, OPTION_decay))
        t->optimiser.decay = option_decay(q);
    if (t->optimiser.alpha >= 1)
        return FAIL(USAGE, "--momentum: expected a number below 1, got %g", t->optimiser.alpha);
    t->schedule.rate = request_has(q, OPTION_rate) ? option_rate(q) : rate[option_optimiser(q)];
    return EMU_OK;
}

/* "1024", "dynamic" or "dynamic:1024". */
static enum emu_status read_loss_scale(struct training *t)
{
    const char *text = option_loss_scale(t->q), *number = text;
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
    t->skips =
        request_has(t->q, OPTION_on_overflow) ? (int)option_on_overflow(t->q) : t->dynamic_scale;
    if (t->dynamic_scale && !t->skips)
        return FAIL(USAGE, "--on-overflow stop: a dynamic loss scale is found by skipping steps");
    return EMU_OK;
}

static enum emu_status read_format(struct training *t)
{
    const struct request *q = t->q;

    t->real = option_format(q) == F32_F32 ? ELEM_F32 : ELEM_F16;
    t->states = option_format(q) != F16_F16 ? STATES_F32
                : option_rounding(q)        ? STATES_F16_NEAREST
                                            : STATES_F16_STOCHASTIC;
    if (request_has(q, OPTION_rounding) && option_format(q) != F16_F16)
        return FAIL(USAGE, "--rounding: only --format 16.16 rounds parameters");
    return EMU_OK;
}

static enum emu_status read_shares(struct training *t)
{
    const struct request *q = t->q;

    t->optimiser.drop = (struct train_dropout){ option_dropout(q), option_drop_connect(q) };
    if (option_dropout(q) >= 1 || option_drop_connect(q) >= 1 || option_average(q) >= 1)
        return FAIL(USAGE, "--%s: expected a number below 1",
                    option_dropout(q) >= 1        ? "dropout"
                    : option_drop_connect(q) >= 1 ? "drop-connect"
                                                  : "average");
    return EMU_OK;
}

enum emu_status training_read_options(struct training *t)
{
    static const enum train_schedule_kind kind[] = { SCHEDULE_COSINE, SCHEDULE_CONSTANT,
                                                     SCHEDULE_STEP, SCHEDULE_EXPONENTIAL,
                                                     SCHEDULE_POLYNOMIAL };
    const struct request *q = t->q;

    TRY(read_optimiser(t));
    TRY(read_format(t));
    TRY(read_loss_scale(t));
    TRY(read_shares(t));
    t->schedule.kind = kind[option_schedule(q)];
    t->schedule.warmup = option_warmup(q);
    t->schedule.every = option_rate_steps(q);
    t->schedule.factor = request_has(q, OPTION_rate_factor) ? option_rate_factor(q) : 0.5;
    t->epochs = option_epochs(q) ? option_epochs(q) : EPOCHS;
    t->accumulate = option_accumulate(q) ? (uint32_t)option_accumulate(q) : 1;
    t->smoothing = option_smoothing(q);
    if (t->smoothing >= 1)
        return FAIL(USAGE, "--smoothing: expected a number below 1, got %g", t->smoothing);
    return EMU_OK;
}

/* ---- network ---- */

enum emu_status training_open_network(struct training *t)
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
void training_set_options(struct training *t)
{
    t->at.options = training_options(t, t->options);
    t->at.recipe = hash64(t->options, strlen(t->options));
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
    o.program.lower.share_blocks = option_share_blocks(t->q) ? SHARE_NONE : SHARE_EQUAL;
    o.program.lower.gradients = option_gradients(t->q) != NULL && chip == &t->chip;
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
    o.for_timing = option_engine(t->q) && !t->image;
    o.progress = &t->progress;
    t->chip_options = chip == &t->chip ? o : t->chip_options;
    TRY(train_chip_new(&t->arch, g, step, &o, chip));
    progress_skip(&t->progress);
    return EMU_OK;
}

int training_chip_fits(const struct train_chip *chip)
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
    return !option_recompute(t->q) || !strcmp(option_recompute(t->q), "auto");
}

/* The blocks that are asked for, or all. */
static enum emu_status recompute_blocks(struct training *t)
{
    const char *names = recomputes_to_fit(t) ? "all" : option_recompute(t->q);

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
        if (!is_auto || training_chip_fits(&t->chip))
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
        if (!may_go || training_chip_fits(&t->chip) || !io_tiles_matter(t))
            return EMU_OK;
        t->unfit.beside_io = system_need_bytes(&t->chip.system);
        train_chip_free(&t->chip);
    } else {
        TRY(recompute_blocks(t));
    }
    t->link.io_tiles = 0;
    training_set_options(t);
    progress_report(&t->progress, "again", "does not fit beside IO tiles: without them");
    return compile_one(t, t->source.graph, &step, &t->chip);
}

enum emu_status training_compile(struct training *t)
{
    struct train_step step;

    t->choice = network_choice_of(t->q);
    t->kept_as = (struct net_cache_input){
        .choice = &t->choice, .net = t->source.net, .model = t->source.model, .request = t->q
    };
    TRY(compile_step(t));
    if (!t->test_data || !training_chip_fits(&t->chip))
        return EMU_OK;
    TRY(train_eval_make(t->test_source.graph, &step));
    return compile_one(t, t->test_source.graph, &step, &t->test_chip);
}

/* What the supersteps of the step are for: of a program that was found it was kept. */
enum emu_status training_know_passes(struct training *t)
{
    if (system_compiled(&t->chip.system))
        return train_passes_of(&t->chip, &t->passes);
    if (!train_passes_take(system_more(&t->chip.system), &t->passes))
        train_passes_free(&t->passes);
    return EMU_OK;
}

void training_keep(struct training *t)
{
    json_t *passes = train_passes_json(&t->passes);

    if (passes)
        system_keep(&t->chip.system, NULL, passes);
    json_decref(passes);
    system_keep(&t->test_chip.system, NULL, NULL);
}
