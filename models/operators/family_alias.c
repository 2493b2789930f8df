/* family_alias.c - operators that give their input another name: Identity, and Dropout when nothing
 * is trained. In a graph that will be trained (parameters_change) a Dropout may be in training
 * mode; it is replaced by a mask then (models/train/train_dropout.c).
 */
#include <string.h>

#include "models/operators/op_families.h"

static enum emu_status alias_infer(struct op_call *c)
{
    double ratio;

    c->out[0] = *c->in[0];
    if (!op_named(c, OP_Dropout))
        return EMU_OK;
    ratio = op_float(c, "ratio");
    if (op_int(c, "training_mode") && ratio != 0) {
        if (!c->g->parameters_change)
            return op_refuse(c, "training mode drops at random: only inference is built");
        if (c->outs > 1)
            return op_refuse(c, "training mode with its mask as a result");
    }
    if (c->g->parameters_change && !(ratio >= 0 && ratio < 1))
        return op_refuse(c, "ratio is %g, expected 0 or more and less than 1", ratio);
    if (c->outs > 1) {
        c->out[1] = *c->in[0];
        c->out[1].type = OP_TYPE_BOOL;
    }
    return EMU_OK;
}

static enum emu_status alias_ref(struct op_call *c, const struct op_tensor *const *in,
                                 struct op_tensor *out)
{
    uint64_t n = op_shape_count(c->in[0]);

    memcpy(out[0].any, in[0]->any, n * sizeof(*out[0].i));
    for (uint64_t k = 0; c->outs > 1 && k < n; k++)
        out[1].i[k] = 1; /* all are kept */
    return EMU_OK;
}

const struct op_family family_alias = { .infer = alias_infer,
                                        .ref = alias_ref,
                                        .gradient = gradient_alias_node };

/* Before 7, Dropout trained unless is_test was set. */
enum emu_status upgrade_dropout(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const struct op_attr ratio = op_request_attr(r, "ratio");
    const struct op_named_attr attr[] = {
        { "ratio", { .kind = OP_ATTR_FLOAT, .f = ratio.kind == OP_ATTR_NONE ? 0.5 : ratio.f } },
    };
    struct op_request now = *r;

    if (!op_request_attr(r, "is_test").i && !g->parameters_change)
        return op_node_refuse(g, r, out, "is_test is 0: only inference is built");
    now.version = 0;
    now.attr = attr;
    now.attrs = EMU_COUNT_OF(attr);
    return op_node(g, &now, out);
}
