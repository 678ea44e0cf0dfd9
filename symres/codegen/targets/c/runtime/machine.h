#include <float.h>

/* What the processor does: products with one rounding, and powers of two. Without a fused operation in hardware
 * (compile with -march=native where there is one) fma is a function of the C library, right and slow. */
typedef union { double number; uint64_t bits; } symres_double;
typedef union { float number; uint32_t bits; } symres_single;

/* Whether powers of a kernel, or their rounding errors, may be no floats; of 0 they are. */
static inline int symres_is_wide(float K, float least, float largest)
{
    return (K > largest) | ((K > 0) & (K < least));
}

/* A covariance of floats in double, cut off where the rounding of floats has brought it above sqrt(K1*K2). */
static inline double symres_rounded(double K1, double K2, double C)
{
    const double size = sqrt(K1) * sqrt(K2), excess = fabs(C) - size;
    return excess > 4 * DBL_EPSILON * size && excess <= 64 * FLT_EPSILON * size ? copysign(size, C) : C;
}

/* From 1 to the next number of a type. */
#define symres_precision(x) DBL_EPSILON
#define symres_precisionf(x) FLT_EPSILON

/* 2**k for an integer -1022 <= k <= 1023: the sum with 1.5 * 2**52 has k in its last bits. */
static inline double symres_power_of_two(double k)
{
    symres_double u;
    u.number = k + 6755399441055744.0;
    u.bits = (u.bits + 1023u) << 52;
    return u.number;
}

/* 2**k for an integer -126 <= k <= 127. */
static inline float symres_power_of_twof(float k)
{
    symres_single u;
    u.number = k + 12582912.0f;
    u.bits = (u.bits + 127u) << 23;
    return u.number;
}
