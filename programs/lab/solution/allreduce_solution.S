// Exercise 8: a sum for everybody

#include <superstep/bsp.h>

	.supervisor
main:
	sync	SYNC_CHIP
	.exchange TILE
	.if TILE == 0
	.set	T, 1
	.rept	TILES - 1
	.receive all + 4 * T, 1, FIRST_EVENT + T, T
	.set	T, T + 1
	.endr
	.else
	.send	word, 1, FIRST_EVENT + TILE
	.endif
	.endexchange
	sync	SYNC_RECV
	.if TILE == 0
	setzi	$m1, word
	ld32	$m0, $m1, 0
	setzi	$m1, all
	setzi	$m2, TILES - 2
1:	ld32	$m3, $m1, 1
	add	$m0, $m0, $m3
	add	$m1, $m1, 4
	brnzdec	$m2, 1b
	setzi	$m1, total
	st32	$m0, $m1, 0
	.endif
	sync	SYNC_CHIP
	.exchange TILE
	.if TILE == 0
	.send	total, 1, FIRST_EVENT
	.else
	.receive total, 1, FIRST_EVENT, 0
	.endif
	.endexchange
	sync	SYNC_RECV
	sync	SYNC_HOST
