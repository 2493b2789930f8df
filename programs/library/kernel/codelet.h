/* codelet.h - the table of codelets: what a vertex state looks like, the C reference and the time
 * of each, and their assembled code.
 *
 * A codelet is a row of codelets.def, the entry point NAME of NAME.S in this folder, and two C
 * functions: NAME_ref (its meaning) and NAME_cycles (its time). Vertex state: one 32-bit word per
 * field, in the order of the row; MULTI codelets get its address in $mvertex_base (`runall`),
 * SUPERVISOR codelets in $m0, and are called with the return address in $lr; they may change $m0 to
 * $m5 and launch workers themselves. No codelet uses a stack or keeps anything in registers.
 */
#ifndef PROGRAMS_CODELET_H
#define PROGRAMS_CODELET_H

#include "emu/emu.h"
#include "programs/programs.h"

enum codelet_kind { CODELET_MULTI, CODELET_SUPERVISOR };
enum codelet_time { TIME_FIXED, TIME_DATA };

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
    FIELD_LENGTH, /* elements of the edge `other`; of a list, its runs. Filled by the compiler */
    FIELD_APART /* no word of the state: edges `name` and `other` must not share a memory element */
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

enum { CODELET_MAX_FIELDS = 16 };

/* A run of elements in host memory. */
struct codelet_run {
    void *data;
    uint32_t elements;
};

/* A field as the references see it; edges are host memory. */
struct codelet_arg {
    void *data;        /* edge: its elements, 16-byte aligned; work list: words */
    uint32_t elements; /* edge, work list: how many; a list: number of runs */
    uint32_t value;    /* scalar bits; length: the number */
    const struct codelet_run *list;
};

/* All fields in order (APART included, unused), and how many workers share the work. */
struct codelet_call {
    const struct arch *arch;
    struct codelet_arg arg[CODELET_MAX_FIELDS];
};

struct codelet {
    const char *name;
    enum codelet_kind kind;
    enum codelet_time time;
    const char *text; /* one line: what it computes */
    const struct codelet_field *field;
    unsigned fields;
    void (*ref)(const struct codelet_call *call);
    /* Cycles from the first instruction of the launch sequence (MULTI: `runall`; SUPERVISOR:
     * `call`) to the first cycle after `sync` LOCAL or the return. TIME_DATA: an upper bound. Data
     * of args may be NULL; elements and values count. */
    uint64_t (*cycles)(const struct codelet_call *call);
};

extern const struct codelet codelet_table[]; /* in the order of codelets.def */
extern const unsigned codelet_count;

const struct codelet *codelet_find(const char *name); /* NULL if there is none */
/* Index of a field, or -1. */
int codelet_field_find(const struct codelet *c, const char *name);
/* Bytes of the vertex state; and the byte of a field's word in it (APART has none: -1). */
unsigned codelet_state_bytes(const struct codelet *c);
int codelet_field_offset(const struct codelet *c, unsigned field);
int field_is_edge(enum field_kind k); /* IN, OUT, INOUT */
int field_is_list(enum field_kind k);
int field_is_written(enum field_kind k);

/* Cycles of a MULTI call whose slowest worker issues `slots` slots, exit included. */
uint64_t codelet_multi_cycles(const struct arch *a, uint64_t slots);

/* ---- code ---- */

/* The code of a set of codelets, linked for one address. */
struct codelet_code {
    uint32_t addr, bytes;
    const uint8_t *code;   /* owned, like the following */
    uint32_t *entry;       /* by index in codelet_table; 0: not in the set */
    struct asm_unit *unit; /* symbols and lines */
};

/* Assembles NAME.S of all codelets with used[index] set, and links them at addr. Files come from
 * programs/codelets, found from the executable upwards or below $SUPERSTEP_HOME. Errors:
 * EMU_BAD_ASM with the first diagnostic, EMU_IO, EMU_NO_MEMORY. */
enum emu_status codelet_link(const struct arch *arch, const uint8_t *used, uint32_t addr,
                             struct codelet_code *out) EMU_MUST_CHECK;
/* The same with sources that are kept from one call to the next (programs.h); NULL: they are not.
 */
enum emu_status codelet_link_kept(const struct arch *arch, const uint8_t *used, uint32_t addr,
                                  struct codelet_sources *sources,
                                  struct codelet_code *out) EMU_MUST_CHECK;
void codelet_code_free(struct codelet_code *c);

#endif
