// conv1x1_f16: out[n][16] = W in[n][16] for n positions, f16 throughout, 16 units, f16 partials.
//
//   in       [n][16] f16        out   [n][16] f16, in a different memory element or with the other 64-bit parity than in
//   weights  [16 out][16 in] f16, region 1, 16-byte aligned; consumed in memory order (ld128putcs)
//
// Supervisor codelet. State: in, out, weights, n (below 65536). All pointers 8-byte aligned.
// Work: worker w takes n / 6 positions, the first n % 6 workers one more. Per position four bundles, one per phase:
//   { load four inputs, store four results of the position before ; matrix step }
// Results of a position leave while the next one is computed: four warm-up and four drain bundles a worker.
// Time: docs/timing.md 5. Stack: none.

#define FAMILY "../conv/conv.def"
#include "../kernel/fields.inc"
#include <poplar/StackSizeDefs.hpp>
#include <poplar/TileConstants.hpp>

#define state     m0
#define weights   m1
#define entry     m2

// Entries of the weight state in the order in which the rows of W fill them: outputs 0,1 -> units 0,1; 2,3 -> units 8,9; ...
.macro LOAD_BLOCK first
        ld128putcs \first
        ld128putcs \first + 2
        ld128putcs \first + 4
        ld128putcs \first + 6
.endm

.section .text.conv1x1_f16, FUNCTION_IS_WORKER
.globl conv1x1_f16
.type conv1x1_f16, @function
DEF_STACK_USAGE 0 conv1x1_f16
.supervisor
.align 8
conv1x1_f16:
        ld32 $weights, $state, $mzero, conv1x1__weights
        setzi $entry, conv1x1_f16_worker
        put $CCCSLOAD, $weights
        LOAD_BLOCK 0
        LOAD_BLOCK 32
        LOAD_BLOCK 8
        LOAD_BLOCK 40
        LOAD_BLOCK 16
        LOAD_BLOCK 48
        LOAD_BLOCK 24
        LOAD_BLOCK 56
        runall $entry, $state, 0
        sync TEXCH_SYNCZONE_LOCAL
        br $lr
.size conv1x1_f16, .-conv1x1_f16

#define wid       m0
#define in        m1
#define out       m2
#define count     m3
#define share     m4
#define rest      m5
#define first     m6
#define address   m8:9
#define x0        a0:1
#define x1        a2:3
#define r0        a4:5
#define r1        a6:7

.worker
.align 8
conv1x1_f16_worker:
        get $wid, $WSR
        ld32 $count, $mvertex_base, $mzero, conv1x1__n
        and $wid, $wid, CSR_W_WSR__CTXTID_M1__MASK
        setzi $share, 43691                     // n / 6 = n * 43691 >> 18 for n below 98,304
        mul $share, $count, $share
        shr $share, $share, 18
        mul $rest, $share, CTXT_WORKERS
        sub $rest, $count, $rest
        mul $first, $wid, $share
        cmpult $count, $wid, $rest
        add $count, $share, $count
        min $rest, $wid, $rest
        brz $count, .Lconv1x1_f16_none
        add $first, $first, $rest
        shl $first, $first, 5                   // 32 bytes a position
        ld32 $in, $mvertex_base, $mzero, conv1x1__in
        ld32 $out, $mvertex_base, $mzero, conv1x1__out
        add $in, $in, $first
        add $out, $out, $first
        add $first, $in, 56                     // the first load of the loop: position 1, inputs 12..15
        tapack $address, $first, $mzero, $out
        add $count, $count, -2                  // rounds between the first and the last position
.align 8
        // Warm-up: position 0 enters, nothing comes out.
        { ld64 $x0, $in, $mzero, 0
          setzi $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
        { ld64 $x1, $in, $mzero, 1
          uput $FP_CLR, $a7 }
        { ld64 $x0, $in, $mzero, 2
          f16v4hihov4amp $azeros, $x0, $azeros, TAMP_F16V4_E4_P0 }
        { ld64 $x1, $in, $mzero, 3
          f16v4hihov4amp $azeros, $x1, $azeros, TAMP_F16V4_E4_P1 }
        { brneg $count, .Lconv1x1_f16_single
          f16v4hihov4amp $azeros, $x0, $azeros, TAMP_F16V4_E4_P2 }
        { ld64 $x0, $in, $mzero, 4
          f16v4hihov4amp $azeros, $x1, $azeros, TAMP_F16V4_E4_P3 }
        { ld64 $x1, $in, $mzero, 5
          fnop }
        { ld64 $x0, $in, $mzero, 6
          f16v4hihov4amp $r0, $x0, $azeros, TAMP_F16V4_E4_P0 }
        { rpt $count, (.Lconv1x1_f16_end - .Lconv1x1_f16_loop) / 8 - 1
          fnop }
.Lconv1x1_f16_loop:
        { ldst64pace $x1, $r0, $address+=, $mzero, 0
          f16v4hihov4amp $r1, $x1, $azeros, TAMP_F16V4_E4_P1 }
        { ldst64pace $x0, $r1, $address+=, $mzero, 0
          f16v4hihov4amp $r0, $x0, $azeros, TAMP_F16V4_E4_P2 }
        { ldst64pace $x1, $r0, $address+=, $mzero, 0
          f16v4hihov4amp $r1, $x1, $azeros, TAMP_F16V4_E4_P3 }
        { ldst64pace $x0, $r1, $address+=, $mzero, 0
          f16v4hihov4amp $r0, $x0, $azeros, TAMP_F16V4_E4_P0 }
.Lconv1x1_f16_end:
        { ldst64pace $x1, $r0, $address+=, $mzero, 0
          f16v4hihov4amp $r1, $x1, $azeros, TAMP_F16V4_E4_P1 }
        { st64pace $r1, $address+=, $mzero, 0
          f16v4hihov4amp $r0, $x0, $azeros, TAMP_F16V4_E4_P2 }
        { st64pace $r0, $address+=, $mzero, 0
          f16v4hihov4amp $r1, $x1, $azeros, TAMP_F16V4_E4_P3 }
        { st64pace $r1, $address+=, $mzero, 0
          f16v4hihov4amp $r0, $azeros, $azeros, TAMP_F16V4_E4_P0 }
        // Drain: the results of the last position leave.
.Lconv1x1_f16_drain:
        { st64pace $r0, $address+=, $mzero, 0
          f16v4hihov4amp $r1, $azeros, $azeros, TAMP_F16V4_E4_P1 }
        { st64pace $r1, $address+=, $mzero, 0
          f16v4hihov4amp $r0, $azeros, $azeros, TAMP_F16V4_E4_P2 }
        { st64pace $r0, $address+=, $mzero, 0
          f16v4hihov4amp $r1, $azeros, $azeros, TAMP_F16V4_E4_P3 }
        st64pace $r1, $address+=, $mzero, 0
.Lconv1x1_f16_none:
        exitz $mzero

.align 8
.Lconv1x1_f16_single:
        { nop
          f16v4hihov4amp $azeros, $x1, $azeros, TAMP_F16V4_E4_P3 }
        { bri .Lconv1x1_f16_drain
          f16v4hihov4amp $r0, $azeros, $azeros, TAMP_F16V4_E4_P0 }
.size conv1x1_f16_worker, .-conv1x1_f16_worker
