// jump_u32: a round of pointer jumping for the nodes first .. first + n - 1 of a list: rank += rank of the next node, next = the next
// node's. State: next [all], rank [all], own_next [n], own_rank [n], first, n. Worker w takes the nodes w, w + 6, ..; 12 slots each.
	.section .text.jump_u32, "ax"
	.globl	jump_u32
	.type	jump_u32, @function
	.worker
jump_u32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// next
	ld32	$m2, $mvertex_base, $mzero, 1	// rank
	ld32	$m3, $mvertex_base, $mzero, 2	// own_next
	ld32	$m4, $mvertex_base, $mzero, 3	// own_rank
	ld32	$m5, $mvertex_base, $mzero, 4	// first
	ld32	$m6, $mvertex_base, $mzero, 5	// n
1:	cmpult	$m7, $m0, $m6
	brz	$m7, 2f
	add	$m7, $m0, $m5
	ld32	$m8, $m1, $mzero, $m7		// the node after this one
	ld32	$m9, $m2, $mzero, $m7
	ld32	$m10, $m2, $mzero, $m8
	add	$m9, $m9, $m10
	stm32	$m9, $m4, $m0
	ld32	$m10, $m1, $mzero, $m8
	stm32	$m10, $m3, $m0
	add	$m0, $m0, 6
	bri	1b
2:	exitz	$mzero
	.size	jump_u32, . - jump_u32
