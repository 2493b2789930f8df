/* host_view.c - which tensors the host may write before a run and read after it. */
#include "programs/compiler/graph/host_view.h"

struct host_view {
    const struct graph *g;
    int write;
};

static enum emu_status check_run(void *ctx, const struct view_run *run)
{
    const struct host_view *h = ctx;
    const struct variable *v = &h->g->variable.at[run->var];

    if (v->constant && h->write)
        return FAIL(USAGE, "variable %s is a constant, the host cannot write it", v->name);
    if (!variable_stays(v) && !(v->input && h->write))
        return FAIL(USAGE,
                    "variable %s is neither kept nor initialised: outside a run it has no value%s",
                    v->name, v->input ? " to be read" : "");
    return EMU_OK;
}

enum emu_status graph_host_view(const struct graph *g, struct tensor t, int write)
{
    struct host_view h = { g, write };

    if (t.view >= g->view.count)
        return FAIL(USAGE, "no such tensor");
    return view_runs(g, t.view, 0, g->view.at[t.view].elements, check_run, &h);
}
