/* onnx_write.c - an operator graph as an ONNX file: what is an attribute in canonical form and an
 * input in files becomes an input again.
 */
#include <string.h>

#include "models/onnx/onnx.h"
#include "models/onnx/onnx_fields.h"
#include "models/onnx/onnx_proto.h"
#include "models/onnx/onnx_text.h"

/* AttributeProto.AttributeType by kind. */
static const unsigned attr_type[] = {
    [OP_ATTR_INT] = 2,    [OP_ATTR_FLOAT] = 1,  [OP_ATTR_STRING] = 3,  [OP_ATTR_INTS] = 7,
    [OP_ATTR_FLOATS] = 6, [OP_ATTR_TENSOR] = 4, [OP_ATTR_STRINGS] = 8,
};

/* A file while it is written. */
struct writing {
    const struct op_graph *g;
    struct proto graph;
    unsigned version; /* of the operator set */
};

/* --- the version -------------------------------------------------------------------------- */

/* IR version that came with a version of the operator set from 17 on. */
static uint64_t ir_version(unsigned version)
{
    static const uint8_t ir[] = { 8, 8, 9, 9, 10, 10, 11, 12, 13, 13 };

    EMU_ASSERT(version >= OP_VERSION_WRITTEN && version - OP_VERSION_WRITTEN < EMU_COUNT_OF(ir));
    return ir[version - OP_VERSION_WRITTEN];
}

/* Whether a row has all attributes of a node that differ from their defaults. */
static int has_all(const struct op_row *row, const struct op_node *n)
{
    struct op_attr_spec spec, there;

    for (unsigned k = 0; op_row_attr(n->row, k, &spec); k++) {
        unsigned at = 0;

        if (op_attr_is_preset(&n->attr[k], &spec.preset))
            continue;
        while (op_row_attr(row, at, &there) && strcmp(there.name, spec.name))
            at++;
        if (!op_row_attr(row, at, &there))
            return 0;
    }
    return 1;
}

/* The row of a version that can express a node; NULL: there is none. For one of our operators a row
 * with an upgrade will do if the node uses nothing that this row lacks. */
static const struct op_row *row_at(const struct op_node *n, unsigned version)
{
    const struct op_row *row = op_row_find(n->row->name, version);
    int ours = n->row->since == OP_VERSION_OURS;

    if (!row || (row->upgrade && !(ours && row == op_row_find(row->name, OP_VERSION_MAX))))
        return NULL;
    return has_all(row, n) ? row : NULL;
}

/* The first version that can say all nodes. */
static enum emu_status choose_version(struct writing *w)
{
    w->version = OP_VERSION_WRITTEN;
    for (uint32_t k = 0; k < w->g->nodes; k++) {
        const struct op_node *n = &w->g->node[k];
        unsigned v = OP_VERSION_WRITTEN;

        while (v <= OP_VERSION_MAX && !row_at(n, v))
            v++;
        if (v > OP_VERSION_MAX)
            return FAIL(USAGE, "node %s: no version of ONNX's operators has %s", n->name,
                        n->row->name);
        w->version = v > w->version ? v : w->version;
    }
    return EMU_OK;
}

/* --- tensors and types -------------------------------------------------------------------- */

static void put_shape_and_name(struct proto *t, const char *name, const struct op_shape *s)
{
    for (unsigned k = 0; k < s->rank; k++)
        proto_int(t, ONNX_TENSOR_DIMS, s->dim[k]);
    proto_int(t, ONNX_TENSOR_TYPE, op_type_onnx_number(s->type));
    if (name)
        proto_text(t, ONNX_TENSOR_NAME, name);
}

/* A constant, whose elements stay where they are. */
static void put_constant(struct proto *p, uint32_t field, const char *name,
                         const struct op_value *v)
{
    struct proto t = { .at = NULL };

    put_shape_and_name(&t, name, &v->shape);
    proto_lend(&t, ONNX_TENSOR_RAW_DATA, v->data,
               op_shape_count(&v->shape) * op_type_bytes(v->shape.type));
    proto_message(p, field, &t);
}

/* Numbers of an attribute as an initializer. */
static enum emu_status put_numbers(struct proto *p, const char *name, const struct op_tensor *n)
{
    size_t bytes = op_shape_count(&n->shape) * op_type_bytes(n->shape.type);
    void *data = emu_alloc(bytes + 1, 1);
    struct proto t = { .at = NULL };

    if (!data)
        return FAIL(NO_MEMORY, "an input");
    op_tensor_pack(n, data);
    put_shape_and_name(&t, name, &n->shape);
    proto_bytes(&t, ONNX_TENSOR_RAW_DATA, data, bytes);
    proto_message(p, ONNX_GRAPH_INITIALIZER, &t);
    ss_free(data);
    return EMU_OK;
}

static void put_value(struct writing *w, uint32_t field, const struct op_value *v)
{
    struct proto info = { .at = NULL }, type = { .at = NULL };
    struct proto array = { .at = NULL }, shape = { .at = NULL };

    for (unsigned k = 0; k < v->shape.rank; k++) {
        struct proto dim = { .at = NULL };

        proto_int(&dim, ONNX_DIM_VALUE, v->shape.dim[k]);
        proto_message(&shape, ONNX_SHAPE_DIM, &dim);
    }
    proto_int(&array, ONNX_ARRAY_ELEMENT, op_type_onnx_number(v->shape.type));
    proto_message(&array, ONNX_ARRAY_SHAPE, &shape);
    proto_message(&type, ONNX_TYPE_TENSOR, &array);
    proto_text(&info, ONNX_VALUE_INFO_NAME, v->name);
    proto_message(&info, ONNX_VALUE_INFO_TYPE, &type);
    proto_message(&w->graph, field, &info);
}

/* --- attributes --------------------------------------------------------------------------- */

static void put_list(struct proto *p, const struct op_attr *a)
{
    for (uint32_t k = 0; k < a->count; k++) {
        if (a->kind == OP_ATTR_INTS)
            proto_int(p, ONNX_ATTRIBUTE_INTS, (uint64_t)a->ints[k]);
        else if (a->kind == OP_ATTR_FLOATS)
            proto_f32(p, ONNX_ATTRIBUTE_FLOATS, (float)a->floats[k]);
        else
            proto_text(p, ONNX_ATTRIBUTE_STRINGS, a->texts[k]);
    }
}

static void put_attr(const struct writing *w, struct proto *node, const char *name,
                     const struct op_attr *a)
{
    struct proto p = { .at = NULL };

    proto_text(&p, ONNX_ATTRIBUTE_NAME, name);
    proto_int(&p, ONNX_ATTRIBUTE_TYPE, attr_type[a->kind]);
    if (a->kind == OP_ATTR_INT)
        proto_int(&p, ONNX_ATTRIBUTE_I, (uint64_t)a->i);
    else if (a->kind == OP_ATTR_FLOAT)
        proto_f32(&p, ONNX_ATTRIBUTE_F, (float)a->f);
    else if (a->kind == OP_ATTR_STRING)
        proto_text(&p, ONNX_ATTRIBUTE_S, a->s);
    else if (a->kind == OP_ATTR_TENSOR)
        put_constant(&p, ONNX_ATTRIBUTE_T, NULL, &w->g->value[a->value]);
    else
        put_list(&p, a);
    proto_message(node, ONNX_NODE_ATTRIBUTE, &p);
}

/* --- attributes that are inputs ----------------------------------------------------------- */

/* The shape that an attribute has as an input. A list has a dimension; a number has none, but for
 * TopK. */
static struct op_shape input_shape(const struct op_row *row, const struct op_attr_spec *spec,
                                   const struct op_attr *a)
{
    int list = a->kind == OP_ATTR_INTS || a->kind == OP_ATTR_FLOATS;
    int whole = a->kind == OP_ATTR_INTS || a->kind == OP_ATTR_INT;
    struct op_shape s = { .type = whole ? OP_TYPE_I64 : OP_TYPE_F32 };

    s.rank = list || row->code == OP_TopK;
    s.dim[0] = list ? a->count : s.rank;
    if (!strcmp(spec->name, "condition") || !strcmp(spec->name, "training_mode"))
        s.type = OP_TYPE_BOOL;
    return s;
}

static enum emu_status put_input(struct writing *w, const struct op_node *n,
                                 const struct op_attr_spec *spec, const struct op_attr *a,
                                 const char *name)
{
    const struct op_shape shape = input_shape(n->row, spec, a);
    struct op_tensor t;
    enum emu_status s;

    TRY(op_tensor_new(&shape, &t));
    if (a->kind == OP_ATTR_INT)
        t.i[0] = a->i;
    else if (a->kind == OP_ATTR_FLOAT)
        t.f[0] = a->f;
    else if (a->count)
        memcpy(t.any, a->kind == OP_ATTR_INTS ? (const void *)a->ints : a->floats, 8 * a->count);
    s = put_numbers(&w->graph, name, &t);
    op_tensor_free(&t);
    return s;
}

/* A name that no value has, by the node's first result. */
static void input_name(const struct writing *w, const struct op_node *n, const char *attr,
                       char *name, size_t room)
{
    uint32_t out = 0;

    while (n->out[out] == OP_NONE)
        out++;
    snprintf(name, room, "%s/%s", w->g->value[n->out[out]].name, attr);
    for (unsigned k = 2; op_value_find(w->g, name) != OP_NONE; k++)
        snprintf(name, room, "%s/%s_%u", w->g->value[n->out[out]].name, attr, k);
}

/* A node's attribute of a name; NULL: it has none, or it is absent. */
static const struct op_attr *attr_of(const struct op_node *n, const char *name)
{
    struct op_attr_spec spec;

    for (unsigned i = 0; op_row_attr(n->row, i, &spec); i++) {
        if (!strcmp(spec.name, name))
            return n->attr[i].kind == OP_ATTR_NONE ? NULL : &n->attr[i];
    }
    return NULL;
}

/* The attribute that is input k of the row; NULL: it is none, or absent. */
static const struct op_attr *input_attr(const struct op_row *row, const struct op_node *n,
                                        uint32_t k, struct op_attr_spec *spec)
{
    for (unsigned i = 0; op_row_attr(row, i, spec); i++) {
        if (spec->input == (int)k)
            return attr_of(n, spec->name);
    }
    return NULL;
}

/* The last input that is there, and one more. */
static uint32_t count_inputs(const struct op_row *row, const struct op_node *n)
{
    struct op_attr_spec spec;
    uint32_t count = n->ins;

    for (unsigned k = 0; op_row_attr(row, k, &spec); k++) {
        if (spec.input >= (int)count && attr_of(n, spec.name))
            count = (uint32_t)spec.input + 1;
    }
    return count;
}

static enum emu_status put_inputs(struct writing *w, struct proto *node, const struct op_row *row,
                                  const struct op_node *n)
{
    char name[2 * ONNX_TEXT_MAX + 64];

    for (uint32_t k = 0; k < count_inputs(row, n); k++) {
        struct op_attr_spec spec;
        const struct op_attr *a = k < n->ins ? NULL : input_attr(row, n, k, &spec);

        if (k < n->ins && n->in[k] != OP_NONE) {
            proto_text(node, ONNX_NODE_INPUT, w->g->value[n->in[k]].name);
        } else if (a && a->kind == OP_ATTR_TENSOR) {
            proto_text(node, ONNX_NODE_INPUT, w->g->value[a->value].name);
        } else if (a) {
            input_name(w, n, spec.name, name, sizeof(name));
            TRY(put_input(w, n, &spec, a, name));
            proto_text(node, ONNX_NODE_INPUT, name);
        } else {
            proto_text(node, ONNX_NODE_INPUT, "");
        }
    }
    return EMU_OK;
}

/* --- the file ----------------------------------------------------------------------------- */

static enum emu_status put_node(struct writing *w, const struct op_node *n)
{
    struct proto node = { .at = NULL };
    const struct op_row *row = row_at(n, w->version);
    struct op_attr_spec spec;
    enum emu_status s;

    if (!row)
        return FAIL(USAGE, "node %s: version %u of the operators cannot say %s", n->name,
                    w->version, n->row->name);
    s = put_inputs(w, &node, row, n);
    for (uint32_t k = 0; k < n->outs; k++)
        proto_text(&node, ONNX_NODE_OUTPUT,
                   n->out[k] == OP_NONE ? "" : w->g->value[n->out[k]].name);
    proto_text(&node, ONNX_NODE_NAME, n->name);
    proto_text(&node, ONNX_NODE_OP, n->row->name);
    for (unsigned k = 0; op_row_attr(row, k, &spec); k++) {
        if (spec.input < 0 && attr_of(n, spec.name))
            put_attr(w, &node, spec.name, attr_of(n, spec.name));
    }
    proto_message(&w->graph, ONNX_GRAPH_NODE, &node);
    return s;
}

static enum emu_status put_graph(struct writing *w)
{
    const struct op_graph *g = w->g;

    proto_text(&w->graph, ONNX_GRAPH_NAME, g->name);
    for (uint32_t n = 0; n < g->nodes; n++)
        TRY(put_node(w, &g->node[n]));
    for (uint32_t v = 0; v < g->values; v++) {
        if (op_value_constant_kind(&g->value[v]))
            put_constant(&w->graph, ONNX_GRAPH_INITIALIZER, g->value[v].name, &g->value[v]);
    }
    for (uint32_t k = 0; k < g->inputs; k++)
        put_value(w, ONNX_GRAPH_INPUT, &g->value[g->input[k]]);
    for (uint32_t k = 0; k < g->outputs; k++)
        put_value(w, ONNX_GRAPH_OUTPUT, &g->value[g->output[k]]);
    return EMU_OK;
}

enum emu_status onnx_write(const struct op_graph *g, FILE *f)
{
    struct proto model = { .at = NULL }, opset = { .at = NULL };
    struct writing w = { .g = g };
    enum emu_status s;

    TRY(choose_version(&w));
    s = put_graph(&w);
    proto_int(&model, ONNX_MODEL_IR_VERSION, ir_version(w.version));
    proto_text(&model, ONNX_MODEL_PRODUCER, "superstep");
    proto_text(&opset, ONNX_OPSET_DOMAIN, "");
    proto_int(&opset, ONNX_OPSET_VERSION, w.version);
    proto_message(&model, ONNX_MODEL_OPSET, &opset);
    proto_message(&model, ONNX_MODEL_GRAPH, &w.graph);
    if (s == EMU_OK)
        s = proto_write(&model, f);
    proto_free(&model);
    return s;
}
