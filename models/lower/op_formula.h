/* op_formula.h - functions of numbers, and slopes of functions of one, as kernels: rows of
 * functions.def, read for a node. What computes with tensors, and what computes with bounds, walks
 * the same steps. */
#ifndef MODELS_OP_FORMULA_H
#define MODELS_OP_FORMULA_H

#include "models/operators/operators.h"
#include "programs/programs.h"

enum formula_kind {
    FORMULA_UNARY,  /* op: enum unary_op */
    FORMULA_BINARY, /* op: enum binary_op; one operand may be a number */
    FORMULA_SLOPE,  /* op: enum slope_op; of the value, and of the gradient */
    FORMULA_WHERE,  /* where a is not 0, b, else c */
    FORMULA_FILL,   /* a number; like x */
    FORMULA_WIDE,
    FORMULA_NARROW,
    FORMULA_IS_NAN,
    FORMULA_CLAMP,        /* a value, and two numbers */
    FORMULA_HARD_SIGMOID, /* the same */
    FORMULA_LEAKY_RELU,   /* a value, and a number */
    FORMULA_SCALE,        /* a product; by 1 no step at all */
    FORMULA_KINDS
};

enum { FORMULA_STEPS = 24, FORMULA_X = 0, FORMULA_D = 1, FORMULA_FIRST = 2 };

/* A number, or a value: x, d, or what step `value - FORMULA_FIRST` has made. */
struct formula_operand {
    int is_number;
    unsigned value;
    double number;
};

struct formula_step {
    enum formula_kind kind;
    int op;
    struct formula_operand in[3];
};

/* The result is that of the last step. */
struct op_formula {
    struct formula_step step[FORMULA_STEPS];
    unsigned steps; /* at least 1 */
};

struct function_row {
    const char *name;
    int is_slope;
    int keeps_field; /* of a function: it is finite at 0 */
    const char *text;
};

/* Row k of functions.def; NULL: there are fewer rows. */
const struct function_row *op_formula_row(unsigned k);
/* The row of a function, or of a UnaryGradient; NULL: there is none. */
const struct function_row *op_formula_find(const struct op_graph *g, const struct op_node *n);
/* Its steps, with the attributes of the node. The bounds of a Clip must be constant. EMU_NO_MEMORY.
 */
enum emu_status op_formula_of(const struct op_graph *g, const struct op_node *n,
                              struct op_formula *out) EMU_MUST_CHECK;
/* The steps of a row for attributes a and b. */
void op_formula_read(const struct function_row *row, const double attr[2], struct op_formula *out);

/* A function of two numbers, or of many, one after the other, as one kernel. */
struct binary_row {
    enum op_code code;
    enum binary_op op;
    int is_swapped; /* its operands are those of op in the other order */
    int commutes;
};

/* The row of a node; NULL: there is none. */
const struct binary_row *op_binary_row(const struct op_node *n);

#endif
