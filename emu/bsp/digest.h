/* digest.h - hashes of tile memory: 4 KiB pages, tiles, groups, machine. XXH3-128 throughout.
 *
 * The hash of a page covers its bytes (the last page of a tile may be shorter), the hash of a tile
 * the hashes of its pages in order, and the root the hashes of all tiles in order of logical
 * number, unused tiles included. Only pages written since they were last hashed are hashed again.
 */
#ifndef EMU_DIGEST_H
#define EMU_DIGEST_H

#include <stdio.h>

#include "emu/base/hash.h"
#include "emu/tile/tile.h"

struct digests;

/* file: where digest_step() writes its lines as supersteps end; borrowed, one for all chips of a
 * system. NULL: no lines are written. */
enum emu_status digests_new(const struct arch *arch, FILE *file,
                            struct digests **out) EMU_MUST_CHECK;
/* The same for a chip of a system: chip 0 writes the head of the file. */
enum emu_status digests_new_chip(const struct arch *arch, uint32_t chip, FILE *file,
                                 struct digests **out) EMU_MUST_CHECK;
void digests_free(struct digests *d);

/* The hash of one tile's memory as it is now. Clears the tile's dirty flags. Different tiles may be
 * hashed on different threads. */
struct hash128 digest_tile(struct digests *d, uint32_t tile, struct tile *t);

/* The root over the last computed hashes of n tiles, given in ascending order. */
struct hash128 digest_root(const struct digests *d, const uint32_t *tile, uint32_t n);

/* Writes "group superstep cycle root", after the chip where there are several, and, if `each` is
 * set (at chip-wide syncs), one line per tile. The opener of the file checks that they have reached
 * it. */
void digest_step(struct digests *d, unsigned group, uint64_t superstep, uint64_t cycle,
                 const uint32_t *tile, uint32_t n, int each);

#endif
