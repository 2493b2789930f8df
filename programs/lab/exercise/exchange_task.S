// Exercise 5: everybody to everybody
//
// Tile s has a word for every tile d at row + 4 * d, and tile d wants it at column + 4 * s: a matrix is transposed. This works, one sender
// after the other. Do it in TILES - 1 rounds, in each of which every tile sends one word and takes one.
#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.set	S, 0
	.rept	TILES
	.set	D, 0
	.rept	TILES
	.if S != D
	.if TILE == S
	.send	row + 4 * D, 1, FIRST_EVENT + 4 * (TILES * S + D)
	.elseif TILE == D
	.receive column + 4 * S, 1, FIRST_EVENT + 4 * (TILES * S + D), S
	.endif
	.endif
	.set	D, D + 1
	.endr
	.set	S, S + 1
	.endr
	.endexchange
	sync	SYNC_RECV
	setzi	$m0, row + 4 * TILE	// the word for oneself
	setzi	$m1, column + 4 * TILE
	ld32	$m2, $m0, 0
	st32	$m2, $m1, 0
	sync	SYNC_HOST
