// add_relu_f16: a = max(a + b, 0). Two instructions a vector, so nothing is gained by more than two slots.
#include "binary.inc"

ENTRY add_relu_f16
        get wid, $WSR
        ld32 pa, $mvertex_base, $mzero, 0
        ld32 pb, $mvertex_base, $mzero, 1
        ld32 n, $mvertex_base, $mzero, 2
        BINARY_BODY add_relu_f16, 4, pa, CTXT_WORKERS, 2, "f16v4add $a4:5, $a0:1, $a2:3", "f16v4max $a4:5, $a4:5, $azeros"
        BINARY_TAIL add_relu_f16, 4, pa, "fnop", "f16v2add $a4, $a0, $a2", "f16v2max $a4, $a4, $azero"
