/* profile_reason.c - the function reason() of queries, so that pages say of a layer what the screen
 * says of it. */
#include "emu/profile/profile_private.h"
#include "emu/profile/reason.h"

static void reason(sqlite3_context *out, int n, sqlite3_value **v)
{
    uint64_t part[6];
    char text[REASON_TEXT];

    for (int i = 0; i < n; i++)
        part[i] = (uint64_t)sqlite3_value_int64(v[i]);
    cycles_reason(&(struct reason_parts){ part[0], part[1], part[2], part[3], part[4], part[5] },
                  text);
    sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

int profile_reason_add(sqlite3 *db)
{
    return sqlite3_create_function(db, "reason", 6, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                   reason, NULL, NULL);
}
