/* pass_pad.c - zeros around the input of a convolution or a mean become its pads. */
#include <string.h>

#include "models/pass/op_pass.h"

enum { PADS_MAX = 2 * OP_RANK_MAX };

/* The Pad before a node, if it only puts zeros around the positions, not the channels. Around
 * nothing they stay: windows of nothing are refused. */
static const struct op_node *zeros_before(const struct op_pass *p, const struct op_node *n)
{
    const struct op_node *pad = op_pass_made_by(p, n->in[0], OP_Pad);
    struct op_call c;
    const int64_t *size;
    uint32_t sizes, value;
    double number = 0;

    if (!pad || !op_shape_count(&p->g->value[pad->in[0]].shape))
        return NULL;
    c = op_attrs_of(p->g, pad);
    sizes = op_ints(&c, "pads", &size);
    value = op_tensor_value(&c, "value");
    if (!op_is(&c, "mode", "constant") ||
        (value != OP_NONE && (!op_pass_scalar(p, value, &number) || number != 0)))
        return NULL;
    for (uint32_t k = 0; k < sizes; k++) {
        if (size[k] < 0 || (size[k] && k % (sizes / 2) < 2))
            return NULL;
    }
    return pad;
}

/* Whether a node's own pads say all about what it sees around its input, and are zeros. Where sizes
 * are rounded up, pads decide about the last window. */
static int takes_zeros(const struct op_call *c)
{
    const int64_t *pad;
    uint32_t pads = op_ints(c, "pads", &pad);
    int none = 1;

    for (uint32_t k = 0; k < pads; k++)
        none &= !pad[k];
    if (!op_is(c, "auto_pad", "NOTSET"))
        return 0;
    return op_named(c, OP_Conv) || (op_named(c, OP_AveragePool) && !op_int(c, "ceil_mode") &&
                                    (none || op_int(c, "count_include_pad")));
}

/* An attribute of a copied node. */
static void set(struct op_attr *attr, const struct op_row *row, const char *name,
                struct op_attr value)
{
    struct op_attr_spec spec;

    for (unsigned k = 0; op_row_attr(row, k, &spec); k++) {
        if (!strcmp(spec.name, name))
            attr[k] = value;
    }
}

/* The node with the zeros among its pads, as a new node. */
static enum emu_status emit(struct op_pass *p, const struct op_node *n, const struct op_node *pad,
                            uint32_t *out)
{
    const struct op_call c = op_attrs_of(p->g, n), of_pad = op_attrs_of(p->g, pad);
    uint32_t *in = op_graph_copy(p->g, n->in, n->ins * sizeof(*in)), *kept, dims;
    struct op_attr *attr = op_graph_copy(p->g, n->attr, n->attrs * sizeof(*attr));
    const int64_t *own, *more;
    int64_t sum[PADS_MAX];
    int padded = op_ints(&c, "pads", &own) > 0;
    struct op_node joined = *n;

    TRY(op_value_new(p->g, NULL, OP_RESULT, &p->g->value[n->out[0]].shape, out));
    kept = op_graph_copy(p->g, out, sizeof(*out));
    dims = op_ints(&of_pad, "pads", &more) / 2 - 2;
    for (uint32_t k = 0; k < 2 * dims; k++)
        sum[k] = (padded ? own[k] : 0) + more[k < dims ? k + 2 : k + 4];
    own = op_graph_copy(p->g, sum, 2 * dims * sizeof(*sum));
    if (!in || !attr || !kept || !own)
        return FAIL(NO_MEMORY, "a node");
    in[0] = pad->in[0];
    for (uint32_t k = 0; k < n->ins; k++)
        in[k] = in[k] == OP_NONE ? OP_NONE : op_pass_now(p, in[k]);
    set(attr, n->row, "pads",
        (struct op_attr){ .kind = OP_ATTR_INTS, .count = 2 * dims, .ints = own });
    set(attr, n->row, "count_include_pad", (struct op_attr){ .kind = OP_ATTR_INT, .i = 1 });
    joined.in = in;
    joined.out = kept;
    joined.attr = attr;
    return op_graph_append(p->g, &joined);
}

static enum emu_status visit(struct op_pass *p, uint32_t node, int *replaced)
{
    const struct op_node *n = &p->old[node], *pad;
    const struct op_call c = op_attrs_of(p->g, n);
    uint32_t by;

    if ((!op_node_is(n, OP_Conv) && !op_node_is(n, OP_AveragePool)) || !takes_zeros(&c))
        return EMU_OK;
    pad = zeros_before(p, n);
    if (!pad)
        return EMU_OK;
    TRY(emit(p, n, pad, &by));
    op_pass_replace(p, n->out[0], by);
    *replaced = 1;
    return EMU_OK;
}

enum emu_status pass_join_pads(struct op_graph *g)
{
    return op_pass_run(g, visit);
}
