/* fuzz_picture.c - any bytes as a picture: refused with a message, or decoded and cut. */
#include <stdint.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/picture/picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIDE = 9 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct picture_recipe recipe = picture_recipe_of_share(SIDE, SIDE, 0.875);
    struct picture p, cut;

    if (picture_read_bytes(data, size, "fuzz", &p) != EMU_OK) {
        EMU_ASSERT(!strncmp(ss_error(), "fuzz:", 5) || strstr(ss_error(), "memory"));
        EMU_ASSERT(!p.rgb && alloc_live() == 0);
        return 0;
    }
    EMU_ASSERT(p.rgb && p.width && p.height);
    EMU_ASSERT(picture_crop(&p, &recipe, &cut) == EMU_OK);
    EMU_ASSERT(cut.width == SIDE && cut.height == SIDE);
    picture_free(&cut);
    picture_free(&p);
    EMU_ASSERT(alloc_live() == 0);
    return 0;
}
