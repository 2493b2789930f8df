/* isa_text.h - the .isa files: instruction, inputs and expectations in one table.
 * tests/isa/README.md describes the format. */
#ifndef TESTS_ISA_TEXT_H
#define TESTS_ISA_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "emu/base/fail.h"
#include "emu/job/manifest.h"
#include "emu/isa/isa.h"

enum { ISA_MAX_COLUMNS = 48, ISA_NAME = 48 };

/* What a column, or a `set` line, stands for. */
enum isa_place_kind {
    PLACE_REGISTER, /* file and number as in struct case_register; 'w' is a 64-bit weight entry */
    PLACE_MEMORY,   /* the word at an address */
    PLACE_TEXT,     /* replaces {name} in the code */
    PLACE_SLOTS,    /* worker issue slots, the final exit not counted */
    PLACE_CYCLES    /* supervisor cycles between call and return */
};

struct isa_place {
    enum isa_place_kind kind;
    char name[ISA_NAME]; /* as written; of PLACE_MEMORY the address without the brackets */
    char file; /* 'm', 'a', 'c', 'w', or 'r': a CSR found by name, in the space of the context */
    uint8_t number;
    int lane; /* -1: every lane that runs */
};

/* A value as written. */
struct isa_token {
    char text[ISA_NAME];
};

enum isa_row_kind { ROW_OK, ROW_EDGE, ROW_FAULT };

struct isa_row {
    enum isa_row_kind kind;
    int line;
    int fault; /* enum fault */
    struct isa_token in[ISA_MAX_COLUMNS], out[ISA_MAX_COLUMNS];
    struct isa_token address; /* of a fault; "?" does not matter */
    int has_out;              /* a fault row may list outputs after => */
};

struct isa_set {
    struct isa_place place;
    struct isa_token value;
};

enum isa_only { ONLY_WORKER = 1, ONLY_SUPERVISOR = 2 };

struct isa_block {
    const char *file; /* borrowed */
    int line;
    const struct insn_form *form;
    char *code, *tail;   /* owned */
    unsigned lines;      /* instruction lines of code, a bundle counting more */
    unsigned only;       /* enum isa_only, or-ed: contexts it runs in */
    unsigned skip;       /* modes that do not apply: bits of enum isa_mode_bit */
    char free[256];      /* names that may change unlisted, blank-separated */
    struct isa_set *set; /* the file's, then the block's */
    size_t set_count, set_cap;
    struct manifest_memory *memory; /* the file's, then the block's; names and data owned */
    size_t memory_count, memory_cap;
    struct isa_place in[ISA_MAX_COLUMNS], out[ISA_MAX_COLUMNS];
    unsigned in_count, out_count;
    struct isa_row *row;
    size_t row_count, row_cap;
};

/* Modes that a block may exclude with `not`. */
enum isa_mode_bit {
    MODE_ONE = 1,
    MODE_SIX = 2,
    MODE_MIXED = 4,
    MODE_BUNDLE = 8,
    MODE_RPT = 16,
    MODE_PLAIN = 32,
    MODE_FAST = 64
};

struct isa_file {
    char *path;
    struct isa_block *block;
    size_t block_count, block_cap;
    struct manifest_memory *memory; /* before the first block */
    size_t memory_count, memory_cap;
    struct isa_set *set; /* the same */
    size_t set_count, set_cap;
    struct manifest_memory *last; /* memory that a continuation line belongs to */
};

/* Reads a file. Errors name file and line. */
enum emu_status isa_file_read(const char *path, struct isa_file *out) EMU_MUST_CHECK;
void isa_file_free(struct isa_file *f);

/* Whether a CSR name or the like stands in the block's `free` list. */
int isa_block_frees(const struct isa_block *b, const char *name);

#endif
