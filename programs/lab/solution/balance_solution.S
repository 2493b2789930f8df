// Exercise 12: many hands

#include <superstep/bsp.h>

#define SHARE (ITEMS / TILES)

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
	.exchange TILE
	.if TILE == 0
	.send	x + 4 * SHARE, ITEMS - SHARE, FIRST_EVENT	// its own part stays
	.else
	.receive mine, SHARE, FIRST_EVENT + (TILE - 1) * SHARE, 0
	.endif
	.endexchange
	sync	SYNC_RECV
	.if TILE == 0
	setzi	$m1, x
	setzi	$m2, result
	.else
	setzi	$m1, mine
	setzi	$m2, mine
	.endif
	setzi	$m6, SHARE - 1
2:	WORK
	brnzdec	$m6, 2b
	sync	SYNC_CHIP
	.exchange TILE
	.if TILE == 0
	.set	T, 1
	.rept	TILES - 1
	.receive result + 4 * SHARE * T, SHARE, FIRST_EVENT + T * SHARE, T
	.set	T, T + 1
	.endr
	.else
	.send	mine, SHARE, FIRST_EVENT + TILE * SHARE
	.endif
	.endexchange
	sync	SYNC_RECV
	sync	SYNC_HOST
