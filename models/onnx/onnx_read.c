/* onnx_read.c - ONNX files as operator graphs: the model, the graph, and the order of the work. */
#include <string.h>

#include "emu/base/file_kind.h"
#include "models/onnx/onnx_reader.h"

/* What is kept for a file is at most this; the parts are priced in onnx_reader.h. What is computed
 * at once comes on top. */
enum { ROOM_PER_BYTE = 1, ROOM_MORE = 48 << 20 };
enum { FOLD_PER_BYTE = 2, FOLD_MORE = 16 << 20 };

/* What a model lies in. */
struct onnx_files {
    struct onnx_mapped main;
    struct onnx_folder folder;
};

void onnx_more_data(struct onnx_reader *r)
{
    r->g->fold_room += (uint64_t)(r->folder->bytes - r->outside) * FOLD_PER_BYTE;
    r->outside = r->folder->bytes;
}

enum emu_status onnx_keep(struct onnx_reader *r, uint64_t bytes)
{
    if (bytes > r->room)
        return FAIL(BAD_FILE, "what it asks for takes too much memory for a file of %zu bytes",
                    wire_length(r->source.all));
    r->room -= bytes;
    return EMU_OK;
}

/* --- the model ---------------------------------------------------------------------------- */

/* Parts of a model that are needed later. */
struct model_message {
    struct wire_span graph, producer, producer_version;
};

static enum emu_status model_field(struct onnx_reader *r, const struct wire_field *f,
                                   struct model_message *m)
{
    switch (f->number) {
    case ONNX_MODEL_IR_VERSION:
        r->model->ir_version = f->value;
        return EMU_OK;
    case ONNX_MODEL_PRODUCER:
        m->producer = f->bytes;
        return onnx_text_check(f->bytes);
    case ONNX_MODEL_PRODUCER_VERSION:
        m->producer_version = f->bytes;
        return onnx_text_check(f->bytes);
    case ONNX_MODEL_GRAPH:
        if (m->graph.at)
            return FAIL(BAD_FILE, "two graphs");
        m->graph = f->bytes;
        return EMU_OK;
    case ONNX_MODEL_OPSET:
        return onnx_opset_read(r, f->bytes, &r->model->opset);
    case ONNX_MODEL_FUNCTION:
        return onnx_function_read(r, f->bytes);
    default:
        return EMU_OK;
    }
}

/* A field that reaches beyond the end of the file. If a model had begun before it, the file was cut
 * off. */
static enum emu_status no_field(const struct onnx_reader *r)
{
    return r->model->ir_version ? FAIL(BAD_FILE, "it ends too early, or is damaged: %s", ss_error())
                                : FAIL(BAD_FILE, "no ONNX file: %s", ss_error());
}

static enum emu_status read_model(struct onnx_reader *r, struct model_message *m)
{
    struct wire_span rest = r->source.all;
    const char *kind = file_kind(rest.at, wire_length(rest), FILE_TO_RUN);
    struct wire_field f;

    if (kind)
        return FAIL(BAD_FILE, "no ONNX file, but %s", kind);
    for (;;) {
        if (onnx_next(&r->source, ONNX_MODEL, &rest, &f) != EMU_OK)
            return no_field(r);
        if (!f.number)
            break;
        TRY(model_field(r, &f, m));
    }
    if (!r->model->ir_version || !m->graph.at)
        return FAIL(BAD_FILE, "no ONNX file: it has no %s",
                    m->graph.at ? "version of the format" : "graph");
    if (!r->model->opset && r->model->ir_version < 3)
        r->model->opset = 1; /* files did not say it yet */
    r->model->producer =
        op_graph_text(r->g, "%.*s%s%.*s", ONNX_SHOWN(m->producer),
                      wire_length(m->producer_version) ? " " : "", ONNX_SHOWN(m->producer_version));
    return r->model->producer ? EMU_OK : FAIL(NO_MEMORY, "a text");
}

/* --- the graph ---------------------------------------------------------------------------- */

static enum emu_status graph_field(struct onnx_reader *r, const struct wire_field *f)
{
    switch (f->number) {
    case ONNX_GRAPH_NODE:
        return onnx_spans_add(r, &r->body.node, f->bytes, ONNX_NODES_MAX, "nodes");
    case ONNX_GRAPH_INITIALIZER:
        return onnx_spans_add(r, &r->initializer, f->bytes, ONNX_NODES_MAX, "initializers");
    case ONNX_GRAPH_INPUT: /* initializers are among them in old files */
        return onnx_spans_add(r, &r->input, f->bytes, ONNX_NODES_MAX, "inputs");
    case ONNX_GRAPH_OUTPUT:
        return onnx_spans_add(r, &r->output, f->bytes, ONNX_PORTS_MAX, "outputs");
    case ONNX_GRAPH_VALUE_INFO:
        return onnx_spans_add(r, &r->value_info, f->bytes, UINT32_MAX, "values");
    case ONNX_GRAPH_SPARSE:
        return FAIL(BAD_FILE, "sparse initializers are not built");
    default:
        return EMU_OK;
    }
}

/* Initializers are the first names, then come inputs that are none. */
static enum emu_status add_sources(struct onnx_reader *r)
{
    for (uint32_t k = 0; k < r->initializer.count; k++) {
        struct onnx_tensor t;
        enum emu_status s = onnx_tensor_parse(&r->source, r->initializer.at[k], &t);

        if (s == EMU_OK)
            s = onnx_body_source(r, &r->body, t.name);
        if (s == EMU_BAD_FILE)
            return FAIL(BAD_FILE, "initializer %.*s: %s", ONNX_SHOWN(t.name), ss_error());
        TRY(s);
    }
    for (uint32_t k = 0; k < r->input.count; k++) {
        struct wire_span name;

        TRY(onnx_input_name(r, r->input.at[k], &name));
        if (onnx_names_find(&r->body.names, name) >= r->initializer.count)
            TRY(onnx_body_source(r, &r->body, name));
    }
    return EMU_OK;
}

/* The names of the outputs: the file's, or those of a cut. */
static enum emu_status find_outputs(struct onnx_reader *r, struct wire_span **out, uint32_t *count)
{
    const struct onnx_options *o = r->options;

    *count = o->outputs ? o->outputs : r->output.count;
    *out = onnx_scratch(r, *count, sizeof(**out));
    if (!*out)
        return FAIL(NO_MEMORY, "%u outputs", *count);
    if (!*count)
        return FAIL(BAD_FILE, "it has no outputs");
    for (uint32_t k = 0; k < *count; k++) {
        const uint8_t *name = o->outputs ? (const uint8_t *)o->output[k] : NULL;

        if (!name)
            TRY(onnx_input_name(r, r->output.at[k], &(*out)[k]));
        else
            (*out)[k] = (struct wire_span){ name, name + strlen(o->output[k]) };
        if (name && onnx_names_find(&r->body.names, (*out)[k]) == ONNX_NAME_NONE)
            return FAIL(USAGE, "no value is called %s", o->output[k]);
    }
    return EMU_OK;
}

static enum emu_status add_outputs(struct onnx_reader *r, const uint32_t *value,
                                   const struct wire_span *output, uint32_t outputs)
{
    for (uint32_t k = 0; k < outputs; k++)
        TRY(op_graph_output(r->g, value[onnx_names_find(&r->body.names, output[k])]));
    return EMU_OK;
}

/* Adds a name to a list of texts unless it is there. Returns how many there are. */
static unsigned add_text(char list[][ONNX_TEXT_MAX + 1], unsigned n, const char *text)
{
    for (unsigned k = 0; k < n; k++) {
        if (!strcmp(list[k], text))
            return n;
    }
    snprintf(list[n], sizeof(list[n]), "%s", text);
    return n + 1;
}

/* Notes, for a version of the operators that is newer than the table, which operators may mean
 * something else in it. */
static enum emu_status refuse_version(struct onnx_reader *r)
{
    enum { LISTED = 6 };
    char op[LISTED + 1][ONNX_TEXT_MAX + 1], text[256] = "";
    unsigned ops = 0;
    size_t used = 0;

    for (uint32_t k = 0; k < r->body.node.count && ops <= LISTED; k++) {
        char name[ONNX_TEXT_MAX + 1];
        struct onnx_node n;

        TRY(onnx_node_read(r, r->body.node.at[k], &n));
        if (r->body.live[k])
            ops = add_text(op, ops, onnx_text_copy(n.op, name));
    }
    for (unsigned k = 0; k < ops && k < LISTED && used < sizeof(text); k++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.30s", k ? ", " : "", op[k]);
    return FAIL(BAD_FILE,
                "version %lld of the operators: %d to %d are known, and not what became of %s%s "
                "there; export it with opset_version=17, or convert it with "
                "onnx.version_converter.convert_version(model, 17)",
                (long long)r->model->opset, OP_VERSION_MIN, OP_VERSION_MAX,
                ops ? text : "its nodes", ops > LISTED ? " and others" : "");
}

static enum emu_status read_graph(struct onnx_reader *r, struct wire_span message)
{
    struct onnx_call call = { .body = &r->body, .version = r->model->opset };
    struct wire_span *output;
    struct wire_field f;
    uint32_t outputs;

    for (;;) {
        TRY(onnx_next(&r->source, ONNX_GRAPH, &message, &f));
        if (!f.number)
            break;
        TRY(graph_field(r, &f));
    }
    TRY(add_sources(r));
    TRY(onnx_body_check(r, &r->body));
    TRY(find_outputs(r, &output, &outputs));
    TRY(onnx_body_mark(r, &r->body, output, outputs));
    if (r->model->opset > OP_VERSION_MAX)
        return refuse_version(r);
    call.value = onnx_scratch(r, r->body.names.names, sizeof(*call.value));
    if (!call.value)
        return FAIL(NO_MEMORY, "%u values", r->body.names.names);
    memset(call.value, 0xff, r->body.names.names * sizeof(*call.value)); /* OP_NONE */
    TRY(onnx_sources_make(r, call.value));
    TRY(onnx_build(r, &call));
    TRY(add_outputs(r, call.value, output, outputs));
    return onnx_hints_compare(r, call.value);
}

/* --- the reading -------------------------------------------------------------------------- */

static enum emu_status read_all(struct onnx_reader *r)
{
    struct model_message m = { .graph = { NULL, NULL } };

    TRY(read_model(r, &m));
    TRY(onnx_functions_check(r));
    TRY(read_graph(r, m.graph));
    r->model->newer = r->source.skipped;
    return op_graph_check(r->g);
}

static void reader_free(struct onnx_reader *r)
{
    for (uint32_t k = 0; k < r->functions; k++) {
        struct onnx_function *f = &r->function[k];

        onnx_body_free(&f->body);
        onnx_spans_free(&f->input);
        onnx_spans_free(&f->output);
        onnx_spans_free(&f->attribute);
        onnx_spans_free(&f->preset);
    }
    ss_free(r->function);
    onnx_body_free(&r->body);
    onnx_spans_free(&r->initializer);
    onnx_spans_free(&r->input);
    onnx_spans_free(&r->output);
    onnx_spans_free(&r->value_info);
    onnx_modules_free(&r->modules);
    onnx_names_free(&r->node_names);
    onnx_scratch_free(r, 0);
    ss_free(r->scratch);
}

/* A model without a graph's contents, in no file. */
static enum emu_status model_new(const char *name, struct onnx_model **out)
{
    struct onnx_model *m = emu_alloc(1, sizeof(*m));

    *out = m;
    if (!m)
        return FAIL(NO_MEMORY, "a model");
    m->files = emu_alloc(1, sizeof(*m->files));
    if (!m->files)
        return FAIL(NO_MEMORY, "a model");
    m->files->folder.fd = -1;
    return op_graph_new(name, &m->graph);
}

static enum emu_status fill_model(struct onnx_model *m, struct wire_span all,
                                  const struct onnx_options *options)
{
    static const struct onnx_options defaults = { .batch = 0 };
    struct onnx_reader r = { .options = options ? options : &defaults,
                             .model = m,
                             .g = m->graph,
                             .folder = &m->files->folder };
    enum emu_status s;

    wire_source_init(&r.source, all.at, wire_length(all));
    r.room = (uint64_t)wire_length(all) * ROOM_PER_BYTE + ROOM_MORE;
    r.g->fold_room = (uint64_t)wire_length(all) * FOLD_PER_BYTE + FOLD_MORE;
    r.g->parameters_change = r.options->trained;
    s = read_all(&r);
    reader_free(&r);
    return s == EMU_OK ? s : ss_fail(s, "%s: %s", m->graph->name, ss_error());
}

enum emu_status onnx_read_bytes(const void *data, size_t bytes, const char *name,
                                const struct onnx_options *options, struct onnx_model **out)
{
    struct wire_span all = { data, (const uint8_t *)data + bytes };
    enum emu_status s = model_new(name, out);

    if (s == EMU_OK)
        s = fill_model(*out, all, options);
    if (s != EMU_OK) {
        onnx_model_free(*out);
        *out = NULL;
    }
    return s;
}

static enum emu_status read_path(const char *path, const struct onnx_options *options,
                                 struct onnx_model *m)
{
    struct onnx_mapped *file = &m->files->main;
    const uint8_t *at;

    TRY(onnx_map(path, file));
    TRY(onnx_folder_open(path, &m->files->folder));
    at = file->at;
    return fill_model(m, (struct wire_span){ at, at + file->bytes }, options);
}

enum emu_status onnx_read_file(const char *path, const struct onnx_options *options,
                               struct onnx_model **out)
{
    enum emu_status s = model_new(path, out);

    if (s == EMU_OK)
        s = read_path(path, options, *out);
    if (s != EMU_OK) {
        onnx_model_free(*out);
        *out = NULL;
    }
    return s;
}

void onnx_model_free(struct onnx_model *m)
{
    if (!m)
        return;
    op_graph_free(m->graph);
    if (m->files) {
        onnx_folder_free(&m->files->folder);
        onnx_unmap(&m->files->main);
    }
    ss_free(m->files);
    ss_free(m);
}

struct hash128 onnx_model_hash(const struct onnx_model *m)
{
    const struct onnx_folder *d = &m->files->folder;
    struct hash128 all[3] = { hash128(m->files->main.at, m->files->main.bytes) };

    for (size_t k = 0; k < d->files; k++) {
        all[1] = hash128(d->file[k].location, strlen(d->file[k].location));
        all[2] = hash128(d->file[k].at, d->file[k].bytes);
        all[0] = hash128(all, sizeof(all));
    }
    return all[0];
}

/* --- one tensor --------------------------------------------------------------------------- */

static enum emu_status read_tensor(struct wire_source *src, struct op_tensor *out)
{
    struct onnx_tensor t;
    uint8_t *own = NULL;
    enum emu_status s;

    TRY(onnx_tensor_parse(src, src->all, &t));
    if (t.data == ONNX_DATA_NONE)
        return FAIL(BAD_FILE, "%s", onnx_type_why(t.type_number));
    if (t.data == ONNX_DATA_EXTERNAL)
        return FAIL(BAD_FILE, "its numbers are in another file");
    if (t.data == ONNX_DATA_BYTES)
        return op_tensor_unpack(&t.shape, t.at.at, out);
    own = emu_alloc(t.bytes, 1);
    s = own ? onnx_tensor_decode(src, &t, own) : FAIL(NO_MEMORY, "a tensor");
    if (s == EMU_OK)
        s = op_tensor_unpack(&t.shape, own, out);
    ss_free(own);
    return s;
}

enum emu_status onnx_tensor_read(const void *data, size_t bytes, const char *name,
                                 struct op_tensor *out)
{
    struct wire_source src;
    enum emu_status s;

    *out = (struct op_tensor){ .any = NULL };
    wire_source_init(&src, data, bytes);
    s = read_tensor(&src, out);
    return s == EMU_BAD_FILE ? FAIL(BAD_FILE, "%s: %s", name, ss_error()) : s;
}
