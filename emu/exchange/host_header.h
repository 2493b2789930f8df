/* host_header.h - the two words a tile sends to the host route to ask for a transfer [ASSUMED: the
 * layout is ours].
 *
 *   word 0   to_host [31], 0 [30:21], byte address in the tile's memory [20:0], a multiple of 4
 *   word 1   stream [31:19], words of 4 bytes [18:0]
 */
#ifndef EMU_HOST_HEADER_H
#define EMU_HOST_HEADER_H

#include <stdint.h>

enum {
    HOST_HEADER_ADDR_BITS = 21,
    HOST_HEADER_WORDS_BITS = 19,
    HOST_HEADER_STREAMS = 1 << (32 - HOST_HEADER_WORDS_BITS)
};

struct host_header {
    uint32_t stream; /* below HOST_HEADER_STREAMS */
    uint32_t addr;   /* bytes */
    uint32_t bytes;  /* a multiple of 4 */
    int to_host;     /* 1: the tile's bytes go to the host; 0: the host's come to the tile */
};

static inline void host_header_pack(const struct host_header *h, uint32_t word[2])
{
    word[0] = (h->to_host ? 1u << 31 : 0) | h->addr;
    word[1] = h->stream << HOST_HEADER_WORDS_BITS | h->bytes / 4;
}

/* Returns 0 when a reserved bit is set or the address is misaligned. The caller checks whether the
 * bytes lie in memory. */
static inline int host_header_unpack(const uint32_t word[2], struct host_header *out)
{
    uint32_t rest = word[0] & 0x7fffffffu;

    out->to_host = (int)(word[0] >> 31);
    out->addr = rest;
    out->stream = word[1] >> HOST_HEADER_WORDS_BITS;
    out->bytes = (word[1] & ((1u << HOST_HEADER_WORDS_BITS) - 1)) * 4;
    return rest >> HOST_HEADER_ADDR_BITS == 0 && rest % 4 == 0;
}

#endif
