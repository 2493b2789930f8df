/* run_input.c - what the host writes into tile memory before a run, and reads after it. */
#include "emu/job/run_image.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"

static enum emu_status find_input(const struct image *im, const char *name,
                                  const struct image_input **out)
{
    char list[400] = "none";
    size_t n = 0;

    for (size_t i = 0; i < image_input_count(im); i++) {
        const struct image_input *in = image_input_at(im, i);

        *out = in;
        if (!strcmp(image_text(im, in->name), name))
            return EMU_OK;
        if (n < sizeof(list))
            n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s (%" PRIu64 " x %s)",
                                  n ? ", " : "", image_text(im, in->name), in->elements,
                                  image_text(im, in->type));
    }
    return FAIL(USAGE, "the image has no input '%.60s'; it has %s", name, list);
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
        EMU_ASSERT(tile_write(machine_tile(r->machine, p->tile), p->addr, data, p->bytes));
    emu_free(data);
    return s;
}

static enum emu_status write_parts(struct run *r, const struct image_input *in, FILE *f)
{
    for (uint32_t i = 0; i < in->parts; i++)
        TRY(write_part(r, image_input_part_at(r->im, in->first_part + i), f));
    return fgetc(f) == EOF ? EMU_OK : FAIL(BAD_FILE, "it goes on after the last element");
}

enum emu_status run_input_file(struct run *r, const char *name, const char *path)
{
    const struct image_input *in;
    enum emu_status s;
    FILE *f;

    if (!r || !name)
        return FAIL(BAD_PROGRAM, "there is no run, or no name of an input");
    TRY(find_input(r->im, name, &in));
    f = fopen(path, "rb");
    if (!f)
        return FAIL(IO, "%.200s: %s", path, strerror(errno));
    s = write_parts(r, in, f);
    fclose(f);
    return s == EMU_OK
               ? EMU_OK
               : emu_fail(s, "%.200s: input %s takes %" PRIu64 " x %s, %" PRIu64 " bytes: %s", path,
                          name, in->elements, image_text(r->im, in->type),
                          in->elements * in->elem_bytes, emu_error());
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

enum emu_status run_input_write(struct run *r, const char *name, const void *data, uint64_t bytes)
{
    const struct image_input *in;
    const uint8_t *at = data;

    if (!r || !name)
        return FAIL(BAD_PROGRAM, "there is no run, or no name of an input");
    TRY(find_input(r->im, name, &in));
    TRY(check_size(r->im, in, bytes));
    for (uint32_t i = 0; i < in->parts; i++) {
        const struct image_input_part *p = image_input_part_at(r->im, in->first_part + i);

        EMU_ASSERT(tile_write(machine_tile(r->machine, p->tile), p->addr, at, p->bytes));
        at += p->bytes;
    }
    return EMU_OK;
}

static void read_parts(const struct run *r, const struct image_input *out, uint8_t *to)
{
    for (uint32_t i = 0; i < out->parts; i++) {
        const struct image_input_part *p = image_output_part_at(r->im, out->first_part + i);

        EMU_ASSERT(tile_read(machine_tile(r->machine, p->tile), p->addr, to, p->bytes));
        to += p->bytes;
    }
}

enum emu_status run_output_read(const struct run *r, const char *name, void *data, uint64_t bytes)
{
    if (!r || !name)
        return FAIL(BAD_PROGRAM, "there is no run, or no name of an output");
    for (size_t i = 0; i < image_output_count(r->im); i++) {
        const struct image_input *out = image_output_at(r->im, i);

        if (strcmp(image_text(r->im, out->name), name))
            continue;
        TRY(check_size(r->im, out, bytes));
        read_parts(r, out, data);
        return EMU_OK;
    }
    return FAIL(BAD_IMAGE, "the image has no output '%.60s'", name);
}
