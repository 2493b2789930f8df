/* program_step.c - steps through a compiled program: what its supersteps are called. */
#include "emu/cli/step_session.h"
#include "programs/cli/program_request.h"

/* Names by superstep of a chip; a step that computes comes before one that only exchanges. */
struct superstep_names {
    const char **name; /* owned list of borrowed texts; NULL where the order depends on data */
    size_t count;
    struct trace_step *trace; /* owned */
};

/* Those of the chips of a replica. */
struct chip_names {
    struct superstep_names *of; /* owned */
    unsigned chips;
};

static const char *name_of(void *ctx, uint32_t chip, uint64_t superstep)
{
    const struct chip_names *c = ctx;
    const struct superstep_names *n = &c->of[chip % c->chips];

    return superstep < n->count ? n->name[superstep] : NULL;
}

static enum emu_status read_names(const struct compiled *c, struct superstep_names *out)
{
    size_t steps;

    TRY(ss_compiled_trace(c, &out->trace, &steps));
    out->count = steps ? (size_t)out->trace[steps - 1].superstep + 1 : 0;
    out->name = emu_alloc(out->count + 1, sizeof(*out->name));
    if (!out->name)
        return FAIL(NO_MEMORY, "names of %zu supersteps", out->count);
    for (size_t i = steps; i--;) {
        const struct trace_step *t = &out->trace[i];

        if (t->kind == TRACE_COMPUTE || !out->name[t->superstep])
            out->name[t->superstep] = t->name;
    }
    return EMU_OK;
}

/* *known: how many chips have names. */
static enum emu_status read_all_names(const struct compiled *c, struct chip_names *out,
                                      unsigned *known)
{
    out->of = emu_alloc(out->chips, sizeof(*out->of));
    if (!out->of)
        return FAIL(NO_MEMORY, "names of %u chips", out->chips);
    for (unsigned k = 0; k < out->chips; k++) {
        enum emu_status s = read_names(ss_compiled_chip(c, k), &out->of[k]);

        if (s != EMU_OK && s != EMU_USAGE)
            return s;
        *known += s == EMU_OK;
    }
    return EMU_OK;
}

enum emu_status program_step(const struct request *q, const struct compiled *c, struct session *s,
                             int *code)
{
    struct chip_names names = { NULL, ss_compiled_chips(c) };
    const struct step_names n = { &names, name_of };
    unsigned known = 0;
    enum emu_status st = read_all_names(c, &names, &known);

    if (st == EMU_OK)
        st = step_session(q, ss_session_run_image(s), known ? &n : NULL, code);
    for (unsigned k = 0; names.of && k < names.chips; k++) {
        ss_free(names.of[k].name);
        ss_free(names.of[k].trace);
    }
    ss_free(names.of);
    return st;
}
