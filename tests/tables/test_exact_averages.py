"""Closed forms of Gaussian averages against quadrature of the formula itself, which shares no code with the engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import mpmath
import numpy as np
import pytest
import sympy as sp

from symres.activations.piecewise import PiecewiseFunction, split
from symres.core.symbols import K1, K2, C, K, z
from symres.gaussian.closed_form.engine import closed_form
from tests.oracles import signs
from tests.oracles.average import average_of

R = sp.Rational
ALPHA = sp.Symbol("alpha", positive=True)
A_PLUS, A_MINUS = sp.symbols("a_plus a_minus", real=True)
GELU = z * (1 + sp.erf(z / sp.sqrt(2))) / 2


@dataclass(frozen=True)
class Case:
    """A formula, where its derivatives jump, and numbers for its parameters."""

    expr: sp.Expr
    kinks: tuple[float, ...] = ()
    values: dict[sp.Symbol, sp.Rational] = field(default_factory=dict)


CASES = {
    "relu": Case(sp.Max(z, 0), (0,)),
    "two slopes": Case(
        sp.Piecewise((A_PLUS * z, z > 0), (A_MINUS * z, True)), (0,), {A_PLUS: R(7, 5), A_MINUS: R(-3, 10)}
    ),
    "abs": Case(sp.Abs(z), (0,)),
    "sign": Case(sp.sign(z), (0,)),
    "step": Case(sp.Heaviside(z), (0,)),
    "hard_tanh": Case(sp.Max(-1, sp.Min(1, z)), (-1, 1)),
    "relu6": Case(sp.Min(6, sp.Max(0, z)), (0, 6)),
    "hard_sigmoid": Case(sp.Max(0, sp.Min(1, z / 6 + R(1, 2))), (-3, 3)),
    "hard_swish": Case(z * sp.Max(0, sp.Min(1, z / 6 + R(1, 2))), (-3, 3)),
    "elu": Case(sp.Piecewise((z, z > 0), (ALPHA * (sp.exp(z) - 1), True)), (0,), {ALPHA: R(13, 10)}),
    "celu": Case(sp.Piecewise((z, z > 0), (ALPHA * (sp.exp(z / ALPHA) - 1), True)), (0,), {ALPHA: R(13, 10)}),
    "selu": Case(R(10507, 10000) * sp.Piecewise((z, z > 0), (R(16733, 10000) * (sp.exp(z) - 1), True)), (0,)),
    "soft shrink": Case(sp.Max(z - ALPHA, 0) - sp.Max(-z - ALPHA, 0), (-1.3, 1.3), {ALPHA: R(13, 10)}),
    "erf": Case(sp.erf(z)),
    "gelu": Case(GELU),
    "snake": Case(z + sp.sin(z) ** 2),
    "sin": Case(sp.sin(z)),
    "shifted sin": Case(sp.sin(2 * z + R(1, 3))),
    "cos": Case(sp.cos(z)),
    "square": Case(z**2),
    "cube": Case(z**3),
    "x gauss": Case(z * sp.exp(-(z**2) / 2)),
    "gauss": Case(sp.exp(-(z**2) / 2)),
    "damped wave": Case(sp.exp(-(z**2) / 2) * sp.cos(z)),
}

QUANTITIES: dict[str, Callable[[sp.Expr], sp.Expr]] = {
    "f": lambda f: f,
    "f^2": lambda f: f**2,
    "f'^2": lambda f: f.diff(z) ** 2,
    "f f' z": lambda f: f * f.diff(z) * z,
    "f^4": lambda f: f**4,
}

PIECES_QUANTITIES: dict[str, Callable[[PiecewiseFunction], PiecewiseFunction]] = {
    "f": lambda f: f,
    "f^2": lambda f: f.map(lambda u: u**2),
    "f'^2": lambda f: f.diff().map(lambda u: u**2),
    "f f' z": lambda f: f.map(lambda u, v: u * v * z, f.diff()),
    "f^4": lambda f: f.map(lambda u: u**4),
}

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def panels(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on the intervals between sorted edges."""
    left, width = edges[:-1, None], np.diff(edges)[:, None]
    return (left + width * (NODES + 1) / 2).ravel(), (width * WEIGHTS / 2).ravel()


def line(deviation: float, kinks: tuple[float, ...], scale: float) -> np.ndarray:
    """Edges on +-12 deviations, also at every kink, no wider than a deviation or the scale on which f varies."""
    reach = 12 * deviation
    step = min(deviation, scale)
    count = max(2, math.ceil(2 * reach / step))
    edges = [np.linspace(-reach, reach, count)]
    edges += [np.array([b]) for b in kinks if abs(b) < reach]
    return np.unique(np.concatenate(edges))


def numeric(expr: sp.Expr, values: dict[sp.Symbol, sp.Rational]) -> Callable[[np.ndarray], np.ndarray]:
    function = sp.lambdify(z, expr.subs(values).subs(sp.DiracDelta(z), 0), ["scipy", "numpy"])

    def evaluate(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):  # the branch of a Piecewise that is not taken may overflow
            return np.broadcast_to(function(x), x.shape)

    return evaluate


def quadrature(expr: sp.Expr, case: Case, variance: float) -> tuple[float, float]:
    """<f> and <|f|> by Gauss-Legendre panels in double precision."""
    deviation = math.sqrt(variance)
    x, w = panels(line(deviation, case.kinks, 1.0))
    terms = numeric(expr, case.values)(x) * w * np.exp(-(x**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    return math.fsum(terms), math.fsum(abs(terms))


def precise(expr: sp.Expr, values: dict[sp.Symbol, sp.Expr]) -> mpmath.mpf:
    """The closed form with 50 digits and more."""
    with mpmath.workdps(80):
        symbols = sorted(expr.free_symbols, key=str)
        numbers = [mpmath.mpf(values[s].p) / values[s].q for s in symbols]
        return mpmath.mpf(sp.lambdify(symbols, expr, [signs.MODULE, "mpmath"])(*numbers))


def deviation(expr: sp.Expr, values: dict[sp.Symbol, sp.Expr], measured: tuple[float, float]) -> float:
    """Distance of the closed form and quadrature, relative to <|f|>."""
    value, size = measured
    return float(abs(precise(expr, values) - value) / size) if size else float(abs(precise(expr, values)))


@pytest.mark.sample(29)
@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", CASES)
def test_one_variable(name: str, quantity: str) -> None:
    case = CASES[name]
    factor = PIECES_QUANTITIES[quantity](split(case.expr))
    result = closed_form((factor,), (K,)).result
    formula = QUANTITIES[quantity](case.expr)
    for variance in (R(1, 10**6), R(3, 100), R(1), R(30), R(1000)):
        measured = quadrature(formula, case, float(variance))
        # the oracle evaluates exp(z) - 1 at z = 1e-3 in double precision: 1e-13 relative
        assert deviation(result, {K: variance, **case.values}, measured) < 1e-13, (result, variance, measured)


@pytest.mark.parametrize("name", ["gelu", "elu", "hard_tanh", "erf", "x gauss"])
@pytest.mark.parametrize("variance", [R(1, 10**6), R(1), R(1000)])
def test_one_variable_to_thirty_digits(name: str, variance: sp.Rational) -> None:
    case = CASES[name]
    result = closed_form((split(case.expr).map(lambda u: u**2),), (K,)).result
    expected = precise(result, {K: variance, **case.values})
    with mpmath.workdps(36):
        measured = average_of(case.expr.subs(case.values) ** 2, variance, case.kinks, digits=35)
        assert abs(measured - expected) < abs(expected) * mpmath.mpf(10) ** -30


TWO_VARIABLES = [
    *((name, name) for name in (
        "relu", "two slopes", "abs", "sign", "step", "erf", "gelu", "snake", "sin", "shifted sin", "cos", "square",
        "cube", "x gauss", "gauss", "damped wave",
    )),
    ("gelu", "relu"), ("relu", "gelu"), ("gelu", "erf"), ("gelu", "sin"), ("gelu", "snake"), ("relu", "snake"),
    ("gelu", "x gauss"), ("gelu", "gauss"), ("gelu", "square"), ("gelu", "cube"), ("relu", "sign"),
    ("erf", "two slopes"), ("hard_tanh", "square"), ("elu", "cube"), ("hard_swish", "square"),
    ("relu6", "cube"), ("hard_tanh", "cube"), ("hard_tanh", "hard_tanh"),
    ("gelu", "elu"), ("hard_swish", "relu"),
]  # fmt: skip

POINTS = [(R(1, 2), R(-3, 5), R(2)), (R(30), R(10), R(7)), (R(1, 1000), R(1, 2000), R(1)), (R(5, 4), R(6, 5), R(6, 5))]


def quadrature2(first: Case, second: Case, law: tuple[sp.Rational, ...]) -> tuple[float, float]:
    """<f(x1) g(x2)> and <|f g|>: x1 by panels, x2 given x1 by panels that respect the kinks of g."""
    k1, c, k2 = map(float, law)
    width = math.sqrt(k2 - c * c / k1)
    x, v = panels(line(math.sqrt(k1), first.kinks, min(1.0, width * k1 / abs(c))))
    y, w = panels(line(math.sqrt(k2), second.kinks, min(1.0, width)))
    density = np.exp(-(x**2) / (2 * k1)) / math.sqrt(2 * math.pi * k1) * v
    f, g = numeric(first.expr, first.values)(x) * density, numeric(second.expr, second.values)(y) * w
    kernel = np.exp(-((y[None, :] - x[:, None] * c / k1) ** 2) / (2 * width**2)) / math.sqrt(2 * math.pi) / width
    return math.fsum(f * (kernel @ g)), math.fsum(abs(f) * (kernel @ abs(g)))


@pytest.mark.sample(7)
@pytest.mark.parametrize("names", TWO_VARIABLES, ids=" x ".join)
def test_two_variables(names: tuple[str, str]) -> None:
    first, second = (CASES[name] for name in names)
    result = closed_form((split(first.expr), split(second.expr)), (K1, C, K2)).result
    for law in POINTS:
        measured = quadrature2(first, second, law)
        values = {**dict(zip((K1, C, K2), law, strict=True)), **first.values, **second.values}
        assert deviation(result, values, measured) < 2e-14, (result, law, measured)


@pytest.mark.parametrize(
    "sabotage", [lambda e: e * R(101, 100), lambda e: -e, lambda e: 2 * e, lambda e: e + R(1, 10**9)]
)
def test_the_oracle_catches_wrong_forms(sabotage: Callable[[sp.Expr], sp.Expr]) -> None:
    case = CASES["gelu"]
    good = closed_form((split(case.expr**2),), (K,)).result
    measured = quadrature(case.expr**2, case, 1.0)
    assert deviation(good, {K: R(1)}, measured) < 2e-14
    assert deviation(sabotage(good), {K: R(1)}, measured) > 1e-10
    covariance = closed_form((split(case.expr), split(case.expr)), (K1, C, K2)).result
    law = dict(zip((K1, C, K2), POINTS[0], strict=True))
    measured = quadrature2(case, case, POINTS[0])
    assert deviation(sabotage(covariance), law, measured) > 1e-10
