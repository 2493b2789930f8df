/* op_slope.h - how functions of one number change, by the names of their operators. */
#ifndef MODELS_OP_SLOPE_H
#define MODELS_OP_SLOPE_H

/* A row of family_slope.c. */
struct op_slope;

/* NULL: the function has steps only (Floor, Sign), or none of that name has a slope. */
const struct op_slope *op_slope_find(const char *name);
/* The operator's attribute that UnaryGradient has as alpha (k = 0), beta (1); NULL: none. */
const char *op_slope_attr(const struct op_slope *s, unsigned k);
/* 1: the slope is computed from the function's result, 0: from its argument. */
int op_slope_of_result(const struct op_slope *s);

#endif
