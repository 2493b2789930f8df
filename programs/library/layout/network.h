/* network.h - what the layers of ops_nn.h share: the network under construction, and functions for
 * cuts, zeros and parameters.
 */
#ifndef PROGRAMS_NETWORK_H
#define PROGRAMS_NETWORK_H

#include "programs/library/layout/tile_parts.h"

enum { NN_HALF_LOWEST = 0xfbff };

struct nn_range {
    uint32_t begin, end;
};

struct nn {
    struct graph *g; /* borrowed */
    struct program seq;
    uint64_t memory_bytes;
    uint32_t kib_price;        /* as in struct conv_shape */
    struct tensor zeros;       /* constant [tiles][NN_ZEROS] f16 */
    uint32_t small_layer_tile; /* the first tile of the last small layer (tile_choice.h) */
    /* Of the last activation whose mean was taken: its channels, and the blocks of them on each
     * tile. Factors for these channels are computed on other tiles. Owned; NULL: no mean so far. */
    uint32_t pooled_c;
    struct nn_range *pooled;
    uint32_t home_tile; /* the next one to get a part of weights that are a tensor */
    uint64_t *held;     /* owned; by tile: bytes of parameters that it holds for others to fetch */
};

enum { NN_ZEROS = 256 };

/* Its graph; NULL without a network, as where ss_nn_new() has failed: ss_graph_status() says so. */
static inline struct graph *nn_graph(const struct nn *nn)
{
    return nn ? nn->g : NULL;
}

/* Blocks of 16 channels, the last one filled up. */
static inline uint32_t channel_blocks(uint32_t channels)
{
    return (channels + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK;
}

static inline struct nn_range nn_part(uint32_t n, uint32_t parts, uint32_t i)
{
    return (struct nn_range){ cut_at(n, parts, i), cut_at(n, parts, i + 1) };
}
static inline uint32_t nn_size(struct nn_range r)
{
    return r.end - r.begin;
}

/* A new activation variable, not mapped. */
struct activation nn_activation(struct nn *nn, uint32_t n, uint32_t c, uint32_t h, uint32_t w,
                                const char *name);

/* An activation of one position as [n][channels], channels rounded up to whole blocks. */
struct tensor nn_vectors(struct graph *g, const struct activation *x);

/* A view of that shape which repeats the values of t. */
struct tensor nn_repeat(struct nn *nn, struct tensor t, unsigned rank, const uint32_t *shape);
/* A view of that shape with zeros that lie on the tile. */
struct tensor nn_zeros(struct nn *nn, uint32_t tile, unsigned rank, const uint32_t *shape);

/* t sliced in all dimensions at once. range: one for each dimension. */
struct tensor nn_slice(struct graph *g, struct tensor t, const struct nn_range *range);

/* v rounded to the nearest f16. */
uint16_t nn_half(float v);

/* A constant with `copies` copies of n values; copy i lies on tile[i]. */
struct tensor nn_constant(struct nn *nn, const uint16_t *value, uint32_t n, const uint32_t *tile,
                          uint32_t copies, const char *name);

/* Chooses the tile that holds part (o, i) of a plan's parameters if they are fetched: among the
 * tiles that use the part the one that holds least so far. bytes: size of the part. */
uint32_t nn_holder(struct nn *nn, const struct conv_plan *p, uint32_t o, uint32_t i,
                   uint64_t bytes);

/* Kernels that do the same and end with an activation function. */
enum { ACTIVATIONS = ACT_SIGMOID + 1 };
struct act_kernels {
    const char *name;                      /* of the one without */
    const struct codelet *of[ACTIVATIONS]; /* NULL: there is none */
};

#define SWISH_KERNELS(family, type)                                                                \
    [ACT_NONE] = KERNEL_ROW(family##_##type), [ACT_RELU] = KERNEL_ROW(family##_relu_##type),       \
    [ACT_SWISH] = KERNEL_ROW(family##_swish_##type)
/* Without a sigmoid, and with. */
#define ACT_KERNELS_3(family, type)                                                                \
    {                                                                                              \
        .name = KERNEL_NAME(family##_##type), .of = { SWISH_KERNELS(family, type) }                \
    }
#define ACT_KERNELS_4(family, type)                                                                \
    {                                                                                              \
        .name = KERNEL_NAME(family##_##type), .of = {                                              \
            SWISH_KERNELS(family, type),                                                           \
            [ACT_SIGMOID] = KERNEL_ROW(family##_sigmoid_##type)                                    \
        }                                                                                          \
    }

/* NULL, and the error of the graph, if there is none for that activation function. */
const struct codelet *nn_codelet(struct graph *g, const struct act_kernels *k,
                                 enum activation_function act);

#endif
