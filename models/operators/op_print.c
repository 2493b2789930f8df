/* op_print.c - an operator graph, and what of it cannot run, as tables for people. */
#include <inttypes.h>
#include <string.h>

#include "models/operators/op_print.h"

/* How a value is written among a node's inputs: by name, and with its shape if it is constant. */
static void print_input(const struct op_graph *g, uint32_t value, FILE *f)
{
    const struct op_value *v;
    char shape[OP_SHAPE_TEXT];

    if (value == OP_NONE) {
        fputs("-", f);
        return;
    }
    v = &g->value[value];
    fputs(v->name, f);
    if (op_value_constant_kind(v))
        fprintf(f, " %s", op_shape_text(&v->shape, shape));
}

static void print_list(const struct op_attr *a, FILE *f)
{
    fputs("[", f);
    for (uint32_t k = 0; k < a->count; k++) {
        if (k)
            fputs(", ", f);
        if (a->kind == OP_ATTR_INTS)
            fprintf(f, "%" PRId64, a->ints[k]);
        else if (a->kind == OP_ATTR_FLOATS)
            fprintf(f, "%g", a->floats[k]);
        else
            fputs(a->texts[k], f);
    }
    fputs("]", f);
}

/* The attributes that differ from their defaults. */
static void print_attrs(const struct op_graph *g, const struct op_node *n, FILE *f)
{
    struct op_attr_spec spec;

    for (unsigned k = 0; op_row_attr(n->row, k, &spec); k++) {
        const struct op_attr *a = &n->attr[k];

        if (op_attr_is_preset(a, &spec.preset))
            continue;
        fprintf(f, " %s=", spec.name);
        if (a->kind == OP_ATTR_INT)
            fprintf(f, "%" PRId64, a->i);
        else if (a->kind == OP_ATTR_FLOAT)
            fprintf(f, "%g", a->f);
        else if (a->kind == OP_ATTR_STRING)
            fputs(a->s, f);
        else if (a->kind == OP_ATTR_TENSOR)
            fputs(g->value[a->value].name, f);
        else
            print_list(a, f);
    }
}

static int column(uint32_t width, uint32_t least, uint32_t most)
{
    return (int)(width < least ? least : width > most ? most : width);
}

void op_graph_print(const struct op_graph *g, FILE *f)
{
    op_graph_print_with(g, &(struct op_columns){ .title = "" }, f);
}

void op_graph_print_with(const struct op_graph *g, const struct op_columns *more, FILE *f)
{
    uint32_t names = 0, ops = 0;
    int name_column, op_column;

    for (uint32_t n = 0; n < g->nodes; n++) {
        uint32_t name = (uint32_t)strlen(g->node[n].name),
                 op = (uint32_t)strlen(g->node[n].row->name);

        names = name > names ? name : names;
        ops = op > ops ? op : ops;
    }
    name_column = column(names, 4, 40);
    op_column = column(ops, 8, 24);
    fprintf(f, "%-*s  %-*s  %-28s  %s%s\n", name_column, "node", op_column, "operator", "result",
            more->title, "inputs, attributes");
    for (uint32_t n = 0; n < g->nodes; n++) {
        const struct op_node *at = &g->node[n];
        char shape[OP_SHAPE_TEXT] = "-";
        uint32_t out = 0;

        while (out + 1 < at->outs && at->out[out] == OP_NONE)
            out++;
        if (at->outs && at->out[out] != OP_NONE)
            op_shape_text(&g->value[at->out[out]].shape, shape);
        fprintf(f, "%-*s  %-*s  %-28s ", name_column, at->name, op_column, at->row->name, shape);
        if (more->print) {
            more->print(more->of, n, f);
            fputc(' ', f);
        }
        for (uint32_t k = 0; k < at->ins; k++) {
            fputs(k ? ", " : " ", f);
            print_input(g, at->in[k], f);
        }
        print_attrs(g, at, f);
        fputs("\n", f);
    }
    if (!more->print)
        return;
    fprintf(f, "%-*s  %-*s  %-28s ", name_column, "total", op_column, "", "");
    more->print(more->of, g->nodes, f);
    fputs("\n", f);
}

/* --- what cannot run ---------------------------------------------------------------------- */

void op_graph_print_problems(const struct op_graph *g, FILE *f)
{
    if (!g->nodes_wrong)
        return;
    fprintf(f, "does not run: %u node%s", g->nodes_wrong, g->nodes_wrong == 1 ? "" : "s");
    if (g->nodes_behind)
        fprintf(f, ", and %u that read%s what they would make", g->nodes_behind,
                g->nodes_behind == 1 ? "s" : "");
    fprintf(f, "\n");
    fprintf(f, "  %-20s %5s  %-30s %-40s %s\n", "operator", "nodes", "first node", "inputs", "why");
    for (uint32_t k = 0; k < g->problems; k++) {
        const struct op_problem *p = &g->problem[k];

        fprintf(f, "  %-20s %5u  %-30s %-40s %s\n", p->op, p->nodes, p->node, p->inputs, p->why);
    }
}

enum emu_status op_graph_refused(const struct op_graph *g, const char *where)
{
    uint32_t stopped = g->nodes_wrong + g->nodes_behind, all = g->nodes_read;

    if (stopped > all) /* counts the nodes that one node of the file became */
        all = stopped > g->nodes ? stopped : g->nodes;
    return FAIL(BAD_FILE, "%u of %u nodes cannot run%s", stopped, all, where);
}
