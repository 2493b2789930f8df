/* network_run.c - what a network goes through from the request to a run that can be read (see
 * network_run.h). */
#include "models/run/network_run.h"

#include <inttypes.h>

#include "emu/base/alloc.h"
#include "emu/cli/execute_meter.h"
#include "emu/cli/step_session.h"
#include "emu/job/run_image.h"
#include "models/answer/model_profile.h"
#include "models/ask/model_request.h"
#include "models/ask/model_weights.h"
#include "models/ask/net_pictures.h"
#include "models/run/cut_list.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(WORD, engine)
OPTION_READ(TEXT, output)
OPTION_READ(FLAG, report)
OPTION_READ(FLAG, allow_oom)
OPTION_READ(TEXT, weights)
OPTION_READ(TEXT, write_weights)
OPTION_READ(TEXT, labels)
OPTION_READ(TEXT, logits)
OPTION_READ(FLAG, compare_layers)
OPTION_READ(FLAG, ranges)
OPTION_READ(NUMBER, chips)
OPTION_READ(TEXT, cut)

enum { TEXT_MAX = 512, OF_CHIP_TEXT = 24 };

/* ---- open ---- */

/* How many chips compute the network: as many as are asked for, or as --cut makes stages. */
static enum emu_status chips_of(const struct request *q, uint32_t *chips)
{
    const char *names = cut_names(q);
    uint32_t stages = split_stages_of(names);

    if (option_cut(q) && !names)
        TRY(cut_check(q));
    *chips = request_has(q, OPTION_chips) ? (uint32_t)option_chips(q) : stages;
    if (names && *chips != stages)
        return FAIL(USAGE, "--cut %.200s makes %u stages, expected as many as --chips %u", names,
                    stages, *chips);
    if (*chips > 1 && option_write_weights(q))
        return FAIL(USAGE, "--write-weights: expected --chips 1");
    return EMU_OK;
}

enum emu_status network_run_open(struct network_run *m, const struct request *q)
{
    uint32_t chips;

    *m = (struct network_run){ .q = q };
    TRY(chips_of(q, &chips));
    TRY(ss_arch_from_name_or_file("mk2", &m->arch));
    TRY(request_arch_of_chips(q, chips, &m->arch));
    if (m->arch.chips != chips)
        return FAIL(USAGE, "chips %u: expected %u: a network runs on as many as --chips says",
                    m->arch.chips, chips);
    m->progress = progress_begin(request_progress(q));
    return model_source_open(q, &m->arch, &m->progress, &m->source);
}

static enum emu_status read_class_names(struct network_run *m)
{
    uint32_t classes = model_source_facts(&m->source).classes;

    if (!classes)
        return FAIL(USAGE, "--labels: the network makes no list of scores");
    return class_names_read(option_labels(m->q), classes, &m->classes);
}

/* --cut auto: the least slot that fits. If nothing does, stages of equal work say what is missing.
 */
static enum emu_status choose_cut(struct network_run *m)
{
    struct cut_list c;
    enum emu_status s = cut_choose(m->q, &m->arch, &c);
    const struct system_cut *best = s == EMU_OK ? cut_best(&c) : NULL;

    if (best) {
        m->cut = emu_strdup(best->names);
        s = m->cut ? EMU_OK : FAIL(NO_MEMORY, "a cut");
        progress_report(&m->progress, "cut", "%s of %u: a slot of %s cycles", best->names,
                        c.cuts.count, count_text(best->slot).at);
    }
    cut_list_free(&c);
    return s;
}

enum emu_status network_run_prepare(struct network_run *m)
{
    if (cut_is_all(m->q))
        return FAIL(USAGE, "--cut all lists cuts and runs none; expected names or auto");
    if (cut_is_auto(m->q))
        TRY(choose_cut(m));
    if (option_labels(m->q))
        TRY(read_class_names(m));
    if (!m->source.net)
        return EMU_OK;
    TRY(model_source_recipe(&m->source, &m->recipe));
    return picture_choose(m->q, &m->recipe);
}

/* What the last run has left. */
static void forget_run(struct network_run *m)
{
    for (uint32_t k = 0; m->out && k < m->source.graph->outputs; k++)
        op_tensor_free(&m->out[k]);
    ss_free(m->scores);
    m->scores = NULL;
    ss_free(m->ranges);
    m->ranges = NULL;
}

void network_run_free(struct network_run *m)
{
    for (uint32_t k = 0; m->in && k < m->source.graph->inputs; k++)
        model_input_free(&m->in[k]);
    forget_run(m);
    ss_free(m->in);
    ss_free(m->out);
    ss_free(m->stage);
    ss_free(m->cut);
    class_names_free(&m->classes);
    system_free(&m->system);
    model_source_free(&m->source);
}

const char *network_run_subject(const struct network_run *m)
{
    return m->source.net ? m->source.net->name : NULL;
}

/* ---- numbers in and out ---- */

enum emu_status network_run_inputs(struct network_run *m)
{
    const struct op_graph *g = m->source.graph;

    m->in = emu_alloc(g->inputs + 1, sizeof(*m->in));
    m->out = emu_alloc(g->outputs + 1, sizeof(*m->out));
    if (!m->in || !m->out)
        return FAIL(NO_MEMORY, "inputs");
    TRY(model_inputs_read(m->q, g, m->source.net ? &m->recipe : NULL, m->in));
    for (uint32_t k = 0; k < g->inputs; k++)
        progress_report(&m->progress, "input", "%s: %s", g->value[g->input[k]].name, m->in[k].text);
    return EMU_OK;
}

/* Into tile memory, before a run. */
static enum emu_status write_inputs(struct network_run *m)
{
    const struct op_graph *g = m->source.graph;
    enum emu_status s = EMU_OK;

    for (uint32_t k = 0; s == EMU_OK && k < g->inputs; k++)
        s = system_write(&m->system, g->input[k], &m->in[k].numbers);
    return s;
}

/* The first output as scores, if it is a list of them for each input of the batch. */
static enum emu_status read_scores(struct network_run *m)
{
    const struct model_facts f = model_source_facts(&m->source);
    uint64_t n = (uint64_t)f.batch * f.classes;

    if (!n)
        return EMU_OK;
    m->scores = emu_alloc(n, sizeof(*m->scores));
    if (!m->scores)
        return FAIL(NO_MEMORY, "scores");
    for (uint64_t k = 0; k < n; k++)
        m->scores[k] = (float)m->out[0].f[k];
    return EMU_OK;
}

enum emu_status network_run_outputs(struct network_run *m)
{
    const struct op_graph *g = m->source.graph;

    for (uint32_t k = 0; k < g->outputs; k++)
        TRY(system_read(&m->system, g->output[k], &m->out[k]));
    return read_scores(m);
}

/* ---- answer ---- */

/* How the pictures of the first input that takes some were prepared; NULL: there are none. */
static const char *recipe_text(const struct network_run *m)
{
    for (uint32_t k = 0; m->in && k < m->source.graph->inputs; k++) {
        if (*m->in[k].recipe)
            return m->in[k].recipe;
    }
    return NULL;
}

/* The first input with a file, or NULL. */
static const struct model_input *input_of_file(const struct network_run *m)
{
    for (uint32_t k = 0; m->in && k < m->source.graph->inputs; k++) {
        if (m->in[k].names)
            return &m->in[k];
    }
    return NULL;
}

struct model_answer network_run_answer(const struct network_run *m)
{
    const struct model_input *named = input_of_file(m);

    return (struct model_answer){ .request = m->q,
                                  .facts = model_source_facts(&m->source),
                                  .memory = &m->system.memory,
                                  .arch = m->arch,
                                  .layers = &m->system.layers,
                                  .ranges = m->ranges,
                                  .weights = m->source.weights_text,
                                  .file = named ? named->name : NULL,
                                  .files = named ? named->names : 0,
                                  .recipe = recipe_text(m),
                                  .stage = m->stage,
                                  .stages = m->system.stages.count,
                                  .run = m->system.session ? system_machine(&m->system) : NULL,
                                  .classes = &m->classes,
                                  .scores = m->scores,
                                  .not_finite = &m->source.not_finite,
                                  .precision = &m->source.precision };
}

enum emu_status network_run_profile(struct network_run *m, struct profile_files *f)
{
    return model_profile_write(&(struct model_profile){ .request = m->q,
                                                        .layers = &m->system.layers,
                                                        .compiled = m->system.program.compiled,
                                                        .kept = m->system.kept.profile,
                                                        .kept_bytes = m->system.kept.profile_bytes,
                                                        .session = m->system.session },
                               f);
}

/* ---- warnings ---- */

/* The layer that computes in a superstep of a chip; borrowed. */
static const char *layer_of_superstep(const struct network_run *m, uint32_t chip,
                                      uint64_t superstep)
{
    const struct layer_cycles *layers = system_chip_layers(&m->system, chip);

    for (size_t i = 0; i < layers->steps; i++) {
        const struct billed_step *s = &layers->step[i];

        if (s->superstep == superstep && s->computes)
            return layers->text[s->row].name;
    }
    return "(no layer)";
}

/* NaN and infinity, whoever made them: of weights and inputs, before a run. */
void network_run_look_at_inputs(struct network_run *m)
{
    const struct op_graph *g = m->source.graph;

    for (uint32_t k = 0; m->in && k < g->inputs; k++)
        not_finite_numbers(&m->source.not_finite, "input", g->value[g->input[k]].name,
                           &m->in[k].numbers);
    not_finite_print(&m->source.not_finite, 0, request_notes(m->q));
}

/* The first that a layer made of numbers, on the first chip that made one: chips compute one after
 * the other. */
static void look_at_layers(struct network_run *m)
{
    for (uint32_t chip = 0; chip < m->arch.chips; chip++) {
        struct session_not_finite made = ss_session_chip_not_finite(m->system.session, chip);

        if (!made.nan && !made.infinite)
            continue;
        not_finite_add(&m->source.not_finite, "layer", layer_of_superstep(m, chip, made.superstep),
                       made.nan, made.infinite);
        return;
    }
}

/* The same of layers and outputs, after it. */
static void look_at_results(struct network_run *m)
{
    const struct op_graph *g = m->source.graph;
    uint32_t before = m->source.not_finite.rows;

    look_at_layers(m);
    for (uint32_t k = 0; k < g->outputs; k++)
        not_finite_numbers(&m->source.not_finite, "output", g->value[g->output[k]].name,
                           &m->out[k]);
    not_finite_print(&m->source.not_finite, before, request_notes(m->q));
}

int network_run_clipped(const struct network_run *m, uint32_t *chip)
{
    for (*chip = 0; *chip < m->arch.chips; ++*chip) {
        if (m->system.session && ss_session_chip_overflow(m->system.session, *chip).tiles)
            return 1;
    }
    return 0;
}

/* Warns of sums that overflowed in f16. */
static void warn_of_range(const struct network_run *m)
{
    struct session_overflow o;
    char of_chip[OF_CHIP_TEXT] = "";
    uint32_t chip;

    if (!network_run_clipped(m, &chip))
        return;
    o = ss_session_chip_overflow(m->system.session, chip);
    if (m->arch.chips > 1)
        snprintf(of_chip, sizeof(of_chip), " of chip %u", chip);
    fprintf(request_notes(m->q),
            "superstep run: warning: results beyond the range of f16 were clipped, first in layer "
            "%s (superstep %" PRIu64 "%s, %s tiles; %s of their results are +-65504 or no "
            "numbers); --ranges shows all\n",
            layer_of_superstep(m, chip, o.superstep), o.superstep, of_chip, count_text(o.tiles).at,
            count_text(o.values).at);
}

void network_run_look(struct network_run *m)
{
    warn_of_range(m);
    look_at_results(m);
}

/* ---- the program ---- */

/* Before the network is compiled. */
static enum emu_status make_ready(void *ctx)
{
    struct network_run *m = ctx;

    return model_source_finish(&m->source, &m->progress);
}

void network_run_init(struct network_run *m)
{
    const struct system_options o = {
        .program = { .lower = network_lowering(&m->source.choice),
                     .compile = compile_options_of(m->q),
                     .give_up = !option_report(m->q) && !option_allow_oom(m->q) &&
                                !request_profiles(m->q) },
        .folder = m->source.choice.cache,
        .chips = m->arch.chips,
        .cut = m->cut ? m->cut : cut_names(m->q),
        .ready = make_ready,
        .ctx = m,
        .progress = &m->progress,
    };

    system_init(&m->system, &m->arch, m->source.graph, &o);
}

/* A network that only --report compiles is not kept: other runs would find it. */
void network_run_keep(struct network_run *m)
{
    /* A run from the cache does not look at the weights of a network by name. */
    if (m->source.net && m->source.not_finite.rows)
        return;
    system_keep(&m->system, m->source.weights ? m->source.weights->names : NULL, NULL);
}

/* Whether nothing but cycles is asked for. */
static int needs_no_values(const struct request *q)
{
    return option_engine(q) && q->use & USE_RUN && !option_output(q) && !option_write_weights(q) &&
           !option_weights(q);
}

/* Takes a network from the cache. Returns 0 when it is not there. Where values are not
 * needed, an entry that has them will do, too. */
int network_run_find(struct network_run *m)
{
    struct network_choice *choice = &m->source.choice;
    const struct net_cache_input in = { .choice = choice,
                                        .net = m->source.net,
                                        .model = m->source.model,
                                        .request = m->q,
                                        .arch = &m->arch,
                                        .exchange = compile_options_of(m->q).exchange };
    char label[TEXT_MAX];
    int cycles_only = needs_no_values(m->q), found;

    if (option_compare_layers(m->q) || option_ranges(m->q) || option_logits(m->q) ||
        option_write_weights(m->q))
        return 0; /* that needs weights, a graph, or what the compiler knows of steps */
    found = system_find(&m->system, &in, cycles_only);
    if (!found && cycles_only && m->source.net) {
        choice->blank = 1;
        found = system_find(&m->system, &in, cycles_only);
    }
    if (!found)
        return 0;
    if (m->source.net)
        model_weights_text(choice, m->system.kept.names, m->source.weights_text,
                           sizeof(m->source.weights_text));
    net_cache_label(&in, label, sizeof(label));
    progress_report(&m->progress, "cache",
                    "reused: %sgraph, lower, exchange, place, emit; ran: load; %s",
                    m->source.net ? "weights, " : "", label);
    return 1;
}

/* ---- execution ---- */

/* Of sync group 0. */
static uint64_t supersteps_of(const struct network_run *m)
{
    uint64_t most = 0;

    for (size_t i = 0; i < m->system.layers.steps; i++)
        most =
            m->system.layers.step[i].superstep > most ? m->system.layers.step[i].superstep : most;
    return m->system.layers.steps ? most + 1 : 0;
}

enum emu_status network_run_start(struct network_run *m, FILE *digests)
{
    struct session_options o = session_options_of(m->q);

    system_stop(&m->system);
    forget_run(m);
    layer_cycles_clear(&m->system.layers);
    o.record = 1;
    o.overflow = !o.timing && !request_steps(m->q);
    o.ranges = option_ranges(m->q);
    o.digests = digests;
    o.watch = execute_meter_watch;
    o.watch_ctx = &m->meter;
    TRY(system_start(&m->system, &o));
    /* Nothing in a network branches on values. */
    EMU_ASSERT(!m->source.choice.blank || !ss_run_has_values(system_machine(&m->system)));
    return write_inputs(m);
}

enum emu_status network_run_execute(struct network_run *m)
{
    enum emu_status s;

    execute_meter_begin(&m->meter, m->q, supersteps_of(m));
    s = system_run(&m->system);
    progress_meter_end(&m->meter);
    return s;
}

void network_run_tell(struct network_run *m)
{
    progress_report(&m->progress, "execute", "%s cycles",
                    count_text(ss_session_cycles(m->system.session)).at);
}

/* Stages for the answer, from the rows of their layers. */
static enum emu_status sum_up_stages(struct network_run *m)
{
    const struct system_stages *stages = &m->system.stages;

    ss_free(m->stage);
    m->stage = emu_alloc(stages->count + 1, sizeof(*m->stage));
    if (!m->stage)
        return FAIL(NO_MEMORY, "stages");
    for (unsigned k = 0; k < stages->count; k++) {
        const struct layer_cycles *l = &stages->at[k].layers;

        m->stage[k] = (struct answer_stage){ .first = l->text[0].name,
                                             .layers = l->rows - 1,
                                             .cycles = l->total.cycles - l->row[l->rows - 1].cycles,
                                             .between = l->row[l->rows - 1].cycles,
                                             .max_tile_bytes = l->total.max_tile_bytes,
                                             .need_bytes = stages->program[k].need_bytes,
                                             .sent_bytes = system_stage_sends(stages, k) };
    }
    return EMU_OK;
}

enum emu_status network_run_layers(struct network_run *m)
{
    TRY(system_bill_layers(&m->system));
    return sum_up_stages(m);
}

/* The rows of chips stand one after the other. */
static enum emu_status sum_up_ranges(struct network_run *m)
{
    uint32_t row = 0;

    TRY(layer_ranges_new(&m->system.layers, m->system.session, &m->ranges));
    for (uint32_t chip = 0; m->ranges && chip < m->arch.chips; chip++) {
        const struct layer_cycles *layers = system_chip_layers(&m->system, chip);

        layer_ranges_add(layers, m->system.session, chip, m->ranges + row);
        row += layers->rows;
    }
    return EMU_OK;
}

enum emu_status network_run_bill(struct network_run *m)
{
    TRY(sum_up_ranges(m));
    TRY(system_bill(&m->system));
    return sum_up_stages(m);
}
