/* op_update.h - the methods of ParameterUpdate, and where its inputs are. */
#ifndef MODELS_OP_UPDATE_H
#define MODELS_OP_UPDATE_H

/* Inputs that are one number each, and the seed of rounding, two words; the lists follow. */
enum { UPDATE_RATE, UPDATE_SCALE, UPDATE_STEP, UPDATE_SEED, UPDATE_LISTS };
enum { UPDATE_SLOTS = 2 };

struct op_update_method {
    const char *name;
    unsigned slots;                 /* states of each parameter */
    const char *slot[UPDATE_SLOTS]; /* their names: "momentum" */
    double begin[UPDATE_SLOTS];     /* what they are before the first step */
    int wide[UPDATE_SLOTS];         /* 1: beyond the range of f16, for squares */
};

/* NULL: there is none of that name. */
const struct op_update_method *op_update_method(const char *name);
/* The name of method i; NULL after the last one. */
const char *op_update_method_name(unsigned i);

#endif
