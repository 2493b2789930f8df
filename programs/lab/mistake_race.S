// mistake_race.S - the six workers of each tile add their numbers to one word, all at the same time.
#include <superstep/bsp.h>

	.supervisor
main:
	setzi	$m1, work
	setzi	$m2, total
	runall	$m1, $m2, 0		// six workers, each with the address of the word
	sync	SYNC_LOCAL
	sync	SYNC_HOST

	.worker
	.align	8
work:
	get	$m0, $WSR
	and	$m0, $m0, 7		// 0 to 5: which worker this is
	ld32	$m1, $mvertex_base, $mzero, 0
	add	$m1, $m1, $m0
	st32	$m1, $mvertex_base, $mzero, 0
	exitz	$mzero
