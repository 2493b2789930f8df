/* barrel_ahead.h - for who knows what a tile will do before its barrel runs, and what that needs.
 * Private to emu/bsp. */
#ifndef EMU_BARREL_AHEAD_H
#define EMU_BARREL_AHEAD_H

#include "emu/bsp/barrel.h"
#include "emu/bsp/replay.h"

/* Where the supervisor stands at a sync of this zone and may issue it in b->cycle, with nothing
 * under way: issues it and returns 1, without a request in t->sync_zone; else 0. */
int barrel_issue_sync(struct barrel *b, struct tile *t, int zone);

/* Whether what is launched now belongs to a call from a site (replay.c). */
int replay_is_in_call(const struct replay_tile *t);

/* Fetch into the host's caches where a tile stands; then the site to which it probably comes next;
 * then what is known of the key of that. */
void replay_prefetch(const struct replay *r, uint32_t tile);
void replay_prefetch_site(const struct replay_tile *t);
void replay_prefetch_known(const struct replay_tile *t);

#endif
