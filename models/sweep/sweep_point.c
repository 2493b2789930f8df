/* sweep_point.c - requests, machines and keys of points. */
#include "models/sweep/sweep_point.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "emu/base/alloc.h"
#include "emu/base/hash.h"
#include "emu/cli/manifest_request.h"
#include "emu/cli/options.h"
#include "emu/cli/request_store.h"
#include "models/ask/model_source.h"
#include "programs/cli/program_request.h"

/* What is read of the command line. */
OPTION_READ(TEXT, machine)
OPTION_READ(LIST, set)
OPTION_READ(LIST, define)
OPTION_READ(LIST, dim)
OPTION_READ(NUMBER, chips)

enum { TEXT_MAX = 400 };

/* ---- request and machine ---- */

static enum emu_status copy_list(struct option_list *list)
{
    const char **item = emu_alloc(list->count + 1, sizeof(*item));

    if (item && list->count)
        memcpy(item, list->item, list->count * sizeof(*item));
    list->item = item;
    return item ? EMU_OK : FAIL(NO_MEMORY, "a point of a sweep");
}

/* Lists that a point adds to become its own; all others are borrowed. */
static enum emu_status copy_request(const struct request *from, struct request *q)
{
    enum emu_status s;

    *q = *from; /* the path of a manifest is borrowed */
    s = copy_list(&q->value[OPTION_LIST_set].list);
    if (copy_list(&q->value[OPTION_LIST_define].list) != EMU_OK ||
        copy_list(&q->value[OPTION_LIST_dim].list) != EMU_OK)
        s = FAIL(NO_MEMORY, "a point of a sweep");
    return s;
}

static enum emu_status append(struct option_list *list, char *text)
{
    const char **item = emu_realloc(list->item, list->count + 1, sizeof(*item));

    if (!item || !text)
        return FAIL(NO_MEMORY, "a point of a sweep");
    list->item = item;
    item[list->count++] = text;
    return EMU_OK;
}

/* "name=value", owned; NULL when out of memory. */
static char *assignment(const char *name, const char *value)
{
    size_t bytes = strlen(name) + strlen(value) + 2;
    char *text = emu_alloc(bytes, 1);

    if (text)
        snprintf(text, bytes, "%s=%s", name, value);
    return text;
}

static enum emu_status apply(const struct sweep_axis *a, const char *value, struct request *q)
{
    static const char dim[] = "dim.";
    const struct option_row *o = a->option;
    char *text;

    if (a->kind == AXIS_OPTION && o->kind == KIND_FLAG) {
        if (strcmp(value, "yes") && strcmp(value, "no"))
            return FAIL(USAGE, "--%s: expected yes or no, got '%.80s'", o->name, value);
        return strcmp(value, "no") ? request_store(q, o, NULL) : EMU_OK;
    }
    if (a->kind == AXIS_OPTION && o->kind != KIND_LIST)
        return request_store(q, o, value);
    text = assignment(a->name + (a->kind == AXIS_OPTION ? sizeof(dim) - 1 : 0), value);
    return append(a->kind == AXIS_FIELD    ? &q->value[OPTION_LIST_set].list
                  : a->kind == AXIS_OPTION ? &q->value[OPTION_LIST_dim].list
                                           : &q->value[OPTION_LIST_define].list,
                  text);
}

int sweep_is_of_host(enum emu_status s)
{
    return s == EMU_NO_MEMORY || s == EMU_IO;
}

/* A manifest may refuse a machine, or a parameter on it; values that no machine has are errors. */
static enum emu_status read_manifest(const struct sweep *s, struct sweep_point *out)
{
    enum emu_status st = manifest_of_request(&out->model, &out->manifest);

    if (st == EMU_OK)
        out->arch = out->manifest->arch;
    if (st == EMU_OK || sweep_is_of_host(st))
        return st;
    snprintf(out->why, sizeof(out->why), "%s", ss_error());
    out->arch = *sweep_thing_arch(&s->thing);
    TRY(request_machine_from(&out->model, &out->arch));
    if (option_chips(&out->model))
        out->arch.chips = (uint32_t)option_chips(&out->model);
    return EMU_OK;
}

static enum emu_status find_machine(const struct sweep *s, struct sweep_point *out)
{
    if (s->thing.manifest)
        return read_manifest(s, out);
    if (s->thing.image) {
        out->arch = *sweep_thing_arch(&s->thing);
        return request_machine_from(&out->model, &out->arch);
    }
    TRY(request_machine(&out->model, "mk2", &out->arch));
    return request_check_arch(&out->arch);
}

enum emu_status sweep_point_new(const struct sweep *s, uint32_t point, struct sweep_point *out)
{
    enum emu_status st = copy_request(s->q, &out->model);

    out->manifest = NULL;
    out->why[0] = '\0';
    for (uint32_t i = 0; st == EMU_OK && i < s->axes.axes; i++)
        st = apply(&s->axes.axis[i], sweep_choice(&s->axes, point, i), &out->model);
    return st == EMU_OK ? find_machine(s, out) : st;
}

/* The texts that a point has added to a list. */
static void free_list(struct option_list *list, size_t borrowed)
{
    for (size_t i = borrowed; list->item && i < list->count; i++)
        ss_free((char *)(uintptr_t)list->item[i]);
    ss_free(list->item);
}

void sweep_point_free(const struct sweep *s, struct sweep_point *p)
{
    free_list(&p->model.value[OPTION_LIST_set].list, option_set(s->q)->count);
    free_list(&p->model.value[OPTION_LIST_define].list, option_define(s->q)->count);
    free_list(&p->model.value[OPTION_LIST_dim].list, option_dim(s->q)->count);
    ss_manifest_free(p->manifest);
    memset(p, 0, sizeof(*p));
}

/* ---- keys ---- */

/* Cycles hang on what only a run reads; with streams or links on the host's fields and the clock,
 * too: those run in ns. */
static int stage_counts(const struct sweep *s, const struct arch *a, enum arch_stage stage)
{
    return stage == ARCH_STAGE_R || (stage == ARCH_STAGE_L && a->chips > 1) ||
           (stage == ARCH_STAGE_H && (a->chips > 1 || sweep_thing_has_host(&s->thing)));
}

const char *sweep_axis_stage(const struct sweep *s, const struct sweep_axis *a)
{
    const struct arch some = { .chips = s->of_chips ? 2 : 1 };

    if (a->kind != AXIS_FIELD || a->field->stage == ARCH_STAGE_C)
        return "compile";
    return stage_counts(s, &some, a->field->stage) ? "run" : "seconds";
}

static void print_fields(const struct arch *a, enum arch_stage stage, FILE *f)
{
    for (size_t i = 0; i < ARCH_FIELD_COUNT; i++) {
        char value[ARCH_TEXT_MAX];

        if (ss_arch_field_at(i)->stage != stage)
            continue;
        ss_arch_field_text(a, i, value, sizeof(value));
        fprintf(f, "%s=%s\n", ss_arch_field_at(i)->name, value);
    }
}

/* Keys of a point, from the fewest things that count to the most: its network or program with the
 * instructions that it may use, its image, its cycles. A machine counts by its fields. */
enum key { KEY_SOURCE, KEY_IMAGE, KEY_RUN, KEY_COUNT };

static void print_key(const struct sweep *s, uint32_t point, const struct arch *a, enum key k,
                      FILE *f)
{
    for (uint32_t i = 0; i < s->axes.axes; i++) {
        const struct sweep_axis *x = &s->axes.axis[i];

        if (x->kind != AXIS_FIELD && !(x->option && x->option->number == OPTION_machine))
            fprintf(f, "%s=%s\n", x->name, sweep_choice(&s->axes, point, i));
    }
    fprintf(f, "isa=%u amp_sets=%u\n", arch_isa(a), arch_amp_sets(a));
    if (k >= KEY_IMAGE)
        print_fields(a, ARCH_STAGE_C, f);
    for (unsigned stage = 0; k >= KEY_RUN && stage < ARCH_STAGE_N; stage++) {
        if (stage_counts(s, a, (enum arch_stage)stage))
            print_fields(a, (enum arch_stage)stage, f);
    }
}

static enum emu_status key_of(const struct sweep *s, uint32_t point, const struct arch *a,
                              enum key k, struct hash128 *key)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return FAIL(NO_MEMORY, "a sweep");
    print_key(s, point, a, k, f);
    fclose(f);
    *key = hash128(text, bytes);
    free(text); /* allocated by open_memstream() */
    return EMU_OK;
}

/* The first point that had a key: a table of points by key. */
struct first_points {
    struct hash128 *key; /* owned; by slot */
    uint32_t *point;     /* owned; by slot, 0: free, else point + 1 */
    size_t slots;        /* a power of two */
};

static enum emu_status first_points_init(uint32_t points, struct first_points *t)
{
    for (t->slots = 2; t->slots < 2 * (size_t)points; t->slots *= 2)
        ;
    t->key = emu_alloc(t->slots, sizeof(*t->key));
    t->point = emu_alloc(t->slots, sizeof(*t->point));
    return t->key && t->point ? EMU_OK : FAIL(NO_MEMORY, "a sweep");
}

static void first_points_free(struct first_points *t)
{
    ss_free(t->key);
    ss_free(t->point);
}

static uint32_t first_point(struct first_points *t, struct hash128 key, uint32_t point)
{
    size_t at;

    memcpy(&at, &key, sizeof(at));
    at &= t->slots - 1;
    while (t->point[at] && !hash128_equal(t->key[at], key))
        at = (at + 1) & (t->slots - 1);
    if (!t->point[at]) {
        t->key[at] = key;
        t->point[at] = point + 1;
    }
    return t->point[at] - 1;
}

/* ---- checks ---- */

/* The message of an error, after the point. */
static enum emu_status at_point(const struct sweep *s, uint32_t point, enum emu_status st)
{
    char text[TEXT_MAX], why[TEXT_MAX];

    if (st == EMU_OK || !s->axes.axes)
        return st;
    sweep_point_text(&s->axes, point, text, sizeof(text));
    snprintf(why, sizeof(why), "%s", ss_error());
    return ss_fail(st, "%s: %s", text, why);
}

static enum emu_status check_source(const struct sweep_point *p)
{
    uint64_t value[PROGRAM_MAX_PARAMS];
    struct progress progress = progress_begin(NULL);
    struct model_source source = { .net = NULL };
    enum emu_status s;

    if (sweep_is_thing(&p->model))
        return EMU_OK;
    if (p->model.known)
        return program_values(&p->model, value);
    s = model_source_open(&p->model, &p->arch, &progress, &source);
    model_source_free(&source);
    return s;
}

static enum emu_status check_point(struct sweep *s, uint32_t point, struct first_points *first)
{
    struct sweep_point p;
    struct hash128 key[KEY_COUNT];
    enum emu_status st = sweep_point_new(s, point, &p);

    for (unsigned k = 0; st == EMU_OK && k < KEY_COUNT; k++)
        st = key_of(s, point, &p.arch, (enum key)k, &key[k]);
    if (st == EMU_OK) {
        s->image_of[point] = first_point(&first[KEY_IMAGE], key[KEY_IMAGE], point);
        s->run_of[point] = first_point(&first[KEY_RUN], key[KEY_RUN], point);
        if (first_point(&first[KEY_SOURCE], key[KEY_SOURCE], point) == point)
            st = check_source(&p);
        s->of_chips |= !*p.why && p.arch.chips > 1;
    }
    sweep_point_free(s, &p);
    return at_point(s, point, st);
}

static enum emu_status check_points(struct sweep *s)
{
    struct first_points first[KEY_COUNT] = { { .slots = 0 } };
    enum emu_status st = EMU_OK;

    for (unsigned k = 0; k < KEY_COUNT && st == EMU_OK; k++)
        st = first_points_init(s->axes.points, &first[k]);
    for (uint32_t p = 0; p < s->axes.points && st == EMU_OK; p++)
        st = check_point(s, p, first);
    for (unsigned k = 0; k < KEY_COUNT; k++)
        first_points_free(&first[k]);
    return st;
}

/* Of what reads links, some point must have some. */
static enum emu_status check_links(const struct sweep *s)
{
    for (uint32_t i = 0; i < s->axes.axes && !s->of_chips; i++) {
        const struct sweep_axis *a = &s->axes.axis[i];

        if (a->kind == AXIS_FIELD && a->field->stage == ARCH_STAGE_L)
            return FAIL(USAGE,
                        "%s cannot be varied: only runs of several chips read it (%s), and no "
                        "point has several",
                        a->name, a->field->doc);
    }
    return EMU_OK;
}

/* The manifest on the machine that nothing is varied of; where it is none for that, of the first
 * point for which it is one. */
static enum emu_status read_base(const struct sweep *s, struct manifest **out)
{
    enum emu_status st = manifest_of_request(s->q, out);
    char why[SWEEP_WHY_BYTES];

    snprintf(why, sizeof(why), "%s", st == EMU_OK ? "" : ss_error());
    for (uint32_t i = 0; st != EMU_OK && i < s->axes.points; i++) {
        struct sweep_point p;
        enum emu_status made = sweep_point_new(s, i, &p);

        *out = p.manifest;
        p.manifest = NULL;
        st = *out ? EMU_OK : st;
        sweep_point_free(s, &p);
        TRY(at_point(s, i, made));
    }
    return st == EMU_OK ? EMU_OK : ss_fail(st, "%s", why);
}

static enum emu_status fix_parameters(struct sweep *s)
{
    struct manifest *base = NULL;
    enum emu_status st = s->thing.manifest ? read_base(s, &base) : EMU_OK;

    if (st == EMU_OK)
        st = sweep_axes_fix(s->q, &s->thing, base, &s->axes);
    ss_manifest_free(base);
    return st;
}

enum emu_status sweep_base(const struct sweep *s, struct arch *out)
{
    if (!sweep_is_thing(s->q))
        return request_machine(s->q, "mk2", out);
    *out = *sweep_thing_arch(&s->thing);
    TRY(request_machine_from(s->q, out));
    if (option_chips(s->q))
        out->chips = (uint32_t)option_chips(s->q);
    return EMU_OK;
}

enum emu_status sweep_new(const struct request *q, struct sweep *out)
{
    *out = (struct sweep){ .q = q };
    TRY(sweep_thing_open(q, &out->thing));
    TRY(sweep_axes_read(q, &out->thing, &out->axes));
    TRY(fix_parameters(out));
    out->image_of = emu_alloc(out->axes.points, sizeof(*out->image_of));
    out->run_of = emu_alloc(out->axes.points, sizeof(*out->run_of));
    if (!out->image_of || !out->run_of)
        return FAIL(NO_MEMORY, "a sweep");
    TRY(check_points(out));
    return check_links(out);
}

void sweep_free(struct sweep *s)
{
    sweep_axes_free(&s->axes);
    sweep_thing_free(&s->thing);
    ss_free(s->image_of);
    ss_free(s->run_of);
    s->image_of = s->run_of = NULL;
}
