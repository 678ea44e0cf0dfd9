"""Chizat, "Topics in Machine Learning", lecture 12: residual networks with two-layer blocks.

Signal propagation at initialisation (section 2) and the first step of training (section 3), from the forward equation
``h' = h + alpha sum_j v_j rho(u_j . h)`` with Gaussian u_j and v_j, whose sums are Dense nodes with C_W = d sigma_u^2
and C_W = M sigma_v^2. Squared norms are d times kernels.

Run ``python -m derivations.chizat_resnets`` to see every claim with its verdict.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

import symres as sr

from .claim import Claim

DIGITS = 40
FLOATS = 1e-13  # where symres returns 15 digits

inner, outer = sp.symbols("C_u C_v", positive=True)  # d sigma_u^2 and M sigma_v^2

SETTINGS = (  # (d, M, sigma_u^2, sigma_v^2, alpha, depth, |x|^2)
    (16, 32, sp.Rational(1, 16), sp.Rational(1), sp.Rational(1, 8), 5, sp.Rational(3)),
    (5, 7, sp.Rational(2, 3), sp.Rational(1, 2), sp.Rational(1, 10), 12, sp.Rational(1, 2)),
)


@cache
def theory(rho: str) -> sr.Theory:
    """Of a two-layer block; xi is alpha."""
    hidden = sr.activation(rho)(sr.Dense(sr.z, C_W=inner, C_b=0))
    return sr.derive(sr.Layer(sr.z + sr.xi * sr.Dense(hidden, C_W=outer, C_b=0)))


def _weights(setting: tuple[Any, ...]) -> dict[str, sp.Expr]:
    d, M, u, v, *_ = setting
    return {"C_u": d * u, "C_v": M * v}


# ---- what is printed ------------------------------------------------------------------------------------------------


def printed_c(d: int, M: int, u: sp.Rational, v: sp.Rational, *_: object) -> mp.mpf:
    """Section 2.2: c = (d/2) sigma_v^2 sigma_u^2 for ReLU."""
    return mp.mpf(sp.N(sp.Rational(d, 2) * v * u, 50))


def printed_displacement(*setting: Any) -> mp.mpf:
    """Proposition 2.1: Delta_l^2 = ((1 + c alpha^2 M)^l - 1) |x|^2."""
    _, M, _, _, alpha, depth, norm = setting
    growth = printed_c(*setting) * mp.mpf(sp.N(alpha, 50)) ** 2 * M
    return ((1 + growth) ** depth - 1) * mp.mpf(sp.N(norm, 50))


def printed_tangent(rho: str, d: int, M: int, K1: sp.Rational, K2: sp.Rational, C: sp.Rational) -> mp.mpf:
    """Section 3.3: the average of D_2 phi(x, z) D_2 phi(x', z)^T over M units, one of its d equal eigenvalues.

    The gradient in v gives rho(u.x) rho(u.x'), that in u v_i^2 rho'(u.x) rho'(u.x') x.x'.
    """
    phi = sr.activation(rho)(sr.z)
    law = {"K1": d * K1, "K2": d * K2, "C": d * C}
    values = sr.expect2(phi, phi).evalf(DIGITS, **law)
    slopes = sr.expect2(phi.diff(sr.z), phi.diff(sr.z)).evalf(DIGITS, **law)
    return M * (values + mp.mpf(sp.N(d * C, 50)) * slopes)


def printed_bound(multiple: int) -> mp.mpf:
    """Remark 2.2, first inequality: P(sup_l S^l <= a) <= E S^L/a, at so many times E S^L."""
    return 1 / mp.mpf(multiple)


# ---- what symres derives --------------------------------------------------------------------------------------------


def derived_c(*setting: Any) -> mp.mpf:
    """The growth of the kernel by one unit."""
    growth = theory("relu").depth_limit().growth
    return growth.evalf(DIGITS, K=1, **_weights(setting)) / setting[1]


def derived_displacement(*setting: Any) -> mp.mpf:
    """The displacement of a neuron, d times."""
    d, _, _, _, alpha, depth, norm = setting
    found = theory("relu").displacement(depth, norm / d, xi=alpha, **_weights(setting))
    return d * found[-1]


def derived_backward(*setting: Any) -> mp.mpf:
    """The growth of a gradient by one unit: the constant of the backward pass."""
    rate = theory("relu").depth_limit().gradient_rate
    return rate.evalf(DIGITS, K=1, **_weights(setting)) / setting[1]


def derived_limit(c: sp.Rational) -> mp.mpf:
    """K(tau)/K - 1 where tau c = 1: what is printed is exp(c M L alpha^2) - 1."""
    flow = theory("relu").depth_limit().kernel_expr
    assert flow is not None
    grown = flow.subs({sr.tau: 1 / c, inner: 2 * c, outer: 1, sr.K: 1})
    return mp.mpf(sp.N(grown - 1, 50))


def derived_tangent(rho: str, d: int, M: int, K1: sp.Rational, K2: sp.Rational, C: sp.Rational) -> mp.mpf:
    """What a layer adds to the tangent kernel, in units of alpha^2, where weights have variance 1."""
    rate = theory(rho).depth_limit().tangent_rate
    return rate.evalf(DIGITS, K1=K1, K2=K2, C=C, Theta=0, C_u=d, C_v=M)


def derived_bound(multiple: int) -> mp.mpf:
    """The least P(sup_l S^l <= a) that Doob's inequality allows: S is a submartingale, so P(sup > a) < E S^L/a."""
    return 1 - 1 / mp.mpf(multiple)


def seen_bound(multiple: int) -> mp.mpf:
    """The same probability in networks of plain arrays."""
    d, M, u, v, alpha, depth, _ = SETTINGS[0]
    draw, size = np.random.default_rng(0), 2000
    x = np.ones((size, d)) / np.sqrt(d)
    h, largest = x, np.zeros(size)
    for _ in range(depth):
        first = draw.normal(0, float(sp.sqrt(u)), (size, M, d))
        last = draw.normal(0, float(sp.sqrt(v)), (size, d, M))
        active = np.maximum(np.einsum("nmd,nd->nm", first, h), 0)
        h = h + float(alpha) * np.einsum("ndm,nm->nd", last, active)
        distance = ((h - x) ** 2).sum(axis=1)
        largest = np.maximum(largest, distance)
    return mp.mpf(float((largest <= multiple * distance.mean()).mean()))


def claims() -> tuple[Claim, ...]:
    """What sections 2 and 3 print."""
    pairs = (
        ("relu", 4, 3, sp.Rational(1, 2), sp.Rational(3, 4), sp.Rational(-1, 3)),
        ("erf", 2, 5, sp.Rational(2), sp.Rational(1, 3), sp.Rational(1, 2)),
    )
    constants = tuple((c,) for c in (sp.Rational(1, 2), sp.Rational(7, 3)))
    return (
        Claim("2.2", "c = (d/2) sigma_u^2 sigma_v^2 for ReLU blocks", printed_c, derived_c, SETTINGS),
        Claim(
            "Rem. 2.3",
            "sigma_u^2 = 1/d leaves c = sigma_v^2/2",
            lambda *setting: mp.mpf(sp.N(setting[3] / 2, 50)),
            lambda *setting: derived_c(*setting),
            SETTINGS[:1],
        ),
        Claim(
            "Prop. 2.1",
            "displacement of the first output",
            printed_displacement,
            derived_displacement,
            SETTINGS,
            FLOATS,
        ),
        Claim(
            "2.1 limit",
            "the variance of the first output is exp(c M L alpha^2) - 1 for many layers",
            lambda c: mp.e - 1,
            derived_limit,
            constants,
        ),
        Claim(
            "Rem. 2.2",
            "Doob's inequality for the distance from the input, first form",
            printed_bound,
            derived_bound,
            ((50,),),
            witness=seen_bound,
        ),
        Claim(
            "3.1",
            "the backward pass of ReLU blocks has the constant of the forward pass",
            printed_c,
            derived_backward,
            SETTINGS,
        ),
        Claim("3.3", "tangent kernel of M L units of a shallow network", printed_tangent, derived_tangent, pairs),
    )


def main() -> None:
    """Print every claim with its verdict."""
    for claim in claims():
        print(claim.judge())


if __name__ == "__main__":
    main()
