"""Polynomials for float64.

Interpolants in Chebyshev nodes, their coefficients correctly rounded.
"""

from __future__ import annotations

from .machine import fma
from .tables import three_steps

SHIFT = 6755399441055744.0  # 1.5 * 2**52: what is added to it is rounded to an integer
LARGEST = 709.782712893384  # of the numbers whose exponential is a float
SMALLEST = -707.0  # below, exponentials count as 0
FLOOR = 1e-100  # what kernels are kept above where closed forms divide by them
NEAR = 1e-05  # where 1 - C/sqrt(K1*K2) is less, determinants are carried from layer to layer
ROUNDING = 1e-16  # of a number, relative to it
SMALLEST_FACTOR = 1e-150  # products of smaller ones are no floats
SMALLEST_DEVIATION = 1e-138  # squares of smaller ones, or their inverses, are no floats
NEGLIGIBLE = 1e-290  # an error that costs no digits of a normal float
FLOOR_SQUARED = 1e-200  # the same of determinants
LOG2_HIGH = 0.6931471803691238  # its last bits are 0
LOG2_LOW = 1.9082149292705877e-10  # the rest of log(2)


def arctan_tail(v: float) -> float:
    """(1 - arctan(u)/u)/v with v = u**2 from 0 to 1; four chains of operations, which processors do side by side."""
    w = v * v
    y = w * w
    a = three_steps(0.0034958859739163094, y, 0.031277189066996385, 0.052579733342841106, 0.09090908590891934)
    a = fma(a, y, 0.3333333333333333)
    b = three_steps(-0.0010496035084968515, y, -0.023696731580048622, -0.04737749579527779, -0.07692298971033217)
    b = fma(b, y, -0.1999999999999753)
    c = three_steps(0.00019996189377901382, y, 0.015535152475414177, 0.04260356632601652, 0.06666564699289104)
    c = fma(c, y, 0.14285714285384132)
    d = three_steps(-1.806195461861215e-05, y, -0.008368931178450162, -0.03749486812535247, -0.05881506877793656)
    d = fma(d, y, -0.11111111093490827)
    return fma(fma(d, v, c), w, fma(b, v, a))


def exp_tail(u: float) -> float:
    """(exp(u) - 1 - u)/u**2 where abs(u) is at most log(2)/2."""
    value = three_steps(2.091467944897855e-09, u, 2.5105206475334834e-08, 2.7557273661174726e-07, 2.75572554255029e-06)
    value = three_steps(value, u, 2.4801587325533502e-05, 0.00019841269874800683, 0.0013888888888883752)
    value = three_steps(value, u, 0.008333333333326141, 0.04166666666666667, 0.1666666666666667)
    return fma(value, u, 0.5)


def atanh_tail(v: float) -> float:
    """(artanh(u)/u - 1)/v with v = u**2 from 0 to 1/9."""
    value = three_steps(0.08082022805971766, v, 0.04400369243072337, 0.06000536404795356, 0.06657072104827468)
    value = three_steps(value, v, 0.07692785032479312, 0.09090894718066429, 0.11111111358713932)
    value = fma(fma(value, v, 0.1428571428355438), v, 0.20000000000007292)
    return fma(value, v, 0.3333333333333333)


def erfcx_scaled(t: float) -> float:
    """(1 + 2*u)*erfcx(u) with t = (u - 3)/(u + 3) for u >= 0; two chains of operations."""
    w = t * t
    a = three_steps(-3.169592039553522e-09, w, 2.7779061599708634e-08, -1.2038713923616526e-07, 3.3649033965298255e-07)
    a = three_steps(a, w, -7.186149396303622e-07, 4.944031214882928e-06, -0.00010515828085467254)
    a = three_steps(a, w, 0.0018886900908332905, -0.023770514890662273, -0.11927366341681594)
    a = fma(fma(a, w, -0.04756229435341897), w, 1.2530080582697296)
    b = three_steps(9.948820947537195e-10, w, -1.3361953304404018e-08, 1.0195717375790894e-07, -6.167709493550964e-07)
    b = three_steps(b, w, 3.472520280065519e-06, -2.0100627664406107e-05, 0.00012509937435915822)
    b = three_steps(b, w, -0.0007798322772742547, 0.002529391816799663, 0.06830802734392144)
    b = fma(fma(b, w, 0.12964515870276264), w, -0.1356211061245812)
    return fma(b, t, a)
