/* image_input.c - what the host writes into tile memory before a program runs and reads after it:
 * named inputs and outputs, each in parts on tiles; and notes for who runs the image.
 */
#include "emu/load/image_internal.h"

#include <string.h>

#include "emu/base/alloc.h"

/* what: "input" or "output", for messages. */
static enum emu_status check_part(const struct image *im, const char *what, size_t i,
                                  const struct image_input_part *p)
{
    uint64_t end = (uint64_t)p->addr + p->bytes;

    if (!image_find_tile(im, p->chip, p->tile))
        return FAIL(BAD_IMAGE, "part %zu of an %s: tile %u of chip %u takes no part", i, what,
                    p->tile, p->chip);
    if (!p->bytes || p->addr < im->arch.mem_base || end > image_mem_end(&im->arch))
        return FAIL(BAD_IMAGE, "part %zu of an %s: %u bytes at 0x%x, expected some of memory", i,
                    what, p->bytes, p->addr);
    if (p->blob >= im->blob.items || (p->blob && im->blob.item[p->blob].bytes < p->bytes))
        return FAIL(BAD_IMAGE, "part %zu of an %s: blob %u, expected 0 or one of %u bytes", i, what,
                    p->blob, p->bytes);
    return EMU_OK;
}

static enum emu_status check(const struct image *im, const char *what, const struct image_inputs *l,
                             const struct image_input *in, const struct image_input_part *p)
{
    uint64_t bytes = 0;

    if (!in->name || in->name >= im->text.items || in->type >= im->text.items)
        return FAIL(BAD_IMAGE, "an %s: name %u and type %u, expected strings", what, in->name,
                    in->type);
    for (size_t i = 0; i < l->items; i++) {
        if (l->item[i].name == in->name)
            return FAIL(BAD_IMAGE, "two %ss are called %s", what, image_text(im, in->name));
    }
    if (!in->elem_bytes || in->elements > UINT64_MAX / in->elem_bytes)
        return FAIL(BAD_IMAGE, "%s %s: elements of %u bytes", what, image_text(im, in->name),
                    in->elem_bytes);
    for (size_t i = 0; i < in->parts; i++) {
        TRY(check_part(im, what, i, &p[i]));
        bytes += p[i].bytes;
    }
    if (!bytes || bytes != in->elements * in->elem_bytes)
        return FAIL(BAD_IMAGE, "%s %s: parts of %llu bytes, expected the %llu of its elements",
                    what, image_text(im, in->name), (unsigned long long)bytes,
                    (unsigned long long)(in->elements * in->elem_bytes));
    return EMU_OK;
}

static enum emu_status add(struct image_inputs *l, const struct image_input *in,
                           const struct image_input_part *p)
{
    struct image_input new = *in;

    for (uint32_t i = 0; i < in->parts; i++)
        TRY(emu_grow((void **)&l->part, l->parts + i, &l->part_cap, sizeof(*l->part)));
    TRY(emu_grow((void **)&l->item, l->items, &l->item_cap, sizeof(*l->item)));
    new.first_part = (uint32_t)l->parts;
    memcpy(l->part + l->parts, p, in->parts * sizeof(*p));
    l->parts += in->parts;
    l->item[l->items++] = new;
    return EMU_OK;
}

enum emu_status image_add_input(struct image *im, const struct image_input *in,
                                const struct image_input_part *p)
{
    TRY(check(im, "input", &im->input, in, p));
    return add(&im->input, in, p);
}

enum emu_status image_fill_input(struct image *im, const char *name, const void *data)
{
    const uint8_t *at = data;

    for (size_t i = 0; i < im->input.items; i++) {
        const struct image_input *in = &im->input.item[i];

        if (strcmp(image_text(im, in->name), name) != 0)
            continue;
        for (uint32_t k = 0; k < in->parts; k++) {
            struct image_input_part *p = &im->input.part[in->first_part + k];

            TRY(image_blob(im, at, p->bytes, &p->blob));
            at += p->bytes;
        }
        return EMU_OK;
    }
    return FAIL(BAD_IMAGE, "the image has no input '%.60s'", name);
}

enum emu_status image_add_output(struct image *im, const struct image_input *out,
                                 const struct image_input_part *p)
{
    TRY(check(im, "output", &im->output, out, p));
    for (size_t i = 0; i < out->parts; i++) {
        if (p[i].blob)
            return FAIL(BAD_IMAGE, "part %zu of an output: blob %u, expected 0", i, p[i].blob);
    }
    return add(&im->output, out, p);
}

enum emu_status image_add_note(struct image *im, const struct image_note *n)
{
    if (!n->name || !n->text || n->name >= im->text.items || n->text >= im->text.items)
        return FAIL(BAD_IMAGE, "a note: name %u and text %u, expected strings", n->name, n->text);
    if (image_note(im, image_text(im, n->name)))
        return FAIL(BAD_IMAGE, "two notes are called %s", image_text(im, n->name));
    TRY(emu_grow((void **)&im->note, im->notes, &im->note_cap, sizeof(*im->note)));
    im->note[im->notes++] = *n;
    return EMU_OK;
}

enum emu_status image_add_note_text(struct image *im, const char *name, const char *text)
{
    struct image_note n;

    TRY(image_string(im, name, &n.name));
    TRY(image_string(im, text, &n.text));
    return image_add_note(im, &n);
}

/* ---- views ---- */

static const struct image_input *item_at(const struct image_inputs *l, size_t i)
{
    EMU_ASSERT(i < l->items);
    return &l->item[i];
}

static const struct image_input_part *part_at(const struct image_inputs *l, size_t i)
{
    EMU_ASSERT(i < l->parts);
    return &l->part[i];
}

static size_t find(const struct image *im, const struct image_inputs *l, const char *name)
{
    uint32_t id = image_find_string(im, name);
    size_t i = 0;

    while (i < l->items && l->item[i].name != id)
        i++;
    return i;
}

size_t image_input_count(const struct image *im)
{
    return im->input.items;
}

const struct image_input *image_input_at(const struct image *im, size_t i)
{
    return item_at(&im->input, i);
}

const struct image_input_part *image_input_part_at(const struct image *im, size_t i)
{
    return part_at(&im->input, i);
}

size_t image_output_count(const struct image *im)
{
    return im->output.items;
}

const struct image_input *image_output_at(const struct image *im, size_t i)
{
    return item_at(&im->output, i);
}

const struct image_input_part *image_output_part_at(const struct image *im, size_t i)
{
    return part_at(&im->output, i);
}

size_t image_input_find(const struct image *im, const char *name)
{
    return find(im, &im->input, name);
}

size_t image_output_find(const struct image *im, const char *name)
{
    return find(im, &im->output, name);
}

const char *image_note(const struct image *im, const char *name)
{
    for (size_t i = 0; i < im->notes; i++) {
        if (!strcmp(image_text(im, im->note[i].name), name))
            return image_text(im, im->note[i].text);
    }
    return NULL;
}
