// Exercise 9: prefix sums

#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.set	T, 0
	.rept	TILE			// everybody hears tile T at its event, TILE - T of them later than it
	.receive all + 4 * T, 1, FIRST_EVENT + T, T
	.set	T, T + 1
	.endr
	.if TILE < TILES - 1		// nobody wants the last word
	.send	word, 1, FIRST_EVENT + TILE
	.endif
	.endexchange
	sync	SYNC_RECV
	zero	$m0
	.if TILE > 0
	setzi	$m1, all
	setzi	$m2, TILE - 1
1:	ld32	$m3, $m1, 0
	add	$m0, $m0, $m3
	add	$m1, $m1, 4
	brnzdec	$m2, 1b
	.endif
	setzi	$m1, before
	st32	$m0, $m1, 0
	sync	SYNC_HOST
