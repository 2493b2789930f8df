/* graph_read.h - what the readers of a graph file share, for this folder only.
 *
 *   graph_read.c          machine, scopes, variables, streams, codelets
 *   graph_read_view.c     views
 *   graph_read_program.c  compute sets and their vertices, functions, the program
 *
 * Each function begins at the line or behind the word that its name says, and ends behind what it
 * has read; those that read a line with what is indented below it end at the line after that.
 */
#ifndef PROGRAMS_GRAPH_READ_H
#define PROGRAMS_GRAPH_READ_H

#include "programs/compiler/graph/graph_lex.h"

/* A vertex whose line has been seen. Vertices are made when all compute sets are known, in the
 * order of their numbers. */
struct seen_vertex {
    struct graph_place place;
    uint32_t number, set;
};

struct graph_reader {
    struct graph_lexer lex;
    const struct graph_source *source; /* borrowed */
    struct graph *g;
    struct graph_names names[NAME_KINDS];
    VEC(struct seen_vertex) vertex;
    unsigned depth; /* of views within views, of nodes within nodes */
};

/* The error of the graph, if it has one, as that of the current line. */
enum emu_status reader_status(const struct graph_reader *r) EMU_MUST_CHECK;

/* One level deeper; EMU_BAD_FILE when that is too deep. */
enum emu_status reader_enter(struct graph_reader *r) EMU_MUST_CHECK;

/* A name, or NAME#NUMBER, of something that is there. */
enum emu_status read_reference(struct graph_reader *r, enum name_kind kind,
                               uint32_t *number) EMU_MUST_CHECK;
/* "3 net/x": a number, which may be missing, must be that of the next thing. The name is valid
 * until the next one. */
enum emu_status read_title(struct graph_reader *r, enum name_kind kind,
                           const char **name) EMU_MUST_CHECK;
/* " in SCOPE", if it is there, and the end of the line. */
enum emu_status read_scope_end(struct graph_reader *r, uint32_t usual,
                               uint32_t *scope) EMU_MUST_CHECK;

enum emu_status read_view(struct graph_reader *r, struct tensor *out) EMU_MUST_CHECK;

enum emu_status read_compute_set(struct graph_reader *r) EMU_MUST_CHECK;
enum emu_status read_function(struct graph_reader *r) EMU_MUST_CHECK;
enum emu_status read_program(struct graph_reader *r) EMU_MUST_CHECK;
/* Makes all vertices that were seen. */
enum emu_status read_vertices(struct graph_reader *r) EMU_MUST_CHECK;

#endif
