/* op_listing.c - the table of operators, for people and as JSON: one entry a name, with the
 * versions that change it and what the newest of them has. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/operators/op_print.h"

/* Rows by name and version; rows of ours are behind those that files can name. */
struct op_listing {
    const struct op_row **row; /* owned */
    unsigned rows;
};

/* Rows of one name. */
struct entry {
    const struct op_row *const *row;
    unsigned rows;               /* of files, or 1 of ours */
    unsigned all;                /* with those of ours */
    const struct op_row *newest; /* that files can name, if one can */
};

static int by_name(const void *a, const void *b)
{
    const struct op_row *x = *(const struct op_row *const *)a,
                        *y = *(const struct op_row *const *)b;
    int names = strcmp(x->name, y->name);

    return names ? names : (x->since > y->since) - (x->since < y->since);
}

static enum emu_status listing_init(struct op_listing *out)
{
    *out = (struct op_listing){ .rows = 0 };
    while (op_row(out->rows))
        out->rows++;
    out->row = emu_alloc(out->rows + 1, sizeof(*out->row));
    if (!out->row)
        return FAIL(NO_MEMORY, "the operators");
    for (unsigned k = 0; k < out->rows; k++)
        out->row[k] = op_row(k);
    qsort(out->row, out->rows, sizeof(*out->row), by_name);
    return EMU_OK;
}

static struct entry entry_at(const struct op_listing *l, unsigned first)
{
    struct entry e = { .row = &l->row[first] };

    while (first + e.all < l->rows && !strcmp(e.row[e.all]->name, e.row[0]->name)) {
        e.rows += e.row[e.all]->since != OP_VERSION_OURS;
        e.all++;
    }
    if (!e.rows)
        e.rows = 1;
    e.newest = e.row[e.rows - 1];
    return e;
}

/* ---- for people ---- */

/* "axis=-1, keepdims=1, axes": attributes of a row with their presets. */
static void print_row_attrs(const struct op_row *row, FILE *f)
{
    struct op_attr_spec spec;

    for (unsigned k = 0; op_row_attr(row, k, &spec); k++) {
        fprintf(f, "%s%s", k ? ", " : "", spec.name);
        if (spec.preset.kind == OP_ATTR_INT)
            fprintf(f, "=%" PRId64, spec.preset.i);
        else if (spec.preset.kind == OP_ATTR_FLOAT)
            fprintf(f, "=%g", spec.preset.f);
        else if (spec.preset.kind == OP_ATTR_STRING)
            fprintf(f, "=%s", spec.preset.s);
        else if (spec.required)
            fputs("!", f);
    }
}

/* A version of a row; returns its width. */
static int print_since(const struct op_row *row, int follows, FILE *f)
{
    return row->since == OP_VERSION_OURS ? fprintf(f, "ours")
                                         : fprintf(f, "%s%u", follows ? " " : "", row->since);
}

static void print_entry(const struct entry *e, FILE *f)
{
    int wide = 0;

    fprintf(f, "%-28s ", e->newest->name);
    for (unsigned k = 0; k < e->rows; k++)
        wide += print_since(e->row[k], k > 0, f);
    fprintf(f, "%*s %-*s", wide < 20 ? 20 - wide : 0, "", *e->newest->attributes ? 11 : 0,
            op_family_name(e->newest->family_code));
    print_row_attrs(e->newest, f);
    fputs("\n", f);
}

enum emu_status op_table_print(FILE *f)
{
    struct op_listing l;

    TRY(listing_init(&l));
    fprintf(f, "%-28s %-20s %-10s %s\n", "operator", "since versions", "family", "attributes");
    for (unsigned k = 0; k < l.rows;) {
        struct entry e = entry_at(&l, k);

        print_entry(&e, f);
        k += e.all;
    }
    ss_free(l.row);
    return EMU_OK;
}

/* ---- as JSON ---- */

static json_t *preset_json(const struct op_attr *a)
{
    if (a->kind == OP_ATTR_INT)
        return json_integer(a->i);
    if (a->kind == OP_ATTR_FLOAT)
        return json_real(a->f);
    return a->kind == OP_ATTR_STRING ? json_string(a->s) : json_null();
}

static json_t *row_attrs_json(const struct op_row *row)
{
    struct op_attr_spec spec;
    json_t *list = json_array();

    for (unsigned k = 0; list && op_row_attr(row, k, &spec); k++) {
        if (json_array_append_new(list,
                                  json_pack("{s:s, s:b, s:o}", "name", spec.name, "required",
                                            spec.required, "preset", preset_json(&spec.preset)))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *entry_json(const struct entry *e)
{
    json_t *versions = json_array();

    for (unsigned k = 0; k < e->rows && e->newest->since != OP_VERSION_OURS; k++)
        (void)json_array_append_new(versions, json_integer(e->row[k]->since));
    return json_pack("{s:s, s:o, s:s, s:o}", "name", e->newest->name, "versions", versions,
                     "family", op_family_name(e->newest->family_code), "attributes",
                     row_attrs_json(e->newest));
}

json_t *op_table_json(void)
{
    struct op_listing l;
    json_t *list = listing_init(&l) == EMU_OK ? json_array() : NULL;

    for (unsigned k = 0; list && k < l.rows;) {
        struct entry e = entry_at(&l, k);

        if (json_array_append_new(list, entry_json(&e))) {
            json_decref(list);
            list = NULL;
        }
        k += e.all;
    }
    ss_free(l.row);
    return list;
}
