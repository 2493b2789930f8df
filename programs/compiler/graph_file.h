/* graph_file.h - graphs as files (docs/programs/graph_format.md): written, and read back.
 */
#ifndef PROGRAMS_GRAPH_FILE_H
#define PROGRAMS_GRAPH_FILE_H

#include "programs/compiler/compiler.h"

SUPERSTEP_API_BEGIN

/* Writes everything that ss_graph_compile() reads of a graph: ss_graph_read() makes the same graph
 * of it, of which ss_graph_compile() makes the same image. EMU_NO_MEMORY, EMU_IO, or the error of
 * the graph.
 */
enum emu_status ss_graph_write(const struct graph *g, FILE *f) EMU_MUST_CHECK;

/* The text of a graph file, borrowed. */
struct graph_source {
    const char *text;
    size_t bytes;
    const char *name; /* for messages; files that it names are looked for beside it */
    int no_files;     /* it may name none */
};
/* The machine that it is for, if it is one of those that are built in, with as many chips as the
 * program. */
enum emu_status ss_graph_read_machine(const struct graph_source *source,
                                      struct arch *out) EMU_MUST_CHECK;
/* How many chips the program is for. Errors: those of the first two lines. */
enum emu_status ss_graph_read_chips(const struct graph_source *source,
                                    unsigned *out) EMU_MUST_CHECK;
/* Makes a graph of it, which must be of one chip, for another machine if arch is not NULL. Free
 * with ss_graph_free; NULL after an error. ss_graph_check() is left to ss_graph_compile(). Errors:
 * EMU_BAD_FILE and EMU_BAD_MACHINE, "NAME:LINE: ..." with what was expected and what was found;
 * EMU_BAD_ASM, EMU_IO of files that it names; EMU_NO_MEMORY. */
enum emu_status ss_graph_read(const struct graph_source *source, const struct arch *arch,
                              const struct codelet_library *library,
                              struct graph **out) EMU_MUST_CHECK;

/* The same of programs of several chips: the graphs of the chips of a replica, in their order. A
 * file of one chip has no line that says so. */
enum emu_status ss_graphs_write(const struct graph *const *g, unsigned chips,
                                FILE *f) EMU_MUST_CHECK;
/* *out: a new array of *chips graphs, for ss_graphs_free(); NULL after an error. */
enum emu_status ss_graphs_read(const struct graph_source *source, const struct arch *arch,
                               const struct codelet_library *library, struct graph ***out,
                               unsigned *chips) EMU_MUST_CHECK;
void ss_graphs_free(struct graph **g, unsigned chips); /* NULL allowed */

/* What the host may write before a run or read after it, or a stream. */
struct graph_port {
    const char *name; /* borrowed */
    enum elem elem;
    struct tensor tensor; /* of a variable */
    uint32_t stream;      /* UINT32_MAX: it is a variable */
    uint64_t elements;    /* of a stream: of a transfer */
    int is_read;          /* by the host; of a stream: it is one out */
    int is_written;
};
/* The nth variable or stream that was made, also those that are neither read nor written; 0: there
 * are not so many. */
int ss_graph_port(const struct graph *g, size_t n, struct graph_port *out);

SUPERSTEP_API_END

#endif
