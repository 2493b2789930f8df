// softmax_max_f16: out[0] = the largest of x, in f32.
//
// State: x, 8-byte aligned, out, n, a multiple of 4, not 0. One worker does it: there are few. n / 4 + 16 slots.

#define FAMILY "../softmax/softmax.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define t        $m0
#define x        $m1
#define out      $m2
#define count    $m3

ENTRY softmax_max_f16
        get t, $WSR
        ld32 count, $mvertex_base, $mzero, softmax_max__n
        and t, t, CSR_W_WSR__CTXTID_M1__MASK
        brnz t, .Lnone
        ld32 x, $mvertex_base, $mzero, softmax_max__x
        ld32 out, $mvertex_base, $mzero, softmax_max__out
        shr count, count, 2
        add count, count, -1
        ld64step $a0:1, $mzero, x+=, 1
        mov $a4:5, $a0:1
        REPEAT count, 1
        { ld64step $a0:1, $mzero, x+=, 1
          f16v4max $a4:5, $a4:5, $a0:1 }
        f16v4max $a4:5, $a4:5, $a0:1
        f16v2max $a4, $a4, $a5
        f16v2maxc $a4, $a4
        f16tof32 $a4, $a4
        st32 $a4, out, $mzero, 0
.Lnone:
        exitz $mzero
.size softmax_max_f16, .-softmax_max_f16
