/* model_dump.c - prints a network after one of its stages: an operator graph, groups of its nodes,
 * plans, or the graph of tiles. */
#include "models/answer/model_dump.h"

#include <string.h>

#include "models/ask/model_request.h"
#include "models/operators/op_print.h"
#include "models/pass/op_pass.h"
#include "models/ask/model_source.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(TEXT, stage)

/* ---- after the passes ---- */

static void print_group(const struct op_graph *g, const struct node_group *group)
{
    static const char *const function[] = {
        [ACT_NONE] = "-", [ACT_RELU] = "relu", [ACT_SWISH] = "swish", [ACT_SIGMOID] = "sigmoid"
    };
    char text[GROUP_TEXT], shape[OP_SHAPE_TEXT];

    printf("%-32s  %-28s  %-24s  %-6s  %-8s  %s\n", g->node[group->node[0]].name,
           node_group_text(g, group, text),
           op_shape_text(&g->value[node_group_result(g, group)].shape, shape),
           group->real == ELEM_F32 ? "f32" : "f16", function[group->act],
           group->added == OP_NONE ? "-" : g->value[group->added].name);
}

static enum emu_status print_groups(const struct arch *a, const struct op_graph *g,
                                    const struct lower_options *o)
{
    struct node_groups groups;

    (void)a;
    TRY(node_groups_of(g, o->real, &groups));
    printf("%-32s  %-28s  %-24s  %-6s  %-8s  %s\n", "group", "operators", "result", "floats",
           "function", "added");
    for (uint32_t k = 0; k < groups.count; k++)
        print_group(g, &groups.at[k]);
    node_groups_free(&groups);
    return EMU_OK;
}

static void print_plans(const struct lowered_network *n)
{
    printf("%u convolutions, %u with parameters that are fetched; expected: %s cycles, at most %s "
           "bytes on a tile\n",
           n->plans.convs, n->plans.fetched, count_text(n->plans.cycles).at,
           count_text(n->plans.peak_bytes).at);
    printf("parts of pictures x rows x columns x output channels x input channels\n\n");
    printf("%-32s  %-10s  %-18s  %10s  %11s\n", "group", "method", "parts", "predicted",
           "temp. bytes");
    for (uint32_t k = 0; k < n->groups.count; k++) {
        const struct conv_plan *p = &n->group[k].plan;
        char parts[64];

        if (!p->cut_n)
            continue;
        snprintf(parts, sizeof(parts), "%ux%ux%ux%ux%u", p->cut_n, p->cut_h, p->cut_w, p->cut_out,
                 p->cut_in);
        printf("%-32s  %-10s  %-18s  %10s  %11s\n", n->graph->node[n->groups.at[k].node[0]].name,
               ss_conv_method_name(p->method), parts, count_text(p->cost.total).at,
               count_text(p->cost.tile_bytes).at);
    }
}

/* Nothing is compiled: what does not fit is found later, and planned again. */
static enum emu_status lower_and_print(const struct arch *a, const struct op_graph *og,
                                       const struct lower_options *o, int tiles)
{
    struct lowered_network *n = NULL;
    struct graph *g;
    enum emu_status s;

    TRY(ss_graph_new(a, &ss_kernel_library, &g));
    s = op_lower(g, og, o, &n);
    if (s == EMU_OK && tiles)
        ss_graph_dump(g, stdout);
    else if (s == EMU_OK)
        print_plans(n);
    op_lower_free(n);
    ss_graph_free(g);
    return s;
}

static enum emu_status plans(const struct arch *a, const struct op_graph *g,
                             const struct lower_options *o)
{
    return lower_and_print(a, g, o, 0);
}

static enum emu_status graph_of_tiles(const struct arch *a, const struct op_graph *g,
                                      const struct lower_options *o)
{
    return lower_and_print(a, g, o, 1);
}

/* ---- the stages ---- */

/* Those after the passes. */
static const struct later_stage {
    const char *name;
    enum emu_status (*print)(const struct arch *a, const struct op_graph *g,
                             const struct lower_options *o);
} later_stages[] = { { "groups", print_groups }, { "plans", plans }, { "tiles", graph_of_tiles } };

static enum emu_status refuse(const char *name)
{
    char list[256];
    size_t used = 0;

    for (unsigned k = 0; pass_stage(k); k++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s, ", pass_stage(k)->name);
    for (unsigned k = 0; k < EMU_COUNT_OF(later_stages); k++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", k ? ", " : "",
                                 later_stages[k].name);
    return FAIL(USAGE, "no stage '%s': %s", name, list);
}

/* The pass of the stage's name; or NULL, and *later is set. */
static enum emu_status find(const char *name, const char **pass, const struct later_stage **later)
{
    *pass = NULL;
    *later = NULL;
    for (unsigned k = 0; pass_stage(k); k++) {
        if (!strcmp(pass_stage(k)->name, name))
            *pass = pass_stage(k)->name;
    }
    for (unsigned k = 0; k < EMU_COUNT_OF(later_stages); k++) {
        if (!strcmp(later_stages[k].name, name))
            *later = &later_stages[k];
    }
    return *pass || *later ? EMU_OK : refuse(name);
}

static enum emu_status print_stage(const struct request *q, const char *pass,
                                   const struct later_stage *later, struct model_source *s)
{
    struct lower_options o;
    struct progress quiet = progress_begin(NULL);
    struct arch a;

    TRY(request_arch(q, "mk2", &a));
    TRY(model_source_read(q, s));
    o = network_lowering(&s->choice);
    s->choice.blank = !s->choice.weights;
    TRY(model_source_attach(s, &quiet));
    if (pass) {
        TRY(pass_until(s->graph, pass));
        op_graph_print(s->graph, stdout);
        return EMU_OK;
    }
    TRY(model_source_pass(s));
    TRY(model_source_check(s, &a));
    return later->print(&a, s->graph, &o);
}

enum emu_status model_dump(const struct request *q)
{
    const struct later_stage *later;
    struct model_source source;
    const char *pass;
    enum emu_status s;

    TRY(find(option_stage(q), &pass, &later));
    source = (struct model_source){ .net = NULL };
    s = print_stage(q, pass, later, &source);
    model_source_free(&source);
    return s;
}
