// stream_consume.S - the consumers: each listens to its share of what its producer sends, and adds it up.
#include "stream.h"

	.supervisor
main:
	zero	$m0				// the sum
	setzi	$m1, BLOCKS - 1
	setzi	$m2, share
1:	sync	SYNC_CHIP
	.exchange TILE
	.receive share, WORDS, FIRST_EVENT + (TILE % SHARE) * WORDS, PRODUCER(TILE)
	.endexchange
	sync	SYNC_RECV
	zero	$m3
	setzi	$m4, WORDS - 1
2:	ld32step $m5, $m2, $m3+=, 1
	add	$m0, $m0, $m5
	brnzdec	$m4, 2b
	brnzdec	$m1, 1b
	setzi	$m6, sum
	st32	$m0, $m6, 0
	sync	SYNC_CHIP			// so that all ask in one cycle: the host serves them in order of tiles
	HOST_REQUEST tell
	sync	SYNC_RECV			// the host has the sum
	sync	SYNC_HOST

tell:	HOST_WRITE 1, sum, 1
