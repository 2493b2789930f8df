/* op_table.c - the table of operators, and the small language of its attributes. */
#include <stdlib.h>
#include <string.h>

#include "models/operators/op_families.h"

enum { MANY = OP_MANY, OURS = OP_VERSION_OURS };
#define upgrade_same NULL
static const struct op_row table[] = {
#define OPERATOR(name, since, ins_min, ins_max, outs_min, outs_max, types, attrs, family, upgrade) \
    { OP_##name, #name, since, ins_min,         ins_max,          outs_min,                        \
      outs_max,  types, attrs, FAMILY_##family, &family_##family, upgrade_##upgrade },
#define OLDER OPERATOR
#include "models/operators/operators.def"
#undef OLDER
#undef OPERATOR
};
#undef upgrade_same

/* Where rows are in the table. */
enum {
#define OPERATOR(name, ...)     AT_##name,
#define OLDER(name, since, ...) AT_##name##_##since,
#include "models/operators/operators.def"
#undef OLDER
#undef OPERATOR
};

const struct op_row *op_row_of(enum op_code code)
{
    static const unsigned short at[OP_CODES] = {
#define OPERATOR(name, ...) [OP_##name] = AT_##name,
#define OLDER(...)
#include "models/operators/operators.def"
#undef OLDER
#undef OPERATOR
    };

    EMU_ASSERT(code);
    return &table[at[code]];
}

static const struct {
    const char *name;
    unsigned flags; /* enum op_family_flag */
} families[] = {
#define FAMILY(name, flags) [FAMILY_##name] = { #name, flags },
#include "models/operators/op_families.def"
#undef FAMILY
};

const char *op_family_name(enum op_family_code code)
{
    return families[code].name;
}

unsigned op_family_flags(enum op_family_code code)
{
    return families[code].flags;
}

const struct op_row *op_row(unsigned i)
{
    return i < EMU_COUNT_OF(table) ? &table[i] : NULL;
}

const struct op_row *op_row_find(const char *name, unsigned version)
{
    const struct op_row *best = NULL;

    for (unsigned i = 0; i < EMU_COUNT_OF(table); i++) {
        const struct op_row *row = &table[i];

        if ((version && row->since > version) || strcmp(row->name, name))
            continue;
        if (!best || row->since > best->since)
            best = row;
    }
    return best;
}

/* The next word of *text, ending at blanks or ';'; its length, 0 at the end of the attribute. */
static size_t next_word(const char **text, const char **word)
{
    size_t n;

    *text += strspn(*text, " ");
    *word = *text;
    n = strcspn(*text, " ;");
    *text += n;
    return n;
}

static enum op_attr_kind kind_of(char letter)
{
    static const char letters[] = "ifsIFtS";
    const char *at = strchr(letters, letter);

    EMU_ASSERT(letter && at);
    return (enum op_attr_kind)(OP_ATTR_INT + (at - letters));
}

static void read_preset(struct op_attr_spec *spec, const char *word, size_t n)
{
    spec->preset.kind = spec->kind;
    if (spec->kind == OP_ATTR_INT) {
        spec->preset.i = strtoll(word, NULL, 10);
    } else if (spec->kind == OP_ATTR_FLOAT) {
        spec->preset.f = (double)strtof(word, NULL);
    } else {
        EMU_ASSERT(spec->kind == OP_ATTR_STRING && n < sizeof(spec->text));
        memcpy(spec->text, word, n);
        spec->preset.s = spec->text;
    }
}

int op_row_attr(const struct op_row *row, unsigned k, struct op_attr_spec *out)
{
    const char *text = row->attributes, *word;
    size_t n;

    for (; k; k--) {
        text = strchr(text, ';');
        if (!text)
            return 0;
        text++;
    }
    *out = (struct op_attr_spec){ .input = -1 };
    n = next_word(&text, &word);
    if (!n)
        return 0;
    EMU_ASSERT(n < sizeof(out->name));
    memcpy(out->name, word, n);
    n = next_word(&text, &word);
    out->kind = kind_of(*word);
    out->required = n == 2 && word[1] == '!';
    while ((n = next_word(&text, &word))) {
        if (*word == '@')
            out->input = atoi(word + 1);
        else
            read_preset(out, word, n);
    }
    return 1;
}

int op_attr_is_preset(const struct op_attr *a, const struct op_attr *preset)
{
    if (a->kind != preset->kind)
        return 0;
    switch (a->kind) {
    case OP_ATTR_INT:
        return a->i == preset->i;
    case OP_ATTR_FLOAT:
        return a->f == preset->f;
    case OP_ATTR_STRING:
        return !strcmp(a->s, preset->s);
    default:
        return a->kind == OP_ATTR_NONE;
    }
}

unsigned op_row_inputs(const struct op_row *row)
{
    unsigned most = row->ins_max;
    struct op_attr_spec spec;

    for (unsigned k = 0; op_row_attr(row, k, &spec); k++) {
        if (spec.input >= 0 && (unsigned)spec.input < most)
            most = (unsigned)spec.input;
    }
    return most;
}
