/* ss_network.c - networks for a program (see ss_network.h): `superstep run`, called. */
#include "models/api/ss_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/cli/options.h"
#include "emu/cli/request_look.h"
#include "emu/job/run_image.h"
#include "models/api/called.h"
#include "models/ask/model_request.h"
#include "models/cli/commands_models.h"
#include "models/run/network_run.h"

/* What is read of the command line. */
OPTION_READ(TEXT, profile)

enum { MEANING_TEXT = RECIPE_TEXT + 64 };

struct ss_network {
    struct called called;
    struct network_run run;
    uint32_t not_finite; /* rows of the weights: those of a run come behind */
    int ran;             /* there are results and cycles */
    char *profile;       /* owned: a file that was named later than by words */
    char engine[RUN_ENGINE_TEXT];
    char (*meaning)[MEANING_TEXT]; /* owned; by input, then by output */
    struct option_list *pictures;  /* owned, like the texts in it; by input: files of a program */
};

static enum emu_status no_network(void)
{
    return FAIL(USAGE, "the network is NULL");
}

/* ---- open ---- */

static enum emu_status check_use(const struct request *q)
{
    if (q->use & (THING_NETWORK | THING_ONNX))
        return EMU_OK;
    return FAIL(USAGE, "%s is %s; expected the name of a network, or FILE.onnx", q->what,
                use_name(q->use));
}

static enum emu_status get_program(struct network_run *r)
{
    network_run_init(r);
    if (network_run_find(r))
        return EMU_OK;
    TRY(system_build(&r->system));
    if (!system_fits(&r->system))
        return called_unfit(system_need_bytes(&r->system), &r->arch);
    TRY(system_bill_layers(&r->system));
    network_run_keep(r);
    return EMU_OK;
}

/* What inputs are, after their numbers have changed; and outputs. */
static void say_meanings(struct ss_network *n)
{
    const struct network_run *r = &n->run;
    const struct op_graph *g = r->source.graph;
    const struct model_facts f = model_source_facts(&r->source);

    for (uint32_t k = 0; k < g->inputs; k++)
        snprintf(n->meaning[k], MEANING_TEXT, "%s%s", *r->in[k].recipe ? "pictures: " : "",
                 *r->in[k].recipe                                     ? r->in[k].recipe
                 : model_input_pictures(&g->value[g->input[k]].shape) ? "may be pictures"
                                                                      : "");
    if (g->outputs && f.classes)
        snprintf(n->meaning[g->inputs], MEANING_TEXT, "scores of %u classes", f.classes);
}

static enum emu_status open_run(struct ss_network *n, const struct request *q)
{
    struct network_run *r = &n->run;

    TRY(check_use(q));
    TRY(network_run_open(r, q));
    TRY(network_run_prepare(r));
    TRY(network_run_inputs(r));
    TRY(get_program(r));
    n->not_finite = r->source.not_finite.rows;
    n->meaning =
        emu_alloc(r->source.graph->inputs + r->source.graph->outputs + 1, sizeof(*n->meaning));
    n->pictures = emu_alloc(r->source.graph->inputs + 1, sizeof(*n->pictures));
    if (!n->meaning || !n->pictures)
        return FAIL(NO_MEMORY, "a network");
    say_meanings(n);
    return EMU_OK;
}

enum emu_status ss_network_open(const char *what, const char *const *words, size_t count,
                                const struct ss_listener *listener, struct ss_network **out)
{
    struct ss_network *n = emu_alloc(1, sizeof(*n));
    enum emu_status s;

    *out = NULL;
    if (!n)
        return FAIL(NO_MEMORY, "a network");
    s = called_begin(&n->called, command_find(front_commands, "run"), what, words, count, listener);
    if (s == EMU_OK)
        s = open_run(n, called_request(&n->called));
    if (s == EMU_OK)
        *out = n;
    else
        ss_network_close(n);
    return s;
}

static void forget_pictures(struct option_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        ss_free((char *)(uintptr_t)l->item[i]);
    ss_free(l->item);
    *l = (struct option_list){ NULL, 0 };
}

void ss_network_close(struct ss_network *n)
{
    if (!n)
        return;
    for (uint32_t k = 0; n->pictures && k < ss_network_inputs(n); k++)
        forget_pictures(&n->pictures[k]);
    ss_free(n->pictures);
    network_run_free(&n->run);
    called_end(&n->called);
    ss_free(n->profile);
    ss_free(n->meaning);
    ss_free(n);
}

/* ---- numbers ---- */

uint32_t ss_network_inputs(const struct ss_network *n)
{
    return n ? n->run.source.graph->inputs : 0;
}

uint32_t ss_network_outputs(const struct ss_network *n)
{
    return n ? n->run.source.graph->outputs : 0;
}

enum emu_status ss_network_input(const struct ss_network *n, uint32_t i, struct ss_value *out)
{
    if (!n)
        return no_network();
    if (i >= ss_network_inputs(n))
        return FAIL(USAGE, "input %u of %u", i, ss_network_inputs(n));
    *out = called_value(n->run.source.graph, n->run.source.graph->input[i], n->meaning[i]);
    return EMU_OK;
}

enum emu_status ss_network_output(const struct ss_network *n, uint32_t i, struct ss_value *out)
{
    if (!n)
        return no_network();
    if (i >= ss_network_outputs(n))
        return FAIL(USAGE, "output %u of %u", i, ss_network_outputs(n));
    *out = called_value(n->run.source.graph, n->run.source.graph->output[i],
                        n->meaning[ss_network_inputs(n) + i]);
    return EMU_OK;
}

/* Numbers that a program gives, of a type that holds them, as those of an input. */
static enum emu_status begin_write(struct ss_network *n, const char *input, size_t count,
                                   enum op_type type, uint32_t *k, struct op_tensor *t)
{
    const struct op_graph *g;
    struct op_shape shape;

    if (!n)
        return no_network();
    g = n->run.source.graph;
    TRY(called_find(g, g->input, g->inputs, "input", input, k));
    shape = g->value[g->input[*k]].shape;
    TRY(called_count(input, op_shape_count(&shape), count));
    shape.type = type;
    return op_tensor_new(&shape, t);
}

static enum emu_status end_write(struct ss_network *n, uint32_t k, const char *from,
                                 struct op_tensor *t)
{
    const struct op_graph *g = n->run.source.graph;
    struct model_input *in = &n->run.in[k];
    enum emu_status s = model_input_take(g, g->input[k], from, t);

    if (s != EMU_OK) {
        op_tensor_free(t);
        return s;
    }
    model_input_free(in);
    forget_pictures(&n->pictures[k]);
    *in = (struct model_input){ .numbers = *t };
    snprintf(in->text, sizeof(in->text), "%s", from);
    say_meanings(n);
    return EMU_OK;
}

/* Whether each number is an integer that an i64 holds. */
static enum emu_status to_integers(const char *input, const float *numbers, size_t count,
                                   int64_t *to)
{
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(numbers[i]) < 0x1p63f) || truncf(numbers[i]) != numbers[i])
            return FAIL(BAD_FILE, "number %zu is %g, for input %s, which has integers", i,
                        (double)numbers[i], input);
        to[i] = (int64_t)numbers[i];
    }
    return EMU_OK;
}

enum emu_status ss_network_write(struct ss_network *n, const char *input, const float *numbers,
                                 size_t count)
{
    struct op_tensor t;
    enum emu_status s;
    uint32_t k;

    TRY(begin_write(n, input, count, OP_TYPE_F32, &k, &t));
    if (op_type_kind(n->run.in[k].numbers.shape.type) != OP_KIND_FLOAT) {
        op_tensor_free(&t);
        TRY(begin_write(n, input, count, OP_TYPE_I64, &k, &t));
        s = to_integers(input, numbers, count, t.i);
        if (s != EMU_OK) {
            op_tensor_free(&t);
            return s;
        }
    } else {
        for (size_t i = 0; i < count; i++)
            t.f[i] = (double)numbers[i];
    }
    return end_write(n, k, "numbers of the program", &t);
}

enum emu_status ss_network_write_integers(struct ss_network *n, const char *input,
                                          const int64_t *numbers, size_t count)
{
    struct op_tensor t;
    uint32_t k;

    TRY(begin_write(n, input, count, OP_TYPE_I64, &k, &t));
    memcpy(t.i, numbers, count * sizeof(*t.i));
    return end_write(n, k, "numbers of the program", &t);
}

/* Copies of the names, which reports of later runs have. */
static enum emu_status copy_names(const char *const *files, size_t count, struct option_list *out)
{
    *out = (struct option_list){ emu_alloc(count + 1, sizeof(*out->item)), 0 };
    if (!out->item)
        return FAIL(NO_MEMORY, "pictures");
    for (; out->count < count; out->count++) {
        const char *name = files[out->count];

        if (!name)
            return FAIL(USAGE, "the name of picture %zu is NULL", out->count);
        out->item[out->count] = emu_strdup(name);
        if (!out->item[out->count])
            return FAIL(NO_MEMORY, "%s", name);
    }
    return count ? EMU_OK : FAIL(USAGE, "no pictures");
}

enum emu_status ss_network_write_pictures(struct ss_network *n, const char *input,
                                          const char *const *files, size_t count)
{
    struct network_run *r;
    const struct op_graph *g;
    struct option_list names;
    enum emu_status s;
    uint32_t k;

    if (!n)
        return no_network();
    r = &n->run;
    g = r->source.graph;
    TRY(called_find(g, g->input, g->inputs, "input", input, &k));
    s = copy_names(files, count, &names);
    if (s == EMU_OK)
        s = model_input_read_pictures(r->q, g, g->input[k], r->source.net ? &r->recipe : NULL,
                                      &names, &r->in[k]);
    if (s != EMU_OK) {
        forget_pictures(&names);
        return s;
    }
    forget_pictures(&n->pictures[k]);
    n->pictures[k] = names;
    say_meanings(n);
    return EMU_OK;
}

static enum emu_status find_result(const struct ss_network *n, const char *output, size_t count,
                                   const struct op_tensor **out)
{
    const struct op_graph *g;
    uint32_t k;

    if (!n)
        return no_network();
    g = n->run.source.graph;
    TRY(called_find(g, g->output, g->outputs, "output", output, &k));
    TRY(called_count(output, op_shape_count(&g->value[g->output[k]].shape), count));
    *out = &n->run.out[k];
    if (!n->ran)
        return FAIL(USAGE, "%s: the network has not run", output);
    return (*out)->any ? EMU_OK : FAIL(USAGE, "%s: --engine timing has no values", output);
}

enum emu_status ss_network_read(const struct ss_network *n, const char *output, float *numbers,
                                size_t count)
{
    const struct op_tensor *t;

    TRY(find_result(n, output, count, &t));
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)op_tensor_number(t, i);
    return EMU_OK;
}

enum emu_status ss_network_read_integers(const struct ss_network *n, const char *output,
                                         int64_t *numbers, size_t count)
{
    const struct op_tensor *t;

    TRY(find_result(n, output, count, &t));
    for (size_t i = 0; i < count; i++)
        numbers[i] = op_type_kind(t->shape.type) != OP_KIND_FLOAT ? t->i[i]
                     : fabs(t->f[i]) < 0x1p63                     ? (int64_t)t->f[i]
                                                                  : INT64_MIN;
    return EMU_OK;
}

/* ---- a run ---- */

static enum emu_status read_results(struct network_run *r)
{
    if (ss_run_has_values(system_machine(&r->system))) {
        TRY(network_run_outputs(r));
        network_run_look(r);
    }
    return network_run_bill(r);
}

static enum emu_status run_once(struct ss_network *n, struct model_files *files)
{
    struct network_run *r = &n->run;
    int found;

    TRY(network_run_start(r, NULL));
    TRY(network_run_execute(r));
    network_run_tell(r);
    found = request_findings(r->q, system_machine(&r->system), 0);
    TRY(read_results(r));
    ss_run_engine_text(system_machine(&r->system), n->engine);
    n->ran = 1;
    TRY(network_run_profile(r, &files->profile));
    return found ? FAIL(FAULT, "--check has findings, which a listener hears") : EMU_OK;
}

enum emu_status ss_network_run(struct ss_network *n)
{
    struct model_files files;
    enum emu_status s;

    if (!n)
        return no_network();
    n->ran = 0;
    n->run.source.not_finite.rows = n->not_finite;
    network_run_look_at_inputs(&n->run);
    s = model_files_open(n->run.q, n->run.source.graph, &files);
    if (s == EMU_OK)
        s = run_once(n, &files);
    model_files_close(&files);
    return s;
}

/* ---- what it cost ---- */

static uint64_t cycles_of(const struct ss_network *n)
{
    const struct model_answer a = network_run_answer(&n->run);

    return model_cycles(&a);
}

uint64_t ss_network_cycles(const struct ss_network *n)
{
    return n && n->ran ? cycles_of(n) : 0;
}

double ss_network_seconds(const struct ss_network *n)
{
    struct model_answer a;

    if (!n || !n->ran)
        return 0;
    a = network_run_answer(&n->run);
    return model_seconds(&a);
}

const char *ss_network_engine(const struct ss_network *n)
{
    return n && n->ran ? n->engine : "";
}

enum emu_status ss_network_memory(const struct ss_network *n, struct ss_memory *out)
{
    return n ? called_memory(&n->run.system.memory, &n->run.arch, out) : no_network();
}

enum emu_status ss_network_tile_bytes(const struct ss_network *n, uint64_t *bytes, size_t tiles)
{
    return n ? called_tile_bytes(&n->run.system.memory, &n->run.arch, bytes, tiles) : no_network();
}

uint32_t ss_network_layers(const struct ss_network *n)
{
    return n ? n->run.system.layers.rows : 0;
}

enum emu_status ss_network_layer(const struct ss_network *n, uint32_t i, struct ss_layer *out)
{
    const struct layer_bill *b;
    const struct layer_text *t;

    if (!n)
        return no_network();
    if (i >= ss_network_layers(n))
        return FAIL(USAGE, "layer %u of %u", i, ss_network_layers(n));
    b = &n->run.system.layers.row[i];
    t = &n->run.system.layers.text[i];
    *out = (struct ss_layer){ t->name,           t->block,      t->op,
                              b->cycles,         b->compute,    b->exchange,
                              b->sync,           b->imbalance,  b->supersteps,
                              b->macs,           b->bound,      b->predicted,
                              b->max_tile_bytes, b->held_bytes, b->held_tile_bytes };
    return EMU_OK;
}

enum emu_status ss_network_json(const struct ss_network *n, char **text)
{
    struct model_answer a;
    char *printed = NULL;
    size_t bytes;
    json_t *o;
    FILE *f;

    *text = NULL;
    if (!n)
        return no_network();
    a = network_run_answer(&n->run);
    if (!n->ran)
        a.run = NULL;
    o = model_report_json(&a);
    f = open_memstream(&printed, &bytes);
    if (o && f)
        ss_run_print_json(o, f);
    json_decref(o);
    if (f && !fclose(f) && o)
        *text = emu_strdup(printed);
    free(printed); /* allocated by open_memstream() */
    return *text ? EMU_OK : FAIL(NO_MEMORY, "the answer");
}

enum emu_status ss_network_profile(struct ss_network *n, const char *file)
{
    struct request *q;
    char *copy = NULL;

    if (!n)
        return no_network();
    q = called_request(&n->called);
    if (file && !(copy = emu_strdup(file)))
        return FAIL(NO_MEMORY, "%s", file);
    ss_free(n->profile);
    n->profile = copy;
    q->value[OPTION_TEXT_profile].text = copy;
    q->given[OPTION_profile] = copy != NULL;
    return EMU_OK;
}
