/* pass_norm.c - batch norms become part of the weights and the bias before them. */
#include <math.h>

#include "models/pass/op_pass.h"

/* Numbers of a norm and of what it is folded into. */
struct folding {
    struct op_tensor scale, shift, mean, variance; /* of the norm, by channel */
    struct op_tensor weight, bias;                 /* bias.any NULL: there is none */
    unsigned axis;   /* of weight: that of the result's channels, within a group */
    uint32_t groups; /* > 1: the channels of a transposed convolution are group x axis */
};

static void folding_free(struct folding *f)
{
    op_tensor_free(&f->scale);
    op_tensor_free(&f->shift);
    op_tensor_free(&f->mean);
    op_tensor_free(&f->variance);
    op_tensor_free(&f->weight);
    op_tensor_free(&f->bias);
}

static int all_constant(const struct op_graph *g, const struct op_node *n, uint32_t from)
{
    for (uint32_t k = from; k < n->ins; k++) {
        if (n->in[k] != OP_NONE && !op_value_constant_kind(&g->value[n->in[k]]))
            return 0;
    }
    return 1;
}

/* The node whose weights take the norm up, or NULL: its result is read by the norm only. */
static const struct op_node *carrier(const struct op_pass *p, const struct op_node *norm)
{
    static const enum op_code ops[] = { OP_Conv, OP_ConvTranspose };

    for (unsigned k = 0; k < EMU_COUNT_OF(ops); k++) {
        const struct op_node *n = op_pass_made_by(p, norm->in[0], ops[k]);

        if (n && p->readers[norm->in[0]] == 1 && all_constant(p->g, n, 1) &&
            all_constant(p->g, norm, 1))
            return n;
    }
    return NULL;
}

static enum emu_status read_all(const struct op_graph *g, const struct op_node *n,
                                const struct op_node *norm, struct folding *f)
{
    struct op_tensor *const to[] = { &f->scale, &f->shift, &f->mean, &f->variance };

    for (uint32_t k = 0; k < EMU_COUNT_OF(to); k++)
        TRY(op_value_read(g, norm->in[k + 1], to[k]));
    TRY(op_value_read(g, n->in[1], &f->weight));
    return n->ins > 2 && n->in[2] != OP_NONE ? op_value_read(g, n->in[2], &f->bias) : EMU_OK;
}

/* Scales the weights and makes the bias. */
static enum emu_status fold(struct folding *f, double epsilon)
{
    const struct op_shape *s = &f->weight.shape;
    uint64_t inner = op_shape_span(s, f->axis + 1, s->rank), n = op_shape_count(s);
    uint32_t channels = f->scale.shape.dim[0], each = s->dim[f->axis];

    if (!f->bias.any)
        TRY(op_tensor_new(&f->scale.shape, &f->bias));
    f->bias.shape.type = s->type;
    for (uint32_t c = 0; c < channels; c++) {
        f->scale.f[c] /= sqrt(f->variance.f[c] + epsilon);
        f->bias.f[c] = (f->bias.f[c] - f->mean.f[c]) * f->scale.f[c] + f->shift.f[c];
    }
    for (uint64_t k = 0; k < n; k++) {
        uint64_t group = f->axis ? k / (n / f->groups) : 0;

        f->weight.f[k] *= f->scale.f[group * each + k / inner % each];
    }
    return EMU_OK;
}

/* The same node with other weights and a bias. */
static enum emu_status emit(struct op_pass *p, const struct op_node *n, const struct folding *f,
                            uint32_t *out)
{
    uint32_t in[3] = { op_pass_now(p, n->in[0]) }, *kept;
    struct op_node folded = *n;

    TRY(op_value_constant(p->g, NULL, &f->weight, &in[1]));
    TRY(op_value_constant(p->g, NULL, &f->bias, &in[2]));
    TRY(op_value_new(p->g, NULL, OP_RESULT, &p->g->value[n->out[0]].shape, out));
    folded.in = op_graph_copy(p->g, in, sizeof(in));
    folded.out = kept = op_graph_copy(p->g, out, sizeof(*out));
    folded.ins = 3;
    if (!folded.in || !kept)
        return FAIL(NO_MEMORY, "a node");
    return op_graph_append(p->g, &folded);
}

static enum emu_status visit(struct op_pass *p, uint32_t node, int *replaced)
{
    const struct op_node *norm = &p->old[node], *n;
    const struct op_call of_norm = op_attrs_of(p->g, norm);
    struct folding f = { .groups = 1 };
    enum emu_status s;
    uint32_t by;

    if (!op_node_is(norm, OP_BatchNormalization) || op_int(&of_norm, "training_mode"))
        return EMU_OK;
    n = carrier(p, norm);
    if (!n)
        return EMU_OK;
    if (op_node_is(n, OP_ConvTranspose)) {
        const struct op_call c = op_attrs_of(p->g, n);

        f.axis = 1;
        f.groups = (uint32_t)op_int(&c, "group");
    }
    s = read_all(p->g, n, norm, &f);
    if (s == EMU_OK)
        s = fold(&f, op_float(&of_norm, "epsilon"));
    if (s == EMU_OK)
        s = emit(p, n, &f, &by);
    if (s == EMU_OK) {
        op_pass_replace(p, norm->out[0], by);
        *replaced = 1;
    }
    folding_free(&f);
    return s;
}

enum emu_status pass_fold_norms(struct op_graph *g)
{
    return op_pass_run(g, visit);
}
