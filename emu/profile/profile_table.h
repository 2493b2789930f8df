/* profile_table.h - the rows of a query of a profile, for people, as JSON, and as CSV. Columns are
 * called as the query calls them; those that say nothing are left out (profile_is_shown()). */
#ifndef EMU_PROFILE_TABLE_H
#define EMU_PROFILE_TABLE_H

#include <jansson.h>

#include "emu/profile/profile_store.h"

/* A title and a line for every row; nothing when there are no rows. Errors: those of
 * profile_query(), EMU_NO_MEMORY. */
enum emu_status profile_print_table(struct profile *p, const char *title, const char *sql,
                                    FILE *f) EMU_MUST_CHECK;
/* A column of the row: a new value; text that is no UTF-8 is "". NULL when out of memory. */
json_t *profile_cell_json(const struct profile_cursor *c, unsigned column);

/* A part of a report: a query, printed as a table or put under its key. */
struct profile_section {
    const char *key, *title, *sql;
    const char *all; /* for JSON; NULL: the same */
};
enum emu_status profile_print_sections(struct profile *p, const struct profile_section *s, size_t n,
                                       FILE *f) EMU_MUST_CHECK;
enum emu_status profile_put_sections(struct profile *p, const struct profile_section *s, size_t n,
                                     json_t *o) EMU_MUST_CHECK;

/* As RFC 4180 has it, with a line of names. */
enum emu_status profile_print_csv(struct profile *p, const char *sql, FILE *f) EMU_MUST_CHECK;
/* *out: a new array of objects. */
enum emu_status profile_rows_json(struct profile *p, const char *sql, json_t **out) EMU_MUST_CHECK;
/* An object that `put` fills. *out is NULL after an error: those of put, EMU_NO_MEMORY. */
typedef enum emu_status profile_fill(struct profile *p, json_t *o);
enum emu_status profile_object_json(struct profile *p, profile_fill *put,
                                    json_t **out) EMU_MUST_CHECK;

#endif
