"""Generated averages over one variable whose growth, waves and places of change depend on parameters.

The oracle is mpmath's quadrature of the formula as it is declared, between points that crowd where it changes.
"""

from dataclasses import dataclass, field

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import z
from tests.languages import unmeasured
from tests.oracles.average import average_of

LANGUAGES = ("numpy", "torch")
A, B = sp.Symbol("a", positive=True), sp.Symbol("b", real=True)
SOFTPLUS = sp.log(1 + sp.exp(z))
ROOTS = sp.sqrt(B), -sp.sqrt(B)


@dataclass(frozen=True)
class Case:
    """A function, the power of it that is averaged, and where.

    Args:
        formula: in z, a and b.
        points: (K, a, b), without b where the formula has none.
        power: of the function.
        places: where it changes, besides 0, in a and b.
        digits: of the oracle, after the point.
        tolerance: relative to the average.
    """

    formula: sp.Expr
    points: list[tuple[float, ...]]
    power: int = 2
    places: list[sp.Expr] = field(default_factory=list)
    digits: int = 17
    tolerance: float = 3e-14


CASES = {
    # far from the parameters at which errors are measured
    "isru": Case(z / sp.sqrt(1 + A * z**2), [(1.0, 100.0), (0.01, 1e4)], tolerance=3e-15),
    "srelu": Case((z + sp.sqrt(z**2 + A)) / 2, [(2.0, 1e-4)], tolerance=3e-15),
    "softsq": Case(z**2 / (1 + A * sp.Abs(z)), [(1e4, 20.0)], tolerance=3e-15),
    "steep": Case(sp.atan(A * z), [(1e4, 30.0)], tolerance=3e-15),
    # parameters inside of functions of functions
    "tanh of tanh": Case(sp.tanh(A * sp.tanh(z)), [(0.7, 5.0), (9.0, 12.0), (0.03, 300.0)]),
    "sin of tanh": Case(sp.sin(A * sp.tanh(z)), [(0.7, 20.0), (0.7, 50.0), (0.03, 100.0)]),
    "a power": Case((1 + z**2) ** (-A), [(0.7, 150.0)]),
    "a quotient": Case(1 / (1 + A * z**4), [(0.7, 1e4)]),
    "a bump": Case(z * sp.exp(-A * z**4), [(0.7, 1e4)]),
    "tanh of a cube": Case(sp.tanh(A * z**3), [(0.7, 1e4)]),
    "tanh of softplus": Case(sp.tanh(A * (SOFTPLUS - 1)), [(0.7, 300.0)], places=[sp.log(sp.E - 1)]),
    "mean of a power": Case((1 + z**2) ** (-A), [(0.7, 300.0)], power=1),
    # places of change that parameters move
    "gate": Case(
        1 / (1 + sp.exp(-A * (z - B))),
        [(1e4, 30.0, 100.0), (1.0, 1e4, -1.0), (1e4, 1.0, 30.0)],
        places=[B],
        tolerance=3e-15,
    ),
    "bumps": Case(sp.exp(-A * (z**2 - B) ** 2), [(100.0, 30.0, 64.0), (9.0, 100.0, 64.0)], 1, [*ROOTS]),
    "steps": Case(sp.tanh(A * (z**2 - B)), [(4.0, 10.0, 25.0)], places=[*ROOTS]),
    "cubic": Case(sp.tanh(A * (z**3 - B)), [(4.0, 8.0, 5.0)], places=[sp.cbrt(B)]),
    "peaks": Case(1 / (1 + A * (z**2 - B) ** 2), [(9.0, 100.0, 16.0)], 1, [*ROOTS]),
    "angle": Case(sp.atan(B * sp.exp(A * z)), [(99.7, 1.26, 4.37)], places=[-sp.log(B) / A]),
    "faint around 0": Case(1 / (1 + sp.exp(-A * (z - B))), [(0.38, 12.0, 12.0)], 1, [B], 110, 1e-13),
    "kinked and faint": Case(sp.Max(z - B, 0) * sp.tanh(A * z), [(0.00131, 0.75, 0.75)], 1, [B], 120, 1e-13),
    # growth that moves the mass
    "growing tanh": Case(sp.exp(-A * z) * sp.tanh(z), [(1.0, 0.75), (20.0, 1.0), (1e4, 0.1), (0.3, 12.0)]),
    "growing softplus": Case(SOFTPLUS * sp.exp(A * z), [(9.0, 1.0), (1e4, 0.1)]),
    "growing on both sides": Case(sp.cosh(A * z) / (1 + z**2), [(9.0, 1.0), (0.3, 12.0)]),
    "a root that grows": Case(sp.exp(sp.sqrt(A * z**2 + 1)), [(1.0, 1 / 9), (400.0, 1 / 9)], power=1),
    "ended by a double exponential": Case(sp.exp(20 * z - sp.cosh(z)) * sp.tanh(A * z), [(0.01, 1.0), (0.2, 1.0)], 1),
    "a double exponential": Case(sp.exp(A * z - sp.exp(z)), [(1.0, 0.5), (50.0, 2.0)], 1),
    # waves
    "a wave": Case(sp.sin(A * z + B) * sp.erf(z), [(1.0, 12.0, 0.1), (400.0, 6.0, 0.75)]),
    "a cut wave": Case(sp.cos(A * z) * sp.Heaviside(z - B, 1), [(1.0, 12.0, 0.1), (400.0, 6.0, 0.75)], places=[B]),
    # sums of functions inside of functions
    "logarithm of a sum": Case(sp.log(1 + sp.exp(z) + sp.exp(A * z)), [(1e-6, 1.0), (50.0, 2.0), (1e3, 1.0)], 1),
    "logarithm of growth": Case(sp.log(A + A / 2 * sp.exp(20 * z) + 2 * sp.exp(-z)), [(2.0, 3.0), (1e4, 9.0)], 1),
    "quotient of a sum": Case(1 / (A + sp.exp(z) + sp.exp(-z)), [(1.0, 0.5), (1e3, 1.0)], 1),
    "root of a sum": Case(sp.sqrt(A + z**2 + sp.exp(-(z**2))), [(1.0, 0.5), (1e3, 1.0)], 1),
}


def generated(case, target):
    """The generated average, as yet unmeasured."""
    f = sr.Activation("f", case.formula, tuple(sorted(case.formula.free_symbols - {z}, key=str)))
    return unmeasured(target, sr.expect(f(z) ** case.power))


def exact(case, kernel, *values):
    """The average and that of the size, to more digits than a float has."""
    at = dict(zip((A, B), map(sp.Rational, values), strict=False))
    shown = case.formula.replace(sp.Heaviside, lambda u, *_: sp.Piecewise((1, u > 0), (0, True)))
    f = sp.lambdify(z, shown.subs(at), "mpmath")
    places = [0.0, *(float(place.subs(at)) for place in case.places)]
    crowded = [p + side * mp.mpf(4) ** -n for p in places for side in (-1, 1) for n in range(-1, 9)]
    return average_of(lambda x: f(x) ** case.power, kernel, [*places, *crowded], digits=case.digits)


@pytest.mark.sample(8)
@pytest.mark.parametrize("target", LANGUAGES)
@pytest.mark.parametrize("name", CASES)
def test_averages_have_the_digits_of_floats(name, target):
    average = generated(CASES[name], target)
    for kernel, *values in CASES[name].points:
        expected = float(exact(CASES[name], kernel, *values))
        assert float(average(kernel, *values)) == pytest.approx(expected, rel=CASES[name].tolerance, abs=1e-300), (
            kernel,
            values,
        )


@pytest.mark.parametrize("target", LANGUAGES)
def test_entries_are_refined_by_themselves(target):
    """Among many that need no closer nodes, and with a hopeless one and an unknown one beside it."""
    values = np.array([1.0] * 300 + [50.0, 1e7, np.nan, 3.0])
    found = generated(CASES["sin of tanh"], target)(np.full(values.size, 0.7), values)
    np.testing.assert_allclose(found[:300], found[0], rtol=1e-14)
    for place in (0, 300, 303):
        assert found[place] == pytest.approx(float(exact(CASES["sin of tanh"], 0.7, values[place])), rel=1e-12)
    assert np.isnan(found[301:303]).all()


def test_entries_grow_each_at_its_own_rate():
    """One is out of the reach of floats and has no value; the others keep theirs."""
    average = generated(CASES["growing tanh"], "numpy")
    kernels, rates = np.array([1.0, 1e4, 9.0, 1e4]), np.array([0.1, 12.0, 1.0, 1e-3])
    found = average(kernels, rates)
    assert np.isnan(found[1])
    alone = [float(average(k, a)) for k, a in zip(kernels, rates, strict=True)]
    np.testing.assert_allclose(found, alone, rtol=1e-14)
