/* network.c - the network under construction, and what its layers share. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/layout/network.h"

#include <string.h>

enum emu_status ss_nn_new(struct graph *g, struct program seq, uint64_t memory_bytes,
                          struct nn **out)
{
    uint32_t shape[2] = { ss_graph_compute_tiles(g), NN_ZEROS };
    uint16_t *zero;
    struct nn *nn;

    *out = NULL;
    TRY(ss_graph_status(g));
    zero = emu_alloc((size_t)shape[0] * shape[1], sizeof(*zero));
    nn = emu_alloc(1, sizeof(*nn));
    *out = nn;
    if (!zero || !nn) {
        ss_free(zero);
        ss_free(nn);
        *out = NULL;
        return FAIL(NO_MEMORY, "a network");
    }
    *nn = (struct nn){ .g = g, .seq = seq };
    nn->memory_bytes = memory_bytes ? memory_bytes : UINT64_MAX;
    nn->held = emu_alloc(shape[0], sizeof(*nn->held));
    if (!nn->held) {
        ss_free(zero);
        ss_free(nn);
        *out = NULL;
        return FAIL(NO_MEMORY, "a network");
    }
    nn->zeros = ss_graph_constant(g, ELEM_F16, 2, shape, zero, "zeros");
    ss_free(zero);
    for (uint32_t i = 0; i < shape[0]; i++)
        ss_graph_map(g, ss_tensor_index(g, nn->zeros, i), i);
    return ss_graph_status(g);
}

void ss_nn_free(struct nn *nn)
{
    if (nn) {
        ss_free(nn->held);
        ss_free(nn->pooled);
    }
    ss_free(nn);
}

struct program ss_nn_continue_in(struct nn *nn, struct program seq)
{
    struct program before = seq;

    if (nn) {
        before = nn->seq;
        nn->seq = seq;
    }
    return before;
}

void ss_nn_set_price(struct nn *nn, uint32_t kib_price)
{
    if (nn)
        nn->kib_price = kib_price;
}

struct activation nn_activation(struct nn *nn, uint32_t n, uint32_t c, uint32_t h, uint32_t w,
                                const char *name)
{
    uint32_t shape[5] = { channel_blocks(c), n, h, w, CHANNEL_BLOCK };

    return (struct activation){ ss_graph_variable(nn->g, ELEM_F16, 5, shape, name), n, c, h, w };
}

struct activation ss_op_picture(struct nn *nn, uint32_t n, uint32_t h, uint32_t w, const char *name)
{
    uint32_t shape[4] = { n, h, w, 4 };
    struct graph *g = nn_graph(nn);
    struct activation f = { ss_graph_variable(g, ELEM_F16, 4, shape, name), n, 3, h, w };

    ss_graph_map_linear(g, f.t, 64, 64, 0, ss_graph_compute_tiles(g));
    ss_graph_input(g, f.t);
    return f;
}

struct tensor nn_vectors(struct graph *g, const struct activation *x)
{
    uint32_t blocks = channel_blocks(x->c);
    struct tensor t =
        ss_tensor_reshape(g, x->t, 3, (const uint32_t[]){ blocks, x->n, CHANNEL_BLOCK });

    t = ss_tensor_transpose(g, t, (const unsigned[]){ 1, 0, 2 });
    return ss_tensor_reshape(g, t, 2, (const uint32_t[]){ x->n, blocks * CHANNEL_BLOCK });
}

struct tensor nn_repeat(struct nn *nn, struct tensor t, unsigned rank, const uint32_t *shape)
{
    uint64_t elements = 1, each = ss_tensor_elements(nn->g, t);
    struct tensor *part;
    uint32_t parts;

    for (unsigned i = 0; i < rank; i++)
        elements *= shape[i];
    parts = each ? (uint32_t)((elements + each - 1) / each) : 0;
    part = emu_alloc(parts + 1, sizeof(*part));
    if (!part || !parts) {
        ss_free(part);
        ss_graph_fail(nn->g, EMU_NO_MEMORY, "%llu equal values", (unsigned long long)elements);
        return t;
    }
    for (uint32_t i = 0; i < parts; i++)
        part[i] = t;
    if (elements % each)
        part[parts - 1] = ss_tensor_slice(nn->g, t, 0, 0, (uint32_t)(elements % each));
    if (parts > 1)
        t = ss_tensor_concat(nn->g, part, parts, 0);
    else
        t = part[0];
    ss_free(part);
    return ss_tensor_reshape(nn->g, t, rank, shape);
}

struct tensor nn_zeros(struct nn *nn, uint32_t tile, unsigned rank, const uint32_t *shape)
{
    return nn_repeat(nn, ss_tensor_index(nn->g, nn->zeros, tile), rank, shape);
}

struct tensor nn_slice(struct graph *g, struct tensor t, const struct nn_range *range)
{
    unsigned rank = ss_tensor_rank(g, t);

    for (unsigned i = 0; i < rank; i++) {
        if (range[i].begin || range[i].end != ss_tensor_shape(g, t)[i])
            t = ss_tensor_slice(g, t, i, range[i].begin, range[i].end);
    }
    return t;
}

uint16_t nn_half(float v)
{
    struct fp_env env = { 0 };

    return fp_f16_from_f64((double)v, 0, &env);
}

struct tensor nn_constant(struct nn *nn, const uint16_t *value, uint32_t n, const uint32_t *tile,
                          uint32_t copies, const char *name)
{
    uint32_t shape[2] = { copies, n };
    struct tensor t = ss_graph_constant_repeated(nn->g, ELEM_F16, 2, shape, value, name);

    for (uint32_t i = 0; i < copies; i++)
        ss_graph_map(nn->g, ss_tensor_index(nn->g, t, i), tile[i]);
    return t;
}

uint32_t nn_holder(struct nn *nn, const struct conv_plan *p, uint32_t o, uint32_t i, uint64_t bytes)
{
    uint32_t users = p->cut_n * p->cut_h * p->cut_w, best = UINT32_MAX;

    for (uint32_t u = 0; u < users; u++) {
        uint32_t tile = conv_plan_tile(p, ((uint64_t)u * p->cut_out + o) * p->cut_in + i);

        if (best == UINT32_MAX || nn->held[tile] < nn->held[best])
            best = tile;
    }
    nn->held[best] += bytes;
    return best;
}

const struct codelet *nn_codelet(struct graph *g, const struct act_kernels *k,
                                 enum activation_function act)
{
    static const char *const names[ACTIVATIONS] = { "none", "relu", "swish", "sigmoid" };

    if (!k->of[act])
        ss_graph_fail(g, EMU_BAD_PROGRAM, "there is no codelet %s with the activation function %s",
                      k->name, names[act]);
    return k->of[act];
}
