/* arch_private.h - what the files of emu/arch share with each other only. */
#ifndef EMU_ARCH_PRIVATE_H
#define EMU_ARCH_PRIVATE_H

#include "emu/arch/arch.h"

enum { ARCH_WHY_MAX = 400 };

/* An impossible value: the field to blame, a second one involved (or the same again), and the
 * reason. */
struct arch_problem {
    enum arch_field_id field, other;
    char why[ARCH_WHY_MAX];
};

/* 1 and *p filled when the machine is impossible, else 0. The first problem in a fixed order. */
int arch_find_problem(const struct arch *a, struct arch_problem *p);

/* Stores a value after checking the limits of the field: 0, or -1 with a untouched. Never
 * allocates. Setting tiles also calls for room in the exchange (arch_exchange_make_room). */
int arch_field_store_number(struct arch *a, size_t i, uint64_t v);
int arch_field_store_text(struct arch *a, size_t i, const char *s,
                          size_t n); /* n bytes; text and kind fields */

/* "an integer from 1 to 8064 (tiles)", "flat or columns": what a field accepts. */
void arch_field_expected(size_t i, char *out, size_t bytes);

/* Parses all of s[0..n) as an unsigned integer: decimal or 0x..., optionally Ki, Mi or Gi. 0, or
 * -1. */
int arch_parse_number(const char *s, size_t n, uint64_t *out);

const char *arch_kind_name(unsigned kind); /* "flat" */

/* ", did you mean 'x'?" or "". */
void arch_suggest(const char *unknown, char *out, size_t bytes);

/* More rows when tiles exceed them; host and null sources after the last physical id. */
void arch_exchange_make_room(struct arch *a);

#endif
