// pingpong.S - WORDS words go from tile to tile of chip 0 and chip OTHER and come back, ROUNDS times. All other chips only take part in
// the syncs.
//
// Each way is one superstep between chips: sync, packets of at most 64 words, RECV. The receiver knows how many words come, not
// when. On chip OTHER the first word is counted up, so that the ball that comes back is not the one that was sent.
#include <superstep/bsp.h>

	.equ	PACKET, 64
	.equ	PACKETS, (WORDS + PACKET - 1) / PACKET
	.equ	REST, WORDS - (PACKETS - 1) * PACKET

#define LENGTH(k) (((k) == PACKETS - 1) * REST + ((k) != PACKETS - 1) * PACKET)

	.macro THROW
	.set	K, 0
	.rept	PACKETS
	CHIP_SEND headers + 8 * K, ball + 4 * PACKET * K, LENGTH(K)
	.set	K, K + 1
	.endr
	sync	SYNC_RECV
	.endm

	.macro CATCH
	CHIP_EXPECT WORDS, $m4
	sync	SYNC_RECV
	.endm

	.supervisor
main:
	setzi	$m0, ROUNDS - 1
1:	sync	SYNC_REPLICA
	.if CHIP == 0
	THROW
	.elseif CHIP == OTHER
	CATCH
	setzi	$m2, ball
	ld32	$m3, $m2, 0
	add	$m3, $m3, 1
	st32	$m3, $m2, 0
	.endif
	sync	SYNC_REPLICA
	.if CHIP == 0
	CATCH
	.elseif CHIP == OTHER
	THROW
	.endif
	brnzdec	$m0, 1b
	sync	SYNC_END

headers:
	.set	K, 0
	.rept	PACKETS
	CHIP_HEADER (CHIP == 0) * OTHER, TILE, ball + 4 * PACKET * K, LENGTH(K)
	.set	K, K + 1
	.endr
