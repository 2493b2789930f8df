/* ref_exp.c - the exponential function in f64 from additions and multiplications. */
#include <math.h>
#include <string.h>

#include "models/ref/ref_layers.h"

/* 2^k for -1022 <= k <= 1023. */
static double power_of_two(int k)
{
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double d;

    memcpy(&d, &bits, sizeof(d));
    return d;
}

/* 1 / i!, rounded. */
static const double inverse_factorial[] = {
    1.0,         1.0,          1.0 / 2,         1.0 / 6,          1.0 / 24,
    1.0 / 120,   1.0 / 720,    1.0 / 5040,      1.0 / 40320,      1.0 / 362880,
    1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200,
};

/* x = k ln 2 + r with |r| <= ln 2 / 2; e^r by its series to r^14 / 14!, whose rest is below 2^-61.
 * ln 2 is split so that k times its upper part is exact. */
double ref_exp(double x)
{
    static const double log2e = 0x1.71547652b82fep0, ln2_hi = 0x1.62e42fefa38p-1,
                        ln2_lo = 0x1.ef35793c7673p-45;
    double k, r, sum = 0;

    if (x != x)
        return x;
    if (x > 0x1.62e42fefa39efp9)
        return INFINITY;
    if (x < -0x1.6232bdd7abcd2p9)
        return 0;
    k = __builtin_rint(x * log2e);
    r = (x - k * ln2_hi) - k * ln2_lo;
    for (int i = EMU_COUNT_OF(inverse_factorial) - 1; i >= 0; i--)
        sum = inverse_factorial[i] + sum * r;
    /* 2^1024 has no f64, but e^x may be just below it */
    return sum * power_of_two((int)k / 2) * power_of_two((int)k - (int)k / 2);
}
