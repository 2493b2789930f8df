// chip_allreduce.S - every tile of every chip holds CHIPS * WORDS numbers; in the end all chips hold their sums over the chips. Tile t
// talks to tile t alone, so nothing moves on a chip.
//
// The chips are a ring. Numbers are cut into CHIPS fragments. In CHIPS - 1 steps each chip passes a fragment on, and adds the one that
// comes to its own: then chip c has the sums of fragment c + 1. In CHIPS - 1 more steps the sums go round.
#include <superstep/bsp.h>

	.equ	NEXT, (CHIP + 1) % CHIPS

#define FRAGMENT(f) (numbers + 4 * WORDS * (((f) + 2 * CHIPS) % CHIPS))

// Fragment f of this chip goes to the next one, and as many words come.
	.macro PASS header, f
	sync	SYNC_REPLICA
	CHIP_EXPECT WORDS, $m4
	CHIP_SEND \header, FRAGMENT(\f), WORDS
	sync	SYNC_RECV
	.endm

	.supervisor
main:
	.set	K, 0
	.rept	CHIPS - 1
	PASS	to_sums, CHIP - K
	setzi	$m2, coming
	setzi	$m3, FRAGMENT(CHIP - K - 1)
	zero	$m5
	setzi	$m4, WORDS - 1
1:	ld32step $m6, $m2, $m5+=, 1
	ld32	$m7, $m3, 0
	add	$m7, $m7, $m6
	st32	$m7, $m3, 0
	add	$m3, $m3, 4
	brnzdec	$m4, 1b
	.set	K, K + 1
	.endr
	.set	K, 0
	.rept	CHIPS - 1
	PASS	to_all + 8 * K, CHIP + 1 - K
	.set	K, K + 1
	.endr
	sync	SYNC_END

to_sums:
	CHIP_HEADER NEXT, TILE, coming, WORDS
to_all:
	.set	K, 0
	.rept	CHIPS - 1
	CHIP_HEADER NEXT, TILE, FRAGMENT(CHIP + 1 - K), WORDS
	.set	K, K + 1
	.endr
