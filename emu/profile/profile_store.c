/* profile_store.c - profiles as SQLite databases in memory.
 *
 * What is read is a database of somebody else. Its tables must be ours to the letter, so that no
 * view, trigger or generated column can stand behind a name that a query uses, and all its pages
 * must be sound before the first query.
 */
#include "emu/profile/profile_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/base/embedded.h"
#include "emu/base/hash.h"
#include "emu/base/packed_numbers.h"
#include "emu/profile/sweep_store.h"

enum { READ_BYTES = 1 << 20, COLUMNS_MAX = 32 };
#define FILE_BYTES_MAX ((size_t)4 << 30)

const struct store_kind store_profile = { "profile", "emu/profile/profile.sql",
                                          "superstep run --profile", 0, PROFILE_VERSION };
const struct store_kind store_sweep = { "sweep", "emu/profile/sweep.sql", "superstep sweep",
                                        SWEEP_APPLICATION, SWEEP_VERSION };

struct profile_cursor {
    struct profile *p;
    sqlite3_stmt *row;
};

static void keep(struct profile *p, enum emu_status s)
{
    if (p->status == EMU_OK)
        p->status = s;
}

enum emu_status store_failed(const struct profile *p, int rc)
{
    int writes = p->lock && ((rc & 0xff) == SQLITE_FULL || (rc & 0xff) == SQLITE_IOERR);

    if ((rc & 0xff) == SQLITE_NOMEM)
        return FAIL(NO_MEMORY, "a %s", p->kind->name);
    if (p->path && !writes)
        return FAIL(BAD_FILE, "%.200s: damaged, or no %s: %s", p->path, p->kind->name,
                    sqlite3_errmsg(p->db));
    return FAIL(IO, "%.200s: %s", p->path ? p->path : "a profile",
                writes && sqlite3_system_errno(p->db) ? strerror(sqlite3_system_errno(p->db))
                                                      : sqlite3_errmsg(p->db));
}

enum emu_status store_sql(struct profile *p, const char *sql)
{
    int rc = sqlite3_exec(p->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? EMU_OK : store_failed(p, rc);
}

enum emu_status store_new(const struct store_kind *kind, struct profile **out)
{
    struct profile *p = emu_alloc(1, sizeof(*p));

    *out = p;
    if (!p)
        return FAIL(NO_MEMORY, "a profile");
    p->kind = kind;
    if (sqlite3_open_v2(":memory:", &p->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, NULL) !=
            SQLITE_OK ||
        profile_reason_add(p->db) != SQLITE_OK)
        return FAIL(NO_MEMORY, "a profile");
    return EMU_OK;
}

void profile_free(struct profile *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->tables; i++)
        sqlite3_finalize(p->table[i].row);
    sqlite3_close(p->db);
    if (p->lock)
        close(p->lock);
    for (size_t i = 0; i < p->names; i++)
        ss_free(p->name[i]);
    ss_free(p->name);
    ss_free(p->bucket);
    ss_free(p->path);
    profile_pack_free(&p->packer);
    ss_free(p);
}

/* ---- writing ---- */

enum emu_status store_make_tables(struct profile *p)
{
    const struct embedded_file *f = embedded_find(p->kind->sql);
    char sql[80];

    EMU_ASSERT(f);
    snprintf(sql, sizeof(sql), "BEGIN; PRAGMA application_id = %u; PRAGMA user_version = %u",
             p->kind->application, p->kind->version);
    TRY(store_sql(p, sql));
    return store_sql(p, (const char *)f->data);
}

enum emu_status profile_new(unsigned threads, struct profile **out)
{
    enum emu_status s = store_new(&store_profile, out);

    if (s == EMU_OK)
        s = store_sql(*out, "PRAGMA journal_mode = OFF");
    if (s == EMU_OK)
        s = store_make_tables(*out);
    if (s == EMU_OK) {
        (*out)->packer.threads = threads;
        return EMU_OK;
    }
    profile_free(*out);
    *out = NULL;
    return s;
}

static enum emu_status prepare_insert(struct profile *p, struct inserter *t)
{
    char sql[400] = "";
    int rc =
        sqlite3_table_column_metadata(p->db, NULL, t->table, NULL, NULL, NULL, NULL, NULL, NULL);
    sqlite3_stmt *all;
    size_t n;

    EMU_ASSERT(rc == SQLITE_OK); /* the table is in profile.sql */
    n = (size_t)snprintf(sql, sizeof(sql), "SELECT * FROM %s", t->table);
    rc = sqlite3_prepare_v2(p->db, sql, -1, &all, NULL);
    if (rc != SQLITE_OK)
        return store_failed(p, rc);
    t->columns = (size_t)sqlite3_column_count(all);
    sqlite3_finalize(all);
    n = (size_t)snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (?", t->table);
    for (size_t i = 1; i < t->columns; i++)
        n += (size_t)snprintf(sql + n, sizeof(sql) - n, ",?");
    snprintf(sql + n, sizeof(sql) - n, ")");
    rc = sqlite3_prepare_v2(p->db, sql, -1, &t->row, NULL);
    return rc == SQLITE_OK ? EMU_OK : store_failed(p, rc);
}

/* NULL after an error. */
static struct inserter *find_table(struct profile *p, const char *table)
{
    size_t i = 0;

    while (i < p->tables && strcmp(p->table[i].table, table) != 0)
        i++;
    if (i < p->tables)
        return &p->table[i];
    EMU_ASSERT(i < TABLES_MAX);
    p->table[i] = (struct inserter){ .table = table };
    keep(p, prepare_insert(p, &p->table[i]));
    p->tables++;
    return p->status == EMU_OK ? &p->table[i] : NULL;
}

static int bind_value(sqlite3_stmt *row, int i, const struct profile_value *v)
{
    switch (v->kind) {
    case PROFILE_INTEGER:
        return sqlite3_bind_int64(row, i, (sqlite3_int64)v->integer);
    case PROFILE_REAL:
        return sqlite3_bind_double(row, i, v->real);
    case PROFILE_TEXT:
        return sqlite3_bind_text(row, i, v->data, -1, SQLITE_STATIC);
    case PROFILE_BLOB:
        return sqlite3_bind_blob64(row, i, v->data, v->integer, SQLITE_STATIC);
    case PROFILE_NONE:
        break;
    }
    return sqlite3_bind_null(row, i);
}

void profile_put(struct profile *p, const char *table, const struct profile_value *v, size_t n)
{
    struct inserter *t = p->status == EMU_OK ? find_table(p, table) : NULL;
    int rc = SQLITE_OK;

    if (!t)
        return;
    EMU_ASSERT(n == t->columns);
    for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
        rc = bind_value(t->row, (int)i + 1, &v[i]);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(t->row);
    if (rc != SQLITE_DONE)
        keep(p, store_failed(p, rc));
    sqlite3_reset(t->row);
}

static size_t place_of(const struct profile *p, const char *text)
{
    size_t h = hash64(text, strlen(text)) & (p->buckets - 1);

    while (p->bucket[h] && strcmp(p->name[p->bucket[h] - 1], text) != 0)
        h = (h + 1) & (p->buckets - 1);
    return h;
}

/* Twice as many buckets. */
static enum emu_status grow_names(struct profile *p)
{
    size_t buckets = p->buckets ? 2 * p->buckets : 1024;
    uint32_t *bucket = emu_alloc(buckets, sizeof(*bucket));

    if (!bucket)
        return FAIL(NO_MEMORY, "names of a profile");
    ss_free(p->bucket);
    p->bucket = bucket;
    p->buckets = buckets;
    for (size_t i = 0; i < p->names; i++)
        bucket[place_of(p, p->name[i])] = (uint32_t)i + 1;
    return EMU_OK;
}

static enum emu_status add_name(struct profile *p, const char *text)
{
    char *copy;

    TRY(emu_grow((void **)&p->name, p->names, &p->name_cap, sizeof(*p->name)));
    copy = emu_strdup(text);
    if (!copy)
        return FAIL(NO_MEMORY, "names of a profile");
    p->name[p->names++] = copy;
    p->bucket[place_of(p, text)] = (uint32_t)p->names;
    PROFILE_ROW(p, "names", PROFILE_I(p->names), PROFILE_T(text));
    return EMU_OK;
}

uint32_t profile_name(struct profile *p, const char *text)
{
    if (p->status == EMU_OK && 2 * p->names >= p->buckets)
        keep(p, grow_names(p));
    if (p->status == EMU_OK && !p->bucket[place_of(p, text)])
        keep(p, add_name(p, text));
    return p->status == EMU_OK ? p->bucket[place_of(p, text)] : 0;
}

static enum emu_status take_name(void *ctx, const struct profile_cursor *c)
{
    struct profile *p = ctx;

    return profile_name(p, profile_text(c, 1)) == profile_integer(c, 0)
               ? p->status
               : FAIL(BAD_FILE, "names of a profile");
}

/* A row as it is; its columns are those of the table here. */
struct row_copy {
    struct profile *p;
    const char *table;
};

static enum emu_status copy_row(void *ctx, const struct profile_cursor *c)
{
    const struct row_copy *r = ctx;
    struct profile_value v[COLUMNS_MAX];
    unsigned n = profile_columns(c);

    EMU_ASSERT(n <= COLUMNS_MAX);
    for (unsigned i = 0; i < n; i++) {
        v[i] = (struct profile_value){ .kind = profile_kind_of(c, i),
                                       .integer = profile_integer(c, i),
                                       .real = profile_real(c, i) };
        if (v[i].kind == PROFILE_TEXT) {
            v[i].data = profile_text(c, i);
        } else if (v[i].kind == PROFILE_BLOB) {
            v[i].data = sqlite3_column_blob(c->row, (int)i);
            v[i].integer = (uint64_t)sqlite3_column_bytes(c->row, (int)i);
        }
    }
    profile_put(r->p, r->table, v, n);
    return r->p->status;
}

enum emu_status profile_take(struct profile *p, struct profile *other, const char *const *tables)
{
    EMU_ASSERT(!p->names);
    TRY(profile_query(other, "SELECT id, text FROM names ORDER BY id", take_name, p));
    for (; *tables; tables++) {
        struct row_copy r = { p, *tables };
        char sql[80];

        snprintf(sql, sizeof(sql), "SELECT * FROM %s", *tables);
        TRY(profile_query(other, sql, copy_row, &r));
    }
    return EMU_OK;
}

enum emu_status profile_write(struct profile *p, FILE *f)
{
    sqlite3_int64 bytes = 0;
    unsigned char *data;

    TRY(p->status);
    TRY(profile_pack(p));
    PROFILE_ROW(p, "meta", PROFILE_T("schema_version"), PROFILE_I(PROFILE_VERSION));
    TRY(p->status);
    for (size_t i = 0; i < p->tables; i++)
        sqlite3_finalize(p->table[i].row);
    p->tables = 0;
    TRY(store_sql(p, "COMMIT"));
    data = sqlite3_serialize(p->db, "main", &bytes, 0);
    if (!data)
        return FAIL(NO_MEMORY, "a profile");
    fwrite(data, 1, (size_t)bytes, f); /* whoever commits the file asks for errors */
    sqlite3_free(data);
    return EMU_OK;
}

/* ---- reading ---- */

/* Whether the tables of a are those of b. */
static enum emu_status same_schema(struct profile *a, struct profile *b, int *same)
{
    static const char sql[] = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid";
    sqlite3_stmt *x = NULL, *y = NULL;
    int rx = sqlite3_prepare_v2(a->db, sql, -1, &x, NULL),
        ry = sqlite3_prepare_v2(b->db, sql, -1, &y, NULL);

    *same = rx == SQLITE_OK && ry == SQLITE_OK;
    while (*same) {
        rx = sqlite3_step(x);
        ry = sqlite3_step(y);
        *same = rx == ry;
        if (rx != SQLITE_ROW || ry != SQLITE_ROW)
            break;
        for (int i = 0; i < 4 && *same; i++) {
            const char *s = (const char *)sqlite3_column_text(x, i),
                       *t = (const char *)sqlite3_column_text(y, i);

            *same = s && t ? !strcmp(s, t) : s == t;
        }
    }
    sqlite3_finalize(x);
    sqlite3_finalize(y);
    return rx == SQLITE_ROW || rx == SQLITE_DONE ? EMU_OK : store_failed(a, rx);
}

enum emu_status store_check_tables(struct profile *p)
{
    uint64_t version = profile_query_integer(p, "PRAGMA user_version");
    struct profile *mine = NULL;
    enum emu_status s;
    int same = 0;

    if (version && version != p->kind->version)
        return FAIL(
            BAD_FILE, "%.200s: a %s of version %llu, or no %s; this program reads version %u",
            p->path, p->kind->name, (unsigned long long)version, p->kind->name, p->kind->version);
    s = store_new(p->kind, &mine);
    if (s == EMU_OK)
        s = store_make_tables(mine);
    if (s == EMU_OK)
        s = same_schema(p, mine, &same);
    profile_free(mine);
    TRY(s);
    return same ? EMU_OK
                : FAIL(BAD_FILE, "%.200s: a database, but no %s that `%s` wrote", p->path,
                       p->kind->name, p->kind->command);
}

static enum emu_status is_sound(void *ctx, const struct profile_cursor *c)
{
    const struct profile *p = ctx;
    const char *text = profile_text(c, 0);

    return !strcmp(text, "ok")
               ? EMU_OK
               : FAIL(BAD_FILE, "%.200s: a damaged %s: %.200s", p->path, p->kind->name, text);
}

/* data: from sqlite3_malloc64(), taken over. */
static enum emu_status open_bytes(unsigned char *data, size_t bytes, const char *path,
                                  struct profile **out)
{
    enum emu_status s = store_new(&store_profile, out);
    struct profile *p = *out;
    int rc;

    if (s == EMU_OK) {
        p->path = emu_strdup(path);
        s = p->path ? EMU_OK : FAIL(NO_MEMORY, "a profile");
    }
    if (s != EMU_OK) {
        sqlite3_free(data);
        return s;
    }
    rc = sqlite3_deserialize(p->db, "main", data, (sqlite3_int64)bytes, (sqlite3_int64)bytes,
                             SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
    if (rc != SQLITE_OK)
        return store_failed(p, rc);
    sqlite3_db_config(p->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(p->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    TRY(store_sql(p, "PRAGMA cell_size_check = ON"));
    if (profile_query_integer(p, "PRAGMA application_id") == store_sweep.application)
        p->kind = &store_sweep;
    TRY(store_check_tables(p));
    TRY(profile_query(p, "PRAGMA quick_check(1)", is_sound, p));
    return EMU_OK;
}

static enum emu_status opened(enum emu_status s, struct profile **out)
{
    if (s == EMU_OK)
        return EMU_OK;
    profile_free(*out);
    *out = NULL;
    return s;
}

enum emu_status profile_read_bytes(const void *data, size_t bytes, const char *path,
                                   struct profile **out)
{
    unsigned char *copy = sqlite3_malloc64(bytes + 1);

    *out = NULL;
    if (!copy)
        return FAIL(NO_MEMORY, "%.200s", path);
    memcpy(copy, data, bytes);
    return opened(open_bytes(copy, bytes, path, out), out);
}

/* All bytes of a file, from sqlite3_malloc64(). */
static enum emu_status read_all(FILE *f, const char *path, unsigned char **data, size_t *bytes)
{
    size_t cap = 0, got = 1;

    *data = NULL;
    for (*bytes = 0; got; *bytes += got) {
        if (*bytes == cap) {
            unsigned char *more;

            cap = cap ? 2 * cap : READ_BYTES;
            more = cap > FILE_BYTES_MAX ? NULL : sqlite3_realloc64(*data, cap);
            if (!more)
                return FAIL(NO_MEMORY, "%.200s", path);
            *data = more;
        }
        got = fread(*data + *bytes, 1, cap - *bytes, f);
    }
    return ferror(f) ? FAIL(IO, "%.200s: %s", path, strerror(errno)) : EMU_OK;
}

/* What a header of SQLite says of the kind: PRAGMA application_id, the first byte first. */
static int is_sweep(const unsigned char *data, size_t bytes)
{
    enum { APPLICATION_ID = 68 };
    const unsigned char *at = data + APPLICATION_ID;

    return bytes >= APPLICATION_ID + 4 && ((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
                                           (uint32_t)at[2] << 8 | at[3]) == store_sweep.application;
}

enum emu_status profile_read(const char *path, struct profile **out)
{
    FILE *f = fopen(path, "rb");
    unsigned char *data;
    enum emu_status s;
    size_t bytes;

    *out = NULL;
    if (!f)
        return FAIL(IO, "%.200s: %s", path, strerror(errno));
    s = read_all(f, path, &data, &bytes);
    fclose(f);
    if (s == EMU_OK && is_sweep(data, bytes)) {
        sqlite3_free(data); /* somebody may be writing it, or have been killed */
        s = sweep_store_bytes(path, &data, &bytes);
    }
    if (s != EMU_OK) {
        sqlite3_free(data);
        return s;
    }
    return opened(open_bytes(data, bytes, path, out), out);
}

enum emu_status profile_attach(struct profile *a, const struct profile *b)
{
    sqlite3_int64 bytes = 0;
    unsigned char *data = sqlite3_serialize(b->db, "main", &bytes, 0);
    int rc;

    if (!data)
        return FAIL(NO_MEMORY, "%.200s", b->path);
    if (store_sql(a, "ATTACH ':memory:' AS b") != EMU_OK) {
        sqlite3_free(data);
        return FAIL(NO_MEMORY, "%.200s", b->path);
    }
    rc = sqlite3_deserialize(a->db, "b", data, bytes, bytes,
                             SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
    if (rc != SQLITE_OK)
        return store_failed(b, rc);
    if (profile_chips(a) < profile_query_integer(a, "SELECT count(*) FROM b.chips"))
        a->chips = (uint32_t)profile_query_integer(a, "SELECT count(*) FROM b.chips");
    return EMU_OK;
}

int profile_is_sweep(const struct profile *p)
{
    return p->kind == &store_sweep;
}

const char *profile_path(const struct profile *p)
{
    return p->path;
}

/* ---- queries ---- */

enum emu_status profile_query(struct profile *p, const char *sql, profile_visit *visit, void *ctx)
{
    struct profile_cursor c = { .p = p };
    enum emu_status s = profile_pack(p); /* what waits is part of the tables */
    int rc = s == EMU_OK ? sqlite3_prepare_v2(p->db, sql, -1, &c.row, NULL) : SQLITE_DONE;

    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(c.row);
        if (rc != SQLITE_ROW)
            break;
        s = visit(ctx, &c);
        if (s != EMU_OK)
            break;
    }
    if (s == EMU_OK && rc != SQLITE_DONE)
        s = store_failed(p, rc);
    sqlite3_finalize(c.row);
    return s;
}

uint64_t profile_integer(const struct profile_cursor *c, unsigned column)
{
    return (uint64_t)sqlite3_column_int64(c->row, (int)column);
}

struct profile *profile_of_cursor(const struct profile_cursor *c)
{
    return c->p;
}

double profile_real(const struct profile_cursor *c, unsigned column)
{
    return sqlite3_column_double(c->row, (int)column);
}

const char *profile_text(const struct profile_cursor *c, unsigned column)
{
    const char *text = (const char *)sqlite3_column_text(c->row, (int)column);

    return text ? text : "";
}

int profile_is_none(const struct profile_cursor *c, unsigned column)
{
    return sqlite3_column_type(c->row, (int)column) == SQLITE_NULL;
}

unsigned profile_columns(const struct profile_cursor *c)
{
    return (unsigned)sqlite3_column_count(c->row);
}

const char *profile_column(const struct profile_cursor *c, unsigned column)
{
    return sqlite3_column_name(c->row, (int)column);
}

enum profile_kind profile_kind_of(const struct profile_cursor *c, unsigned column)
{
    switch (sqlite3_column_type(c->row, (int)column)) {
    case SQLITE_INTEGER:
        return PROFILE_INTEGER;
    case SQLITE_FLOAT:
        return PROFILE_REAL;
    case SQLITE_TEXT:
        return PROFILE_TEXT;
    case SQLITE_BLOB:
        return PROFILE_BLOB;
    default:
        return PROFILE_NONE;
    }
}

enum emu_status profile_numbers(const struct profile_cursor *c, unsigned column, uint32_t *out,
                                size_t n)
{
    const void *blob = sqlite3_column_blob(c->row, (int)column);
    size_t bytes = (size_t)sqlite3_column_bytes(c->row, (int)column);

    return packed_numbers_unpack(blob, bytes, out, n)
               ? EMU_OK
               : FAIL(BAD_FILE, "%.200s: a damaged profile: cycles of tiles", c->p->path);
}

static enum emu_status take_integer(void *ctx, const struct profile_cursor *c)
{
    *(uint64_t *)ctx = profile_integer(c, 0);
    return EMU_OK;
}

uint64_t profile_query_integer(struct profile *p, const char *sql)
{
    uint64_t value = 0;

    return profile_query(p, sql, take_integer, &value) == EMU_OK ? value : 0;
}

enum emu_status profile_take_text(void *ctx, const struct profile_cursor *c)
{
    snprintf(ctx, PROFILE_META_TEXT, "%s", profile_text(c, 0));
    return EMU_OK;
}

void profile_meta(struct profile *p, const char *key, char out[PROFILE_META_TEXT])
{
    char sql[120];

    out[0] = '\0';
    snprintf(sql, sizeof(sql), "SELECT value FROM meta WHERE key = '%s'", key);
    if (profile_query(p, sql, profile_take_text, out) != EMU_OK)
        out[0] = '\0';
}
