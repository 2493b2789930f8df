/* net_result.h - results of layers as the machine has them after a run, in the order of torch. */
#ifndef MODELS_NET_RESULT_H
#define MODELS_NET_RESULT_H

#include "models/build/net_graph.h"

/* Result of a layer that was built to be kept (struct net_graph_options), the first of those that
 * were fused: [batch][c][h][w] numbers. *clean: whether the padding after the last channel is 0;
 * 1 where there is none. Errors: of session_read, EMU_NO_MEMORY. */
enum emu_status net_result_read(const struct net_graph *ng, struct session *s, uint32_t layer,
                                double *out, int *clean) EMU_MUST_CHECK;

/* Writes what went in, [batch][3][h][w], and the classifier's results, [batch][classes], as the
 * tensors "input" and "logits" of a safetensors file, in F32. The classifier's result is kept.
 * The caller commits the output. EMU_IO, EMU_NO_MEMORY. */
enum emu_status net_logits_write(const struct net_graph *ng, struct session *s, const float *input,
                                 const struct output_file *out) EMU_MUST_CHECK;

#endif
