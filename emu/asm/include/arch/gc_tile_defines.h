/* gc_tile_defines.h - constants of the tile as tile assembly names them. Preprocessed with the C preprocessor.
 *
 * What differs between machines comes from the assembler as SUPERSTEP_* definitions, taken from struct arch. Selectors of the
 * matrix unit whose published numbers are unknown are numbered here; the emulator uses the same numbers.
 */
#ifndef SUPERSTEP_ARCH_GC_TILE_DEFINES_H
#define SUPERSTEP_ARCH_GC_TILE_DEFINES_H

/* Memory, workers and the repeat counter of the machine. */
#define TMEM_REGION0_BASE_ADDR          SUPERSTEP_MEM_BASE
#define TMEM_REGION1_BASE_ADDR          SUPERSTEP_REGION1_BASE
#define TMEM_ELEMSIZE                   SUPERSTEP_ELEMENT_BYTES
#define TMEM_BYTE_MAX_ADDRESS_WIDTH     SUPERSTEP_ADDRESS_BITS
#define TMEM_FULL_ADDRESS_MASK          SUPERSTEP_ADDRESS_MASK
#define CTXT_WORKERS                    SUPERSTEP_WORKERS
#define CSR_W_REPEAT_COUNT__VALUE__MASK SUPERSTEP_RPT_COUNT_MASK

/* Control and status registers; indices of the upper space carry 0x100. */
#define CSR_UPPER_MASK                  0xff
#define CSR_W_WSR__INDEX                0x1
#define CSR_W_WSR__CTXTID_M1__SHIFT     0
#define CSR_W_WSR__CTXTID_M1__MASK      0x7
#define CSR_W_FP_CLR__INDEX             0x101
#define CSR_W_FP_CLR__ZAACC__SHIFT      3
#define CSR_W_FP_CLR__ZAACC__MASK       0x1
#define CSR_W_FP_CTL__INDEX             0x102
#define CSR_W_FP_NFMT__INDEX            0x109
#define CSR_W_FP_NFMT__CWEI_FMT__SHIFT  0
#define CSR_W_FP_NFMT__CWEI_FMT__MASK   0x1
#define CSR_W_FP_NFMT__ARF_FMT__SHIFT   1
#define CSR_W_FP_NFMT__ARF_FMT__MASK    0x1
#define CSR_W_FP_SCL__INDEX             0x10a
#define CSR_W_FP_SCL__SCALE__SHIFT      0
#define CSR_W_FP_SCL__SCALE__MASK       0x3f
#define CSR_S_FP_ICTL__INDEX            0x20
#define CSR_S_FP_ICTL__INV__SHIFT       0
#define CSR_S_FP_ICTL__INV__MASK        0x1
#define CSR_S_FP_ICTL__DIV0__SHIFT      1
#define CSR_S_FP_ICTL__DIV0__MASK       0x1
#define CSR_S_FP_ICTL__OFLO__SHIFT      2
#define CSR_S_FP_ICTL__OFLO__MASK       0x1
#define CSR_S_FP_ICTL__ESR__SHIFT       19
#define CSR_S_FP_ICTL__ESR__MASK        0x1
#define CSR_S_FP_ICTL__NANOO__SHIFT     20
#define CSR_S_FP_ICTL__NANOO__MASK      0x1
#define CSR_S_FP_INFMT__INDEX           0x31
#define CSR_S_FP_ISCL__INDEX            0x33
#define CSR_S_CCCSLOAD__INDEX           0x50

/* sync */
#define TEXCH_SYNCZONE_LOCAL 2

/* f32int */
#define TFPU_ROUND_ZERO 3

/* Phases of the matrix instructions: engines and phase. */
#define TAMP_F16V4_E4_P0 0
#define TAMP_F16V4_E4_P1 1
#define TAMP_F16V4_E4_P2 2
#define TAMP_F16V4_E4_P3 3
#define TAMP_F16V4_E2_P0 4
#define TAMP_F16V4_E2_P1 5
#define TAMP_F16V4_E1_P0 6

#define TAMP_F32_E4_P0 0
#define TAMP_F32_E4_P1 1
#define TAMP_F32_E4_P2 2
#define TAMP_F32_E4_P3 3
#define TAMP_F32_E4_P4 4
#define TAMP_F32_E4_P5 5
#define TAMP_F32_E4_P6 6
#define TAMP_F32_E4_P7 7
#define TAMP_F32_E2_P0 8
#define TAMP_F32_E2_P1 9
#define TAMP_F32_E2_P2 10
#define TAMP_F32_E2_P3 11
#define TAMP_F32_E1_P2 12

/* Weight set of the sliding convolution instructions. */
#define TSLIC_F16V4_1x4_W0 0
#define TSLIC_F16V4_1x4_W1 1

/* Accumulator transposition. */
#define TISTACC_P0 0
#define TISTACC_P1 1
#define TSTACC_P0  0
#define TSTACC_P1  1

#endif
