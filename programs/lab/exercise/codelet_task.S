// Exercise 7: a codelet of your own
//
// A codelet, as vertices of a graph run it: six workers start at dot, each with $mvertex_base at the state, four words: the addresses of x, y
// and out, and the number n. Worker w is to leave the sum of x[i] * y[i] for i = w, w + 6, w + 12 .. below n at out[w], in f32; 0 where there
// is none. f32mul and f32add work on registers $a0 to $a15; ld32 $a1, $m1, $mzero, $m0 loads number $m0 of x.

	.section .text.dot, "ax"
	.globl	dot
	.worker
dot:
	get	$m0, $WSR
	and	$m0, $m0, 7			// w
	ld32	$m1, $mvertex_base, $mzero, 0	// x
	ld32	$m2, $mvertex_base, $mzero, 1	// y
	ld32	$m3, $mvertex_base, $mzero, 2	// out
	ld32	$m4, $mvertex_base, $mzero, 3	// n
	mov	$m5, $m0
	zero	$a0
	// here the loop is missing
	shl	$m5, $m5, 2
	add	$m3, $m3, $m5
	st32	$a0, $m3, $mzero, 0
	exitz	$mzero
