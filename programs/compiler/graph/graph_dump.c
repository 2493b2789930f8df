/* graph_dump.c - the whole graph as text: one line per thing, in the order of creation, the program
 * tree indented. Equal graphs give equal texts on every machine. The format:
 * docs/programs/graphs.md.
 */
#include "programs/compiler/graph/graph_private.h"

#include <inttypes.h>

/* ---- views ---- */

static void dump_shape(const struct view *v, FILE *f)
{
    fprintf(f, "%s", shape_text(v->rank, v->shape).text);
}

static int same_shape_as(const struct view *v, const struct variable *x)
{
    int same = v->rank == x->rank;

    for (unsigned k = 0; same && k < v->rank; k++)
        same = v->shape[k] == x->shape[k];
    return same;
}

/* "w", "w[4:8]", "w[4:8] as [2,2]" of consecutive elements, else "w[4 + 2 by 8 + 2 by 1]". */
static void dump_block(const struct graph *g, const struct view *v, FILE *f)
{
    const struct variable *x = &g->variable.at[v->var];
    struct view_fold fold;

    view_fold(v, &fold);
    fprintf(f, "%s", x->name);
    if (!v->elements || !fold.rank || (fold.rank == 1 && fold.stride[0] == 1)) {
        if (v->elements != x->elements)
            fprintf(f, "[%" PRIu64 ":%" PRIu64 "]", v->offset, v->offset + v->elements);
        if (v->elements == x->elements ? !same_shape_as(v, x) : v->rank != 1) {
            fprintf(f, " as ");
            dump_shape(v, f);
        }
        return;
    }
    fprintf(f, "[%" PRIu64, v->offset);
    for (unsigned k = 0; k < v->rank; k++)
        fprintf(f, " + %u by %" PRId64, v->shape[k], v->stride[k]);
    fprintf(f, "]");
}

static void dump_view(const struct graph *g, uint32_t view, FILE *f)
{
    const struct view *v = &g->view.at[view];

    switch (v->kind) {
    case VIEW_BLOCK:
        dump_block(g, v, f);
        return;
    case VIEW_CONCAT:
        fprintf(f, "concat(%u: ", v->dim);
        break;
    case VIEW_RESHAPE:
        fprintf(f, "reshape(");
        dump_shape(v, f);
        fprintf(f, ": ");
        break;
    case VIEW_SLICE:
        fprintf(f, "slice(%u, %u:%u: ", v->dim, v->begin, v->begin + v->shape[v->dim]);
        break;
    case VIEW_TRANSPOSE:
        fprintf(f, "transpose(");
        for (unsigned k = 0; k < v->rank; k++)
            fprintf(f, "%s%u", k ? "," : "", v->order[k]);
        fprintf(f, ": ");
        break;
    case VIEW_BROADCAST:
        fprintf(f, "broadcast(%u, %u times: ", v->dim, v->shape[v->dim]);
        break;
    }
    for (uint32_t k = 0; k < v->parts; k++) {
        fprintf(f, "%s", k ? ", " : "");
        dump_view(g, v->part[k], f);
    }
    fprintf(f, ")");
}

/* ---- variables ---- */

/* Runs from k on that have one size and lie on consecutive tiles. */
static size_t equal_runs(const struct map_run *run, size_t runs, size_t k)
{
    size_t n = 1;

    if (run[k].tile == GRAPH_NONE)
        return 1;
    while (k + n < runs && run[k + n].tile == run[k].tile + n &&
           run[k + n].end - run[k + n].begin == run[k].end - run[k].begin)
        n++;
    return n;
}

static void dump_map(const struct graph *g, uint32_t var, FILE *f)
{
    const struct map_run *run;
    size_t runs, n;

    /* The order of the runs is no property that anybody sees: it may change in a const graph. */
    if (variable_map((struct graph *)g, var, &run, &runs) != EMU_OK) {
        fprintf(f, "    %s\n", emu_error());
        return;
    }
    for (size_t k = 0; k < runs; k += n) {
        n = equal_runs(run, runs, k);
        fprintf(f, "    [%" PRIu64 ":%" PRIu64 "] on ", run[k].begin, run[k + n - 1].end);
        if (run[k].tile == GRAPH_NONE)
            fprintf(f, "no tile\n");
        else if (n == 1)
            fprintf(f, "tile %u\n", run[k].tile);
        else
            fprintf(f, "tiles %u to %u, %" PRIu64 " each\n", run[k].tile, run[k + n - 1].tile,
                    run[k].end - run[k].begin);
    }
}

static void dump_variable(const struct graph *g, uint32_t var, FILE *f)
{
    const struct variable *v = &g->variable.at[var];

    fprintf(f, "%s %u %s %s %s", v->constant ? "constant" : "variable", var, v->name,
            elem_name(v->elem), shape_text(v->rank, v->shape).text);
    if (v->kept)
        fprintf(f, " kept");
    if (v->input)
        fprintf(f, " input");
    if (v->initial)
        fprintf(f, " contents %016" PRIx64,
                hash64(v->initial, v->initial_elements * elem_bytes(v->elem)));
    if (v->initial_elements < v->elements && v->initial_elements)
        fprintf(f, " %" PRIu64 " times", v->elements / v->initial_elements);
    fprintf(f, "\n");
    dump_map(g, var, f);
}

/* ---- vertices ---- */

static void dump_field(const struct graph *g, const struct codelet_field *type,
                       const struct vertex_field *v, FILE *f)
{
    if (type->kind == FIELD_LENGTH || type->kind == FIELD_APART)
        return;
    fprintf(f, "    %s = ", type->name);
    if (!v->set) {
        fprintf(f, "?");
    } else if (field_is_edge(type->kind)) {
        dump_view(g, v->view, f);
    } else if (field_is_list(type->kind)) {
        for (uint32_t k = 0; k < v->count; k++) {
            fprintf(f, "%s", k ? ", " : "");
            dump_view(g, g->list.at[v->first + k], f);
        }
    } else if (type->kind == FIELD_WORDS) {
        for (uint32_t k = 0; k < v->count; k++)
            fprintf(f, "%s0x%x", k ? " " : "", g->words.at[v->first + k]);
    } else if (type->kind == FIELD_U32) {
        fprintf(f, "%u", v->value);
    } else {
        double value =
            type->kind == FIELD_F32 ? (double)fp_float(v->value) : fp_f16_value((uint16_t)v->value);

        fprintf(f, "0x%08x (%.9g)", v->value, value);
    }
    fprintf(f, "\n");
}

static void dump_compute_set(const struct graph *g, uint32_t set, FILE *f)
{
    const struct compute_set *s = &g->compute_set.at[set];

    fprintf(f, "compute set %u %s\n", set, s->name);
    for (size_t i = 0; i < s->vertex.count; i++) {
        const struct vertex *v = &g->vertex.at[s->vertex.at[i]];

        fprintf(f, "  vertex %u %s on tile %u\n", s->vertex.at[i], v->codelet->name, v->tile);
        for (unsigned k = 0; k < v->codelet->fields; k++)
            dump_field(g, &v->codelet->field[k], &g->field.at[v->field + k], f);
    }
}

/* ---- programs ---- */

static void dump_node(const struct graph *g, uint32_t node, unsigned depth, FILE *f);

/* A child, below a line that says what it is for. */
static void dump_branch(const struct graph *g, const struct node *n, size_t k, const char *what,
                        unsigned depth, FILE *f)
{
    fprintf(f, "%*s%s\n", 2 * (int)depth, "", what);
    if (k < n->child.count)
        dump_node(g, n->child.at[k], depth + 1, f);
}

static void dump_together(const struct graph *g, const struct node *n, unsigned depth, FILE *f)
{
    fprintf(f, "together\n");
    for (size_t k = 0; k < n->child.count && n->groups; k++) {
        char what[32];

        snprintf(what, sizeof(what), "group %u", n->groups[k]);
        dump_branch(g, n, k, what, depth + 1, f);
    }
}

static void dump_test(const struct graph *g, const struct node *n, unsigned depth, FILE *f)
{
    fprintf(f, n->kind == NODE_IF ? "if " : "while ");
    dump_view(g, n->a, f);
    fprintf(f, "\n");
    dump_branch(g, n, 0, n->kind == NODE_IF ? "then" : "condition", depth + 1, f);
    dump_branch(g, n, 1, n->kind == NODE_IF ? "else" : "body", depth + 1, f);
}

static void dump_copy(const struct graph *g, const struct node *n, FILE *f)
{
    fprintf(f, "copy ");
    dump_view(g, n->a, f);
    fprintf(f, " to ");
    dump_view(g, n->b, f);
    fprintf(f, "\n");
}

static void dump_stream_node(const struct graph *g, const struct node *n, FILE *f)
{
    const struct stream *s = &g->stream.at[n->a];

    fprintf(f, "%s %s %s ",
            n->kind == NODE_STREAM         ? "stream"
            : n->kind == NODE_STREAM_BEGIN ? "begin stream"
                                           : "end stream",
            s->name, s->way == STREAM_IN ? "to" : "from");
    dump_view(g, n->b, f);
    fprintf(f, "\n");
}

static void dump_node(const struct graph *g, uint32_t node, unsigned depth, FILE *f)
{
    const struct node *n = &g->node.at[node];

    fprintf(f, "%*s", 2 * (int)depth, "");
    switch (n->kind) {
    case NODE_SEQUENCE:
        fprintf(f, "sequence\n");
        break;
    case NODE_EXECUTE:
        fprintf(f, "execute %s\n", g->compute_set.at[n->a].name);
        return;
    case NODE_COPY:
        dump_copy(g, n, f);
        return;
    case NODE_REPEAT:
        fprintf(f, "repeat %u\n", n->a);
        break;
    case NODE_WHILE:
    case NODE_IF:
        dump_test(g, n, depth, f);
        return;
    case NODE_CALL:
        fprintf(f, "call %s\n", g->function.at[n->a].name);
        return;
    case NODE_TOGETHER:
        dump_together(g, n, depth, f);
        return;
    case NODE_STREAM:
    case NODE_STREAM_BEGIN:
    case NODE_STREAM_END:
        dump_stream_node(g, n, f);
        return;
    }
    for (size_t k = 0; k < n->child.count; k++)
        dump_node(g, n->child.at[k], depth + 1, f);
}

/* ---- all ---- */

static void dump_groups(const struct graph *g, FILE *f)
{
    for (uint32_t first = 0, end; first < g->arch.tiles; first = end) {
        for (end = first + 1; end < g->arch.tiles && g->group[end] == g->group[first];)
            end++;
        fprintf(f, "group %u tiles %u to %u\n", g->group[first], first, end - 1);
    }
}

static void dump_stream(const struct graph *g, uint32_t stream, FILE *f)
{
    const struct stream *s = &g->stream.at[stream];

    fprintf(f, "stream %u %s %s %s [%" PRIu64 "] depth %u\n", stream, s->name,
            s->way == STREAM_IN ? "in" : "out", elem_name(s->elem), s->elements, s->depth);
}

void graph_dump(const struct graph *g, FILE *f)
{
    fprintf(f, "machine %s tiles %u\n", g->arch.name, g->arch.tiles);
    dump_groups(g, f);
    if (!graph_works(g)) { /* the thing that failed may be half made */
        fprintf(f, "error %s\n", g->error ? g->error : emu_status_text(g->status));
        return;
    }
    for (uint32_t k = 0; k < g->variable.count; k++)
        dump_variable(g, k, f);
    for (uint32_t k = 0; k < g->stream.count; k++)
        dump_stream(g, k, f);
    for (uint32_t k = 0; k < g->compute_set.count; k++)
        dump_compute_set(g, k, f);
    for (uint32_t k = 0; k < g->function.count; k++) {
        fprintf(f, "function %u %s\n", k, g->function.at[k].name);
        dump_node(g, g->function.at[k].body, 1, f);
    }
    fprintf(f, "program\n");
    if (g->program != GRAPH_NONE)
        dump_node(g, g->program, 1, f);
}
