/* op_print.h - operator graphs and the table of operators, as text for people and as JSON. */
#ifndef MODELS_OP_PRINT_H
#define MODELS_OP_PRINT_H

#include <jansson.h>

#include "models/operators/operators.h"

/* One line a node: name, operator, shape of the first result, inputs, attributes that differ from
 * their presets. */
void op_graph_print(const struct op_graph *g, FILE *f);
/* The same with columns between result and inputs, and a last line for all nodes. */
struct op_columns {
    const char *title;                                     /* ends where inputs begin */
    void (*print)(const void *of, uint32_t node, FILE *f); /* begins with a blank; node: g->nodes
                                                              for the sum. NULL: no columns */
    const void *of;
};
void op_graph_print_with(const struct op_graph *g, const struct op_columns *more, FILE *f);
/* What cannot run, by operator and reason, with the first node of each. Nothing if all can. */
void op_graph_print_problems(const struct op_graph *g, FILE *f);
/* EMU_BAD_FILE: "3 of 20 nodes cannot run" and `where`; those of the file, or what they became. */
enum emu_status op_graph_refused(const struct op_graph *g, const char *where) EMU_MUST_CHECK;
/* The operators by name: versions, family, attributes with their presets. EMU_NO_MEMORY. */
enum emu_status op_table_print(FILE *f) EMU_MUST_CHECK;

/* The same as JSON (docs/json.md), new lists; NULL: out of memory. */
json_t *op_table_json(void);
json_t *op_graph_problems_json(const struct op_graph *g);
/* The nodes with what each takes: op_graph_work(). */
json_t *op_graph_nodes_json(const struct op_graph *g, const struct op_work *work);
/* Inputs or outputs: name, type, shape. */
json_t *op_graph_values_json(const struct op_graph *g, const uint32_t *value, uint32_t values);

#endif
