/* program_step.c - steps through a compiled program: what its supersteps are called. */
#include "emu/cli/step_session.h"
#include "programs/cli/program_request.h"

/* Names by superstep; a step that computes comes before one that only exchanges. */
struct superstep_names {
    const char **name; /* owned list of borrowed texts */
    size_t count;
};

static const char *name_of(void *ctx, uint64_t superstep)
{
    const struct superstep_names *n = ctx;

    return superstep < n->count ? n->name[superstep] : NULL;
}

static enum emu_status read_names(const struct compiled *c, struct trace_step **trace,
                                  struct superstep_names *out)
{
    size_t steps;

    TRY(ss_compiled_trace(c, trace, &steps));
    out->count = steps ? (size_t)(*trace)[steps - 1].superstep + 1 : 0;
    out->name = emu_alloc(out->count + 1, sizeof(*out->name));
    if (!out->name)
        return FAIL(NO_MEMORY, "names of %zu supersteps", out->count);
    for (size_t i = steps; i--;) {
        const struct trace_step *t = &(*trace)[i];

        if (t->kind == TRACE_COMPUTE || !out->name[t->superstep])
            out->name[t->superstep] = t->name;
    }
    return EMU_OK;
}

enum emu_status program_step(const struct request *q, const struct compiled *c, struct session *s,
                             int *code)
{
    struct superstep_names names = { .name = NULL };
    const struct step_names n = { &names, name_of };
    struct trace_step *trace = NULL;
    enum emu_status st = read_names(c, &trace, &names);

    if (st == EMU_OK || st == EMU_USAGE) /* where the order depends on data, there are none */
        st = step_session(q, ss_session_run_image(s), st == EMU_OK ? &n : NULL, code);
    ss_free(names.name);
    ss_free(trace);
    return st;
}
