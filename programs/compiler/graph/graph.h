/* graph.h - what a graph consists of: read by checks, interpreter and lowering; changed only by the
 * builder (compiler.h).
 *
 * Everything is numbered from 0 in the order of creation: variables, views, compute sets, vertices,
 * nodes, functions, streams. Names are full paths ("block1/conv/out").
 */
#ifndef PROGRAMS_GRAPH_H
#define PROGRAMS_GRAPH_H

#include "emu/emu.h"
#include "programs/compiler/base/arena.h"
#include "programs/compiler/base/codelet.h"
#include "programs/compiler/compiler.h"

enum { GRAPH_NONE = UINT32_MAX };

/* Elements [begin, end) of a variable, in its row-major order. */
struct map_run {
    uint64_t begin, end;
    uint32_t tile; /* GRAPH_NONE: not mapped */
};

struct variable {
    const char *name;
    uint32_t scope;
    enum elem elem;
    unsigned rank;
    uint32_t shape[TENSOR_MAX_RANK];
    uint64_t elements;
    const void *initial;       /* initial_elements x bytes; NULL: undefined */
    uint64_t initial_elements; /* of one copy; the contents repeat it up to `elements` */
    uint8_t constant, kept, input;
    struct tensor whole;
    /* The mapping: sorted, disjoint, without gaps, neighbours differ in tile. What was mapped last
     * counts. variable_map() brings it into this form. */
    VEC(struct map_run) map;
    size_t unsorted; /* entries of map after the normalised ones */
};

/* Whether the variable keeps its value before, during and after every run. */
static inline int variable_stays(const struct variable *v)
{
    return v->constant || v->kept || v->initial;
}

/* A view is an affine block of one variable, or made of other views. */
enum view_kind {
    VIEW_BLOCK,     /* element i0,i1,.. of the view is element offset + i0*stride[0] + .. of var */
    VIEW_CONCAT,    /* parts along dimension dim */
    VIEW_RESHAPE,   /* elements of part[0] in order (where they are no affine block) */
    VIEW_SLICE,     /* begin .. of part[0] along dim */
    VIEW_TRANSPOSE, /* dimension k is dimension order[k] of part[0] */
    VIEW_BROADCAST  /* part[0] repeated along dim */
};

/* A graph may have millions of views, so their arrays are shared, or in the arena of the graph. */
struct view {
    uint8_t kind; /* enum view_kind */
    uint8_t elem; /* enum elem */
    uint8_t rank;
    uint8_t dim; /* concat, slice, broadcast */
    union {
        uint32_t var;   /* block */
        uint32_t parts; /* others */
    };
    uint64_t elements;
    const uint32_t *shape; /* [rank] */
    union {
        const int64_t *stride; /* block: [rank]; 0: broadcast, or a dimension of size 1 */
        const uint32_t *part;  /* others: views, [parts] */
    };
    union {
        uint64_t offset;                /* block */
        const uint32_t *edge;           /* concat: part k is [edge[k], edge[k + 1]) of dim */
        uint32_t begin;                 /* slice */
        uint8_t order[TENSOR_MAX_RANK]; /* transpose */
    };
};

/* Hash table of the shapes and strides of blocks (view_store.c). */
struct view_layouts {
    struct view_layout **slot; /* owned; layouts are in the arena */
    size_t slots, used;
};

/* Elements [offset, offset + elements) of a variable, which follow each other in a view, too. */
struct view_run {
    uint32_t var;
    uint64_t offset, elements;
};

/* A field of a vertex; one per field of the codelet, in its order. */
struct vertex_field {
    uint8_t set;
    uint32_t value;        /* scalar bits */
    uint32_t view;         /* edge, or GRAPH_NONE */
    uint32_t first, count; /* list: views, in graph.list; work list: words, in graph.words */
};

struct vertex {
    const struct codelet *codelet;
    uint32_t compute_set, tile;
    uint32_t field; /* first of its codelet->fields entries in graph.field */
};

/* A name between ss_graph_push() and ss_graph_pop(). */
struct scope {
    const char *path; /* with the names of its parents; "" of the graph's own */
    uint32_t parent;
    uint32_t again; /* how often it is open within itself */
};

struct compute_set {
    const char *name;
    uint32_t scope;
    VEC(uint32_t) vertex;
};

enum node_kind {
    NODE_SEQUENCE,     /* child ... */
    NODE_EXECUTE,      /* compute set a */
    NODE_COPY,         /* view a -> view b */
    NODE_REPEAT,       /* child[0], a times */
    NODE_WHILE,        /* child[0], predicate view a, child[1] */
    NODE_IF,           /* predicate view a, child[0], child[1] */
    NODE_RARE,         /* the same; the predicate is usually 0 */
    NODE_CALL,         /* function a */
    NODE_TOGETHER,     /* child[k] for groups[k] */
    NODE_STREAM,       /* stream a, view b */
    NODE_STREAM_BEGIN, /* its two halves */
    NODE_STREAM_END,
    NODE_CHIPS /* uses [a, a + b) of channels, enum chips_scope `chips` */
};

struct node {
    enum node_kind kind;
    uint32_t a, b;
    uint32_t scope;
    uint8_t placed; /* has a parent, is a function's body or the program */
    uint8_t chips;
    VEC(uint32_t) child;
    const unsigned *groups;
};

struct function {
    const char *name;
    uint32_t body;
};

struct stream {
    const char *name;
    uint32_t scope;
    enum stream_way way;
    enum elem elem;
    uint64_t elements;
    uint32_t depth;
};

struct channel {
    const char *name;
    enum channel_way way;
    enum elem elem;
    uint64_t elements;
    int32_t replica;
};

struct graph {
    int nan_on_overflow; /* ss_graph_set_nan_on_overflow() */
    int takes_turns;     /* ss_graph_take_turns() */
    uint32_t turn;       /* the tile at which the next small operation begins */
    struct arch arch;
    const struct codelet_library *library; /* borrowed */
    struct prog_arena arena;
    enum emu_status status;
    char *error;             /* ss_error() of the first failure, owned */
    VEC(struct scope) scope; /* the first one is that of the graph; parents come first */
    uint32_t open_scope;     /* what is made belongs to it */
    VEC(struct variable) variable;
    VEC(struct view) view;
    struct view_layouts layouts;
    VEC(struct compute_set) compute_set;
    VEC(struct vertex) vertex;
    VEC(struct vertex_field) field;
    VEC(const struct codelet *) own;           /* codelets of the graph; in the arena */
    VEC(const struct codelet_file *) own_file; /* in the arena, their bytes owned */
    VEC(uint32_t) list;                        /* views of list fields */
    VEC(uint32_t) words;                       /* of work lists */
    VEC(struct node) node;
    VEC(struct function) function;
    VEC(struct stream) stream;
    VEC(struct channel) channel;
    VEC(struct channel_use) use; /* of channels, by nodes */
    uint8_t *group;              /* of each tile; owned */
    uint32_t program;            /* node; GRAPH_NONE: none */
};

/* Calls back for the runs of elements [begin, end) of a view, in order; each run is as long as
 * possible. Stops at the first status that is not EMU_OK and returns it. */
typedef enum emu_status view_visit(void *ctx, const struct view_run *run);
enum emu_status view_runs(const struct graph *g, uint32_t view, uint64_t begin, uint64_t end,
                          view_visit *visit, void *ctx) EMU_MUST_CHECK;

/* Elements [begin, begin + n) of a variable with initial contents: a borrowed pointer to them, NULL
 * if they do not lie in one copy; and the same elements, copied. */
const void *variable_contents(const struct variable *v, uint64_t begin, uint64_t n);
void variable_copy_contents(const struct variable *v, uint64_t begin, uint64_t n, void *to);

/* Where element i of a view lies: one run of at least one element that begins there. */
struct view_run view_at(const struct graph *g, uint32_t view, uint64_t i);

/* The mapping in its normal form; sorts the runs that were added since the last call. The only
 * error is EMU_NO_MEMORY. */
enum emu_status variable_map(struct graph *g, uint32_t var, const struct map_run **run,
                             size_t *runs) EMU_MUST_CHECK;

/* ss_graph_check() by so many threads; 0: all cores. */
enum emu_status graph_check_by(struct graph *g, unsigned threads) EMU_MUST_CHECK;

#endif
