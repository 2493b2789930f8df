/* graph_words.h - the words of graph files, once for who writes them and who reads them: keywords,
 * names and how they are told apart, numbers.
 */
#ifndef PROGRAMS_GRAPH_WORDS_H
#define PROGRAMS_GRAPH_WORDS_H

#include "emu/base/npy_file.h"
#include "programs/compiler/graph/graph_private.h"

enum { GRAPH_FILE_VERSION = 1 };
#define GRAPH_FILE_WORD "superstep-graph" /* that a file begins with */

extern const char *const node_words[];    /* by enum node_kind: "sequence" */
extern const char *const channel_words[]; /* by enum channel_way: "send" */
extern const char *const chips_words[];   /* by enum chips_scope: "replica" */
extern const char *const view_words[];    /* by enum view_kind; NULL: a block, which has no word */
extern const char *const field_words[];   /* by enum field_kind: "in_list" */
enum { NODE_WORDS = NODE_CHIPS + 1, VIEW_WORDS = VIEW_BROADCAST + 1 };
enum { CHANNEL_WORDS = CHANNEL_RECEIVE + 1, CHIPS_WORDS = CHIPS_OF_POD + 1 };
enum { FIELD_WORDS_COUNT = FIELD_APART + 1 };
const char *codelet_kind_word(enum codelet_kind k); /* "multi" */
enum elem scalar_elem(enum field_kind k);           /* of FIELD_U32, FIELD_F32, FIELD_F16 */

/* ---- names ---- */

/* What may be called by its name: things of a kind are numbered in the order of their creation. */
enum name_kind { NAME_SCOPE, NAME_VARIABLE, NAME_STREAM, NAME_SET, NAME_FUNCTION, NAME_KINDS };
extern const char *const name_words[]; /* "compute set" */

uint32_t name_count(const struct graph *g, enum name_kind kind);
const char *name_of(const struct graph *g, enum name_kind kind, uint32_t number);

struct name_use {
    uint32_t first, count; /* the first thing of a name; how many have it */
};

/* The numbers of all names; zero it before use. */
struct graph_names {
    struct strings text;
    VEC(struct name_use) of; /* by string */
};
enum emu_status names_add(struct graph_names *n, const char *name, uint32_t number) EMU_MUST_CHECK;
/* The first thing of a name, GRAPH_NONE if there is none; *count: how many have it. */
uint32_t names_find(struct graph_names *n, const char *name, uint32_t *count);
void names_free(struct graph_names *n);

/* The scope of what has this path, unless it is said: the one whose path is the longest beginning
 * of it, in whole names. */
uint32_t names_scope(struct graph_names *scopes, const char *path);

/* Whether a name can stand without quotes: letters, digits and _ . / - after a letter or _. */
int name_is_word(const char *name);
int name_has_char(char c);

/* ---- numbers ---- */

/* An element of a type: a number that reads back as the same bits, "0x7fc00000" of a NaN. */
void write_element(enum elem e, const void *data, FILE *f);
/* The bits of a number of a type. Returns what was expected instead, borrowed; NULL: it is one. */
const char *element_of_number(enum elem e, double value, uint32_t *bits);
/* All elements of an array, which is in C order, as those of a type; out has room for them.
 * EMU_BAD_FILE: a number that the type does not hold. */
enum emu_status elements_of_npy(const struct npy_array *a, enum elem e, const char *file,
                                void *out) EMU_MUST_CHECK;
const char *npy_type_of(enum elem e); /* "f4" */
/* The bits of a number of a type, written so. Returns what was expected instead; NULL: it is one.
 */
const char *read_element(enum elem e, const char *text, uint32_t *bits);

#endif
