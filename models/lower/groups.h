/* groups.h - nodes that run as one: a convolution or a dense layer with its bias, a value added to
 * it, and its activation function; a norm of channels with its activation function.
 *
 * A group runs where its last node stands, when all that it reads is there. Results between its
 * nodes have no other reader. Every other node is a group of its own.
 */
#ifndef MODELS_GROUPS_H
#define MODELS_GROUPS_H

#include "models/operators/operators.h"
#include "programs/programs.h"

/* Blocks of channels of a field, the last one filled up. */
static inline uint32_t channel_blocks_of(uint32_t channels)
{
    return (channels + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK;
}

enum { GROUP_NODES = 4 };

struct node_group {
    uint32_t node[GROUP_NODES]; /* in order; the first one names the group */
    unsigned nodes;
    uint32_t bias;  /* a constant [channels] that a node of the group adds; OP_NONE: none */
    uint32_t added; /* a value of the result's shape that is added; OP_NONE: none */
    enum activation_function act;
    enum elem real;              /* of its floats */
    enum op_precision precision; /* not OP_AS_OTHERS: real is f32 although other groups have f16 */
};

/* The floats of the groups around one. */
static inline enum elem node_group_around(const struct node_group *group)
{
    return group->precision == OP_AS_OTHERS ? group->real : ELEM_F16;
}

struct node_groups {
    struct node_group *at; /* owned; in the order in which they run */
    uint32_t count;
};

/* real: the type of floats, behind those of op_graph.f32_nodes; products in f32 are no groups,
 * since fields are f16. Groups in f32 come first where there are others. EMU_NO_MEMORY.
 * Free with node_groups_free. */
enum emu_status node_groups_of(const struct op_graph *g, enum elem real,
                               struct node_groups *out) EMU_MUST_CHECK;
void node_groups_free(struct node_groups *g);

/* "Conv+Add+Relu". Returns out. */
enum { GROUP_TEXT = 96 };
char *node_group_text(const struct op_graph *g, const struct node_group *group,
                      char out[GROUP_TEXT]);
/* The value that a group makes: the first result of its last node that is not absent; OP_NONE:
 * there is none. */
uint32_t node_group_result(const struct op_graph *g, const struct node_group *group);

/* ---- layers with weights ---- */

/* A node that is a convolution or a dense layer with constant weights, or a convolution whose
 * weights are a state, as a convolution of fields: channels along `axis` of input and result,
 * positions along the others. */
struct dense_layer {
    uint32_t x, weights, bias; /* values; bias OP_NONE: none */
    unsigned axis;             /* of the input; the result has the same rank and axis */
    uint32_t n, h, w;          /* positions of the input */
    uint32_t in_c;
    uint32_t patch_h, patch_w; /* above 0: positions are patches of the input, its channels all
                                  their numbers, [channel][row][column] */
    struct conv_layer conv;    /* without weights, bias, add and plan */
    int linear;                /* 1: one position; ss_op_linear() computes it */
    int tensors;               /* 1: weights and bias are no constants */
    int transposed;            /* 1: weights are [in][out], else [out][in ..] */
    double alpha, beta;        /* factors of products and of the bias */
};

/* Kernel, strides, dilations and pads of a window with one or two dimensions; of one, the rows are
 * the dimension that is absent. Returns 0 when there are more dimensions or negative pads. */
struct op_window;
int conv_take_window(const struct op_window *w, struct conv_layer *out);

/* Whether a value is an input that comes pixel by pixel, [n][h][w][4]: it has up to 4 channels, and
 * only convolutions read it. First layers take it so. */
int value_is_picture(const struct op_graph *g, uint32_t value);

/* Whether a node is one. */
int dense_layer_of(const struct op_graph *g, const struct op_node *n, struct dense_layer *out);
/* Its weights [out][in / groups][kernel ..] and bias [out], f32; owned, ss_free. *bias NULL: none.
 * bias: a value that comes in addition, or OP_NONE. EMU_NO_MEMORY. */
enum emu_status dense_layer_numbers(const struct op_graph *g, const struct dense_layer *l,
                                    uint32_t more, float **weights, float **bias) EMU_MUST_CHECK;
/* The numbers of a constant as f32; owned, ss_free. EMU_NO_MEMORY. */
enum emu_status value_floats(const struct op_graph *g, uint32_t value, float **out) EMU_MUST_CHECK;

#endif
