/* zone.h - whom a sync joins. The operand of sync is a zone; which chips, and whether the host,
 * meet in a zone is a table of the program. Zones 0 to 2 stay within a tile (emu/tile/tile.h).
 */
#ifndef EMU_ZONE_H
#define EMU_ZONE_H

enum { SYNC_ZONES = 16 };

/* From the smallest to the largest; POD and HOST are no part of each other. */
enum sync_scope {
    SCOPE_RESERVED, /* no program may wait there */
    SCOPE_GROUP,    /* the tiles of a sync group */
    SCOPE_CHIP,     /* all groups of a chip */
    SCOPE_REPLICA,  /* all chips of a replica */
    SCOPE_POD,      /* all chips of the system */
    SCOPE_HOST,     /* a chip and its host */
    SCOPES
};

/* The scope of a zone in programs that say nothing of zones. zone is below SYNC_ZONES. */
static inline enum sync_scope sync_scope_default(unsigned zone)
{
    static const enum sync_scope scope[SYNC_ZONES] = {
        [3] = SCOPE_GROUP,    [4] = SCOPE_CHIP,  [5] = SCOPE_REPLICA,
        [6] = SCOPE_HOST,     [7] = SCOPE_HOST,  [12] = SCOPE_CHIP,
        [13] = SCOPE_REPLICA, [14] = SCOPE_HOST, [15] = SCOPE_HOST,
    };

    return scope[zone];
}

/* "group", for messages and reports. */
static inline const char *sync_scope_name(enum sync_scope s)
{
    static const char *const name[SCOPES] = {
        "reserved", "group", "chip", "replica", "pod", "host"
    };

    return name[s];
}

#endif
