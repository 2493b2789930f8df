// Exercise 6: six workers
//
// Every tile has N words at x and wants their sum at sum. Six workers run `work`; each leaves what it found at part + 4 * w, and the supervisor
// adds up the parts. Here worker 0 does everything, and the others nothing: share the words, so that it takes about a sixth of the time.
#include <superstep/bsp.h>

	.supervisor
main:
	setzi	$m1, work
	setzi	$m2, x
	runall	$m1, $m2, 0		// $mvertex_base of each worker is x
	sync	SYNC_LOCAL
	setzi	$m1, part		// the supervisor adds up what the workers have found
	ld32	$m0, $m1, 0
	ld32	$m2, $m1, 1
	add	$m0, $m0, $m2
	ld32	$m2, $m1, 2
	add	$m0, $m0, $m2
	ld32	$m2, $m1, 3
	add	$m0, $m0, $m2
	ld32	$m2, $m1, 4
	add	$m0, $m0, $m2
	ld32	$m2, $m1, 5
	add	$m0, $m0, $m2
	setzi	$m1, sum
	st32	$m0, $m1, 0
	sync	SYNC_HOST

	.worker
	.align	8
work:
	get	$m7, $WSR
	and	$m7, $m7, 7		// 0 to 5: which worker this is
	setzi	$m2, N
	setzi	$m3, part
	zero	$m4
	zero	$m0
	brz	$m7, 1f
	setzi	$m0, N			// nothing to do
1:	cmpult	$m5, $m0, $m2
	brz	$m5, 2f
	ld32	$m6, $mvertex_base, $mzero, $m0
	add	$m4, $m4, $m6
	add	$m0, $m0, 1
	bri	1b
2:	stm32	$m4, $m3, $m7
	exitz	$mzero
