// Exercise 5: everybody to everybody

#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.set	R, 1
	.rept	TILES - 1
	.set	TO, (TILE + R) % TILES
	.set	FROM, (TILE + TILES - R) % TILES
	.send	row + 4 * TO, 1, FIRST_EVENT + R
	.receive column + 4 * FROM, 1, FIRST_EVENT + R, FROM
	.set	R, R + 1
	.endr
	.endexchange
	sync	SYNC_RECV
	setzi	$m0, row + 4 * TILE
	setzi	$m1, column + 4 * TILE
	ld32	$m2, $m0, 0
	st32	$m2, $m1, 0
	sync	SYNC_HOST
