"""Fischer, Dahmen, Helias, "Optimal signal propagation in ResNets through residual scaling": response and fluctuations.

The layer is z' = z + rho Dense(phi(z)), so xi = rho and gamma = 1. Weight variances of the branch are those of the
readout.

Run ``python -m derivations.fischer_residual_scaling`` to see every claim with its verdict.
"""

from __future__ import annotations

from functools import cache

import mpmath as mp
import numpy as np
import sympy as sp

import symres as sr

from .claim import Claim

FIGURE_4 = {"C_W": sp.Rational(5, 4), "C_b": sp.Rational(1, 20)}
PAIR = [[sp.Rational(1, 20), sp.Rational(3, 100)], [sp.Rational(3, 100), sp.Rational(1, 20)]]
RHO = sp.Rational(3, 10)
WIDE = {"C_W": sp.Rational(6, 5), "C_b": sp.Rational(1, 5), "xi": sp.Integer(1)}
START = sp.Rational(7, 5)
NETS, WIDTH, SEED = 20_000, 512, 3


@cache
def theory() -> sr.Theory:
    """The theory of the erf network."""
    return sr.derive(sr.residual("erf", gamma=1, xi=sr.xi))


def slope(K: mp.mpf) -> mp.mpf:
    """<phi'^2 + phi'' phi>_K of erf, which is d<phi^2>/dK = (2/pi) d asin(2K/(1 + 2K))/dK."""
    return 4 / mp.pi / ((1 + 2 * K) * mp.sqrt(1 + 4 * K))


def kernel(K: mp.mpf, rho: mp.mpf, C_W: mp.mpf, C_b: mp.mpf) -> mp.mpf:
    """One layer."""
    return K + rho**2 * (C_b + C_W * 2 / mp.pi * mp.asin(2 * K / (1 + 2 * K)))


def number(value: sp.Expr) -> mp.mpf:
    """Thirty digits."""
    return mp.mpf(sp.N(value, 30))


# ---- response ----------------------------------------------------------------------------------------------------


def printed_chi(depth: int) -> mp.mpf:
    """(51) to (53): eta^l = rho^2 C_W <phi'^2 + phi'' phi> (eta^0 + ... + eta^(l-1)), with eta^0 = 1."""
    K, total = number(PAIR[0][0]), mp.mpf(1)
    rho, C_W, C_b = number(RHO), number(FIGURE_4["C_W"]), number(FIGURE_4["C_b"])
    for _ in range(depth):
        total += rho**2 * C_W * slope(K) * total
        K = kernel(K, rho, C_W, C_b)
    return total


def printed_chi_out(depth: int) -> mp.mpf:
    """(55)."""
    K = number(PAIR[0][0])
    rho, C_W, C_b = number(RHO), number(FIGURE_4["C_W"]), number(FIGURE_4["C_b"])
    for _ in range(depth):
        K = kernel(K, rho, C_W, C_b)
    return C_W * slope(K) * printed_chi(depth)


def derived_chi(depth: int) -> mp.mpf:
    """Chi after the last layer."""
    found = theory().response(depth, PAIR[0][0], xi=RHO, **FIGURE_4).chi[-1]
    return mp.mpf(float(found))


def derived_chi_out(depth: int) -> mp.mpf:
    """Chi of the output."""
    return mp.mpf(float(theory().response(depth, PAIR[0][0], xi=RHO, **FIGURE_4).chi_out))


def derived_off_diagonal(depth: int) -> mp.mpf:
    """dK_12/dK_11 after some layers."""
    found = theory().response(depth, PAIR, xi=RHO, **FIGURE_4).chi[-1]
    assert not isinstance(found, float)
    return mp.mpf(float(found[1, 0]))


def plain_off_diagonal(depth: int) -> mp.mpf:
    """The same by a difference of two runs of the arcsine kernel."""
    rho, C_W, C_b = number(RHO), number(FIGURE_4["C_W"]), number(FIGURE_4["C_b"])

    def covariance(first: mp.mpf) -> mp.mpf:
        K1, K2, C = first, number(PAIR[1][1]), number(PAIR[0][1])
        for _ in range(depth):
            angle = mp.asin(2 * C / mp.sqrt((1 + 2 * K1) * (1 + 2 * K2)))
            K1, K2, C = (
                kernel(K1, rho, C_W, C_b),
                kernel(K2, rho, C_W, C_b),
                C + rho**2 * (C_b + C_W * 2 / mp.pi * angle),
            )
        return C

    K, step = number(PAIR[0][0]), mp.mpf(10) ** -12
    return (covariance(K + step) - covariance(K - step)) / (2 * step)


# ---- the optimal scale -------------------------------------------------------------------------------------------


def printed_limit(depth: int) -> mp.mpf:
    """(68) with half the dynamic range of erf, V/2 = 1, in linear layers."""
    K, C_W, C_b = number(PAIR[0][0]), number(FIGURE_4["C_W"]), number(FIGURE_4["C_b"])
    weight = C_W * 4 / mp.pi
    return mp.sqrt(mp.log((weight + C_b) / (weight * K + C_b)) / (depth * weight))


def derived_limit(depth: int) -> mp.mpf:
    """c/sqrt(L) of the exact limit."""
    return mp.mpf(theory().branch_scale_limit(PAIR[0][0], **FIGURE_4).at(depth))


@cache
def exact_scale(depth: int) -> mp.mpf:
    """The maximum of chi_out at this depth, by a search along the printed recursion."""
    C_W, C_b = number(FIGURE_4["C_W"]), number(FIGURE_4["C_b"])

    def falling(rho: float) -> float:
        K, total = number(PAIR[0][0]), mp.mpf(0)
        for _ in range(depth):
            total += mp.log(1 + mp.mpf(rho) ** 2 * C_W * slope(K))
            K = kernel(K, mp.mpf(rho), C_W, C_b)
        return float(total + mp.log(slope(K)))

    middle = float(derived_limit(depth))
    places = np.linspace(0.7 * middle, 1.3 * middle, 61)
    values = [falling(rho) for rho in places]
    best = int(np.argmax(values))
    curve = np.polyfit(places[best - 3 : best + 4] - places[best], values[best - 3 : best + 4], 4)
    roots = np.roots(np.polyder(curve))
    return mp.mpf(float(places[best] + min(roots[np.isreal(roots)].real, key=abs)))


def entropy(kernel: mp.mpf) -> mp.mpf:
    """(140) for erf, by quadrature: the divergence of the uniform density from that of erf(h), h of variance K."""

    def integrand(h: mp.mpf) -> mp.mpf:
        weight = mp.exp(-(h**2)) / mp.sqrt(mp.pi)  # half of erf', the uniform density in h
        return weight * (mp.log(weight) + h**2 / (2 * kernel) + mp.log(2 * mp.pi * kernel) / 2)

    return mp.quad(integrand, [-8, -2, 0, 2, 8])


def least_entropy() -> mp.mpf:
    """Where that is smallest."""
    return mp.findroot(lambda kernel: mp.diff(entropy, kernel), mp.mpf("0.4"))


# ---- fluctuations ------------------------------------------------------------------------------------------------


def printed_fluctuation(depth: int) -> mp.mpf:
    """The sum after (133): responses squared times the variance of each layer by itself."""
    total, K = mp.mpf(0), number(START)
    kernels = [K]
    for _ in range(depth):
        kernels.append(kernel(kernels[-1], mp.mpf(1), number(WIDE["C_W"]), number(WIDE["C_b"])))
    for k in range(depth):
        response = mp.fprod(1 + number(WIDE["C_W"]) * slope(kernels[m]) for m in range(k + 1, depth))
        fourth = sr.expect("erf(z)^4").evalf(20, K=sp.Float(kernels[k], 25))
        second = 2 / mp.pi * mp.asin(2 * kernels[k] / (1 + 2 * kernels[k]))
        total += response**2 * number(WIDE["C_W"]) ** 2 * (fourth - second**2)
    return total


def derived_fluctuation(depth: int) -> mp.mpf:
    """P: n times the variance of the conditional kernel."""
    found = theory().kernel_fluctuation(depth, START, **WIDE)[depth]
    assert isinstance(found, float)
    return mp.mpf(found)


@cache
def simulated_fluctuation(depth: int) -> mp.mpf:
    """The variance, times n, of the sum of the layers' covariances in networks."""
    from scipy.special import erf

    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(NETS // 1000):
        z = np.sqrt(float(START)) * rng.standard_normal((1000, WIDTH))
        total = np.zeros(1000)
        for _ in range(depth):
            variance = float(WIDE["C_b"]) + float(WIDE["C_W"]) * np.square(erf(z)).mean(axis=1)
            total += variance
            z = z + np.sqrt(variance)[:, None] * rng.standard_normal(z.shape)
        found.append(total)
    return mp.mpf(float(WIDTH * np.var(np.concatenate(found))))


def claims() -> tuple[Claim, ...]:
    """Results of sections II.3, III.1, III.2 and appendices C and D."""
    return (
        Claim("(51)", "response of the stream's kernel", printed_chi, derived_chi, ((1,), (5,), (30,)), 1e-12),
        Claim("(55)", "response of the output", printed_chi_out, derived_chi_out, ((1,), (5,), (30,)), 1e-12),
        Claim(
            "(115)",
            "the covariance of two inputs does not respond to the kernel of one",
            lambda depth: mp.mpf(0),
            derived_off_diagonal,
            ((1,), (5,)),
            1e-12,
            witness=plain_off_diagonal,
        ),
        Claim(
            "(68)",
            "optimal scale of many layers, from linear layers within the dynamic range",
            printed_limit,
            derived_limit,
            ((200,),),
            1e-12,
            witness=exact_scale,
        ),
        Claim(
            "(142)",
            "variance of the neurons whose activations erf(h) are nearest to uniform ones",
            lambda: mp.mpf(1) / 4,
            lambda: sr.derive("erf").maximum_entropy_kernel,
            ((),),
            1e-12,
            witness=least_entropy,
        ),
        Claim(
            "after (133)",
            "fluctuations of different layers are independent",
            printed_fluctuation,
            derived_fluctuation,
            ((10,),),
            1e-12,
            witness=simulated_fluctuation,
        ),
    )


def main() -> None:
    """Print every claim with its verdict."""
    for claim in claims():
        print(claim.judge())


if __name__ == "__main__":
    main()
