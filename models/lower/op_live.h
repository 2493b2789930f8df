/* op_live.h - bytes of values that are live while each group runs, for the choice of plans. */
#ifndef MODELS_OP_LIVE_H
#define MODELS_OP_LIVE_H

#include "models/lower/op_lower.h"

/* Sets one request for each convolution, in the order of groups. Of d it sets conv, convs,
 * other_live, and, in fixed_bytes, the parameters of everything that is no convolution. request: as
 * many as groups. EMU_NO_MEMORY. */
enum emu_status op_live_demand(const struct op_graph *g, const struct node_groups *groups,
                               const struct lower_options *o, uint32_t tiles,
                               struct conv_request *request, struct conv_demand *d) EMU_MUST_CHECK;

/* The shape that a group's convolution is planned for; 0: the group is none. */
int node_group_conv(const struct op_graph *g, const struct node_group *group,
                    const struct lower_options *o, struct dense_layer *layer,
                    struct conv_shape *shape);

/* How many nodes are not just views of their inputs: each of these takes code and work lists. */
uint32_t op_live_nodes(const struct op_graph *g);

#endif
