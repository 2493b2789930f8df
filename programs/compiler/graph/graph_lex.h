/* graph_lex.h - a graph file as lines with an indent, and a line as words, names and numbers.
 *
 * Nothing is copied but names. What is not as expected is EMU_BAD_FILE: "FILE:LINE: expected WHAT,
 * found '...'".
 */
#ifndef PROGRAMS_GRAPH_LEX_H
#define PROGRAMS_GRAPH_LEX_H

#include "programs/compiler/graph/graph_words.h"

struct graph_lexer {
    const char *file;       /* name in messages, borrowed */
    const char *next, *end; /* the lines that follow */
    uint32_t line;          /* of the current line, from 1 */
    const char *begin;      /* of it */
    const char *at, *eol;   /* what is left of it */
    unsigned indent;        /* spaces before it */
    int done;               /* there is no line any more; the line is the last one */
    VEC(char) name;         /* the last name that was read */
};

/* A line to which one may return. */
struct graph_place {
    const char *next;
    uint32_t line;
};

/* Goes to the next line that is neither empty nor a comment. */
void token_line(struct graph_lexer *x);
/* The place of the current line, and back to it. */
struct graph_place token_place(const struct graph_lexer *x);
void token_return(struct graph_lexer *x, struct graph_place p);

/* Fails with "FILE:LINE: expected WHAT, found '...'"; with "FILE:LINE: WHAT". */
enum emu_status token_expected(const struct graph_lexer *x, const char *fmt, ...) EMU_MUST_CHECK
    EMU_PRINTF(2, 3);
enum emu_status token_wrong(const struct graph_lexer *x, const char *fmt, ...) EMU_MUST_CHECK
    EMU_PRINTF(2, 3);

/* Whether a word or a sign comes next; the same, and goes behind it. */
int token_is(struct graph_lexer *x, const char *text);
int token_take(struct graph_lexer *x, const char *text);
enum emu_status token_need(struct graph_lexer *x, const char *text) EMU_MUST_CHECK;
/* Whether one of the words of a table, whose rows may be NULL, comes next, behind which it goes:
 * its row. -1: none. */
int token_take_row(struct graph_lexer *x, const char *const *words, unsigned rows);
int token_is_end(struct graph_lexer *x);
enum emu_status token_end(struct graph_lexer *x) EMU_MUST_CHECK;

/* A name, in quotes or without; *out is valid until the next one. */
enum emu_status token_name(struct graph_lexer *x, const char *what,
                           const char **out) EMU_MUST_CHECK;
/* Whether digits come next. */
int token_is_number(struct graph_lexer *x);
enum emu_status token_number(struct graph_lexer *x, const char *what, uint64_t low, uint64_t high,
                             uint64_t *out) EMU_MUST_CHECK;
enum emu_status token_u32(struct graph_lexer *x, const char *what, uint32_t *out) EMU_MUST_CHECK;
/* An element of a type, as bits. */
enum emu_status token_element(struct graph_lexer *x, enum elem e, uint32_t *bits) EMU_MUST_CHECK;
enum emu_status token_elem(struct graph_lexer *x, enum elem *out) EMU_MUST_CHECK;
/* "[8,4]" */
enum emu_status token_shape(struct graph_lexer *x, unsigned *rank,
                            uint32_t shape[TENSOR_MAX_RANK]) EMU_MUST_CHECK;

#endif
