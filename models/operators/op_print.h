/* op_print.h - operator graphs and the table of operators, as text for people. */
#ifndef MODELS_OP_PRINT_H
#define MODELS_OP_PRINT_H

#include "models/operators/operators.h"

/* One line a node: name, operator, shape of the first result, inputs, attributes that differ from
 * their presets. */
void op_graph_print(const struct op_graph *g, FILE *f);
/* What cannot run, by operator and reason, with the first node of each. Nothing if all can. */
void op_graph_print_problems(const struct op_graph *g, FILE *f);
/* EMU_BAD_FILE: "3 of 20 nodes cannot run" and `where`; those of the file, or what they became. */
enum emu_status op_graph_refused(const struct op_graph *g, const char *where) EMU_MUST_CHECK;
/* The operators by name: versions, family, attributes with their presets. EMU_NO_MEMORY. */
enum emu_status op_table_print(FILE *f) EMU_MUST_CHECK;

#endif
