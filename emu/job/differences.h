/* differences.h - what a run left behind against what its file expects: every comparison of a case
 * or a manifest ends here, and each difference becomes one object {what, expected, got}.
 */
#ifndef EMU_DIFFERENCES_H
#define EMU_DIFFERENCES_H

#include "emu/job/manifest.h"

struct differences {
    json_t *list;            /* owned by the caller: a JSON array */
    uint64_t listed_max;     /* entries of list */
    uint64_t total, checked; /* all differences; single comparisons */
    const char *file;        /* borrowed: that expects it, in messages */
};

/* Takes want and got over, of which NULL means that there was no memory. EMU_NO_MEMORY. */
enum emu_status differences_add(struct differences *d, const char *what, json_t *want,
                                json_t *got) EMU_MUST_CHECK;
/* A number that must lie in a range, if that is set. */
enum emu_status differences_range(struct differences *d, const char *what,
                                  const struct json_range *r, uint64_t got) EMU_MUST_CHECK;

/* Elements in a row that must agree. */
struct expected_elements {
    const char *where; /* "where[7]" names one in the report */
    uint32_t from;     /* number of the first */
    enum case_type type;
    uint32_t count;
    const uint8_t *want, *got; /* borrowed: little endian */
    double tolerance, relative;
};
enum emu_status differences_elements(struct differences *d,
                                     const struct expected_elements *e) EMU_MUST_CHECK;

/* The same for the values of one tile, which give e its type, count and want. p and code: those of
 * the tile, for addresses; NULL where values are numbers. Errors: of program_fill_values(). */
enum emu_status differences_values(struct differences *d, const struct manifest_data *want,
                                   const struct data_place *place, const struct manifest_program *p,
                                   const struct asm_image *code,
                                   struct expected_elements *e) EMU_MUST_CHECK;

/* Whether the bits are equal or, unless both tolerances are 0: both are NaN, or |got - want| <=
 * tolerance + relative |want|. */
int case_elements_agree(enum case_type t, uint32_t want, uint32_t got, double tolerance,
                        double relative);

/* JSON of an element in the notation of case files, and "0x0000002a" as registers are printed. A
 * new reference, NULL when out of memory. */
json_t *case_element_json(enum case_type t, uint32_t bits);
json_t *case_word_json(uint32_t v);

#endif
