/* graph_dump.c - the whole graph as text: one line per thing, in the order of creation, the program
 * tree indented. Equal graphs give equal texts on every machine. The format, which graph_read.c
 * reads: docs/programs/graph_format.md.
 */
#include "programs/compiler/graph/graph_words.h"
#include "programs/compiler/graph_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_A_LINE = 16 };

struct dump {
    const struct graph *g; /* borrowed */
    FILE *f;
    int contents; /* all numbers, not only their digest: a graph file */
    struct graph_names names[NAME_KINDS];
};

/* ---- names ---- */

static void dump_name(const struct dump *d, const char *name)
{
    if (name_is_word(name)) {
        fputs(name, d->f);
        return;
    }
    fputc('"', d->f);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            fprintf(d->f, "\\%c", *name);
        else if ((unsigned char)*name < ' ' || *name == 127)
            fprintf(d->f, "\\x%02x", (unsigned char)*name);
        else
            fputc(*name, d->f);
    }
    fputc('"', d->f);
}

/* What refers to a thing that has a name: "x", or "x#3" if others are called x, too. */
static void dump_reference(struct dump *d, enum name_kind kind, uint32_t number)
{
    const char *name = name_of(d->g, kind, number);
    uint32_t count;

    names_find(&d->names[kind], name, &count);
    dump_name(d, name);
    if (count > 1)
        fprintf(d->f, "#%u", number);
}

static void dump_scope(struct dump *d, uint32_t scope, uint32_t usual)
{
    if (scope == usual)
        return;
    fprintf(d->f, " in ");
    dump_reference(d, NAME_SCOPE, scope);
}

/* "variable 3 net/x" */
static void dump_title(struct dump *d, enum name_kind kind, uint32_t number)
{
    fprintf(d->f, "%s %u ", name_words[kind], number);
    dump_name(d, name_of(d->g, kind, number));
}

/* The scope of something with a name, where the name does not say it. */
static void dump_scope_of(struct dump *d, const char *name, uint32_t scope)
{
    dump_scope(d, scope, names_scope(&d->names[NAME_SCOPE], name));
}

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
static void dump_block(struct dump *d, const struct view *v)
{
    const struct variable *x = &d->g->variable.at[v->var];
    struct view_fold fold;
    FILE *f = d->f;

    view_fold(v, &fold);
    dump_reference(d, NAME_VARIABLE, v->var);
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

static void dump_view(struct dump *d, uint32_t view)
{
    const struct view *v = &d->g->view.at[view];
    FILE *f = d->f;

    if (v->kind == VIEW_BLOCK) {
        dump_block(d, v);
        return;
    }
    fprintf(f, "%s(", view_words[v->kind]);
    if (v->kind == VIEW_CONCAT)
        fprintf(f, "%u: ", v->dim);
    else if (v->kind == VIEW_SLICE)
        fprintf(f, "%u, %u:%u: ", v->dim, v->begin, v->begin + v->shape[v->dim]);
    else if (v->kind == VIEW_BROADCAST)
        fprintf(f, "%u, %u times: ", v->dim, v->shape[v->dim]);
    else if (v->kind == VIEW_RESHAPE)
        dump_shape(v, f);
    for (unsigned k = 0; v->kind == VIEW_TRANSPOSE && k < v->rank; k++)
        fprintf(f, "%s%u", k ? "," : "", v->order[k]);
    if (v->kind == VIEW_RESHAPE || v->kind == VIEW_TRANSPOSE)
        fprintf(f, ": ");
    for (uint32_t k = 0; k < v->parts; k++) {
        fprintf(f, "%s", k ? ", " : "");
        dump_view(d, v->part[k]);
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
        fprintf(f, "    %s\n", ss_error());
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

static void dump_numbers(const struct variable *v, FILE *f)
{
    const uint8_t *at = v->initial;

    for (uint64_t k = 0; k < v->initial_elements; k++, at += ss_elem_bytes(v->elem)) {
        fprintf(f, k % NUMBERS_A_LINE ? " " : "    = ");
        write_element(v->elem, at, f);
        if (k % NUMBERS_A_LINE == NUMBERS_A_LINE - 1 || k + 1 == v->initial_elements)
            fprintf(f, "\n");
    }
}

static void dump_variable(struct dump *d, uint32_t var)
{
    const struct variable *v = &d->g->variable.at[var];
    FILE *f = d->f;

    if (v->constant)
        fprintf(f, "constant %u ", var), dump_name(d, v->name);
    else
        dump_title(d, NAME_VARIABLE, var);
    fprintf(f, " %s %s", ss_elem_name(v->elem), shape_text(v->rank, v->shape).text);
    if (v->kept)
        fprintf(f, " kept");
    if (v->input)
        fprintf(f, " input");
    if (v->initial)
        fprintf(f, " contents");
    if (v->initial && !d->contents)
        fprintf(f, " %016" PRIx64,
                hash64(v->initial, v->initial_elements * ss_elem_bytes(v->elem)));
    if (v->initial_elements < v->elements && v->initial_elements)
        fprintf(f, " %" PRIu64 " times", v->elements / v->initial_elements);
    dump_scope_of(d, v->name, v->scope);
    fprintf(f, "\n");
    dump_map(d->g, var, f);
    if (v->initial && d->contents)
        dump_numbers(v, f);
}

/* ---- codelets ---- */

/* One that the graph has brought along. */
static void dump_codelet(struct dump *d, const struct codelet *c)
{
    fprintf(d->f, "codelet ");
    dump_name(d, c->name);
    fprintf(d->f, " %s", codelet_kind_word(c->kind));
    if (c->stack_bytes)
        fprintf(d->f, " stack %u", c->stack_bytes);
    for (unsigned i = 0; i < c->files; i++) {
        fprintf(d->f, i ? ", " : " from ");
        dump_name(d, c->file[i]->name);
    }
    fprintf(d->f, "\n");
    for (unsigned k = 0; k < c->fields; k++) {
        const struct codelet_field *x = &c->field[k];

        fprintf(d->f, "    %s ", field_words[x->kind]);
        dump_name(d, x->name);
        if (field_is_edge(x->kind) || field_is_list(x->kind))
            fprintf(d->f, " %s align %u", ss_elem_name(x->elem), x->align);
        if (x->kind == FIELD_LENGTH || x->kind == FIELD_APART) {
            fprintf(d->f, x->kind == FIELD_LENGTH ? " of " : " from ");
            dump_name(d, x->other);
        }
        fprintf(d->f, "\n");
    }
}

/* ---- vertices ---- */

static void dump_field(struct dump *d, const struct codelet_field *type,
                       const struct vertex_field *v)
{
    FILE *f = d->f;

    if (type->kind == FIELD_LENGTH || type->kind == FIELD_APART)
        return;
    fprintf(f, "    ");
    dump_name(d, type->name);
    fprintf(f, " =");
    if (!v->set) {
        fprintf(f, " ?");
    } else if (field_is_edge(type->kind)) {
        fprintf(f, " ");
        dump_view(d, v->view);
    } else if (field_is_list(type->kind)) {
        for (uint32_t k = 0; k < v->count; k++) {
            fprintf(f, "%s", k ? ", " : " ");
            dump_view(d, d->g->list.at[v->first + k]);
        }
    } else if (type->kind == FIELD_WORDS) {
        for (uint32_t k = 0; k < v->count; k++)
            fprintf(f, " 0x%x", d->g->words.at[v->first + k]);
    } else {
        fprintf(f, " ");
        write_element(scalar_elem(type->kind), &v->value, f);
    }
    fprintf(f, "\n");
}

static void dump_compute_set(struct dump *d, uint32_t set)
{
    const struct graph *g = d->g;
    const struct compute_set *s = &g->compute_set.at[set];

    dump_title(d, NAME_SET, set);
    dump_scope_of(d, s->name, s->scope);
    fprintf(d->f, "\n");
    for (size_t i = 0; i < s->vertex.count; i++) {
        const struct vertex *v = &g->vertex.at[s->vertex.at[i]];

        fprintf(d->f, "  vertex %u ", s->vertex.at[i]);
        dump_name(d, v->codelet->name);
        fprintf(d->f, " on tile %u\n", v->tile);
        for (unsigned k = 0; k < v->codelet->fields; k++)
            dump_field(d, &v->codelet->field[k], &g->field.at[v->field + k]);
    }
}

/* ---- programs ---- */

/* What is said with a node within a scope. */
struct dump_depth {
    unsigned indent;
    uint32_t scope;
};

static void dump_node(struct dump *d, uint32_t node, struct dump_depth at);

static struct dump_depth deeper(struct dump_depth at, uint32_t scope)
{
    return (struct dump_depth){ at.indent + 2, scope };
}

/* A child, below a line that says what it is for. */
static void dump_branch(struct dump *d, const struct node *n, size_t k, const char *what,
                        struct dump_depth at)
{
    fprintf(d->f, "%*s%s\n", (int)at.indent, "", what);
    if (k < n->child.count)
        dump_node(d, n->child.at[k], deeper(at, n->scope));
}

static void dump_children(struct dump *d, const struct node *n, struct dump_depth at)
{
    const char *const test[2] = { n->kind == NODE_WHILE ? "condition" : "then",
                                  n->kind == NODE_WHILE ? "body" : "else" };
    char group[32];

    for (size_t k = 0; k < n->child.count; k++) {
        if (n->kind == NODE_IF || n->kind == NODE_RARE || n->kind == NODE_WHILE) {
            dump_branch(d, n, k, test[k & 1], at);
        } else if (n->kind == NODE_TOGETHER && n->groups) {
            snprintf(group, sizeof(group), "group %u", n->groups[k]);
            dump_branch(d, n, k, group, at);
        } else {
            dump_node(d, n->child.at[k], at);
        }
    }
}

static void dump_stream_node(struct dump *d, const struct node *n)
{
    if (n->kind != NODE_STREAM)
        fprintf(d->f, "%s ", node_words[NODE_STREAM]);
    dump_reference(d, NAME_STREAM, n->a);
    fprintf(d->f, d->g->stream.at[n->a].way == STREAM_IN ? " to " : " from ");
    dump_view(d, n->b);
}

/* What stands behind the word of a node. */
static void dump_operands(struct dump *d, const struct node *n)
{
    switch (n->kind) {
    case NODE_EXECUTE:
        dump_reference(d, NAME_SET, n->a);
        break;
    case NODE_COPY:
        dump_view(d, n->a);
        fprintf(d->f, " to ");
        dump_view(d, n->b);
        break;
    case NODE_REPEAT:
        fprintf(d->f, "%u", n->a);
        break;
    case NODE_WHILE:
    case NODE_IF:
    case NODE_RARE:
        dump_view(d, n->a);
        break;
    case NODE_CALL:
        dump_reference(d, NAME_FUNCTION, n->a);
        break;
    case NODE_STREAM:
    case NODE_STREAM_BEGIN:
    case NODE_STREAM_END:
        dump_stream_node(d, n);
        break;
    case NODE_CHIPS:
        fprintf(d->f, "%s", chips_words[n->chips]);
        break;
    case NODE_SEQUENCE:
    case NODE_TOGETHER:
        break;
    }
}

/* The uses of channels, a line each. */
static void dump_uses(struct dump *d, const struct node *n, struct dump_depth at)
{
    for (uint32_t k = n->a; n->kind == NODE_CHIPS && k < n->a + n->b; k++) {
        const struct channel_use *u = &d->g->use.at[k];
        int sends = d->g->channel.at[u->channel].way == CHANNEL_SEND;

        fprintf(d->f, "%*s%s ", (int)at.indent, "", channel_words[!sends]);
        dump_view(d, u->t.view);
        fprintf(d->f, sends ? " to " : " from ");
        dump_name(d, d->g->channel.at[u->channel].name);
        fprintf(d->f, "\n");
    }
}

static void dump_node(struct dump *d, uint32_t node, struct dump_depth at)
{
    const struct node *n = &d->g->node.at[node];

    fprintf(d->f, "%*s%s", (int)at.indent, "", node_words[n->kind]);
    if (n->kind != NODE_SEQUENCE && n->kind != NODE_TOGETHER)
        fprintf(d->f, " ");
    dump_operands(d, n);
    dump_scope(d, n->scope, at.scope);
    fprintf(d->f, "\n");
    dump_uses(d, n, deeper(at, n->scope));
    dump_children(d, n, deeper(at, n->scope));
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

static void dump_scopes(struct dump *d)
{
    for (uint32_t k = 1; k < d->g->scope.count; k++) {
        dump_title(d, NAME_SCOPE, k);
        dump_scope(d, d->g->scope.at[k].parent, 0);
        fprintf(d->f, "\n");
    }
}

static void dump_stream(struct dump *d, uint32_t stream)
{
    const struct stream *s = &d->g->stream.at[stream];

    dump_title(d, NAME_STREAM, stream);
    fprintf(d->f, " %s %s [%" PRIu64 "] depth %u", s->way == STREAM_IN ? "in" : "out",
            ss_elem_name(s->elem), s->elements, s->depth);
    dump_scope_of(d, s->name, s->scope);
    fprintf(d->f, "\n");
}

static void dump_channel(struct dump *d, const struct channel *c)
{
    fprintf(d->f, "channel ");
    dump_name(d, c->name);
    fprintf(d->f, " %s %s [%" PRIu64 "]", channel_words[c->way], ss_elem_name(c->elem),
            c->elements);
    if (c->replica)
        fprintf(d->f, c->replica < 0 ? " replica back %d" : " replica %d", abs(c->replica));
    fprintf(d->f, "\n");
}

static void dump_things(struct dump *d)
{
    const struct graph *g = d->g;
    struct graph_names *scopes = &d->names[NAME_SCOPE];

    for (size_t k = 0; k < g->own.count; k++)
        dump_codelet(d, g->own.at[k]);
    dump_scopes(d);
    for (uint32_t k = 0; k < g->variable.count; k++)
        dump_variable(d, k);
    for (uint32_t k = 0; k < g->stream.count; k++)
        dump_stream(d, k);
    for (size_t k = 0; k < g->channel.count; k++)
        dump_channel(d, &g->channel.at[k]);
    for (uint32_t k = 0; k < g->compute_set.count; k++)
        dump_compute_set(d, k);
    for (uint32_t k = 0; k < g->function.count; k++) {
        dump_title(d, NAME_FUNCTION, k);
        fprintf(d->f, "\n");
        dump_node(d, g->function.at[k].body,
                  (struct dump_depth){ 2, names_scope(scopes, g->function.at[k].name) });
    }
    fprintf(d->f, "program\n");
    if (g->program != GRAPH_NONE)
        dump_node(d, g->program, (struct dump_depth){ 2, 0 });
}

/* chips: of the program. */
static void dump_machine(const struct graph *g, unsigned chips, struct dump *d)
{
    fprintf(d->f, "machine ");
    dump_name(d, g->arch.name);
    fprintf(d->f, " tiles %u", g->arch.tiles);
    if (chips > 1)
        fprintf(d->f, " chips %u", chips);
    fprintf(d->f, "\n");
}

static enum emu_status dump_graph(struct dump *d)
{
    const struct graph *g = d->g;
    enum emu_status s = ss_graph_status(g);

    for (int kind = 0; kind < NAME_KINDS; kind++) {
        for (uint32_t k = 0; s == EMU_OK && k < name_count(g, (enum name_kind)kind); k++)
            s = names_add(&d->names[kind], name_of(g, (enum name_kind)kind, k), k);
    }
    dump_groups(g, d->f);
    if (g->nan_on_overflow)
        fprintf(d->f, "nan on overflow\n");
    if (s == EMU_OK)
        dump_things(d);
    else /* the thing that failed may be half made */
        fprintf(d->f, "error %s\n", ss_error());
    for (int kind = 0; kind < NAME_KINDS; kind++)
        names_free(&d->names[kind]);
    return s;
}

void ss_graph_dump(const struct graph *g, FILE *f)
{
    struct dump d = { .g = g, .f = f };

    if (!g)
        return;
    dump_machine(g, 1, &d);
    (void)dump_graph(&d); /* an error is in the text */
}

enum emu_status ss_graph_write(const struct graph *g, FILE *f)
{
    return ss_graphs_write(&g, 1, f);
}

enum emu_status ss_graphs_write(const struct graph *const *g, unsigned chips, FILE *f)
{
    struct dump head = { .g = g[0], .f = f };

    for (unsigned k = 0; k < chips; k++)
        TRY(ss_graph_status(g[k]));
    fprintf(f, "%s %d\n", GRAPH_FILE_WORD, GRAPH_FILE_VERSION);
    dump_machine(g[0], chips, &head);
    for (unsigned k = 0; k < chips; k++) {
        struct dump d = { .g = g[k], .f = f, .contents = 1 };

        if (chips > 1)
            fprintf(f, "chip %u\n", k);
        TRY(dump_graph(&d));
    }
    return ferror(f) ? FAIL(IO, "a graph file could not be written") : EMU_OK;
}
