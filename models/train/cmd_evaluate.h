/* cmd_evaluate.h - `superstep evaluate`. */
#ifndef MODELS_CMD_EVALUATE_H
#define MODELS_CMD_EVALUATE_H

struct request;

/* Returns the exit code. */
int cmd_evaluate(const struct request *q);

#endif
