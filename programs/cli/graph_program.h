/* graph_program.h - a graph file (docs/programs/graph_format.md) as a program that can be run,
 * compiled and stepped through.
 */
#ifndef PROGRAMS_GRAPH_PROGRAM_H
#define PROGRAMS_GRAPH_PROGRAM_H

#include "emu/cli/request.h"
#include "programs/cli/named_program.h"
#include "programs/cli/program_ports.h"

/* The `known` of a request for a graph file; without build(): graph_program_read(). */
extern const struct named_program graph_program;

/* Whether the file of a request that was looked at (look_file()) is one, by its first bytes or its
 * name, FILE.graph. */
int graph_program_is(const struct request *q);

/* The graphs of the file, for the machine of the request, else that of the file; *state: for the
 * calls of graph_program, borrows *out. Errors: those of ss_graphs_read() and of machines. */
enum emu_status graph_program_read(const struct request *q, struct program_graphs *out,
                                   void **state) EMU_MUST_CHECK;

#endif
