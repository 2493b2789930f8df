/* sweep_image.c - manifests and images as points of a sweep. */
#include "models/sweep/sweep_image.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/run_in_memory.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(WORD, engine)
OPTION_READ(FLAG, check)
OPTION_READ(NUMBER, max_cycles)
OPTION_READ(NUMBER, runs)

/* ---- the image ---- */

/* An error of the assembler has its lines on a stream, of which the first becomes the reason. */
static enum emu_status build(struct manifest *m, FILE *messages, char **text, struct image **out)
{
    enum emu_status st = ss_manifest_build(m, 1, messages, out);

    fflush(messages);
    return st == EMU_BAD_ASM && *text && **text
               ? ss_fail(st, "%.*s", (int)strcspn(*text, "\n"), *text)
               : st;
}

enum emu_status sweep_image_make(const struct sweep *s, const struct sweep_point *p,
                                 struct sweep_image *out)
{
    size_t bytes;
    char *text = NULL;
    FILE *messages;
    enum emu_status st;

    *out = (struct sweep_image){ .p = p, .image = s->thing.image };
    if (*p->why)
        return FAIL(USAGE, "%s", p->why);
    if (!p->manifest)
        return EMU_OK;
    messages = open_memstream(&text, &bytes);
    if (!messages)
        return FAIL(NO_MEMORY, "an image");
    st = build(p->manifest, messages, &text, &out->image);
    fclose(messages);
    free(text); /* allocated by open_memstream() */
    return st;
}

void sweep_image_free(struct sweep_image *x)
{
    sweep_image_close(x);
    if (x->p && x->p->manifest)
        ss_image_free(x->image);
    *x = (struct sweep_image){ .p = NULL };
}

/* ---- runs ---- */

static enum emu_status open_streams(struct sweep_image *x)
{
    if (x->p->manifest)
        return run_manifest_streams_in_memory(x->run, x->p->manifest);
    for (size_t i = 0; i < image_stream_count(x->image); i++) {
        const struct image_stream *s = image_stream_at(x->image, i);

        TRY(run_stream_of_chip(x->run, s->chip, s->id, NULL));
    }
    return EMU_OK;
}

enum emu_status sweep_image_open(struct sweep_image *x, const struct arch *a)
{
    const struct request *q = &x->p->model;
    const struct manifest *m = x->p->manifest;
    const struct run_options o = {
        .threads = 1,
        .engine = option_engine(q) ? ENGINE_TIMING : ENGINE_VALUES,
        .check = option_check(q) || (m && m->expect_check),
        .max_cycles = request_has(q, OPTION_max_cycles) ? option_max_cycles(q)
                      : m                               ? m->max_cycles
                                                        : UINT64_MAX / 2,
        .runs = request_has(q, OPTION_runs) ? option_runs(q)
                : m                         ? m->runs
                                            : 0,
    };

    TRY(image_set_arch(x->image, a));
    TRY(ss_run_new(x->image, &o, &x->run));
    return open_streams(x);
}

void sweep_image_close(struct sweep_image *x)
{
    ss_run_free(x->run);
    x->run = NULL;
}

static enum emu_status compare(struct sweep_image *x)
{
    uint64_t unmet = 0, checked = 0;
    json_t *list = NULL;

    TRY(ss_run_check(x->run, x->p->manifest, 0, &list, &unmet, &checked));
    json_decref(list);
    return !unmet ? EMU_OK
                  : FAIL(BAD_PROGRAM, "%s of %s expectations are not met; superstep run lists them",
                         count_text(unmet).at, count_text(checked).at);
}

enum emu_status sweep_image_run(struct sweep_image *x)
{
    const struct manifest *m = x->p->manifest;
    char *text;

    TRY(ss_run_execute(x->run));
    if (m && (ss_run_ended(x->run) || (x->run->stop == MACHINE_FAULT && m->expect_fault.is_set)))
        return ss_run_has_values(x->run) ? compare(x) : EMU_OK;
    if (ss_run_ended(x->run))
        return EMU_OK;
    text = ss_run_stop_text(x->run);
    ss_fail(EMU_FAULT, "%s", text ? text : "the machine has stopped");
    ss_free(text);
    return EMU_FAULT;
}

/* ---- where cycles went ---- */

/* The sync groups that tiles of a chip of the image are in. */
static uint64_t groups_of(const struct image *im, uint32_t stage)
{
    uint64_t groups = 0;

    for (size_t i = 0; i < image_tile_count(im); i++) {
        if (image_tile_at(im, i)->chip == stage)
            groups |= (uint64_t)1 << image_tile_at(im, i)->group;
    }
    return groups;
}

struct bill sweep_bill_of(const struct run *r)
{
    struct bill last = { .total = 0 };
    uint64_t words = 0;

    for (uint32_t chip = 0; chip < r->chips; chip++) {
        uint64_t groups = groups_of(r->im, run_stage(r, chip));

        for (unsigned g = 0; g < MACHINE_MAX_GROUPS && groups >> g; g++) {
            struct bill b = ss_bill_of_group(r->chip[chip].record, g);

            words += b.words_in;
            if (b.total > last.total)
                last = b;
        }
    }
    last.words_in = words;
    return last;
}

/* ---- memory ---- */

/* Bytes of a category; id: the string of its name. */
struct category_sum {
    uint32_t id;
    uint64_t all, tile, fullest; /* on all tiles, on the one at work, on the fullest one */
};

enum { CATEGORIES_MAX = 64 };

struct image_memory {
    struct category_sum category[CATEGORIES_MAX];
    size_t categories;
    uint64_t used, most;
    uint32_t fullest_tile;
};

static struct category_sum *category_of(struct image_memory *m, uint32_t id)
{
    size_t i = 0;

    while (i < m->categories && m->category[i].id != id)
        i++;
    if (i == m->categories) {
        EMU_ASSERT(i < CATEGORIES_MAX);
        m->category[m->categories++] = (struct category_sum){ .id = id };
    }
    return &m->category[i];
}

static void add_tile(const struct image *im, const struct image_tile *t, struct image_memory *m)
{
    size_t ranges;
    const struct image_range *r = image_map_of(im, t->map, &ranges);
    uint64_t sum = 0;

    for (size_t i = 0; i < m->categories; i++)
        m->category[i].tile = 0;
    for (size_t i = 0; i < ranges; i++) {
        category_of(m, r[i].category)->tile += r[i].bytes;
        sum += r[i].bytes;
    }
    m->used += sum;
    for (size_t i = 0; i < m->categories; i++) {
        m->category[i].all += m->category[i].tile;
        if (sum > m->most)
            m->category[i].fullest = m->category[i].tile;
    }
    if (sum > m->most) {
        m->most = sum;
        m->fullest_tile = t->tile;
    }
}

enum emu_status sweep_image_memory(const struct sweep_image *x, json_t *result)
{
    struct image_memory m = { .categories = 0 };
    json_t *list = json_object_get(result, "categories"), *sums;

    for (size_t i = 0; i < image_tile_count(x->image); i++)
        add_tile(x->image, image_tile_at(x->image, i), &m);
    for (size_t i = 0; i < m.categories; i++)
        json_array_append_new(list, json_pack("[sII]", image_text(x->image, m.category[i].id),
                                              (json_int_t)m.category[i].all,
                                              (json_int_t)m.category[i].fullest));
    sums = json_pack("{s:I, s:I, s:I}", "need_bytes", (json_int_t)m.most, "fullest_tile",
                     (json_int_t)m.fullest_tile, "used_bytes", (json_int_t)m.used);
    if (!sums || json_object_update(result, sums)) {
        json_decref(sums);
        return FAIL(NO_MEMORY, "a result");
    }
    json_decref(sums);
    return EMU_OK;
}
