/* validate_network.c - layers of which the vendor published cycles, and the largest batches of
 * networks that fit one chip. */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "emu/arch/arch.h"
#include "models/ask/model_request.h"
#include "models/net/net.h"
#include "models/pass/op_pass.h"
#include "models/system/system.h"
#include "models/validate/validate.h"
#include "models/weights/weights.h"
#include "programs/cli/program_request.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, threads)
OPTION_READ(FLAG, all)

static enum emu_status skip_long(const struct validation *v, struct outcome *o, const char *takes)
{
    if (!option_all(v->q))
        snprintf(o->skipped, sizeof(o->skipped), "takes %s: --all", takes);
    return EMU_OK;
}

/* ---- layers: the lab's program `conv` ---- */

static const struct named_program *const *const lab_table[] = { ss_lab_programs, NULL };

static uint64_t param_index(const struct named_program *p, const char *name)
{
    for (unsigned k = 0; k < p->params; k++) {
        if (!strcmp(p->param[k].name, name))
            return k;
    }
    EMU_ASSERT(!"the program has no such parameter");
    return 0;
}

/* Runs a layer and adds its cycles, and those of the vendor's model for its three passes. */
static enum emu_status run_session_of(const struct named_program *p, struct session *s, void *state,
                                      double sum[2])
{
    json_t *answer = json_object();
    enum emu_status st = answer ? p->before(s, state) : FAIL(NO_MEMORY, "an answer");

    if (st == EMU_OK)
        st = ss_session_run(s);
    if (st == EMU_OK)
        st = p->after(s, state, answer);
    if (st == EMU_OK) {
        const json_t *published = json_object_get(answer, "published");

        sum[0] += (double)ss_session_cycles(s);
        sum[1] += json_number_value(json_object_get(published, "three_passes_cycles"));
    }
    json_decref(answer);
    return st;
}

static enum emu_status run_graph(const struct validation *v, const struct named_program *p,
                                 struct graph *g, const uint64_t *value, double sum[2])
{
    const struct compile_options how = { .threads = (unsigned)option_threads(v->q) };
    const struct session_options o = { .threads = (unsigned)option_threads(v->q) };
    struct compiled *c = NULL;
    struct session *s = NULL;
    void *state = NULL;
    enum emu_status st = p->build(g, value, &state);

    if (st == EMU_OK)
        st = ss_graph_compile(g, &how, &c);
    if (st == EMU_OK)
        st = ss_session_new(c, &o, &s);
    if (st == EMU_OK)
        st = run_session_of(p, s, state, sum);
    ss_session_free(s);
    ss_compiled_free(c);
    if (state)
        p->done(state);
    return st;
}

/* Runs every `each`-th layer and gives ours as a part of the three passes, in percent. */
static enum emu_status run_layers(struct validation *v, unsigned each, struct outcome *o)
{
    const struct named_program *p = program_find("conv", lab_table);
    uint64_t value[PROGRAM_MAX_PARAMS], layer = param_index(p, "layer");
    double sum[2] = { 0, 0 };

    for (uint64_t i = 1; i <= p->param[layer].max; i += each) {
        struct graph *g = NULL;
        enum emu_status s;

        for (unsigned k = 0; k < p->params; k++)
            value[k] = p->param[k].value;
        value[layer] = i;
        value[param_index(p, "partials")] = 1; /* f32, as the vendor's */
        TRY(ss_graph_new(ss_arch_preset("mk2"), &ss_kernel_library, &g));
        s = run_graph(v, p, g, value, sum);
        ss_graph_free(g);
        TRY(s);
    }
    o->value = 100 * sum[0] / sum[1];
    return EMU_OK;
}

enum emu_status layers_some(struct validation *v, struct outcome *o)
{
    return run_layers(v, 5, o);
}

enum emu_status layers_all(struct validation *v, struct outcome *o)
{
    TRY(skip_long(v, o, "some minutes"));
    return o->skipped[0] ? EMU_OK : run_layers(v, 1, o);
}

/* ---- networks ---- */

static enum emu_status fits(const struct validation *v, const char *name, uint32_t batch, int *fit)
{
    const struct net_options shape = { .batch = batch };
    const struct system_options o = { .program = { .lower.real = ELEM_F16,
                                                   .compile.threads =
                                                       (unsigned)option_threads(v->q),
                                                   .give_up = 1 },
                                      .folder = "" };
    struct system system = { .graph = NULL };
    struct weights *w = NULL;
    struct net *n = NULL;
    enum emu_status s = net_new(name, &shape, &n);

    if (s == EMU_OK)
        s = weights_new(n, &w);
    if (s == EMU_OK) {
        weights_seed(w, n, 1);
        weights_attach(w, n);
        s = pass_all(n->graph);
    }
    if (s == EMU_OK) {
        system_init(&system, ss_arch_preset("mk2"), n->graph, &o);
        s = system_build(&system);
    }
    *fit = s == EMU_OK && system_fits(&system);
    system_free(&system);
    weights_free(w);
    net_free(n);
    return s;
}

/* Tries batches from `first` on, in steps that double until one does not fit and halve from there,
 * since each takes minutes. */
static enum emu_status largest_batch(struct validation *v, const char *name, uint32_t first,
                                     struct outcome *o)
{
    uint32_t most = first - 1, step = 1, too_many = 0;

    TRY(skip_long(v, o, "many minutes"));
    while (!o->skipped[0] && most + 1 != too_many) {
        uint32_t batch = too_many ? most + (too_many - most) / 2 : most + step;
        int fit;

        TRY(fits(v, name, batch, &fit));
        progress_report(&v->progress, "batch", "%s, %" PRIu32 " pictures: %s", name, batch,
                        fit ? "fits" : "does not fit");
        if (fit)
            most = batch;
        else
            too_many = batch;
        step *= 2;
    }
    o->value = most >= first ? most : 0;
    return EMU_OK;
}

enum emu_status batch_b4(struct validation *v, struct outcome *o)
{
    return largest_batch(v, "efficientnet-b4", 12, o);
}

enum emu_status batch_b4_g16(struct validation *v, struct outcome *o)
{
    return largest_batch(v, "efficientnet-b4-g16", 26, o);
}

enum emu_status training(struct validation *v, struct outcome *o)
{
    (void)v;
    snprintf(o->skipped, sizeof(o->skipped), "needs pipelines of chips, which are not built yet");
    return EMU_OK;
}
