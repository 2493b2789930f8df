/* op_pass.h - transformations of operator graphs: each keeps inputs, outputs with their names, and
 * meaning.
 *
 * A pass walks the nodes in order; each is kept, or its result is replaced by that of new nodes.
 * Values that are no longer read are removed at the end. Weights are read before the passes, so a
 * pass may compute new constants from parameters.
 */
#ifndef MODELS_OP_PASS_H
#define MODELS_OP_PASS_H

#include "models/operators/operators.h"

/* Zeros that Pad puts around the input of a convolution or of a mean over windows become its pads.
 * EMU_NO_MEMORY. */
enum emu_status pass_join_pads(struct op_graph *g) EMU_MUST_CHECK;

/* Batch norms behind convolutions, also transposed ones, with constant weights become part of
 * weights and bias. Others stay. EMU_NO_MEMORY. */
enum emu_status pass_fold_norms(struct op_graph *g) EMU_MUST_CHECK;

/* Finds functions that exporters write as several small operators: Swish, HardSwish, Gelu (both
 * kinds), LayerNormalization with its scale and bias. EMU_NO_MEMORY. */
enum emu_status pass_recognise(struct op_graph *g) EMU_MUST_CHECK;

/* Finds group norms that are written as instance norms. EMU_NO_MEMORY. */
enum emu_status pass_group_norms(struct op_graph *g) EMU_MUST_CHECK;

/* Replaces nodes that tiles compute in several steps by nodes for these steps: losses with labels,
 * LRN, CumSum, OneHot, linear and cubic Resize, LpNormalization, LpPool, GlobalLpPool, Trilu, arc
 * functions, IsInf, Mod, powers of integers, reductions over no axes, the mask of Dropout, Scatter
 * with constant places, TopK, Einsum of one or two operands, ConvTranspose of constant weights
 * whose windows do not overlap. Losses with constant labels that name no class stay, LRN, CumSum
 * and TopK over more than 1024 numbers, pools of other powers than 1 and 2, Resize that crops,
 * Scatter that reduces, and what is of integers. EMU_NO_MEMORY. */
enum emu_status pass_expand(struct op_graph *g) EMU_MUST_CHECK;

/* From here on the floats of all nodes up to the one of that name are f32 on the chip; NULL: those
 * of all nodes. After pass_all(), which fuses nodes. EMU_USAGE: there is no such node. */
enum emu_status pass_widen(struct op_graph *g, const char *last) EMU_MUST_CHECK;

/* Spells convolutions and pools of floats without windows: products, sums and
 * extremes of slices of their input. Of the nodes that compute in f32 (pass_widen()), which the
 * kernels of windows do not; after all other passes. Maxima with indices stay, and what has no
 * numbers. EMU_NO_MEMORY. */
enum emu_status pass_spell_windows(struct op_graph *g) EMU_MUST_CHECK;

/* Spells what came after version 17 of the operators (Swish, GroupNormalization) in operators of
 * that version, before a graph is written to a file. EMU_NO_MEMORY. */
enum emu_status pass_spell(struct op_graph *g) EMU_MUST_CHECK;

/* The stages that make a graph ready to be lowered, in order, by the names that users type. The
 * first stage is the graph as it was read or built. */
struct pass_stage {
    const char *name;
    enum emu_status (*run)(struct op_graph *g); /* NULL: nothing is done */
};
/* NULL after the last one. */
const struct pass_stage *pass_stage(unsigned k);
/* All stages, op_graph_check() after each; pass_until(): up to and with the one of that name, which
 * there is. */
enum emu_status pass_all(struct op_graph *g) EMU_MUST_CHECK;
enum emu_status pass_until(struct op_graph *g, const char *last) EMU_MUST_CHECK;

/* --- for passes --------------------------------------------------------------------------- */

/* A walk. Old values keep their indices, so that what a pattern matches can be looked up. */
struct op_pass {
    struct op_graph *g;
    struct op_node *old; /* owned: the nodes before */
    uint32_t olds;
    uint32_t f32_nodes;   /* of the old ones: op_graph.f32_nodes */
    uint32_t values;      /* before */
    uint32_t *producer;   /* owned; old node by old value, or OP_NONE */
    uint32_t *readers;    /* owned; by old value */
    uint32_t *stands_for; /* owned; by old value: what is read in its place */
};

/* A pass: visits every old node in order, and calls op_pass_replace() for it or leaves it. */
typedef enum emu_status op_pass_visit(struct op_pass *p, uint32_t node, int *replaced);
enum emu_status op_pass_run(struct op_graph *g, op_pass_visit *visit) EMU_MUST_CHECK;

/* Old value `value` is read as `by` from here on, which takes its name. */
void op_pass_replace(struct op_pass *p, uint32_t value, uint32_t by);

/* The old node that makes an old value, if it is of this operator; else NULL. */
const struct op_node *op_pass_made_by(const struct op_pass *p, uint32_t value, enum op_code op);
/* Whether an old value is a constant of one number, and which. */
int op_pass_scalar(const struct op_pass *p, uint32_t value, double *number);
/* What is read in place of an old value. */
static inline uint32_t op_pass_now(const struct op_pass *p, uint32_t value)
{
    return value < p->values ? p->stands_for[value] : value;
}

#endif
