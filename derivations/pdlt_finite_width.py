"""Roberts, Yaida, Hanin, "The Principles of Deep Learning Theory", section B.3: residual MLPs at finite width.

The recursions of the four-point vertex (B.25), (B.26), the growth nu(gamma) at criticality (B.29), (B.35), and what
follows for the optimal aspect ratio. With a skip connection a neuron remembers its own part in the averages of earlier
layers; the printed recursion keeps the second Hermite component of that, which is all there is after one layer, for
gamma = 0, and for linear and absolute-value activations.

Run ``python -m derivations.pdlt_finite_width`` to see every claim with its verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import mpmath as mp
import numpy as np
import sympy as sp
from numpy.typing import NDArray

import symres as sr

from .claim import Claim

SLOPES = {"relu": (1, 0), "abs": (1, 1), "linear": (1, 1), "leaky_relu(1/10)": (1, sp.Rational(1, 10))}
PAIR = (sp.Rational(3, 2), sp.Rational(2), sp.Rational(1, 2))
SETTING = {"gamma": sp.Rational(1, 2), "C_W": sp.Rational(3, 2), "C_b": sp.Rational(1, 8)}
NETS, WIDTH, SEED = 60_000, 512, 1


@cache
def theory(name: str) -> sr.Theory:
    """The theory of the residual MLP (B.3) with one activation."""
    return sr.derive(sr.residual(name))


def average(name: str, integrand: sp.Expr, K: sp.Expr) -> mp.mpf:
    """<integrand>_K, an expression in ``phi`` and z."""
    return sr.expect(integrand.xreplace({PHI: sr.activation(name)(sr.z)})).evalf(25, K=K)


PHI = sp.Symbol("phi", real=True)


def number(value: sp.Expr) -> mp.mpf:
    """Thirty digits."""
    return mp.mpf(sp.N(value, 30))


# ---- what is printed ---------------------------------------------------------------------------------------------


def printed_b25(component: str) -> mp.mpf:
    """(B.25) after the first layer, with V = 0 before: tanh, two inputs."""
    K1, K2, C = PAIR
    phi = sr.activation("tanh")(sr.z)

    def pair(f: sp.Expr, g: sp.Expr) -> mp.mpf:
        return sr.expect2(f, g).evalf(25, K1=K1, K2=K2, C=C)

    z, weight, skip = sr.z, number(SETTING["C_W"]), number(SETTING["gamma"] ** 2)
    if component == "(12)(12)":
        squares, mixed = pair(phi**2, phi**2) - pair(phi, phi) ** 2, pair(phi * z, phi * z)
        first = second = mixed - number(C) * pair(phi, phi)
    else:  # (11)(22)
        one, two = average("tanh", PHI**2, K1), average("tanh", PHI**2, K2)
        squares = pair(phi**2, phi**2) - one * two
        first = pair(phi**2, z**2) - number(K2) * one
        second = pair(z**2, phi**2) - number(K1) * two
    return weight**2 * squares + weight * skip * (first + second)


def derived_b25(component: str) -> mp.mpf:
    """The component of V after one layer."""
    K1, K2, C = PAIR
    V = theory("tanh").vertex(1, [[K1, C], [C, K2]], **SETTING)[1]
    assert not isinstance(V, float)
    return mp.mpf(float(V[0, 1, 0, 1] if component == "(12)(12)" else V[0, 0, 1, 1]))


def printed_b26(name: str, depth: int) -> mp.mpf:
    """(B.26) iterated from V = 0 at K = 1."""
    K, V = sp.Integer(1), mp.mpf(0)
    weight, gamma = number(SETTING["C_W"]), number(SETTING["gamma"])
    layer = theory(name)
    for _ in range(depth):
        named = {"K": K, **SETTING}
        chi = layer.chi_parallel.evalf(25, **{s.name: named[s.name] for s in layer.chi_parallel.symbols})
        noise = average(name, PHI**4, K) - average(name, PHI**2, K) ** 2
        V = weight**2 * noise + chi**2 * V + 4 * gamma**2 * (chi - gamma**2) * number(K) ** 2
        K = sp.Rational(str(layer.kernel_map.evalf(25, **{s.name: named[s.name] for s in layer.kernel_map.symbols})))
    return V


def derived_b26(name: str, depth: int) -> mp.mpf:
    """V after some layers."""
    found = theory(name).vertex(depth, 1, **SETTING)[depth]
    assert isinstance(found, float)
    return mp.mpf(found)


@cache
def simulated_b26(name: str, depth: int) -> mp.mpf:
    """The covariance n Cov(z_i^2, z_j^2) in networks whose dense layers are sampled exactly, given the layer before."""
    functions: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]]
    functions = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh}
    phi = functions[name]
    gamma, C_W, C_b = (float(SETTING[key]) for key in ("gamma", "C_W", "C_b"))
    kernel = float(theory(name).kernels(depth, 1, **SETTING)[-1])
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(NETS // 2000):
        z = rng.standard_normal((2000, WIDTH))
        for _ in range(depth):
            variance = C_b + C_W * np.square(phi(z)).mean(axis=1, keepdims=True)
            z = gamma * z + np.sqrt(variance) * rng.standard_normal(z.shape)
        apart = np.square(z) - kernel
        found.append((np.square(apart.sum(axis=1)) - np.square(apart).sum(axis=1)) / (WIDTH - 1))
    return mp.mpf(float(np.mean(found)))


def printed_b29(name: str, gamma: sp.Expr) -> mp.mpf:
    """(B.29): nu of the scale-invariant class."""
    plus, minus = SLOPES[name]
    A2, A4 = sp.Rational(plus**2 + minus**2) / 2, sp.Rational(plus**4 + minus**4) / 2
    rest = 1 - gamma**2
    return number(rest * (rest * (3 * A4 / A2**2 - 1) + 4 * gamma**2))


def printed_b35(_: str, gamma: sp.Expr) -> mp.mpf:
    """(B.35): nu of the class K* = 0."""
    return number(sp.Rational(2, 3) * (1 - gamma**4))


def derived_nu(name: str, gamma: sp.Expr) -> mp.mpf:
    """Nu of the derivation."""
    return theory(name).nu.evalf(25, gamma=gamma)


def deep_nu(name: str, gamma: sp.Expr) -> mp.mpf:
    """The growth of V in the recursion of deep networks: no sum over times, no closed form."""
    weight = theory(name).critical_points[0].C_W.subs(sr.gamma, gamma)
    V = theory(name).vertex(400, 1, C_W=weight, C_b=0, gamma=gamma)
    assert isinstance(V[400], float)
    assert isinstance(V[200], float)
    return mp.mpf(V[400] - V[200]) / 200


def turning(name: str) -> mp.mpf:
    """The gamma of the largest nu."""
    return mp.mpf(theory(name).aspect_ratio_curve(1).least[0])


def claims() -> tuple[Claim, ...]:
    """The results of section B.3."""
    gammas = (sp.Integer(0), sp.Rational(1, 2), sp.Rational(9, 10))
    return (
        Claim(
            "(B.25)",
            "four-point vertex of two inputs after one layer",
            printed_b25,
            derived_b25,
            (("(12)(12)",), ("(11)(22)",)),
            1e-12,
        ),
        Claim(
            "(B.26) l=1",
            "four-point vertex after one layer",
            printed_b26,
            derived_b26,
            (("relu", 1), ("tanh", 1)),
            1e-12,
        ),
        Claim(
            "(B.26) |z|",
            "four-point vertex of linear and absolute-value layers",
            printed_b26,
            derived_b26,
            (("linear", 3), ("abs", 3)),
            1e-12,
        ),
        Claim(
            "(B.26)",
            "four-point vertex after two layers: what neurons remember is missing",
            printed_b26,
            derived_b26,
            (("relu", 2),),
            1e-12,
            witness=simulated_b26,
        ),
        Claim(
            "(B.29) |z|",
            "nu of linear and absolute-value layers",
            printed_b29,
            derived_nu,
            tuple((name, g) for name in ("linear", "abs") for g in gammas),
            1e-20,
        ),
        Claim(
            "(B.29)",
            "nu of the scale-invariant class with a kink",
            printed_b29,
            derived_nu,
            tuple((name, g) for name in ("relu", "leaky_relu(1/10)") for g in gammas[1:]),
            1e-20,
            witness=deep_nu,
        ),
        Claim(
            "(B.35)",
            "nu of the class K* = 0",
            printed_b35,
            derived_nu,
            tuple((name, g) for name in ("tanh", "sin", "erf") for g in gammas),
            1e-20,
        ),
        Claim(
            "(B.36) below",
            "nu falls monotonically from gamma = 0 on, for ReLU as well",
            lambda name: mp.mpf(0),
            turning,
            (("relu",),),
            1e-6,
            witness=turning,
        ),
    )


def main() -> None:
    """Print every claim with its verdict."""
    for claim in claims():
        print(claim.judge())


if __name__ == "__main__":
    main()
