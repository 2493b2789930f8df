/* exec_int.h - 32 bits in one lane: integer arithmetic, logic, shifts, comparisons, bit and byte
 * permutations. lanes.def says which instructions do which.
 *
 * All arithmetic is modulo 2^32; nothing sets flags and nothing faults. Immediates arrive extended
 * (isa.h). Meanings: docs/isa.md 2 to 4; the last column of insn.def has the source of each.
 * Private to emu/exec.
 */
#ifndef EMU_EXEC_INT_H
#define EMU_EXEC_INT_H

#include <stdint.h>

static inline uint32_t int_add(uint32_t a, uint32_t b)
{
    return a + b;
}

static inline uint32_t int_sub(uint32_t a, uint32_t b)
{
    return a - b;
}

/* The low 32 bits. */
static inline uint32_t int_mul(uint32_t a, uint32_t b)
{
    return a * b;
}

/* 0x80000000 stays as it is. */
static inline uint32_t int_abs(uint32_t a)
{
    return a >> 31 ? 0u - a : a;
}

/* max and min are signed. */
static inline uint32_t int_max(uint32_t a, uint32_t b)
{
    return (int32_t)a > (int32_t)b ? a : b;
}

static inline uint32_t int_min(uint32_t a, uint32_t b)
{
    return (int32_t)a < (int32_t)b ? a : b;
}

/* Comparisons give 1 or 0. */
static inline uint32_t int_cmpeq(uint32_t a, uint32_t b)
{
    return a == b;
}

static inline uint32_t int_cmpne(uint32_t a, uint32_t b)
{
    return a != b;
}

static inline uint32_t int_cmpslt(uint32_t a, uint32_t b)
{
    return (int32_t)a < (int32_t)b;
}

static inline uint32_t int_cmpult(uint32_t a, uint32_t b)
{
    return a < b;
}

static inline uint32_t bits_and(uint32_t a, uint32_t b)
{
    return a & b;
}

static inline uint32_t bits_andc(uint32_t a, uint32_t b)
{
    return a & ~b;
}

static inline uint32_t bits_or(uint32_t a, uint32_t b)
{
    return a | b;
}

static inline uint32_t bits_xor(uint32_t a, uint32_t b)
{
    return a ^ b;
}

static inline uint32_t bits_xnor(uint32_t a, uint32_t b)
{
    return ~(a ^ b);
}

static inline uint32_t bits_not(uint32_t a)
{
    return ~a;
}

static inline uint32_t bits_copy(uint32_t a)
{
    return a;
}

/* Shift counts above 31: logical shifts give 0, the arithmetic one gives the sign [ASSUMED: the
 * record says "up to 31"]. */
static inline uint32_t bits_shl(uint32_t a, uint32_t n)
{
    return n < 32 ? a << n : 0;
}

static inline uint32_t bits_shr(uint32_t a, uint32_t n)
{
    return n < 32 ? a >> n : 0;
}

static inline uint32_t bits_shrs(uint32_t a, uint32_t n)
{
    uint32_t sign = a >> 31 ? UINT32_MAX : 0;

    if (n == 0)
        return a;
    return n < 32 ? a >> n | sign << (32 - n) : sign;
}

/* 32 for 0. */
static inline uint32_t bits_clz(uint32_t a)
{
    return a ? (uint32_t)__builtin_clz(a) : 32;
}

/* The number of bits directly below the sign bit that equal it, 0..31. */
static inline uint32_t bits_cms(uint32_t a)
{
    return bits_clz(a >> 31 ? ~a : a) - 1;
}

static inline uint32_t bits_popc(uint32_t a)
{
    return (uint32_t)__builtin_popcount(a);
}

/* Reverses the bits inside each byte. */
static inline uint32_t bits_bitrev8(uint32_t a)
{
    a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
    a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
    return (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
}

/* The high half of a lands low, the low half of b high. */
static inline uint32_t bits_roll16(uint32_t a, uint32_t b)
{
    return a >> 16 | b << 16;
}

static inline uint32_t bits_roll8r(uint32_t a, uint32_t b)
{
    return a >> 8 | b << 24;
}

static inline uint32_t bits_roll8l(uint32_t a, uint32_t b)
{
    return a >> 24 | b << 8;
}

/* The low halves. */
static inline uint32_t bits_sort4x16lo(uint32_t a, uint32_t b)
{
    return (a & 0xffff) | b << 16;
}

/* The high halves. */
static inline uint32_t bits_sort4x16hi(uint32_t a, uint32_t b)
{
    return a >> 16 | (b & 0xffff0000);
}

/* Byte n of v, 0 the least significant. */
static inline uint32_t byte(uint32_t v, unsigned n)
{
    return v >> 8 * n & 0xff;
}

static inline uint32_t bytes(uint32_t b0, uint32_t b1, uint32_t b2, uint32_t b3)
{
    return b0 | b1 << 8 | b2 << 16 | b3 << 24;
}

/* The even bytes of a, then of b. */
static inline uint32_t bits_sort8x8lo(uint32_t a, uint32_t b)
{
    return bytes(byte(a, 0), byte(a, 2), byte(b, 0), byte(b, 2));
}

/* The odd bytes. */
static inline uint32_t bits_sort8x8hi(uint32_t a, uint32_t b)
{
    return bytes(byte(a, 1), byte(a, 3), byte(b, 1), byte(b, 3));
}

/* Interleaves the low two bytes. */
static inline uint32_t bits_shuf8x8lo(uint32_t a, uint32_t b)
{
    return bytes(byte(a, 0), byte(b, 0), byte(a, 1), byte(b, 1));
}

/* Interleaves the high two bytes. */
static inline uint32_t bits_shuf8x8hi(uint32_t a, uint32_t b)
{
    return bytes(byte(a, 2), byte(b, 2), byte(a, 3), byte(b, 3));
}

/* The even bytes, then the odd ones. */
static inline uint32_t bits_sort8(uint32_t a)
{
    return bytes(byte(a, 0), byte(a, 2), byte(a, 1), byte(a, 3));
}

/* Swaps the bytes of each half. */
static inline uint32_t bits_swap8(uint32_t a)
{
    return bytes(byte(a, 1), byte(a, 0), byte(a, 3), byte(a, 2));
}

#endif
