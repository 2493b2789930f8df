/* options_join.c - the options of several floors as one list. */
#include "emu/cli/options.h"

#include <string.h>

#include "emu/base/fail.h"

/* The first row of an option among n. */
static struct option_row *first_of(struct option_row *rows, size_t n, unsigned option)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].number == option)
            return &rows[i];
    }
    EMU_ASSERT(!"an option of a floor below");
    return NULL;
}

static size_t behind(const struct option_row *rows, size_t n, const struct option_row *after)
{
    while (n && (rows[n - 1].number != after->number || !(rows[n - 1].uses & after->uses)))
        n--;
    EMU_ASSERT(n);
    return n;
}

void options_join(const struct option_row *marked, struct option_row *out)
{
    size_t n = 0, at = 0;

    for (const struct option_row *o = marked; o->name; o++) {
        if (o->kind == KIND_AFTER) {
            at = behind(out, n, o);
        } else if (o->kind == KIND_TAKES) {
            first_of(out, n, o->number)->uses |= o->uses;
        } else {
            memmove(out + at + 1, out + at, (n - at) * sizeof(*out));
            out[at++] = *o;
            n++;
        }
    }
    out[n] = (struct option_row){ .name = NULL };
}
