/* image_input.c - what the host writes into tile memory before a program runs: named inputs, each
 * in parts on tiles.
 */
#include "emu/load/image_internal.h"

#include <string.h>

#include "emu/base/alloc.h"

static enum emu_status check_part(const struct image *im, size_t i,
                                  const struct image_input_part *p)
{
    uint64_t end = (uint64_t)p->addr + p->bytes;

    if (!image_find_tile(im, p->chip, p->tile))
        return FAIL(BAD_IMAGE, "part %zu of an input: tile %u of chip %u takes no part", i, p->tile,
                    p->chip);
    if (!p->bytes || p->addr < im->arch.mem_base || end > image_mem_end(&im->arch))
        return FAIL(BAD_IMAGE, "part %zu of an input: %u bytes at 0x%x, expected some of memory", i,
                    p->bytes, p->addr);
    if (p->blob >= im->blob.items || (p->blob && im->blob.item[p->blob].bytes < p->bytes))
        return FAIL(BAD_IMAGE, "part %zu of an input: blob %u, expected 0 or one of %u bytes", i,
                    p->blob, p->bytes);
    return EMU_OK;
}

static enum emu_status check_input(const struct image *im, const struct image_input *in,
                                   const struct image_input_part *p)
{
    uint64_t bytes = 0;

    if (!in->name || in->name >= im->text.items || in->type >= im->text.items)
        return FAIL(BAD_IMAGE, "an input: name %u and type %u, expected strings", in->name,
                    in->type);
    for (size_t i = 0; i < im->inputs; i++) {
        if (im->input[i].name == in->name)
            return FAIL(BAD_IMAGE, "two inputs are called %s", image_text(im, in->name));
    }
    if (!in->elem_bytes || in->elements > UINT64_MAX / in->elem_bytes)
        return FAIL(BAD_IMAGE, "input %s: elements of %u bytes", image_text(im, in->name),
                    in->elem_bytes);
    for (size_t i = 0; i < in->parts; i++) {
        TRY(check_part(im, i, &p[i]));
        bytes += p[i].bytes;
    }
    if (!bytes || bytes != in->elements * in->elem_bytes)
        return FAIL(BAD_IMAGE, "input %s: parts of %llu bytes, expected the %llu of its elements",
                    image_text(im, in->name), (unsigned long long)bytes,
                    (unsigned long long)(in->elements * in->elem_bytes));
    return EMU_OK;
}

enum emu_status image_add_input(struct image *im, const struct image_input *in,
                                const struct image_input_part *p)
{
    struct image_input add = *in;

    TRY(check_input(im, in, p));
    for (uint32_t i = 0; i < in->parts; i++)
        TRY(emu_grow((void **)&im->input_part, im->input_parts + i, &im->input_part_cap,
                     sizeof(*im->input_part)));
    TRY(emu_grow((void **)&im->input, im->inputs, &im->input_cap, sizeof(*im->input)));
    add.first_part = (uint32_t)im->input_parts;
    memcpy(im->input_part + im->input_parts, p, in->parts * sizeof(*p));
    im->input_parts += in->parts;
    im->input[im->inputs++] = add;
    return EMU_OK;
}

size_t image_input_count(const struct image *im)
{
    return im->inputs;
}

const struct image_input *image_input_at(const struct image *im, size_t i)
{
    EMU_ASSERT(i < im->inputs);
    return &im->input[i];
}

const struct image_input_part *image_input_part_at(const struct image *im, size_t i)
{
    EMU_ASSERT(i < im->input_parts);
    return &im->input_part[i];
}
