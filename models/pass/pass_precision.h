/* pass_precision.h - computes in f32 what would silently go wrong in f16.
 */
#ifndef MODELS_PASS_PRECISION_H
#define MODELS_PASS_PRECISION_H

#include "models/pass/op_pass.h"

enum { PRECISION_CLAMPED_MAX = 8 };

/* What the pass did, for the answer. */
struct precision_notes {
    uint32_t nodes;   /* that compute in f32 */
    uint32_t clamped; /* constants beyond the range, as often as one is read */
    const char *clamp[PRECISION_CLAMPED_MAX]; /* names of the first of them; the graph's */
};

/* For a graph whose floats are f16 on the chip, after pass_all(): sums of squares become one
 * operation; nodes that f16 would get wrong are marked (op_node.precision), from integers,
 * constants beyond f16 and constants that f16 has not as far as their results need it; constants
 * beyond f16 that are only chosen are replaced by its largest number, infinite ones that multiply
 * by the largest number of f32. Of a graph that will be trained, before its gradients are made
 * (op_gradients() hands marks on), parameters are no constants. EMU_NO_MEMORY. */
enum emu_status pass_precision(struct op_graph *g, struct precision_notes *notes) EMU_MUST_CHECK;

#endif
