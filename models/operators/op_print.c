/* op_print.c - an operator graph, and what of it cannot run, as tables for people. */
#include <inttypes.h>
#include <stdlib.h>
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

/* Those that are not what they are anyway. */
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
    fprintf(f, "%-*s  %-*s  %-28s  %s\n", name_column, "node", op_column, "operator", "result",
            "inputs, attributes");
    for (uint32_t n = 0; n < g->nodes; n++) {
        const struct op_node *at = &g->node[n];
        char shape[OP_SHAPE_TEXT] = "-";
        uint32_t out = 0;

        while (out + 1 < at->outs && at->out[out] == OP_NONE)
            out++;
        if (at->outs && at->out[out] != OP_NONE)
            op_shape_text(&g->value[at->out[out]].shape, shape);
        fprintf(f, "%-*s  %-*s  %-28s ", name_column, at->name, op_column, at->row->name, shape);
        for (uint32_t k = 0; k < at->ins; k++) {
            fputs(k ? ", " : " ", f);
            print_input(g, at->in[k], f);
        }
        print_attrs(g, at, f);
        fputs("\n", f);
    }
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

    if (stopped > all) /* nodes are counted that one of the file became */
        all = stopped > g->nodes ? stopped : g->nodes;
    return FAIL(BAD_FILE, "%u of %u nodes cannot run%s", stopped, all, where);
}

/* --- the table ---------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct op_row *x = *(const struct op_row *const *)a,
                        *y = *(const struct op_row *const *)b;
    int names = strcmp(x->name, y->name);

    return names ? names : (x->since > y->since) - (x->since < y->since);
}

/* "axis=-1, keepdims=1, axes": attributes of a row with their presets. */
static void print_row_attrs(const struct op_row *row, FILE *f)
{
    struct op_attr_spec spec;

    for (unsigned k = 0; op_row_attr(row, k, &spec); k++) {
        fprintf(f, "%s%s", k ? ", " : "", spec.name);
        if (spec.preset.kind == OP_ATTR_INT)
            fprintf(f, "=%" PRId64, spec.preset.i);
        else if (spec.preset.kind == OP_ATTR_FLOAT)
            fprintf(f, "=%g", spec.preset.f);
        else if (spec.preset.kind == OP_ATTR_STRING)
            fprintf(f, "=%s", spec.preset.s);
        else if (spec.required)
            fputs("!", f);
    }
}

/* A version of a row; returns its width. */
static int print_since(const struct op_row *row, int follows, FILE *f)
{
    return row->since == OP_VERSION_OURS ? fprintf(f, "ours")
                                         : fprintf(f, "%s%u", follows ? " " : "", row->since);
}

enum emu_status op_table_print(FILE *f)
{
    const struct op_row **row;
    unsigned n = 0;

    while (op_row(n))
        n++;
    row = emu_alloc(n + 1, sizeof(*row));
    if (!row)
        return FAIL(NO_MEMORY, "the operators");
    for (unsigned k = 0; k < n; k++)
        row[k] = op_row(k);
    qsort(row, n, sizeof(*row), by_name);
    fprintf(f, "%-28s %-20s %-10s %s\n", "operator", "since versions", "family", "attributes");
    for (unsigned first = 0, next; first < n; first = next) {
        const struct op_row *newest = row[first]; /* that files can name, if one can */
        int wide = 0;

        fprintf(f, "%-28s ", row[first]->name);
        for (next = first; next < n && !strcmp(row[next]->name, row[first]->name); next++) {
            if (row[next]->since != OP_VERSION_OURS)
                newest = row[next];
            if (newest == row[next])
                wide += print_since(newest, next > first, f);
        }
        fprintf(f, "%*s %-*s", wide < 20 ? 20 - wide : 0, "", *newest->attributes ? 11 : 0,
                newest->family->name);
        print_row_attrs(newest, f);
        fputs("\n", f);
    }
    emu_free(row);
    return EMU_OK;
}
