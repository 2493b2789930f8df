/* sweep_store.c - the file of a sweep: opened, locked, written in transactions.
 *
 * The lock is flock() on a descriptor of our own, which a killed process gives back. It must be
 * there before SQLite opens the file, and go after it: closing a descriptor of a file drops the
 * locks that SQLite has there (fcntl).
 */
#include "emu/profile/sweep_store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/profile/profile_private.h"

enum { BUSY_MS = 10000 }; /* how long a transaction waits for readers */

static enum emu_status lock_file(const char *path, struct profile *p, int *isnew)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0)
        return FAIL(IO, "%.200s: %s", path, strerror(errno));
    p->lock = fd;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return FAIL(IO, "%.200s: no regular file", path);
    *isnew = !st.st_size;
    if (!flock(fd, LOCK_EX | LOCK_NB))
        return EMU_OK;
    return errno == EWOULDBLOCK ? FAIL(USAGE, "%.200s: another sweep is writing it", path)
                                : FAIL(IO, "%.200s: %s", path, strerror(errno));
}

static enum emu_status open_database(const char *path, struct profile *p, int *isnew)
{
    int rc;

    p->path = emu_strdup(path);
    if (!p->path)
        return FAIL(NO_MEMORY, "%.200s", path);
    rc = sqlite3_open_v2(path, &p->db, SQLITE_OPEN_READWRITE, NULL);
    if (rc != SQLITE_OK)
        return store_failed(p, rc);
    sqlite3_busy_timeout(p->db, BUSY_MS);
    sqlite3_db_config(p->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(p->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (*isnew)
        return EMU_OK;
    TRY(store_sql(p, "SELECT count(*) FROM sqlite_schema")); /* rolls back what was not finished */
    if (!profile_query_integer(p, "SELECT count(*) FROM sqlite_schema") &&
        !profile_query_integer(p, "PRAGMA application_id")) {
        *isnew = 1; /* it was stopped within its first transaction */
        return EMU_OK;
    }
    if (profile_query_integer(p, "PRAGMA application_id") != store_sweep.application)
        return FAIL(BAD_FILE, "%.200s: a database, but no sweep; it stays as it is", path);
    return store_check_tables(p);
}

enum emu_status sweep_store_open(const char *path, int *isnew, struct profile **out)
{
    struct profile *p = emu_alloc(1, sizeof(*p));
    enum emu_status s;

    *out = NULL;
    if (!p)
        return FAIL(NO_MEMORY, "%.200s", path);
    p->kind = &store_sweep;
    s = lock_file(path, p, isnew);
    if (s == EMU_OK)
        s = open_database(path, p, isnew);
    if (s == EMU_OK)
        *out = p;
    else
        profile_free(p);
    return s;
}

enum emu_status sweep_store_begin(struct profile *p)
{
    if (!profile_query_integer(p, "SELECT count(*) FROM sqlite_schema"))
        return store_make_tables(p);
    return store_sql(p, "BEGIN IMMEDIATE");
}

enum emu_status sweep_store_commit(struct profile *p)
{
    TRY(p->status);
    return store_sql(p, "COMMIT");
}

void sweep_store_forget(struct profile *p)
{
    if (p)
        close(p->lock);
}

enum emu_status sweep_store_bytes(const char *path, unsigned char **data, size_t *bytes)
{
    sqlite3 *db = NULL;
    sqlite3_int64 size = 0;

    *data = NULL;
    /* Whoever may not write cannot roll back what was not finished, but read. */
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        sqlite3_busy_timeout(db, BUSY_MS);
        if (sqlite3_exec(db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) == SQLITE_OK)
            *data = sqlite3_serialize(db, "main", &size, 0);
    }
    *bytes = (size_t)size;
    if (*data) {
        sqlite3_close(db);
        return EMU_OK;
    }
    FAIL(IO, "%.200s: %s", path, sqlite3_errmsg(db));
    sqlite3_close(db);
    return EMU_IO;
}
