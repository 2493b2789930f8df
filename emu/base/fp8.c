/* fp8.c - what fp8.h declares, but for the sums of products, which are in fp_dot.c. */
#include "emu/base/fp8.h"

enum { F64_BIAS = 1023, F64_FRACTION = 52, FIXED_UNIT = -17 };

static const struct shape {
    int fraction; /* bits */
    int bias;
} shapes[] = { [FP8_F152] = { 2, 16 }, [FP8_F143] = { 3, 8 } };

static double power_of_two(int n)
{
    return fp_f64((uint64_t)(F64_BIAS + n) << F64_FRACTION);
}

int64_t fp8_fixed(uint8_t q, enum fp8_format format)
{
    struct shape s = shapes[format];
    int e = (q & FP8_MAX) >> s.fraction;
    int64_t m = q & ((1 << s.fraction) - 1);

    if (e)
        m |= INT64_C(1) << s.fraction;
    m <<= (e ? e : 1) - s.bias - s.fraction - FIXED_UNIT;
    return q & 0x80 ? -m : m;
}

uint16_t fp8_to_f16(uint8_t q, enum fp8_format format, int scale, unsigned lane, struct fp_env *env)
{
    if (q == FP8_NAN)
        return FP_F16_NAN;
    return fp_f16_from_f64((double)fp8_fixed(q, format) * power_of_two(FIXED_UNIT + scale), lane,
                           env);
}

/* Rounds a magnitude in units of the last place, less than 2^12, to a whole number of them. */
static unsigned round_units(double units, bool negative, unsigned lane, const struct fp_env *env)
{
    enum { REST_BITS = 40, RANDOM_BITS = 8 };
    double exact = units * power_of_two(REST_BITS);
    uint64_t m = (uint64_t)exact, rest;

    m |= (double)m != exact; /* all that is below counts as one bit */
    rest = m & ((UINT64_C(1) << REST_BITS) - 1);
    if (env->stochastic) {
        uint64_t cut = m >> (REST_BITS - RANDOM_BITS);

        cut |= m != cut << (REST_BITS - RANDOM_BITS);
        return (unsigned)((cut + (env->random >> RANDOM_BITS * lane & 0xff)) >> RANDOM_BITS);
    }
    m >>= REST_BITS;
    return (unsigned)(m +
                      fp_round_grows(m, rest, UINT64_C(1) << (REST_BITS - 1), negative, env->rnd));
}

static uint8_t overflow(uint8_t sign, struct fp_env *env)
{
    env->flags |= FP_OFLO;
    return env->nanoo ? FP8_NAN : sign | FP8_MAX;
}

uint8_t fp8_from_f16(uint16_t h, enum fp8_format format, int scale, unsigned lane,
                     struct fp_env *env)
{
    struct shape s = shapes[format];
    uint8_t sign = h & FP_F16_SIGN ? 0x80 : 0;
    double magnitude = fp_f16_value(fp_f16_abs(h)) * power_of_two(scale);
    int e, least = 1 - s.bias;
    unsigned m;

    if (fp_f16_abs(h) >= FP_F16_INF) {
        env->flags |= fp_f16_is_snan(h) || fp_f16_is_inf(h) ? FP_INV : 0;
        return FP8_NAN;
    }
    if (!fp_f16_abs(h))
        return 0;
    e = (int)(fp_f64_bits(magnitude) >> F64_FRACTION) - F64_BIAS;
    if (e < least)
        e = least;
    if (e > s.bias) /* more than twice the largest number */
        return overflow(sign, env);
    m = round_units(magnitude * power_of_two(s.fraction - e), sign, lane, env);
    /* The hidden bit adds 1 to the exponent field, a carry 2; a subnormal has none. */
    m += (unsigned)(e - least) << s.fraction;
    if (m > FP8_MAX)
        return overflow(sign, env);
    return m ? (uint8_t)(sign | m) : 0;
}

struct fp8_vector fp8_vector_of(uint64_t bytes, enum fp8_format format)
{
    struct fp8_vector v = { .nan = false };

    for (int i = 0; i < 8; i++) {
        uint8_t q = (uint8_t)(bytes >> 8 * i);

        v.nan |= q == FP8_NAN;
        v.fixed[i] = q == FP8_NAN ? 0 : fp8_fixed(q, format);
    }
    return v;
}
