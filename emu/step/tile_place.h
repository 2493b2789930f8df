/* tile_place.h - places in the memory of a tile, by address or by name, and what is there.
 *
 *   PLACE   BASE, BASE+OFFSET, BASE..END, BASE*COUNT; with @TILE after it: that tile. A tile and a
 *           colon before it mean the same: 3:acc. @CHIP.TILE: of that chip
 *   BASE    an address, decimal or with 0x; a symbol; what a range of memory is for, as the memory
 *           map names it; an input or output of the image; $mN, a register that holds an address
 *   TYPE    u8 i8 u16 i16 u32 i32 f16 f32 hex
 */
#ifndef EMU_TILE_PLACE_H
#define EMU_TILE_PLACE_H

#include <jansson.h>

#include "emu/job/case_value.h"
#include "emu/load/image.h"
#include "emu/tile/tile.h"

enum { PLACE_HEX = CASE_TYPE_COUNT, PLACE_NAME = 200 };

struct step_place {
    uint32_t chip, tile, addr;
    uint32_t bytes;        /* of what has the name, or of the range; 0: not known */
    uint32_t count;        /* of elements, of BASE*COUNT; 0: not given */
    unsigned type;         /* enum case_type or PLACE_HEX, as far as it is known; else PLACE_HEX */
    char name[PLACE_NAME]; /* as it was found; of an address "" */
};

/* Reads a place of a program; chip and tile are those where none is given, m the registers for $mN
 * (NULL: there are none). Chips count those of the system, of which replicas have the same image.
 * EMU_USAGE: what is wrong, with names that are like it. */
enum emu_status tile_place_read(const struct image *im, const char *text, uint32_t chip,
                                uint32_t tile, const uint32_t *m,
                                struct step_place *out) EMU_MUST_CHECK;

/* 0: there is no such type. "hex" is PLACE_HEX. */
int place_type_find(const char *name, unsigned *out);
const char *place_type_name(unsigned type);
uint32_t place_type_bytes(unsigned type);

/* "name+0x8", of code also with the line of its source: "dot+0x8 (dot.S:12)"; of bytes without a
 * symbol what the memory map says: "variable b/weights+0x10"; "" where nothing is known. */
void place_text(const struct image *im, uint32_t chip, uint32_t tile, uint32_t addr, char *out,
                size_t bytes);

/* Elements of tile memory as text: lines of 16 bytes with their addresses, each line with its
 * newline. Returns the number of elements that are there, fewer at the end of memory. */
uint32_t place_print(const struct tile *t, uint32_t addr, unsigned type, uint32_t count, FILE *f);
/* The same as {"tile", "address", "type", "values"}, numbers but for hex, which are texts; NULL
 * when out of memory. */
json_t *place_json(const struct tile *t, uint32_t addr, unsigned type, uint32_t count);
/* How many elements of its type the place has; where that is not known, one line of 16 bytes. */
uint32_t place_count(const struct step_place *p, unsigned type);

#endif
