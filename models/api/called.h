/* called.h - a command that a program calls instead of being typed: its words, what it would say,
 * and what its answers have in common; private to models/api.
 */
#ifndef MODELS_CALLED_H
#define MODELS_CALLED_H

#include "emu/cli/commands.h"
#include "models/answer/memory_facts.h"
#include "models/api/ss_network.h"
#include "models/graph/op_graph.h"

struct called {
    struct ss_listener listener; /* line NULL: nobody */
    char *text;                  /* owned: of a line that has not ended */
    size_t bytes, room;
    FILE *heard; /* owned: hands lines over */
    char **word; /* owned list of owned texts: the command line */
    int words;
    struct command_line *line; /* owned */
};

/* Reads "command what words..". c must stay where it is; end it with called_end(), also after an
 * error. The request is quiet without a listener. Errors: those of command_call(); EMU_USAGE: no
 * text where one must be. */
enum emu_status called_begin(struct called *c, const struct command *command, const char *what,
                             const char *const *words, size_t count,
                             const struct ss_listener *l) EMU_MUST_CHECK;
void called_end(struct called *c); /* c may be all zero */
struct request *called_request(const struct called *c);

/* A value of a graph, as programs see it; texts are borrowed. */
struct ss_value called_value(const struct op_graph *g, uint32_t value, const char *meaning);
/* The value of that name among n of a list; EMU_USAGE names those that there are. what: "input". */
enum emu_status called_find(const struct op_graph *g, const uint32_t *list, uint32_t n,
                            const char *what, const char *name, uint32_t *index) EMU_MUST_CHECK;
/* EMU_USAGE: a list of another length. */
enum emu_status called_count(const char *name, uint64_t want, size_t count) EMU_MUST_CHECK;

/* Errors: those of memory_facts_tiles(). */
enum emu_status called_memory(const struct memory_facts *m, const struct arch *a,
                              struct ss_memory *out) EMU_MUST_CHECK;
/* The bytes of all tiles; EMU_USAGE: the machine has another number. */
enum emu_status called_tile_bytes(const struct memory_facts *m, const struct arch *a,
                                  uint64_t *bytes, size_t tiles) EMU_MUST_CHECK;
/* EMU_USAGE, for a program that was compiled and does not fit. */
enum emu_status called_unfit(uint64_t need, const struct arch *a) EMU_MUST_CHECK;

#endif
