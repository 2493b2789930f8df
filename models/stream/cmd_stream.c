/* cmd_stream.c - `superstep stream`: connects the feed of pictures, the network and the file of
 * results, and can be stopped at any time. */
#include "models/stream/cmd_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "emu/base/alloc.h"
#include "emu/base/hash.h"
#include "emu/base/progress_meter.h"
#include "emu/base/progress.h"
#include "emu/cli/interrupt.h"
#include "emu/cli/request_look.h"
#include "emu/job/run_image.h"
#include "models/feed/feed.h"
#include "models/feed/results.h"
#include "models/operators/op_print.h"
#include "models/answer/class_names.h"
#include "models/ask/model_request.h"
#include "models/ask/model_source.h"
#include "models/ask/net_pictures.h"
#include "models/ask/onnx_request.h"
#include "models/run/model_fit.h"
#include "models/stream/stream_options.h"
#include "models/stream/stream_report.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(TEXT, digests)
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, output)
OPTION_READ(FLAG, report)
OPTION_READ(LIST, dim)
OPTION_READ(LIST, outputs)
OPTION_READ(TEXT, labels)
OPTION_READ(NUMBER, host_bandwidth)
OPTION_READ(FLAG, resume)
OPTION_READ(NUMBER, limit)
OPTION_READ(NUMBER, decoders)
OPTION_READ(NUMBER, queue)

enum { SHIPPED_PICTURES = 8, TEXT_MAX = 512, MAKER_TEXT = 160 };

/* A picture that was taken from the feed and has no result yet. */
struct pending {
    char *name; /* owned */
    uint64_t index;
};

struct streaming {
    const struct request *q; /* borrowed */
    struct stream_options options;
    struct arch arch;
    struct model_source source;     /* owned, like the following */
    struct stream_network net;      /* of the source */
    struct net_cache_input kept_as; /* the same */
    struct picture_stream *stream;
    struct picture_feed *feed;
    struct results *results; /* NULL: not kept */
    struct profile_files profile;
    struct output_file *digests; /* owned; NULL: not wanted */
    struct class_names classes;  /* --labels; owned */
    const char **path;           /* borrowed names */
    struct pending *pending;     /* ring of pending_cap */
    size_t pending_cap;
    size_t paths;                /* of pictures */
    const char *const *file;     /* borrowed: the arguments, or path */
    uint64_t limit;              /* most pictures, those of earlier runs included; 0: all */
    char made_by[3][MAKER_TEXT]; /* network, weights, machine */
    struct results_maker maker;  /* points to these texts */
    uint64_t earlier;            /* results of the earlier runs that are resumed */
    uint64_t taken, put;         /* pictures taken from the feed; results written */
    uint8_t *first;              /* the first one, taken before the work, or NULL; owned */
    int has_first;
    struct progress progress;
    struct progress_meter meter; /* of pictures with results */
    enum emu_status failed; /* the error with which a call ended the run; text has its message */
    char text[TEXT_MAX];
    int code;
};

static void close_results(struct streaming *x)
{
    enum emu_status s = x->results ? results_close(x->results) : EMU_OK;

    x->results = NULL;
    if (s == EMU_OK)
        return;
    fprintf(stderr, "superstep stream: %s\n", ss_error());
    x->code = x->put ? EXIT_PARTIAL : EXIT_BAD;
}

static void streaming_free(struct streaming *x)
{
    profile_files_close(&x->profile);
    output_discard(x->digests);
    feed_close(x->feed);
    close_results(x); /* still open only after an earlier error */
    stream_free(x->stream);
    for (size_t i = 0; i < x->pending_cap; i++)
        ss_free(x->pending[i].name);
    ss_free(x->pending);
    ss_free(x->first);
    ss_free(x->path);
    class_names_free(&x->classes);
    model_source_free(&x->source);
}

/* ---- calls ---- */

/* Keeps the first error of a call, because the run itself ends with another message. */
static enum emu_status keep_error(struct streaming *x, enum emu_status s)
{
    if (s != EMU_OK && x->failed == EMU_OK) {
        x->failed = s;
        snprintf(x->text, sizeof(x->text), "%s", ss_error());
    }
    return s;
}

static enum emu_status take_picture(struct streaming *x, uint8_t *rgb, int *more)
{
    struct pending *p = &x->pending[x->taken % x->pending_cap];
    const char *name;

    EMU_ASSERT(x->taken - x->put < x->pending_cap);
    *more = !x->limit || x->earlier + x->taken < x->limit;
    if (!*more)
        return EMU_OK;
    TRY(feed_next(x->feed, rgb, &name, &p->index, more));
    if (!*more)
        return EMU_OK;
    ss_free(p->name);
    p->name = emu_strdup(name);
    x->taken++;
    return p->name ? EMU_OK : FAIL(NO_MEMORY, "the name of a picture");
}

static size_t picture_bytes(const struct streaming *x)
{
    return (size_t)x->net.recipe.width * x->net.recipe.height * 3;
}

static enum emu_status next_picture(void *ctx, uint8_t *rgb, int *more)
{
    struct streaming *x = ctx;

    if (!x->first)
        return keep_error(x, take_picture(x, rgb, more));
    memcpy(rgb, x->first, picture_bytes(x));
    *more = x->has_first;
    ss_free(x->first);
    x->first = NULL;
    return EMU_OK;
}

static enum emu_status put_result(void *ctx, uint64_t picture, const float *scores)
{
    struct streaming *x = ctx;
    const struct pending *p = &x->pending[picture % x->pending_cap];

    EMU_ASSERT(picture == x->put);
    if (x->results)
        TRY(keep_error(x, results_put(x->results, p->name, p->index, scores, x->net.classes)));
    x->put++;
    progress_meter_add(&x->meter, 1);
    return EMU_OK;
}

static int is_interrupted(void *ctx)
{
    (void)ctx;
    return interrupt_came();
}

static void stop_feed(void *ctx)
{
    feed_stop(ctx);
}

static void prepare_signals(void)
{
    interrupt_catch("superstep stream: interrupted before the first picture\n");
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- pictures ---- */

static enum emu_status use_shipped(struct streaming *x)
{
    if (!x->limit)
        x->limit = SHIPPED_PICTURES;
    x->path = emu_alloc(x->limit, sizeof(*x->path));
    if (!x->path)
        return FAIL(NO_MEMORY, "names of pictures");
    for (uint64_t i = 0; i < x->limit; i++)
        x->path[i] = net_picture_shipped(i);
    x->file = x->path;
    x->paths = x->limit;
    return EMU_OK;
}

static enum emu_status open_results(struct streaming *x)
{
    struct results_options o = { .format = RESULTS_BY_NAME, .resume = option_resume(x->q) };

    if (!option_output(x->q))
        return EMU_OK;
    if (option_labels(x->q)) {
        TRY(output_not_input(option_output(x->q), option_labels(x->q)));
        TRY(class_names_read(option_labels(x->q), x->net.classes, &x->classes));
        o.names = x->classes.name;
    }
    TRY(results_open(option_output(x->q), &o, &x->results));
    x->earlier = results_kept(x->results);
    return EMU_OK;
}

static enum emu_status open_feed(struct streaming *x)
{
    const struct feed_options o = { .recipe = x->net.recipe,
                                    .threads = (unsigned)option_decoders(x->q),
                                    .queue = (unsigned)option_queue(x->q),
                                    .skip = x->results ? results_done(x->results) : 0 };
    const char *last;

    if (!x->paths)
        TRY(use_shipped(x));
    TRY(feed_open(x->file, x->paths, &o, &x->feed));
    last = feed_skipped(x->feed);
    return last ? results_check_last(x->results, last) : EMU_OK;
}

/* A path that does not exist is reported before the work. Names in lists and folders are not looked
 * at, since they may still change. */
static enum emu_status check_paths(const struct streaming *x)
{
    struct stat st;

    for (size_t i = 0; i < x->paths && !option_resume(x->q); i++) {
        const char *path = x->file[i];

        if (strcmp(path, "-") && path[0] != '@' && stat(path, &st))
            return FAIL(IO, "%.300s: %s", path, strerror(errno));
    }
    return EMU_OK;
}

/* It is also reported now if there is no good picture at all, unless names are still to come
 * through a pipe. */
static enum emu_status take_first(struct streaming *x)
{
    enum emu_status s;

    for (size_t i = 0; i < x->paths; i++) {
        if (!strcmp(x->file[i], "-"))
            return EMU_OK;
    }
    x->first = emu_alloc(picture_bytes(x), 1);
    if (!x->first)
        return FAIL(NO_MEMORY, "a picture");
    s = take_picture(x, x->first, &x->has_first);
    if (s != EMU_OK && feed_count(x->feed).bad > 1) {
        keep_error(x, s);
        (void)!feed_report(x->feed, stderr);
        return ss_fail(s, "%s", x->text);
    }
    return s;
}

/* ---- what makes the results ---- */

/* A name, and a hash of what it stands for. */
static void name_maker(char out[MAKER_TEXT], const char *name, const void *data, size_t bytes)
{
    char digits[33];

    hash128_text(hash128(data, bytes), digits);
    snprintf(out, MAKER_TEXT, "%.80s (%s)", name, digits);
}

/* The layers of a network by name, or the nodes of a file, how pictures are prepared, and how
 * classes are called. */
static enum emu_status name_network(struct streaming *x)
{
    char name[MAKER_TEXT], recipe[RECIPE_TEXT], *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return FAIL(NO_MEMORY, "a description of the network");
    if (x->source.net)
        net_print(x->source.net, f);
    else
        op_graph_print(x->net.graph, f);
    fprintf(f, "%s\n", picture_recipe_text(&x->net.recipe, recipe));
    for (uint32_t i = 0; i < x->classes.count; i++)
        fprintf(f, "%s\n", x->classes.name[i]);
    fclose(f);
    snprintf(name, sizeof(name), "%.60s at %ux%u%s", x->net.name, x->net.recipe.width,
             x->net.recipe.height, x->classes.count ? " with names of classes" : "");
    name_maker(x->made_by[0], name, text, bytes);
    free(text); /* allocated by open_memstream */
    return EMU_OK;
}

/* The numbers of a network by name before the passes; of a file those that are left. */
static void name_weights(struct streaming *x)
{
    const struct op_graph *g = x->net.graph;
    const struct weights *w = x->source.weights;
    struct hash128 sum = { 0 };
    uint64_t values = 0;

    for (uint32_t i = 0; w && i < w->params; i++)
        values += w->param[i].elements;
    for (uint32_t v = 0; !w && v < g->values; v++) {
        const struct op_value *c = &g->value[v];
        struct hash128 part[2] = { sum };

        if (!op_value_constant_kind(c))
            continue;
        part[1] = hash128(c->data, op_shape_count(&c->shape) * op_type_bytes(c->shape.type));
        sum = hash128(part, sizeof(part));
    }
    if (w)
        name_maker(x->made_by[1], x->source.choice.weights ? "of a file" : "of a seed", w->data,
                   values * sizeof(float));
    else
        name_maker(x->made_by[1], "of the file", &sum, sizeof(sum));
}

/* Describes network, weights and machine for the note beside the results. */
static enum emu_status say_maker(struct streaming *x)
{
    char *machine;

    if (!x->results)
        return EMU_OK;
    TRY(name_network(x));
    name_weights(x);
    machine = ss_arch_to_json(&x->arch);
    if (!machine)
        return FAIL(NO_MEMORY, "a machine as text");
    name_maker(x->made_by[2], x->arch.name, machine, strlen(machine));
    ss_free(machine);
    x->maker = (struct results_maker){ x->made_by[0], x->made_by[1], x->made_by[2] };
    return results_made_by(x->results, &x->maker);
}

/* ---- stages ---- */

/* Whether the only input of a graph is square pictures of three colours, as floats. */
static int takes_squares(const struct op_graph *g)
{
    const struct op_shape *s = g->inputs == 1 ? &g->value[g->input[0]].shape : NULL;

    return s && s->rank == 4 && op_type_kind(s->type) == OP_KIND_FLOAT && s->dim[1] == 3 &&
           s->dim[2] == s->dim[3];
}

/* All but the first output stay on the chip. */
static enum emu_status refuse_outputs(const struct op_graph *g)
{
    return g->outputs == 1
               ? EMU_OK
               : FAIL(USAGE,
                      "a stream sends one output, the network has %u: %s, %s%s; --outputs says "
                      "which",
                      g->outputs, g->value[g->output[0]].name, g->value[g->output[1]].name,
                      g->outputs > 2 ? ", .." : "");
}

/* The pictures and the scores of a graph. EMU_USAGE: it has none. */
static enum emu_status describe_file(struct streaming *x)
{
    const struct op_graph *g = x->source.graph;
    const struct model_facts facts = model_source_facts(&x->source);
    uint32_t side;

    if (!takes_squares(g))
        return FAIL(USAGE, "a stream needs one input [n][3][side][side] of floats");
    if (!facts.classes)
        return FAIL(USAGE, "a stream needs a first output [n][classes]");
    TRY(refuse_outputs(g));
    side = g->value[g->input[0]].shape.dim[2];
    x->net = (struct stream_network){ x->source.choice.name, g, facts.batch, facts.classes,
                                      picture_recipe_usual(side, side) };
    return EMU_OK;
}

/* What is streamed of a source, and how it takes pictures. */
static enum emu_status describe_source(struct streaming *x)
{
    const struct net *n = x->source.net;

    if (n) {
        x->net = (struct stream_network){
            .name = n->name, .graph = n->graph, .batch = n->batch, .classes = n->classes
        };
        TRY(model_source_recipe(&x->source, &x->net.recipe));
    } else {
        TRY(describe_file(x));
    }
    if (x->source.choice.real == ELEM_F32 && x->options.input == ELEM_F16)
        return FAIL(USAGE, "--input-type f16: with --precision f32 pictures are u8 or f32");
    return picture_choose(x->q, &x->net.recipe);
}

/* Files that are written beside the results. */
static enum emu_status open_files(struct streaming *x)
{
    TRY(profile_files_open(x->q, &x->profile));
    TRY(output_not_input(option_digests(x->q), x->q->what));
    TRY(output_open(option_digests(x->q), &x->digests));
    x->options.session.digests = output_stream(x->digests);
    return EMU_OK;
}

static enum emu_status compile(struct streaming *x)
{
    char text[TEXT_MAX];

    TRY(request_arch(x->q, "mk2", &x->arch));
    if (option_host_bandwidth(x->q)) {
        snprintf(text, sizeof(text), "host_link_mbytes_per_s=%" PRIu64,
                 option_host_bandwidth(x->q));
        TRY(ss_arch_set(&x->arch, text));
    }
    x->progress = progress_begin(x->options.compile.progress);
    TRY(model_source_open(x->q, &x->arch, &x->progress, &x->source));
    TRY(describe_source(x));
    x->pending_cap = (2 * x->options.lower.loop.link.depth + 4u) * x->net.batch;
    x->pending = emu_alloc(x->pending_cap, sizeof(*x->pending));
    if (!x->pending)
        return FAIL(NO_MEMORY, "%zu pictures under way", x->pending_cap);
    /* Files are opened first, so that mistakes in their names are reported at once. The file of an
     * earlier run says which pictures are left; it is not changed before the network is ready to
     * make more results.
     */
    TRY(open_files(x));
    TRY(open_results(x));
    TRY(open_feed(x));
    TRY(take_first(x));
    TRY(model_source_finish(&x->source, &x->progress));
    TRY(say_maker(x));
    x->options.progress = &x->progress;
    if (!request_profiles(x->q)) /* which need the compiler's own objects */
        x->options.kept_as = &x->kept_as;
    x->kept_as = (struct net_cache_input){
        .choice = &x->source.choice, .net = x->source.net, .model = x->source.model, .request = x->q
    };
    return stream_new(&x->net, &x->arch, &x->options, &x->stream);
}

/* The file for the answer: not the one in which results go. */
static FILE *answer_file(const struct streaming *x)
{
    return option_output(x->q) && !strcmp(option_output(x->q), "-") ? stderr : stdout;
}

/* The network with the request's options, and with one change. */
static enum emu_status compile_changed(void *ctx, const struct request *q, const struct arch *a,
                                       int *fits, uint64_t *need)
{
    struct streaming u = { .q = q, .options = stream_options_of(q), .arch = *a };
    enum emu_status s = model_source_open_blank(q, a, &u.source);

    u.options.compile.progress = NULL;
    u.options.schedules = ctx;
    u.options.folder = "";
    u.options.outlook = 1;
    if (s == EMU_OK)
        s = describe_source(&u);
    if (s == EMU_OK)
        s = stream_new(&u.net, &u.arch, &u.options, &u.stream);
    *fits = s == EMU_OK && system_fits(stream_system(u.stream));
    *need = s == EMU_OK ? system_need_bytes(stream_system(u.stream)) : 0;
    streaming_free(&u);
    return s;
}

static enum emu_status report_unfit(struct streaming *x)
{
    struct fit_subject subject = { .q = x->q,
                                   .arch = &x->arch,
                                   .need_bytes = system_need_bytes(stream_system(x->stream)),
                                   .compile = compile_changed };
    struct compiled *c = system_compiled(stream_system(x->stream));
    struct fit_findings found;

    fit_search_source(&subject, &x->source, &found);
    TRY(fit_report(x->q, c, &found, answer_file(x), &x->code));
    return program_profile_unfit(x->q, c, NULL, NULL, &x->profile);
}

static enum emu_status print_answer(struct streaming *x)
{
    struct stream_answer a = { .net = &x->net,
                               .arch = &x->arch,
                               .options = &x->options,
                               .loop = &stream_system(x->stream)->ends.loop,
                               .precision = precision_text(x->q),
                               .record = stream_record(x->stream),
                               .files = feed_count(x->feed),
                               .interrupted = interrupt_came() };
    FILE *f = answer_file(x);
    const struct run *run = system_machine(stream_system(x->stream));
    char digest[SYSTEM_DIGEST_TEXT], engine[RUN_ENGINE_TEXT];
    json_t *o;

    system_digest_text(stream_system(x->stream), digest);
    a.digest = digest;
    ss_run_engine_text(run, engine);
    if (!option_json(x->q)) {
        stream_report(&a, f);
        fprintf(f, "engine      %s\n", engine);
        if (option_report(x->q))
            memory_facts_print(&stream_system(x->stream)->memory, f);
        return EMU_OK;
    }
    o = stream_report_json(&a);
    if (!o || json_object_set_new(o, "engine", json_string(engine))) {
        json_decref(o);
        return FAIL(NO_MEMORY, "the answer");
    }
    ss_run_print_json(o, f);
    json_decref(o);
    return EMU_OK;
}

/* Says how the run ended, and sets the exit code. */
static void judge(struct streaming *x, enum emu_status s)
{
    x->code = EXIT_RAN;
    if (feed_count(x->feed).bad || interrupt_came())
        x->code = EXIT_PARTIAL;
    if (x->failed != EMU_OK) {
        fprintf(stderr, "superstep stream: %s\n", x->text);
        x->code = x->put ? EXIT_PARTIAL : EXIT_BAD;
    } else if (s != EMU_OK) {
        fprintf(stderr, "superstep stream: %s\n", ss_error());
        x->code = s == EMU_FAULT ? EXIT_FAULTED : EXIT_BAD;
    }
    if (interrupt_came())
        fprintf(stderr, "superstep stream: interrupted after %" PRIu64 " pictures\n", x->put);
}

static enum emu_status run(struct streaming *x)
{
    const struct stream_calls calls = { x, next_picture, put_result, is_interrupted };
    enum emu_status s;

    if (!system_fits(stream_system(x->stream)))
        return report_unfit(x);
    interrupt_defer(stop_feed, x->feed);
    if (x->results)
        TRY(results_begin(x->results));
    progress_skip(&x->progress);
    progress_meter_begin(&x->meter, x->progress.f, "execute", "pictures",
                         x->limit > x->earlier ? x->limit - x->earlier : 0);
    s = stream_run(x->stream, &calls);
    progress_meter_end(&x->meter);
    if (s == EMU_OK)
        progress_report(&x->progress, "execute", "%s pictures, %s cycles", count_text(x->put).at,
                        count_text(stream_record(x->stream)->cycles).at);
    judge(x, s);
    close_results(x);
    interrupt_release();
    TRY(feed_report(x->feed, stderr));
    if (x->code == EXIT_BAD)
        return EMU_OK;
    if (request_findings(x->q, system_machine(stream_system(x->stream)), 0))
        x->code = EXIT_FAULTED;
    TRY(print_answer(x));
    TRY(output_finish(&x->digests, EMU_OK));
    fflush(stdout); /* people read the answer meanwhile */
    stream_keep(x->stream);
    return program_profile(x->q, system_compiled(stream_system(x->stream)),
                           stream_system(x->stream)->session, &x->profile);
}

static enum emu_status refuse_name(const char *name)
{
    struct nearest meant = { .word = name, .n = strlen(name) };

    net_nearest(&meant);
    return FAIL(USAGE, "'%s' is no network;%s superstep models lists them", name,
                nearest_hint(&meant).text);
}

/* The first argument is the network, the others are pictures. */
static enum emu_status begin(struct streaming *x, const struct request *q)
{
    if (!network_find(q->what) && !onnx_is_meant(q->what))
        return refuse_name(q->what);
    if (!network_find(q->what))
        TRY(onnx_request_check(q));
    else if (option_dim(q)->count || option_outputs(q)->count)
        return FAIL(USAGE, "--dim and --outputs are for ONNX files, and %s is none", q->what);
    x->q = q;
    x->options = stream_options_of(q);
    x->limit = option_limit(q);
    x->file = q->argument.item + 1;
    x->paths = q->argument.count - 1;
    return check_paths(x);
}

int cmd_stream(const struct request *q)
{
    struct streaming x = { .code = EXIT_BAD };
    enum emu_status s;

    if (begin(&x, q) != EMU_OK)
        return request_failed(q, NULL);
    prepare_signals();
    s = compile(&x);
    if (s == EMU_OK)
        s = run(&x);
    if (s != EMU_OK)
        x.code = request_failed(q, network_find(q->what));
    interrupt_release();
    streaming_free(&x);
    return x.code;
}
