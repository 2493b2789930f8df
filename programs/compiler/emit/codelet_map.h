/* codelet_map.h - the code of codelets in an image: bytes, ranges, symbols and source lines, the
 * same on every tile.
 */
#ifndef PROGRAMS_CODELET_MAP_H
#define PROGRAMS_CODELET_MAP_H

#include "programs/compiler/base/codelet.h"

struct codelet_map {
    struct image_segment segment; /* no bytes: there are no codelets */
    struct image_range *range;    /* owned; ascending */
    struct image_symbol *symbol;  /* owned; by address */
    size_t ranges, symbols;
    uint32_t lines; /* the image's list of source lines */
};

/* Puts the codelets into the image. category: the image's string for vertex code. end: where other
 * code begins; the bytes up to it are filled. Free with codelet_map_free, also on failure. Errors:
 * EMU_NO_MEMORY, EMU_BAD_IMAGE. */
enum emu_status codelet_map_init(const struct codelet_code *c, struct image *im, uint32_t category,
                                 uint32_t end, struct codelet_map *out) EMU_MUST_CHECK;
void codelet_map_free(struct codelet_map *m);

#endif
