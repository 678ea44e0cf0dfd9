"""The special functions in double precision: one table for all formulas that are compiled to floats."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from symres.core.atoms import Enclosable, Opaque
from symres.functions.balls import evaluate
from symres.functions.floats.float_averages import CompiledExpressions
from symres.functions.floats.float_compiler import CompiledFormula
from symres.functions.records.gaussian_signs import NUMBERS, SPECIAL
from tests.oracles import signs

SHIFTS = [(0.3, -1.2), (0.0, 1.5), (3.0, 4.0), (-3.0, 2.0), (-2.0, -0.5), (9.0, 10.0), (1e-6, 2.0)]
CORRELATIONS = [0.5, -0.7, 1e-8, 0.999, -0.999]
OF_TWO = [(h, k, r) for h, k in SHIFTS for r in CORRELATIONS if not (h * r < 0 and abs(h) > 8)]
FOURS = [(a, c, c, c, c, b) for a, b, c in ((0.5, 0.7, -0.4), (0.3, 0.9, 0.1), (0.6, 0.6, 0.59))]
PLACES = {"S2": OF_TWO, "Q2": OF_TWO, "S4": FOURS, "T4": [(1e-6,), (1 / 3,), (0.8,), (0.9999,)]}
ORACLES = {**signs.MODULE, "S4": lambda a, c, *rest: signs.S4_of_pairs(a, rest[-1], c)}


@pytest.mark.sample(2)
@pytest.mark.parametrize("function", SPECIAL, ids=lambda f: f.__name__)
def test_every_evaluator_has_every_function(function):
    """Balls, the table, formulas compiled to NumPy and expressions in averages; against integrals over the law."""
    name = function.__name__
    for place in PLACES[name]:
        symbols = sp.symbols(f"s:{len(place)}", real=True)
        values = dict(zip(symbols, place, strict=True))
        with mp.workdps(40):
            exact = ORACLES[name](*(place if name == "S4" else map(mp.mpf, place)))
            ball = evaluate(function(*symbols), values, 25)[0]
            assert abs(ball - exact) <= mp.mpf("1e-12" if name == "S4" else "1e-20") * abs(exact), place
        expected = float(exact)
        found = [
            float(ball),
            float(NUMBERS[name](*place)),
            float(CompiledFormula(symbols, function(*symbols))(*place)),
            float(CompiledExpressions([1 + function(*symbols)])(values)[0]) - 1,
        ]
        assert found == pytest.approx([expected] * 4, rel=1e-12, abs=1e-15), place
        assert found[:3] == pytest.approx([expected] * 3, rel=1e-12), place


def test_the_table_has_all_functions_that_enclose_themselves():
    """Others are opaque: averages, roots and sums, which are never a part of a formula."""

    def below(kind):
        return {kind}.union(*(below(child) for child in kind.__subclasses__()))

    functions = {k for k in below(Enclosable) if issubclass(k, sp.Function) and not issubclass(k, Opaque)}
    assert {k for k in functions if not k.__name__.startswith("_")} == set(SPECIAL)
    assert NUMBERS.keys() == {f.__name__ for f in SPECIAL}


def test_arrays():
    h = np.array([[0.3, 1.0], [2.0, -0.5]])
    found = NUMBERS["S2"](h, -1.2, 0.5)
    assert found.shape == h.shape
    assert found[1, 0] == NUMBERS["S2"](2.0, -1.2, 0.5)


def test_ends_of_the_range():
    """Correlations of 1 that rounding made larger, and thresholds beyond all numbers; no law, no number."""
    one = 1 + 2**-52
    assert NUMBERS["Q2"](0.5, 0.7, one) == pytest.approx(float(sp.erfc(sp.Rational(7, 10) / sp.sqrt(2)) / 2), rel=1e-14)
    assert NUMBERS["S2"](0.5, 0.7, -one) == pytest.approx(float(NUMBERS["S2"](0.5, 0.7, -1.0)), rel=1e-14)
    assert NUMBERS["T4"](one) == 1
    assert NUMBERS["Q2"](1e6, -3.0, 0.5) == 0 == NUMBERS["Q2"](22836.0, 18104.0, 0.79277)
    assert NUMBERS["Q2"](-1e6, 3.0, 0.5) == pytest.approx(float(mp.erfc(3 / mp.sqrt(2)) / 2), rel=1e-14)
    assert NUMBERS["S2"](1e9, 2.0, 0.3) == pytest.approx(float(mp.erf(2 / mp.sqrt(2))), rel=1e-14)
    for name, place in (
        ("S2", (1, 2, 1.1)),
        ("Q2", (1, 2, -2)),
        ("T4", (-0.4,)),
        ("S4", (1 / 3, 0.2, -0.2, 0.1, 0.3, 2)),
    ):
        assert np.isnan(NUMBERS[name](*place))
