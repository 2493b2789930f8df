/* model_run.c - takes a network from its name to the answer: layers, parameters, pictures, graph,
 * image, machine. */
#include "models/run/model_run.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"
#include "emu/base/output_file.h"
#include "emu/base/progress.h"
#include "emu/load/image.h"
#include "emu/job/run_image.h"
#include "models/build/net_check.h"
#include "models/build/net_program.h"
#include "models/run/compare_layers.h"
#include "models/run/model_chart.h"
#include "models/run/model_report.h"
#include "models/run/model_weights.h"
#include "models/run/net_bill.h"
#include "models/run/net_cache.h"
#include "models/run/net_image.h"
#include "models/run/net_pictures.h"
#include "models/run/net_result.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

enum { TEXT_MAX = 512, COMPARE_HALVINGS = 3 };

/* Everything that is made on the way; owned unless a member says otherwise. */
struct model_run {
    const struct request *q; /* borrowed */
    struct network_choice choice;
    struct arch arch;
    struct net *net;
    struct weights *weights;
    char weights_text[TEXT_MAX];
    struct net_pictures pictures;
    struct net_cache cache;
    struct net_entry entry; /* found there; all zero: p was compiled */
    struct net_program p;
    struct session *session;
    struct layer_cycles layers;
    struct memory_facts memory;
    float *scores;
    struct progress progress;
    struct output_file *image, *digests, *chart,
        *logits; /* NULL: not wanted, or already committed */
    int code;    /* to exit with */
};

static void model_run_free(struct model_run *m)
{
    output_discard(m->image);
    output_discard(m->digests);
    output_discard(m->chart);
    output_discard(m->logits);
    emu_free(m->scores);
    layer_cycles_free(&m->layers);
    session_free(m->session);
    memory_facts_free(&m->memory);
    net_entry_free(&m->entry);
    net_program_free(&m->p);
    net_pictures_free(&m->pictures);
    weights_free(m->weights);
    net_free(m->net);
}

/* ---- pictures ---- */

static enum emu_status read_pictures(struct model_run *m)
{
    size_t given = m->q->image.count;

    TRY(net_pictures_read(m->net, &m->q->image, &m->pictures));
    progress_report(&m->progress, "pictures", "%s%s", m->pictures.name[0],
                    given == 1 || m->net->batch == 1 ? "" : " and more");
    return EMU_OK;
}

static enum emu_status write_input(struct model_run *m)
{
    const struct net *n = m->net;
    uint64_t bytes = (uint64_t)n->batch * n->resolution * n->resolution * 4 * sizeof(uint16_t);
    enum emu_status s;
    uint16_t *data;

    TRY(net_pictures_f16(n, &m->pictures, &data));
    s = m->entry.image
            ? run_input_write(session_run_image(m->session), NET_IMAGE_INPUT, data, bytes)
            : session_write(m->session, m->p.net_graph->picture.t, data);
    emu_free(data);
    return s;
}

static const struct image *image_of(const struct model_run *m)
{
    return m->entry.image ? m->entry.image : compiled_image(m->p.compiled);
}

/* The image, with the pictures as its input. */
static enum emu_status write_image(struct model_run *m)
{
    enum emu_status s;
    uint16_t *data;

    TRY(net_pictures_f16(m->net, &m->pictures, &data));
    s = m->entry.image ? image_fill_input(m->entry.image, NET_IMAGE_INPUT, data)
                       : compiled_fill_input(m->p.compiled, NET_IMAGE_INPUT, data);
    emu_free(data);
    if (s == EMU_OK)
        s = image_write_to(image_of(m), m->image);
    return output_finish(&m->image, s);
}

/* ---- answer ---- */

/* Prints one screen, and the reports that were asked for. */
static void print_text(const struct model_answer *a)
{
    if (a->request->report) {
        model_report(a, stdout);
        return;
    }
    if (a->request->plan)
        model_report_plans(a, stdout);
    model_summary(a, stdout);
}

static struct model_answer answer_of(const struct model_run *m)
{
    return (struct model_answer){ .request = m->q,
                                  .facts = net_facts(m->net),
                                  .memory = &m->memory,
                                  .arch = m->arch,
                                  .layers = &m->layers,
                                  .weights = m->weights_text,
                                  .picture = m->pictures.name,
                                  .run = m->session ? session_run_image(m->session) : NULL,
                                  .scores = m->scores };
}

static enum emu_status print_answer(const struct model_run *m)
{
    struct model_answer a = answer_of(m);
    json_t *o;

    if (!m->q->json) {
        print_text(&a);
        return EMU_OK;
    }
    o = model_report_json(&a);
    if (!o)
        return FAIL(NO_MEMORY, "the answer");
    run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

/* Reports a file that could not be written; the answer has been printed by then, and the other
 * files are still written. */
static void note_failure(struct model_run *m, enum emu_status s)
{
    if (s != EMU_OK)
        m->code = request_failed(m->q, m->choice.name);
}

static void write_chart(struct model_run *m)
{
    struct model_answer a = answer_of(m);

    if (m->chart)
        note_failure(m, output_finish(&m->chart, model_chart_draw(&a, output_stream(m->chart))));
}

static void write_logits(struct model_run *m)
{
    if (m->logits)
        note_failure(m, output_finish(&m->logits, net_logits_write(m->p.net_graph, m->session,
                                                                   m->pictures.value, m->logits)));
}

/* --check: what the machine reported on stderr, one line each, as far as it kept them. Clashes are
 * no mistake of the network. */
static void print_checks(struct model_run *m)
{
    json_t *o = run_report(session_run_image(m->session), "ok", NULL, 0, 0);
    json_int_t reports = json_integer_value(json_object_get(o, "check_reports"));
    json_int_t phases = json_integer_value(json_object_get(o, "check_clash_phases"));
    json_int_t words = json_integer_value(json_object_get(o, "check_clash_words"));

    if (reports) {
        m->code = EXIT_FAULTED;
        run_print(json_object_get(o, "checks"), stderr);
    }
    if (phases)
        run_print(json_object_get(o, "check_clashes"), stderr);
    progress_report(&m->progress, "check",
                    "%" JSON_INTEGER_FORMAT " reports, %s clashes of %s words", reports,
                    count_text((uint64_t)phases).at, count_text((uint64_t)words).at);
    json_decref(o);
}

/* ---- stages ---- */

static enum emu_status read_scores(struct model_run *m)
{
    m->scores = emu_alloc((size_t)m->net->batch * m->net->classes, sizeof(*m->scores));
    if (!m->scores)
        return FAIL(NO_MEMORY, "scores");
    if (m->entry.image)
        return run_output_read(session_run_image(m->session), NET_IMAGE_OUTPUT, m->scores,
                               (uint64_t)m->net->batch * m->net->classes * sizeof(*m->scores));
    return session_read(m->session, m->p.net_graph->scores, m->scores);
}

/* The layer that computes in a superstep; borrowed. */
static const char *layer_of_superstep(const struct model_run *m, uint64_t superstep)
{
    for (size_t i = 0; i < m->layers.steps; i++) {
        const struct billed_step *s = &m->layers.step[i];

        if (s->superstep == superstep && s->computes)
            return m->layers.text[s->row].name;
    }
    return "(no layer)";
}

/* Warns on stderr, one line each, of scores that are NaN and of sums that overflowed in f16. */
static void warn_of_range(const struct model_run *m)
{
    struct session_overflow o = session_overflow(m->session);
    uint64_t bad = 0, scores = (uint64_t)m->net->batch * m->net->classes;

    for (uint64_t i = 0; i < scores; i++)
        bad += !isfinite(m->scores[i]);
    if (bad)
        fprintf(stderr,
                "superstep run: warning: %" PRIu64 " of %" PRIu64 " scores are no numbers\n", bad,
                scores);
    if (!o.tiles)
        return;
    fprintf(stderr,
            "superstep run: warning: results beyond the range of f16 were clipped, first in layer "
            "%s (superstep %" PRIu64 ", %s tiles; %s of their results are +-65504 or no numbers); "
            "--compare-layers shows all\n",
            layer_of_superstep(m, o.superstep), o.superstep, count_text(o.tiles).at,
            count_text(o.values).at);
}

static enum emu_status run_machine(struct model_run *m)
{
    enum emu_status s = session_run(m->session);

    if (s == EMU_FAULT) {
        m->code = EXIT_FAULTED;
        return model_report_fault(m->q, m->choice.name, m->session);
    }
    TRY(s);
    progress_report(&m->progress, "execute", "%s cycles",
                    count_text(session_cycles(m->session)).at);
    if (m->q->check)
        print_checks(m);
    if (run_has_values(session_run_image(m->session))) {
        TRY(read_scores(m));
        warn_of_range(m);
    }
    TRY(layer_cycles_bill(&m->layers, session_run_image(m->session)));
    TRY(print_answer(m));
    write_chart(m);
    write_logits(m);
    return EMU_OK;
}

/* The results of layers [keep_begin, keep_end) can be read after the run. */
static enum emu_status build_and_compile(struct model_run *m, uint32_t keep_begin,
                                         uint32_t keep_end)
{
    const struct net_program_options o = {
        .net = { .memory_proportion = m->choice.memory_proportion,
                 .parameter_proportion = m->choice.parameter_proportion,
                 .depthwise = m->choice.depthwise,
                 .keep_begin = keep_begin,
                 .keep_end = keep_end },
        .compile = compile_options_of(m->q),
        .give_up = !m->q->compare_layers && !m->q->report && !m->q->allow_oom,
    };

    TRY(net_program_new(&m->arch, m->net, m->weights, &o, &m->p));
    progress_skip(&m->progress);
    return EMU_OK;
}

static enum emu_status get_weights(struct model_run *m)
{
    TRY(model_weights_get(&m->choice, m->net, &m->weights, m->weights_text,
                          sizeof(m->weights_text)));
    progress_report(&m->progress, "weights", "%s", m->weights_text);
    return EMU_OK;
}

/* Of a run from the cache: the program after all, to see where an overflow was. */
static enum emu_status program_of_entry(void *ctx, const struct compiled **out)
{
    struct model_run *m = ctx;

    TRY(get_weights(m));
    TRY(build_and_compile(m, 0, 0));
    *out = m->p.compiled;
    return EMU_OK;
}

static enum emu_status execute(struct model_run *m)
{
    struct session_options o = session_options_of(m->q);
    enum emu_status s;

    o.record = o.overflow = 1;
    o.digests = output_stream(m->digests);
    o.program = program_of_entry;
    o.program_ctx = m;
    s = m->entry.image ? session_new_image(m->entry.image, &o, &m->session)
                       : session_new(m->p.compiled, &o, &m->session);
    /* Nothing in a network branches on values. */
    EMU_ASSERT(s != EMU_OK || !m->choice.blank || !run_has_values(session_run_image(m->session)));
    if (s == EMU_OK)
        s = write_input(m);
    if (s == EMU_OK)
        s = run_machine(m);
    return output_finish(&m->digests, s);
}

/* The plans alone need far more memory than there is. */
static enum emu_status report_hopeless(struct model_run *m)
{
    json_t *o;

    m->code = EXIT_FAULTED;
    program_note_unwritten(m->q);
    if (!m->q->json) {
        model_hopeless(m->p.net_graph, &m->arch, stdout);
        return EMU_OK;
    }
    o = model_hopeless_json(m->p.net_graph, &m->arch);
    if (!o)
        return FAIL(NO_MEMORY, "the report");
    run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

/* ---- the cache ---- */

static int is_hopeless(const struct model_run *m)
{
    const struct conv_plans *p = &m->p.net_graph->plans;

    return !p->fits && p->peak_bytes >= NET_HOPELESS * (uint64_t)m->arch.mem_bytes;
}

/* A network that only --report compiles is not kept: other runs would find it. */
static void keep_program(struct model_run *m)
{
    if (!m->cache.disk.folder[0] || is_hopeless(m))
        return;
    fflush(stdout); /* people read the answer meanwhile */
    progress_skip(&m->progress);
    if (net_cache_keep(&m->cache, m->p.compiled, &m->layers, m->weights->names) == EMU_OK)
        progress_report(&m->progress, "cache", "kept for the next run");
    else
        progress_report(&m->progress, "cache", "not kept: %s", emu_error());
}

/* Whether nothing but cycles is asked for. */
static int needs_no_values(const struct request *q)
{
    return q->engine && q->use & USE_RUN && !q->output && !q->write_weights && !q->weights;
}

/* Takes the network from the cache. Returns 0 when it is not there. Where values are not needed, an
 * entry that has them will do, too. */
static int find_program(struct model_run *m)
{
    const struct net_cache_input in = { &m->choice, m->net, &m->arch,
                                        compile_options_of(m->q).exchange };
    char label[TEXT_MAX];
    int cycles_only = needs_no_values(m->q), found;

    if (m->q->compare_layers || m->q->logits || m->q->write_weights)
        return 0; /* that needs weights or a graph */
    net_cache_open(&in, &m->cache);
    found = net_cache_find(&m->cache, cycles_only, &m->entry);
    if (!found && cycles_only) {
        m->choice.blank = 1;
        net_cache_open(&in, &m->cache);
        found = net_cache_find(&m->cache, cycles_only, &m->entry);
    }
    if (!found)
        return 0;
    m->layers = m->entry.layers;
    m->memory = m->entry.memory;
    m->entry.layers = (struct layer_cycles){ .row = NULL };
    m->entry.memory = (struct memory_facts){ .compiled = NULL };
    model_weights_text(&m->choice, m->entry.names, m->weights_text, sizeof(m->weights_text));
    net_cache_label(&in, label, sizeof(label));
    progress_report(&m->progress, "cache",
                    "reused: weights, graph, lower, exchange, place, emit; ran: load; %s", label);
    return 1;
}

/* ---- the program, compiled or found ---- */

static enum emu_status with_image(struct model_run *m)
{
    m->code = EXIT_RAN;
    if (m->image)
        TRY(write_image(m));
    if (m->q->use & USE_RUN)
        return execute(m);
    TRY(print_answer(m));
    write_chart(m);
    return EMU_OK;
}

static enum emu_status with_compiled(struct model_run *m)
{
    int writes = m->image != NULL;

    if (!m->p.compiled)
        return report_hopeless(m);
    if (!compiled_fits(m->p.compiled))
        return program_out_of_memory(m->q, m->p.compiled, stdout, &m->code);
    TRY(net_bill_init(m->p.net_graph, m->p.compiled, &m->arch, &m->layers));
    m->memory.compiled = m->p.compiled;
    TRY(net_image_describe(m->net, &m->p));
    if (writes)
        keep_program(m); /* while the image has no pictures */
    TRY(with_image(m));
    if (!writes)
        keep_program(m);
    return EMU_OK;
}

static void drop_program(struct model_run *m)
{
    session_free(m->session);
    m->session = NULL;
    net_program_free(&m->p);
}

/* ---- comparison ---- */

/* The layer before which half of the results of layers [begin, end) lie, by size. */
static uint32_t middle_of(const struct net *n, uint32_t begin, uint32_t end)
{
    uint64_t all = 0, half = 0;
    uint32_t i = begin;

    for (uint32_t k = begin; k < end; k++)
        all += layer_elements(&n->layer[k]);
    while (i + 1 < end && 2 * half < all)
        half += layer_elements(&n->layer[i++]);
    return i > begin ? i : begin + 1;
}

static enum emu_status run_and_compare(struct model_run *m, uint32_t begin, uint32_t end,
                                       struct layer_comparison *sum)
{
    const struct session_options o = session_options_of(m->q);

    TRY(session_new(m->p.compiled, &o, &m->session));
    TRY(write_input(m));
    TRY(session_run(m->session));
    progress_report(&m->progress, "execute", "%s cycles",
                    count_text(session_cycles(m->session)).at);
    TRY(compare_layers(m->p.net_graph, m->weights, m->session, begin, end, sum));
    progress_report(&m->progress, "compare", "layers %u to %u of %u", begin + 1, end,
                    m->net->layers);
    return EMU_OK;
}

/* Compiles a program that keeps the results of layers [begin, end), and compares them; where memory
 * does not suffice, one half of the layers after the other. */
static enum emu_status compare_part(struct model_run *m, uint32_t begin, uint32_t end,
                                    unsigned halvings, struct layer_comparison *sum)
{
    uint32_t middle = middle_of(m->net, begin, end);
    int fits;

    TRY(build_and_compile(m, begin, end));
    fits = compiled_fits(m->p.compiled);
    if (!fits && (middle >= end || !halvings))
        return program_out_of_memory(m->q, m->p.compiled, stdout, &m->code);
    if (fits)
        TRY(run_and_compare(m, begin, end, sum));
    drop_program(m);
    if (fits)
        return EMU_OK;
    TRY(compare_part(m, begin, middle, halvings - 1, sum));
    return m->code == EXIT_RAN ? compare_part(m, middle, end, halvings - 1, sum) : EMU_OK;
}

static enum emu_status compare_all(struct model_run *m)
{
    struct layer_comparison sum = { .f = stdout, .rows = m->q->json ? json_array() : NULL };
    enum emu_status s;

    if (m->q->json && !sum.rows)
        return FAIL(NO_MEMORY, "the answer");
    m->code = EXIT_RAN;
    compare_layers_begin(&sum);
    s = compare_part(m, 0, m->net->layers, COMPARE_HALVINGS, &sum);
    if (s == EMU_OK && m->code == EXIT_RAN)
        s = compare_layers_end(&sum);
    json_decref(sum.rows);
    if (s != EMU_FAULT)
        return s;
    request_failed(m->q, m->choice.name);
    m->code = EXIT_FAULTED;
    return EMU_OK;
}

static enum emu_status open_output(const struct request *q, const char *path,
                                   struct output_file **out)
{
    for (size_t i = 0; i < q->image.count; i++)
        TRY(output_not_input(path, q->image.item[i]));
    TRY(output_not_input(path, q->weights));
    return output_open(path, out);
}

/* Opens the outputs first, so that one that cannot be written is found before the work. */
static enum emu_status open_outputs(struct model_run *m)
{
    TRY(open_output(m->q, m->q->output, &m->image));
    TRY(open_output(m->q, m->q->digests, &m->digests));
    TRY(open_output(m->q, m->q->chart, &m->chart));
    return open_output(m->q, m->q->logits, &m->logits);
}

static enum emu_status answer_request(struct model_run *m)
{
    int compiles = !(m->q->use & USE_RUN);
    uint32_t keep;

    if (compiles && !m->q->output && !m->q->allow_oom && !m->q->layers && !m->q->plan &&
        !m->q->report)
        return FAIL(USAGE, "compile writes an image: -o FILE.img");
    TRY(open_outputs(m));
    TRY(request_arch(m->q, "mk2", &m->arch));
    TRY(net_new(m->choice.name, &m->choice.net, &m->net));
    if (m->q->layers) {
        net_print(m->net, stdout);
        m->code = EXIT_RAN;
        return EMU_OK;
    }
    TRY(net_check(&m->arch, m->net)); /* before parameters, which take longer */
    m->progress = progress_begin(m->q->quiet ? NULL : stderr);
    if (!compiles || m->q->output || m->q->image.count)
        TRY(read_pictures(m));
    if (find_program(m))
        return with_image(m);
    TRY(get_weights(m));
    if (m->q->compare_layers)
        return compare_all(m);
    keep = m->q->logits ? net_classifier(m->net) : 0;
    TRY(build_and_compile(m, keep, m->q->logits ? keep + 1 : 0));
    return with_compiled(m);
}

int model_run(const struct request *q)
{
    struct model_run m = { .q = q, .choice = network_choice_of(q), .code = EXIT_BAD };

    if (answer_request(&m) != EMU_OK)
        m.code = request_failed(q, m.choice.name);
    model_run_free(&m);
    return m.code;
}
