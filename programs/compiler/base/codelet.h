/* codelet.h - what the compiler knows of a kernel: its fields and the vertex state they make up,
 * its meaning in C, and its time; and what the compiler asks of the library that kernels come from.
 *
 * Vertex state: one 32-bit word per field, in the order of the fields; MULTI codelets get its
 * address in $mvertex_base (`runall`), SUPERVISOR codelets in $m0, and are called with the return
 * address in $lr; they may change $m0 to $m5 and launch workers themselves. No codelet keeps
 * anything in registers, and none of the library uses a stack.
 *
 * The compiler identifies a codelet by its address. Where codelets are stored is the business of
 * the library.
 */
#ifndef PROGRAMS_CODELET_H
#define PROGRAMS_CODELET_H

#include "emu/emu.h"
#include "programs/compiler/compiler.h"

/* What the time of a codelet depends on besides its code, counts, scalar fields and work lists. */
enum codelet_time {
    TIME_FIXED, /* nothing */
    TIME_PLACE, /* where its edges lie */
    TIME_DATA   /* values of edges, too */
};

enum field_region { ANY, REGION0, REGION1 };

struct codelet_field {
    enum field_kind kind;
    const char *name;
    enum elem elem; /* edges */
    unsigned align; /* bytes, of the first element: 1, 2, 4, 8, 16 */
    enum field_region region;
    const char *other; /* length, apart */
};

/* A file that a codelet's code comes from, an ELF object or an archive. */
struct codelet_file {
    const char *name; /* for messages */
    const void *data;
    size_t bytes;
};

struct codelet {
    const char *name;
    enum codelet_kind kind;
    enum codelet_time time;
    const char *text; /* one line: what it computes */
    const struct codelet_field *field;
    unsigned fields;
    codelet_meaning *ref; /* NULL: what it means is known to nobody here */
    /* Cycles from the first instruction of the launch sequence (MULTI: `runall`; SUPERVISOR:
     * `call`) to the first cycle after `sync` LOCAL or the return. Not TIME_FIXED: an upper bound.
     * Data of args may be NULL; elements and values count. NULL: only a run can tell. */
    uint64_t (*cycles)(const struct codelet_call *call);
    /* Not of the library, but of ss_graph_add_codelet(): where its code is. */
    const struct codelet_file *const *file;
    unsigned files;
    uint32_t stack_bytes; /* that its user knows it needs; 0: what its code says */
};

/* Index of a field, or -1. */
int codelet_field_find(const struct codelet *c, const char *name);
/* Bytes of the vertex state; and the byte of a field's word in it (APART has none: -1). */
unsigned codelet_state_bytes(const struct codelet *c);
int codelet_field_offset(const struct codelet *c, unsigned field);
int field_is_edge(enum field_kind k); /* IN, OUT, INOUT */
int field_is_list(enum field_kind k);
int field_is_written(enum field_kind k);

/* ---- vertices ---- */

/* ss_graph_vertex() with the codelet itself, which is borrowed. */
uint32_t graph_vertex_of(struct graph *g, uint32_t compute_set, const struct codelet *codelet,
                         uint32_t tile);
/* ss_vertex_connect(), ss_vertex_set_... with the number of the field in its codelet; a float field
 * is f32 or f16. */
void vertex_connect_field(struct graph *g, uint32_t vertex, unsigned field, struct tensor t);
void vertex_set_field_u32(struct graph *g, uint32_t vertex, unsigned field, uint32_t value);
void vertex_set_field_float(struct graph *g, uint32_t vertex, unsigned field, float value);
void vertex_set_field_words(struct graph *g, uint32_t vertex, unsigned field, const uint32_t *words,
                            uint32_t n);

/* ---- code ---- */

/* The code of a set of codelets, linked for one address. */
struct codelet_code {
    uint32_t addr, bytes;
    const uint8_t *code;           /* owned, like the following two */
    uint32_t *entry;               /* of each codelet of the set, in its order */
    uint32_t *stack;               /* that each needs: bytes, a multiple of 8 */
    struct asm_unit *unit;         /* what was linked */
    const struct asm_image *image; /* its sections, symbols and lines */
};

/* Links the code of a set of n codelets, placed in the order of their names in `order`, with what
 * it refers to. u has the files it comes from and becomes owned, also after an error. out: free
 * with codelet_code_free; empty after an error. Errors: EMU_BAD_ASM, EMU_NO_MEMORY, and
 * EMU_BAD_PROGRAM for a codelet without code, of the other context's instructions, or whose stack
 * is too large or of unknown size. */
enum emu_status codelet_code_link(struct asm_unit *u, const struct codelet *const *set,
                                  const char *const *order, size_t n, uint32_t addr,
                                  struct codelet_code *out) EMU_MUST_CHECK;
void codelet_code_free(struct codelet_code *c);

/* ---- library ---- */

/* Codelets that copy are numbered by the log2 of the bytes that both edges are aligned to. */
enum { COPY_WIDTHS = 4 };

/* What the compiler asks of a library of kernels; ss_graph_new() is told which one it is. */
struct codelet_library {
    /* The codelet of a name, for callers that use names; NULL: there is none. */
    const struct codelet *(*find)(const char *name);
    /* What the compiler itself needs to copy on a tile. Fields: one edge that is read, one that is
     * written, of one element type, and their lengths. The widest one copies words at multiples of
     * 8 bytes, others copy elements of their width. copy: one run. copy_list: the edges are lists
     * of as many runs, none of them empty, in the order of the addresses they are written to. NULL:
     * programs that need it do not compile. */
    const struct codelet *copy[COPY_WIDTHS], *copy_list[COPY_WIDTHS];
    /* Links the code of the codelets of a set, each of them once, for addr; how the code is ordered
     * is up to the library. out: free with codelet_code_free; empty after an error. Errors:
     * EMU_BAD_PROGRAM for a codelet that the library cannot link, EMU_BAD_ASM with the first
     * diagnostic, EMU_IO, EMU_NO_MEMORY. */
    enum emu_status (*link)(const struct arch *arch, const struct codelet *const *set, size_t n,
                            uint32_t addr, struct codelet_code *out);
};

/* Whether a machine has what the instructions of a kernel need. EMU_USAGE names kernel, instruction
 * and what is missing; else the errors of link(). Nothing is linked for a machine that has
 * everything. */
enum emu_status codelet_check(const struct codelet_library *library, const struct arch *a,
                              const struct codelet *c) EMU_MUST_CHECK;

#endif
