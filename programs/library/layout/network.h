/* network.h - what the layers of ops_nn.h share: the network under construction, cuts, zeros,
 * parameters.
 */
#ifndef PROGRAMS_NN_H
#define PROGRAMS_NN_H

#include "programs/library/layout/tile_parts.h"

enum { CHANNEL_BLOCK = 16, NN_HALF_LOWEST = 0xfbff };

struct nn_range {
    uint32_t begin, end;
};

struct nn {
    struct graph *g; /* borrowed */
    struct program seq;
    uint64_t memory_bytes;
    uint32_t kib_price;  /* of parameters, struct conv_shape */
    struct tensor zeros; /* constant [tiles][NN_ZEROS] f16 */
    uint32_t turn;       /* first tile of the last small layer that was spread */
    /* The last activation whose mean was taken: its channels, and by tile the blocks that it has of
     * them. Factors for these are made elsewhere. Owned; NULL: there was none. */
    uint32_t pooled_c;
    struct nn_range *pooled;
    uint64_t *held; /* owned; [tiles] bytes of parameters that others fetch, on each */
};

enum { NN_ZEROS = 256 };

static inline uint32_t nn_atoms(uint32_t channels)
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

/* [n][channels] of a feature of one position, channels in whole blocks. */
struct tensor nn_vectors(struct graph *g, const struct activation *x);

/* The values of t over and over, in a shape. */
struct tensor nn_repeat(struct nn *nn, struct tensor t, unsigned rank, const uint32_t *shape);
/* Zeros of a shape that lie on a tile. */
struct tensor nn_zeros(struct nn *nn, uint32_t tile, unsigned rank, const uint32_t *shape);

/* t [..] sliced in several dimensions at once. */
struct tensor nn_slice(struct graph *g, struct tensor t, const struct nn_range *range);

/* f32 to the nearest f16. */
uint16_t nn_half(float v);

/* A constant of `copies` equal parts of n values each, part i on tile[i]. */
struct tensor nn_constant(struct nn *nn, const uint16_t *value, uint32_t n, const uint32_t *tile,
                          uint32_t copies, const char *name);

/* The tile that holds part (o, i) of the parameters of a plan that are fetched: of those that use
 * it the one that holds least so far. bytes: of the part. */
uint32_t nn_holder(struct nn *nn, const struct conv_plan *p, uint32_t o, uint32_t i,
                   uint64_t bytes);

/* bias_f16, bias_relu_f16, ...; NULL, and the error of the graph, if there is none. */
const struct codelet *nn_codelet(struct graph *g, const char *family, enum activation_function act,
                                 enum elem e);

#endif
