// overlap.h - what the two groups of overlap.bsp.json agree on. Three sections, with a chip-wide sync before and after each:
// the stream alone, the supersteps alone, both. The time from one sync to the next is the longer of what the groups do, so
// the third section lasts as long as the longer of the first two.
#include <superstep/bsp.h>

	.macro JOIN
	sync	SYNC_CHIP
	.endm
