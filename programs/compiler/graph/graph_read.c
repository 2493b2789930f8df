/* graph_read.c - graph files (docs/programs/graph_format.md) as graphs: what is at the beginning of
 * a line. Things are made by the functions that users call; what those refuse is refused with the
 * line.
 */
#include "programs/compiler/graph/graph_read.h"

#include <string.h>
#include <unistd.h>

#include "programs/compiler/graph_file.h"

enum { DEPTH_MAX = 128, FILES_MAX = 16 };

/* ---- what all readers need ---- */

enum emu_status reader_status(const struct graph_reader *r)
{
    const struct graph *g = r->g;

    if (g->status == EMU_OK)
        return EMU_OK;
    return ss_fail(g->status == EMU_BAD_PROGRAM ? EMU_BAD_FILE : g->status, "%s:%u: %s",
                   r->lex.file, r->lex.line, g->error ? g->error : ss_status_text(g->status));
}

enum emu_status reader_enter(struct graph_reader *r)
{
    return ++r->depth <= DEPTH_MAX
               ? EMU_OK
               : token_wrong(&r->lex, "more than %d within each other", DEPTH_MAX);
}

enum emu_status read_reference(struct graph_reader *r, enum name_kind kind, uint32_t *number)
{
    const char *name;
    char what[32];
    uint32_t count;

    snprintf(what, sizeof(what), "the name of a %s", name_words[kind]);
    TRY(token_name(&r->lex, what, &name));
    *number = names_find(&r->names[kind], name, &count);
    if (!count)
        return token_wrong(&r->lex, "there is no %s %.200s above this line", name_words[kind],
                           name);
    if (r->lex.at < r->lex.eol && *r->lex.at == '#') {
        r->lex.at++;
        TRY(token_u32(&r->lex, "a number", number));
        if (*number < name_count(r->g, kind) && !strcmp(name_of(r->g, kind, *number), name))
            return EMU_OK;
        return token_wrong(&r->lex, "%s %u is not called %.200s", name_words[kind], *number, name);
    }
    if (count > 1)
        return token_wrong(&r->lex, "%u %ss are called %.200s; %.200s#%u is the first", count,
                           name_words[kind], name, name, *number);
    return EMU_OK;
}

enum emu_status read_title(struct graph_reader *r, enum name_kind kind, const char **name)
{
    uint32_t number, next = name_count(r->g, kind);
    char what[32];

    if (token_is_number(&r->lex)) {
        const char *at = r->lex.at;

        TRY(token_u32(&r->lex, "a number", &number));
        if (number != next) {
            r->lex.at = at;
            return token_expected(&r->lex, "%u, the number of the next %s, or no number", next,
                                  name_words[kind]);
        }
    }
    snprintf(what, sizeof(what), "the name of a %s", name_words[kind]);
    return token_name(&r->lex, what, name);
}

enum emu_status read_scope_end(struct graph_reader *r, uint32_t usual, uint32_t *scope)
{
    *scope = usual;
    if (token_take(&r->lex, "in"))
        TRY(read_reference(r, NAME_SCOPE, scope));
    return token_end(&r->lex);
}

/* A file is looked for beside the graph file, else where its name says, which may be one that is
 * built in. */
static enum emu_status read_path(struct graph_reader *r, const char **out)
{
    const char *slash = strrchr(r->source->name, '/'), *name;
    size_t folder = slash ? (size_t)(slash + 1 - r->source->name) : 0, bytes;
    char *path;

    TRY(token_name(&r->lex, "a file", &name));
    if (r->source->no_files)
        return token_wrong(&r->lex, "file %.200s: no files are read here", name);
    folder = *name == '/' ? 0 : folder;
    bytes = folder + strlen(name) + 1;
    path = prog_alloc(&r->g->arena, bytes, 1);
    if (!path)
        return FAIL(NO_MEMORY, "a path");
    memcpy(path, r->source->name, folder);
    memcpy(path + folder, name, bytes - folder);
    *out = access(path, F_OK) ? path + folder : path;
    return EMU_OK;
}

/* ---- scopes, groups ---- */

static enum emu_status read_scope(struct graph_reader *r)
{
    uint32_t parent, number = (uint32_t)r->g->scope.count;
    const char *name;
    char *path;

    TRY(read_title(r, NAME_SCOPE, &name));
    path = prog_strdup(&r->g->arena, name);
    if (!path)
        return FAIL(NO_MEMORY, "a scope");
    TRY(read_scope_end(r, 0, &parent));
    TRY(VEC_PUSH(&r->g->scope, (struct scope){ .path = path, .parent = parent }));
    TRY(names_add(&r->names[NAME_SCOPE], path, number));
    token_line(&r->lex);
    return EMU_OK;
}

/* "tiles 0 to 15" or "tile 3" */
static enum emu_status read_tiles(struct graph_reader *r, uint32_t *first, uint32_t *last)
{
    int many = token_take(&r->lex, "tiles");
    uint64_t n, end = r->g->arch.tiles - 1;

    if (!many && !token_take(&r->lex, "tile"))
        return token_expected(&r->lex, "'tile' or 'tiles'");
    TRY(token_number(&r->lex, "a tile", 0, end, &n));
    *first = *last = (uint32_t)n;
    if (!many)
        return EMU_OK;
    TRY(token_need(&r->lex, "to"));
    TRY(token_number(&r->lex, "a tile", *first, end, &n));
    *last = (uint32_t)n;
    return EMU_OK;
}

static enum emu_status read_group(struct graph_reader *r)
{
    uint32_t group, first, last;

    TRY(token_u32(&r->lex, "a group", &group));
    TRY(read_tiles(r, &first, &last));
    TRY(token_end(&r->lex));
    ss_graph_set_group(r->g, first, last - first + 1, group);
    TRY(reader_status(r));
    token_line(&r->lex);
    return EMU_OK;
}

static enum emu_status read_nan(struct graph_reader *r)
{
    TRY(token_need(&r->lex, "on"));
    TRY(token_need(&r->lex, "overflow"));
    TRY(token_end(&r->lex));
    ss_graph_set_nan_on_overflow(r->g);
    token_line(&r->lex);
    return EMU_OK;
}

/* ---- variables ---- */

/* Contents as they are read. */
struct contents_read {
    uint64_t elements; /* that are expected; 0: there are none */
    VEC(uint8_t) data;
};

/* Behind "[": elements on tiles. */
static enum emu_status read_map(struct graph_reader *r, uint32_t var)
{
    struct variable *v = &r->g->variable.at[var];
    struct map_run run;
    uint32_t first, last;
    uint64_t each;

    TRY(token_number(&r->lex, "the number of an element", 0, v->elements, &run.begin));
    TRY(token_need(&r->lex, ":"));
    TRY(token_number(&r->lex, "the end of a run", run.begin, v->elements, &run.end));
    TRY(token_need(&r->lex, "]"));
    TRY(token_need(&r->lex, "on"));
    if (token_take(&r->lex, "no"))
        return token_need(&r->lex, "tile");
    TRY(read_tiles(r, &first, &last));
    each = run.end - run.begin;
    if (first != last) {
        TRY(token_need(&r->lex, ","));
        TRY(token_number(&r->lex, "the elements of a tile", 1, v->elements, &each));
        TRY(token_need(&r->lex, "each"));
        if ((run.end - run.begin + each - 1) / each != last - first + 1)
            return token_wrong(&r->lex, "%llu elements, %llu each, are not for %u tiles",
                               (unsigned long long)(run.end - run.begin), (unsigned long long)each,
                               last - first + 1);
    }
    for (uint64_t end = run.end, at = run.begin; at < end; at += each) {
        run = (struct map_run){ at, end - at < each ? end : at + each, first++ };
        TRY(variable_map_run(v, &run));
    }
    return EMU_OK;
}

/* Behind "=": numbers up to the end of the line. */
static enum emu_status read_numbers(struct graph_reader *r, enum elem e, struct contents_read *c)
{
    unsigned unit = ss_elem_bytes(e);

    if (!c->elements)
        return token_wrong(&r->lex, "numbers of a variable whose line does not say 'contents'");
    while (!token_is_end(&r->lex)) {
        uint32_t bits;

        if (c->data.count == c->elements * unit)
            return token_expected(&r->lex, "%llu numbers", (unsigned long long)c->elements);
        TRY(token_element(&r->lex, e, &bits));
        for (unsigned k = 0; k < unit; k++)
            TRY(VEC_PUSH(&c->data, (uint8_t)(bits >> 8 * k)));
    }
    return EMU_OK;
}

/* The lines below that of a variable; *line: the last of them. */
static enum emu_status read_variable_lines(struct graph_reader *r, uint32_t var,
                                           struct contents_read *c)
{
    enum elem e = r->g->variable.at[var].elem;

    for (token_line(&r->lex); !r->lex.done && r->lex.indent; token_line(&r->lex)) {
        if (token_take(&r->lex, "["))
            TRY(read_map(r, var));
        else if (token_take(&r->lex, "="))
            TRY(read_numbers(r, e, c));
        else
            return token_expected(&r->lex, "'[' and a mapping, or '=' and numbers");
        TRY(token_end(&r->lex));
    }
    return EMU_OK;
}

/* Behind "from": a .npy file with as many numbers. */
static enum emu_status read_npy(struct graph_reader *r, enum elem e, struct contents_read *c)
{
    const char *path;
    struct npy_array a;
    void *file = NULL;
    uint8_t *room;
    enum emu_status s;

    TRY(read_path(r, &path));
    s = npy_load(path, &file, &a);
    if (s == EMU_OK && (a.fortran || a.elements != c->elements))
        s = FAIL(BAD_FILE, "%s: expected %llu numbers in C order", path,
                 (unsigned long long)c->elements);
    if (s == EMU_OK) {
        room = emu_alloc(a.elements + 1, ss_elem_bytes(e));
        s = room ? elements_of_npy(&a, e, path, room) : FAIL(NO_MEMORY, "%s", path);
        c->data.at = room;
        c->data.count = c->data.cap = a.elements * ss_elem_bytes(e);
    }
    ss_free(file);
    return s == EMU_OK ? EMU_OK : ss_fail(s, "%s:%u: %s", r->lex.file, r->lex.line, ss_error());
}

/* Behind "contents": "4 times", "from x.npy" */
static enum emu_status read_contents(struct graph_reader *r, const struct variable *v,
                                     struct contents_read *c)
{
    uint64_t times;

    c->elements = v->elements;
    if (token_is_number(&r->lex)) {
        if (!v->constant || !v->rank)
            return token_expected(&r->lex, "the end of the line");
        TRY(token_number(&r->lex, "the size of the first dimension,", v->shape[0], v->shape[0],
                         &times));
        TRY(token_need(&r->lex, "times"));
        c->elements = times ? v->elements / times : 0;
    }
    return token_take(&r->lex, "from") ? read_npy(r, v->elem, c) : EMU_OK;
}

static enum emu_status read_flags(struct graph_reader *r, struct variable *v,
                                  struct contents_read *c)
{
    for (;;) {
        if (token_take(&r->lex, "kept"))
            v->kept = 1;
        else if (token_take(&r->lex, "input"))
            v->input = 1;
        else if (token_take(&r->lex, "contents"))
            return read_contents(r, v, c);
        else
            return EMU_OK;
    }
}

static enum emu_status read_variable_body(struct graph_reader *r, uint32_t var,
                                          struct contents_read *c)
{
    struct graph_place place = token_place(&r->lex);
    struct variable *v = &r->g->variable.at[var];
    uint64_t bytes;

    TRY(read_flags(r, v, c));
    TRY(read_scope_end(r, names_scope(&r->names[NAME_SCOPE], v->name), &v->scope));
    if (v->constant && !c->elements && v->elements)
        return token_wrong(&r->lex, "expected 'contents' of a constant");
    TRY(read_variable_lines(r, var, c));
    bytes = c->elements * ss_elem_bytes(v->elem);
    if (c->data.count != bytes) {
        token_return(&r->lex, place);
        return token_wrong(&r->lex, "expected %llu numbers below %s, found %zu",
                           (unsigned long long)c->elements, v->name,
                           c->data.count / ss_elem_bytes(v->elem));
    }
    if (c->elements || v->constant)
        variable_set_contents(r->g, v, c->data.at, c->elements);
    return reader_status(r);
}

static enum emu_status read_variable_of(struct graph_reader *r, int constant)
{
    struct contents_read c = { .elements = 0 };
    uint32_t shape[TENSOR_MAX_RANK], var = (uint32_t)r->g->variable.count;
    const char *name;
    char *copy;
    unsigned rank;
    enum elem e;
    enum emu_status s;

    TRY(read_title(r, NAME_VARIABLE, &name));
    copy = prog_strdup(&r->g->arena, name);
    if (!copy)
        return FAIL(NO_MEMORY, "a variable");
    TRY(token_elem(&r->lex, &e));
    TRY(token_shape(&r->lex, &rank, shape));
    (void)ss_graph_variable(r->g, e, rank, shape, copy);
    TRY(reader_status(r));
    TRY(names_add(&r->names[NAME_VARIABLE], copy, var));
    r->g->variable.at[var].constant = (uint8_t)constant;
    s = read_variable_body(r, var, &c);
    VEC_FREE(&c.data);
    return s;
}

static enum emu_status read_variable(struct graph_reader *r)
{
    return read_variable_of(r, 0);
}

static enum emu_status read_constant(struct graph_reader *r)
{
    return read_variable_of(r, 1);
}

static enum emu_status read_stream(struct graph_reader *r)
{
    uint32_t depth, stream, scope, usual;
    uint64_t elements;
    const char *name;
    enum elem e;
    int out;

    TRY(read_title(r, NAME_STREAM, &name));
    usual = names_scope(&r->names[NAME_SCOPE], name);
    out = token_take(&r->lex, "out");
    if (!out)
        TRY(token_need(&r->lex, "in"));
    TRY(token_elem(&r->lex, &e));
    TRY(token_need(&r->lex, "["));
    TRY(token_number(&r->lex, "elements of a transfer", 1, UINT32_MAX, &elements));
    TRY(token_need(&r->lex, "]"));
    TRY(token_need(&r->lex, "depth"));
    TRY(token_u32(&r->lex, "transfers", &depth));
    stream = ss_graph_stream(r->g, out ? STREAM_OUT : STREAM_IN, e, elements, depth, name);
    TRY(reader_status(r));
    TRY(read_scope_end(r, usual, &scope));
    r->g->stream.at[stream].scope = scope;
    TRY(names_add(&r->names[NAME_STREAM], r->g->stream.at[stream].name, stream));
    token_line(&r->lex);
    return EMU_OK;
}

/* "NAME send f32 [256] replica back 1" */
static enum emu_status read_channel(struct graph_reader *r)
{
    struct channel c = { .replica = 0 };
    const char *name;
    char *copy;
    uint64_t n;
    int way, back;

    TRY(token_name(&r->lex, "the name of a channel", &name));
    copy = prog_strdup(&r->g->arena, name);
    if (!copy)
        return FAIL(NO_MEMORY, "a channel");
    way = token_take_row(&r->lex, channel_words, CHANNEL_WORDS);
    if (way < 0)
        return token_expected(&r->lex, "send or receive");
    TRY(token_elem(&r->lex, &c.elem));
    TRY(token_need(&r->lex, "["));
    TRY(token_number(&r->lex, "elements of an exchange", 1, UINT32_MAX, &c.elements));
    TRY(token_need(&r->lex, "]"));
    if (token_take(&r->lex, "replica")) {
        back = token_take(&r->lex, "back");
        TRY(token_number(&r->lex, "a number of replicas", 0, CHANNEL_REPLICAS_MAX, &n));
        c.replica = back ? -(int32_t)n : (int32_t)n;
    }
    (void)ss_graph_channel(r->g, (enum channel_way)way, c.elem, c.elements, c.replica, copy);
    TRY(reader_status(r));
    TRY(token_end(&r->lex));
    token_line(&r->lex);
    return EMU_OK;
}

/* ---- codelets ---- */

struct codelet_read {
    struct own_codelet codelet;
    struct own_field field[CODELET_MAX_FIELDS];
    const char *file[FILES_MAX];
};

/* A name, kept as long as the graph. */
static enum emu_status read_kept_name(struct graph_reader *r, const char *what, const char **out)
{
    const char *name;

    TRY(token_name(&r->lex, what, &name));
    *out = prog_strdup(&r->g->arena, name);
    return *out ? EMU_OK : FAIL(NO_MEMORY, "a name");
}

static enum emu_status read_codelet_field(struct graph_reader *r, struct codelet_read *c)
{
    struct own_field *f = &c->field[c->codelet.fields];
    int kind = token_take_row(&r->lex, field_words, FIELD_WORDS_COUNT);

    if (kind < 0)
        return token_expected(&r->lex, "in, out, inout, in_list, out_list, words, u32, f32, f16, "
                                       "length or apart");
    if (c->codelet.fields++ == CODELET_MAX_FIELDS)
        return token_wrong(&r->lex, "expected at most %d fields", CODELET_MAX_FIELDS);
    *f = (struct own_field){ .kind = (enum field_kind)kind };
    TRY(read_kept_name(r, "the name of a field", &f->name));
    if (field_is_edge(f->kind) || field_is_list(f->kind))
        TRY(token_elem(&r->lex, &f->elem));
    if (token_take(&r->lex, "align"))
        TRY(token_u32(&r->lex, "bytes", &f->align));
    if (f->kind == FIELD_LENGTH || f->kind == FIELD_APART) {
        TRY(token_need(&r->lex, f->kind == FIELD_LENGTH ? "of" : "from"));
        TRY(read_kept_name(r, "the name of a field", &f->other));
    }
    return token_end(&r->lex);
}

static enum emu_status read_codelet(struct graph_reader *r)
{
    struct codelet_read c = { .codelet = { .kind = CODELET_MULTI } };
    struct graph_place place = token_place(&r->lex);

    TRY(read_kept_name(r, "the name of a codelet", &c.codelet.name));
    if (token_take(&r->lex, codelet_kind_word(CODELET_SUPERVISOR)))
        c.codelet.kind = CODELET_SUPERVISOR;
    else
        TRY(token_need(&r->lex, codelet_kind_word(CODELET_MULTI)));
    if (token_take(&r->lex, "stack"))
        TRY(token_u32(&r->lex, "bytes", &c.codelet.stack_bytes));
    TRY(token_need(&r->lex, "from"));
    do {
        if (c.codelet.files == FILES_MAX)
            return token_expected(&r->lex, "at most %d files", FILES_MAX);
        TRY(read_path(r, &c.file[c.codelet.files++]));
    } while (token_take(&r->lex, ","));
    TRY(token_end(&r->lex));
    for (token_line(&r->lex); !r->lex.done && r->lex.indent; token_line(&r->lex))
        TRY(read_codelet_field(r, &c));
    c.codelet.file = c.file;
    c.codelet.field = c.field;
    ss_graph_add_codelet(r->g, &c.codelet);
    if (r->g->status != EMU_OK)
        token_return(&r->lex, place);
    return reader_status(r);
}

/* ---- the file ---- */

/* What the first lines say: "superstep-graph 1", "machine toy16 tiles 16 chips 2". */
struct file_head {
    const char *name; /* of the machine; valid until the next name */
    uint64_t tiles;   /* 0: the file does not say it */
    uint64_t chips;
};

static enum emu_status read_head(struct graph_lexer *x, struct file_head *out)
{
    uint64_t version;

    *out = (struct file_head){ .chips = 1 };
    token_line(x);
    if (x->done)
        x->line = 1;
    TRY(token_need(x, GRAPH_FILE_WORD));
    TRY(token_number(x, "version", GRAPH_FILE_VERSION, GRAPH_FILE_VERSION, &version));
    TRY(token_end(x));
    token_line(x);
    TRY(token_need(x, "machine"));
    TRY(token_name(x, "the name of a machine", &out->name));
    if (token_take(x, "tiles"))
        TRY(token_number(x, "tiles", 1, UINT32_MAX, &out->tiles));
    if (token_take(x, "chips"))
        TRY(token_number(x, "chips", 1, CHANNEL_REPLICAS_MAX + 1, &out->chips));
    return token_end(x);
}

static struct graph_lexer lexer_of(const struct graph_source *s)
{
    return (struct graph_lexer){ .file = s->name, .next = s->text, .end = s->text + s->bytes };
}

/* Sets a field of a machine that the head names. */
static enum emu_status head_set(const struct graph_lexer *x, struct arch *a, const char *field,
                                uint64_t value)
{
    char set[40];

    snprintf(set, sizeof(set), "%s=%llu", field, (unsigned long long)value);
    if (ss_arch_set(a, set) == EMU_OK && ss_arch_check(a) == EMU_OK)
        return EMU_OK;
    return ss_fail(EMU_BAD_MACHINE, "%s:%u: %s", x->file, x->line, ss_error());
}

static enum emu_status head_machine(struct graph_lexer *x, struct file_head *head, struct arch *out)
{
    const struct arch *a;

    TRY(read_head(x, head));
    a = ss_arch_preset(head->name);
    if (!a)
        return token_wrong(x, "machine %.100s is not built in: --machine says which file has it",
                           head->name);
    *out = *a;
    if (head->tiles && head->tiles != a->tiles)
        TRY(head_set(x, out, "tiles", head->tiles));
    return head->chips > 1 ? head_set(x, out, "chips", head->chips) : EMU_OK;
}

enum emu_status ss_graph_read_machine(const struct graph_source *source, struct arch *out)
{
    struct graph_lexer x = lexer_of(source);
    struct file_head head;
    enum emu_status s = head_machine(&x, &head, out);

    VEC_FREE(&x.name);
    return s;
}

enum emu_status ss_graph_read_chips(const struct graph_source *source, unsigned *out)
{
    struct graph_lexer x = lexer_of(source);
    struct file_head head;
    enum emu_status s = read_head(&x, &head);

    VEC_FREE(&x.name);
    *out = s == EMU_OK ? (unsigned)head.chips : 0;
    return s;
}

static enum emu_status read_thing(struct graph_reader *r)
{
    static const struct {
        const char *word;
        enum emu_status (*read)(struct graph_reader *r);
    } things[] = {
        { "group", read_group },         { "nan", read_nan },
        { "codelet", read_codelet },     { "scope", read_scope },
        { "variable", read_variable },   { "constant", read_constant },
        { "stream", read_stream },       { "channel", read_channel },
        { "compute", read_compute_set }, { "function", read_function },
        { "program", read_program },
    };

    if (r->lex.indent)
        return token_expected(&r->lex, "no spaces before this line");
    for (size_t i = 0; i < EMU_COUNT_OF(things); i++) {
        if (token_take(&r->lex, things[i].word))
            return things[i].read(r);
    }
    return token_expected(&r->lex,
                          "group, nan, codelet, scope, variable, constant, stream, channel, "
                          "compute set, function or program");
}

static void forget_names(struct graph_reader *r)
{
    for (int kind = 0; kind < NAME_KINDS; kind++)
        names_free(&r->names[kind]);
    memset(r->names, 0, sizeof(r->names));
    r->vertex.count = 0;
}

/* What is up to the end of the file or to the line of another chip, where it ends. */
static enum emu_status read_graph(struct graph_reader *r, const struct arch *arch,
                                  const struct codelet_library *library, struct graph **out)
{
    struct graph_place end;
    int done;

    TRY(ss_graph_new(arch, library, &r->g));
    *out = r->g;
    TRY(names_add(&r->names[NAME_SCOPE], "", 0));
    while (!r->lex.done && (r->lex.indent || !token_is(&r->lex, "chip")))
        TRY(read_thing(r));
    done = r->lex.done;
    end = token_place(&r->lex);
    TRY(read_vertices(r)); /* goes back to their lines */
    if (!done)
        token_return(&r->lex, end);
    r->lex.done = done;
    forget_names(r);
    return EMU_OK;
}

/* "chip 1" */
static enum emu_status read_chip_line(struct graph_reader *r, unsigned chip)
{
    uint64_t n;

    TRY(token_need(&r->lex, "chip"));
    TRY(token_number(&r->lex, "the number of the next chip,", chip, chip, &n));
    TRY(token_end(&r->lex));
    token_line(&r->lex);
    return EMU_OK;
}

/* Graphs of a file, as long as it is read. */
struct graphs_read {
    struct graph **g; /* owned, also what is in it */
    unsigned n;
};

static enum emu_status read_graphs(struct graph_reader *r, const struct arch *arch,
                                   const struct codelet_library *library, unsigned chips,
                                   struct graphs_read *out)
{
    out->g = emu_alloc((size_t)chips + 1, sizeof(struct graph *));
    if (!out->g)
        return FAIL(NO_MEMORY, "%u graphs", chips);
    for (; out->n < chips; out->n++) {
        if (chips > 1)
            TRY(read_chip_line(r, out->n));
        TRY(read_graph(r, arch, library, &out->g[out->n]));
    }
    return r->lex.done ? EMU_OK
                       : token_expected(&r->lex, "the end of the file: the machine has %u chip%s",
                                        chips, chips == 1 ? "" : "s");
}

/* arch: NULL: that of the file. */
static enum emu_status read_all(struct graph_reader *r, const struct arch *arch,
                                const struct codelet_library *library, uint64_t most,
                                struct graphs_read *out)
{
    struct file_head head;
    struct arch own;

    if (arch)
        TRY(read_head(&r->lex, &head));
    else
        TRY(head_machine(&r->lex, &head, &own));
    if (head.chips > most)
        return token_wrong(&r->lex, "a program of %llu chips: expected one of one chip",
                           (unsigned long long)head.chips);
    token_line(&r->lex);
    return read_graphs(r, arch ? arch : &own, library, (unsigned)head.chips, out);
}

static enum emu_status read_source(const struct graph_source *source, const struct arch *arch,
                                   const struct codelet_library *library, uint64_t most,
                                   struct graphs_read *out)
{
    struct graph_reader r = { .lex = lexer_of(source), .source = source };
    enum emu_status s = read_all(&r, arch, library, most, out);

    forget_names(&r);
    VEC_FREE(&r.vertex);
    VEC_FREE(&r.lex.name);
    if (s == EMU_OK)
        return EMU_OK;
    for (unsigned k = 0; out->g && k <= out->n; k++)
        ss_graph_free(out->g[k]);
    ss_free(out->g);
    *out = (struct graphs_read){ 0 };
    return s;
}

enum emu_status ss_graph_read(const struct graph_source *source, const struct arch *arch,
                              const struct codelet_library *library, struct graph **out)
{
    struct graphs_read x = { 0 };

    *out = NULL;
    TRY(read_source(source, arch, library, 1, &x));
    *out = x.g[0];
    ss_free(x.g);
    return EMU_OK;
}

enum emu_status ss_graphs_read(const struct graph_source *source, const struct arch *arch,
                               const struct codelet_library *library, struct graph ***out,
                               unsigned *chips)
{
    struct graphs_read x = { 0 };
    enum emu_status s = read_source(source, arch, library, UINT64_MAX, &x);

    *out = x.g;
    *chips = x.n;
    return s;
}

void ss_graphs_free(struct graph **g, unsigned chips)
{
    for (unsigned k = 0; g && k < chips; k++)
        ss_graph_free(g[k]);
    ss_free(g);
}

/* ---- what goes in and out ---- */

int ss_graph_port(const struct graph *g, size_t n, struct graph_port *out)
{
    *out = (struct graph_port){ .stream = GRAPH_NONE, .tensor = { GRAPH_NONE } };
    if (!g)
        return 0;
    if (n < g->variable.count) {
        const struct variable *v = &g->variable.at[n];

        out->name = v->name;
        out->elem = v->elem;
        out->tensor = v->whole;
        out->elements = v->elements;
        out->is_read = variable_stays(v) && !v->constant;
        out->is_written = v->kept || v->input || (v->initial && !v->constant);
        return 1;
    }
    n -= g->variable.count;
    if (n >= g->stream.count)
        return 0;
    out->name = g->stream.at[n].name;
    out->elem = g->stream.at[n].elem;
    out->elements = g->stream.at[n].elements;
    out->stream = (uint32_t)n;
    out->is_read = g->stream.at[n].way == STREAM_OUT;
    out->is_written = !out->is_read;
    return 1;
}
