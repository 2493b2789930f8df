/* compare_graph.h - `run --compare-layers` of an operator graph: compiles, runs and compares. */
#ifndef MODELS_COMPARE_GRAPH_H
#define MODELS_COMPARE_GRAPH_H

#include "emu/cli/request.h"
#include "models/lower/op_program.h"

/* Compiles a program that keeps all results, and compares them (compare_groups.h); where memory
 * does not suffice, one half of the groups after the other. Of several chips
 * each stage has groups of its own, and keeps those of the same numbers; cut: as split_graph()
 * takes it, or NULL. in: by g->input. Prints the answer; *code: the exit code. Errors: those of
 * op_program_new(), of a run and of compare_groups(). */
enum emu_status compare_graph(const struct request *q, const struct arch *a, const char *cut,
                              const struct op_graph *g, const struct op_program_options *o,
                              const struct op_tensor *in, int *code) EMU_MUST_CHECK;

#endif
