/* asm_internal.h - what the files of the assembler share.
 *
 * Functions that can fail return 1 on success. They return 0 after recording a diagnostic or
 * running out of memory; the caller then abandons the statement. Whatever lives as long as the unit
 * is allocated from the unit's arena; only growing arrays and the text of expansions are allocated
 * one by one.
 */
#ifndef EMU_ASM_INTERNAL_H
#define EMU_ASM_INTERNAL_H

#include "emu/asm/asm.h"
#include "emu/isa/isa.h"

enum {
    MAX_FRAMES = 100,       /* nested macros, repeats and .include */
    MAX_CONDITIONS = 200,   /* nested .if */
    MAX_PUSHED = 50,        /* nested .pushsection */
    MAX_EXPR_DEPTH = 100,   /* nested parentheses and operators while parsing */
    MAX_NODE_DEPTH = 300,   /* tree made of trees kept by .equ */
    MAX_NODE_WEIGHT = 4000, /* nodes visited to evaluate it */
    MAX_ERRORS = 50,        /* of one unit; assembly then stops */
    MAX_ALIGN = 1 << 16,
    MAX_FILE_BYTES = 1 << 26,
    MIN_SECTION_ALIGN =
        8, /* what repeat bodies need, so that offsets tell whether one is aligned */
    OPERANDS = ISA_MAX_OPERANDS
};

struct span {
    const char *s;
    size_t n;
};

struct loc {
    const char *file; /* interned in the unit */
    uint32_t line, column;
};

/* ---- tables by name (asm_unit.c) ---- */

struct named {
    struct named *next;
    const char *name; /* zero-terminated, in the arena */
    uint32_t len, hash;
};

struct table {
    struct named **bucket;
    size_t buckets, count;
};

struct named *table_find(const struct table *t, struct span name);
int table_remove(struct table *t, struct span name);
void table_free(struct table *t);

/* ---- expressions (asm_expr.c) ---- */

enum expr_node_kind { NODE_NUMBER, NODE_PLACE, NODE_SYMBOL, NODE_UNARY, NODE_BINARY };

struct expr_node {
    uint8_t kind, op; /* enum expr_node_kind; operator character, or an OP2_ of two */
    uint16_t depth;
    uint32_t weight;
    int64_t number; /* NODE_NUMBER, and the offset of NODE_PLACE */
    union {
        struct section *section;
        struct symbol *symbol;
        const struct expr_node *left;
    } u;
    const struct expr_node *right;
};

enum value_kind { VALUE_NUMBER, VALUE_PLACE, VALUE_UNKNOWN, VALUE_WRONG };

struct value {
    enum value_kind kind;
    int64_t number;          /* the number, or the offset in section */
    struct section *section; /* VALUE_PLACE */
    const char *why;         /* VALUE_WRONG */
};

/* ---- what a file defines (asm_section.c) ---- */

enum symbol_state { SYMBOL_UNDEFINED, SYMBOL_LABEL, SYMBOL_VARIABLE };

struct symbol {
    struct named n;
    struct source *source;
    uint8_t state, type, global, weak, numbered, visiting;
    uint8_t common;  /* the linker allocates it unless a file defines it */
    uint8_t needed;  /* by a section that is linked */
    uint32_t offset; /* SYMBOL_LABEL */
    struct section *section;
    const struct expr_node *value; /* SYMBOL_VARIABLE */
    const struct expr_node *size;
    uint32_t stack_bytes;
    uint32_t uses;
    struct loc first_use, defined;
    struct symbol *resolved; /* the definition in another file, found by the linker */
};

/* A comdat group that several files have is kept in the first of them. */
struct comdat_group {
    struct named n;
    struct source *source;
};

/* A name that other files see. */
struct global {
    struct named n;
    struct symbol *symbol;
};

/* 1f and 1b */
struct numbered {
    struct named n;
    struct symbol *last, *next;
};

enum item_kind {
    ITEM_DATA = 1,
    ITEM_SINGLE = 2,
    ITEM_BUNDLE = 4,
    ITEM_NO_REPEAT = 8, /* a control or system instruction */
    ITEM_PADDING = 16   /* a single instruction that .align put here */
};

/* One instruction, bundle, or run of data. Its size reaches to the next one. */
struct item {
    uint32_t offset, line;
    const char *file;
    uint8_t kind; /* enum item_kind, or-ed */
};

struct reloc_kind; /* elf_reloc.h */

enum fixup_kind { FIXUP_DATA, FIXUP_INSN, FIXUP_REPEAT, FIXUP_RELOC };

/* A place whose bytes depend on a value that is known only at the end of assembly. */
struct fixup {
    uint8_t kind, bytes; /* FIXUP_DATA: 1, 2, 4 or 8; FIXUP_INSN: room for the instruction;
                            FIXUP_RELOC: of the field */
    uint32_t offset;
    uint32_t item;                  /* FIXUP_REPEAT: index of the item with the rpt */
    const struct insn_text *insn;   /* FIXUP_INSN */
    const struct expr_node *expr;   /* FIXUP_DATA, FIXUP_RELOC */
    const struct reloc_kind *reloc; /* FIXUP_RELOC */
    struct loc at;
};

/* Beside enum asm_section_flags. Sections that are not loaded keep no bytes. */
enum section_state {
    SECTION_UNLOADED = 0x100,
    SECTION_DROPPED = 0x200 /* of a group that another file has, too */
};

struct section {
    struct named n;
    struct section *next; /* in order of appearance in the unit */
    struct source *source;
    uint32_t flags, align, addr; /* enum asm_section_flags and section_state */
    uint8_t *bytes;
    size_t size, capacity;
    struct item *item;
    size_t items, item_capacity;
    struct fixup *fixup;
    size_t fixups, fixup_capacity;
    uint8_t nobits;              /* zeros that need no room in a file */
    const struct symbol *common; /* the common symbol that this is the room for, or NULL */
    uint8_t taken; /* set by the linker, like the following: it is part of the image */
    size_t image_index;
};

struct source {
    struct source *next;
    const char *name;
    struct table symbols, sections, numbered;
    int any_repeat; /* .allow_invalid_repeat stands somewhere in it */
};

/* ---- instructions (asm_operand.c, asm_match.c, asm_insn.c) ---- */

enum operand_text_kind { TEXT_M, TEXT_A, TEXT_CSR, TEXT_EXPR };
enum broadcast { BROADCAST_NONE, BROADCAST_LOW /* B or BL */, BROADCAST_HIGH /* BU */ };

struct operand_text {
    uint8_t kind, suffix; /* enum operand_text_kind, enum operand_suffix */
    uint8_t reg, count;   /* first register, number of registers */
    uint8_t broadcast;
    int16_t csr[3]; /* index in the spaces W, U, S; -1: no such name */
    const struct expr_node *expr;
    struct loc at;
    struct span text; /* as written; empty once the statement is done */
};

enum asm_mode { MODE_ANY = 0, MODE_WORKER = CTX_W, MODE_SUPERVISOR = CTX_S };

struct insn_text {
    const struct insn_form *first; /* first form of the mnemonic; NULL: .insn */
    uint32_t word;                 /* .insn */
    uint8_t count, mode, any_mode, any_operands;
    struct operand_text operand[OPERANDS];
    struct loc at;
};

struct match {
    const struct insn_form *form;
    struct insn insn[2];
    unsigned insns;
    int unknown; /* an operand is not known yet: encoded as 0 */
};

struct bundle {
    int open, broken;
    int single; /* the second half is left out */
    unsigned count;
    struct loc at;
    struct insn_text text[2];
    struct match match[2];
};

/* ---- input (asm_lex.c, asm_macro.c) ---- */

struct macro_param {
    struct span name, value; /* value: the default */
    int required, rest;
};

struct macro {
    struct named n;
    struct macro_param *param;
    size_t params;
    struct span body;
    const char *file;
    uint32_t line;
};

/* .rept, .irp, .irpc: the body is expanded once for each value */
struct repeat {
    struct span body;
    struct macro_param param; /* name is empty for .rept */
    struct span *value;       /* NULL for .rept */
    size_t values, next;
    const char *file;
    uint32_t line;
};

enum frame_kind { FRAME_FILE, FRAME_MACRO, FRAME_REPEAT };

struct frame {
    enum frame_kind kind;
    const char *p, *end, *line_start;
    char *owned; /* text to free with the frame */
    const char *file;
    uint32_t line;
    const char *name; /* of the macro, or the directive */
    struct loc called;
    unsigned conditions; /* open .if when it began */
    struct repeat *repeat;
};

struct condition {
    uint8_t active, taken, parent, is_else;
    struct loc at;
};

struct asm_field; /* asm_expr.c */

/* What .pushsection saves. */
struct section_place {
    struct section *section, *previous;
};

/* What .allow_... and .warn_on_... permit from their place on. */
enum permission {
    ANY_MODE,
    ANY_OPERANDS,
    ANY_BUNDLE, /* with a warning */
    OPTIMIZATIONS,
    PERMISSIONS
};

/* The state while one file is assembled. */
/* A record of .stack_sizes: the function at a place, and the bytes of its frame. */
#define STACK_SIZES ".stack_sizes"
struct frame_size {
    const struct section *section;
    uint32_t offset, bytes;
};
struct frame_sizes {
    struct frame_size *at; /* owned */
    size_t n, room;
};

struct as {
    struct asm_unit *u;
    struct source *source;
    struct section *section, *previous; /* the current one, and the one before it */
    struct section_place push[MAX_PUSHED];
    unsigned pushed;
    struct frame frame[MAX_FRAMES];
    unsigned frames;
    struct frame *top;
    struct condition condition[MAX_CONDITIONS];
    unsigned conditions;
    struct table macros;
    struct bundle bundle;
    size_t expanded; /* bytes of text produced so far */
    unsigned expr_depth;
    uint32_t invocations; /* \@ */
    uint8_t mode;
    uint8_t allow[PERMISSIONS];
    int markers;                     /* the text has line markers of cpp */
    struct exchange_block *exchange; /* the one being read (asm_exchange.c), or NULL */
    int in_size;                     /* a .size expression: what it uses need not exist */
    int in_data;                     /* expr_parse_data is reading */
    struct frame_sizes frame_sizes;  /* of the functions of the file */
    unsigned frame_shift;            /* of the bits that follow in the last of them; 32: none */
    const struct asm_field *field;   /* what it found */
    struct unknown_name *unknown;    /* asm_names.c */
    int stop;
};

/* ---- the unit (asm_unit.c) ---- */

struct arena_block {
    struct arena_block *next;
    size_t used, bytes;
};

struct asm_unit {
    struct asm_options options;
    struct arch arch;
    struct arena_block *arena;
    struct table names; /* interned file names */
    struct source *source, **source_end;
    struct section *section, **section_end;
    size_t total_bytes;
    int delay_span[2], has_delay_span; /* asm_exchange.c: found when first asked for */
    struct asm_diag *diag;
    size_t diags, diag_capacity, errors;
    size_t link_diags, link_errors; /* diags and errors before the last link */
    int no_memory;
    struct table groups;         /* struct comdat_group */
    struct table member_symbols; /* asm_archive.c, like the following */
    struct archive_member *member, **member_end;
    /* filled by the linker */
    struct table globals;
    struct section **order; /* what is linked, in the order of placement; owned */
    size_t ordered;
    struct asm_image image;
    struct asm_line *line;
    int linked, was_linked;
};

void *unit_alloc(struct asm_unit *u, size_t count,
                 size_t size); /* zeroed; NULL when out of memory */
struct span unit_copy(struct asm_unit *u,
                      struct span s); /* zero-terminated; s = NULL when out of memory */
const char *unit_file_name(struct asm_unit *u, const char *name, size_t n);
struct named *unit_insert(struct asm_unit *u, struct table *t, struct span name, size_t size);
int unit_no_memory(struct asm_unit *u);
int unit_diag(struct asm_unit *u, enum asm_diag_kind kind, struct loc at, const char *fmt, ...)
    EMU_PRINTF(4, 5);
enum emu_status unit_status(const struct asm_unit *u);
void unit_forget_link(struct asm_unit *u);

/* A new file of the unit, still empty. NULL when out of memory. */
struct source *unit_new_source(struct asm_unit *u, const char *name);

static inline struct span span_of(const char *s, size_t n)
{
    return (struct span){ s, n };
}

int span_is(struct span a, const char *b);
struct span span_trim(struct span s);

/* Errors of the file being assembled; notes name the macros that lead to it. Both return 0. */
int as_error(struct as *as, struct loc at, const char *fmt, ...) EMU_PRINTF(3, 4);
int as_warning(struct as *as, struct loc at, const char *fmt, ...) EMU_PRINTF(3, 4);

/* ---- asm_cpp.c ---- */

/* Runs cpp on a file, or on text. *out is owned by the caller. Errors of cpp become diagnostics,
 * and EMU_BAD_ASM. */
enum emu_status cpp_run(struct asm_unit *u, const char *path, struct span text, char **out,
                        size_t *len);
enum emu_status file_read(const char *path, char **out, size_t *len);

/* ---- asm_lex.c ---- */

int lex_peek(const struct as *as); /* next character, or -1 */
struct loc lex_here(const struct as *as);
struct loc lex_loc(const struct as *as, const char *p);
void lex_blank(struct as *as); /* skips blanks and comments */
void lex_newline(struct as *as);
void lex_line_start(struct as *as); /* before the first character of a text */
int lex_at_end(struct as *as);      /* of the statement */
int lex_accept(struct as *as, char c);
int lex_expect(struct as *as, char c, const char *where);
int lex_expect_end(struct as *as);
void lex_skip_statement(struct as *as);
void lex_skip_line_comment(struct as *as);
struct span lex_statement_text(struct as *as); /* the rest of it, trimmed */
struct span lex_word(struct as *as);           /* name characters at the cursor, maybe none */
int lex_name(struct as *as, struct span *out); /* a name, maybe quoted */
int lex_string(struct as *as, char **out, size_t *len); /* with escapes resolved; in the arena */
int lex_is_name_start(int c);
int lex_is_name(int c);

/* ---- asm_expr.c ---- */

const struct expr_node *expr_parse(struct as *as);
/* The same for a number of so many bytes of data: `sym@abs18@s2` may be part of it. */
const struct expr_node *expr_parse_data(struct as *as, unsigned bytes);
const struct expr_node *expr_number(struct as *as, int64_t v);
const struct expr_node *expr_place(struct as *as, struct section *s, int64_t offset);
/* Reads an expression. Returns 0 after an error. The value may still be unknown. *at receives its
 * place. */
int expr_parse_value(struct as *as, struct loc *at, struct value *out);
/* The same for a number or a place that must be known; `what` names it in the message. */
int expr_parse_known(struct as *as, const char *what, struct loc *at, struct value *out);
/* The same for a number. */
int expr_parse_number(struct as *as, const char *what, int64_t *out);
struct value expr_eval(const struct expr_node *n, int linked);
/* Whether an expression is a symbol that only the linker knows, plus a number. */
int expr_external(const struct expr_node *n, struct symbol **symbol, int64_t *addend);
/* left OP right, folded where possible. NULL after an error, or when one side is NULL. */
const struct expr_node *expr_binary(struct as *as, struct loc at, char op,
                                    const struct expr_node *left, const struct expr_node *right);

/* ---- asm_names.c ---- */

/* "; did you mean 'x'?" of an undefined symbol, or nothing. */
void names_meant(const struct symbol *s, char *out, size_t bytes);
/* An error: the expression needs a symbol whose value is not known here. It is worded when the file
 * has been read: names_settle(). Returns 0. */
int names_unknown(struct as *as, struct loc at, const char *what, const struct expr_node *n);
void names_settle(struct as *as);

/* ---- asm_section.c ---- */

struct symbol *symbol_get(struct as *as, struct span name);
struct symbol *symbol_find(const struct source *s, struct span name);
int symbol_define_label(struct as *as, struct span name, struct loc at);
int symbol_define_numbered(struct as *as, struct span digits, struct loc at);
struct symbol *symbol_numbered(struct as *as, struct span digits, int forward, struct loc at);
int symbol_assign(struct as *as, struct span name, const struct expr_node *value, struct loc at);
struct section *section_get(struct as *as, struct span name, uint32_t flags, struct loc at);
/* An empty section for a common symbol of a file, which no name finds: it is linked if no file
 * defines the symbol. NULL without memory. */
struct section *section_new_common(struct asm_unit *u, struct source *f, const struct symbol *s);
/* Makes the current section part of a comdat group. */
int section_join_group(struct as *as, struct span name);

static inline int section_is_loaded(const struct section *s)
{
    return !(s->flags & SECTION_UNLOADED);
}

int section_emit(struct as *as, const void *bytes, size_t n, unsigned kind, struct loc at);
int section_fill(struct as *as, uint64_t count, unsigned width, uint64_t value, struct loc at);
int section_align(struct as *as, uint64_t align, int64_t fill, int has_fill, uint64_t max,
                  struct loc at);
int section_fixup(struct as *as, const struct fixup *f);
uint32_t asm_nop_word(void);

/* ---- sizes of frames (asm_frames.c) ---- */

int frame_sizes_add(struct asm_unit *u, struct frame_sizes *f, struct frame_size size);
void frame_sizes_sort(struct frame_sizes *f);
/* Gives a symbol the size of the frame of the function that begins at its place, unless it has one.
 */
void frame_sizes_give(const struct frame_sizes *f, struct symbol *s);
/* A number of a section that is not loaded, of so many bytes or as LEB128. In .stack_sizes a place
 * of 4 bytes begins a record, what follows is its size. */
int frame_number(struct as *as, struct value v, unsigned bytes);
void frame_leb128(struct as *as, struct value v);
/* Gives the symbols of the source what its records say. */
void frames_end(struct as *as);

/* ---- asm_macro.c ---- */

int frame_push(struct as *as, const struct frame *f);
int frame_next(struct as *as); /* at the end of the text: next repetition, or back to the caller; 0
                                  when all is done */
int macro_define(struct as *as, struct loc at);
struct macro *macro_find(const struct as *as, struct span name);
int macro_invoke(struct as *as, struct macro *m, struct loc at);
int macro_repeat(struct as *as, struct span directive, struct loc at);
int macro_exit(struct as *as, struct loc at);

/* ---- asm_args.c ---- */

/* Text of the arguments of one statement. */
struct args {
    char *text; /* owned; room for all of the statement */
    size_t used;
};

int args_begin(struct as *as, struct args *a);
void args_end(struct args *a);
int args_next(struct as *as, struct args *a, struct span *out); /* one argument, maybe empty */
int args_params(struct as *as, struct macro *m);
int args_parse(struct as *as, struct args *a, const struct macro *m, struct span *value,
               unsigned char *given, struct loc at);

/* Writes a body with its parameters replaced; \@ becomes the number of this invocation. The caller
 * owns *out, also after an error. */
int args_substitute(struct as *as, struct span body, const struct macro_param *param,
                    const struct span *value, size_t n, char **out, size_t *len);

/* ---- asm_cond.c ---- */

int cond_skipping(const struct as *as);
int cond_directive(struct as *as, struct span name, struct loc at, int *known);
int cond_close(struct as *as, unsigned depth);

/* ---- asm_directive.c, asm_data.c ---- */

int directive_run(struct as *as, struct span name, struct loc at);
const char *directive_nearest(struct span name);

/* The file a directive names with a string: next to the current file, or in an include directory.
 * *out is owned. */
int directive_file(struct as *as, struct loc at, char **name, char **out, size_t *len);
typedef int data_fn(struct as *as, struct loc at, int argument);
data_fn data_integers, data_leb128, data_floats, data_strings, data_space, data_fill, data_align,
    data_org, data_incbin;

/* ---- asm_operand.c, asm_match.c, asm_insn.c ---- */

int operand_parse(struct as *as, struct operand_text *o);

/* The number of a CSR in the first space that code of this mode may name; -1: none. */
int operand_csr_number(const struct operand_text *o, enum asm_mode mode);

/* What the name after a '$' means. *out receives the number of a CSR or a weight entry. */
enum dollar_name { DOLLAR_REGISTER, DOLLAR_NUMBER, DOLLAR_WRONG_MODE, DOLLAR_SYMBOL };
enum dollar_name operand_dollar_name(struct as *as, struct span word, int64_t *out);

/* Adds the delta that a load or store may leave out: register 15. */
void insn_add_delta(struct insn_text *t);

/* Finds the form for an instruction and builds it. Diagnostics go to the unit. The linker passes
 * NULL for as. */
int insn_match(struct asm_unit *u, struct as *as, const struct insn_text *t, int linked,
               struct match *out);
/* Whether two results of an instruction go to one register, which is not a zero register. name
 * receives its name. */
int insn_writes_twice(const struct insn *in, char *name, size_t bytes);

/* Whether two instructions must not form a bundle. why receives the reason. */
int insn_bundle_fault(const struct insn *main, const struct insn *aux, char *why, size_t bytes);
int insn_statement(struct as *as, struct span mnemonic, struct loc at);
/* Emits an instruction that was not read from the source. */
int insn_emit(struct as *as, struct insn_text *t);
int insn_bundle_open(struct as *as, struct loc at);
int insn_bundle_close(struct as *as, struct loc at);

/* ---- asm_source.c ---- */

void source_assemble(struct as *as);

/* ---- asm_exchange.c ---- */

/* Called at the '(' after a name. If the name is a function of the exchange, reads its arguments
 * and returns 1; *out is then NULL after an error.
 */
int exchange_function(struct as *as, struct span name, const struct expr_node **out);
data_fn exchange_open_block, exchange_message, exchange_close_block;
void exchange_finish(struct as *as);
void exchange_drop_block(struct as *as);

/* ---- asm_link.c ---- */

/* Fills in the bytes of a fixup. With linked set all addresses are known; without it, only fixups
 * that need no address are filled in. */
int fixup_data(struct asm_unit *u, struct section *s, const struct fixup *f, int linked);
int fixup_insn(struct asm_unit *u, struct section *s, const struct fixup *f, int linked);
void fixup_reloc(struct asm_unit *u, struct section *s, const struct fixup *f);
/* What a relocation refers to, "'table' + 4". */
void fixup_target(const struct expr_node *n, char *out, size_t bytes);
/* Checks the body of a rpt: whole bundles, aligned, without control and system instructions. */
int fixup_check_repeat(struct asm_unit *u, const struct section *s, const struct fixup *f);

/* ---- asm_needed.c ---- */

enum { ENTRY_BYTES = 300 };
/* __runCodelet_NAME in text, which has ENTRY_BYTES. NULL when it has no room there. */
const char *entry_label(const char *name, char *text);

/* Fills u->order: all sections that have bytes or, if the layout names roots, those the roots are
 * in and all these refer to. Symbols are resolved already; those that are used become `needed`. */
int needed_sections(struct asm_unit *u, const struct asm_layout *layout);

/* ---- elf_read.c, asm_archive.c: files that are no text ---- */

int elf_is_object(struct span data);
/* Makes an object a source of the unit. What is wrong with it becomes diagnostics. NULL when out of
 * memory. */
struct source *elf_read(struct asm_unit *u, const char *name, struct span data);
/* Calls back for every global symbol that an object defines. Returns 0 after an error. */
int elf_each_global(struct asm_unit *u, const char *name, struct span data,
                    int (*visit)(void *ctx, struct span symbol), void *ctx);

int archive_is(struct span data);
/* Makes the members of an archive known to the linker. */
int archive_add(struct asm_unit *u, const char *name, struct span data);
/* Makes the first member that defines a symbol a source of the unit. NULL if there is none, or it
 * is one already. */
struct source *archive_pull(struct asm_unit *u, struct span symbol);
/* Makes all members sources. */
void archive_pull_all(struct asm_unit *u);

/* ---- asm_dis.c ---- */

int64_t branch_target(const struct insn *in); /* the address that a control instruction names; -1 */

/* ---- asm_image.c ---- */

void image_order(struct asm_image *image); /* sorts symbols by value */

#endif
