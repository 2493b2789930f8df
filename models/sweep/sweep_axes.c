/* sweep_axes.c - names and values of --vary, and lines of --points. */
#include "models/sweep/sweep_axes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/cli/commands.h"
#include "models/ask/model_request.h"
#include "models/sweep/sweep_thing.h"
#include "programs/cli/program_request.h"

/* What is read of the command line. */
OPTION_READ(LIST, vary)
OPTION_READ(TEXT, points)

enum { LINE_MAX_BYTES = 65536 };

#define DIM "dim."

const char *axis_kind_name(enum axis_kind k)
{
    static const char *const name[AXIS_KIND_COUNT] = { "field", "option", "parameter", "fixed" };

    return name[k];
}

/* ---- what a name means ---- */

static const struct option_row *find_option(const struct request *q, const char *name)
{
    size_t n = strncmp(name, DIM, strlen(DIM)) ? strlen(name) : strlen(DIM) - 1;
    const struct option_row *o = option_find(name, n, q->use);

    for (const struct option_rule *r = option_varies; o && r->uses; r++) {
        if (r->uses & q->use && r->a == o->number && (o->kind == KIND_LIST) == !!name[n])
            return o;
    }
    return NULL;
}

static enum emu_status refuse_name(const struct request *q, const char *name)
{
    const char *near = ss_arch_field_nearest(name);
    char options[300] = "";
    size_t n = 0;

    for (const struct option_rule *r = option_varies; r->uses; r++) {
        if (r->uses & q->use && n < sizeof(options))
            n += (size_t)snprintf(options + n, sizeof(options) - n, ", %s",
                                  option_name(r->a, q->use));
    }
    return FAIL(USAGE,
                "'%.80s' cannot be varied%s%s%s: expected a field of the machine (`superstep "
                "machines mk2`), sram%s%s",
                name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", options,
                (q->command->is_parameter && q->known) || sweep_is_thing(q)
                    ? ", or a parameter of the program"
                    : "");
}

/* Refuses a field that nothing in a sweep reads, since all its points would be equal. */
static enum emu_status check_field(const struct sweep_thing *t, const struct arch_field *f)
{
    if (f->min == f->max && f->type != ARCH_TYPE_text)
        return FAIL(USAGE, "%s cannot be varied: the instruction set fixes it at %llu %s", f->name,
                    (unsigned long long)f->min, f->unit);
    if (f->stage == ARCH_STAGE_N || f->type == ARCH_TYPE_text)
        return FAIL(USAGE, "%s cannot be varied: no run reads it (%s)", f->name, f->doc);
    return sweep_thing_check(t, f);
}

static int is_parameter(const struct request *q, const struct sweep_thing *t, const char *name)
{
    if (q->known && q->command->is_parameter)
        return q->command->is_parameter(q, name, strlen(name));
    return sweep_thing_sets(t, name);
}

static enum emu_status find_name(const struct request *q, const struct sweep_thing *t,
                                 struct sweep_axis *a)
{
    const char *field = strcmp(a->name, "sram") ? a->name : "mem_bytes";
    const struct arch_field *f = ss_arch_field_find(field);

    a->option = find_option(q, a->name);
    if (a->option) {
        a->kind = AXIS_OPTION;
        return f ? check_field(t, f) : EMU_OK; /* --chips is a field, too */
    }
    if (is_parameter(q, t, a->name)) {
        a->kind = AXIS_PARAMETER;
        return EMU_OK;
    }
    a->kind = AXIS_FIELD;
    a->field = f;
    return f ? check_field(t, f) : refuse_name(q, a->name);
}

/* ---- axes ---- */

/* A name that is on no axis yet. */
static enum emu_status new_axis(const char *name, size_t length, struct sweep_axes *out)
{
    struct sweep_axis *more = emu_realloc(out->axis, out->axes + 1, sizeof(*more)), *a;

    if (!more)
        return FAIL(NO_MEMORY, "a sweep");
    out->axis = more;
    a = &more[out->axes++];
    *a = (struct sweep_axis){ .name = emu_alloc(length + 1, 1) };
    if (!a->name)
        return FAIL(NO_MEMORY, "a sweep");
    memcpy(a->name, name, length);
    for (uint32_t i = 0; i + 1 < out->axes; i++) {
        if (!strcmp(out->axis[i].name, a->name))
            return FAIL(USAGE, "'%.80s' is varied twice", a->name);
    }
    return EMU_OK;
}

static enum emu_status add_axis(const struct request *q, const struct sweep_thing *t,
                                const char *name, size_t length, struct sweep_axes *out)
{
    TRY(new_axis(name, length, out));
    return find_name(q, t, &out->axis[out->axes - 1]);
}

/* The number of a value, which becomes a choice where it is none yet. */
static enum emu_status add_choice(struct sweep_axis *a, const char *value, size_t length,
                                  uint32_t *number)
{
    char **more, *text;

    for (*number = 0; *number < a->choices; ++*number) {
        if (strlen(a->choice[*number]) == length && !memcmp(a->choice[*number], value, length))
            return EMU_OK;
    }
    more = emu_realloc(a->choice, a->choices + 1, sizeof(*more));
    text = more ? emu_alloc(length + 1, 1) : NULL;
    if (more)
        a->choice = more;
    if (!text)
        return FAIL(NO_MEMORY, "a sweep");
    memcpy(text, value, length);
    a->choice[a->choices++] = text;
    return EMU_OK;
}

/* "NAME=V1,V2,..". */
static enum emu_status add_vary(const struct request *q, const struct sweep_thing *t,
                                const char *text, struct sweep_axes *out)
{
    const char *at = strchr(text, '=');
    struct sweep_axis *a;

    if (!at || at == text)
        return FAIL(USAGE, "--vary '%.80s': expected NAME=V1,V2,..", text);
    TRY(add_axis(q, t, text, (size_t)(at - text), out));
    a = &out->axis[out->axes - 1];
    do {
        size_t n = strcspn(++at, ",");
        uint32_t number, before = a->choices;

        if (!n)
            return FAIL(USAGE, "--vary '%.80s': a value is missing", text);
        TRY(add_choice(a, at, n, &number));
        if (a->choices == before)
            return FAIL(USAGE, "--vary %s: %.*s is given twice", a->name, (int)n, at);
        at += n;
    } while (*at);
    return EMU_OK;
}

static enum emu_status make_product(struct sweep_axes *out)
{
    uint64_t points = 1;

    for (uint32_t i = 0; i < out->axes; i++) {
        points *= out->axis[i].choices;
        if (points > SWEEP_POINTS_MAX)
            return FAIL(USAGE, "more than %d points", SWEEP_POINTS_MAX);
    }
    out->points = (uint32_t)points;
    out->choice = emu_alloc(points * (out->axes + 1), sizeof(*out->choice));
    if (!out->choice)
        return FAIL(NO_MEMORY, "a sweep");
    for (uint32_t p = 0; p < out->points; p++) {
        uint32_t rest = p;

        for (uint32_t i = out->axes; i-- > 0; rest /= out->axis[i].choices)
            out->choice[(size_t)p * out->axes + i] = rest % out->axis[i].choices;
    }
    return EMU_OK;
}

/* ---- points of a file ---- */

struct points_file {
    const char *path;
    FILE *f;
    char *line; /* of getline() */
    size_t cap;
    unsigned number;
};

/* The next line without its end that is not empty; NULL: there is none. */
static const char *next_line(struct points_file *f)
{
    ssize_t n;

    while ((n = getline(&f->line, &f->cap, f->f)) >= 0) {
        f->number++;
        while (n && strchr("\r\n", f->line[n - 1]))
            f->line[--n] = 0;
        if (n)
            return f->line;
    }
    return NULL;
}

static enum emu_status add_line(struct points_file *f, const char *at, struct sweep_axes *out)
{
    uint32_t *more = emu_realloc(out->choice, (size_t)(out->points + 1) * out->axes, sizeof(*more));
    uint32_t *point = more ? more + (size_t)out->points * out->axes : NULL;

    if (!more)
        return FAIL(NO_MEMORY, "%.200s", f->path);
    out->choice = more;
    for (uint32_t i = 0; i < out->axes; i++) {
        size_t n = strcspn(at, ",");

        if (!n || (i + 1 < out->axes ? at[n] != ',' : at[n] != 0))
            return FAIL(BAD_FILE, "%.200s:%u: expected %u values with commas between", f->path,
                        f->number, out->axes);
        TRY(add_choice(&out->axis[i], at, n, &point[i]));
        at += n + 1;
    }
    for (uint32_t p = 0; p < out->points; p++) {
        if (!memcmp(more + (size_t)p * out->axes, point, out->axes * sizeof(*point)))
            return FAIL(BAD_FILE, "%.200s:%u: this point is given twice", f->path, f->number);
    }
    out->points++;
    return EMU_OK;
}

static enum emu_status read_lines(const struct request *q, const struct sweep_thing *t,
                                  struct points_file *f, struct sweep_axes *out)
{
    const char *at = next_line(f);

    if (!at)
        return FAIL(BAD_FILE, "%.200s: expected a line of names, then a line for each point",
                    f->path);
    do {
        size_t n = strcspn(at, ",");

        TRY(add_axis(q, t, at, n, out));
        at += n;
    } while (*at++);
    while ((at = next_line(f))) {
        if (out->points == SWEEP_POINTS_MAX)
            return FAIL(USAGE, "more than %d points", SWEEP_POINTS_MAX);
        TRY(add_line(f, at, out));
    }
    return out->points ? EMU_OK : FAIL(BAD_FILE, "%.200s: no point in it", f->path);
}

static enum emu_status read_points(const struct request *q, const struct sweep_thing *t,
                                   struct sweep_axes *out)
{
    struct points_file f = { .path = option_points(q), .f = fopen(option_points(q), "r") };
    enum emu_status s;

    if (!f.f)
        return FAIL(IO, "%.200s: %s", f.path, strerror(errno));
    s = read_lines(q, t, &f, out);
    if (s == EMU_OK && ferror(f.f))
        s = FAIL(IO, "%.200s: %s", f.path, strerror(errno));
    free(f.line); /* allocated by getline() */
    fclose(f.f);
    return s;
}

/* ---- parameters that are the same at all points ---- */

static int has_axis(const struct sweep_axes *a, const char *name)
{
    for (uint32_t i = 0; i < a->axes; i++) {
        if (!strcmp(a->axis[i].name, name))
            return 1;
    }
    return 0;
}

static enum emu_status add_fixed(const char *name, const char *value, struct sweep_axes *out)
{
    uint32_t number;

    if (has_axis(out, name))
        return EMU_OK;
    TRY(new_axis(name, strlen(name), out));
    out->axis[out->axes - 1].kind = AXIS_FIXED;
    return add_choice(&out->axis[out->axes - 1], value, strlen(value), &number);
}

static enum emu_status fix_program(const struct request *q, struct sweep_axes *out)
{
    const struct named_program *n = q->known;
    uint64_t value[PROGRAM_MAX_PARAMS];
    char text[PROGRAM_VALUE_TEXT];

    TRY(program_values(q, value));
    for (unsigned k = 0; k < n->params; k++) {
        program_value_text(n, k, value[k], text);
        TRY(add_fixed(n->param[k].name, text, out));
    }
    return EMU_OK;
}

static enum emu_status fix_manifest(const struct sweep_thing *t, const struct manifest *m,
                                    struct sweep_axes *out)
{
    char text[24];

    for (size_t k = 0; k < m->parameters; k++) {
        snprintf(text, sizeof(text), "%lld", (long long)m->parameter[k].value);
        if (sweep_thing_sets(t, m->parameter[k].name))
            TRY(add_fixed(m->parameter[k].name, text, out));
    }
    return EMU_OK;
}

/* On axes that were added later, each with a single choice, all points have that choice. */
static enum emu_status widen_points(uint32_t before, struct sweep_axes *out)
{
    uint32_t *old = out->choice;

    out->choice = emu_alloc((size_t)out->points * (out->axes + 1), sizeof(*out->choice));
    if (!out->choice) {
        out->choice = old;
        return FAIL(NO_MEMORY, "a sweep");
    }
    for (uint32_t p = 0; p < out->points; p++)
        memcpy(out->choice + (size_t)p * out->axes, old + (size_t)p * before,
               before * sizeof(*old));
    ss_free(old);
    return EMU_OK;
}

enum emu_status sweep_axes_fix(const struct request *q, const struct sweep_thing *t,
                               const struct manifest *m, struct sweep_axes *out)
{
    uint32_t before = out->axes;

    if (q->known)
        TRY(fix_program(q, out));
    else if (m)
        TRY(fix_manifest(t, m, out));
    return widen_points(before, out);
}

/* ---- all of it ---- */

enum emu_status sweep_axes_read(const struct request *q, const struct sweep_thing *t,
                                struct sweep_axes *out)
{
    *out = (struct sweep_axes){ .axis = NULL };
    if (option_points(q))
        return read_points(q, t, out);
    for (size_t i = 0; i < option_vary(q)->count; i++)
        TRY(add_vary(q, t, option_vary(q)->item[i], out));
    return make_product(out);
}

void sweep_axes_free(struct sweep_axes *a)
{
    for (uint32_t i = 0; i < a->axes; i++) {
        for (uint32_t k = 0; k < a->axis[i].choices; k++)
            ss_free(a->axis[i].choice[k]);
        ss_free(a->axis[i].choice);
        ss_free(a->axis[i].name);
    }
    ss_free(a->axis);
    ss_free(a->choice);
    *a = (struct sweep_axes){ .axis = NULL };
}

const char *sweep_choice(const struct sweep_axes *a, uint32_t point, uint32_t axis)
{
    return a->axis[axis].choice[a->choice[(size_t)point * a->axes + axis]];
}

void sweep_point_text(const struct sweep_axes *a, uint32_t point, char *out, size_t bytes)
{
    size_t n = 0;

    snprintf(out, bytes, "%s", "nothing varied");
    for (uint32_t i = 0; i < a->axes && n < bytes; i++) {
        if (a->axis[i].kind != AXIS_FIXED)
            n += (size_t)snprintf(out + n, bytes - n, "%s%s=%s", i ? " " : "", a->axis[i].name,
                                  sweep_choice(a, point, i));
    }
}
