/* op_exp.h - e^x with the same bits on every host.
 */
#ifndef MODELS_OP_EXP_H
#define MODELS_OP_EXP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* e^x within 2 units in the last place; 0 below -708, inf above 709. No host libm, so the same bits
 * everywhere.
 *
 * x = k ln 2 + r with |r| <= ln 2 / 2; e^r by its series to r^13 / 13!, whose rest is below 2^-56.
 * ln 2 is split so that k times its upper part is exact. Adding 1.5 x 2^52 rounds to an integer and
 * leaves it in the low bits. */
static inline double op_exp(double x)
{
    const double round = 0x1.8p52, ln2_hi = 0x1.62e42fefa38p-1, ln2_lo = 0x1.ef35793c7673p-45;
    double t = x * 0x1.71547652b82fep0 + round, k = t - round;
    double r = (x - k * ln2_hi) - k * ln2_lo, sum = 1.0 / 6227020800, power;
    uint64_t bits;

    if (x < -708 || x > 709)
        return x < 0 ? 0 : INFINITY;
    sum = sum * r + 1.0 / 479001600;
    sum = sum * r + 1.0 / 39916800;
    sum = sum * r + 1.0 / 3628800;
    sum = sum * r + 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1;
    sum = sum * r + 1;
    memcpy(&bits, &t, sizeof(bits));
    bits = (bits + 1023) << 52;
    memcpy(&power, &bits, sizeof(power));
    return sum * power;
}

static inline double op_sigmoid(double x)
{
    return 1 / (1 + op_exp(-x));
}

#endif
