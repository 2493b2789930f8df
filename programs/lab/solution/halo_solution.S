// Exercise 11: a deep halo

#include <superstep/bsp.h>

#define LEFT  ((TILE + TILES - 1) % TILES)
#define RIGHT ((TILE + 1) % TILES)

// Replaces x[first] .. x[last], words, by x[i - 1] + 2 x[i] + x[i + 1].
	.macro STEP first, last
	setzi	$m1, x + 4 * (\first) - 4
	ld32	$m2, $m1, 0
	ld32	$m3, $m1, 1
	setzi	$m4, (\last) - (\first)
1:	ld32	$m5, $m1, 2
	add	$m6, $m2, $m5
	add	$m7, $m3, $m3
	add	$m6, $m6, $m7
	st32	$m6, $m1, 1
	mov	$m2, $m3
	mov	$m3, $m5
	add	$m1, $m1, 4
	brnzdec	$m4, 1b
	.endm

	.supervisor
main:
	setzi	$m8, STEPS / HALO - 1
2:	sync	SYNC_CHIP
	.exchange TILE
	.send	x + 4 * N, HALO, FIRST_EVENT
	.send	x + 4 * HALO, HALO, FIRST_EVENT + HALO
	.receive x, HALO, FIRST_EVENT, LEFT
	.receive x + 4 * (N + HALO), HALO, FIRST_EVENT + HALO, RIGHT
	.endexchange
	sync	SYNC_RECV
	.set	K, 1
	.rept	HALO
	STEP	K, N + 2 * HALO - 1 - K
	.set	K, K + 1
	.endr
	brnzdec	$m8, 2b
	sync	SYNC_HOST
