// overlap_work.S - all other tiles: STEPS supersteps of a ring shift and some work by six workers, twice, and a clock that
// keeps how long each section took.
#include "overlap.h"

#define LEFT ((INDEX + COUNT - 1) % COUNT)

	.macro WORK_ALL
	setzi	$m0, STEPS - 1
1:	sync	SYNC_GROUP
	.exchange TILE
	.send	word, 1, FIRST_EVENT
	.receive last, 1, FIRST_EVENT, LEFT
	.endexchange
	sync	SYNC_RECV
	runall	$m1, $m2, 0
	sync	SYNC_LOCAL
	brnzdec	$m0, 1b
	.endm

// Cycles since the last reading, to the place of the section.
	.macro READ_CLOCK section
	get	$m5, $SCOUNT_L
	sub	$m6, $m5, $m4
	mov	$m4, $m5
	st32	$m6, $m3, \section
	.endm

	.supervisor
main:
	setzi	$m1, work
	setzi	$m2, word
	setzi	$m3, took
	JOIN
	get	$m4, $SCOUNT_L
	JOIN			// the stream alone
	READ_CLOCK 0
	WORK_ALL		// alone
	JOIN
	READ_CLOCK 1
	WORK_ALL		// both
	JOIN
	READ_CLOCK 2
	sync	SYNC_HOST

	.worker
	.align	8
work:
	{
	rpt	100, 0
	fnop
	}
	{
	add	$m0, $m0, $m1
	fnop
	}
	exitz	$mzero
