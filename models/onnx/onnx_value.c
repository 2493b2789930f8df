/* onnx_value.c - inputs and initializers of a file as values, and what the file says of others. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "models/onnx/onnx_reader.h"

/* ValueInfoProto. */
struct value_info {
    struct wire_span name;
    int is_tensor, has_shape;
    uint64_t type_number;
    unsigned rank;
    struct {
        int64_t size;          /* negative: not known */
        struct wire_span name; /* of one that is not known; "": it has none */
    } dim[OP_RANK_MAX];
};

/* --- ValueInfoProto ----------------------------------------------------------------------- */

static enum emu_status read_dim(struct onnx_reader *r, struct wire_span s, struct value_info *v)
{
    struct wire_field f;

    if (v->rank == OP_RANK_MAX)
        return FAIL(BAD_FILE, "more than %d dimensions", OP_RANK_MAX);
    v->dim[v->rank].size = -1;
    v->dim[v->rank].name = (struct wire_span){ s.at, s.at };
    for (;;) {
        TRY(onnx_next(&r->source, ONNX_DIM, &s, &f));
        if (!f.number)
            break;
        if (f.number == ONNX_DIM_VALUE) {
            v->dim[v->rank].size = (int64_t)f.value;
        } else if (f.number == ONNX_DIM_PARAM) {
            TRY(onnx_text_check(f.bytes));
            v->dim[v->rank].name = f.bytes;
        }
    }
    if (v->dim[v->rank].size > UINT32_MAX)
        return FAIL(BAD_FILE, "dimension %u is %" PRId64, v->rank, v->dim[v->rank].size);
    v->rank++;
    return EMU_OK;
}

static enum emu_status read_shape(struct onnx_reader *r, struct wire_span s, struct value_info *v)
{
    struct wire_field f;

    v->has_shape = 1;
    for (;;) {
        TRY(onnx_next(&r->source, ONNX_SHAPE, &s, &f));
        if (!f.number)
            return EMU_OK;
        TRY(read_dim(r, f.bytes, v));
    }
}

static enum emu_status read_type(struct onnx_reader *r, struct wire_span s, struct value_info *v)
{
    struct wire_span tensor = { NULL, NULL };
    struct wire_field f;

    for (;;) {
        TRY(onnx_next(&r->source, ONNX_TYPE, &s, &f));
        if (!f.number)
            break;
        if (f.number == ONNX_TYPE_TENSOR)
            tensor = f.bytes;
    }
    v->is_tensor = tensor.at != NULL;
    while (v->is_tensor) {
        TRY(onnx_next(&r->source, ONNX_ARRAY, &tensor, &f));
        if (!f.number)
            break;
        if (f.number == ONNX_ARRAY_ELEMENT)
            v->type_number = f.value;
        else
            TRY(read_shape(r, f.bytes, v));
    }
    return EMU_OK;
}

static enum emu_status read_value_info(struct onnx_reader *r, struct wire_span s,
                                       struct value_info *v)
{
    struct wire_span type = { s.at, s.at };
    struct wire_field f;

    *v = (struct value_info){ .name = { s.at, s.at } };
    for (;;) {
        TRY(onnx_next(&r->source, ONNX_VALUE_INFO, &s, &f));
        if (!f.number)
            break;
        if (f.number == ONNX_VALUE_INFO_NAME) {
            TRY(onnx_text_check(f.bytes));
            v->name = f.bytes;
        } else if (f.number == ONNX_VALUE_INFO_TYPE) {
            type = f.bytes;
        }
    }
    return read_type(r, type, v);
}

/* --- open dimensions ---------------------------------------------------------------------- */

/* What a dimension is called: its own name, or INPUT.AXIS. */
static const char *dim_name(const struct value_info *v, unsigned axis, char out[ONNX_TEXT_MAX + 16])
{
    char input[ONNX_TEXT_MAX + 1];

    if (wire_length(v->dim[axis].name))
        return onnx_text_copy(v->dim[axis].name, out);
    snprintf(out, ONNX_TEXT_MAX + 16, "%s.%u", onnx_text_copy(v->name, input), axis);
    return out;
}

/* Puts the sizes that the options give in their places. used: by option. */
static void bind_dims(const struct onnx_options *o, struct value_info *v, uint8_t *used)
{
    char name[ONNX_TEXT_MAX + 16];

    for (unsigned k = 0; k < v->rank; k++) {
        if (v->dim[k].size >= 0)
            continue;
        dim_name(v, k, name);
        for (unsigned i = 0; i < o->dims; i++) {
            if (!strcmp(o->dim[i].name, name)) {
                v->dim[k].size = o->dim[i].size;
                used[i] = 1;
            }
        }
    }
}

static void bind_batch(struct onnx_reader *r, struct value_info *v)
{
    unsigned open = 0;

    for (unsigned k = 0; k < v->rank; k++)
        open += v->dim[k].size < 0;
    if (open == 1 && v->dim[0].size < 0) {
        v->dim[0].size = r->options->batch ? r->options->batch : 1;
        r->model->batched++;
    }
}

/* Inputs whose dimensions are open, for one message. */
struct open_dims {
    char text[600];
    size_t length;
    char example[200]; /* a name */
};

EMU_PRINTF(2, 3) static void say(struct open_dims *o, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(o->text + o->length, sizeof(o->text) - o->length, fmt, args);
    va_end(args);
    o->length += n < 0 ? 0 : (size_t)n;
    if (o->length >= sizeof(o->text))
        o->length = sizeof(o->text) - 1;
}

/* "image [N, 3, height, width]: height, width; " */
static void note_open(const struct value_info *v, struct open_dims *o)
{
    char name[ONNX_TEXT_MAX + 16];
    int first = 1;

    say(o, "%s%.*s [", o->length ? "; " : "", ONNX_SHOWN(v->name));
    for (unsigned k = 0; k < v->rank; k++) {
        if (v->dim[k].size >= 0)
            say(o, "%s%" PRId64, k ? ", " : "", v->dim[k].size);
        else
            say(o, "%s%.60s", k ? ", " : "", dim_name(v, k, name));
    }
    say(o, "]: ");
    for (unsigned k = 0; k < v->rank; k++) {
        if (v->dim[k].size >= 0)
            continue;
        dim_name(v, k, name);
        if (!*o->example)
            snprintf(o->example, sizeof(o->example), "%.150s", name);
        say(o, "%s%.60s", first ? "" : ", ", name);
        first = 0;
    }
}

/* --- inputs ------------------------------------------------------------------------------- */

/* A value that nothing can be computed with: what reads it is left out. */
static enum emu_status make_unknown(struct onnx_reader *r, const char *what, const char *name,
                                    const char *why, uint32_t *out)
{
    static const struct op_shape unknown = { .type = OP_TYPE_UNKNOWN };

    TRY(op_graph_problem(r->g, name, what, "", why));
    return op_value_new(r->g, name, OP_RESULT, &unknown, out);
}

static enum emu_status make_input(struct onnx_reader *r, const struct value_info *v,
                                  const char *name, uint32_t *out)
{
    struct op_shape shape = { .type = op_type_number(v->type_number), .rank = v->rank };

    if (!v->is_tensor)
        return make_unknown(r, "input", name, "it is no tensor", out);
    if (op_type_kind(shape.type) == OP_KIND_NONE)
        return make_unknown(r, "input", name, onnx_type_why(v->type_number), out);
    if (!v->has_shape)
        return FAIL(BAD_FILE, "it has no shape");
    for (unsigned k = 0; k < v->rank; k++)
        shape.dim[k] = (uint32_t)v->dim[k].size;
    TRY(op_value_new(r->g, name, OP_INPUT, &shape, out));
    return op_graph_input(r->g, *out);
}

/* A constant of the options in the place of an input; open dimensions take its sizes. */
static enum emu_status make_bound(struct onnx_reader *r, const struct value_info *v,
                                  const char *name, const struct op_tensor *t, uint32_t *out)
{
    const struct op_shape *s = &t->shape;
    int same = s->type == op_type_number(v->type_number) && (!v->has_shape || s->rank == v->rank);
    char text[OP_SHAPE_TEXT];

    for (unsigned k = 0; same && k < v->rank; k++)
        same = v->dim[k].size < 0 || v->dim[k].size == s->dim[k];
    if (!same)
        return FAIL(BAD_FILE, "what is given for it is %s", op_shape_text(s, text));
    return op_value_constant(r->g, name, t, out);
}

/* What is given for the options' dimensions and constants, by option. */
struct used_options {
    uint8_t *dim, *bound;
};

static enum emu_status take_input(struct onnx_reader *r, struct value_info *v,
                                  const struct used_options *used, struct open_dims *open,
                                  uint32_t *value)
{
    const struct onnx_options *o = r->options;
    uint32_t at = onnx_names_find(&r->body.names, v->name), before = open->length;
    char name[ONNX_TEXT_MAX + 1];
    int missing = 0;

    onnx_text_copy(v->name, name);
    bind_dims(o, v, used->dim);
    for (unsigned k = 0; k < o->bounds; k++) {
        if (!strcmp(o->bound[k].name, name)) {
            used->bound[k] = 1;
            return make_bound(r, v, name, o->bound[k].tensor, &value[at]);
        }
    }
    if (o->outputs && !r->body.wanted[at])
        return EMU_OK;
    bind_batch(r, v);
    for (unsigned k = 0; k < v->rank; k++)
        missing |= v->dim[k].size < 0;
    if (missing)
        note_open(v, open);
    return missing || before ? EMU_OK : make_input(r, v, name, &value[at]);
}

static enum emu_status check_options(const struct onnx_reader *r, const struct used_options *used,
                                     const struct open_dims *open)
{
    const struct onnx_options *o = r->options;

    if (open->length)
        return FAIL(USAGE, "sizes that the file leaves open: %s; give each one: --dim %s=N",
                    open->text, open->example);
    for (unsigned k = 0; k < o->dims; k++) {
        if (!used->dim[k])
            return FAIL(USAGE, "no input has an open dimension %s", o->dim[k].name);
    }
    for (unsigned k = 0; k < o->bounds; k++) {
        if (!used->bound[k])
            return FAIL(USAGE, "no input is called %s", o->bound[k].name);
    }
    return EMU_OK;
}

static enum emu_status take_inputs(struct onnx_reader *r, const struct used_options *used,
                                   uint32_t *value)
{
    struct open_dims open = { .length = 0 };
    struct value_info v;

    for (uint32_t k = 0; k < r->input.count; k++) {
        enum emu_status s;

        TRY(read_value_info(r, r->input.at[k], &v));
        if (onnx_names_find(&r->body.names, v.name) < r->initializer.count)
            continue; /* initializers are the first names */
        s = take_input(r, &v, used, &open, value);
        if (s == EMU_BAD_FILE)
            return FAIL(BAD_FILE, "input %.*s: %s", ONNX_SHOWN(v.name), ss_error());
        TRY(s);
    }
    return check_options(r, used, &open);
}

enum emu_status onnx_input_name(struct onnx_reader *r, struct wire_span message,
                                struct wire_span *out)
{
    struct value_info v;
    enum emu_status s = read_value_info(r, message, &v);

    *out = v.name;
    return s;
}

/* --- initializers ------------------------------------------------------------------------- */

enum emu_status onnx_constant_make(struct onnx_reader *r, const char *name, enum op_value_kind kind,
                                   struct onnx_tensor *t, uint32_t *out)
{
    uint8_t *own = NULL;

    EMU_ASSERT(t->data != ONNX_DATA_NONE);
    if (t->data == ONNX_DATA_EXTERNAL) {
        TRY(onnx_tensor_find(r->folder, t));
        onnx_more_data(r);
    }
    if (t->data == ONNX_DATA_TYPED) {
        TRY(onnx_keep(r, t->bytes));
        own = op_graph_alloc(r->g, t->bytes, 1);
        if (!own)
            return FAIL(NO_MEMORY, "a tensor of %llu bytes", (unsigned long long)t->bytes);
        TRY(onnx_tensor_decode(&r->source, t, own));
    }
    TRY(onnx_keep(r, ONNX_KEPT_VALUE));
    TRY(op_value_new(r->g, name, kind, &t->shape, out));
    r->g->value[*out].data = own ? own : t->at.at;
    return EMU_OK;
}

static enum emu_status make_initializer(struct onnx_reader *r, struct onnx_tensor *t, uint32_t *out)
{
    const void *data = NULL;
    char name[ONNX_TEXT_MAX + 1];

    onnx_text_copy(t->name, name);
    if (t->data == ONNX_DATA_NONE)
        return make_unknown(r, "initializer", name, onnx_type_why(t->type_number), out);
    if (r->options->replace)
        TRY(r->options->replace(r->options->replace_ctx, name, &t->shape, &data));
    if (data) {
        TRY(onnx_keep(r, ONNX_KEPT_VALUE));
        TRY(op_value_new(r->g, name, OP_PARAM, &t->shape, out));
        r->g->value[*out].data = data;
    } else {
        TRY(onnx_constant_make(r, name, OP_PARAM, t, out));
    }
    r->model->parameters++;
    if (op_type_kind(t->shape.type) == OP_KIND_FLOAT)
        r->model->numbers += op_shape_count(&t->shape);
    r->model->parameter_bytes += t->bytes;
    return EMU_OK;
}

static enum emu_status make_initializers(struct onnx_reader *r, uint32_t *value)
{
    for (uint32_t k = 0; k < r->initializer.count; k++) {
        struct onnx_tensor t;
        enum emu_status s;

        if (!r->body.wanted[k])
            continue;
        TRY(onnx_tensor_parse(&r->source, r->initializer.at[k], &t));
        s = make_initializer(r, &t, &value[k]);
        if (s == EMU_BAD_FILE || s == EMU_IO)
            return ss_fail(s, "initializer %.*s: %s", ONNX_SHOWN(t.name), ss_error());
        TRY(s);
    }
    return EMU_OK;
}

enum emu_status onnx_sources_make(struct onnx_reader *r, uint32_t *value)
{
    struct used_options used = { .dim = emu_alloc(r->options->dims, 1),
                                 .bound = emu_alloc(r->options->bounds, 1) };
    enum emu_status s = used.dim && used.bound ? EMU_OK : FAIL(NO_MEMORY, "options");

    if (s == EMU_OK)
        s = make_initializers(r, value);
    if (s == EMU_OK)
        s = take_inputs(r, &used, value);
    ss_free(used.dim);
    ss_free(used.bound);
    return s;
}

/* --- hints -------------------------------------------------------------------------------- */

/* Whether a value can be what the file says of it. */
static int agrees(const struct value_info *v, const struct op_shape *s)
{
    if (!v->is_tensor)
        return 0;
    if (v->type_number && v->type_number != op_type_onnx_number(s->type))
        return 0;
    if (v->has_shape && v->rank != s->rank)
        return 0;
    for (unsigned k = 0; k < v->rank; k++) {
        if (v->dim[k].size >= 0 && v->dim[k].size != s->dim[k])
            return 0;
    }
    return 1;
}

/* "[1, N, 7]" */
static const char *hint_text(const struct value_info *v, char out[OP_SHAPE_TEXT])
{
    size_t n =
        (size_t)snprintf(out, OP_SHAPE_TEXT, "%s [", op_type_text(op_type_number(v->type_number)));

    for (unsigned k = 0; k < v->rank && n < OP_SHAPE_TEXT; k++) {
        const char *comma = k ? ", " : "";
        size_t room = OP_SHAPE_TEXT - n;

        if (v->dim[k].size >= 0)
            n += (size_t)snprintf(out + n, room, "%s%" PRId64, comma, v->dim[k].size);
        else
            n += (size_t)snprintf(out + n, room, "%s?", comma);
    }
    if (n < OP_SHAPE_TEXT)
        snprintf(out + n, OP_SHAPE_TEXT - n, "]");
    return out;
}

static enum emu_status compare_hint(struct onnx_reader *r, struct wire_span message,
                                    const uint32_t *value, uint32_t *wrong)
{
    char said[OP_SHAPE_TEXT], is[OP_SHAPE_TEXT];
    struct value_info v;
    uint32_t at;

    TRY(read_value_info(r, message, &v));
    at = onnx_names_find(&r->body.names, v.name);
    if (at == ONNX_NAME_NONE || value[at] == OP_NONE ||
        r->g->value[value[at]].shape.type == OP_TYPE_UNKNOWN ||
        agrees(&v, &r->g->value[value[at]].shape) || (*wrong)++)
        return EMU_OK;
    r->model->warning =
        op_graph_text(r->g, "%.*s is %s, the file says %s", ONNX_SHOWN(v.name),
                      op_shape_text(&r->g->value[value[at]].shape, is), hint_text(&v, said));
    return r->model->warning ? EMU_OK : FAIL(NO_MEMORY, "a warning");
}

enum emu_status onnx_hints_compare(struct onnx_reader *r, const uint32_t *value)
{
    uint32_t wrong = 0;

    for (uint32_t k = 0; k < r->value_info.count; k++)
        TRY(compare_hint(r, r->value_info.at[k], value, &wrong));
    for (uint32_t k = 0; k < r->output.count; k++)
        TRY(compare_hint(r, r->output.at[k], value, &wrong));
    if (wrong < 2)
        return EMU_OK;
    r->model->warning = op_graph_text(r->g, "%s; and %u more shapes", r->model->warning, wrong - 1);
    return r->model->warning ? EMU_OK : FAIL(NO_MEMORY, "a warning");
}
