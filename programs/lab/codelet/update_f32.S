// update_f32: with a = sign over / under, y = y + a x (grow 0) or y = x + a y (grow 1). State: y [n], x [n], over [1], under [1], sign,
// grow, n. Worker w takes the elements w, w + 6, ..; 10 slots each.
	.section .text.update_f32, "ax"
	.globl	update_f32
	.type	update_f32, @function
	.worker
update_f32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// y
	ld32	$m2, $mvertex_base, $mzero, 1	// x
	ld32	$m3, $mvertex_base, $mzero, 2
	ld32	$a0, $m3, $mzero, 0		// over
	ld32	$m3, $mvertex_base, $mzero, 3
	ld32	$a1, $m3, $mzero, 0		// under
	f32div	$a0, $a0, $a1
	ld32	$a1, $mvertex_base, $mzero, 4	// sign
	f32mul	$a0, $a0, $a1
	ld32	$m3, $mvertex_base, $mzero, 5	// grow
	ld32	$m4, $mvertex_base, $mzero, 6	// n
1:	cmpult	$m5, $m0, $m4
	brz	$m5, 4f
	ld32	$a1, $m1, $mzero, $m0
	ld32	$a2, $m2, $mzero, $m0
	brnz	$m3, 2f
	f32mul	$a2, $a2, $a0
	bri	3f
2:	f32mul	$a1, $a1, $a0
3:	f32add	$a1, $a1, $a2
	st32	$a1, $m1, $mzero, $m0
	add	$m0, $m0, 6
	bri	1b
4:	exitz	$mzero
	.size	update_f32, . - update_f32
