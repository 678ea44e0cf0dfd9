"""Closed forms of kernels written by hand, and theories made of them: what the check room must believe or refute.

Nothing here is derived by symres. Sources: Cho and Saul 2009 (ReLU), Williams 1997 (erf), and for GELU the integral
of Phi(x1) Phi(x2) x1 x2 by Stein's lemma, checked against a 160 x 160 grid when it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import mpmath as mp
import sympy as sp

from symres.activations.activation import Activation
from symres.core import symbols
from symres.layers.nodes import Dense
from symres.results.observable import Observable
from symres.results.quantity import Status
from symres.results.subjects import DerivedLayer
from symres.theory.observables import registry

Function = Callable[..., mp.mpf]


def relu(K1, K2, C):
    s = mp.sqrt(abs(K1 * K2 - C * C))
    return (s + C * mp.atan2(s, -C)) / (2 * mp.pi)


def relu_slope(K1, K2, C):
    """<phi'(z1) phi'(z2)>."""
    return mp.atan2(mp.sqrt(abs(K1 * K2 - C * C)), -C) / (2 * mp.pi)


def erf(K1, K2, C):
    return 2 / mp.pi * mp.atan2(2 * C, mp.sqrt((1 + 2 * K1) * (1 + 2 * K2) - 4 * C * C))


def erf_slope(K1, K2, C):
    return 4 / mp.pi / mp.sqrt((1 + 2 * K1) * (1 + 2 * K2) - 4 * C * C)


def gelu(K1, K2, C):
    a, b = 1 + K1, 1 + K2
    s = mp.sqrt(a * b - C * C)
    return (C * mp.atan2(s, -C) + (K1 * K2 * s * s + C * C) / (a * b * s)) / (2 * mp.pi)


def gelu_slope(K1, K2, C):
    a, b = 1 + K1, 1 + K2
    s = mp.sqrt(a * b - C * C)
    return (mp.atan2(s, -C) + C / s * (1 / a + 1 / b + 1 / s**2)) / (2 * mp.pi)


FORMULAS = {
    "relu": sp.Max(symbols.z, 0),
    "erf": sp.erf(symbols.z),
    "gelu": symbols.z * (1 + sp.erf(symbols.z / sp.sqrt(2))) / 2,
}
KERNELS: dict[str, tuple[Function, Function]] = {
    "relu": (relu, relu_slope),
    "erf": (erf, erf_slope),
    "gelu": (gelu, gelu_slope),
}


@dataclass(frozen=True)
class Claim:
    """A number that somebody claims to know: the part of a quantity that the check room uses."""

    name: str
    symbols: tuple[sp.Symbol, ...]
    function: Function
    status: Status = Status.EXACT

    def evalf(self, digits: int = 15, **values) -> mp.mpf:
        with mp.workdps(digits + 10):
            exact = {k: mp.mpf(v.p) / v.q if isinstance(v, sp.Rational) else mp.mpf(v) for k, v in values.items()}
            assert set(exact) == {str(s) for s in self.symbols}
            return mp.mpf(self.function(**exact))


@dataclass(frozen=True)
class FakeTheory(DerivedLayer):
    """A forward equation and claims about it."""

    forward: sp.Expr
    claims: dict[str, Claim]
    layer: SimpleNamespace = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layer", SimpleNamespace(forward=self.forward))

    @property
    def quantities(self) -> dict[str, Claim]:
        return self.claims

    @property
    def observables(self) -> Mapping[str, Observable]:
        return registry.observables

    def spoilt(self, name: str, change: Callable[[mp.mpf], mp.mpf]) -> FakeTheory:
        """The same theory with one wrong quantity."""
        right = self.quantities[name]
        wrong = Claim(name, right.symbols, lambda **values: change(right.function(**values)))
        return FakeTheory(self.forward, self.quantities | {name: wrong})


def residual_theory(name: str, forward: sp.Expr, skip: bool = True) -> FakeTheory:
    """The theory of ``gamma*z + Dense(phi(z))`` (or of ``Dense(phi(z))``), by hand."""
    kernel, slope = KERNELS[name]
    parameters = (symbols.C_W, symbols.C_b, symbols.gamma) if skip else (symbols.C_W, symbols.C_b)

    def covariance_map(K1, K2, C, C_W, C_b, gamma=0):
        return gamma**2 * C + C_b + C_W * kernel(K1, K2, C)

    def kernel_map(K, C_W, C_b, gamma=0):
        return covariance_map(K, K, K, C_W, C_b, gamma)

    def chi_parallel(K, C_W, C_b, gamma=0):
        return gamma**2 + C_W * mp.diff(lambda k: kernel(k, k, k), K)

    def chi_perp(K, C_W, C_b, gamma=0):
        return gamma**2 + C_W * slope(K, K, K)

    def h(K, C_W, C_b, gamma=0):
        return C_W / 2 * mp.diff(lambda k: slope(k, k, k), K)

    def chi_delta(K, C_W, C_b, gamma=0):
        return 2 * h(K, C_W, C_b, gamma)

    def parameter_norm(K, C_W, C_b, gamma=0):
        return C_b + C_W * kernel(K, K, K)

    def ntk_map(K1, K2, C, Theta, C_W, C_b, gamma=0):
        return gamma**2 * Theta + C_b + C_W * (kernel(K1, K2, C) + slope(K1, K2, C) * Theta)

    one, two = (symbols.K, *parameters), (symbols.K1, symbols.K2, symbols.C)

    def phi_squared(K):
        return kernel(K, K, K)

    maps = (kernel_map, chi_parallel, chi_perp, h, chi_delta, parameter_norm)
    claims = [Claim(f.__name__, one, f) for f in maps]
    claims.insert(1, Claim("covariance_map", (*two, *parameters), covariance_map))
    claims.append(Claim("ntk_map", (*two, symbols.Theta, *parameters), ntk_map))
    claims.insert(0, Claim("phi_squared", (symbols.K,), phi_squared))
    return FakeTheory(forward, {claim.name: claim for claim in claims})


PHI = {name: Activation(name, formula) for name, formula in FORMULAS.items()}


def theory(name: str, skip: bool = True) -> FakeTheory:
    """The theory of a residual network, or of a multilayer perceptron, of an activation of ``FORMULAS``."""
    return residual_theory(name, (symbols.gamma * symbols.z if skip else 0) + Dense(PHI[name](symbols.z)), skip)
