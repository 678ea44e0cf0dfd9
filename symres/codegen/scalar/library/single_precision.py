"""Polynomials for float32.

Interpolants in Chebyshev nodes, their coefficients correctly rounded.
"""

from __future__ import annotations

from .machine import fma
from .tables import three_steps

SHIFT = 12582912.0  # 1.5 * 2**23: what is added to it is rounded to an integer
LARGEST = 88.72283  # of the numbers whose exponential is a float
SMALLEST = -86.0  # below, exponentials count as 0
FLOOR = 1e-18  # what kernels are kept above where closed forms divide by them
NEAR = 0.01  # where 1 - C/sqrt(K1*K2) is less, determinants are carried from layer to layer
ROUNDING = 5e-08  # of a number, relative to it
SMALLEST_FACTOR = 1e-18  # products of smaller ones are no floats
SMALLEST_DEVIATION = 1e-17  # squares of smaller ones, or their inverses, are no floats
NEGLIGIBLE = 1e-36  # an error that costs no digits of a normal float
FLOOR_SQUARED = 1e-36  # the same of determinants
LOG2_HIGH = 0.693359375  # its last bits are 0
LOG2_LOW = -0.00021219444  # the rest of log(2)


def arctan_tail(v: float) -> float:
    """(1 - arctan(u)/u)/v with v = u**2 from 0 to 1; two chains of operations, which processors do side by side."""
    w = v * v
    a = three_steps(0.002386997316724113, w, 0.03587153898204336, 0.08656880430154522, 0.14278568748210602)
    a = fma(a, w, 0.3333333173306352)
    b = three_steps(-0.013507771427020535, w, -0.06250169444749563, -0.11033764115313455, -0.1999973932983558)
    return fma(b, v, a)


def exp_tail(u: float) -> float:
    """(exp(u) - 1 - u)/u**2 where abs(u) is at most log(2)/2."""
    value = three_steps(0.0013926176191150312, u, 0.00836317313152351, 0.04166655466162291, 0.16666577025255677)
    return fma(value, u, 0.5)


def atanh_tail(v: float) -> float:
    """(artanh(u)/u - 1)/v with v = u**2 from 0 to 1/9."""
    value = three_steps(0.11612165, v, 0.108532876, 0.14296179, 0.19999853)
    return fma(value, v, 0.33333334)


def erfcx_scaled(t: float) -> float:
    """(1 + 2*u)*erfcx(u) with t = (u - 3)/(u + 3) for u >= 0; two chains of operations."""
    w = t * t
    a = three_steps(-9.253768803318962e-05, w, 0.0018750602612271905, -0.023763559758663177, -0.1192752793431282)
    a = fma(fma(a, w, -0.04756215587258339), w, 1.2530080080032349)
    b = three_steps(8.007454744074494e-05, w, -0.0007340820739045739, 0.0025067785754799843, 0.06831319630146027)
    b = fma(fma(b, w, 0.1296447217464447), w, -0.1356211006641388)
    return fma(b, t, a)
