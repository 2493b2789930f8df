// visit_u32: a round of breadth-first search for n nodes: level = the smaller of its own and the smallest of its neighbours' plus 1.
// State: level [all], edges [n][degree], own [n], out [n], degree, n. Worker w takes the nodes w, w + 6, ..; 4 slots for each edge, 12
// more.
	.section .text.visit_u32, "ax"
	.globl	visit_u32
	.type	visit_u32, @function
	.worker
visit_u32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// level
	ld32	$m2, $mvertex_base, $mzero, 1	// edges
	ld32	$m3, $mvertex_base, $mzero, 2	// own
	ld32	$m4, $mvertex_base, $mzero, 3	// out
	ld32	$m5, $mvertex_base, $mzero, 4	// degree
	ld32	$m6, $mvertex_base, $mzero, 5	// n
1:	cmpult	$m7, $m0, $m6
	brz	$m7, 3f
	mul	$m7, $m0, $m5
	shl	$m7, $m7, 2
	add	$m7, $m7, $m2
	ld32	$m8, $m3, $mzero, $m0
	add	$m8, $m8, -1			// what a neighbour must be below
	add	$m9, $m5, -1
2:	ld32step $m10, $mzero, $m7+=, 1
	ld32	$m10, $m1, $mzero, $m10
	min	$m8, $m8, $m10
	brnzdec	$m9, 2b
	add	$m8, $m8, 1
	stm32	$m8, $m4, $m0
	add	$m0, $m0, 6
	bri	1b
3:	exitz	$mzero
	.size	visit_u32, . - visit_u32
