/* net_program.c - plans, builds and compiles; again for less memory if the result does not fit. */
#include "emu/arch/arch.h"
#include "emu/base/fail.h"
#include "emu/base/progress.h"
#include "models/build/net_program.h"
#include "programs/compiler/report/count_text.h"

#include <string.h>

/* How often a network is planned at most, and the least reduction from one attempt to the next: one
 * RESERVE_STEPS-th of a tile's memory. */
enum { ATTEMPTS_MAX = 4, RESERVE_STEPS = 64 };

static enum emu_status add_loop(struct net_program *p, const struct prefetch_options *o)
{
    struct net_graph *ng = p->net_graph;
    struct program loop;

    TRY(op_prefetch(p->graph, o, ng->raw, ng->program, ng->scores, &loop, &p->prefetch));
    graph_set_program(p->graph, loop);
    return EMU_OK;
}

static enum emu_status build_once(const struct arch *a, const struct net *n,
                                  const struct weights *w, const struct net_program_options *o,
                                  struct net_program *p)
{
    struct progress progress = progress_begin(o->compile.progress);
    const struct conv_plans *plans;

    TRY(graph_new(a, &kernel_library, &p->graph));
    if (o->prefetch)
        TRY(prefetch_reserve(p->graph, o->prefetch));
    TRY(net_graph_build(p->graph, n, w, &o->net, &p->net_graph));
    if (o->prefetch)
        TRY(add_loop(p, o->prefetch));
    plans = &p->net_graph->plans;
    progress_report(&progress, "graph",
                    "%u layers on %s tiles; parameters of %u of %u convolutions fetched, %s bytes "
                    "a tile stay; expected: at most %s bytes",
                    n->layers, count_text(graph_compute_tiles(p->graph)).at, plans->fetched,
                    plans->convs, count_text(plans->resident_bytes).at,
                    count_text(plans->peak_bytes).at);
    if (o->give_up && !plans->fits && plans->peak_bytes >= NET_HOPELESS * (uint64_t)a->mem_bytes)
        return EMU_OK;
    return graph_compile(p->graph, &o->compile, &p->compiled);
}

static enum emu_status build_to_fit(const struct arch *a, const struct net *n,
                                    const struct weights *w, struct net_program_options o,
                                    struct net_program *p)
{
    for (unsigned attempt = 1;; attempt++) {
        struct progress progress;
        uint64_t need;

        TRY(build_once(a, n, w, &o, p));
        if (!p->compiled)
            return EMU_OK;
        need = compiled_need_bytes(p->compiled);
        if (need <= a->mem_bytes || !p->net_graph->plans.fits || attempt == ATTEMPTS_MAX)
            return EMU_OK;
        progress = progress_begin(o.compile.progress);
        progress_report(&progress, "again", "%s bytes more than there are: planned for less",
                        count_text(need - a->mem_bytes).at);
        o.net.reserve_bytes += need - a->mem_bytes + a->mem_bytes / RESERVE_STEPS;
        net_program_free(p);
    }
}

enum emu_status net_program_new(const struct arch *a, const struct net *n, const struct weights *w,
                                const struct net_program_options *o, struct net_program *out)
{
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    s = build_to_fit(a, n, w, *o, out);
    if (s != EMU_OK)
        net_program_free(out);
    return s;
}

void net_program_free(struct net_program *p)
{
    compiled_free(p->compiled);
    net_graph_free(p->net_graph);
    graph_free(p->graph);
    memset(p, 0, sizeof(*p));
}
