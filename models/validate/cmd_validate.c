/* cmd_validate.c - `superstep validate`: measures every figure of published.def, and prints the
 * table. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "emu/cli/commands.h"
#include "emu/job/run_file.h"
#include "models/validate/validate.h"

/* What is read of the command line. */
OPTION_READ(FLAG, quiet)
OPTION_READ(FLAG, json)

enum evidence { SILICON, SHIPPED, MODEL, STATED };

static const char *const evidence_name[] = { "silicon", "shipped", "model", "stated" };

static const struct validate_row {
    const char *group; /* a title; NULL: a figure */
    const char *id;
    double low, high;
    const char *unit;
    enum evidence evidence;
    measure_figure *measure;
    const char *what, *source, *why;
} rows[] = {
#define GROUP(title) { .group = title },
#define FIGURE(id, low, high, unit, evidence, measure, what, source, why)                          \
    { NULL, #id, low, high, unit, evidence, measure, what, source, why },
#include "models/answer/published.def"
};

enum { ROWS = EMU_COUNT_OF(rows) };

/* How far a value is from what was published, in percent of it; within a range 0. */
static double error_percent(const struct validate_row *r, double value)
{
    double nearest = value < r->low ? r->low : value > r->high ? r->high : value;

    return nearest != 0 ? 100 * (value - nearest) / nearest : 0;
}

/* ---- text ---- */

static void print_published(const struct validate_row *r)
{
    char text[40];

    if (r->low == r->high)
        snprintf(text, sizeof(text), "%.7g", r->low);
    else
        snprintf(text, sizeof(text), "%.7g to %.7g", r->low, r->high);
    printf("%12s", text);
}

static void print_row(const struct validate_row *r, const struct outcome *o)
{
    printf("  %-21s", r->id);
    print_published(r);
    if (o->skipped[0])
        printf(" %12s %9s  %-17s %s\n", "-", "-", r->unit, o->skipped);
    else if (r->low == 0 && r->high == 0)
        printf(" %12.7g %9s  %-17s\n", o->value, "-", r->unit);
    else
        printf(" %12.7g %+8.2f%%  %-17s\n", o->value, error_percent(r, o->value), r->unit);
    printf("  %21s %s; %s, %s\n", "", r->what, evidence_name[r->evidence], r->source);
    if (r->why[0] && !o->skipped[0])
        printf("  %21s why: %s\n", "", r->why);
}

static void print_table(const struct outcome *o)
{
    unsigned measured = 0, figures = 0;

    for (unsigned i = 0; i < ROWS; i++) {
        if (rows[i].group) {
            printf("%s%s\n  %-21s%12s %12s %9s  unit\n", i ? "\n" : "", rows[i].group, "figure",
                   "published", "here", "error");
            continue;
        }
        print_row(&rows[i], &o[i]);
        figures++;
        measured += !o[i].skipped[0];
    }
    printf("\n%u of %u figures measured\n", measured, figures);
}

/* ---- JSON ---- */

static json_t *row_json(const struct validate_row *r, const struct outcome *o)
{
    json_t *j =
        json_pack("{s:s, s:f, s:f, s:s, s:s, s:s, s:s, s:s}", "id", r->id, "published_low", r->low,
                  "published_high", r->high, "unit", r->unit, "evidence",
                  evidence_name[r->evidence], "what", r->what, "source", r->source, "why", r->why);

    if (j && o->skipped[0])
        json_object_set_new(j, "skipped", json_string(o->skipped));
    else if (j) {
        json_object_set_new(j, "here", json_real(o->value));
        json_object_set_new(j, "error_percent", json_real(error_percent(r, o->value)));
    }
    return j;
}

static enum emu_status print_json(const struct outcome *o)
{
    json_t *list = json_array();

    for (unsigned i = 0; list && i < ROWS; i++) {
        if (!rows[i].group && json_array_append_new(list, row_json(&rows[i], &o[i]))) {
            json_decref(list);
            list = NULL;
        }
    }
    if (!list)
        return FAIL(NO_MEMORY, "the answer");
    ss_run_print_json(list, stdout);
    json_decref(list);
    return EMU_OK;
}

/* ---- the command ---- */

static enum emu_status measure_all(struct validation *v, struct outcome *o)
{
    for (unsigned i = 0; i < ROWS; i++) {
        if (rows[i].group)
            continue;
        TRY(rows[i].measure(v, &o[i]));
        progress_report(&v->progress, "validate", "%s", rows[i].id);
    }
    return EMU_OK;
}

int cmd_validate(const struct request *q)
{
    struct validation v = { .q = q, .progress = progress_begin(option_quiet(q) ? NULL : stderr) };
    struct outcome o[ROWS] = { 0 };
    enum emu_status s = measure_all(&v, o);

    if (s == EMU_OK && option_json(q))
        s = print_json(o);
    else if (s == EMU_OK)
        print_table(o);
    return s == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}
