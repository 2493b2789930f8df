/* block_parameters.c - parameters of blocks that are alike become states. */
#include "models/lower/block_parameters.h"

#include "models/lower/equal_blocks.h"

/* Whether a node computes with operand k in the same way when it is no constant. */
static int takes_any(const struct op_node *n, uint32_t k)
{
    static const enum op_code any[] = { OP_Add,    OP_Gemm,     OP_LayerNormalization,
                                        OP_MatMul, OP_Mul,      OP_Reshape,
                                        OP_Sub,    OP_Transpose };

    for (unsigned i = 0; i < EMU_COUNT_OF(any); i++) {
        if (op_node_is(n, any[i]))
            return 1;
    }
    return op_node_is(n, OP_Conv) && k;
}

static int node_takes(const struct op_node *n, uint32_t value)
{
    for (uint32_t k = 0; k < n->ins; k++) {
        if (n->in[k] == value && !takes_any(n, k))
            return 0;
    }
    return 1;
}

/* Whether a parameter may be a state: all who read it take any operand. */
static int may_change(const struct op_graph *g, uint32_t value)
{
    uint32_t k = 0;

    while (k < g->nodes && node_takes(&g->node[k], value))
        k++;
    if (k < g->nodes)
        return 0;
    for (k = 0; k < g->outputs && g->output[k] != value; k++)
        ;
    return k == g->outputs;
}

/* Parameters of a class that are the same value in all stretches stay what they are. */
static int differs(const struct equal_blocks *b, uint32_t class, uint32_t k)
{
    uint32_t first = b->stretch[b->class[class].first].value[k];

    for (uint32_t i = 0; i < b->stretches; i++) {
        if (b->stretch[i].class == class && b->stretch[i].value[k] != first)
            return 1;
    }
    return 0;
}

static int is_parameter(const struct op_graph *g, const struct equal_blocks *b, uint32_t class,
                        const struct stretch *s, uint32_t k)
{
    return value_is_parameter_like(&g->value[s->value[k]]) && differs(b, class, k);
}

static int class_may(const struct op_graph *g, const struct equal_blocks *b, uint32_t class)
{
    for (uint32_t i = 0; i < b->stretches; i++) {
        const struct stretch *s = &b->stretch[i];

        for (uint32_t k = 0; s->class == class && k < b->class[class].values; k++) {
            if (is_parameter(g, b, class, s, k) && !may_change(g, s->value[k]))
                return 0;
        }
    }
    return 1;
}

static void change_class(struct op_graph *g, const struct equal_blocks *b, uint32_t class)
{
    for (uint32_t k = 0; k < b->class[class].values; k++) {
        if (!is_parameter(g, b, class, &b->stretch[b->class[class].first], k))
            continue;
        for (uint32_t i = 0; i < b->stretches; i++) {
            if (b->stretch[i].class == class)
                g->value[b->stretch[i].value[k]].kind = OP_STATE;
        }
    }
}

enum emu_status block_parameters_to_states(struct op_graph *g, enum elem real, uint32_t *blocks)
{
    struct equal_blocks b = { .stretches = 0 };
    struct node_groups groups = { .at = NULL };
    enum emu_status s = node_groups_of(g, real, &groups);

    *blocks = 0;
    if (s == EMU_OK)
        s = equal_blocks_find_by_shape(g, &groups, &b);
    for (uint32_t c = 0; s == EMU_OK && c < b.classes; c++) {
        if (!class_may(g, &b, c))
            continue;
        change_class(g, &b, c);
        *blocks += b.class[c].count;
    }
    equal_blocks_free(&b);
    node_groups_free(&groups);
    return s;
}
