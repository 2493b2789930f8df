// Exercise 2: a ring
//
// Every tile sends WORDS words at mine. Each is to take those of the tile before it, to left; tile 0 takes those of the last tile. Here all
// listen to the tile after them.
#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.send	mine, WORDS, FIRST_EVENT
	.receive left, WORDS, FIRST_EVENT, (TILE + 1) % TILES
	.endexchange
	sync	SYNC_RECV
	sync	SYNC_HOST
