/* graph_read_program.c - compute sets with their vertices, functions and the program of a graph
 * file. */
#include "programs/compiler/graph/graph_read.h"

#include <stdlib.h>
#include <string.h>

/* ---- vertices ---- */

/* A line with what is indented below it is left for later. */
static enum emu_status pass_vertex(struct graph_reader *r, uint32_t set)
{
    struct seen_vertex v = { token_place(&r->lex), (uint32_t)r->vertex.count, set };
    unsigned indent = r->lex.indent;

    TRY(token_need(&r->lex, "vertex"));
    if (token_is_number(&r->lex))
        TRY(token_u32(&r->lex, "a number", &v.number));
    TRY(VEC_PUSH(&r->vertex, v));
    do {
        token_line(&r->lex);
    } while (!r->lex.done && r->lex.indent > indent);
    return EMU_OK;
}

enum emu_status read_compute_set(struct graph_reader *r)
{
    const char *name;
    uint32_t set, scope;

    TRY(token_need(&r->lex, "set"));
    TRY(read_title(r, NAME_SET, &name));
    set = ss_graph_compute_set(r->g, name);
    TRY(read_scope_end(r, names_scope(&r->names[NAME_SCOPE], name), &scope));
    TRY(reader_status(r));
    r->g->compute_set.at[set].scope = scope;
    TRY(names_add(&r->names[NAME_SET], r->g->compute_set.at[set].name, set));
    token_line(&r->lex);
    while (!r->lex.done && r->lex.indent)
        TRY(pass_vertex(r, set));
    return EMU_OK;
}

static enum emu_status read_words(struct graph_reader *r, uint32_t vertex, unsigned field)
{
    VEC(uint32_t) word = { 0 };
    enum emu_status s = EMU_OK;
    uint32_t bits;

    while (s == EMU_OK && !token_is_end(&r->lex)) {
        s = token_element(&r->lex, ELEM_U32, &bits);
        if (s == EMU_OK)
            s = VEC_PUSH(&word, bits);
    }
    if (s == EMU_OK)
        vertex_set_field_words(r->g, vertex, field, word.at, (uint32_t)word.count);
    VEC_FREE(&word);
    return s;
}

static enum emu_status read_tensors(struct graph_reader *r, uint32_t vertex, unsigned field)
{
    struct tensor t;

    do {
        TRY(read_view(r, &t));
        vertex_connect_field(r->g, vertex, field, t);
        TRY(reader_status(r));
    } while (token_take(&r->lex, ","));
    return EMU_OK;
}

/* What is behind "NAME = ". */
static enum emu_status read_value(struct graph_reader *r, uint32_t vertex, unsigned field)
{
    const struct vertex *v = &r->g->vertex.at[vertex];
    enum field_kind kind = v->codelet->field[field].kind;
    struct vertex_field *f = &r->g->field.at[v->field + field];
    uint32_t bits;

    if (f->set)
        return token_wrong(&r->lex, "a second line for field %s", v->codelet->field[field].name);
    if (kind == FIELD_LENGTH || kind == FIELD_APART)
        return token_wrong(&r->lex, "field %s is filled in by the compiler",
                           v->codelet->field[field].name);
    if (field_is_list(kind)) {
        f->set = 1; /* of no tensors */
        return token_is_end(&r->lex) ? EMU_OK : read_tensors(r, vertex, field);
    }
    if (field_is_edge(kind))
        return read_tensors(r, vertex, field);
    if (kind == FIELD_WORDS)
        return read_words(r, vertex, field);
    TRY(token_element(&r->lex, scalar_elem(kind), &bits));
    f->value = kind == FIELD_F16 ? bits | bits << 16 : bits;
    f->set = 1;
    return EMU_OK;
}

/* Fails with the fields that there are. */
static enum emu_status no_field(const struct graph_reader *r, const struct codelet *c,
                                const char *name)
{
    char list[300] = "none";
    size_t n = 0;

    for (unsigned k = 0; k < c->fields && n < sizeof(list); k++) {
        enum field_kind kind = c->field[k].kind;

        if (kind != FIELD_LENGTH && kind != FIELD_APART)
            n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "",
                                  c->field[k].name);
    }
    return token_wrong(&r->lex, "codelet %s has no field %.100s, it has %s", c->name, name, list);
}

static enum emu_status read_field(struct graph_reader *r, uint32_t vertex)
{
    const struct codelet *c = r->g->vertex.at[vertex].codelet;
    const char *name;
    int k;

    TRY(token_name(&r->lex, "the name of a field", &name));
    k = codelet_field_find(c, name);
    if (k < 0)
        return no_field(r, c, name);
    TRY(token_need(&r->lex, "="));
    TRY(read_value(r, vertex, (unsigned)k));
    TRY(reader_status(r));
    return token_end(&r->lex);
}

/* That every field has a value; at the line of the vertex. */
static enum emu_status check_fields(const struct graph_reader *r, uint32_t vertex)
{
    const struct vertex *v = &r->g->vertex.at[vertex];

    for (unsigned k = 0; k < v->codelet->fields; k++) {
        const struct codelet_field *f = &v->codelet->field[k];

        if (!r->g->field.at[v->field + k].set && f->kind != FIELD_LENGTH && f->kind != FIELD_APART)
            return token_wrong(&r->lex, "expected a line for field %s of codelet %s", f->name,
                               v->codelet->name);
    }
    return EMU_OK;
}

static enum emu_status read_vertex(struct graph_reader *r, const struct seen_vertex *seen)
{
    unsigned indent;
    uint32_t tile, id = (uint32_t)r->g->vertex.count;
    const char *name;

    token_return(&r->lex, seen->place);
    indent = r->lex.indent;
    TRY(token_need(&r->lex, "vertex"));
    if (seen->number != id)
        return token_expected(&r->lex, "%u, the number of the next vertex, or no number", id);
    if (token_is_number(&r->lex))
        TRY(token_u32(&r->lex, "a number", &tile));
    TRY(token_name(&r->lex, "the name of a codelet", &name));
    TRY(token_need(&r->lex, "on"));
    TRY(token_need(&r->lex, "tile"));
    TRY(token_u32(&r->lex, "a tile", &tile));
    TRY(token_end(&r->lex));
    (void)ss_graph_vertex(r->g, seen->set, name, tile);
    TRY(reader_status(r));
    for (token_line(&r->lex); !r->lex.done && r->lex.indent > indent; token_line(&r->lex))
        TRY(read_field(r, id));
    token_return(&r->lex, seen->place);
    return check_fields(r, id);
}

/* By number; a number that comes twice is found when the second one is made. */
static int seen_compare(const void *a, const void *b)
{
    const struct seen_vertex *x = a, *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->place.line < y->place.line ? -1 : x->place.line > y->place.line;
}

enum emu_status read_vertices(struct graph_reader *r)
{
    if (r->vertex.count)
        qsort(r->vertex.at, r->vertex.count, sizeof(*r->vertex.at), seen_compare);
    for (size_t i = 0; i < r->vertex.count; i++)
        TRY(read_vertex(r, &r->vertex.at[i]));
    return EMU_OK;
}

/* ---- program ---- */

static enum emu_status read_node(struct graph_reader *r, uint32_t usual, struct program *out);

/* Whether the current line is below one with this indent. */
static int is_below(const struct graph_reader *r, unsigned indent)
{
    return !r->lex.done && r->lex.indent > indent;
}

/* The node below a line; there is exactly one. */
static enum emu_status read_only(struct graph_reader *r, unsigned indent, uint32_t scope,
                                 struct program *out)
{
    if (!is_below(r, indent))
        return token_wrong(&r->lex, "expected an indented line before this one");
    TRY(read_node(r, scope, out));
    return is_below(r, indent) ? token_expected(&r->lex, "one node only: a sequence has several")
                               : EMU_OK;
}

/* A line with a word, and the node below it. */
static enum emu_status read_branch(struct graph_reader *r, unsigned indent, const char *word,
                                   uint32_t scope, struct program *out)
{
    unsigned own = r->lex.indent;

    if (!is_below(r, indent))
        return token_wrong(&r->lex, "expected '%s', indented, before this line", word);
    TRY(token_need(&r->lex, word));
    TRY(token_end(&r->lex));
    token_line(&r->lex);
    return read_only(r, own, scope, out);
}

static enum emu_status read_sequence(struct graph_reader *r, unsigned indent, uint32_t scope,
                                     struct program *out)
{
    unsigned own = r->lex.indent;
    struct program child;

    *out = ss_program_sequence(r->g);
    while (is_below(r, indent)) {
        if (r->lex.indent != own)
            return token_expected(&r->lex, "%u spaces before this line, as before those above it",
                                  own);
        TRY(read_node(r, scope, &child));
        ss_program_add(r->g, *out, child);
    }
    return EMU_OK;
}

static enum emu_status read_test(struct graph_reader *r, enum node_kind kind, struct tensor t,
                                 unsigned indent, uint32_t scope, struct program *out)
{
    struct program first, second;

    TRY(read_branch(r, indent, kind == NODE_WHILE ? "condition" : "then", scope, &first));
    TRY(read_branch(r, indent, kind == NODE_WHILE ? "body" : "else", scope, &second));
    *out = kind == NODE_WHILE ? ss_program_while(r->g, first, t, second)
           : kind == NODE_IF  ? ss_program_if(r->g, t, first, second)
                              : ss_program_if_rare(r->g, t, first, second);
    return EMU_OK;
}

static enum emu_status read_together(struct graph_reader *r, unsigned indent, uint32_t scope,
                                     struct program *out)
{
    VEC(unsigned) group = { 0 };
    VEC(struct program) part = { 0 };
    enum emu_status s = EMU_OK;

    while (s == EMU_OK && is_below(r, indent)) {
        unsigned own = r->lex.indent;
        uint32_t number;
        struct program child;

        s = token_need(&r->lex, "group");
        if (s == EMU_OK)
            s = token_u32(&r->lex, "a group", &number);
        if (s == EMU_OK)
            s = token_end(&r->lex);
        token_line(&r->lex);
        if (s == EMU_OK)
            s = read_only(r, own, scope, &child);
        if (s == EMU_OK)
            s = VEC_PUSH(&group, number);
        if (s == EMU_OK)
            s = VEC_PUSH(&part, child);
    }
    if (s == EMU_OK && !group.count)
        s = token_wrong(&r->lex, "expected 'group', indented, before this line");
    if (s == EMU_OK)
        *out = ss_program_together(r->g, group.at, part.at, (unsigned)group.count);
    VEC_FREE(&group);
    VEC_FREE(&part);
    return s;
}

/* A channel of this name and direction. */
static enum emu_status read_channel_name(struct graph_reader *r, enum channel_way way,
                                         uint32_t *channel)
{
    const char *name;

    TRY(token_name(&r->lex, "the name of a channel", &name));
    for (*channel = 0; *channel < r->g->channel.count; ++*channel) {
        const struct channel *c = &r->g->channel.at[*channel];

        if (c->way == way && !strcmp(c->name, name))
            return EMU_OK;
    }
    return token_wrong(&r->lex, "there is no channel %.200s of direction '%s' above this line",
                       name, channel_words[way]);
}

/* "send V to CHANNEL", "receive V from CHANNEL" */
static enum emu_status read_use(struct graph_reader *r, struct channel_use *u)
{
    int way = token_take_row(&r->lex, channel_words, CHANNEL_WORDS);

    if (way < 0)
        return token_expected(&r->lex, "send or receive");
    TRY(read_view(r, &u->t));
    TRY(token_need(&r->lex, way == CHANNEL_SEND ? "to" : "from"));
    TRY(read_channel_name(r, (enum channel_way)way, &u->channel));
    TRY(token_end(&r->lex));
    token_line(&r->lex);
    return EMU_OK;
}

static enum emu_status read_chips(struct graph_reader *r, enum chips_scope scope, unsigned indent,
                                  struct program *out)
{
    VEC(struct channel_use) use = { 0 };
    struct channel_use u;
    enum emu_status s = EMU_OK;

    while (s == EMU_OK && is_below(r, indent)) {
        s = read_use(r, &u);
        if (s == EMU_OK)
            s = VEC_PUSH(&use, u);
    }
    if (s == EMU_OK)
        *out = ss_program_exchange_chips(r->g, scope, use.at, (unsigned)use.count);
    VEC_FREE(&use);
    return s;
}

/* What is behind the word of a node, in its line. */
struct read_operands {
    uint32_t number; /* compute set, function, stream, how often, scope of chips */
    struct tensor a, b;
};

static enum emu_status read_stream_operands(struct graph_reader *r, enum node_kind kind,
                                            struct read_operands *o)
{
    if (kind != NODE_STREAM)
        TRY(token_need(&r->lex, node_words[NODE_STREAM]));
    TRY(read_reference(r, NAME_STREAM, &o->number));
    TRY(token_need(&r->lex, r->g->stream.at[o->number].way == STREAM_IN ? "to" : "from"));
    return read_view(r, &o->a);
}

static enum emu_status read_operands(struct graph_reader *r, enum node_kind kind,
                                     struct read_operands *o)
{
    switch (kind) {
    case NODE_EXECUTE:
        return read_reference(r, NAME_SET, &o->number);
    case NODE_COPY:
        TRY(read_view(r, &o->a));
        TRY(token_need(&r->lex, "to"));
        return read_view(r, &o->b);
    case NODE_REPEAT:
        return token_u32(&r->lex, "how often", &o->number);
    case NODE_WHILE:
    case NODE_IF:
    case NODE_RARE:
        return read_view(r, &o->a);
    case NODE_CALL:
        return read_reference(r, NAME_FUNCTION, &o->number);
    case NODE_STREAM:
    case NODE_STREAM_BEGIN:
    case NODE_STREAM_END:
        return read_stream_operands(r, kind, o);
    case NODE_CHIPS:
        for (o->number = 0; o->number < CHIPS_WORDS; o->number++)
            if (token_take(&r->lex, chips_words[o->number]))
                return EMU_OK;
        return token_expected(&r->lex, "replica or pod");
    case NODE_SEQUENCE:
    case NODE_TOGETHER:
        break;
    }
    return EMU_OK;
}

/* A node whose line, indented by `indent`, has been read, with what is below it. */
static enum emu_status read_below(struct graph_reader *r, enum node_kind kind,
                                  const struct read_operands *o, unsigned indent, uint32_t scope,
                                  struct program *out)
{
    struct graph *g = r->g;
    struct program body;

    switch (kind) {
    case NODE_SEQUENCE:
        return read_sequence(r, indent, scope, out);
    case NODE_TOGETHER:
        return read_together(r, indent, scope, out);
    case NODE_CHIPS:
        return read_chips(r, (enum chips_scope)o->number, indent, out);
    case NODE_WHILE:
    case NODE_IF:
    case NODE_RARE:
        return read_test(r, kind, o->a, indent, scope, out);
    case NODE_REPEAT:
        TRY(read_only(r, indent, scope, &body));
        *out = ss_program_repeat(g, o->number, body);
        return EMU_OK;
    case NODE_EXECUTE:
        *out = ss_program_execute(g, o->number);
        break;
    case NODE_COPY:
        *out = ss_program_copy(g, o->a, o->b);
        break;
    case NODE_CALL:
        *out = ss_program_call(g, o->number);
        break;
    case NODE_STREAM:
        *out = ss_program_stream(g, o->number, o->a);
        break;
    case NODE_STREAM_BEGIN:
        *out = ss_program_stream_begin(g, o->number, o->a);
        break;
    case NODE_STREAM_END:
        *out = ss_program_stream_end(g, o->number, o->a);
        break;
    }
    return is_below(r, indent) ? token_expected(&r->lex, "nothing below the line before") : EMU_OK;
}

/* usual: the scope of a node that names none. */
static enum emu_status read_node(struct graph_reader *r, uint32_t usual, struct program *out)
{
    struct read_operands o = { 0 };
    unsigned indent = r->lex.indent;
    struct graph_place place = token_place(&r->lex);
    uint32_t scope;
    int kind = token_take_row(&r->lex, node_words, NODE_WORDS);

    if (kind < 0)
        return token_expected(&r->lex,
                              "sequence, execute, copy, repeat, while, if, call, together, "
                              "stream, begin stream, end stream or meet");
    TRY(reader_enter(r));
    TRY(read_operands(r, (enum node_kind)kind, &o));
    TRY(read_scope_end(r, usual, &scope));
    token_line(&r->lex);
    TRY(read_below(r, (enum node_kind)kind, &o, indent, scope, out));
    r->depth--;
    if (r->g->status != EMU_OK) {
        token_return(&r->lex, place);
        return reader_status(r);
    }
    r->g->node.at[out->node].scope = scope;
    return EMU_OK;
}

enum emu_status read_function(struct graph_reader *r)
{
    const char *name;
    char *copy;
    struct program body;
    uint32_t number;

    TRY(read_title(r, NAME_FUNCTION, &name));
    TRY(token_end(&r->lex));
    copy = prog_strdup(&r->g->arena, name);
    if (!copy)
        return FAIL(NO_MEMORY, "a function");
    token_line(&r->lex);
    TRY(read_only(r, 0, names_scope(&r->names[NAME_SCOPE], copy), &body));
    number = ss_graph_function(r->g, body, copy);
    TRY(reader_status(r));
    return names_add(&r->names[NAME_FUNCTION], copy, number);
}

enum emu_status read_program(struct graph_reader *r)
{
    struct program p;

    TRY(token_end(&r->lex));
    if (r->g->program != GRAPH_NONE)
        return token_wrong(&r->lex, "a second program");
    token_line(&r->lex);
    if (!is_below(r, 0))
        return EMU_OK;
    TRY(read_only(r, 0, 0, &p));
    ss_graph_set_program(r->g, p);
    return reader_status(r);
}
