/* op_function.h - functions of one number by the names of their operators: what recurrent cells
 * apply.
 */
#ifndef MODELS_OP_FUNCTION_H
#define MODELS_OP_FUNCTION_H

/* A row of family_unary.c. */
struct op_function;

/* NULL: there is none of that name for floats. */
const struct op_function *op_function_find(const char *name);
/* Attribute k (0, 1) of the operator; NULL: it has none. */
const char *op_function_attr(const struct op_function *f, unsigned k);
/* Its value at x with the attributes a and b. */
double op_function_value(const struct op_function *f, double x, double a, double b);

#endif
