/* digest.h - hashes of tile memory: 4 KiB pages, tiles, groups, machine. XXH3-128 throughout.
 *
 * hash of a page: of its bytes (the last page of a tile may be shorter); of a tile: of its page
 * hashes in order; root: of the tile hashes in order of logical number, unused tiles included. Only
 * pages written since the last look are hashed again.
 */
#ifndef EMU_DIGEST_H
#define EMU_DIGEST_H

#include <stdio.h>

#include "emu/base/hash.h"
#include "emu/tile/tile.h"

struct digests;

/* file: lines are written to it as supersteps end (digest_step); NULL: none. Borrowed. */
enum emu_status digests_new(const struct arch *arch, FILE *file,
                            struct digests **out) EMU_MUST_CHECK;
void digests_free(struct digests *d);

/* Hash of one tile as it is now; clears its dirty flags. Different tiles may be hashed on different
 * threads. */
struct hash128 digest_tile(struct digests *d, uint32_t tile, struct tile *t);

/* Root over n tile hashes as last computed; tile numbers ascending. */
struct hash128 digest_root(const struct digests *d, const uint32_t *tile, uint32_t n);

/* Writes "group superstep cycle root" and, when each is set (chip-wide syncs), one line per tile.
 */
enum emu_status digest_step(struct digests *d, unsigned group, uint64_t superstep, uint64_t cycle,
                            const uint32_t *tile, uint32_t n, int each) EMU_MUST_CHECK;

#endif
