/* op_families.h - the families of operators.def and what makes new nodes of old versions. */
#ifndef MODELS_OP_FAMILIES_H
#define MODELS_OP_FAMILIES_H

#include "models/operators/operators.h"

#define FAMILY(name, flags) extern const struct op_family family_##name;
#include "models/operators/op_families.def"
#undef FAMILY

op_upgrade upgrade_batch_norm;
op_upgrade upgrade_broadcast;
op_upgrade upgrade_cast;
op_upgrade upgrade_clip;
op_upgrade upgrade_dropout;
op_upgrade upgrade_group_norm_18;
op_upgrade upgrade_prelu;
op_upgrade upgrade_softmax;

op_upgrade upgrade_center_crop_pad;
op_upgrade upgrade_lp_pool_1;
op_upgrade upgrade_pad;
op_upgrade upgrade_pad_axes;
op_upgrade upgrade_resize_10;
op_upgrade upgrade_scatter;
op_upgrade upgrade_tile_1;
op_upgrade upgrade_upsample_1;
op_upgrade upgrade_upsample_7;
op_upgrade upgrade_upsample_9;

/* Read as what they are made of (op_spelt.h). */
op_upgrade upgrade_attention;
op_upgrade upgrade_mish;
op_upgrade upgrade_rms_norm;
op_upgrade upgrade_rotary;
op_upgrade upgrade_swish;

/* Makes the gradients of a node: one for each family that has them (op_gradient.h). */
typedef void op_gradient_node(struct op_gradient *x);
op_gradient_node gradient_alias_node, gradient_binary_node, gradient_cast_node,
    gradient_constant_node, gradient_conv_node, gradient_einsum_node, gradient_gather_node,
    gradient_loss_node, gradient_matmul_node, gradient_norm_node, gradient_pool_node,
    gradient_reduce_node, gradient_slice_node, gradient_softmax_node, gradient_unary_node,
    gradient_view_node, gradient_zero_node;

#endif
