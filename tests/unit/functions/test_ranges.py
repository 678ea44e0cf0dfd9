"""Ranges and signs of formulas: every value lies inside, also for parameters of any sign and size."""

import mpmath as mp
import pytest
import sympy as sp

from symres.core.symbols import z
from symres.functions import ranges
from symres.functions.ranges import RangeProgram, admits, parameter_grid, samples, sign_of, vanishes
from symres.numerics.interval_arithmetic import Range, Undefined

R = sp.Rational
a = sp.Symbol("a", positive=True)
b = sp.Symbol("b", positive=True)
real = sp.Symbol("s", real=True)


@pytest.mark.parametrize(
    ("number", "sign"),
    [(sp.pi - sp.Rational(22, 7), -1), (sp.sqrt(2) + sp.sqrt(3) - sp.sqrt(5 + 2 * sp.sqrt(6)), 0), (-a * b, -1),
     (sp.exp(-(10**30)), 1), (sp.tanh(1000) - 1, -1), (a + 1, 1), (real + 1, None)],
    ids=str,
)  # fmt: skip
def test_signs(number, sign):
    assert sign_of(number) == sign


FORMULAS = [
    z**4 - 3 * z**3 + z, (z**2 - z) / (1 + z**2), sp.exp(-z) * sp.cos(3 * z), sp.tanh(z) - sp.atan(z**2),
    sp.log(2 + sp.sin(z)), sp.sqrt(1 + z**2) - z, sp.erfc(z) * z, sp.asinh(z) ** 3, sp.cosh(z) - sp.sinh(z) ** 2,
    z / (1 + z**2), (z**3 - z) / (1 + z**2), sp.tan(z), sp.asin(sp.tanh(z)), sp.acos(sp.erf(z)), sp.tan(sp.tanh(z)),
    2**z - 1 / (1 + 2**z), (1 + z**2) ** sp.pi,
]  # fmt: skip


@pytest.mark.parametrize("expr", FORMULAS, ids=str)
def test_ranges_contain_every_value(expr):
    """The soundness of all proofs: random boxes, bounded and not, and points in them."""
    import random

    from flint import arb

    chance, program = random.Random(7), RangeProgram(expr, {})
    function = sp.lambdify(z, expr, "mpmath")
    for _ in range(40):
        left, right = sorted(chance.uniform(-6, 6) for _ in range(2))
        points = [left, right, *(chance.uniform(left, right) for _ in range(5))]
        lo, hi = arb(left), arb(right)
        if chance.random() < 0.3:
            hi, points = arb.pos_inf(), [*points, right + 10, right + 40]
        elif chance.random() < 0.3:
            lo, points = arb.neg_inf(), [*points, left - 10, left - 40]
        try:
            found = program(Range(lo, hi, not lo.is_finite(), not hi.is_finite()))
        except Undefined:
            continue
        for point in points:
            with mp.workdps(60):
                exact = function(mp.mpf(point))
                slack = mp.mpf(10) ** -50 * (1 + abs(exact))
                low, high = (mp.mpf(end.str(40, radius=False)) if end.is_finite() else None for end in found[:2])
                assert low is None or low <= exact + slack + abs(low) * mp.mpf(10) ** -38
                assert high is None or high >= exact - slack - abs(high) * mp.mpf(10) ** -38


def test_parameters_are_tried_with_all_signs():
    a, b, c = names = sp.symbols("a b c", real=True)
    p = sp.Symbol("p", positive=True)
    sizes = [sp.Rational(1, 2)] * 3
    assert {tuple(map(sp.sign, v.values())) for v in ranges.signed_sizes(names, sizes)} == {
        (i, j, k) for i in (1, -1) for j in (1, -1) for k in (1, -1)
    }
    assert ranges.signed_sizes([p], sizes[:1]) == [{p: sizes[0]}]
    for one, other in ((a, b), (b, c), (a, c)):
        assert {sp.sign(v[one] * v[other]) for v in samples(names)} >= {1, -1}
        assert not vanishes(sp.Abs(one * other) - one * other)
    assert vanishes(sp.Abs(p * a) - p * sp.Abs(a))


def test_parameters_are_spread_over_decades_and_are_zero_one_by_one():
    a, b = sp.symbols("a b", real=True)
    p, n = sp.Symbol("p", positive=True), sp.Symbol("n", negative=True)
    assert list(parameter_grid([])) == [{}]
    (alone,) = zip(*(v.values() for v in parameter_grid([p])), strict=True)
    assert min(alone) < R(1, 10**5) and max(alone) > 10**5 and min(alone) > 0
    assert all(v[n] < 0 < v[p] for v in parameter_grid([n, p]))
    pairs = [tuple(v.values()) for v in parameter_grid([a, b])]
    for i, j in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        sizes = [(x / i, y / j) for x, y in pairs if x * i > 0 and y * j > 0]
        assert any(x > 1000 * y for x, y in sizes) and any(y > 1000 * x for x, y in sizes)
    assert any(x == 0 != y for x, y in pairs) and any(x != 0 == y for x, y in pairs)
    assert admits(a, R(0)) and admits(p, R(1, 3)) and not admits(p, R(-1)) and not admits(n, R(0))
    assert not admits(sp.Symbol("k", integer=True), R(1, 2))
