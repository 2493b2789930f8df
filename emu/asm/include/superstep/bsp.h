/* superstep/bsp.h - names for programs that run on a whole machine: sync zones, exchange, host transfers. docs/lab.md explains
 * them. */
#ifndef SUPERSTEP_BSP_H
#define SUPERSTEP_BSP_H

/* `sync` with one of these. Only GROUP and what stands after it begin a superstep. */
#define SYNC_RECV  0 /* the exchange of this superstep is over: wait until the last word is in memory */
#define SYNC_ANS   1 /* wait for the group syncs that `sans` voted for ahead */
#define SYNC_LOCAL 2 /* wait until the workers of this tile have exited */
#define SYNC_GROUP 3 /* all tiles of the group */
#define SYNC_CHIP  4 /* all groups of the chip */
#define SYNC_CHIPS 5 /* all chips */
#define SYNC_HOST  6 /* all tiles and the host: the program ends here unless the host goes on */

/* Of a manifest with "chips" these zones instead of SYNC_CHIPS and SYNC_HOST. */
#define SYNC_REPLICA 5 /* all chips that run one copy of the program: of a manifest, all there are */
#define SYNC_POD     6 /* all chips of the system */
#define SYNC_END     7 /* the tiles of the chip and its host: the program ends here unless the host goes on */

/* The first event at which any tile may send to any other: earlier words could reach a mux before its tile is released. */
#define FIRST_EVENT ((exch_delay_min() < 0) * -exch_delay_min())

/* A header for a transfer between a stream of the host and this tile's memory: two words of data. */
	.macro HOST_READ stream, address, words
	.int \address, (\stream) << 19 | (\words)
	.endm
	.macro HOST_WRITE stream, address, words
	.int (1 << 31) | (\address), (\stream) << 19 | (\words)
	.endm

/* Asks the host for the transfer of a header; the next SYNC_RECV waits for it. */
	.macro HOST_REQUEST header
	send 1, \header, 4
	.endm

/* A header for words that go to a tile of another chip, 1 to 64 of them: two words of data. */
	.macro CHIP_HEADER chip, tile, address, words
	.int (1 << 30) | (\address), (\chip) << 20 | (\tile) << 7 | (\words)
	.endm

/* Sends the header and its words; after SYNC_REPLICA or SYNC_POD, before SYNC_RECV. Both addresses count from $OUTGOING_BASE. */
	.macro CHIP_SEND header, data, words
	send 1, \header, 4
	send (\words) - 1, \data, 4
	.endm

/* So many words come from other chips: the next SYNC_RECV waits for them. Uses a register. */
	.macro CHIP_EXPECT words, register
	setzi \register, \words
	put $INCOMING_DCOUNT, \register
	.endm

#endif
