/* profile_store.h - what a run leaves behind, as one SQLite file: tables of machine, memory, cycles
 * (docs/profile.md; profile.sql). It is put together in memory and written when it is whole. Rows
 * and queries are those of sweeps, too, whose file grows point by point (sweep_store.h).
 *
 *   profile_store.c    rows in, a file out; a file in, queries
 *   profile_pack.c     lists of numbers as blobs
 *   profile_add.c      what the machine knows: image and record; profile_memory.c
 *   profile_chips.c    chips of a system: their rows alone, and what joins them
 *
 * Who writes calls profile_new, profile_row and profile_write; rows keep the first error, which
 * profile_write() returns, so that nobody needs a test after every line. Who reads calls
 * profile_read and profile_query.
 */
#ifndef EMU_PROFILE_STORE_H
#define EMU_PROFILE_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/base/fail.h"

struct image;
struct profile;
struct record;

enum { PROFILE_VERSION = 5, SWEEP_VERSION = 3, SWEEP_APPLICATION = 0x73777031 };

/* ---- writing ---- */

/* An empty profile. threads: that pack lists of numbers; 0: all cores. EMU_NO_MEMORY. Free with
 * profile_free (NULL allowed). */
enum emu_status profile_new(unsigned threads, struct profile **out) EMU_MUST_CHECK;
void profile_free(struct profile *p);

/* A column of a row. Texts and blobs are copied. */
enum profile_kind { PROFILE_NONE, PROFILE_INTEGER, PROFILE_REAL, PROFILE_TEXT, PROFILE_BLOB };
struct profile_value {
    enum profile_kind kind;
    uint64_t integer; /* PROFILE_BLOB: its bytes */
    double real;
    const void *data;
};
#define PROFILE_N    ((struct profile_value){ .kind = PROFILE_NONE })
#define PROFILE_I(x) ((struct profile_value){ .kind = PROFILE_INTEGER, .integer = (uint64_t)(x) })
#define PROFILE_R(x) ((struct profile_value){ .kind = PROFILE_REAL, .real = (x) })
#define PROFILE_T(x) ((struct profile_value){ .kind = PROFILE_TEXT, .data = (x) })
#define PROFILE_B(x, n)                                                                            \
    ((struct profile_value){ .kind = PROFILE_BLOB, .data = (x), .integer = (n) })

/* Adds a row to a table of profile.sql: a value for each of its columns (EMU_ASSERT). Text that is
 * no UTF-8 may be stored; readers get it back. */
void profile_put(struct profile *p, const char *table, const struct profile_value *v, size_t n);
#define PROFILE_ROW(p, table, ...)                                                                 \
    profile_put(p, table, (const struct profile_value[]){ __VA_ARGS__ },                           \
                sizeof((const struct profile_value[]){ __VA_ARGS__ }) /                            \
                    sizeof(struct profile_value))
/* The same with a last column: numbers as a packed blob. The other columns are integers. numbers
 * are copied. Errors: those of rows, EMU_NO_MEMORY. */
enum emu_status profile_put_numbers(struct profile *p, const char *table,
                                    const struct profile_value *v, size_t n, const uint32_t *number,
                                    size_t numbers) EMU_MUST_CHECK;
/* The id of a text in the table of names, which gets it where it does not have it. */
uint32_t profile_name(struct profile *p, const char *text);

/* Numbers of a tile in a superstep: exchange, compute, wait, words in, words out, messages in,
 * messages out, link. */
enum { PROFILE_PLANES = 8 };
/* Numbers of a pair of tiles in an exchange: receiver, sender, words, messages. */
enum { PROFILE_PAIR_PLANES = 4 };

/* The machine; and where a tile lies on the chip, in tiles. */
struct arch;
void profile_add_machine(struct profile *p, const struct arch *a);
struct profile_place {
    uint32_t row, column;
};
struct profile_place profile_place_of(const struct arch *a, uint32_t tile);

/* A tile with sums of the run [PROFILE_PLANES]; NULL: there was none. */
struct profile_tile {
    uint32_t chip, tile, group;
    uint64_t used_bytes;
    const uint64_t *sum;
};
void profile_add_tile(struct profile *p, const struct arch *a, const struct profile_tile *t);
/* Machine and scopes. */
void profile_add_program(struct profile *p, const struct image *im);
/* A chip of the system and what it did: its tiles with their sums of the run and their memory, its
 * supersteps. Chips in order. EMU_NO_MEMORY. */
struct profile_chip {
    uint32_t chip;
    const struct record *record; /* its stage is the chip of the image that it runs */
    const uint32_t *layer; /* [layers]: by number of the superstep in sync group 0, UINT32_MAX: none
                            */
    size_t layers;
};
enum emu_status profile_add_chip(struct profile *p, const struct image *im,
                                 const struct profile_chip *c) EMU_MUST_CHECK;
/* Only where a chip of the system stands, and which of the chips of its replica it is. */
void profile_add_place(struct profile *p, uint32_t chip, uint32_t replica_chips);
/* Syncs that joined chips, and what went over their links. */
struct pod;
void profile_add_pod(struct profile *p, const struct pod *pod);

/* Adds the rows of another profile to these tables, which are empty; its names come first, so that
 * ids stay good: before any name is given. tables: NULL at the end. other: read. EMU_BAD_FILE,
 * EMU_NO_MEMORY. */
enum emu_status profile_take(struct profile *p, struct profile *other,
                             const char *const *tables) EMU_MUST_CHECK;

/* Writes the file. Errors: the first of any row, EMU_NO_MEMORY, EMU_IO. */
enum emu_status profile_write(struct profile *p, FILE *f) EMU_MUST_CHECK;

/* ---- reading ---- */

/* Reads a profile, or a sweep (sweep_store.h). Nothing in the file is trusted: EMU_BAD_FILE for
 * what is neither, of another version, or damaged; EMU_IO, EMU_NO_MEMORY. path: for messages, too;
 * a copy is kept. */
enum emu_status profile_read(const char *path, struct profile **out) EMU_MUST_CHECK;
/* The same from bytes, which are copied. */
enum emu_status profile_read_bytes(const void *data, size_t bytes, const char *path,
                                   struct profile **out) EMU_MUST_CHECK;

/* Makes the tables of b part of a, as b.meta, b.layers and so on, for queries over both; a copy: b
 * may be freed. Then profile_chips() is the larger number of both. Both were read. Errors:
 * EMU_NO_MEMORY, EMU_BAD_FILE. */
enum emu_status profile_attach(struct profile *a, const struct profile *b) EMU_MUST_CHECK;

/* A query at work, on one row. */
struct profile_cursor;
uint64_t profile_integer(const struct profile_cursor *c, unsigned column); /* what is none: 0 */
double profile_real(const struct profile_cursor *c, unsigned column);
const char *profile_text(const struct profile_cursor *c, unsigned column); /* not NULL; borrowed */
int profile_is_none(const struct profile_cursor *c, unsigned column);
unsigned profile_columns(const struct profile_cursor *c);
const char *profile_column(const struct profile_cursor *c, unsigned column); /* its name */
enum profile_kind profile_kind_of(const struct profile_cursor *c, unsigned column);
/* n numbers of u32 from a blob of profile.sql. EMU_BAD_FILE when it is another. */
enum emu_status profile_numbers(const struct profile_cursor *c, unsigned column, uint32_t *out,
                                size_t n) EMU_MUST_CHECK;

/* Calls visit for every row of a query; its errors end it. Errors besides: EMU_BAD_FILE (the query
 * is ours, so the file is damaged). */
typedef enum emu_status profile_visit(void *ctx, const struct profile_cursor *c);
enum emu_status profile_query(struct profile *p, const char *sql, profile_visit *visit,
                              void *ctx) EMU_MUST_CHECK;
/* A visit that copies the first column to a char[PROFILE_META_TEXT]. */
enum emu_status profile_take_text(void *ctx, const struct profile_cursor *c) EMU_MUST_CHECK;
/* The first column of the first row; 0 where there is none, or it is NULL. */
uint64_t profile_query_integer(struct profile *p, const char *sql);
/* The value of a key of the table meta as text, "" where it is not there. */
enum { PROFILE_META_TEXT = 256 };
void profile_meta(struct profile *p, const char *key, char out[PROFILE_META_TEXT]);
int profile_is_sweep(const struct profile *p);
uint32_t profile_chips(struct profile *p); /* rows of chips; at least 1 */
/* Queries after it see the rows of one chip alone, of those tables that have chips, until another
 * one is chosen; PROFILE_ALL_CHIPS: of all. EMU_USAGE where the profile has no such chip. */
enum { PROFILE_ALL_CHIPS = -1 };
enum emu_status profile_choose_chip(struct profile *p, int64_t chip) EMU_MUST_CHECK;
/* Whether a column means something in this profile: those of chips do not where there is one. */
int profile_is_shown(const struct profile_cursor *c, unsigned column);
const char *profile_path(const struct profile *p); /* borrowed */

#endif
