/* sweep_file.c - rows of a sweep's file. */
#include "models/sweep/sweep_file.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/disk_cache.h"
#include "emu/cli/request_profile.h"
#include "emu/job/manifest.h"
#include "models/ask/model_request.h"
#include "programs/cli/program_request.h"

/* What is read of the command line. */
OPTION_READ(TEXT, machine)
OPTION_READ(WORD, engine)
OPTION_READ(TEXT, output)
OPTION_READ(TEXT, cache)
OPTION_READ(TEXT, weights)
OPTION_READ(FLAG, no_cache)
OPTION_READ(LIST, vary)
OPTION_READ(TEXT, points)

enum { VALUE_MAX = 4096 };

/* ---- what the sweep is ---- */

/* A row of the table definition. */
struct definition_row {
    char *name, *value; /* owned */
    int met;            /* compared */
};

struct definition {
    struct definition_row *row; /* owned */
    size_t rows, cap;
    enum emu_status status;
};

static void define(struct definition *d, const char *name, const char *value)
{
    struct definition_row r = { emu_strdup(name), emu_strdup(value), 0 };

    if (d->status == EMU_OK)
        d->status = emu_grow((void **)&d->row, d->rows, &d->cap, sizeof(*d->row));
    if (d->status == EMU_OK && (!r.name || !r.value))
        d->status = FAIL(NO_MEMORY, "a sweep");
    if (d->status == EMU_OK) {
        d->row[d->rows++] = r;
        return;
    }
    ss_free(r.name);
    ss_free(r.value);
}

static int defines(const struct definition *d, const char *name)
{
    for (size_t i = 0; i < d->rows; i++) {
        if (!strcmp(d->row[i].name, name))
            return 1;
    }
    return 0;
}

static void definition_free(struct definition *d)
{
    for (size_t i = 0; i < d->rows; i++) {
        ss_free(d->row[i].name);
        ss_free(d->row[i].value);
    }
    ss_free(d->row);
}

static void add_option(void *ctx, const struct option_row *o, const char *value)
{
    const unsigned no[] = { OPTION_output, OPTION_vary,     OPTION_points,
                            OPTION_cache,  OPTION_no_cache, OPTION_engine };
    char name[80];

    for (size_t i = 0; i < EMU_COUNT_OF(no); i++) {
        if (o->number == no[i])
            return;
    }
    snprintf(name, sizeof(name), "--%s", o->name);
    define(ctx, name, value);
}

/* "tiles": "368,736". */
static void add_axis(struct definition *d, const struct sweep_axis *a)
{
    char name[128], value[VALUE_MAX];
    size_t n = 0;

    for (uint32_t i = 0; i < a->choices && n < sizeof(value); i++)
        n += (size_t)snprintf(value + n, sizeof(value) - n, "%s%s", i ? "," : "", a->choice[i]);
    snprintf(name, sizeof(name), a->kind == AXIS_FIXED ? "the parameter %s" : "--vary %s", a->name);
    define(d, name, value);
}

/* How many points, and a digest of all their values. */
static void add_points(struct definition *d, const struct sweep_axes *a)
{
    char *text = NULL, points[80], digits[33];
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    for (uint32_t p = 0; f && p < a->points; p++) {
        for (uint32_t i = 0; i < a->axes; i++)
            fprintf(f, "%s,", sweep_choice(a, p, i));
    }
    if (!f || fclose(f)) {
        d->status = FAIL(NO_MEMORY, "a sweep");
        return;
    }
    hash128_text(hash128(text, bytes), digits);
    free(text); /* allocated by open_memstream() */
    snprintf(points, sizeof(points), "%u (%.8s)", a->points, digits);
    define(d, "points", points);
}

/* The contents of files: the command line has their names only. */
static void add_file(struct definition *d, const char *name, const char *path)
{
    struct hash128 hash;
    char text[33];

    if (!path || !disk_cache_hash_file(path, &hash))
        return;
    hash128_text(hash, text);
    define(d, name, text);
}

/* Those of a manifest and of its sources. */
static void add_manifest(struct definition *d, const struct manifest *m)
{
    add_file(d, "the contents of the manifest", m->path);
    for (size_t i = 0; i < m->programs; i++) {
        for (size_t k = 0; k < m->program[i].sources; k++) {
            char name[128], *path = manifest_path(m, m->program[i].source[k]);

            snprintf(name, sizeof(name), "the contents of %s", m->program[i].source[k]);
            if (!path)
                d->status = FAIL(NO_MEMORY, "a sweep");
            else if (!defines(d, name))
                add_file(d, name, path);
            ss_free(path);
        }
    }
}

static enum emu_status make_definition(const struct sweep *s, struct definition *d)
{
    const struct request *q = s->q;

    define(d, "superstep", program_version);
    define(d, "what", q->what);
    define(d, "--engine", option_engine(q) ? "timing" : "values");
    request_visit_options(q, add_option, d);
    for (uint32_t i = 0; i < s->axes.axes; i++)
        add_axis(d, &s->axes.axis[i]);
    add_points(d, &s->axes);
    if (s->thing.manifest)
        add_manifest(d, s->thing.manifest);
    else if (!q->known)
        add_file(d, s->thing.image ? "the contents of the image" : "the contents of the network",
                 q->what);
    add_file(d, "the contents of --weights", option_weights(q));
    add_file(d, "the contents of --machine", option_machine(q));
    return d->status;
}

/* ---- an earlier sweep ---- */

struct comparison {
    const struct sweep_file *f;
    struct definition *d;
    int other_points; /* named last: differences that are easier to read come first */
};

static enum emu_status compare_row(void *ctx, const struct profile_cursor *c)
{
    struct comparison *x = ctx;
    const char *name = profile_text(c, 0), *value = profile_text(c, 1);

    for (size_t i = 0; i < x->d->rows; i++) {
        struct definition_row *r = &x->d->row[i];

        if (strcmp(r->name, name) || r->met)
            continue;
        r->met = 1;
        if (!strcmp(r->value, value))
            return EMU_OK;
        if (!strcmp(name, "points")) {
            x->other_points = 1;
            return EMU_OK;
        }
        return FAIL(USAGE, "%.200s has a sweep with %.80s %.200s, not %.200s: another file, please",
                    profile_path(x->f->store), name, value, r->value);
    }
    return FAIL(USAGE, "%.200s has a sweep with %.80s %.200s, not without it: another file, please",
                profile_path(x->f->store), name, value);
}

static enum emu_status take_done(void *ctx, const struct profile_cursor *c)
{
    struct sweep_file *f = ctx;
    uint64_t point = profile_integer(c, 0);

    if (!point || point > f->sweep->axes.points)
        return FAIL(BAD_FILE, "%.200s: a damaged sweep: there is no point %llu",
                    profile_path(f->store), (unsigned long long)point);
    f->dones += !f->done[point - 1];
    f->done[point - 1] = 1;
    return EMU_OK;
}

static enum emu_status continue_sweep(struct sweep_file *f, struct definition *d)
{
    struct comparison x = { f, d, 0 };

    TRY(profile_query(f->store, "SELECT name, value FROM definition ORDER BY position", compare_row,
                      &x));
    for (size_t i = 0; i < d->rows; i++) {
        if (!d->row[i].met)
            return FAIL(USAGE, "%.200s has a sweep without %.80s %.200s: another file, please",
                        profile_path(f->store), d->row[i].name, d->row[i].value);
    }
    if (x.other_points)
        return FAIL(USAGE, "%.200s has a sweep of other points: another file, please",
                    profile_path(f->store));
    return profile_query(f->store, "SELECT point FROM results", take_done, f);
}

/* ---- a new one ---- */

static void put_axis(const struct sweep *s, const struct sweep_axis *a, uint32_t i,
                     struct profile *p)
{
    const char *unit = a->field ? a->field->unit : "-";

    PROFILE_ROW(p, "axes", PROFILE_I(i), PROFILE_T(a->name), PROFILE_T(axis_kind_name(a->kind)),
                PROFILE_T(unit), PROFILE_T(sweep_axis_stage(s, a)));
    for (uint32_t k = 0; k < a->choices; k++) {
        char *end;
        double number = strtod(a->choice[k], &end);
        static const char letters[] = "KMG";
        const char *letter = *end ? strchr(letters, *end) : NULL;

        for (const char *l = letters; letter && l <= letter; l++)
            number *= 1024;
        if (letter)
            end += end[1] == 'i' ? 2 : 1;
        PROFILE_ROW(p, "choices", PROFILE_I(i), PROFILE_I(k), PROFILE_T(a->choice[k]),
                    end == a->choice[k] || *end ? PROFILE_N : PROFILE_R(number));
    }
}

static void put_points(struct profile *p, const struct sweep *s)
{
    for (uint32_t i = 0; i < s->axes.points; i++) {
        PROFILE_ROW(p, "points", PROFILE_I(i + 1), PROFILE_I(s->image_of[i] + 1),
                    PROFILE_I(s->run_of[i] + 1));
        for (uint32_t k = 0; k < s->axes.axes; k++)
            PROFILE_ROW(p, "settings", PROFILE_I(i + 1), PROFILE_I(k),
                        PROFILE_I(s->axes.choice[(size_t)i * s->axes.axes + k]));
    }
}

static enum emu_status begin_sweep(struct sweep_file *f, const struct definition *d)
{
    const struct sweep *s = f->sweep;
    struct profile *p = f->store;
    struct arch base;

    TRY(sweep_base(s, &base));
    TRY(sweep_store_begin(p));
    PROFILE_ROW(p, "meta", PROFILE_T("schema_version"), PROFILE_I(SWEEP_VERSION));
    PROFILE_ROW(p, "meta", PROFILE_T("program_version"), PROFILE_T(program_version));
    PROFILE_ROW(p, "meta", PROFILE_T("what"), PROFILE_T(s->q->what));
    PROFILE_ROW(p, "meta", PROFILE_T("engine"),
                PROFILE_T(option_engine(s->q) ? "timing" : "values"));
    PROFILE_ROW(p, "meta", PROFILE_T("machine"), PROFILE_T(ss_arch_title(&base).at));
    for (size_t i = 0; i < d->rows; i++)
        PROFILE_ROW(p, "definition", PROFILE_I(i), PROFILE_T(d->row[i].name),
                    PROFILE_T(d->row[i].value));
    for (uint32_t i = 0; i < s->axes.axes; i++)
        put_axis(s, &s->axes.axis[i], i, p);
    put_points(p, s);
    return sweep_store_commit(p);
}

enum emu_status sweep_file_open(const struct sweep *s, struct sweep_file *out)
{
    struct definition d = { .status = EMU_OK };
    enum emu_status st;
    int isnew;

    *out = (struct sweep_file){ .sweep = s, .done = emu_alloc(s->axes.points, 1) };
    if (!out->done)
        return FAIL(NO_MEMORY, "a sweep");
    TRY(sweep_store_open(option_output(s->q), &isnew, &out->store));
    st = make_definition(s, &d);
    if (st == EMU_OK)
        st = isnew ? begin_sweep(out, &d) : continue_sweep(out, &d);
    definition_free(&d);
    return st;
}

void sweep_file_close(struct sweep_file *f)
{
    profile_free(f->store);
    ss_free(f->done);
    *f = (struct sweep_file){ .sweep = NULL };
}

/* ---- results ---- */

static struct profile_value number_of(const json_t *result, const char *key)
{
    const json_t *v = json_object_get(result, key);

    return v ? PROFILE_I(json_integer_value(v)) : PROFILE_N;
}

static const char *text_of(const json_t *result, const char *key)
{
    const char *text = json_string_value(json_object_get(result, key));

    return text ? text : "";
}

static void put_result(struct profile *p, const json_t *result, uint32_t point,
                       const struct arch *a)
{
    const json_t *cycles = json_object_get(result, "cycles");
    int ran = cycles && !strcmp(text_of(result, "status"), "ok");
    double inputs = (double)json_integer_value(json_object_get(result, "inputs"));
    double seconds = (double)json_integer_value(cycles) / (1e6 * a->clock_mhz);
    const json_t *row;
    size_t i;

#define NUMBER(key) number_of(result, key)
    PROFILE_ROW(p, "results", PROFILE_I(point + 1), PROFILE_T(text_of(result, "status")),
                PROFILE_T(text_of(result, "message")), NUMBER("inputs"), NUMBER("mem_bytes"),
                NUMBER("tiles"), PROFILE_I(a->chips), PROFILE_I(a->clock_mhz), NUMBER("need_bytes"),
                NUMBER("fullest_tile"), NUMBER("used_bytes"), NUMBER("cycles"), NUMBER("exchange"),
                NUMBER("link"), NUMBER("compute"), NUMBER("imbalance"), NUMBER("wait"),
                NUMBER("sync"), NUMBER("outer"), NUMBER("supersteps"), NUMBER("words"),
                NUMBER("macs"), cycles ? PROFILE_T(text_of(result, "engine")) : PROFILE_N,
                ran ? PROFILE_R(seconds) : PROFILE_N,
                ran && seconds > 0 ? PROFILE_R(inputs / seconds) : PROFILE_N);
#undef NUMBER
    json_array_foreach(json_object_get(result, "categories"), i, row)
    {
        PROFILE_ROW(p, "categories", PROFILE_I(point + 1),
                    PROFILE_T(json_string_value(json_array_get(row, 0))),
                    PROFILE_I(json_integer_value(json_array_get(row, 1))),
                    PROFILE_I(json_integer_value(json_array_get(row, 2))));
    }
}

static void put_work(struct profile *p, const json_t *result, uint32_t point, const char *process)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(result, "work"), i, row)
    {
        PROFILE_ROW(p, "work", PROFILE_N, PROFILE_I(point + 1),
                    PROFILE_T(json_string_value(json_array_get(row, 0))),
                    PROFILE_R(json_real_value(json_array_get(row, 1))), PROFILE_T(process));
    }
}

static enum emu_status put_point(struct sweep_file *f, const json_t *result, uint32_t point)
{
    struct sweep_point p;
    enum emu_status s = sweep_point_new(f->sweep, point, &p);

    if (s == EMU_OK)
        put_result(f->store, result, point, &p.arch);
    sweep_point_free(f->sweep, &p);
    return s;
}

enum emu_status sweep_file_add(struct sweep_file *f, const json_t *result, const char *process,
                               uint32_t *added)
{
    const struct sweep *s = f->sweep;
    json_int_t number = json_integer_value(json_object_get(result, "point"));
    uint32_t point = (uint32_t)number - 1;

    *added = 0;
    if (number < 1 || number > s->axes.points || f->done[point])
        return EMU_OK;
    TRY(sweep_store_begin(f->store));
    put_work(f->store, result, point, process);
    for (uint32_t i = point; i < s->axes.points; i++) {
        if (s->run_of[i] == s->run_of[point])
            TRY(put_point(f, result, i));
    }
    TRY(sweep_store_commit(f->store));
    for (uint32_t i = point; i < s->axes.points; i++) {
        if (s->run_of[i] != s->run_of[point])
            continue;
        f->done[i] = 1;
        ++*added;
    }
    f->dones += *added;
    return EMU_OK;
}
