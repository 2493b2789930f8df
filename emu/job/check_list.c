/* check_list.c - runs the checks of a list, each a manifest or a case, and says what was expected
 * and what was found (check_list.h).
 */
#include "emu/job/check_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/job/case_run.h"
#include "emu/job/run_image.h"
#include "emu/tile/tile_check.h"

enum {
    WHY_BYTES = 1200,
    PATIENCE = 20, /* times the cycles that are expected at most, before a run is given up */
    CYCLES_ENOUGH = 1000000 /* the same where none are expected */
};

struct checking {
    const char *source, *name, *title;
    FILE *messages;
    const struct check_look *look; /* or NULL */
    uint64_t cycles;
    char why[WHY_BYTES]; /* "" when all is right */
};

static char *text_of(const json_t *v)
{
    return json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
}

/* "expected tile 1 copy[0]: 7, found 0, and 3 more" */
static void note_differences(struct checking *c, const json_t *list, uint64_t total)
{
    const json_t *d = json_array_get(list, 0);
    const json_t *wanted = json_object_get(d, "expected");
    char *want = text_of(wanted), *got = text_of(json_object_get(d, "got"));
    const char *what = json_string_value(json_object_get(d, "what"));

    if (what && !strcmp(what, "cycles") && json_is_array(wanted))
        snprintf(c->why, WHY_BYTES, "right, but it takes %s cycles: expected at most %lld", got,
                 (long long)json_integer_value(json_array_get(wanted, 1)));
    else
        snprintf(c->why, WHY_BYTES, "%s: expected %s, found %s", what, want, got);
    if (total > 1)
        snprintf(c->why + strlen(c->why), WHY_BYTES - strlen(c->why), "; %" PRIu64 " more differ",
                 total - 1);
    free(want);
    free(got);
}

/* "RACE: two workers .. (tile 0, x.S:14)" of the first report. */
static void note_finding(struct checking *c, const json_t *o, const char *name, const char *detail)
{
    const char *source = json_string_value(json_object_get(o, "source"));

    snprintf(c->why, WHY_BYTES, "--check reports %s: %s%s%s%s", name, detail, source ? " (" : "",
             source ? source : "", source ? ")" : "");
}

/* ---- a whole machine ---- */

/* "tile 0 sends 4 words to nobody", or "" */
static void unheard_text(const json_t *report, char *out, size_t bytes)
{
    const json_t *unheard = json_array_get(json_object_get(report, "check_unheard"), 0);
    long long words = (long long)json_integer_value(json_object_get(unheard, "words"));

    out[0] = 0;
    if (unheard)
        snprintf(out, bytes, "tile %lld sends %lld word%s to nobody",
                 (long long)json_integer_value(json_object_get(unheard, "tile")), words,
                 words == 1 ? "" : "s");
}

/* What the checking mode says against a run that is right otherwise; beside a difference only words
 * that nobody hears, which may be why. */
static void note_findings(struct checking *c, struct run *r)
{
    json_t *report = ss_run_report(r, "check", NULL, 0, 0);
    const json_t *first = json_array_get(json_object_get(report, "checks"), 0);
    char unheard[200];

    unheard_text(report, unheard, sizeof(unheard));
    if (c->why[0]) {
        snprintf(c->why + strlen(c->why), WHY_BYTES - strlen(c->why), "%s%s",
                 unheard[0] ? "; " : "", unheard);
    } else if (first) {
        note_finding(c, first, json_string_value(json_object_get(first, "name")),
                     json_string_value(json_object_get(first, "detail")));
    } else if (unheard[0]) {
        note_finding(c, NULL, "UNHEARD", unheard);
    } else {
        first = json_array_get(json_object_get(report, "check_clashes"), 0);
        note_finding(c, first, "CLASH", json_string_value(json_object_get(first, "message")));
    }
    json_decref(report);
}

static enum emu_status compare_run(struct checking *c, const struct manifest *m, struct run *r)
{
    json_t *list = NULL;
    uint64_t total = 0, checked = 0;
    char *stop;

    c->cycles = machine_cycles(r->machine);
    if (!ss_run_ended(r)) {
        stop = ss_run_stop_text(r);
        snprintf(c->why, WHY_BYTES, "%s", stop ? stop : "stopped");
        ss_free(stop);
        return EMU_OK;
    }
    TRY(ss_run_check(r, m, 1, &list, &total, &checked));
    if (total)
        note_differences(c, list, total);
    if (run_check_findings(r))
        note_findings(c, r);
    json_decref(list);
    return EMU_OK;
}

static enum emu_status run_machine(struct checking *c, struct manifest *m)
{
    uint64_t enough =
        m->expect_cycles.is_set ? PATIENCE * m->expect_cycles.high : (uint64_t)CYCLES_ENOUGH;
    const struct run_options o = { .threads = 1,
                                   .check = 1,
                                   .max_cycles = enough < m->max_cycles ? enough : m->max_cycles };
    struct image *im;
    struct run *r = NULL;
    enum emu_status s;

    TRY(ss_manifest_build(m, 1, c->messages, &im));
    s = ss_run_new(im, &o, &r);
    if (s == EMU_OK && c->look && c->look->pairs)
        s = exchange_count_pairs(machine_exchange(r->machine));
    if (s == EMU_OK)
        s = ss_run_execute(r);
    if (s == EMU_OK)
        s = compare_run(c, m, r);
    if (s == EMU_OK && c->look)
        s = c->look->at(c->look->ctx, c->title, r);
    ss_run_free(r);
    ss_image_free(im);
    return s;
}

/* ---- one tile ---- */

static void note_fault(struct checking *c, const struct case_run *r)
{
    const struct fault_record *f = &r->tile.fault;
    const struct asm_line *l = asm_line_of(r->image, f->pc);

    snprintf(c->why, WHY_BYTES, "%s: %s; %s at 0x%" PRIx32 " (%s:%u), address 0x%" PRIx32,
             fault_name(f->kind), f->detail ? f->detail : "", case_lane_name(f->lane), f->pc,
             l ? l->file : "?", l ? l->line : 0, f->addr);
}

static void judge(struct checking *c, const struct case_run *r, const json_t *list, uint64_t total)
{
    const struct tile_check_report *x;
    const struct asm_line *l;

    c->cycles = r->cycles;
    switch (case_verdict(r, total)) {
    case CASE_PASS:
        return;
    case CASE_FAIL:
        note_differences(c, list, total);
        return;
    case CASE_FAULT:
        note_fault(c, r);
        return;
    case CASE_TIMEOUT:
        snprintf(c->why, WHY_BYTES, "does not end within %" PRIu64 " cycles", r->cycles);
        return;
    case CASE_CHECK:
        x = tile_check_report(&r->tile, 0);
        l = asm_line_of(r->image, x->pc);
        snprintf(c->why, WHY_BYTES, "--check reports %s: %s (%s:%u)", tile_check_name(x->kind),
                 tile_check_text(x->kind), l ? l->file : "?", l ? l->line : 0);
        return;
    }
}

static enum emu_status run_tile(struct checking *c, struct manifest *m)
{
    const struct case_options o = { .check = 1, .messages = c->messages };
    struct case_run *r;
    json_t *list = NULL;
    uint64_t total = 0;
    enum emu_status s;

    TRY(case_build(m, &o, &r));
    s = case_load(r);
    if (s == EMU_OK) {
        case_execute(r);
        s = case_compare(r, &list, &total);
    }
    if (s == EMU_OK)
        judge(c, r, list, total);
    json_decref(list);
    case_run_free(r);
    return s;
}

/* ---- the list ---- */

/* "@" becomes the path of the source. */
static int set_source(json_t *v, const char *source)
{
    json_t *child;
    size_t i;

    if (json_object_get(v, "source"))
        return json_object_set_new(v, "source", json_text(source));
    json_array_foreach(json_object_get(v, "programs"), i, child)
    {
        if (json_object_set_new(child, "source", json_text(source)))
            return 1;
    }
    return 0;
}

static enum emu_status run_one(struct checking *c, json_t *manifest)
{
    const struct manifest_options o = { .machine = NULL };
    struct manifest *m;
    enum emu_status s;
    char *text;

    c->why[0] = 0;
    c->cycles = 0;
    if (set_source(manifest, c->source) || !(text = json_dumps(manifest, 0)))
        return FAIL(NO_MEMORY, "a check");
    s = ss_manifest_read_text(text, strlen(text), c->name, &o, &m);
    free(text);
    TRY(s);
    s = m->tile_case ? run_tile(c, m) : run_machine(c, m);
    ss_manifest_free(m);
    return s;
}

static enum emu_status add_outcome(json_t *list, const struct checking *c)
{
    json_t *o = json_pack("{s:s, s:s, s:I}", "title", c->title, "status",
                          c->why[0] ? "wrong" : "ok", "cycles", (json_int_t)c->cycles);

    if (o && c->why[0] && json_object_set_new(o, "why", json_text(c->why))) {
        json_decref(o);
        o = NULL;
    }
    return !o || json_array_append_new(list, o) ? FAIL(NO_MEMORY, "a check") : EMU_OK;
}

static enum emu_status run_all(struct checking *c, json_t *root, json_t *list, size_t *wrong)
{
    json_t *check;
    size_t i;

    json_array_foreach(root, i, check)
    {
        c->title = json_string_value(json_object_get(check, "title"));
        TRY(run_one(c, json_object_get(check, "manifest")));
        *wrong += c->why[0] != 0;
        TRY(add_outcome(list, c));
    }
    return EMU_OK;
}

enum emu_status check_list_run(const char *text, size_t bytes, const char *name, const char *source,
                               FILE *messages, const struct check_look *look, json_t **out,
                               size_t *wrong)
{
    struct checking c = { .source = source, .name = name, .messages = messages, .look = look };
    json_error_t error;
    json_t *root = json_loadb(text, bytes, 0, &error), *list = json_array();
    enum emu_status s = EMU_OK;

    *out = NULL;
    *wrong = 0;
    if (!root)
        s = FAIL(BAD_FILE, "%s:%d: %s", name, error.line, error.text);
    else
        s = list ? run_all(&c, root, list, wrong) : FAIL(NO_MEMORY, "a list of checks");
    json_decref(root);
    if (s == EMU_OK)
        *out = list;
    else
        json_decref(list);
    return s;
}
