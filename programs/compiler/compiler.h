/* compiler.h - tensors, vertices and control flow in, an image for every tile out. Users of the
 * compiler include only this.
 *
 *   ss_graph_new, ss_graph_variable, ss_tensor_..., ss_graph_map...  variables, their views and
 * places ss_graph_compute_set, ss_graph_vertex, ss_vertex_...  work on tiles ss_program_... what
 * happens in which order ss_graph_compile                                      image, memory,
 * report
 *
 * Errors of the builder are sticky: the first one is kept in the graph, later calls do nothing and
 * return harmless values, ss_graph_status() and ss_graph_compile() report it. So a network can be
 * written without a test after every line. Nothing here is thread-safe for one graph; different
 * graphs are independent.
 */
#ifndef PROGRAMS_COMPILER_H
#define PROGRAMS_COMPILER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/base/api.h"
#include "emu/base/status.h"

SUPERSTEP_API_BEGIN

struct arch;
struct image;
struct json_t; /* json_t of jansson */

enum { TENSOR_MAX_RANK = 8 };

enum elem { ELEM_U8, ELEM_F16, ELEM_F32, ELEM_I32, ELEM_U32, ELEM_COUNT };

unsigned ss_elem_bytes(enum elem e);
const char *ss_elem_name(enum elem e); /* "f16" */

struct graph;

/* A view of variables: a shape and, for every element, which element of which variable it is. A
 * plain value that lives as long as its graph. A view never holds a copy of the data. */
struct tensor {
    uint32_t view;
};

/* ---- graph ---- */

/* Where kernels come from: ss_kernel_library (library/library.h). */
struct codelet_library;

/* A graph for chips like arch, which is copied. library finds codelets by name, copies data on
 * tiles and links code; it is borrowed. Free with ss_graph_free (NULL allowed). */
enum emu_status ss_graph_new(const struct arch *arch, const struct codelet_library *library,
                             struct graph **out) EMU_MUST_CHECK;
void ss_graph_free(struct graph *g);
const struct arch *ss_graph_arch(const struct graph *g);

/* The first error of any builder call, with its message set again for ss_error(); EMU_OK if there
 * was none. */
enum emu_status ss_graph_status(const struct graph *g) EMU_MUST_CHECK;

/* Makes s the error of the graph unless it already has one. For code built on top of these
 * functions. */
void ss_graph_fail(struct graph *g, enum emu_status s, const char *fmt, ...) EMU_PRINTF(3, 4);

/* Opens a scope: the names of everything made between push and pop begin with "name/", and its
 * steps, memory and cycles are identified by the scope's number. The same name within the same
 * scope gives the same scope again; the name of the scope that is open opens no other one, and a
 * variable or step of that name is the scope's own. Returns 0, the number of the graph's own scope,
 * after an error.
 */
uint32_t ss_graph_push(struct graph *g, const char *name);
void ss_graph_pop(struct graph *g);
/* Scope numbers are below ss_graph_scopes(). A parent's number is smaller than its child's; scope 0
 * is its own parent. Paths ("block1a/dw", "" for scope 0) are borrowed. */
uint32_t ss_graph_scopes(const struct graph *g);
uint32_t ss_graph_scope_parent(const struct graph *g, uint32_t scope);
const char *ss_graph_scope_path(const struct graph *g, uint32_t scope);

/* Puts tiles [first, first + tiles) into a sync group (0 before). Groups other than 0 exist for IO
 * tiles; see ss_program_together(). */
void ss_graph_set_group(struct graph *g, uint32_t first, uint32_t tiles, unsigned group);
/* Results beyond f16 become NaN (NANOO of $FP_CTL), not the largest f16: so an overflow shows in
 * everything that is computed from it. Meanings in C and the interpreter do not know that. */
void ss_graph_set_nan_on_overflow(struct graph *g);
int ss_graph_has_nan_on_overflow(const struct graph *g);
/* The number of tiles before the first one in a group other than 0: the tiles that networks use. */
uint32_t ss_graph_compute_tiles(const struct graph *g);
/* What is made from here on deals out operations that do not need all tiles in turn: each begins at
 * the tile after the last one of the operation before, not at tile 0. For programs of so many small
 * operations that the code of tile 0 would decide whether they fit. Whose turn it is changes no
 * result: sums over tiles are in the order of the elements then, not of the tiles. */
void ss_graph_take_turns(struct graph *g);
int ss_graph_takes_turns(const struct graph *g);
/* The first of the `count` tiles of such an operation, which go on at tile 0 after the last compute
 * tile; 0 if operations do not take turns. */
uint32_t ss_graph_first_tile(struct graph *g, uint32_t count);

/* ---- variables ---- */

/* shape: rank numbers, row major; rank 0 is a scalar. Every element must be mapped before
 * compilation. Contents are undefined until written. */
struct tensor ss_graph_variable(struct graph *g, enum elem e, unsigned rank, const uint32_t *shape,
                                const char *name);
/* A variable that the program never writes and that is in memory from the start. data: all
 * elements, copied. */
struct tensor ss_graph_constant(struct graph *g, enum elem e, unsigned rank, const uint32_t *shape,
                                const void *data, const char *name);
/* A constant of shape[0] equal copies; rank is at least 1. data: one copy, which the host stores
 * once; the tiles hold as many as the mapping says. */
struct tensor ss_graph_constant_repeated(struct graph *g, enum elem e, unsigned rank,
                                         const uint32_t *shape, const void *data, const char *name);
/* Contents at the start, copied; the variables that t is a view of stay alive from the start on.
 * What no call gives contents is 0. */
void ss_graph_set_initial(struct graph *g, struct tensor t, const void *data);
/* The host may write the variable before and read it after a run: alive all the time. */
void ss_graph_keep(struct graph *g, struct tensor t);
/* The host writes the variable before every run, and cannot read it: alive from the start of the
 * program to its last use, after which its memory can be used for others. */
void ss_graph_input(struct graph *g, struct tensor t);

/* ---- views ---- */

enum elem ss_tensor_elem(const struct graph *g, struct tensor t);
unsigned ss_tensor_rank(const struct graph *g, struct tensor t);
const uint32_t *ss_tensor_shape(const struct graph *g,
                                struct tensor t); /* borrowed from the graph */
uint64_t ss_tensor_elements(const struct graph *g, struct tensor t);

struct tensor ss_tensor_slice(struct graph *g, struct tensor t, unsigned dim, uint32_t begin,
                              uint32_t end);
/* t[i]: the slice of dimension 0 without that dimension. */
struct tensor ss_tensor_index(struct graph *g, struct tensor t, uint32_t i);
/* Tensors of one type and of equal shape except in dim. */
struct tensor ss_tensor_concat(struct graph *g, const struct tensor *t, unsigned n, unsigned dim);
/* Dimension k of the result is dimension order[k] of t. */
struct tensor ss_tensor_transpose(struct graph *g, struct tensor t, const unsigned *order);
struct tensor ss_tensor_reshape(struct graph *g, struct tensor t, unsigned rank,
                                const uint32_t *shape);
struct tensor ss_tensor_flatten(struct graph *g, struct tensor t);
/* Repeats dimension dim, which must have size 1, n times. Such a view can be read only. */
struct tensor ss_tensor_broadcast(struct graph *g, struct tensor t, unsigned dim, uint32_t n);
/* Whether a part of t was made by ss_tensor_broadcast(). */
int ss_tensor_repeats(const struct graph *g, struct tensor t);

/* Into how many runs of neighbours in memory the elements of t fall, in its order, wherever they
 * are mapped: what a transposition of it would change. Cost: visits all runs. */
uint64_t ss_tensor_memory_runs(const struct graph *g, struct tensor t);
/* For ss_tensor_transpose(): the order in which the dimensions of t lie in memory, the one with the
 * longest steps first; as they are where a view is put together in a way that has none. */
void ss_tensor_memory_order(const struct graph *g, struct tensor t, unsigned *order);

/* ---- tile mapping ---- */

void ss_graph_map(struct graph *g, struct tensor t, uint32_t tile);
/* Distributes the elements in order over `tiles` tiles from first on, one run per tile. The runs
 * have equal size, a multiple of grain elements (the last one may be shorter). Uses fewer tiles
 * where a tile would otherwise get fewer than least elements: the first ones, or, of all compute
 * tiles, those whose turn it is (ss_graph_take_turns()). */
void ss_graph_map_linear(struct graph *g, struct tensor t, uint32_t grain, uint32_t least,
                         uint32_t first, uint32_t tiles);
/* Element k of t goes to the tile of element k of like. Both have the same number of elements. */
void ss_graph_map_like(struct graph *g, struct tensor t, struct tensor like);
/* The tile of one element; UINT32_MAX when it is not mapped. */
uint32_t ss_graph_tile_of(const struct graph *g, struct tensor t, uint64_t element);

/* Elements [begin, end) of a tensor, in its order, lie on one tile. */
struct tile_run {
    uint64_t begin, end;
    uint32_t tile; /* UINT32_MAX: not mapped */
};
/* The runs of all of t, in order, each as long as possible. Free *out with ss_free. Errors:
 * EMU_NO_MEMORY, EMU_BAD_PROGRAM if t is not one of the graph's, or the error of the graph. */
enum emu_status ss_graph_tile_runs(struct graph *g, struct tensor t, struct tile_run **out,
                                   size_t *runs) EMU_MUST_CHECK;

/* ---- vertices ---- */

/* A compute set: vertices that may run at the same time. No element may be written by one and
 * accessed by another. */
uint32_t ss_graph_compute_set(struct graph *g, const char *name);
/* One run of a codelet, known by its name in the graph's library, on a tile. Data on other tiles is
 * fetched before the run and written back after it. Vertices of one tile run one after another in
 * the order in which they were added. */
uint32_t ss_graph_vertex(struct graph *g, uint32_t compute_set, const char *codelet, uint32_t tile);
/* Connects an edge field; a list field takes any number of tensors, in the order of the calls.
 * Fields that count the elements of another field are filled in by the compiler. */
void ss_vertex_connect(struct graph *g, uint32_t vertex, const char *field, struct tensor t);
void ss_vertex_set_u32(struct graph *g, uint32_t vertex, const char *field, uint32_t value);
void ss_vertex_set_f32(struct graph *g, uint32_t vertex, const char *field, float value);
/* A f16 field: value is rounded to nearest even. */
void ss_vertex_set_f16(struct graph *g, uint32_t vertex, const char *field, float value);
/* A work list field: n words, copied; equal lists of a tile are stored once. */
void ss_vertex_set_words(struct graph *g, uint32_t vertex, const char *field, const uint32_t *words,
                         uint32_t n);

/* ---- codelets of one's own ---- */

/* A MULTI codelet is run by all workers of the tile at once, which share the work by their number
 * (the low bits of $WSR); each finds the state in $mvertex_base and ends with an exit instruction.
 * It may change all registers. A SUPERVISOR codelet is called by the supervisor with the state in
 * $m0 and the return address in $lr; it may change $m0 to $m5, and launch workers itself. One of
 * ss_graph_add_codelet() may change $m6, too, and has a stack, as compiled functions do. */
enum codelet_kind { CODELET_MULTI, CODELET_SUPERVISOR };

/* The state is one word for each field, in the order of the fields. */
enum field_kind {
    FIELD_IN,       /* byte address of a contiguous run of elements */
    FIELD_OUT,      /* the same, written completely, not read */
    FIELD_INOUT,    /* the same, read and written */
    FIELD_IN_LIST,  /* address of a table {byte address, elements} of runs */
    FIELD_OUT_LIST, /* the same, all written */
    FIELD_WORDS,    /* address of a work list of 32-bit words; a constant of the program */
    FIELD_U32,
    FIELD_F32,    /* bits */
    FIELD_F16,    /* bits, the same in both halves */
    FIELD_LENGTH, /* elements of the edge `other`, or runs of a list. Filled in by the compiler */
    FIELD_APART /* no word of the state: edges `name` and `other` must not share a memory element */
};

enum { CODELET_MAX_FIELDS = 16 };

struct own_field {
    enum field_kind kind;
    const char *name;
    enum elem elem;    /* of an edge or a list */
    unsigned align;    /* bytes, of its first element: 1, 2, 4, 8, 16; 0: as the element */
    const char *other; /* FIELD_LENGTH, FIELD_APART */
};

/* A run of elements in host memory. */
struct codelet_run {
    void *data;
    uint32_t elements;
};

/* A field as the meaning of a codelet in C sees it; edges are host memory. */
struct codelet_arg {
    void *data;        /* edge: its elements, 16-byte aligned; work list: words */
    uint32_t elements; /* edge, work list: how many; a list: number of runs */
    uint32_t value;    /* scalar bits; length: the number */
    const struct codelet_run *list;
};

/* All fields in order (APART included, unused). */
struct codelet_call {
    const struct arch *arch;
    struct codelet_arg arg[CODELET_MAX_FIELDS];
};

/* Computes what a vertex writes from what it reads. */
typedef void codelet_meaning(const struct codelet_call *call);

struct own_codelet {
    const char *name;        /* the global label NAME or __runCodelet_NAME of one of the files */
    const char *const *file; /* assembly, ELF objects of this target, archives of them */
    unsigned files;
    enum codelet_kind kind;
    const struct own_field *field;
    unsigned fields;
    uint32_t stack_bytes;     /* of each worker or of the supervisor; 0: as much as the code says */
    codelet_meaning *meaning; /* NULL: the interpreter refuses graphs that run it */
};

/* Adds a codelet to the graph, for ss_graph_vertex(). The files are read, and sources are assembled
 * for the graph's machine, now; everything is copied. Files of the same path are linked once, by
 * the graph's library, which must be able to: ss_kernel_library is.
 *
 * A tile has stacks for the codelet that needs the largest ones, of as many bytes as the code says
 * in `.stack_sizes` or stack_bytes does, at most CODELET_STACK_MAX. Each worker has that many below
 * $mworker_base, for compiled code, and above it, for assembly of PopLibs; the supervisor below
 * $sp.
 *
 * What it costs is known when it runs (bill.h, `--steps`): ss_compiled_step_cycles() counts
 * nothing. Errors of the graph: EMU_BAD_PROGRAM, EMU_BAD_ASM with the first diagnostic, EMU_IO.
 * What only linking tells comes from ss_graph_compile(): undefined names, instructions of the other
 * context, a stack of unknown size. */
enum { CODELET_STACK_MAX = 16376 };
void ss_graph_add_codelet(struct graph *g, const struct own_codelet *codelet);

/* ---- programs ---- */

/* A node of the program tree; valid for the life of the graph. A node stands in one place. */
struct program {
    uint32_t node;
};

struct program ss_program_sequence(struct graph *g);
void ss_program_add(struct graph *g, struct program sequence, struct program p);
struct program ss_program_execute(struct graph *g, uint32_t compute_set);
/* Equal shapes and types. Every element is read before any is written. */
struct program ss_program_copy(struct graph *g, struct tensor from, struct tensor to);
struct program ss_program_repeat(struct graph *g, uint32_t times, struct program body);
/* Runs condition, then body, again and again, until the predicate is zero after condition.
 * predicate: one u32 or i32 element. */
struct program ss_program_while(struct graph *g, struct program condition, struct tensor predicate,
                                struct program body);
struct program ss_program_if(struct graph *g, struct tensor predicate, struct program then_part,
                             struct program else_part);
/* The same for a predicate that is usually 0, a guard: the timing engine, which has no values,
 * takes the usual side and says so, where a branch by ss_program_if() needs the values engine. */
struct program ss_program_if_rare(struct graph *g, struct tensor predicate, struct program rare,
                                  struct program usual);
/* Code that is stored once and called from several places; no recursion. */
uint32_t ss_graph_function(struct graph *g, struct program body, const char *name);
struct program ss_program_call(struct graph *g, uint32_t function);
/* Each sync group runs its own part at its own pace; parts[k] is for groups[k]. They meet in the
 * next exchange of all groups. A part may only use tiles of its group. All other nodes are run by
 * all groups. */
struct program ss_program_together(struct graph *g, const unsigned *groups,
                                   const struct program *parts, unsigned n);

/* A host stream of transfers of one tensor each. depth: transfers the host keeps in flight. */
enum stream_way { STREAM_IN, STREAM_OUT };
uint32_t ss_graph_stream(struct graph *g, enum stream_way way, enum elem e, uint64_t elements,
                         uint32_t depth, const char *name);
/* Moves one transfer between stream and tensor (its elements in order). */
struct program ss_program_stream(struct graph *g, uint32_t stream, struct tensor t);
/* ss_program_stream() in two halves: the first begins the transfer, and the program goes on until
 * the second waits for its end. For a stream in, nothing may access t between the halves, and each
 * tile must hold one run of whole words of t. For a stream out, t has been read when the first half
 * is over. A tile counts only how many words are missing, so at its next exchange or host transfer,
 * and at the second half of any transfer that involves it, it waits for everything it has begun. */
struct program ss_program_stream_begin(struct graph *g, uint32_t stream, struct tensor t);
struct program ss_program_stream_end(struct graph *g, uint32_t stream, struct tensor t);

/* ---- several chips ---- */

/* The programs of several chips are graphs, one for each chip of a replica, which
 * ss_graphs_compile() makes one image of. What they say to each other goes through channels: one
 * graph sends to a channel, and one receives from the channel of the same name. The name stands for
 * itself, without the scopes that are open.
 *
 * replica    of a sender: how many replicas further round the ring of replicas the receiver is; 0:
 *            in the own one. A receiver says 0
 * elements   of each exchange, together less than 4 GiB */
enum channel_way { CHANNEL_SEND, CHANNEL_RECEIVE };
uint32_t ss_graph_channel(struct graph *g, enum channel_way way, enum elem e, uint64_t elements,
                          int32_t replica, const char *name);

/* A tensor and the channel that takes or brings its elements, in its order. */
struct channel_use {
    uint32_t channel;
    struct tensor t;
};
/* Who comes to an exchange between chips: all chips of the replica, or of all replicas. */
enum chips_scope { CHIPS_OF_REPLICA, CHIPS_OF_POD };
/* All chips of the scope meet, with all their tiles, and what they send to channels arrives before
 * the program goes on. n may be 0: they only meet. No element may be both sent and received, or be
 * received twice. Everywhere in the program where it receives from a channel, a graph must use the
 * same tensor. Cannot stand in a part of ss_program_together(). */
struct program ss_program_exchange_chips(struct graph *g, enum chips_scope scope,
                                         const struct channel_use *uses, unsigned n);

/* What the machine runs, once per ss_session_run(). */
void ss_graph_set_program(struct graph *g, struct program p);

/* Proves what can be proven before compilation: everything mapped, one writer per element and
 * compute set, fields connected and of the right type. ss_graph_compile() calls it.
 * EMU_BAD_PROGRAM; ss_error() names the variable or vertex with its path, the tile, and what was
 * expected. */
enum emu_status ss_graph_check(struct graph *g) EMU_MUST_CHECK;
/* Writes everything in the graph as text, for people and tests. Deterministic. */
void ss_graph_dump(const struct graph *g, FILE *f);

/* ---- plain interpreter ---- */

/* Runs the program of a graph on host memory, with the C references of the codelets. The machine
 * must compute the same, to the bit. Needs neither mapping nor tiles. */
struct interpreter;
enum emu_status ss_interpreter_new(struct graph *g, struct interpreter **out) EMU_MUST_CHECK;
void ss_interpreter_free(struct interpreter *p);
/* All elements of a kept or initialised tensor, in its order; ss_elem_bytes each. */
enum emu_status ss_interpreter_write(struct interpreter *p, struct tensor t,
                                     const void *data) EMU_MUST_CHECK;
enum emu_status ss_interpreter_read(struct interpreter *p, struct tensor t,
                                    void *data) EMU_MUST_CHECK;
/* Feeds a stream in: data holds elements x transfers and is borrowed. ss_interpreter_output()
 * returns all that a stream out has delivered so far. */
enum emu_status ss_interpreter_feed(struct interpreter *p, uint32_t stream, const void *data,
                                    uint64_t transfers) EMU_MUST_CHECK;
const void *ss_interpreter_output(struct interpreter *p, uint32_t stream, uint64_t *transfers);
/* EMU_FAULT when a stream runs dry or max_steps program nodes were run. */
enum emu_status ss_interpreter_run(struct interpreter *p, uint64_t max_steps) EMU_MUST_CHECK;
/* Runs the programs of several chips: p[r * chips + k] is that of chip k of replica r, max_steps is
 * for each of them. EMU_FAULT also when chips wait for others that do not come, or for words that
 * nobody sends; the message names chips, nodes and channels. */
enum emu_status ss_interpreters_run(struct interpreter *const *p, unsigned chips, unsigned replicas,
                                    uint64_t max_steps) EMU_MUST_CHECK;

/* ---- compiler ---- */

enum exchange_target { EXCHANGE_CYCLES, EXCHANGE_MEMORY };

/* For callers that have other plans: of a program that is known not to fit before its exchanges are
 * scheduled nothing is made but ss_compiled_need_bytes() and ss_compiled_code_bytes(), which are
 * then estimates. There is no report of it. */
enum {
    GIVE_UP_MEMORY = 1, /* when a tile needs more than its memory */
    GIVE_UP_CODE = 2    /* when its code is longer than region 0 */
};

struct compile_options {
    enum exchange_target exchange;
    unsigned threads; /* 0: all cores */
    FILE *progress;   /* borrowed; NULL: quiet */
    unsigned give_up; /* GIVE_UP_... */
};

struct compiled;

/* Compiles the program of a graph. A program that needs more memory than the tiles have also gives
 * EMU_OK: ss_compiled_fits() is then 0, ss_compiled_image() is NULL, and the report says what each
 * tile would need. g is borrowed and must outlive *out. */
enum emu_status ss_graph_compile(struct graph *g, const struct compile_options *o,
                                 struct compiled **out) EMU_MUST_CHECK;
/* The same for the programs of the chips of a replica: g[k] becomes that of chip k, and together
 * they are one image. All graphs are for one machine, whose `chips` is a multiple of n. What is
 * said of *out below holds for all chips of it, unless the chip is named: ss_compiled_fits() is 0
 * when one of them does not fit, reports have a part for each. g is borrowed, and the graphs must
 * outlive *out. EMU_BAD_PROGRAM also for a channel that has a sender and no receiver, or the
 * reverse, or two of them, and for one whose ends differ in type or size; the message names the
 * chips. */
enum emu_status ss_graphs_compile(struct graph *const *g, unsigned n,
                                  const struct compile_options *o,
                                  struct compiled **out) EMU_MUST_CHECK;
unsigned ss_compiled_chips(const struct compiled *c); /* 1 unless it is of several chips */
/* The part of one chip, for all functions that are about one; borrowed from c. k below
 * ss_compiled_chips(); part 0 is c itself. */
struct compiled *ss_compiled_chip(const struct compiled *c, unsigned k);
void ss_compiled_free(struct compiled *c);
int ss_compiled_fits(const struct compiled *c);
const struct graph *ss_compiled_graph(const struct compiled *c); /* borrowed */
const struct image *
ss_compiled_image(const struct compiled *c); /* borrowed; NULL when it does not fit */
/* Sessions from now on run on this machine, which differs from the graph's only in fields that
 * compiling does not read (ss_arch_compiles_equal()); else EMU_BAD_IMAGE. EMU_USAGE when the
 * program does not fit. */
enum emu_status ss_compiled_set_arch(struct compiled *c, const struct arch *arch) EMU_MUST_CHECK;
/* Makes a kept or initialised view, or an input, an input of the image (emu/load/image.h) with a
 * name and what the host writes before a run: its elements in order. The image file then runs like
 * a session that writes the same data. data NULL: the host must write them before every run, or
 * ss_compiled_fill_input() adds them. EMU_USAGE when the program does not fit; otherwise the errors
 * of ss_session_write(). */
enum emu_status ss_compiled_add_input(struct compiled *c, struct tensor t, const char *name,
                                      const void *data) EMU_MUST_CHECK;
/* Gives an input that was added without data its elements, in order. */
enum emu_status ss_compiled_fill_input(struct compiled *c, const char *name,
                                       const void *data) EMU_MUST_CHECK;
/* The same for what the host reads after a run, a kept view; and a text for who runs the image. */
enum emu_status ss_compiled_add_output(struct compiled *c, struct tensor t,
                                       const char *name) EMU_MUST_CHECK;
enum emu_status ss_compiled_add_note(struct compiled *c, const char *name,
                                     const char *text) EMU_MUST_CHECK;
/* The bytes needed by the tile that needs most, code included; more than its memory, or more code
 * than its region 0 holds, if the program does not fit. */
uint64_t ss_compiled_need_bytes(const struct compiled *c);
uint64_t ss_compiled_code_bytes(const struct compiled *c); /* the same of code alone */
/* Reports memory by category and owner, the fullest tiles and the worst moment; if the program does
 * not fit, also what fills the fullest tiles and what would help. */
void ss_compiled_report(const struct compiled *c, FILE *f);
/* For a program that does not fit, on one screen: what is missing, what fills the fullest tile,
 * what would help. Prints nothing for one that fits. */
void ss_compiled_shortage(const struct compiled *c, FILE *f);
struct json_t *ss_compiled_report_json(const struct compiled *c); /* new; NULL when out of memory */

/* When several copies have become one step: the bytes that those of one scope move. */
struct scope_share {
    uint32_t scope;
    uint64_t bytes;
};

/* What runs, one step after the other. */
enum trace_kind { TRACE_COMPUTE, TRACE_EXCHANGE, TRACE_HOST, TRACE_CHIPS };
struct trace_step {
    enum trace_kind kind;
    const char *name;   /* borrowed: the path of a compute set, or "copy to PATH" */
    uint32_t superstep; /* of sync group 0, from 1: exchanges, also between chips, and host
                           transfers begin a new one */
    uint32_t step;      /* its index in the program */
    uint32_t scope;     /* where it was made; if several copies were merged, that of the first */
    const struct scope_share
        *share;              /* borrowed; how the scopes of merged copies divide its cycles */
    uint32_t shares;         /* 0: all cycles belong to `scope` */
    uint32_t call;           /* the scope of the outermost call that runs it; its own: none does */
    uint32_t max_tile;       /* the fullest tile meanwhile, */
    uint64_t max_tile_bytes; /* and the bytes in use there, code included */
};
/* The steps of sync group 0 in the order of execution: those of a function wherever it is
 * called, repeated ones every time. Free *out with ss_free. Errors: EMU_USAGE for a program whose
 * order depends on data or that takes too many steps, EMU_NO_MEMORY. */
enum emu_status ss_compiled_trace(const struct compiled *c, struct trace_step **out,
                                  size_t *steps) EMU_MUST_CHECK;

/* The same of a program whose order depends on predicates of ss_program_if() only: with all of them
 * 0.
 */
enum emu_status ss_compiled_trace_of_zeros(const struct compiled *c, struct trace_step **out,
                                           size_t *steps) EMU_MUST_CHECK;

/* Cycles that a compute step takes on its busiest tile, by the formulas of the codelets. */
enum emu_status ss_compiled_step_cycles(const struct compiled *c, uint32_t index,
                                        uint64_t *cycles) EMU_MUST_CHECK;

/* Calls back once for every object that a compute step writes and that holds numbers of a type. An
 * object that is written in part counts as a whole. The only error is EMU_NO_MEMORY. */
typedef void result_visit(void *ctx, uint32_t tile, uint32_t addr, uint32_t bytes);
enum emu_status ss_compiled_step_results(const struct compiled *c, uint32_t index, enum elem elem,
                                         result_visit *visit, void *ctx) EMU_MUST_CHECK;

/* Calls back for everything that stays in the memory of a tile throughout the run: code, constants,
 * state, kept variables. Goes tile by tile; the same owner may be reported several times. */
struct held_bytes {
    const char *owner, *category; /* borrowed */
    uint32_t scope;               /* in which it was made; merged copies are divided by bytes */
    uint64_t bytes;
};
typedef void held_visit(void *ctx, uint32_t tile, const struct held_bytes *h);
enum emu_status ss_compiled_held(const struct compiled *c, held_visit *visit,
                                 void *ctx) EMU_MUST_CHECK;

/* Calls back for every used tile with its bytes by category, as in the report. */
typedef void tile_bytes_visit(void *ctx, uint32_t tile, const uint64_t *bytes);
enum emu_status ss_compiled_tiles(const struct compiled *c, tile_bytes_visit *visit,
                                  void *ctx) EMU_MUST_CHECK;
const char *ss_compiled_category(unsigned i); /* its name; NULL after the last */

SUPERSTEP_API_END

#endif
