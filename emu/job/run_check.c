/* run_check.c - what the checking mode of a run knows of the program (run_check.h). */
#include "emu/job/run_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emu/base/alloc.h"

/* What no context of a compiled program writes: code, constants, states of vertices. */
static bool is_written(const struct image *im, const struct image_range *range)
{
    const char *category = image_text(im, range->category);

    return !strstr(category, "code") && !strstr(category, "constant") &&
           strcmp(category, "vertex state") != 0;
}

/* The compiler says of all bytes of its programs what they are for; those of others may use memory
 * that no range stands for. */
static enum emu_status own_memory(struct run *r, uint32_t chip)
{
    if (!image_note(r->im, "numbers") && !image_note(r->im, "depends"))
        return EMU_OK;
    for (size_t i = 0; i < image_tile_count(r->im); i++) {
        const struct image_tile *t = image_tile_at(r->im, i);
        size_t n;
        const struct image_range *range = image_map_of(r->im, t->map, &n);

        for (size_t k = 0; k < n && t->chip == run_stage(r, chip); k++)
            if (is_written(r->im, &range[k]))
                TRY(tile_check_own(machine_tile(machine_of_chip(r, chip), t->tile), range[k].addr,
                                   range[k].bytes));
    }
    return EMU_OK;
}

/* ---- vertices ---- */

struct use_list {
    struct tile_check_use *at; /* owned */
    size_t count, cap;
};

static enum emu_status add_use(struct use_list *l, uint32_t addr, uint32_t bytes, int reads,
                               int writes)
{
    TRY(emu_grow((void **)&l->at, l->count, &l->cap, sizeof(*l->at)));
    l->at[l->count++] = (struct tile_check_use){ addr, bytes, (uint8_t)reads, (uint8_t)writes };
    return EMU_OK;
}

/* A vertex reads what it has written, and parts of it to change the rest. */
static enum emu_status add_field(void *ctx, const struct image_field *f)
{
    return add_use(ctx, f->addr, f->bytes, 1, f->use != 'r');
}

/* Code holds tables, and stacks are for all. */
static enum emu_status common_use(const struct run *r, const struct image_tile *t,
                                  struct use_list *l)
{
    size_t n;
    const struct image_range *range = image_map_of(r->im, t->map, &n);

    for (size_t k = 0; k < n; k++) {
        const char *category = image_text(r->im, range[k].category);
        int stack = !strcmp(category, "stack");

        if (stack || !strcmp(category, "vertex code"))
            TRY(add_use(l, range[k].addr, range[k].bytes, 1, stack));
    }
    return EMU_OK;
}

static uint32_t word_of(const void *tile, uint32_t addr)
{
    uint32_t word = 0;

    tile_read(tile, addr, &word, sizeof(word));
    return word;
}

static enum emu_status add_vertices(const struct run *r, uint32_t chip, const struct image_tile *t,
                                    struct use_list *l)
{
    struct tile *tile = machine_tile(machine_of_chip(r, chip), t->tile);
    size_t n;
    const struct image_vertex *v = image_vertices_of(r->im, t->vertices, &n);

    if (!n)
        return EMU_OK;
    l->count = 0;
    TRY(common_use(r, t, l));
    TRY(tile_check_vertex(tile, 0, l->at, l->count));
    for (size_t i = 0; i < n; i++) {
        l->count = 0;
        TRY(image_vertex_fields(r->im, &v[i], word_of, tile, add_field, l));
        TRY(tile_check_vertex(tile, v[i].addr, l->at, l->count));
    }
    return EMU_OK;
}

static enum emu_status begin_chip(struct run *r, uint32_t chip)
{
    struct use_list l = { .at = NULL };
    enum emu_status s = own_memory(r, chip);

    for (size_t i = 0; s == EMU_OK && i < image_tile_count(r->im); i++) {
        if (image_tile_at(r->im, i)->chip == run_stage(r, chip))
            s = add_vertices(r, chip, image_tile_at(r->im, i), &l);
    }
    ss_free(l.at);
    return s;
}

enum emu_status run_check_begin(struct run *r)
{
    for (uint32_t chip = 0; chip < r->chips; chip++)
        TRY(begin_chip(r, chip));
    return EMU_OK;
}

/* ---- reports ---- */

struct initial {
    const struct image *im;
    const struct image_tile *t;
};

/* A word as it was loaded: what is reported may have changed the state of the vertex. */
static uint32_t initial_word(const void *ctx, uint32_t addr)
{
    const struct initial *x = ctx;
    uint32_t word = 0, bytes;

    for (uint32_t k = 0; k < x->t->segments; k++) {
        const struct image_segment *s = image_segment_at(x->im, x->t->first_segment + k);

        if (addr >= s->addr && addr - s->addr + sizeof(word) <= s->bytes)
            memcpy(&word, image_blob_bytes(x->im, s->blob, &bytes) + (addr - s->addr),
                   sizeof(word));
    }
    return word;
}

/* The field that is next to an address. */
struct nearest_field {
    uint32_t addr;
    uint64_t distance;
    struct image_field field;
};

static uint64_t distance(const struct image_field *f, uint32_t addr)
{
    uint64_t end = (uint64_t)f->addr + f->bytes;

    return addr < f->addr ? f->addr - addr : addr >= end ? addr - end + 1 : 0;
}

static enum emu_status look_at_field(void *ctx, const struct image_field *f)
{
    struct nearest_field *n = ctx;
    uint64_t d = distance(f, n->addr);

    if (f->name[0] && f->bytes && d < n->distance) {
        n->distance = d;
        n->field = *f;
    }
    return EMU_OK;
}

static json_t *place_json(const struct nearest_field *n)
{
    const char *name = n->field.name;

    if (n->distance == UINT64_MAX)
        return NULL;
    if (!n->distance && n->field.use == 'r')
        return json_sprintf("in %s, which it only reads", name);
    if (!n->distance)
        return json_sprintf("in %s", name);
    if (n->addr < n->field.addr)
        return json_sprintf("%" PRIu64 " bytes before %s", n->distance, name);
    return json_sprintf("%" PRIu64 " bytes behind the end of %s", n->distance - 1, name);
}

static const struct image_vertex *find_vertex(const struct run *r, uint32_t chip, uint32_t tile,
                                              uint32_t site)
{
    const struct image_tile *t = run_image_tile(r, chip, tile);
    size_t n = 0;
    const struct image_vertex *v = t ? image_vertices_of(r->im, t->vertices, &n) : NULL;

    for (size_t i = 0; i < n; i++)
        if (v[i].addr == site)
            return &v[i];
    return NULL;
}

int run_check_put_vertex(const struct run *r, uint32_t chip, uint32_t tile,
                         const struct tile_check_report *c, json_t *o)
{
    const struct image_vertex *v = c->site ? find_vertex(r, chip, tile, c->site) : NULL;
    const struct initial memory = { r->im, run_image_tile(r, chip, tile) };
    const struct image_range *state;
    struct nearest_field n = { .addr = c->addr, .distance = UINT64_MAX };
    json_t *place;
    char codelet[64];

    if (!v || image_vertex_fields(r->im, v, initial_word, &memory, look_at_field, &n) != EMU_OK)
        return 1;
    image_vertex_codelet(r->im, v, codelet);
    state = image_range_at(r->im, memory.t, v->state);
    place = place_json(&n);
    return json_object_set_new(o, "codelet", json_string(codelet)) == 0 &&
           (!state ||
            json_object_set_new(o, "vertex", json_string(image_text(r->im, state->owner))) == 0) &&
           (!place || json_object_set_new(o, "field", place) == 0);
}
