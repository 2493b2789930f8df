/* nearest.c - how far words are from each other (nearest.h). */
#include "emu/base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 47, SHORT_WORD = 6 };

unsigned nearest_distance(const char *word, size_t n, const char *name)
{
    unsigned row[3][LONGEST + 1];
    size_t m = strlen(name);

    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= m; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned d = last[j - 1] + (word[i - 1] != name[j - 1]);

            d = last[j] + 1 < d ? last[j] + 1 : d;
            d = now[j - 1] + 1 < d ? now[j - 1] + 1 : d;
            if (i > 1 && j > 1 && word[i - 1] == name[j - 2] && word[i - 2] == name[j - 1] &&
                before[j - 2] + 1 < d)
                d = before[j - 2] + 1;
            now[j] = d;
        }
    }
    return row[n % 3][m];
}

/* Whether both have the same letters and digits, whatever their case and what stands between. */
static int is_respelt(const char *word, size_t n, const char *name)
{
    size_t i = 0;

    for (; *name; name++) {
        if (!isalnum((unsigned char)*name))
            continue;
        while (i < n && !isalnum((unsigned char)word[i]))
            i++;
        if (i == n || tolower((unsigned char)word[i++]) != tolower((unsigned char)*name))
            return 0;
    }
    while (i < n && !isalnum((unsigned char)word[i]))
        i++;
    return i == n;
}

void nearest_try(struct nearest *s, const char *name)
{
    unsigned most = s->n < SHORT_WORD ? 1 : 2, d;

    d = is_respelt(s->word, s->n, name) ? 1 : nearest_distance(s->word, s->n, name);
    if (d > most || (s->best && d >= s->edits))
        return;
    s->best = name;
    s->edits = d;
}

struct nearest_text nearest_hint(const struct nearest *s)
{
    struct nearest_text t = { "" };

    if (s->best)
        snprintf(t.text, sizeof(t.text), " did you mean '%.*s'?", LONGEST, s->best);
    return t;
}
