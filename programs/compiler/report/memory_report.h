/* memory_report.h - what the bytes of every tile are for: by category, by owner, at the worst
 * moment.
 *
 * The memory of a tile consists of code and objects, gaps between them, and free bytes. Every byte
 * of code and objects has one category. Where objects share a byte at different times, it counts
 * for the one in use at the worst moment, or for the first if none is. memory_report_init() proves
 * that these bytes add up to the memory exactly, and agree with the image.
 */
#ifndef PROGRAMS_MEMORY_REPORT_H
#define PROGRAMS_MEMORY_REPORT_H

#include "programs/compiler/compiled.h"

struct tile_usage {
    uint64_t category[CATEGORY_COUNT]; /* bytes of the memory */
    uint64_t peak[CATEGORY_COUNT];     /* bytes in use at the worst moment */
    uint64_t used, gap, free;          /* used: the sum of category */
    uint64_t total; /* used + gap + free: the memory, or what the tile would need if that is more */
};

struct category_total {
    uint64_t bytes;     /* on all tiles */
    uint64_t most;      /* on one tile */
    uint32_t most_tile; /* logical number */
};

enum { FULLEST_TILES = 5 };

struct memory_report {
    const struct compiled *c; /* borrowed */
    struct tile_usage *tile;  /* by index in used_tile; owned */
    uint32_t tiles;
    size_t *first;    /* by index in used_tile, and one more: in object; owned */
    uint32_t *object; /* owned */
    struct category_total category[CATEGORY_COUNT], used, gap, free;
    uint32_t fullest[FULLEST_TILES]; /* indices in used_tile; the fullest first */
    uint32_t fullest_count;
    uint32_t over; /* tiles that do not fit */
};

/* Errors: EMU_BAD_PROGRAM where the sums do not agree (a fault of the compiler; ss_error() names
 * the tile), EMU_NO_MEMORY. c is borrowed. Free with memory_report_free, also on failure. */
enum emu_status memory_report_init(const struct compiled *c,
                                   struct memory_report *out) EMU_MUST_CHECK;
/* Only the lists of objects: no figures and no proof. EMU_NO_MEMORY. */
enum emu_status memory_report_list(const struct compiled *c,
                                   struct memory_report *out) EMU_MUST_CHECK;
void memory_report_free(struct memory_report *a);

/* Bytes of one owner and category of a tile. */
struct owner_bytes {
    const char *owner; /* borrowed from the program or the image; not NULL */
    enum category category;
    uint64_t bytes;
};
/* What is in use on a tile (index in used_tile) at its worst moment, code included; the largest
 * first. *out: ss_free it. EMU_NO_MEMORY only. */
enum emu_status memory_report_owners(const struct memory_report *a, uint32_t tile,
                                     struct owner_bytes **out, size_t *owners) EMU_MUST_CHECK;

enum { REPORT_BINS = 16 };
/* Counts the tiles that fit by the bytes they use: bin i has those with i * width <= bytes <
 * (i + 1) * width. Returns the width. */
uint64_t memory_report_histogram(const struct memory_report *a, uint32_t bin[REPORT_BINS]);

/* Whether the code and the objects of a tile (index in used_tile) fit into its memory. */
int tile_fits(const struct memory_report *a, uint32_t tile);
/* "step 12 'conv/multiply' (exchange)" */
void describe_step(const struct lowered *l, uint32_t step, char *out, size_t bytes);

/* "chip 1: " where there are several, else nothing. */
struct chip_name {
    char at[24];
};
struct chip_name report_chip(const struct compiled *c);

#endif
