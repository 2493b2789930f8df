/* nearest.h - the name that a misspelt word was meant to be. */
#ifndef EMU_NEAREST_H
#define EMU_NEAREST_H

#include <stddef.h>

/* Set word and n, the rest to 0, then try all names. */
struct nearest {
    const char *word; /* borrowed; n characters */
    size_t n;
    const char *best; /* borrowed from nearest_try(); NULL: none is near enough */
    unsigned edits;   /* that make the word best */
};

/* Takes the name if it is nearer than the best so far, and near enough to be worth suggesting: at
 * most one edit for words of less than six letters, two for longer ones. Another spelling of the
 * same letters and digits (ResNet50, resnet-50) counts as one edit. */
void nearest_try(struct nearest *s, const char *name);

/* " did you mean 'resnet-50'?", or "" where none is near enough: for messages that go on. */
struct nearest_text {
    char text[80];
};
struct nearest_text nearest_hint(const struct nearest *s);

/* Edits (insert, delete, change, swap neighbours) that make the word the name; words of more than
 * 47 letters are far from everything. Cost O(n strlen(name)). */
unsigned nearest_distance(const char *word, size_t n, const char *name);

#endif
