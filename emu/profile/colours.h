/* colours.h - the colours of colours.def for what draws: charts in C, and pages. */
#ifndef EMU_COLOURS_H
#define EMU_COLOURS_H

#include <stdio.h>

enum colour {
#define COLOUR(name, light, dark) COLOUR_##name,
#include "emu/profile/colours.def"
    COLOURS
};

/* On light ground, as charts are: "#0072b2". */
const char *colour_light(enum colour c);
/* Of a category of memory; i: which of the categories without a row of their own it may be. */
const char *colour_of_category(const char *category, unsigned i);
/* Rules of CSS: all of them as variables, light ones, and dark ones for whoever prefers a dark
 * screen, but never on paper. */
void colours_print_css(FILE *f);

#endif
