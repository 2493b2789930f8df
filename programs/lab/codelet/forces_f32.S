// forces_f32: adds to the forces on n bodies those of m others, all of mass 1: f += d / (|d|^2 + soft)^(3/2), d the way to the other.
// State: mine [n][2], other [m][2], force [n][2], soft, n2 (2 n), m2 (2 m). Worker w takes the bodies w, w + 6, ..; 14 slots for each
// pair: a reciprocal root takes four of them.
	.section .text.forces_f32, "ax"
	.globl	forces_f32
	.type	forces_f32, @function
	.worker
forces_f32:
	get	$m0, $WSR
	and	$m0, $m0, 7
	ld32	$m1, $mvertex_base, $mzero, 0	// mine
	ld32	$m2, $mvertex_base, $mzero, 1	// other
	ld32	$m3, $mvertex_base, $mzero, 2	// force
	ld32	$m4, $mvertex_base, $mzero, 4	// n2
	shr	$m4, $m4, 1
	ld32	$m5, $mvertex_base, $mzero, 5	// m2
	shr	$m5, $m5, 1
	add	$m5, $m5, -1
1:	cmpult	$m6, $m0, $m4
	brz	$m6, 3f
	ld64	$a0:1, $m1, $mzero, $m0
	ld64	$a2:3, $m3, $mzero, $m0
	mov	$m6, $m2
	mov	$m7, $m5
2:	ld64step $a4:5, $mzero, $m6+=, 1
	f32v2sub $a4:5, $a4:5, $a0:1
	f32v2mul $a6:7, $a4:5, $a4:5
	f32add	$a6, $a6, $a7
	ld32	$a7, $mvertex_base, $mzero, 3	// soft
	f32add	$a6, $a6, $a7
	f32oorx	$a6, $a6
	f32mul	$a7, $a6, $a6
	f32mul	$a6, $a7, $a6
	f32v2mul $a4:5, $a6:B, $a4:5
	{
	brnzdec	$m7, 2b
	f32v2add $a2:3, $a2:3, $a4:5
	}
	st64	$a2:3, $m3, $mzero, $m0
	add	$m0, $m0, 6
	bri	1b
3:	exitz	$mzero
	.size	forces_f32, . - forces_f32
