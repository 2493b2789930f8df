// buckets_u32: cuts n sorted numbers at k - 1 splitters into k buckets of room for `room` numbers each; what stays empty is
// 0xffffffff. State: x [n], samples [m], out [k][room], k, room, n, m, each. The samples are sorted; splitter i is number (i + 1) each of
// them. Worker 0 alone. A number for which there is no room is lost.
	.section .text.buckets_u32, "ax"
	.globl	buckets_u32
	.type	buckets_u32, @function
	.worker
buckets_u32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	brnz	$m0, 9f
	ld32	$m1, $mvertex_base, $mzero, 0	// x
	ld32	$m2, $mvertex_base, $mzero, 1	// samples
	ld32	$m3, $mvertex_base, $mzero, 2	// out
	ld32	$m4, $mvertex_base, $mzero, 3	// k
	ld32	$m5, $mvertex_base, $mzero, 5	// n: numbers left
	ld32	$m6, $mvertex_base, $mzero, 7	// samples of a splitter
	add	$m4, $m4, -1
1:	ld32	$m0, $mvertex_base, $mzero, 4	// a bucket: its room
	shl	$m7, $m6, 2
	add	$m2, $m2, $m7			// after its splitter; the last bucket has none
2:	brz	$m5, 5f
	ld32	$m8, $m1, $mzero, 0
	brz	$m4, 3f
	ld32	$m9, $m2, $mzero, 0
	cmpult	$m9, $m8, $m9
	brz	$m9, 5f
3:	add	$m1, $m1, 4
	add	$m5, $m5, -1
	brz	$m0, 2b
	st32step $m8, $mzero, $m3+=, 1
	add	$m0, $m0, -1
	bri	2b
5:	add	$m9, $mzero, -1
6:	brz	$m0, 7f
	st32step $m9, $mzero, $m3+=, 1
	add	$m0, $m0, -1
	bri	6b
7:	brnzdec	$m4, 1b
9:	exitz	$mzero
	.size	buckets_u32, . - buckets_u32
