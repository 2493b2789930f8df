/* isa.h - the instruction set as data: forms, operands, encoder, decoder, disassembler, CSR names.
 * No machine state.
 *
 * Everything here is derived from insn.def and csr.def. The tables are built before main() runs and
 * never change. Operations, forms and CSRs are numbers here; insn_ops.h and csr_names.h have
 * names, for who means certain ones.
 */
#ifndef EMU_ISA_H
#define EMU_ISA_H

#include <stddef.h>
#include <stdint.h>

enum insn_lane { LANE_M, LANE_A };
enum insn_context { CTX_W = 1, CTX_S = 2, CTX_B = 3 };
/* Instruction sets in the order of their age; each has all that the one before it has. The numbers
 * are those of field `isa` of struct arch. */
enum isa_version { ISA_IPU1 = 1, ISA_IPU2 = 2, ISA_IPU21 = 21 };
/* SOLO: never in a bundle. SHOWN: an alias that isa_print() writes. */
enum insn_flags { INSN_SOLO = 1, INSN_CONTROL = 2, INSN_SYSTEM = 4, INSN_SHOWN = 8 };

/* What an instruction costs the supervisor, by class; emu/bsp/barrel.c decides the cycles. */
enum insn_cost {
    COST_ONE,
    COST_JUMP,   /* always jumps */
    COST_BRANCH, /* jumps or continues */
    COST_PUT,
    COST_PUTCS,
    COST_RUN,
    COST_EVENTS, /* one event more than its first immediate says */
    COST_SEND    /* the same; a request to the host takes a minimum */
};

/* A decoded instruction. Registers are the first number of a pair or quad; fields that the form
 * lacks are 0. */
struct insn {
    uint16_t op; /* enum insn_op */
    uint8_t d, e, a, b, c, s, t, x, y, p;
    int32_t i; /* first immediate: sign-extended (simm), shifted into bits 31:20 (himm12), in bytes
                  (addrN) */
    uint32_t j, k;    /* second and third immediate (addrN in bytes) */
    uint32_t l, n, o; /* fourth to sixth: only sendpicp */
};

enum operand_kind {
    OPD_M,  /* $mN */
    OPD_A,  /* $aN */
    OPD_M2, /* $mN:N+1, even */
    OPD_A2,
    OPD_A4,   /* $aN:N+3, multiple of 4 */
    OPD_A_BL, /* $aN:BL */
    OPD_A_BU,
    OPD_A_B,
    OPD_UIMM,   /* 0 .. 2^bits - 1 */
    OPD_SIMM,   /* -2^(bits-1) .. 2^(bits-1) - 1 */
    OPD_SUBIMM, /* -32767 .. 32767: negated into the 16-bit immediate of add */
    OPD_HIMM,   /* a 32-bit value whose low 20 bits are zero */
    OPD_IMM32,  /* any 32-bit value, signed or unsigned */
    OPD_ADDR,   /* byte address, multiple of 4, below 2^(bits+2); in text, the constant of a branch
                   is a number of words */
    OPD_CSR,    /* CSR by number; only the low 8 bits count */
    OPD_CSRNAME /* $NAME */
};

enum operand_suffix {
    SUFFIX_NONE,
    SUFFIX_INC /* += */,
    SUFFIX_BUMP /* ++ */,
    SUFFIX_RELOAD /* @ */,
    SUFFIX_SHIFT /* >> */
};

struct operand {
    uint8_t kind;   /* enum operand_kind */
    uint8_t suffix; /* enum operand_suffix */
    uint8_t bits;   /* width of an immediate */
    char letter;    /* field of struct insn, as in the encoding: d e a b c s t x y p, i j k l n o */
};

enum { ISA_MAX_OPERANDS = 6 };

/* One row of insn.def. Borrowed from the table; valid forever. */
struct insn_form {
    const char *name; /* id of the row, e.g. "add_mu16" */
    const char *mnemonic;
    const char *operands; /* as in the table, e.g. "mD, mA, uimm16" */
    uint16_t form;        /* enum insn_form_id */
    uint16_t op; /* INSN rows: the operation; ALIAS rows: the (first) operation it is written as */
    uint8_t is_alias;
    uint8_t lane, context, flags;
    uint8_t since; /* enum isa_version: the first that has the operation */
    uint8_t cost;  /* enum insn_cost */
    uint8_t operand_count;
    struct operand operand[ISA_MAX_OPERANDS];
    const char *alias_map; /* ALIAS rows: text after the target name */
};

const struct insn_form *isa_form(unsigned form); /* form < FORM_COUNT */
const struct insn_form *
isa_op_form(unsigned op); /* the INSN row of an operation, op < INSN_COUNT */

/* First form with this mnemonic, or NULL; isa_form_next() walks the others in table order, NULL at
 * the end. */
const struct insn_form *isa_form_find(const char *mnemonic, size_t len);
const struct insn_form *isa_form_next(const struct insn_form *f);

/* Whether the value of an immediate operand (two's complement, any width up to 64 bits) fits the
 * operand. */
int isa_operand_accepts(const struct operand *o, int64_t value);

/* Builds the instruction(s) that a form stands for. value[] has one entry per operand: the first
 * register number, or the immediate as written in source (bytes for addresses, a CSR number without
 * the 256 of the upper space for CSRs). out receives 1 instruction, or 2 for an ldconst that needs
 * them. Returns their number, or 0 when a value does not fit. */
unsigned isa_form_build(const struct insn_form *f, const int64_t value[ISA_MAX_OPERANDS],
                        struct insn out[2]);

/* Encodes one instruction into 1 or 2 words (2 only for sendpicp) and returns their number. The
 * bundle bit is not set. */
unsigned isa_encode(const struct insn *in, uint32_t word[2]);

/* Encodes two instructions of one word each as a bundle: both words have the bundle bit. */
void isa_encode_bundle(const struct insn *main, const struct insn *aux, uint32_t word[2]);

enum { ISA_WORD_BYTES = 4, ISA_BUNDLE_BYTES = 8, ISA_BUNDLE_BIT = 31 };

/* Decodes the item at word[0]: a single instruction, a bundle (main and aux), or a two-word
 * instruction.
 *
 * word    word[1] is read only when the item has two words
 * main    the main-lane or lone instruction; op is INSN_ILLEGAL when no row matches
 * aux     the auxiliary half of a bundle; its op is INSN_ILLEGAL with *is_bundle set when the
 *         second word lacks the bundle bit or matches no row. Without a bundle, op is INSN_ILLEGAL
 * and nothing else is set
 *
 * Returns the length in bytes, 4 or 8. Never faults, whatever the words. */
unsigned isa_decode(const uint32_t word[2], struct insn *main, struct insn *aux, int *is_bundle);

/* A part of an immediate: (words >> shift & mask) << scale, where the first word is the high half
 * of words. */
struct isa_part {
    uint8_t shift, scale;
    uint32_t mask;
};

enum { ISA_PARTS_MAX = 3 };

/* How to decode one operation, for those who meet few of them often. */
struct isa_pattern {
    uint64_t mask, match; /* its fixed bits in words, those of a lone instruction */
    unsigned bytes;
};

struct isa_pattern isa_pattern_of(unsigned op);
/* The parts of an unsigned immediate by the letter of its operand, i to o. Their sum is its value.
 * Returns how many there are, 0 if the form has no such operand. */
unsigned isa_parts_of(unsigned op, char letter, struct isa_part part[ISA_PARTS_MAX]);

/* 1 when the item starting with this word is 8 bytes long. */
int isa_is_wide(uint32_t word);

/* Writes the assembly text of one instruction (no bundle braces), such that assembling it gives the
 * same word. Aliases that are SHOWN are preferred: `mov`, `zero`, `swap16`, ... label, if not NULL,
 * is printed in place of an address operand; the assembler takes the constant of a branch as a
 * number of words, so that without a label it is printed as `0xADDRESS / 4`. A word whose plain
 * spelling would assemble to another row (a uimm16 that simm16 holds, a himm12 of 0) is printed as
 * `.insn 0xWORD`, which the assembler takes as one instruction, in bundles too. Returns the length
 * as snprintf does. */
int isa_print(const struct insn *in, const char *label, char *out, size_t bytes);

/* Registers an instruction reads and writes, one bit per register of each file; read-only ones
 * never count as written. */
struct insn_regs {
    uint32_t m_read, m_write, a_read, a_write;
};
struct insn_regs isa_registers(const struct insn *in);

/* What a machine needs to execute an instruction: its form, and the registers that it reads. What
 * is written to a register that a machine lacks is lost, since nothing can read it. */
enum isa_need {
    ISA_NEEDS_NOTHING,    /* it has both */
    ISA_NEEDS_VERSION,    /* the form came with a later instruction set, or is INSN_ILLEGAL */
    ISA_NEEDS_M_REGISTER, /* a register of the main file, `missing` */
    ISA_NEEDS_A_REGISTER  /* one of the auxiliary file */
};

/* The first thing that a decoded instruction needs and a machine lacks. version, main_registers and
 * aux_registers are the fields of struct arch: `isa`, and the general registers of each file, of
 * which $m14 is the 13th in the main file. missing: NULL, or receives the number of the register.
 */
enum isa_need isa_needs(const struct insn *in, unsigned version, unsigned main_registers,
                        unsigned aux_registers, unsigned *missing);

/* CSRs. space is 'W', 'U' or 'S'. */
struct csr_row {
    const char *name;
    char space;
    uint8_t index;
    uint8_t access; /* 1 readable, 2 writable */
    uint8_t since;  /* enum isa_version */
    const char *doc;
};
const struct csr_row *isa_csr_find(char space, const char *name, size_t len); /* NULL if unknown */
const struct csr_row *isa_csr_at(char space, unsigned index);                 /* NULL if unknown */
size_t isa_csr_count(void);
const struct csr_row *isa_csr_row(size_t i);

#endif
