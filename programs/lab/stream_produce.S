// stream_produce.S - the producers: blocks from the host go on to the consumers.
//
// Both groups meet once for each block, in a chip-wide sync. The next block is asked for as soon as the last one has left, so
// it is on its way while the consumers add.
#include "stream.h"

	.supervisor
main:
	HOST_REQUEST ask
	setzi	$m0, BLOCKS - 1
	sync	SYNC_RECV			// the first block is here
1:	sync	SYNC_CHIP
	.exchange TILE
	.send	block, BLOCK, FIRST_EVENT
	.endexchange
	sync	SYNC_RECV
	brz	$m0, 2f
	HOST_REQUEST ask
	sync	SYNC_RECV			// the next block is here
	brnzdec	$m0, 1b
2:	sync	SYNC_CHIP			// the consumers are done
	sync	SYNC_HOST

ask:	HOST_READ 0, block, BLOCK
