/* image_reader.h - a file on its way into an image; private to the reader of files.
 */
#ifndef EMU_IMAGE_READER_H
#define EMU_IMAGE_READER_H

#include "emu/load/image_internal.h"

enum { NO_ITEM = -1 };

/* Where a chunk goes first; other places copy it from there. */
struct chunk_place {
    uint8_t *at; /* in the arena; NULL: nowhere */
    uint32_t bytes;
};

/* The parts of section BLOB. */
struct blob_table {
    const uint32_t *bytes, *ref; /* of every blob; of every page of every blob, 0: zeros */
    const uint8_t *hash;         /* HASH_BYTES of every chunk */
    uint32_t blobs, chunks;
    struct chunk_place *place; /* owned, one per chunk */
    uint8_t *wanted;           /* owned, by number of the blob from 0; NULL: all are */
};

struct image_reader {
    struct section_source src;
    struct image_section section; /* the one being looked at, or DATA */
    struct image_section tile, segm, blob, part, link;
    struct blob_table table;
    struct image_index hashes;
    struct image *im;
    int for_timing;
};

/* "file: offset: section, item: why" with EMU_BAD_IMAGE. */
EMU_PRINTF(4, 5)
enum emu_status image_refuse(const struct image_reader *r, const struct image_section *s,
                             long long item, const char *fmt, ...);
/* What a builder function said about an item of a section. */
enum emu_status image_refused(const struct image_reader *r, const struct image_section *s,
                              long long item, enum emu_status status) EMU_MUST_CHECK;

/* Reads a section of records that have so many bytes each; *n: how many there are. */
enum emu_status image_read_records(struct image_reader *r, uint32_t type, size_t record_bytes,
                                   struct image_section *out, size_t *n) EMU_MUST_CHECK;

/* image_read_chips.c, of versions that have them: the scopes of zones; channels and links, when
 * tiles are known; whether links are headers, when blobs have their bytes. */
enum emu_status image_read_zones(struct image_reader *r) EMU_MUST_CHECK;
enum emu_status image_read_chips(struct image_reader *r) EMU_MUST_CHECK;
enum emu_status image_check_headers(const struct image_reader *r) EMU_MUST_CHECK;

/* The sections of lists (image_lists.c). */
enum emu_status image_read_lists(struct image_reader *r) EMU_MUST_CHECK;
/* Section PAIR, of versions that have it (image_lists.c). */
enum emu_status image_read_traffic(struct image_reader *r) EMU_MUST_CHECK;

#endif
