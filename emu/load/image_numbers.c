/* image_numbers.c - which contents of an image are nothing but numbers: the timing engine does
 * without them (docs/timing_engine.md).
 */
#include "emu/load/image_internal.h"

#include <string.h>

#include "emu/base/alloc.h"

const char *image_timing_obstacle(const struct image *im)
{
    const char *depends = image_note(im, IMAGE_NOTE_DEPENDS);

    if (depends)
        return depends;
    return image_note(im, IMAGE_NOTE_NUMBERS) ? NULL : "calls without timing keys";
}

/* Whether a word of a list "a,b" is text. */
static int list_has(const char *list, const char *text)
{
    size_t n = strlen(text);

    while (*list) {
        const char *comma = strchrnul(list, ',');

        if ((size_t)(comma - list) == n && !memcmp(list, text, n))
            return 1;
        list = *comma ? comma + 1 : comma;
    }
    return 0;
}

enum emu_status image_numbers_new(const struct image *im, uint8_t **category)
{
    const char *list = image_note(im, IMAGE_NOTE_NUMBERS);

    *category = emu_alloc(im->text.items, 1);
    if (!*category)
        return FAIL(NO_MEMORY, "%zu categories", im->text.items);
    for (uint32_t i = 1; list && i < im->text.items; i++)
        (*category)[i] = (uint8_t)list_has(list, image_text(im, i));
    return EMU_OK;
}

int image_is_numbers(const struct image *im, const uint8_t *category, const struct image_tile *t,
                     const struct image_segment *s)
{
    const struct image_range *r = image_range_at(im, t, s->addr);

    return r && s->addr - r->addr + (uint64_t)s->bytes <= r->bytes && category[r->category];
}
