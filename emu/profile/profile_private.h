/* profile_private.h - what the files of emu/profile that store databases share with each other
 * only. */
#ifndef EMU_PROFILE_PRIVATE_H
#define EMU_PROFILE_PRIVATE_H

#include <sqlite3.h>
#include <zstd.h>

#include "emu/profile/profile_store.h"

/* A kind of file; its number stands in the header of the database (PRAGMA application_id). */
struct store_kind {
    const char *name;    /* "profile" */
    const char *sql;     /* the embedded file of its tables */
    const char *command; /* that writes it */
    uint32_t application, version;
};
extern const struct store_kind store_profile, store_sweep;

/* Gives queries the function reason(exchange, compute, imbalance, sync, bound, supersteps):
 * cycles_reason(). Returns a status of SQLite. */
int profile_reason_add(sqlite3 *db);

enum { TABLES_MAX = 32 };

/* A prepared INSERT. */
struct inserter {
    const char *table; /* borrowed: a literal */
    sqlite3_stmt *row;
    size_t columns;
};

/* A row whose last column is a list of numbers that waits to be packed, or the blob that it has
 * become. */
enum { PACKED_COLUMNS = 5 };
struct packed_row {
    const char *table; /* borrowed: a literal */
    struct profile_value v[PACKED_COLUMNS];
    size_t columns;     /* before the last one */
    size_t first, n;    /* in profile_packer.number */
    size_t blob, bytes; /* in profile_packer.blob */
};

struct profile_packer {
    unsigned threads; /* 0: all cores */
    uint32_t *number; /* owned, like the following: differences */
    size_t numbers, number_cap;
    struct packed_row *row;
    size_t rows, row_cap;
    void *blob;
    size_t blob_cap;
};

struct profile {
    sqlite3 *db;
    const struct store_kind *kind;
    char *path;             /* owned; NULL: being written */
    enum emu_status status; /* of the rows */
    struct inserter table[TABLES_MAX];
    size_t tables;
    char **name; /* owned, entries too; the id of name[i] is i + 1 */
    size_t names, name_cap;
    uint32_t *bucket; /* owned; ids */
    size_t buckets;   /* a power of two */
    int lock;         /* owned: descriptor of a sweep that is locked; 0: none */
    struct profile_packer packer;
    uint32_t chips;                 /* counted by profile_chips(); 0: not yet */
    uint64_t supersteps, exchanges; /* rows of chips before */
};

/* An error of SQLite as a status with a message. */
enum emu_status store_failed(const struct profile *p, int rc);
enum emu_status store_sql(struct profile *p, const char *sql) EMU_MUST_CHECK;
/* Makes the tables of a kind, within a transaction that stays open. */
enum emu_status store_make_tables(struct profile *p) EMU_MUST_CHECK;
/* Whether the tables are those of the kind to the letter. EMU_BAD_FILE. */
enum emu_status store_check_tables(struct profile *p) EMU_MUST_CHECK;
/* profile_pack.c: adds the rows that wait (profile_put_numbers()). Errors: those of rows. */
enum emu_status profile_pack(struct profile *p) EMU_MUST_CHECK;
void profile_pack_free(struct profile_packer *k);
struct profile *profile_of_cursor(const struct profile_cursor *c); /* borrowed */
/* A database in memory. *out is to be freed in any case. */
enum emu_status store_new(const struct store_kind *kind, struct profile **out) EMU_MUST_CHECK;

#endif
