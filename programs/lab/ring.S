// ring.S - every tile passes WORDS words to its right-hand neighbour, SHIFTS times, and counts the words passing by that are
// smaller than its own first one.
//
// One shift is one superstep: sync, exchange, compute. Two buffers take turns, because a word must not be replaced while it is
// still being sent.
#include <superstep/bsp.h>

#define LEFT ((TILE + TILES - 1) % TILES)

	.macro SHIFT from, to
	sync	SYNC_CHIP
	.exchange TILE
	.send	\from, WORDS, FIRST_EVENT
	.receive \to, WORDS, FIRST_EVENT, LEFT
	.endexchange
	sync	SYNC_RECV
	setzi	$m2, \to
	zero	$m3
	setzi	$m4, WORDS - 1
1:	ld32step $m5, $m2, $m3+=, 1
	cmpult	$m6, $m5, $m1
	brz	$m6, 2f			// taken it costs 6 cycles, not taken 1
	add	$m0, $m0, $m6
2:	brnzdec	$m4, 1b
	.endm

	.supervisor
main:
	zero	$m0			// the count
	setzi	$m7, here
	ld32	$m1, $m7, 0
	.rept	SHIFTS / 2
	SHIFT	here, there
	SHIFT	there, here
	.endr
	.if SHIFTS % 2
	SHIFT	here, there
	.endif
	setzi	$m7, smaller
	st32	$m0, $m7, 0
	sync	SYNC_HOST
