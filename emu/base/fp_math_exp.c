/* fp_math_exp.c - e^x and 2^x on doubles, and tanh and sigm, which are quotients of e^x.
 *
 * Method: y = k ln2 / 64 + r with |r| <= ln2 / 128 and k = 64 e + j. Then
 *     e^y = 2^e 2^(j/64) (1 + p(r))
 * with 2^(j/64) from a table and p = e^r - 1 from its Taylor series. Errors below are relative, and
 * u = 2^-53 is half the spacing of doubles at 1.
 */
#include "emu/base/fp_math_core.h"

#define STEPS 64

/* step_table[j] = 2^(j/64): hi is the nearest double, lo the nearest double to the rest. */
static const struct dd step_table[STEPS] = {
    { 0x1p+0, 0 },
    { 0x1.02c9a3e778061p+0, -0x1.19083535b085dp-56 },
    { 0x1.059b0d3158574p+0, 0x1.d73e2a475b465p-55 },
    { 0x1.0874518759bc8p+0, 0x1.186be4bb284ffp-57 },
    { 0x1.0b5586cf9890fp+0, 0x1.8a62e4adc610bp-54 },
    { 0x1.0e3ec32d3d1a2p+0, 0x1.03a1727c57b53p-59 },
    { 0x1.11301d0125b51p+0, -0x1.6c51039449b3ap-54 },
    { 0x1.1429aaea92dep+0, -0x1.32fbf9af1369ep-54 },
    { 0x1.172b83c7d517bp+0, -0x1.19041b9d78a76p-55 },
    { 0x1.1a35beb6fcb75p+0, 0x1.e5b4c7b4968e4p-55 },
    { 0x1.1d4873168b9aap+0, 0x1.e016e00a2643cp-54 },
    { 0x1.2063b88628cd6p+0, 0x1.dc775814a8495p-55 },
    { 0x1.2387a6e756238p+0, 0x1.9b07eb6c70573p-54 },
    { 0x1.26b4565e27cddp+0, 0x1.2bd339940e9d9p-55 },
    { 0x1.29e9df51fdee1p+0, 0x1.612e8afad1255p-55 },
    { 0x1.2d285a6e4030bp+0, 0x1.0024754db41d5p-54 },
    { 0x1.306fe0a31b715p+0, 0x1.6f46ad23182e4p-55 },
    { 0x1.33c08b26416ffp+0, 0x1.32721843659a6p-54 },
    { 0x1.371a7373aa9cbp+0, -0x1.63aeabf42eae2p-54 },
    { 0x1.3a7db34e59ff7p+0, -0x1.5e436d661f5e3p-56 },
    { 0x1.3dea64c123422p+0, 0x1.ada0911f09ebcp-55 },
    { 0x1.4160a21f72e2ap+0, -0x1.ef3691c309278p-58 },
    { 0x1.44e086061892dp+0, 0x1.89b7a04ef80dp-59 },
    { 0x1.486a2b5c13cdp+0, 0x1.3c1a3b69062fp-56 },
    { 0x1.4bfdad5362a27p+0, 0x1.d4397afec42e2p-56 },
    { 0x1.4f9b2769d2ca7p+0, -0x1.4b309d25957e3p-54 },
    { 0x1.5342b569d4f82p+0, -0x1.07abe1db13cadp-55 },
    { 0x1.56f4736b527dap+0, 0x1.9bb2c011d93adp-54 },
    { 0x1.5ab07dd485429p+0, 0x1.6324c054647adp-54 },
    { 0x1.5e76f15ad2148p+0, 0x1.ba6f93080e65ep-54 },
    { 0x1.6247eb03a5585p+0, -0x1.383c17e40b497p-54 },
    { 0x1.6623882552225p+0, -0x1.bb60987591c34p-54 },
    { 0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54 },
    { 0x1.6dfb23c651a2fp+0, -0x1.bbe3a683c88abp-57 },
    { 0x1.71f75e8ec5f74p+0, -0x1.16e4786887a99p-55 },
    { 0x1.75feb564267c9p+0, -0x1.0245957316dd3p-54 },
    { 0x1.7a11473eb0187p+0, -0x1.41577ee04992fp-55 },
    { 0x1.7e2f336cf4e62p+0, 0x1.05d02ba15797ep-56 },
    { 0x1.82589994cce13p+0, -0x1.d4c1dd41532d8p-54 },
    { 0x1.868d99b4492edp+0, -0x1.fc6f89bd4f6bap-54 },
    { 0x1.8ace5422aa0dbp+0, 0x1.6e9f156864b27p-54 },
    { 0x1.8f1ae99157736p+0, 0x1.5cc13a2e3976cp-55 },
    { 0x1.93737b0cdc5e5p+0, -0x1.75fc781b57ebcp-57 },
    { 0x1.97d829fde4e5p+0, -0x1.d185b7c1b85d1p-54 },
    { 0x1.9c49182a3f09p+0, 0x1.c7c46b071f2bep-56 },
    { 0x1.a0c667b5de565p+0, -0x1.359495d1cd533p-54 },
    { 0x1.a5503b23e255dp+0, -0x1.d2f6edb8d41e1p-54 },
    { 0x1.a9e6b5579fdbfp+0, 0x1.0fac90ef7fd31p-54 },
    { 0x1.ae89f995ad3adp+0, 0x1.7a1cd345dcc81p-54 },
    { 0x1.b33a2b84f15fbp+0, -0x1.2805e3084d708p-57 },
    { 0x1.b7f76f2fb5e47p+0, -0x1.5584f7e54ac3bp-56 },
    { 0x1.bcc1e904bc1d2p+0, 0x1.23dd07a2d9e84p-55 },
    { 0x1.c199bdd85529cp+0, 0x1.11065895048ddp-55 },
    { 0x1.c67f12e57d14bp+0, 0x1.2884dff483cadp-54 },
    { 0x1.cb720dcef9069p+0, 0x1.503cbd1e949dbp-56 },
    { 0x1.d072d4a07897cp+0, -0x1.cbc3743797a9cp-54 },
    { 0x1.d5818dcfba487p+0, 0x1.2ed02d75b3707p-55 },
    { 0x1.da9e603db3285p+0, 0x1.c2300696db532p-54 },
    { 0x1.dfc97337b9b5fp+0, -0x1.1a5cd4f184b5cp-54 },
    { 0x1.e502ee78b3ff6p+0, 0x1.39e8980a9cc8fp-55 },
    { 0x1.ea4afa2a490dap+0, -0x1.e9c23179c2893p-54 },
    { 0x1.efa1bee615a27p+0, 0x1.dc7f486a4b6bp-54 },
    { 0x1.f50765b6e454p+0, 0x1.9d3e12dd8a18bp-54 },
    { 0x1.fa7c1819e90d8p+0, 0x1.74853f3a5931ep-55 },
};

/* 1/n!, n = 2..12, as nearest double and rest. */
static const struct dd inverse_factorial[] = {
    { 0x1p-1, 0 },
    { 0x1.5555555555555p-3, 0x1.5555555555555p-57 },
    { 0x1.5555555555555p-5, 0x1.5555555555555p-59 },
    { 0x1.1111111111111p-7, 0x1.1111111111111p-63 },
    { 0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65 },
    { 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73 },
    { 0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76 },
    { 0x1.71de3a556c734p-19, -0x1.c154f8ddc6cp-73 },
    { 0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76 },
    { 0x1.ae64567f544e4p-26, -0x1.c062e06d1f209p-80 },
    { 0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83 },
};

static const struct dd ln2 = { FP_LN2_HI, FP_LN2_LO };
static const double steps_per_unit = 0x1.71547652b82fep+6; /* nearest double to 64 / ln2 */

/* ln2 / 64 = c0 + c1 + c2. c0 is a multiple of 2^-45 and c1 of 2^-84, each with at most 39 bits, so
 * that their products with |k| < 2^14 are exact; c2 is the nearest double to the rest. */
static const double c0 = 0x1.62e42fefa4p-7;
static const double c1 = -0x1.8432a1b0ep-49;
static const double c2 = -0x1.319ff0342543p-88;

/* t + 1.5 * 2^52 has no room for a fraction: its low bits are t rounded to an integer. */
#define ROUNDING_SHIFT 0x1.8p52

struct scale {
    double kd;   /* k as a double */
    uint64_t j;  /* k mod 64 */
    uint64_t ex; /* floor(k / 64) at the place of the exponent, modulo 2^64 */
};

static inline struct scale scale_split(double steps)
{
    double shifted = steps + ROUNDING_SHIFT;
    int64_t k = (int32_t)(uint32_t)fp_f64_bits(shifted);
    uint64_t j = (uint64_t)k & (STEPS - 1);

    return (struct scale){ shifted - ROUNDING_SHIFT, j, ((uint64_t)k - j) << (52 - 6) };
}

/* 2^e t, for t of the table; adding to the exponent field is exact as nothing leaves the normal
 * range. */
static inline double scale_apply(struct scale s, double t)
{
    return t == 0 ? 0 : fp_f64(fp_f64_bits(t) + s.ex);
}

/* e^r - 1 for |r| < 0.00542. The series ends at r^6: the rest, r^7 / 5040, is below 2^-57 of the
 * result; the final addition costs u and the tail, at most 0.0028 r, adds little: 2^-52.9 in all.
 */
static inline double expm1_short(double r)
{
    double r2 = r * r;
    double low = __builtin_fma(r, 1.0 / 6, 0.5);
    double high = __builtin_fma(r, 1.0 / 120, 1.0 / 24);

    high = __builtin_fma(r2, 1.0 / 720, high);
    return __builtin_fma(r2, __builtin_fma(r2, high, low), r);
}

/* r of the fast forms. x - k c0 is exact: with k != 0 both terms are multiples of 2^-45 and the
 * difference is below 2^-7. Leaving out c2 costs at most 2^14 * 2^-87, absolute. */
static inline double exp_rest(double x, struct scale s)
{
    return __builtin_fma(-s.kd, c1, __builtin_fma(-s.kd, c0, x));
}

/* e^x as hi (1 + p). Errors: table u, p absolute 2^-59, final rounding u: 2^-51.9. */
double fp_exp_fast(double x)
{
    struct scale s = scale_split(x * steps_per_unit);
    double p = expm1_short(exp_rest(x, s));
    double t = scale_apply(s, step_table[s.j].hi);

    return __builtin_fma(t, p, t);
}

/* As fp_exp_fast; x - k/64 is exact, its product with ln2 is off by 2^-60 absolute. */
double fp_exp2_fast(double x)
{
    struct scale s = scale_split(x * STEPS);
    double p = expm1_short((x - s.kd * (1.0 / STEPS)) * ln2.hi);
    double t = scale_apply(s, step_table[s.j].hi);

    return __builtin_fma(t, p, t);
}

/* 1 - e^-a for a > 0, by parts, so that small a keeps its relative error: with k = 0 it is -p, else
 * at least 0.0053, and 1 - t, the table's lo part, t p and the last subtraction are off by 2^-51.2.
 */
static inline double one_minus_exp_fast(double a)
{
    struct scale s = scale_split(-a * steps_per_unit);
    double p = expm1_short(exp_rest(-a, s));
    double t = scale_apply(s, step_table[s.j].hi);

    return (1 - t) - __builtin_fma(t, p, scale_apply(s, step_table[s.j].lo));
}

/* tanh x = n / (2 - n), n = 1 - e^-2|x|: n 2^-51.2, 2 - n u and half of n's, quotient u: 2^-50.4.
 * Where n is near 1 its error counts twice, but is then only 2^-52.9. */
double fp_tanh_fast(double x)
{
    double n = one_minus_exp_fast(2 * __builtin_fabs(x));

    return __builtin_copysign(n / (2 - n), x);
}

/* sigm x = 1 / (1 + E) or E / (1 + E), E = e^-|x|: E 2^-51.9, and u for the sum and the quotient;
 * the errors of the two E have opposite signs: 2^-51. */
double fp_sigm_fast(double x)
{
    double e = fp_exp_fast(-__builtin_fabs(x));

    return (x < 0 ? e : 1) / (1 + e);
}

/* e^r - 1 with the series ended at r^12: the rest is below 2^-120 of the result. */
static struct dd expm1_long(struct dd r)
{
    struct dd q = { 0, 0 };

    for (int n = (int)(sizeof(inverse_factorial) / sizeof(inverse_factorial[0])) - 1; n >= 0; n--)
        q = dd_add(inverse_factorial[n], dd_mul(q, r));
    return dd_add(r, dd_mul(dd_mul(r, r), q));
}

static struct dd exp_rest_dd(double x, struct scale s)
{
    struct dd r = dd_sum(__builtin_fma(-s.kd, c0, x), -s.kd * c1);

    return dd_sum_ordered(r.hi, __builtin_fma(-s.kd, c2, r.lo));
}

static struct dd scale_table_dd(struct scale s)
{
    return (struct dd){ scale_apply(s, step_table[s.j].hi), scale_apply(s, step_table[s.j].lo) };
}

struct dd fp_exp_dd(double x)
{
    struct scale s = scale_split(x * steps_per_unit);
    struct dd t = scale_table_dd(s);

    return dd_add(t, dd_mul(t, expm1_long(exp_rest_dd(x, s))));
}

struct dd fp_exp2_dd(double x)
{
    struct scale s = scale_split(x * STEPS);
    struct dd t = scale_table_dd(s);
    struct dd r = dd_mul_double(ln2, x - s.kd * (1.0 / STEPS));

    return dd_add(t, dd_mul(t, expm1_long(r)));
}

static struct dd one_minus_exp_dd(double a)
{
    struct scale s = scale_split(-a * steps_per_unit);
    struct dd t = scale_table_dd(s);
    struct dd tp = dd_mul(t, expm1_long(exp_rest_dd(-a, s)));

    return dd_add(dd_add((struct dd){ 1, 0 }, dd_neg(t)), dd_neg(tp));
}

struct dd fp_tanh_dd(double x)
{
    struct dd n = one_minus_exp_dd(2 * __builtin_fabs(x));
    struct dd y = dd_div(n, dd_add((struct dd){ 2, 0 }, dd_neg(n)));

    return x < 0 ? dd_neg(y) : y;
}

struct dd fp_sigm_dd(double x)
{
    struct dd e = fp_exp_dd(-__builtin_fabs(x));
    struct dd one = { 1, 0 };

    return dd_div(x < 0 ? e : one, dd_add(one, e));
}
