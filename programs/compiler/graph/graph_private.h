/* graph_private.h - what the files of the builder share, for this folder only.
 *
 * Every builder function begins with graph_works(): after the first error it does nothing, and
 * without a graph neither. Functions that return a view id give GRAPH_NONE after recording an
 * error.
 */
#ifndef PROGRAMS_GRAPH_PRIVATE_H
#define PROGRAMS_GRAPH_PRIVATE_H

#include "programs/compiler/graph/graph.h"

/* More elements than any chip holds; positions, offsets and their products stay far from 2^63. */
#define TENSOR_MAX_ELEMENTS (UINT64_C(1) << 48)

/* What goes through a channel at once; its bytes are counted in 32 bits. */
#define CHANNEL_BYTES_MAX (UINT32_MAX - 3)
enum { CHANNEL_REPLICAS_MAX = 4095 }; /* to the other end of the largest ring */

#define GRAPH_FAIL(g, ...) ss_graph_fail(g, EMU_BAD_PROGRAM, __VA_ARGS__)

static inline int graph_works(const struct graph *g)
{
    return g && g->status == EMU_OK;
}

void graph_fail_memory(struct graph *g, const char *what);

/* The full path of something called name, in the arena; NULL after an error. */
const char *graph_path(struct graph *g, const char *name);

/* Whether the graph works and t is one of its tensors; `what` begins the message. */
int graph_has_view(struct graph *g, struct tensor t, const char *what);

/* Product of n sizes; UINT64_MAX when it is more than TENSOR_MAX_ELEMENTS. */
uint64_t shape_elements(unsigned rank, const uint32_t *shape);

/* Adds a view; its arrays are copied and its elements counted. Views without elements become empty
 * blocks. */
uint32_t view_add(struct graph *g, const struct view *v);

/* The dense view of a whole variable. */
uint32_t view_add_whole(struct graph *g, uint32_t var);

/* The elements of a view in another shape with as many. */
uint32_t view_reshape(struct graph *g, uint32_t view, unsigned rank, const uint32_t *shape);

/* A slice with elements, or a transposition, of v, which is a VIEW_RESHAPE with elements. The
 * result is a block, or a reshape of a smaller or reordered view. GRAPH_NONE without an error in
 * the graph: there is no such view. */
uint32_t view_slice_reshaped(struct graph *g, const struct view *v, unsigned dim, uint32_t begin,
                             uint32_t end);
uint32_t view_transpose_reshaped(struct graph *g, const struct view *v, const uint8_t *by);

/* The dimensions of a block, without those of size 1, and with neighbours merged where one size and
 * one stride describe both. */
struct view_fold {
    unsigned rank;
    uint64_t size[TENSOR_MAX_RANK];
    int64_t stride[TENSOR_MAX_RANK];
};
void view_fold(const struct view *v, struct view_fold *f);

/* Calls back for the variable of every block of a view, in order; a variable may come again. */
typedef void view_visit_var(void *ctx, uint32_t var);
void view_vars(const struct graph *g, uint32_t view, view_visit_var *visit, void *ctx);
/* The first of them. */
uint32_t view_first_var(const struct graph *g, uint32_t view);

/* Names for messages: use them as view_text(g, view).text. */
struct graph_text {
    char text[256];
};
struct graph_text shape_text(unsigned rank, const uint32_t *shape); /* "[4,5]" */
struct graph_text view_text(const struct graph *g, uint32_t view);  /* "block1/w [4,5]" */
/* "block1/w[2,3] (tile 7)" */
struct graph_text element_text(struct graph *g, uint32_t var, uint64_t element);
struct graph_text node_text(const struct graph *g, uint32_t node);     /* "program node 5 (copy)" */
struct graph_text vertex_text(const struct graph *g, uint32_t vertex); /* "vertex 3 (relu in ..." */

/* Takes a copy of the contents of v, or of one of the copies that they are: that many elements. */
void variable_set_contents(struct graph *g, struct variable *v, const void *data,
                           uint64_t elements);

/* Maps a run of a variable. */
enum emu_status variable_map_run(struct variable *v, const struct map_run *run) EMU_MUST_CHECK;

/* The codelet of a name: one of the graph's own, or one of its library. NULL: there is none. */
const struct codelet *graph_codelet(const struct graph *g, const char *name);

/* Scratch of ss_graph_check(), for the check of views that are written. */
struct access_check;

/* Whether the elements of a view may be written: none belongs to a constant, and none comes twice.
 * who: what writes them; the error message begins with it. */
enum emu_status view_check_written(struct access_check *c, uint32_t view,
                                   const char *who) EMU_MUST_CHECK;

/* Whether the uses of channels of a node NODE_CHIPS go together: no element is received twice, or
 * both sent and received. */
enum emu_status uses_check(struct access_check *c, const struct node *n,
                           const char *who) EMU_MUST_CHECK;

/* The part of ss_graph_check() that looks at the program tree. */
enum emu_status graph_check_program(struct graph *g, struct access_check *c) EMU_MUST_CHECK;

#endif
