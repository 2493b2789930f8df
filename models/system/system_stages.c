/* system_stages.c - a network as programs of several chips (see system_stages.h). */
#include "models/system/system_stages.h"

#include <stdio.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/answer/op_bill.h"

enum { NAME_BYTES = 700 };

/* ---- names ---- */

/* Keeps a name; NULL: out of memory. */
static const char *keep_name(struct system_stages *s, const char *name)
{
    char *copy = emu_strdup(name);

    if (copy)
        s->name[s->names++] = copy;
    return copy;
}

static const char *channel_name(struct system_stages *s, const struct op_graph *g,
                                const struct split_edge *e)
{
    char name[NAME_BYTES];

    snprintf(name, sizeof(name), "%.600s from stage %u to %u", g->value[e->value].name, e->from,
             e->to);
    return keep_name(s, name);
}

static int is_read_before(const struct split *split, unsigned stage, uint32_t value)
{
    for (unsigned k = 0; k < stage; k++) {
        if (split->stage[k].own[value] != OP_NONE)
            return 1;
    }
    return 0;
}

/* In the image an input of the host has a name for each stage that reads it. */
static enum emu_status name_inputs(struct system_stages *s, const struct op_graph *g,
                                   unsigned stage)
{
    const struct split_stage *at = &s->split.stage[stage];

    for (uint32_t k = 0; k < g->inputs; k++) {
        uint32_t own = at->own[g->input[k]];
        char name[NAME_BYTES];

        if (own == OP_NONE || !is_read_before(&s->split, stage, g->input[k]))
            continue;
        snprintf(name, sizeof(name), "%.600s of stage %u", g->value[g->input[k]].name, stage);
        at->graph->value[own].name = keep_name(s, name);
        if (!at->graph->value[own].name)
            return FAIL(NO_MEMORY, "inputs of stage %u", stage);
    }
    return EMU_OK;
}

/* ---- places ---- */

/* Outputs of a stage that are the whole graph's: the first ones. */
static uint32_t host_outputs(const struct op_graph *g, const struct split_stage *at)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < at->graph->outputs; i++) {
        for (uint32_t k = 0; k < g->outputs; k++)
            n += at->whole[at->graph->output[i]] == g->output[k];
    }
    return n;
}

/* The edges that begin or end at a stage. *next: where they go. */
static enum emu_status place_stage(struct system_stages *s, const struct op_graph *g,
                                   const struct lower_options *o, unsigned stage,
                                   struct lower_edge **next)
{
    struct lower_stage *place = &s->at[stage].place;

    *place = (struct lower_stage){ .number = stage, .stages = s->count, .edge = *next };
    for (uint32_t k = 0; k < s->split.edges; k++) {
        const struct split_edge *e = &s->split.edge[k];

        if (e->from != stage && e->to != stage)
            continue;
        *(*next)++ = (struct lower_edge){
            .value = e->from == stage ? e->made : e->read,
            .from = e->from,
            .to = e->to,
            .channel = s->name[k],
            .elem = op_input_elem(s->split.stage[e->to].graph, o, e->read),
        };
        place->edges++;
    }
    place->results = host_outputs(g, &s->split.stage[stage]);
    return name_inputs(s, g, stage);
}

static enum emu_status place_stages(struct system_stages *s, const struct op_graph *g,
                                    const struct lower_options *o)
{
    struct lower_edge *next;

    s->at = emu_alloc(s->count, sizeof(*s->at));
    s->program = emu_alloc(s->count, sizeof(*s->program));
    s->edge = next = emu_alloc(2 * (size_t)s->split.edges + 1, sizeof(*s->edge));
    s->name = emu_alloc(s->split.edges + (size_t)s->count * g->inputs + 1, sizeof(char *));
    if (!s->at || !s->program || !s->edge || !s->name)
        return FAIL(NO_MEMORY, "%u stages", s->count);
    for (uint32_t k = 0; k < s->split.edges; k++) { /* edge k has name k */
        if (!channel_name(s, g, &s->split.edge[k]))
            return FAIL(NO_MEMORY, "%u edges", s->split.edges);
    }
    for (unsigned k = 0; k < s->count; k++)
        TRY(place_stage(s, g, o, k, &next));
    return EMU_OK;
}

/* ---- all ---- */

static enum emu_status compile_stages(const struct arch *a, const struct op_program_options *o,
                                      struct system_stages *s)
{
    const struct op_graph **graph = emu_alloc(s->count, sizeof(struct op_graph *));
    struct lower_stage *place = emu_alloc(s->count, sizeof(*place));
    enum emu_status st = graph && place ? EMU_OK : FAIL(NO_MEMORY, "%u stages", s->count);

    for (unsigned k = 0; st == EMU_OK && k < s->count; k++) {
        graph[k] = s->split.stage[k].graph;
        place[k] = s->at[k].place;
    }
    if (st == EMU_OK)
        st = op_programs_new(a, graph, place, s->count, o, s->program);
    for (unsigned k = 0; st == EMU_OK && k < s->count; k++)
        st = system_ends_of(s->program[k].network, s->program[k].graph, &s->at[k].ends);
    ss_free(graph);
    ss_free(place);
    return st;
}

enum emu_status system_stages_new(const struct arch *a, const struct op_graph *g, const char *cut,
                                  unsigned stages, const struct op_program_options *o,
                                  struct system_stages *out)
{
    memset(out, 0, sizeof(*out));
    if (cut) {
        out->cut = emu_strdup(cut);
        if (!out->cut)
            return FAIL(NO_MEMORY, "stages");
    } else {
        TRY(split_auto(g, stages, &out->cut));
    }
    TRY(split_graph(g, out->cut, &out->split));
    out->count = out->split.stages;
    TRY(place_stages(out, g, &o->lower));
    return compile_stages(a, o, out);
}

void system_stages_free(struct system_stages *s)
{
    if (s->program)
        op_programs_free(s->program, s->count);
    for (unsigned k = 0; s->at && k < s->count; k++) {
        system_ends_free(&s->at[k].ends);
        layer_cycles_free(&s->at[k].layers);
    }
    for (size_t k = 0; k < s->names; k++)
        ss_free(s->name[k]);
    split_free(&s->split);
    ss_free(s->program);
    ss_free(s->at);
    ss_free(s->edge);
    ss_free(s->name);
    ss_free(s->cut);
    memset(s, 0, sizeof(*s));
}

enum emu_status system_stages_describe(struct system_stages *s)
{
    for (unsigned k = 0; k < s->count; k++) {
        TRY(op_program_describe(&s->program[k]));
        TRY(op_program_describe_states(&s->program[k]));
    }
    return EMU_OK;
}

enum emu_status system_stages_bill(struct system_stages *s, const struct arch *a,
                                   const struct run *r, struct layer_cycles *all)
{
    struct layer_cycles *part = emu_alloc(s->count, sizeof(*part));
    enum emu_status st = part ? EMU_OK : FAIL(NO_MEMORY, "%u stages", s->count);

    for (unsigned k = 0; st == EMU_OK && k < s->count; k++) {
        struct layer_cycles *layers = &s->at[k].layers;

        if (!layers->row)
            st = op_bill_init(s->program[k].network, s->program[k].compiled, a, layers);
        else
            layer_cycles_clear(layers);
        if (st == EMU_OK && r)
            st = layer_cycles_bill_chip(layers, r, k);
        part[k] = *layers;
    }
    layer_cycles_free(all);
    if (st == EMU_OK)
        st = layer_cycles_join(part, s->count, all);
    ss_free(part);
    return st;
}

uint64_t system_stage_sends(const struct system_stages *s, unsigned stage)
{
    const struct lower_stage *place = &s->at[stage].place;
    uint64_t bytes = 0;

    for (uint32_t k = 0; k < place->edges; k++) {
        const struct lower_edge *e = &place->edge[k];

        if (e->from == stage)
            bytes += ss_elem_bytes(e->elem) *
                     op_shape_count(&s->split.stage[stage].graph->value[e->value].shape);
    }
    return bytes;
}

int system_stages_find(const struct system_stages *s, unsigned stage, uint32_t value,
                       struct system_place *out)
{
    const struct op_graph *g = s->split.stage[stage].graph;
    uint32_t own = s->split.stage[stage].own[value];

    if (own == OP_NONE)
        return 0;
    out->name = g->value[own].name;
    if (g->value[own].kind == OP_INPUT || g->value[own].kind == OP_STATE)
        out->end = &s->at[stage].ends.in[op_graph_input_index(g, own)];
    else
        out->end = &s->at[stage].ends.out[op_graph_output_index(g, own)];
    return 1;
}
