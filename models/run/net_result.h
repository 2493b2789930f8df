/* net_result.h - reads what layers computed from the machine after a run, in torch's order. */
#ifndef MODELS_NET_RESULT_H
#define MODELS_NET_RESULT_H

#include "models/build/net_graph.h"

struct output_file;

/* Reads the result of `layer`, of fused layers the first, which the program must have kept (struct
 * net_graph_options). out: [batch][c][h][w], the caller's; of a softmax [batch][classes]. *clean: 1
 * if the padding after the last channel is 0, or there is none. Errors: those of session_read(),
 * EMU_NO_MEMORY. */
enum emu_status net_result_read(const struct net_graph *ng, struct session *s, uint32_t layer,
                                double *out, int *clean) EMU_MUST_CHECK;

/* Writes a safetensors file with two F32 tensors: "input" [batch][3][h][w], as given, and "logits"
 * [batch][classes], which the classifier computed; the program must have kept its result. The
 * caller commits the output. Errors: those of session_read(), EMU_IO, EMU_NO_MEMORY. */
enum emu_status net_logits_write(const struct net_graph *ng, struct session *s, const float *input,
                                 const struct output_file *out) EMU_MUST_CHECK;

#endif
