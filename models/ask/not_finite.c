/* not_finite.c - NaN and infinity: counted, told, as JSON. */
#include "models/ask/not_finite.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "emu/base/json_text.h"
#include "models/operators/operators.h"

static const double F16_LARGEST = 65504;

/* ---- weights ---- */

/* The magnitude of a float as its bits lie in a file, and whether it is NaN or infinite; what is
 * common, a finite number, costs least. */
static double number_at(const struct op_value *v, uint64_t k)
{
    const uint8_t *at = v->data;
    float f;
    double d;

    if (v->shape.type == OP_TYPE_F64) {
        memcpy(&d, at + k * sizeof(d), sizeof(d));
        return d;
    }
    memcpy(&f, at + k * sizeof(f), sizeof(f));
    return (double)f;
}

static void count(struct not_finite_row *row, double v)
{
    row->nan += isnan(v) != 0;
    row->infinite += isinf(v) != 0;
    row->beyond += isfinite(v) && fabs(v) > F16_LARGEST;
}

/* Counts the numbers of a constant. Types but f32 and f64 are read by way of op_value_read(). */
static void count_value(const struct op_graph *g, uint32_t value, struct not_finite_row *row)
{
    const struct op_value *v = &g->value[value];
    uint64_t n = op_shape_count(&v->shape);
    struct op_tensor t;

    if (v->shape.type == OP_TYPE_F32 || v->shape.type == OP_TYPE_F64) {
        for (uint64_t k = 0; k < n; k++)
            count(row, number_at(v, k));
        return;
    }
    if (op_value_read(g, value, &t) != EMU_OK)
        return;
    for (uint64_t k = 0; k < n; k++)
        count(row, t.f[k]);
    op_tensor_free(&t);
}

static int is_weights(const struct op_value *v)
{
    return op_value_constant_kind(v) && v->data && v->readers &&
           op_type_kind(v->shape.type) == OP_KIND_FLOAT;
}

static const struct op_node *first_reader(const struct op_graph *g, uint32_t value)
{
    for (uint32_t i = 0; i < g->nodes; i++) {
        for (uint32_t k = 0; k < g->node[i].ins; k++) {
            if (g->node[i].in[k] == value)
                return &g->node[i];
        }
    }
    return NULL;
}

static void add(struct not_finite *to, const struct not_finite_row *row)
{
    if (to->rows < NOT_FINITE_ROWS)
        to->row[to->rows] = *row;
    to->rows++;
}

void not_finite_weights(struct not_finite *to, const struct op_graph *g, int half)
{
    for (uint32_t v = 0; v < g->values; v++) {
        struct not_finite_row row = { .what = "weights" };
        const struct op_node *n;

        if (!is_weights(&g->value[v]))
            continue;
        count_value(g, v, &row);
        if (!row.nan && !row.infinite && !row.beyond)
            continue;
        n = first_reader(g, v);
        if (!n || !op_node_has(n, OP_MULTIPLIES))
            row.infinite = row.beyond = 0;
        if (!half)
            row.beyond = 0;
        snprintf(row.name, sizeof(row.name), "%s", g->value[v].name);
        snprintf(row.layer, sizeof(row.layer), "%s", n ? n->name : "");
        if (row.nan || row.infinite || row.beyond)
            add(to, &row);
    }
}

/* ---- inputs, layers, outputs ---- */

void not_finite_add(struct not_finite *to, const char *what, const char *name, uint64_t nan,
                    uint64_t infinite)
{
    struct not_finite_row row = { .what = what, .nan = nan, .infinite = infinite };

    snprintf(row.name, sizeof(row.name), "%s", name);
    if (nan || infinite)
        add(to, &row);
}

void not_finite_numbers(struct not_finite *to, const char *what, const char *name,
                        const struct op_tensor *t)
{
    struct not_finite_row row = { .nan = 0 };

    for (uint64_t k = 0;
         t->any && op_type_kind(t->shape.type) == OP_KIND_FLOAT && k < op_shape_count(&t->shape);
         k++)
        count(&row, t->f[k]);
    not_finite_add(to, what, name, row.nan, row.infinite);
}

/* ---- told ---- */

/* "weights of layer 'fc' ('fc.weight')", "input 'x'", "results of layer 'div'". */
static void place_text(const struct not_finite_row *r, char *out, size_t bytes)
{
    if (*r->layer)
        snprintf(out, bytes, "weights of layer '%s' ('%s')", r->layer, r->name);
    else if (!strcmp(r->what, "layer"))
        snprintf(out, bytes, "results of layer '%s'", r->name);
    else
        snprintf(out, bytes, "%s '%s'", r->what, r->name);
}

void not_finite_print(const struct not_finite *of, uint32_t first, FILE *f)
{
    for (uint32_t k = first; k < of->rows && k < NOT_FINITE_ROWS; k++) {
        const struct not_finite_row *r = &of->row[k];
        const struct {
            uint64_t count;
            const char *what;
        } part[] = { { r->nan, "NaN" },
                     { r->infinite, "infinite" },
                     { r->beyond, "beyond the range of f16" } };
        char place[2 * NOT_FINITE_NAME + 32];
        const char *before = "";

        place_text(r, place, sizeof(place));
        fprintf(f, "superstep run: warning: %s: ", place);
        for (unsigned i = 0; i < EMU_COUNT_OF(part); i++) {
            if (!part[i].count)
                continue;
            fprintf(f, "%s%" PRIu64 " %s", before, part[i].count, part[i].what);
            before = ", ";
        }
        fprintf(f, "\n");
    }
    if (of->rows > NOT_FINITE_ROWS && first < of->rows)
        fprintf(f, "superstep run: warning: and %u more places with NaN or infinity\n",
                of->rows - NOT_FINITE_ROWS);
}

json_t *not_finite_json(const struct not_finite *of)
{
    json_t *list = json_array();

    for (uint32_t k = 0; list && k < of->rows && k < NOT_FINITE_ROWS; k++) {
        const struct not_finite_row *r = &of->row[k];
        json_t *o = json_pack("{s:s, s:o, s:o*, s:I, s:I, s:I}", "what", r->what, "name",
                              json_text(r->name), "layer", *r->layer ? json_text(r->layer) : NULL,
                              "nan", (json_int_t)r->nan, "infinite", (json_int_t)r->infinite,
                              "beyond_f16", (json_int_t)r->beyond);

        if (json_array_append_new(list, o)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
