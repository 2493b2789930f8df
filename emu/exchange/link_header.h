/* link_header.h - the two words in front of what a tile sends to a tile of another chip [ASSUMED:
 * the layout is ours].
 *
 *   word 0   0 [31], 1 [30], 0 [29:21], byte address in the receiving tile's memory [20:0], a
 *            multiple of 4
 *   word 1   chip of the system [31:20], logical tile [19:7], words of payload [6:0], 1 to 64
 *
 * Bit 31 of word 0 is that of a request to the host (host_header.h), which has bit 30 clear.
 */
#ifndef EMU_LINK_HEADER_H
#define EMU_LINK_HEADER_H

#include <stdint.h>

enum {
    LINK_HEADER_MARK = 1 << 30, /* of word 0 */
    LINK_HEADER_ADDR_BITS = 21,
    LINK_HEADER_TILE_SHIFT = 7,
    LINK_HEADER_CHIP_SHIFT = 20,
    LINK_HEADER_WORDS = 2,  /* of the header itself */
    LINK_PAYLOAD_WORDS = 64 /* at most */
};

struct link_header {
    uint32_t chip, tile;
    uint32_t addr;  /* bytes */
    uint32_t words; /* of payload */
};

static inline void link_header_pack(const struct link_header *h, uint32_t word[2])
{
    word[0] = (uint32_t)LINK_HEADER_MARK | h->addr;
    word[1] = h->chip << LINK_HEADER_CHIP_SHIFT | h->tile << LINK_HEADER_TILE_SHIFT | h->words;
}

/* Whether it is a header of this kind rather than a request to the host. */
static inline int link_header_is(const uint32_t word[2])
{
    return word[0] >> 30 == 1;
}

/* Returns 0 when a reserved bit is set, the address is misaligned, or the words are none or too
 * many. The caller checks whether chip, tile and bytes exist. */
static inline int link_header_unpack(const uint32_t word[2], struct link_header *out)
{
    uint32_t rest = word[0] ^ (uint32_t)LINK_HEADER_MARK;

    out->addr = rest;
    out->chip = word[1] >> LINK_HEADER_CHIP_SHIFT;
    out->tile = word[1] >> LINK_HEADER_TILE_SHIFT & ((1u << 13) - 1);
    out->words = word[1] & ((1u << LINK_HEADER_TILE_SHIFT) - 1);
    return rest >> LINK_HEADER_ADDR_BITS == 0 && rest % 4 == 0 && out->words >= 1 &&
           out->words <= LINK_PAYLOAD_WORDS;
}

#endif
