/* compare_graph.c - all groups of a graph against the reference, in as many runs as it takes. */
#include "models/run/compare_graph.h"

#include "emu/base/progress.h"
#include "models/bound/compare_groups.h"
#include "models/system/system.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(FLAG, quiet)
OPTION_READ(FLAG, json)

enum { HALVINGS = 3 };

struct graph_comparer { /* all borrowed */
    const struct request *q;
    const struct arch *a;
    const char *cut;
    const struct op_graph *g;
    const struct op_program_options *o;
    const struct op_tensor *in;
    const struct node_groups *groups;
    struct group_comparison *sum;
    struct progress progress;
    int code;
};

static uint64_t result_size(const struct graph_comparer *c, uint32_t group)
{
    return op_shape_count(&c->g->value[node_group_result(c->g, &c->groups->at[group])].shape);
}

/* Of a whole graph: the group before which half of the results of groups [begin, end) lie, by size.
 */
static uint32_t middle_of(const struct graph_comparer *c, uint32_t begin, uint32_t end)
{
    uint64_t all = 0, half = 0;
    uint32_t i = begin;

    for (uint32_t k = begin; k < end; k++)
        all += result_size(c, k);
    while (i + 1 < end && 2 * half < all)
        half += result_size(c, i++);
    return i > begin ? i : begin + 1;
}

/* The stages' programs, or the only one. */
static const struct op_program *programs_of(const struct system *s, uint32_t *count)
{
    *count = s->stages.count ? s->stages.count : 1;
    return s->stages.count ? s->stages.program : &s->program;
}

/* Of the program that has most. */
static uint32_t groups_of(const struct system *s)
{
    uint32_t count, most = 0;
    const struct op_program *p = programs_of(s, &count);

    for (uint32_t k = 0; k < count; k++)
        most = p[k].network->groups.count > most ? p[k].network->groups.count : most;
    return most;
}

static enum emu_status run_and_compare(struct graph_comparer *c, struct system *s,
                                       const struct lower_options *o)
{
    const struct session_options options = session_options_of(c->q);
    uint32_t count;
    const struct op_program *p = programs_of(s, &count);

    TRY(system_start(s, &options));
    for (uint32_t k = 0; k < c->g->inputs; k++)
        TRY(system_write(s, c->g->input[k], &c->in[k]));
    TRY(system_run(s));
    progress_report(&c->progress, "execute", "%s cycles",
                    count_text(ss_session_cycles(s->session)).at);
    for (uint32_t k = 0; k < count; k++)
        TRY(compare_groups(&p[k], s->session, o, c->sum));
    progress_report(&c->progress, "compare", "groups %u to %u of %u%s", o->keep_begin + 1,
                    o->keep_end < groups_of(s) ? o->keep_end : groups_of(s), groups_of(s),
                    count > 1 ? " of each stage" : "");
    return EMU_OK;
}

static enum emu_status compare_part(struct graph_comparer *c, uint32_t begin, uint32_t end,
                                    unsigned halvings)
{
    struct system_options o = { .program = *c->o,
                                .folder = "",
                                .progress = &c->progress,
                                .chips = c->a->chips,
                                .cut = c->cut };
    uint32_t middle = c->a->chips > 1 ? begin + (end - begin + 1) / 2 : middle_of(c, begin, end);
    struct system system;
    enum emu_status s;
    int fits;

    o.program.lower.keep_begin = begin;
    o.program.lower.keep_end = end;
    system_init(&system, c->a, c->g, &o);
    s = system_build(&system);
    fits = s == EMU_OK && system_fits(&system);
    if (fits)
        s = run_and_compare(c, &system, &o.program.lower);
    else if (s == EMU_OK && (middle >= end || !halvings))
        s = program_out_of_memory(c->q, system_compiled(&system), stdout, &c->code);
    system_free(&system);
    if (fits || s != EMU_OK || middle >= end || !halvings)
        return s;
    TRY(compare_part(c, begin, middle, halvings - 1));
    return c->code == EXIT_RAN ? compare_part(c, middle, end, halvings - 1) : EMU_OK;
}

enum emu_status compare_graph(const struct request *q, const struct arch *a, const char *cut,
                              const struct op_graph *g, const struct op_program_options *o,
                              const struct op_tensor *in, int *code)
{
    struct group_comparison sum = { .f = stdout, .rows = option_json(q) ? json_array() : NULL };
    struct graph_comparer c = { .q = q, .a = a, .cut = cut, .g = g, .o = o, .in = in, .sum = &sum };
    struct node_groups groups;
    enum emu_status s;

    if (option_json(q) && !sum.rows)
        return FAIL(NO_MEMORY, "the answer");
    c.groups = &groups;
    c.progress = progress_begin(option_quiet(q) ? NULL : stderr);
    c.code = EXIT_RAN;
    s = node_groups_of(g, o->lower.real, &groups);
    if (s == EMU_OK) {
        compare_groups_begin(&sum);
        s = compare_part(&c, 0, groups.count, HALVINGS);
        if (s == EMU_OK && c.code == EXIT_RAN)
            s = compare_groups_end(&sum);
        node_groups_free(&groups);
    }
    json_decref(sum.rows);
    *code = c.code;
    if (s != EMU_FAULT)
        return s;
    request_failed(q, NULL);
    *code = EXIT_FAULTED;
    return EMU_OK;
}
