// Calls the functions of a list, as compiled code would: arguments in $m0 and $m1 or $a0 and $a1, the
// way back in $lr. The list has three words a call, function and arguments, and ends with a 0.

.section .text.call_stores, "ax"
.globl call_stores
.supervisor
call_stores:                    // $m0: the vertex state, a pointer to the list
        mov $m9, $lr
        ld32 $m8, $m0, 0
.Lstore:
        ld32 $m7, $m8, 0
        brz $m7, .Lstored
        ld32 $m0, $m8, 1
        ld32 $m1, $m8, 2
        add $m8, $m8, 12
        setzi $lr, .Lstore
        br $m7
.Lstored:
        br $m9

.section .text.call_comparisons, "ax"
.globl call_comparisons
.worker
call_comparisons:               // vertex state: pointers to the list and to the results
        ld32 $m8, $mvertex_base, 0
        ld32 $m9, $mvertex_base, 1
.Lcompare:
        ld32 $m7, $m8, 0
        brz $m7, .Lcompared
        ld32 $a0, $m8, 1
        ld32 $a1, $m8, 2
        add $m8, $m8, 12
        call $lr, .Lindirect
        st32step $m0, $mzero, $m9+=, 1
        bri .Lcompare
.Lindirect:
        br $m7
.Lcompared:
        exitz $mzero
