/* sweep_measure.c - an image and its runs. */
#include "models/sweep/sweep_measure.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "models/ask/model_inputs.h"
#include "models/ask/model_request.h"
#include "models/sweep/sweep_image.h"
#include "models/system/system.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(WORD, engine)
OPTION_READ(NUMBER, batch)
OPTION_READ(LIST, dim)
OPTION_READ(NUMBER, resolution)
OPTION_READ(FLAG, torch_padding)
OPTION_READ(TEXT, weights)

enum { CATEGORIES_MAX = 64 };

/* An image and the network, program or manifest from which it is made. Everything is owned but the
 * measurer and the point. */
struct image_at_work {
    struct sweep_measurer *m;
    const struct sweep_point *p; /* the first of those that have the image */
    struct graph *graph;         /* of a program */
    void *state;                 /* of a program, between build() and done() */
    struct compiled *compiled;   /* of a program */
    struct session *session;     /* of a program, while it runs */
    struct system network;       /* all zero: it is a program */
    struct sweep_image image;    /* of a manifest or an image; else all zero */
    uint64_t inputs, macs;
    json_t *work; /* stages that were executed for the next result */
};

/* ---- stages and the processor time that they take ---- */

static struct timespec now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t;
}

static void note_stage(struct image_at_work *w, const char *stage, struct timespec begin)
{
    struct timespec end = now();
    double seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);

    json_array_append_new(w->work, json_pack("[sf]", stage, seconds));
}

/* ---- the network ---- */

/* All options that decide about the network of a point, as text. Owned; NULL when out of memory. */
static char *source_key(const struct request *q)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return NULL;
    fprintf(f, "%llu %llu %d", (unsigned long long)option_batch(q),
            (unsigned long long)option_resolution(q), option_torch_padding(q));
    for (size_t i = 0; i < option_dim(q)->count; i++)
        fprintf(f, " %s", option_dim(q)->item[i]);
    fclose(f);
    return text;
}

static void drop_source(struct sweep_measurer *m)
{
    model_source_free(&m->source);
    free(m->source_key); /* allocated by open_memstream() */
    m->source_key = NULL;
}

static enum emu_status find_source(struct image_at_work *w)
{
    struct sweep_measurer *m = w->m;
    struct progress progress = progress_begin(NULL);
    struct timespec begin = now();
    char *key = source_key(&w->p->model);
    int same = key && m->source_key && !strcmp(key, m->source_key);

    if (!key)
        return FAIL(NO_MEMORY, "a network");
    if (same) {
        free(key);
        return EMU_OK;
    }
    drop_source(m);
    m->source_key = key;
    TRY(model_source_open(&w->p->model, &w->p->arch, &progress, &m->source));
    m->source.choice.blank = option_engine(&w->p->model) && !option_weights(&w->p->model);
    note_stage(w, "source", begin);
    return EMU_OK;
}

/* Parameters and passes; for a network that is not in the cache. */
static enum emu_status finish_source(struct image_at_work *w)
{
    struct progress progress = progress_begin(NULL);
    struct timespec begin = now();
    int made = w->m->source.model || w->m->source.weights;

    TRY(model_source_finish(&w->m->source, &progress));
    if (!made)
        note_stage(w, "source", begin);
    return EMU_OK;
}

static struct compile_options compile_options(const struct request *q)
{
    struct compile_options o = compile_options_of(q);

    o.threads = 1;
    o.progress = NULL;
    return o;
}

/* Cycles need no values, so an entry that has them will do, too. */
static int find_program(struct image_at_work *w)
{
    const struct model_source *s = &w->m->source;
    struct network_choice choice = network_choice_of(&w->p->model);
    const struct net_cache_input in = { .choice = &choice,
                                        .net = s->net,
                                        .model = s->model,
                                        .request = &w->p->model,
                                        .arch = &w->p->arch,
                                        .exchange = compile_options(&w->p->model).exchange };
    struct timespec begin = now();

    if (!option_engine(&w->p->model))
        return 0;
    for (choice.blank = 0; choice.blank < 2; choice.blank++) {
        if (system_find(&w->network, &in, 1)) {
            note_stage(w, "load", begin);
            return 1;
        }
    }
    return 0;
}

static enum emu_status make_network(struct image_at_work *w)
{
    const struct network_choice choice = network_choice_of(&w->p->model);
    const struct system_options o = { .program = { .lower = network_lowering(&choice),
                                                   .compile = compile_options(&w->p->model),
                                                   .give_up = 1 },
                                      .folder = "" };
    struct model_facts facts;
    struct timespec begin;

    TRY(find_source(w));
    facts = model_source_facts(&w->m->source);
    w->inputs = facts.batch;
    w->macs = facts.macs * facts.batch;
    system_init(&w->network, &w->p->arch, w->m->source.graph, &o);
    if (find_program(w))
        return EMU_OK;
    TRY(finish_source(w));
    begin = now();
    TRY(system_build(&w->network));
    note_stage(w, "compile", begin);
    return EMU_OK;
}

/* The numbers of all inputs, for the values engine. */
static enum emu_status write_values(struct image_at_work *w)
{
    const struct model_source *source = &w->m->source;
    const struct op_graph *g = source->graph;
    struct model_input *in = emu_alloc(g->inputs + 1, sizeof(*in));
    struct picture_recipe recipe;
    enum emu_status st = in ? EMU_OK : FAIL(NO_MEMORY, "inputs");

    if (st == EMU_OK && source->net)
        st = model_source_recipe(source, &recipe);
    if (st == EMU_OK)
        st = model_inputs_read(&w->p->model, g, source->net ? &recipe : NULL, in);
    for (uint32_t k = 0; st == EMU_OK && k < g->inputs; k++)
        st = system_write(&w->network, g->input[k], &in[k].numbers);
    for (uint32_t k = 0; in && k < g->inputs; k++)
        model_input_free(&in[k]);
    ss_free(in);
    return st;
}

/* ---- the program ---- */

static enum emu_status make_program(struct image_at_work *w)
{
    const struct named_program *n = w->p->model.known;
    const struct compile_options o = compile_options(&w->p->model);
    uint64_t value[PROGRAM_MAX_PARAMS];
    struct timespec begin = now();

    w->inputs = 1;
    TRY(program_values(&w->p->model, value));
    TRY(ss_graph_new(&w->p->arch, &ss_kernel_library, &w->graph));
    TRY(n->build(w->graph, value, &w->state));
    TRY(ss_graph_status(w->graph));
    TRY(ss_graph_compile(w->graph, &o, &w->compiled));
    note_stage(w, "compile", begin);
    return EMU_OK;
}

/* ---- the manifest, or the image ---- */

static enum emu_status make_image(struct image_at_work *w)
{
    struct timespec begin = now();

    w->inputs = 1;
    TRY(sweep_image_make(w->m->sweep, w->p, &w->image));
    if (w->p->manifest)
        note_stage(w, "compile", begin);
    return EMU_OK;
}

/* ---- results ---- */

static json_t *integer(uint64_t n)
{
    return json_integer((json_int_t)n);
}

/* Takes over the stages that were executed since the last result. */
static json_t *new_result(struct image_at_work *w, uint32_t point, const struct arch *a,
                          const char *status, const char *message)
{
    json_t *o =
        json_pack("{s:I, s:s, s:o, s:I, s:I, s:I, s:I, s:O, s:[]}", "point", (json_int_t)point + 1,
                  "status", status, "message", json_text(message), "inputs", (json_int_t)w->inputs,
                  "mem_bytes", (json_int_t)a->mem_bytes, "tiles", (json_int_t)a->tiles, "clock_mhz",
                  (json_int_t)a->clock_mhz, "work", w->work, "categories");

    json_decref(w->work);
    w->work = json_array();
    return o;
}

/* Bytes of all tiles and of the fullest one. */
struct memory_sums {
    unsigned categories;
    uint64_t all[CATEGORIES_MAX], fullest[CATEGORIES_MAX], used, most;
    uint32_t tile;
};

static void add_tile(void *ctx, uint32_t tile, const uint64_t *bytes)
{
    struct memory_sums *m = ctx;
    uint64_t sum = 0;

    for (unsigned k = 0; k < m->categories; k++) {
        m->all[k] += bytes[k];
        sum += bytes[k];
    }
    m->used += sum;
    if (sum <= m->most)
        return;
    m->most = sum;
    m->tile = tile;
    memcpy(m->fullest, bytes, m->categories * sizeof(*bytes));
}

static enum emu_status put_memory(const struct image_at_work *w, json_t *o)
{
    const struct memory_facts program = { .compiled = w->compiled };
    const struct memory_facts *facts = w->compiled ? &program : &w->network.memory;
    struct memory_sums m = { .categories = 0 };

    while (ss_compiled_category(m.categories))
        m.categories++;
    EMU_ASSERT(m.categories <= CATEGORIES_MAX);
    TRY(memory_facts_tiles(facts, add_tile, &m));
    for (unsigned k = 0; k < m.categories; k++) {
        if (m.all[k])
            json_array_append_new(json_object_get(o, "categories"),
                                  json_pack("[sII]", ss_compiled_category(k), (json_int_t)m.all[k],
                                            (json_int_t)m.fullest[k]));
    }
    return json_object_set_new(o, "need_bytes", integer(memory_facts_need(facts))) ||
                   json_object_set_new(o, "fullest_tile", integer(m.tile)) ||
                   json_object_set_new(o, "used_bytes", integer(m.used))
               ? FAIL(NO_MEMORY, "a result")
               : EMU_OK;
}

static enum emu_status put_cycles(const struct image_at_work *w, const struct run *r, json_t *o)
{
    const struct bill b = sweep_bill_of(r);
    uint64_t steps = 0;
    json_t *parts;
    int bad;

    for (uint32_t chip = 0; chip < r->chips; chip++)
        steps += ss_bill_step_count(r->chip[chip].record);
    parts =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "cycles",
                  (json_int_t)b.total, "exchange", (json_int_t)b.exchange, "link",
                  (json_int_t)b.link, "compute", (json_int_t)b.compute, "imbalance",
                  (json_int_t)b.imbalance, "wait", (json_int_t)(b.wait + b.host), "sync",
                  (json_int_t)b.sync, "outer", (json_int_t)b.outer, "supersteps", (json_int_t)steps,
                  "words", (json_int_t)b.words_in, "macs", (json_int_t)w->macs);
    bad = !parts || json_object_update(o, parts);
    json_decref(parts);
    return bad ? FAIL(NO_MEMORY, "a result") : EMU_OK;
}

static enum emu_status put_engine(const struct run *r, json_t *o)
{
    char engine[RUN_ENGINE_TEXT];

    ss_run_engine_text(r, engine);
    return json_object_set_new(o, "engine", json_string(engine)) ? FAIL(NO_MEMORY, "a result")
                                                                 : EMU_OK;
}

/* ---- runs ---- */

/* What the results say of a point's run. */
static const char *status_of(enum emu_status s)
{
    return s == EMU_OK ? "ok" : s == EMU_FAULT ? "fault" : "failed";
}

/* NULL: none is open. */
static const struct run *run_of(const struct image_at_work *w)
{
    struct session *s = w->compiled ? w->session : w->network.session;

    return w->image.run ? w->image.run : s ? ss_session_run_image(s) : NULL;
}

static enum emu_status open_session(struct image_at_work *w, const struct arch *a)
{
    struct session_options o = session_options_of(&w->p->model);

    if (w->image.image)
        return sweep_image_open(&w->image, a);
    o.record = 1;
    o.threads = 1;
    TRY(w->compiled ? ss_compiled_set_arch(w->compiled, a) : system_set_arch(&w->network, a));
    return w->compiled ? ss_session_new(w->compiled, &o, &w->session)
                       : system_start(&w->network, &o);
}

static void close_session(struct image_at_work *w)
{
    sweep_image_close(&w->image);
    ss_session_free(w->session);
    w->session = NULL;
    system_stop(&w->network);
}

/* A program's run, and whether its results are right, where there are some to compare with. */
static enum emu_status run_program(const struct image_at_work *w)
{
    const struct named_program *n = w->p->model.known;
    enum emu_status st;
    json_t *answer;

    if (n->before)
        TRY(n->before(w->session, w->state));
    TRY(ss_session_run(w->session));
    if (!n->after || !ss_run_has_values(ss_session_run_image(w->session)))
        return EMU_OK;
    answer = json_object();
    st = answer ? n->after(w->session, w->state, answer) : FAIL(NO_MEMORY, "a result");
    json_decref(answer);
    return st;
}

static enum emu_status run_network(struct image_at_work *w)
{
    TRY(option_engine(&w->p->model) ? system_write_zeros(&w->network) : write_values(w));
    return system_run(&w->network);
}

static enum emu_status put_run(struct image_at_work *w, json_t *o)
{
    const struct run *r = run_of(w);

    if (!r)
        return EMU_OK;
    TRY(put_cycles(w, r, o));
    return put_engine(r, o);
}

/* How a run ended, which is a result whatever it is. */
static json_t *result_of(struct image_at_work *w, uint32_t point, const struct arch *a,
                         enum emu_status st)
{
    const struct manifest *m = w->p->manifest;
    int is_asked = st == EMU_OK && !(m && m->expect_check); /* else they are what is expected */
    uint64_t found = is_asked ? run_check_findings(run_of(w)) : 0;
    char text[80];

    if (!found)
        return new_result(w, point, a, status_of(st), st == EMU_OK ? "" : ss_error());
    snprintf(text, sizeof(text), "--check: %s findings; superstep run lists them",
             count_text(found).at);
    return new_result(w, point, a, "found", text);
}

static enum emu_status run_point(struct image_at_work *w, uint32_t point, const struct arch *a,
                                 json_t **out)
{
    struct timespec begin = now();
    enum emu_status st = open_session(w, a);

    if (st == EMU_OK)
        st = w->image.run  ? sweep_image_run(&w->image)
             : w->compiled ? run_program(w)
                           : run_network(w);
    if (!sweep_is_of_host(st)) {
        note_stage(w, "run", begin);
        *out = result_of(w, point, a, st);
        st = *out ? put_run(w, *out) : FAIL(NO_MEMORY, "a result");
    }
    close_session(w);
    return st;
}

/* Why there is no run; NULL: there is one. */
static const char *shortage(const struct image_at_work *w)
{
    if (w->image.image)
        return NULL;
    if (w->compiled ? ss_compiled_fits(w->compiled) : system_fits(&w->network))
        return NULL;
    return w->compiled || system_compiled(&w->network)
               ? "it does not fit"
               : "not compiled: far more memory is expected than there is";
}

static enum emu_status measure_point(struct image_at_work *w, uint32_t point, const struct arch *a,
                                     json_t **out)
{
    const char *why = shortage(w);

    if (why) {
        *out = new_result(w, point, a, "no memory", why);
        if (!*out)
            return FAIL(NO_MEMORY, "a result");
    } else {
        TRY(run_point(w, point, a, out));
    }
    if (w->image.image)
        return sweep_image_memory(&w->image, *out);
    if (w->compiled || system_fits(&w->network) || system_compiled(&w->network))
        return put_memory(w, *out);
    return json_object_set_new(*out, "need_bytes", integer(system_need_bytes(&w->network)))
               ? FAIL(NO_MEMORY, "a result")
               : EMU_OK;
}

/* ---- all points of an image ---- */

/* made: how building and compiling went. */
static enum emu_status visit_point(struct image_at_work *w, uint32_t point, enum emu_status made,
                                   const char *why, sweep_result_visit *visit, void *ctx)
{
    struct sweep_point p;
    json_t *result = NULL;
    enum emu_status s = sweep_point_new(w->m->sweep, point, &p);

    if (s == EMU_OK && made == EMU_OK)
        s = measure_point(w, point, &p.arch, &result);
    if (s == EMU_OK && made != EMU_OK) {
        result = new_result(w, point, &p.arch, "refused", why);
        s = result ? EMU_OK : FAIL(NO_MEMORY, "a result");
    }
    if (s == EMU_OK)
        s = visit(ctx, result);
    json_decref(result);
    sweep_point_free(w->m->sweep, &p);
    return s;
}

static enum emu_status measure_image(struct image_at_work *w, const uint32_t *point, size_t points,
                                     sweep_result_visit *visit, void *ctx)
{
    enum emu_status made = sweep_is_thing(&w->p->model) ? make_image(w)
                           : w->p->model.known          ? make_program(w)
                                                        : make_network(w);
    char why[512];

    if (sweep_is_of_host(made))
        return made;
    snprintf(why, sizeof(why), "%s", made == EMU_OK ? "" : ss_error());
    for (size_t i = 0; i < points; i++)
        TRY(visit_point(w, point[i], made, why, visit, ctx));
    return EMU_OK;
}

static void image_free_all(struct image_at_work *w)
{
    const struct named_program *n = w->p->model.known;

    ss_compiled_free(w->compiled);
    if (n && n->done && w->state)
        n->done(w->state);
    ss_graph_free(w->graph);
    system_free(&w->network);
    sweep_image_free(&w->image);
    json_decref(w->work);
}

enum emu_status sweep_measure(struct sweep_measurer *m, const uint32_t *point, size_t points,
                              sweep_result_visit *visit, void *ctx)
{
    struct sweep_point p;
    struct image_at_work w = { .m = m, .p = &p, .work = json_array() };
    enum emu_status s = sweep_point_new(m->sweep, point[0], &p);

    if (s == EMU_OK)
        s = measure_image(&w, point, points, visit, ctx);
    image_free_all(&w);
    sweep_point_free(m->sweep, &p);
    return s;
}

void sweep_measurer_init(const struct sweep *s, struct sweep_measurer *out)
{
    *out = (struct sweep_measurer){ .sweep = s };
}

void sweep_measurer_free(struct sweep_measurer *m)
{
    drop_source(m);
}
