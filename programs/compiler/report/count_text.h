/* count_text.h - numbers for people: digits in groups of three. */
#ifndef PROGRAMS_COUNT_TEXT_H
#define PROGRAMS_COUNT_TEXT_H

#include <stdint.h>

struct count_text {
    char at[28];
};

/* "1,234,567"; printf("%s", count_text(n).at) */
struct count_text count_text(uint64_t n);

#endif
