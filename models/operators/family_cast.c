/* family_cast.c - the same numbers in another type: Cast and CastLike. Floats become integers by
 * truncation, integers that do not fit wrap, what is not 0 is true.
 */
#include <string.h>

#include "models/operators/op_families.h"

static enum emu_status cast_infer(struct op_call *c)
{
    int like = op_named(c, OP_CastLike);
    int64_t number = like ? 0 : op_int(c, "to");

    c->out[0] = *c->in[0];
    c->out[0].type = like ? c->in[1]->type : op_type_number((uint64_t)number);
    if (c->out[0].type == OP_TYPE_UNKNOWN)
        return op_refuse(c, "there is no type %lld", (long long)number);
    if (op_type_kind(c->out[0].type) == OP_KIND_NONE)
        return op_refuse(c, "numbers as %s are not built", op_type_text(c->out[0].type));
    return EMU_OK;
}

static enum emu_status cast_ref(struct op_call *c, const struct op_tensor *const *in,
                                struct op_tensor *out)
{
    enum op_kind from = op_type_kind(c->in[0]->type), to = op_type_kind(c->out[0].type);
    uint64_t n = op_shape_count(c->in[0]);

    for (uint64_t k = 0; k < n; k++) {
        if (to == OP_KIND_FLOAT)
            out->f[k] = op_tensor_number(in[0], k);
        else if (to == OP_KIND_BOOL)
            out->i[k] = op_tensor_number(in[0], k) != 0;
        else
            out->i[k] = from == OP_KIND_FLOAT ? op_whole(in[0]->f[k]) : in[0]->i[k];
    }
    return EMU_OK;
}

const struct op_family family_cast = { .infer = cast_infer,
                                       .ref = cast_ref,
                                       .gradient = gradient_cast_node };

/* ONNX's name of a type; 0: there is none of that name. */
static unsigned type_number(const char *name)
{
    static const char *const names[] = {
        [1] = "FLOAT",   [2] = "UINT8",   [3] = "INT8",    [4] = "UINT16", [5] = "INT16",
        [6] = "INT32",   [7] = "INT64",   [8] = "STRING",  [9] = "BOOL",   [10] = "FLOAT16",
        [11] = "DOUBLE", [12] = "UINT32", [13] = "UINT64",
    };

    for (unsigned k = 1; k < EMU_COUNT_OF(names); k++) {
        if (!strcmp(names[k], name))
            return k;
    }
    return 0;
}

/* Before 6, the type was named. */
enum emu_status upgrade_cast(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const char *name = op_request_attr(r, "to").s;
    const struct op_named_attr to = { "to", { .kind = OP_ATTR_INT, .i = type_number(name) } };
    struct op_request now = *r;

    if (!to.attr.i)
        return op_node_refuse(g, r, out, "there is no type %.40s", name);
    now.version = 0;
    now.attr = &to;
    now.attrs = 1;
    return op_node(g, &now, out);
}
