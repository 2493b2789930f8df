/* run_input.c - what the host writes into tile memory before a run, and reads after it. */
#include "emu/job/run_image.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"

/* Inputs or outputs of an image. */
struct value_list {
    const char *kind;
    size_t (*count)(const struct image *im);
    const struct image_input *(*at)(const struct image *im, size_t i);
    const struct image_input_part *(*part)(const struct image *im, size_t i);
};

static const struct value_list inputs = { "input", image_input_count, image_input_at,
                                          image_input_part_at };
static const struct value_list outputs = { "output", image_output_count, image_output_at,
                                           image_output_part_at };

/* The names that there are, as far as they go. */
static void list_values(const struct image *im, const struct value_list *l, char text[400])
{
    size_t n = 0;

    snprintf(text, 400, "none");
    for (size_t i = 0; i < l->count(im) && n < 400; i++) {
        const struct image_input *x = l->at(im, i);

        n += (size_t)snprintf(text + n, 400 - n, "%s%s (%" PRIu64 " x %s)", n ? ", " : "",
                              image_text(im, x->name), x->elements, image_text(im, x->type));
    }
}

static enum emu_status no_value(const struct image *im, const char *name,
                                const struct value_list *l)
{
    char list[400];

    list_values(im, l, list);
    return FAIL(USAGE, "the image has no %s '%.60s'; it has %s", l->kind, name, list);
}

/* Notes that an input was written. */
static enum emu_status note_written(struct run *r, size_t input)
{
    while (r->inputs <= input) {
        TRY(emu_grow((void **)&r->written, r->inputs, &r->written_cap, sizeof(*r->written)));
        r->written[r->inputs++] = 0;
    }
    r->written[input] = 1;
    return EMU_OK;
}

/* Into the tile of every replica. */
static void put_part(struct run *r, const struct image_input_part *p, const uint8_t *data)
{
    for (uint32_t c = p->chip; c < r->chips; c += image_chip_count(r->im))
        EMU_ASSERT(
            tile_write(machine_tile(machine_of_chip(r, c), p->tile), p->addr, data, p->bytes));
}

static enum emu_status write_part(struct run *r, const struct image_input_part *p, FILE *f)
{
    uint8_t *data = emu_alloc(p->bytes, 1);
    enum emu_status s = EMU_OK;

    if (!data)
        return FAIL(NO_MEMORY, "%u bytes of an input", p->bytes);
    if (fread(data, 1, p->bytes, f) != p->bytes)
        s = FAIL(BAD_FILE, "it ends too early");
    else
        put_part(r, p, data);
    ss_free(data);
    return s;
}

static enum emu_status write_parts(struct run *r, const struct image_input *in, FILE *f)
{
    for (uint32_t i = 0; i < in->parts; i++)
        TRY(write_part(r, image_input_part_at(r->im, in->first_part + i), f));
    return fgetc(f) == EOF ? EMU_OK : FAIL(BAD_FILE, "it goes on after the last element");
}

enum emu_status ss_run_input_file(struct run *r, const char *name, const char *path)
{
    const struct image_input *in;
    enum emu_status s;
    size_t i;
    FILE *f;

    if (!r || !name)
        return FAIL(BAD_PROGRAM, "there is no run, or no name of an input");
    i = image_input_find(r->im, name);
    if (i == image_input_count(r->im))
        return no_value(r->im, name, &inputs);
    in = image_input_at(r->im, i);
    f = fopen(path, "rb");
    if (!f)
        return FAIL(IO, "%.200s: %s", path, strerror(errno));
    s = write_parts(r, in, f);
    fclose(f);
    return s == EMU_OK
               ? note_written(r, i)
               : ss_fail(s, "%.200s: input %s takes %" PRIu64 " x %s, %" PRIu64 " bytes: %s", path,
                         name, in->elements, image_text(r->im, in->type),
                         in->elements * in->elem_bytes, ss_error());
}

/* ---- from and to memory ---- */

static enum emu_status check_size(const struct image *im, const struct image_input *in,
                                  uint64_t bytes)
{
    if (bytes == in->elements * in->elem_bytes)
        return EMU_OK;
    return FAIL(BAD_IMAGE, "%s of the image has %" PRIu64 " bytes, expected %" PRIu64,
                image_text(im, in->name), in->elements * in->elem_bytes, bytes);
}

/* Without values there is nothing to write. */
static enum emu_status write_value(struct run *r, const struct value_list *l, size_t i,
                                   const void *data, uint64_t bytes)
{
    const struct image_input *x = l->at(r->im, i);
    const uint8_t *at = data;

    TRY(check_size(r->im, x, bytes));
    for (uint32_t k = 0; k < x->parts && ss_run_has_values(r); k++) {
        const struct image_input_part *p = l->part(r->im, x->first_part + k);

        put_part(r, p, at);
        at += p->bytes;
    }
    return l == &inputs ? note_written(r, i) : EMU_OK;
}

enum emu_status ss_run_input_write(struct run *r, const char *name, const void *data,
                                   uint64_t bytes)
{
    size_t i;

    if (!r || !name)
        return FAIL(BAD_PROGRAM, "there is no run, or no name of an input");
    i = image_input_find(r->im, name);
    if (i == image_input_count(r->im))
        return no_value(r->im, name, &inputs);
    return write_value(r, &inputs, i, data, bytes);
}

enum emu_status ss_run_value_write(struct run *r, const char *name, const void *data,
                                   uint64_t bytes)
{
    size_t i;

    if (!r || !name)
        return FAIL(BAD_PROGRAM, "there is no run, or no name of a value");
    i = image_input_find(r->im, name);
    if (i < image_input_count(r->im))
        return write_value(r, &inputs, i, data, bytes);
    i = image_output_find(r->im, name);
    if (i < image_output_count(r->im))
        return write_value(r, &outputs, i, data, bytes);
    return no_value(r->im, name, image_input_count(r->im) ? &inputs : &outputs);
}

const char *run_input_missing(const struct run *r)
{
    for (size_t i = 0; i < image_input_count(r->im); i++) {
        const struct image_input *in = image_input_at(r->im, i);

        if (i < r->inputs && r->written[i])
            continue;
        for (uint32_t k = 0; k < in->parts; k++) {
            if (!image_input_part_at(r->im, in->first_part + k)->blob)
                return image_text(r->im, in->name);
        }
    }
    return NULL;
}

enum emu_status ss_run_output_read(const struct run *r, const char *name, void *data,
                                   uint64_t bytes)
{
    const struct image_input *out;
    uint8_t *to = data;
    size_t i;

    if (!r || !name)
        return FAIL(BAD_PROGRAM, "there is no run, or no name of an output");
    i = image_output_find(r->im, name);
    if (i == image_output_count(r->im))
        return FAIL(BAD_IMAGE, "the image has no output '%.60s'", name);
    out = image_output_at(r->im, i);
    TRY(check_size(r->im, out, bytes));
    for (uint32_t k = 0; k < out->parts; k++) {
        const struct image_input_part *p = image_output_part_at(r->im, out->first_part + k);

        EMU_ASSERT(
            tile_read(machine_tile(machine_of_chip(r, p->chip), p->tile), p->addr, to, p->bytes));
        to += p->bytes;
    }
    return EMU_OK;
}
