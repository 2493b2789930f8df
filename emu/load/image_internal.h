/* image_internal.h - what the files of emu/load share: the definition of struct image, and the
 * constants of the file format (docs/image.md).
 *
 * Text, blobs and lists live in an arena and never move, so borrowed pointers stay valid as long as
 * the image; a hash index over each kind stores equal ones once. Zeros are never written into arena
 * memory, which is zero already: empty pages of blobs cost no host memory.
 */
#ifndef EMU_IMAGE_INTERNAL_H
#define EMU_IMAGE_INTERNAL_H

#include "emu/base/hash.h"
#include "emu/exchange/link_header.h"
#include "emu/load/image.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "image files are copied as they are");

enum {
    IMAGE_PAGE_BYTES =
        4096, /* chunk of a blob in a file, and the unit in which zeros are skipped */
    IMAGE_GROUP_CHUNKS = 64, /* chunks of one DATA section */
    IMAGE_GROUP_BYTES = IMAGE_GROUP_CHUNKS * IMAGE_PAGE_BYTES,
    IMAGE_FIXED_SECTIONS = 23,
    IMAGE_LIST_SECTIONS = 7,
    IMAGE_FORMAT_VERSION = 11,
    IMAGE_FORMAT_OF_ONE_CHIP = 10, /* without zones, channels and links, and chips of streams */
    IMAGE_FORMAT_WITHOUT_ORDERS = 9,
    IMAGE_FORMAT_WITHOUT_VERTICES = 8,
    IMAGE_FORMAT_WITHOUT_PAIRS = 7,
    IMAGE_FORMAT_WITHOUT_PARTS = 6,
    IMAGE_FORMAT_WITHOUT_KEYS = 5, /* and without parts. The oldest that is read: code of versions 1
                                      to 4 has other instruction words */
    IMAGE_FILE_HEADER_BYTES = 16,
    IMAGE_SECTION_HEADER_BYTES = 16,
    IMAGE_CHECKSUM_BYTES = 8,
    IMAGE_PAIR_RECORD_BYTES = 32,          /* in front of the lists of an exchange */
    IMAGE_CHANNEL_RECORD_BYTES = 8,        /* in front of the parts of channels */
    IMAGE_STREAM_RECORD_BYTES = 44,        /* of STRM */
    IMAGE_STREAM_WITHOUT_CHIP_BYTES = 40,  /* up to version 10 */
    IMAGE_STREAM_WITHOUT_ORDER_BYTES = 24, /* up to version 9 */
    IMAGE_MACHINE_BYTES_MAX = 1 << 20,
    IMAGE_TEXT_BYTES_MAX = 1 << 20,    /* one string, with its NUL */
    IMAGE_LIST_ITEMS_MAX = 1 << 24,    /* of one list */
    IMAGE_SECTION_BYTES_MAX = 1 << 30, /* of one section, decompressed */
    IMAGE_EXPANSION_MAX = 1024,        /* decompressed bytes per stored byte, above one group */
    IMAGE_STREAM_DEPTH_MAX = 1 << 16
};

/* Bytes of all blobs of one image together. */
#define IMAGE_BLOB_BYTES_MAX ((uint64_t)8 << 30)

#define IMAGE_MAGIC                                                                                \
    "\x89SSI\r\n\x1a\n" /* high bit, CR LF, EOF and LF: what text transfers damage */

#define IMAGE_FOURCC(a, b, c, d)                                                                   \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* Sections in file order; each has version 1. DATA stands once per group of chunks. */
enum image_section_type {
    IMAGE_MACH = IMAGE_FOURCC('M', 'A', 'C', 'H'),
    IMAGE_TEXT = IMAGE_FOURCC('T', 'E', 'X', 'T'),
    IMAGE_MAPS = IMAGE_FOURCC('M', 'A', 'P', 'S'),
    IMAGE_SYMB = IMAGE_FOURCC('S', 'Y', 'M', 'B'),
    IMAGE_LINE = IMAGE_FOURCC('L', 'I', 'N', 'E'),
    IMAGE_KEYS = IMAGE_FOURCC('K', 'E', 'Y', 'S'),
    IMAGE_XCHG = IMAGE_FOURCC('X', 'C', 'H', 'G'),
    IMAGE_VERT = IMAGE_FOURCC('V', 'E', 'R', 'T'),
    IMAGE_ORDR = IMAGE_FOURCC('O', 'R', 'D', 'R'),
    IMAGE_PAIR = IMAGE_FOURCC('P', 'A', 'I', 'R'),
    IMAGE_STRM = IMAGE_FOURCC('S', 'T', 'R', 'M'),
    IMAGE_SCOP = IMAGE_FOURCC('S', 'C', 'O', 'P'),
    IMAGE_ZONE = IMAGE_FOURCC('Z', 'O', 'N', 'E'),
    IMAGE_TILE = IMAGE_FOURCC('T', 'I', 'L', 'E'),
    IMAGE_SEGM = IMAGE_FOURCC('S', 'E', 'G', 'M'),
    IMAGE_BLOB = IMAGE_FOURCC('B', 'L', 'O', 'B'),
    IMAGE_INPT = IMAGE_FOURCC('I', 'N', 'P', 'T'),
    IMAGE_PART = IMAGE_FOURCC('P', 'A', 'R', 'T'),
    IMAGE_OUTP = IMAGE_FOURCC('O', 'U', 'T', 'P'),
    IMAGE_OPRT = IMAGE_FOURCC('O', 'P', 'R', 'T'),
    IMAGE_CHAN = IMAGE_FOURCC('C', 'H', 'A', 'N'),
    IMAGE_LINK = IMAGE_FOURCC('L', 'I', 'N', 'K'),
    IMAGE_NOTE = IMAGE_FOURCC('N', 'O', 'T', 'E'),
    IMAGE_DATA = IMAGE_FOURCC('D', 'A', 'T', 'A')
};

/* The end of the machine's memory, as 64 bits so that sums do not wrap. */
static inline uint64_t image_mem_end(const struct arch *a)
{
    return (uint64_t)a->mem_base + a->mem_bytes;
}

/* ---- image_pool.c ---- */

/* Zeroed memory that never moves. */
struct arena {
    struct arena_slab *last; /* owned */
    size_t used, total_bytes;
};

/* Hash index of 32-bit ids. The caller compares the candidates that a look-up gives, because only
 * 32 bits of each hash are kept. */
struct image_index_slot {
    uint32_t hash, id_plus_1; /* 0: free */
};

struct image_index {
    struct image_index_slot *slot; /* owned; a power of two of them, or NULL */
    size_t slots, used;
};

enum { INDEX_NONE = UINT32_MAX };

struct pool_item {
    const void *data; /* in the arena; NULL for 0 bytes */
    uint32_t bytes;
};

/* Things of one kind, each stored once; ids count from 0, which is the empty one. */
struct image_pool {
    struct pool_item *item; /* owned */
    size_t items, cap;
    struct image_index index;
};

/* All inputs, or all outputs, and their parts. */
struct image_inputs {
    struct image_input *item; /* owned, like the parts */
    size_t items, item_cap;
    struct image_input_part *part;
    size_t parts, part_cap;
};

struct image {
    struct arch arch;
    struct arena arena;
    struct image_pool text, blob, map, symbols, lines, keys, parts, vertices, orders;
    uint64_t blob_bytes;     /* of all blobs */
    struct image_tile *tile; /* owned, like the arrays below */
    size_t tiles, tile_cap;
    uint32_t chips; /* 1 and the highest of a tile */
    uint8_t
        zone[SYNC_ZONES]; /* enum sync_scope; all SCOPE_RESERVED: those that there always were */
    struct image_channel *channel;
    size_t channels, channel_cap;
    struct image_channel_part *channel_part;
    size_t channel_parts, channel_part_cap;
    struct image_link *link; /* ascend by chip, tile, address */
    size_t links, link_cap;
    struct image_segment *segment;
    size_t segments, segment_cap;
    struct image_stream *stream;
    size_t streams, stream_cap;
    struct image_scope *scope; /* of scope 1 on */
    size_t scopes, scope_cap;
    struct image_owner *owner; /* names ascend */
    size_t owners, owner_cap;
    struct image_inputs input, output;
    struct image_note *note;
    size_t notes, note_cap;
    struct image_traffic *traffic; /* numbers of exchanges ascend */
    size_t traffics, traffic_cap;
    struct image_index tile_index, stream_index;
    int lacks_numbers; /* it was read for the timing engine */
    /* What was read: lists lie in the contents of their sections. */
    uint8_t *section[IMAGE_LIST_SECTIONS]; /* owned */
    int keeps_lists;                       /* while they are read */
};

/* bytes of zeros, aligned to 16; NULL when out of memory. */
void *arena_alloc(struct arena *a, size_t bytes);
void arena_free(struct arena *a);

/* The first or next candidate for a hash; start with *cursor = 0. INDEX_NONE when there are no
 * more. */
uint32_t index_next(const struct image_index *x, uint64_t hash, size_t *cursor);
/* Makes room for one more entry, so that index_add cannot fail. */
enum emu_status index_reserve(struct image_index *x) EMU_MUST_CHECK;
void index_add(struct image_index *x, uint64_t hash, uint32_t id);
void index_free(struct image_index *x);

/* Whether all bytes are zero. */
int bytes_are_zero(const void *data, size_t bytes);
/* memcpy into memory that is zero: pages of zeros are not touched. */
void copy_nonzero_pages(void *to, const void *from, size_t bytes);

/* The id of a thing that equals data, INDEX_NONE if there is none. */
uint32_t pool_find(const struct image_pool *p, const void *data, uint32_t bytes);
/* The id of data, copied if it is new (blobs page by page, zeros left out); a NULL: it stays where
 * it is. On EMU_NO_MEMORY the pool is as before. */
enum emu_status pool_intern(struct image_pool *p, struct arena *a, const void *data, uint32_t bytes,
                            uint32_t *id) EMU_MUST_CHECK;
/* Appends a thing of zeros. The reader fills it in; then pool_index_item() makes it findable.
 */
enum emu_status pool_append_blank(struct image_pool *p, struct arena *a, uint32_t bytes,
                                  uint8_t **data) EMU_MUST_CHECK;
/* Makes item `id`, whose hash64() it is, findable, and sets *equal to id. If an equal item is
 * findable already, sets *equal to the id of that one and changes nothing else. */
enum emu_status pool_index_item(struct image_pool *p, uint32_t id, uint64_t hash,
                                uint32_t *equal) EMU_MUST_CHECK;
void pool_free(struct image_pool *p);

/* ---- image.c ---- */

/* Returns EMU_BAD_IMAGE when one more blob of `bytes` bytes would exceed the limits. */
enum emu_status image_blob_room(const struct image *im, uint32_t bytes) EMU_MUST_CHECK;

/* ---- image_traffic.c ---- */

/* Unpacks and checks who sends to whom for a machine whose phases say so. EMU_BAD_IMAGE,
 * EMU_NO_MEMORY. */
struct machine;
enum emu_status image_load_traffic(const struct image *im, struct machine *m) EMU_MUST_CHECK;

/* ---- image_numbers.c ---- */

/* By string id: 1 for the categories of memory that no control flow depends on. The caller frees
 * it. */
enum emu_status image_numbers_new(const struct image *im, uint8_t **category) EMU_MUST_CHECK;
/* Whether a segment holds nothing but such numbers. */
int image_is_numbers(const struct image *im, const uint8_t *category, const struct image_tile *t,
                     const struct image_segment *s);

/* ---- image_chips.c ---- */

/* The segment with the words of a link; NULL: memory that is zero. */
const struct image_segment *image_link_segment(const struct image *im, const struct image_link *l);
/* The header of link i, as it stands in the image; EMU_BAD_IMAGE where the words are none, or none
 * for a chip of the image. */
enum emu_status image_link_header(const struct image *im, size_t i,
                                  struct link_header *out) EMU_MUST_CHECK;

/* ---- image_section.c ---- */

/* A buffer that grows. Zero it before the first use. */
struct byte_buffer {
    uint8_t *data; /* owned */
    size_t cap;
};

/* Makes room for `bytes` bytes; the old contents may be lost. data is not NULL afterwards. */
enum emu_status byte_buffer_need(struct byte_buffer *b, size_t bytes) EMU_MUST_CHECK;
void byte_buffer_free(struct byte_buffer *b);

/* A section after decompression and after its checksum was verified. */
struct image_section {
    uint32_t type;
    uint64_t offset;        /* of its header in the file */
    struct byte_buffer raw; /* owned; reused by the next section_read() into it */
    size_t bytes;           /* of raw */
};

/* A section as it stands in the file, after its checksum was verified. */
struct stored_section {
    uint32_t type;
    uint64_t offset;         /* of its header in the file */
    const uint8_t *front;    /* 8 bytes before the header, header, data: in `copy` or the source */
    const uint8_t *data;     /* within front */
    size_t bytes, raw_bytes; /* of data; after decompression */
    struct byte_buffer copy; /* owned; reused by the next section_fetch() into it */
};

/* A file (fd >= 0) or bytes in memory, read section by section from front to back. */
struct section_source {
    const char *name; /* for messages */
    const uint8_t *memory;
    int fd;
    uint64_t bytes, at;
    uint32_t sections; /* the file header says so */
    uint32_t version;  /* of the format */
    uint8_t
        before[IMAGE_CHECKSUM_BYTES]; /* the bytes in front of `at`; every checksum covers them */
    struct stored_section stored;     /* of section_read() */
    void *zstd;                       /* a ZSTD_DCtx */
};

/* Reads and checks the file header. Errors: EMU_BAD_IMAGE, EMU_IO, EMU_NO_MEMORY. */
enum emu_status section_source_start(struct section_source *src) EMU_MUST_CHECK;
/* Sections besides DATA that a file of its version has: version 11 has three more than the one
 * before it, each of those one more. */
static inline uint32_t section_source_fixed(const struct section_source *src)
{
    return src->version > IMAGE_FORMAT_OF_ONE_CHIP
               ? IMAGE_FIXED_SECTIONS
               : IMAGE_FIXED_SECTIONS - 3 - (IMAGE_FORMAT_OF_ONE_CHIP - src->version);
}
void section_source_free(struct section_source *src);

/* Reads the next section, which must be of this type and decompress to at most bytes_max. */
enum emu_status section_read(struct section_source *src, uint32_t type, size_t bytes_max,
                             struct image_section *out) EMU_MUST_CHECK;

/* The two halves of section_read(). Sections must be fetched in turn; what was fetched can be
 * unpacked by any thread that has a ZSTD_DCtx, as long as the source and `from` are there. name is
 * for messages. */
enum emu_status section_fetch(struct section_source *src, uint32_t type, size_t bytes_max,
                              struct stored_section *out) EMU_MUST_CHECK;
enum emu_status section_unpack(const char *name, void *zstd, const struct stored_section *from,
                               struct image_section *out) EMU_MUST_CHECK;

/* The four letters of a type and a NUL. */
void section_type_text(uint32_t type, char out[5]);

/* ---- image_write.c ---- */

/* ss_image_write() into an open file; name is for messages. The file is neither truncated nor
 * closed.
 */
enum emu_status image_write_fd(const struct image *im, int fd, const char *name) EMU_MUST_CHECK;

#endif
