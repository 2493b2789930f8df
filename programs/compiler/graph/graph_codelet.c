/* graph_codelet.c - codelets that the user of a graph brings along: their description is checked,
 * their files are read. */
#include "programs/compiler/graph/graph_private.h"

#include <string.h>

const struct codelet *graph_codelet(const struct graph *g, const char *name)
{
    if (!g)
        return NULL;
    for (size_t i = 0; i < g->own.count; i++) {
        if (!strcmp(g->own.at[i]->name, name))
            return g->own.at[i];
    }
    return g->library->find(name);
}

/* ---- fields ---- */

static int has_elements(enum field_kind k)
{
    return field_is_edge(k) || field_is_list(k);
}

/* Whether there is an edge or a list of this name. */
static int is_target(const struct own_codelet *c, const char *name)
{
    for (unsigned i = 0; name && i < c->fields; i++) {
        if (has_elements(c->field[i].kind) && !strcmp(c->field[i].name, name))
            return 1;
    }
    return 0;
}

static int check_field(struct graph *g, const struct own_codelet *c, unsigned k)
{
    const struct own_field *f = &c->field[k];
    const char *what = NULL;

    if (!f->name || !*f->name || f->kind > FIELD_APART)
        what = "has a name and a kind";
    else if (has_elements(f->kind) && (unsigned)f->elem >= ELEM_COUNT)
        what = "has a type of elements";
    else if (f->align > 16 || f->align & (f->align - 1))
        what = "is aligned to 1, 2, 4, 8 or 16 bytes";
    else if (f->kind == FIELD_LENGTH && !is_target(c, f->other))
        what = "counts the elements of an edge or a list";
    else if (f->kind == FIELD_APART && (!is_target(c, f->name) || !is_target(c, f->other)))
        what = "keeps two edges apart";
    if (what) {
        GRAPH_FAIL(g, "codelet %s: expected that field %u, %s, %s", c->name, k,
                   f->name ? f->name : "?", what);
        return 0;
    }
    for (unsigned i = 0; i < k && f->kind != FIELD_APART; i++) {
        if (c->field[i].kind != FIELD_APART && !strcmp(c->field[i].name, f->name)) {
            GRAPH_FAIL(g, "codelet %s: two fields %s", c->name, f->name);
            return 0;
        }
    }
    return 1;
}

static int check(struct graph *g, const struct own_codelet *c)
{
    if (!c->name || !*c->name || !c->files || c->kind > CODELET_SUPERVISOR ||
        c->fields > CODELET_MAX_FIELDS) {
        GRAPH_FAIL(g, "a codelet of one's own: expected a name, files, and at most %d fields",
                   CODELET_MAX_FIELDS);
        return 0;
    }
    if (graph_codelet(g, c->name)) {
        GRAPH_FAIL(g, "codelet %s: there is one of this name", c->name);
        return 0;
    }
    for (unsigned k = 0; k < c->fields; k++) {
        if (!check_field(g, c, k))
            return 0;
    }
    return 1;
}

/* The fields as the compiler knows them, in the arena; NULL when out of memory. */
static const struct codelet_field *copy_fields(struct graph *g, const struct own_codelet *c)
{
    struct codelet_field *out = prog_alloc(&g->arena, c->fields + 1, sizeof(*out));

    for (unsigned k = 0; out && k < c->fields; k++) {
        const struct own_field *f = &c->field[k];

        out[k] = (struct codelet_field){
            .kind = f->kind,
            .name = prog_strdup(&g->arena, f->name),
            .elem = f->elem,
            .align = f->align                ? f->align
                     : has_elements(f->kind) ? ss_elem_bytes(f->elem)
                                             : sizeof(uint32_t),
            .region = ANY,
            .other = f->other ? prog_strdup(&g->arena, f->other) : NULL,
        };
        if (!out[k].name || (f->other && !out[k].other))
            return NULL;
    }
    return out;
}

/* ---- files ---- */

/* Makes an object of the text of a source. *data is replaced, and owned by the caller. */
static enum emu_status assemble(const struct graph *g, const char *path, char **data, size_t *bytes)
{
    const struct asm_options o = { .arch = &g->arch, .preprocessed = 1 };
    struct asm_unit *u;
    enum emu_status s;
    uint8_t *object;

    TRY(asm_unit_new(&o, &u));
    s = asm_unit_add_text(u, path, *data, *bytes);
    if (s == EMU_OK)
        s = asm_unit_object(u, &object, bytes);
    asm_unit_free(u);
    TRY(s);
    ss_free(*data);
    *data = (char *)object;
    return EMU_OK;
}

/* Reads a file as an object, whatever it is. *data: owned by the caller, also after an error. */
static enum emu_status read_object(const struct graph *g, const char *path, char **data,
                                   size_t *bytes)
{
    const struct asm_options o = { .arch = &g->arch };
    struct asm_unit *u;
    enum emu_status s;

    *data = NULL;
    TRY(asm_unit_new(&o, &u));
    s = asm_unit_preprocess(u, path, NULL, 0, data, bytes);
    if (s == EMU_OK && asm_is_object(*data, *bytes))
        s = asm_unit_add_object(u, path, *data, *bytes);
    else if (s == EMU_OK)
        s = assemble(g, path, data, bytes);
    asm_unit_free(u);
    return s;
}

static const struct codelet_file *add_file(struct graph *g, const char *path)
{
    struct codelet_file *f;
    enum emu_status s;
    char *data;

    for (size_t i = 0; i < g->own_file.count; i++) {
        if (!strcmp(g->own_file.at[i]->name, path))
            return g->own_file.at[i];
    }
    f = prog_alloc(&g->arena, 1, sizeof(*f));
    if (!f || VEC_ROOM(&g->own_file) != EMU_OK || !(f->name = prog_strdup(&g->arena, path))) {
        graph_fail_memory(g, path);
        return NULL;
    }
    s = read_object(g, path, &data, &f->bytes);
    if (s != EMU_OK) {
        ss_graph_fail(g, s, "%s", ss_error());
        ss_free(data);
        return NULL;
    }
    f->data = data;
    g->own_file.at[g->own_file.count++] = f;
    return f;
}

void ss_graph_add_codelet(struct graph *g, const struct own_codelet *c)
{
    const struct codelet_file **file;
    struct codelet *out;

    if (!graph_works(g) || !check(g, c))
        return;
    out = prog_alloc(&g->arena, 1, sizeof(*out));
    file = prog_alloc(&g->arena, c->files, sizeof(struct codelet_file *));
    if (!out || !file) {
        graph_fail_memory(g, c->name);
        return;
    }
    for (unsigned i = 0; i < c->files; i++) {
        file[i] = add_file(g, c->file[i]);
        if (!file[i])
            return;
    }
    *out = (struct codelet){ .name = prog_strdup(&g->arena, c->name),
                             .kind = c->kind,
                             .time = TIME_DATA,
                             .text = "",
                             .field = copy_fields(g, c),
                             .fields = c->fields,
                             .ref = c->meaning,
                             .file = file,
                             .files = c->files,
                             .stack_bytes = c->stack_bytes };
    if (!out->name || !out->field || VEC_PUSH(&g->own, out) != EMU_OK)
        graph_fail_memory(g, c->name);
}
