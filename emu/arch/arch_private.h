/* arch_private.h - what the files of emu/arch share with each other only. */
#ifndef EMU_ARCH_PRIVATE_H
#define EMU_ARCH_PRIVATE_H

#include "emu/arch/arch_geometry.h"
#include "emu/arch/arch_numbers.h"
#include "emu/base/fail.h"

enum { ARCH_WHY_MAX = 400 };

/* An impossible value: the field to blame, a second one involved (or the same again), and the
 * reason. */
struct arch_problem {
    enum arch_field_id field, other;
    char why[ARCH_WHY_MAX];
};

/* Returns 1 and fills *p when the machine is impossible, else returns 0. Fields are checked in a
 * fixed order; the first problem is reported. */
int arch_find_problem(const struct arch *a, struct arch_problem *p);

/* Stores a value after checking the limits of the field. Returns 0, or -1 and leaves *a as it was.
 * Never allocates. A change of `tiles` also makes room in the exchange
 * (arch_exchange_make_room). */
int arch_field_store_number(struct arch *a, size_t i, uint64_t v);
int arch_field_store_text(struct arch *a, size_t i, const char *s,
                          size_t n); /* n bytes; fields that are written */

/* Whether a value differs from that of the preset that the machine was made from. */
int arch_field_changed(const struct arch *a, size_t i);

/* "an integer from 1 to 8064 (tiles)", "flat or columns": what a field accepts. */
void arch_field_expected(size_t i, char *out, size_t bytes);

/* Parses all of s[0..n) as an unsigned integer: decimal or 0x..., optionally with Ki, Mi or Gi, or
 * K, M, G, which are the same. Returns 0, or -1 when it is none. */
int arch_parse_number(const char *s, size_t n, uint64_t *out);

int arch_type_is_written(enum arch_type type); /* a text, or one of some words: no number */

/* ", did you mean 'x'?" or "". */
void arch_suggest(const char *unknown, char *out, size_t bytes);

/* Adds rows when there are more tiles than they hold, and moves the host and null sources after the
 * last physical id. */
void arch_exchange_make_room(struct arch *a);

#endif
