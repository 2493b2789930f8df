// own_codelet.S - y[i] = x[i] * x[i] * x[i]. All workers of a tile run it; worker w takes elements w, w + 6, w + 12, ...
// The state, at $mvertex_base: address of x, address of y, number of elements.
        .section .text.cube, "ax"
        .globl  cube
        .type   cube, @function
        .worker
cube:
        get     $m0, $WSR
        and     $m0, $m0, 7                             // the worker's number
        ld32    $m1, $mvertex_base, $mzero, 0
        ld32    $m2, $mvertex_base, $mzero, 1
        ld32    $m3, $mvertex_base, $mzero, 2
        shl     $m4, $m0, 2
        add     $m1, $m1, $m4
        add     $m2, $m2, $m4
next:
        cmpult  $m4, $m0, $m3
        brz     $m4, done
        ld32    $m5, $m1, $mzero, 0
        mul     $m4, $m5, $m5
        mul     $m4, $m4, $m5
        st32    $m4, $m2, $mzero, 0
        add     $m0, $m0, 6
        add     $m1, $m1, 24
        add     $m2, $m2, 24
        bri     next
done:
        exitz   $mzero
        .size   cube, . - cube
