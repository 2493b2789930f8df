/* fp_math_log.c - ln and log2 on doubles.
 *
 * Method: x = 2^e z with z in [0.699, 1.398). A table gives -ln v for a v near 1/z, so short that
 * r = z v - 1 is exact. Then
 *     ln x = e ln2 - ln v + ln(1 + r)
 * Around 1 the table has v = 1: nothing cancels, and results near 0 keep their relative error.
 * Errors below are relative, u = 2^-53.
 */
#include "emu/base/fp_math_core.h"

#define CELL_BITS 6

/* The f32 pattern where z starts: such that 1 lies in the middle of a cell, as patterns count. */
#define Z_START 0x3f330000u

struct log_cell {
    double v;        /* 1 / (middle of the cell), rounded to a multiple of 2^-12; 1 around 1 */
    struct dd minus; /* -ln v: nearest double and rest */
};

/* Cell i holds the z with f32 patterns from Z_START + i 2^17 up to the next. |z v - 1| <= 2^-7. */
static const struct log_cell cell_table[1 << CELL_BITS] = {
    { 0x1.6c1p+0, { -0x1.689983bca6126p-2, 0x1.6b07cd83f2ee6p-56 } },
    { 0x1.681p+0, { -0x1.5d495dcacd6f1p-2, 0x1.28953dda2cca8p-63 } },
    { 0x1.643p+0, { -0x1.5234e0670a525p-2, -0x1.07a43681b2b27p-57 } },
    { 0x1.606p+0, { -0x1.472fdbe4fd3f2p-2, -0x1.b2629fc10f5b7p-56 } },
    { 0x1.5cap+0, { -0x1.3c3b2736b3f61p-2, 0x1.747a74f77e325p-57 } },
    { 0x1.58fp+0, { -0x1.31579e142ddbp-2, -0x1.92d2c961708bdp-56 } },
    { 0x1.555p+0, { -0x1.268620f34d63dp-2, -0x1.2e662ed438b2ep-58 } },
    { 0x1.51dp+0, { -0x1.1bf816355eb94p-2, 0x1.0958a02185c47p-56 } },
    { 0x1.4e6p+0, { -0x1.117ee81dfe4c4p-2, 0x1.10eba2e6869b7p-57 } },
    { 0x1.4bp+0, { -0x1.071b85fcd590dp-2, -0x1.d1707f97bde8p-58 } },
    { 0x1.47bp+0, { -0x1.f99dc6c23b409p-3, -0x1.f3dd09792dd7bp-57 } },
    { 0x1.447p+0, { -0x1.e533effde1014p-3, -0x1.489af90893273p-57 } },
    { 0x1.414p+0, { -0x1.d0fb7f2255e51p-3, 0x1.4ac818ceca4c4p-57 } },
    { 0x1.3e2p+0, { -0x1.bcf6736f7d6c7p-3, -0x1.76b0a6e1c43a2p-60 } },
    { 0x1.3b1p+0, { -0x1.a926d3a4ad563p-3, -0x1.942f48aa70ea9p-57 } },
    { 0x1.381p+0, { -0x1.958eadae5fd89p-3, -0x1.7a844e05c5048p-58 } },
    { 0x1.352p+0, { -0x1.8230164c1a332p-3, 0x1.14bad17a5bddbp-57 } },
    { 0x1.324p+0, { -0x1.6f0d28ae56b4cp-3, 0x1.906d99184b992p-57 } },
    { 0x1.2f7p+0, { -0x1.5c28060c46b76p-3, -0x1.c6e9c1d0af78cp-57 } },
    { 0x1.2cap+0, { -0x1.4915d832fb562p-3, 0x1.dc00d79ec3456p-57 } },
    { 0x1.29ep+0, { -0x1.3643cad0588f1p-3, 0x1.c37b3480acbdbp-58 } },
    { 0x1.273p+0, { -0x1.23b412580b40dp-3, 0x1.d013c9e6fa1d4p-57 } },
    { 0x1.249p+0, { -0x1.1168e8127e327p-3, 0x1.e487351a45ac2p-57 } },
    { 0x1.22p+0, { -0x1.fec9131dbeabbp-4, 0x1.5746b9981b36cp-58 } },
    { 0x1.1f7p+0, { -0x1.da6e7637c46a1p-4, 0x1.536ae3e558707p-62 } },
    { 0x1.1cfp+0, { -0x1.b6a688d9b5b17p-4, -0x1.7fcef8959605cp-58 } },
    { 0x1.1a8p+0, { -0x1.9375e55595edep-4, 0x1.e463f9e4dd92p-59 } },
    { 0x1.181p+0, { -0x1.6ff7309f8c003p-4, -0x1.e33329e6eb569p-60 } },
    { 0x1.15bp+0, { -0x1.4d1515b987ce3p-4, -0x1.7e8e050b54adap-62 } },
    { 0x1.136p+0, { -0x1.2ad449eff2316p-4, 0x1.d72f82dc39cap-59 } },
    { 0x1.111p+0, { -0x1.08498b51e39b1p-4, -0x1.9875409b62802p-59 } },
    { 0x1.0edp+0, { -0x1.cccb3cd79b2f5p-5, -0x1.8b99b50357323p-60 } },
    { 0x1.0c9p+0, { -0x1.88729e70ee637p-5, -0x1.384b6b371763cp-60 } },
    { 0x1.0a7p+0, { -0x1.475ee9a0b0b6fp-5, -0x1.1f75516ef3455p-59 } },
    { 0x1.084p+0, { -0x1.03d5d85e73eefp-5, -0x1.2c1da539d60edp-61 } },
    { 0x1.062p+0, { -0x1.83624fba83bd7p-6, -0x1.c96b4004622b7p-61 } },
    { 0x1.041p+0, { -0x1.01f5658735842p-6, 0x1.6c8368a59d82fp-63 } },
    { 0x1.02p+0, { -0x1.fe02a6b106789p-8, 0x1.e44b7e3711ebfp-67 } },
    { 0x1p+0, { 0, 0 } },
    { 0x1.f82p-1, { 0x1.fbea8b13c03d9p-7, 0x1.27b17e4e134e1p-62 } },
    { 0x1.f08p-1, { 0x1.f7a9b16782856p-6, -0x1.36c720c147756p-60 } },
    { 0x1.e92p-1, { 0x1.766d923c20ff8p-5, 0x1.505e384982ab6p-59 } },
    { 0x1.e1ep-1, { 0x1.f0c30c1116351p-5, 0x1.94ee90500a333p-62 } },
    { 0x1.daep-1, { 0x1.345179b63dd42p-4, 0x1.e9b0a868391a8p-63 } },
    { 0x1.d42p-1, { 0x1.6ef528c056a2cp-4, -0x1.8b5d9f2b77346p-58 } },
    { 0x1.cd8p-1, { 0x1.a956d3ecade63p-4, 0x1.e5300b12bd55ep-58 } },
    { 0x1.c72p-1, { 0x1.e2507702af03bp-4, 0x1.0cff5bbb6e609p-58 } },
    { 0x1.c0ep-1, { 0x1.0d79e7cd48e5ap-3, 0x1.1423c24f1d3c1p-59 } },
    { 0x1.bacp-1, { 0x1.299d30c606ea7p-3, -0x1.ff0c47ee4eafbp-57 } },
    { 0x1.b4ep-1, { 0x1.44f8b726f8efbp-3, 0x1.4886573767e0fp-57 } },
    { 0x1.af2p-1, { 0x1.601b076e7a8a9p-3, 0x1.afa9bf91ca867p-57 } },
    { 0x1.a98p-1, { 0x1.7b0091651528cp-3, 0x1.4069f303518c8p-57 } },
    { 0x1.a42p-1, { 0x1.9509aa0044f8fp-3, 0x1.9d6d34d717c19p-58 } },
    { 0x1.9ecp-1, { 0x1.af6895610dbaep-3, -0x1.445fbd49bb184p-60 } },
    { 0x1.99ap-1, { 0x1.c8df7cb9a8f77p-3, 0x1.0bd63879b9fb6p-58 } },
    { 0x1.948p-1, { 0x1.e2a877a6b2c12p-3, -0x1.fa21e3df9943p-58 } },
    { 0x1.8fap-1, { 0x1.fb7d86eee3b9p-3, -0x1.8736e025ebdaep-59 } },
    { 0x1.8acp-1, { 0x1.0a504e97bb40cp-2, 0x1.29ccd218877e5p-57 } },
    { 0x1.862p-1, { 0x1.1661caecb9ba4p-2, -0x1.fff9fc4aba901p-56 } },
    { 0x1.818p-1, { 0x1.22981fbef797bp-2, -0x1.0b04ac06cebep-59 } },
    { 0x1.7dp-1, { 0x1.2e9e2bce12286p-2, 0x1.8251a3b83d97ap-62 } },
    { 0x1.78ap-1, { 0x1.3a71c56bb48c6p-2, 0x1.1bed6a2120b29p-57 } },
    { 0x1.746p-1, { 0x1.4610bc29c5e18p-2, -0x1.64f9886472e95p-57 } },
    { 0x1.702p-1, { 0x1.51d1d9310456cp-2, 0x1.f5441b391c5dp-57 } },
};

/* (-1)^(n+1) / n, n = 2..16, as nearest double and rest: the series of ln(1 + r). */
static const struct dd log1p_term[] = {
    { -0x1p-1, 0 },
    { 0x1.5555555555555p-2, 0x1.5555555555555p-56 },
    { -0x1p-2, 0 },
    { 0x1.999999999999ap-3, -0x1.999999999999ap-57 },
    { -0x1.5555555555555p-3, -0x1.5555555555555p-57 },
    { 0x1.2492492492492p-3, 0x1.2492492492492p-57 },
    { -0x1p-3, 0 },
    { 0x1.c71c71c71c71cp-4, 0x1.c71c71c71c71cp-58 },
    { -0x1.999999999999ap-4, 0x1.999999999999ap-58 },
    { 0x1.745d1745d1746p-4, -0x1.745d1745d1746p-59 },
    { -0x1.5555555555555p-4, -0x1.5555555555555p-58 },
    { 0x1.3b13b13b13b14p-4, -0x1.3b13b13b13b14p-58 },
    { -0x1.2492492492492p-4, -0x1.2492492492492p-58 },
    { 0x1.1111111111111p-4, 0x1.1111111111111p-60 },
    { -0x1p-4, 0 },
};

static const struct dd ln2 = { FP_LN2_HI, FP_LN2_LO };
static const struct dd log2e = { 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56 };

struct log_parts {
    double e, r;
    const struct log_cell *cell;
};

static inline struct log_parts log_split(double x)
{
    float f = (float)x;
    uint32_t bits, from_start;
    struct log_parts s;

    memcpy(&bits, &f, sizeof(bits));
    from_start = bits - Z_START;
    s.e = (int32_t)from_start >> 23;
    bits -= from_start & 0xff800000u;
    memcpy(&f, &bits, sizeof(f));
    s.cell = &cell_table[(from_start >> (23 - CELL_BITS)) & ((1 << CELL_BITS) - 1)];
    s.r = __builtin_fma(f, s.cell->v, -1.0);
    return s;
}

/* ln z. The series ends at r^8 (rest below 2^-59 of the result); the final addition costs u. Where
 * v != 1 the result is at least 2^-8 and at least half of -ln v: 2^-51.5 with the table's error. */
static inline double ln_cell(struct log_parts s)
{
    double r = s.r, r2 = r * r;
    double t0 = __builtin_fma(r, 1.0 / 3, -1.0 / 2);
    double t1 = __builtin_fma(r, 1.0 / 5, -1.0 / 4);
    double t2 = __builtin_fma(r, 1.0 / 7, -1.0 / 6);
    double q = __builtin_fma(r2, __builtin_fma(r2, -1.0 / 8, t2), t1);

    q = __builtin_fma(r2, q, t0);
    return (s.cell->minus.hi + r) + __builtin_fma(r2, q, s.cell->minus.lo);
}

/* With e != 0 the result is at least 0.34 and the two terms are at most 2.1 times it: 2^-51. */
double fp_ln_fast(double x)
{
    struct log_parts s = log_split(x);

    return __builtin_fma(s.e, ln2.hi, __builtin_fma(s.e, ln2.lo, ln_cell(s)));
}

/* As fp_ln_fast, and the product with log2 e adds 2 u of the smaller term: 2^-50.5. */
double fp_log2_fast(double x)
{
    struct log_parts s = log_split(x);

    return __builtin_fma(ln_cell(s), log2e.hi, s.e);
}

/* The series ends at r^16: the rest is below 2^-116 of the result. */
static struct dd ln_cell_dd(struct log_parts s)
{
    struct dd q = { 0, 0 };

    for (int n = (int)(sizeof(log1p_term) / sizeof(log1p_term[0])) - 1; n >= 0; n--)
        q = dd_add(log1p_term[n], dd_mul_double(q, s.r));
    q = dd_add((struct dd){ s.r, 0 }, dd_mul(q, dd_product(s.r, s.r)));
    return dd_add(s.cell->minus, q);
}

struct dd fp_ln_dd(double x)
{
    struct log_parts s = log_split(x);

    return dd_add(dd_mul_double(ln2, s.e), ln_cell_dd(s));
}

struct dd fp_log2_dd(double x)
{
    struct log_parts s = log_split(x);

    return dd_add((struct dd){ s.e, 0 }, dd_mul(ln_cell_dd(s), log2e));
}
