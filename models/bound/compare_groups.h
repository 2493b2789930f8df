/* compare_groups.h - compares what the machine computed, group by group, with the f64 reference of
 * each node. The reference takes the machine's own inputs, so errors do not add up from group to
 * group, and a wrong one stands out. Every number has a bound of its own, see op_error.h.
 */
#ifndef MODELS_COMPARE_GROUPS_H
#define MODELS_COMPARE_GROUPS_H

#include <jansson.h>

#include "models/lower/op_program.h"

/* The outcome of all comparisons of a run. */
struct group_comparison {
    FILE *f;                   /* borrowed: where the table goes, or one JSON object */
    json_t *rows;              /* borrowed: the list of its groups; NULL: a table is wanted */
    uint32_t compared, broken; /* groups; those with a number beyond its bound */
    char first[256];           /* the first of these, as text */
    uint32_t not_finite;       /* groups whose reference has NaN */
    char first_not_finite[256];
};

/* Compares the results of groups [keep_begin, keep_end), as far as there are so many, after a run;
 * the program was made with the same options, and has kept these results and what they read. Adds a
 * row for each group. Memory: the values that groups still read, in f64. Errors: those of
 * ss_session_read(); EMU_NO_MEMORY. */
enum emu_status compare_groups(const struct op_program *p, struct session *s,
                               const struct lower_options *o,
                               struct group_comparison *sum) EMU_MUST_CHECK;

/* Print the head of the table and its summary, or at the end all of it as JSON. EMU_FAULT when a
 * number is beyond its bound, or a reference has NaN; the message has the first. EMU_NO_MEMORY. */
void compare_groups_begin(const struct group_comparison *sum);
enum emu_status compare_groups_end(const struct group_comparison *sum) EMU_MUST_CHECK;

#endif
