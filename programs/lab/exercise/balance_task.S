// Exercise 12: many hands
//
// Tile 0 has ITEMS words at x; each takes long to work on (WORK). The results must be at result of tile 0. Here tile 0 does all, and the others
// wait: a superstep lasts as long as its slowest tile. Share the words: ITEMS is a multiple of TILES. Each tile has room at mine for its part.
// Send only what somebody takes.
#include <superstep/bsp.h>

// Takes the word at $m1, works on it for 40 rounds, and leaves what comes out at $m2. Both move on by one word.
	.macro WORK
	ld32	$m3, $m1, 0
	setzi	$m4, 39
1:	add	$m5, $m3, $m3
	add	$m3, $m5, $m3
	add	$m3, $m3, 1
	brnzdec	$m4, 1b
	st32	$m3, $m2, 0
	add	$m1, $m1, 4
	add	$m2, $m2, 4
	.endm

	.supervisor
main:
	sync	SYNC_CHIP
	.if TILE == 0
	setzi	$m1, x
	setzi	$m2, result
	setzi	$m6, ITEMS - 1
2:	WORK
	brnzdec	$m6, 2b
	.endif
	sync	SYNC_HOST
