// less_scalar_u32: out[0] = a[0] < b, unsigned. State: a, b, out. For one word no worker is worth its launch.
#define FAMILY "../elementwise/elementwise.def"
#include "../kernel/fields.inc"
#include <poplar/StackSizeDefs.hpp>

#define state  $m0
#define a      $m1
#define b      $m2
#define out    $m3

.section .text.less_scalar_u32, "ax"
.globl less_scalar_u32
.type less_scalar_u32, @function
DEF_STACK_USAGE 0 less_scalar_u32
.supervisor
.align 8
less_scalar_u32:
        ld32 a, state, $mzero, less_scalar_u32__a
        ld32 b, state, $mzero, less_scalar_u32__b
        ld32 out, state, $mzero, less_scalar_u32__out
        ld32 a, a, $mzero, 0
        cmpult a, a, b
        st32 a, out, $mzero, 0
        br $lr
.size less_scalar_u32, .-less_scalar_u32
