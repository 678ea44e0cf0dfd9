"""The table of functions, column by column: what every function that a formula may name must have, against mpmath."""

from itertools import pairwise

import mpmath as mp
import pytest
import sympy as sp
from flint import arb

from symres.codegen.scalar.spelling import SCALAR
from symres.codegen.targets.jax.components import JAX
from symres.codegen.targets.numpy.components import NUMPY
from symres.codegen.targets.torch.components import TORCH
from symres.core.symbols import z
from symres.functions.balls import enclose
from symres.functions.companions import Dawson
from symres.functions.function_record import RECORDS
from symres.functions.ranges import RangeProgram
from symres.functions.tails import tail
from symres.numerics.interval_arithmetic import interval
from tests.random_lane.formulas import FUNCTIONS

U = sp.Symbol("u", real=True)
NEXT = 1e-15  # a relative difference that is rounding of floats
NAMED = [(name, record) for record in RECORDS.values() for name in record.names if record.kind not in (sp.Max, sp.Min)]
every_function = pytest.mark.parametrize(("name", "record"), NAMED, ids=[name for name, _ in NAMED])


def value(name, u):
    return mp.mpf((FUNCTIONS.get(name) or getattr(mp, name))(u))


def places(record):
    """Arguments in the domain of a function."""
    low, high = float(record.domain.lo), float(record.domain.hi)
    return [u for u in map(sp.Rational, ("-7/3", "-1/2", "1/7", "3/5", "9/4", "40")) if low < u < high]


@every_function
def test_its_ball_contains_its_value(name, record):
    for u in places(record):
        with mp.workdps(40):
            exact = value(name, mp.mpf(u.p) / u.q)
            ball = enclose(record.kind(U), {U: u}, 100)
            middle, radius = mp.mpf(ball.mid().str(40, radius=False)), mp.mpf(ball.rad().str(5, radius=False))
            assert abs(middle - exact) <= radius + mp.mpf(10) ** -28 * abs(exact)
            assert radius <= mp.mpf(10) ** -25 * max(1, abs(exact))


@every_function
def test_its_derivative_is_the_slope(name, record):
    for u in places(record):
        if u < 10 and record.is_smooth:
            with mp.workdps(30):
                slope = mp.diff(lambda x: value(name, x), mp.mpf(u.p) / u.q)
                assert float(enclose(record.kind(U).diff(U), {U: u}, 80)) == pytest.approx(float(slope), rel=1e-12)


@every_function
def test_its_range_contains_its_values(name, record):
    ends = places(record)
    for low, high in pairwise(ends):
        if record.kind is sp.tan and high - low > 1:
            continue
        bounds = RangeProgram(record.kind(z), {})(interval(*(enclose(end, {}, 64) for end in (low, high))))
        for step in range(9):
            u = low + (high - low) * sp.Rational(step, 8)
            exact = value(name, mp.mpf(u.p) / u.q)
            assert float(bounds.lo) - NEXT * abs(exact) <= exact <= float(bounds.hi) + NEXT * abs(exact)


@every_function
def test_it_grows_as_its_tail_says(name, record):
    """Where the argument grows, and where it vanishes far out, as 1/z does."""
    grows, vanishes = bool(record.domain.hi > 10), bool(record.domain.lo < 1)
    for argument, far in [(z, 30)] * grows + [(1 / z, 10**4)] * vanishes:
        if not record.is_smooth or record.kind is sp.tan:
            continue
        scale = tail(record.kind(argument))
        assert str(scale) != "faster than any exponential" or name in ("exp", "sinh", "cosh")
        if scale.is_sharp and scale.order == 0:
            predicted = scale.lead * far**scale.power * sp.log(far) ** scale.logs
            exact = value(name, mp.mpf(sp.Rational(argument.subs(z, far)).p) / sp.Rational(argument.subs(z, far)).q)
            assert float(predicted) == pytest.approx(float(exact), rel=0.3)


@every_function
def test_every_language_spells_it(name, record):
    for dialect in (NUMPY, TORCH, JAX, SCALAR):
        if record.kind is sp.Heaviside and dialect in (TORCH, JAX):
            continue  # formulas are split where they jump: no step is left in code
        assert dialect.unspelled(record.kind(U)) == ""


@every_function
def test_it_is_printed(name, record):
    assert str(record.kind(U)) and sp.latex(record.kind(U))
    assert "Dummy" not in sp.latex(record.kind(U))


@every_function
def test_it_is_odd_if_its_values_are(name, record):
    ends = [u for u in (sp.Rational(1, 7), sp.Rational(3, 5)) if float(record.domain.lo) < -u]
    sums = [enclose(record.kind(U), {U: u}, 100) + enclose(record.kind(U), {U: -u}, 100) for u in ends]
    assert record.is_odd == (sums != [] and all(total.contains(0) for total in sums))


@every_function
def test_its_inverse_gives_the_argument_back(name, record):
    if record.inverse is None:
        assert record.limits is None or name in ("erf", "erfc", "erfi")
        return
    for u in (u for u in places(record) if u < 10):
        argument = enclose(record.inverse(U), {U: enclose(record.kind(U), {U: u}, 200)}, 200)
        assert argument.overlaps(arb(u.p) / u.q) and argument.rad() < 1e-20


@pytest.mark.parametrize("kind", RECORDS)
def test_a_function_of_any_number_of_arguments_says_its_sign(kind):
    record = RECORDS[kind]
    assert not (record.is_positive and record.keeps_sign)
    if record.is_positive and kind.nargs == sp.FiniteSet(1):
        assert all((record.definition or kind)(u).evalf() > 0 for u in places(record))


def test_a_false_rule_is_seen():
    """The tests above fail where a rule is wrong: here with the tanh in the place of the sine's values."""
    with pytest.raises(AssertionError):
        test_its_ball_contains_its_value("tanh", RECORDS[sp.sin])
    with pytest.raises(AssertionError):
        test_its_derivative_is_the_slope("tanh", RECORDS[sp.sin])
    with pytest.raises(AssertionError):
        test_its_range_contains_its_values("sinh", RECORDS[sp.tanh])


def test_a_companion_is_never_spelled_by_its_definition():
    """exp(-u**2)*erfi(u) is 0 times infinity where Dawson's integral is a number."""
    assert SCALAR.unspelled(Dawson(U)) == "Dawson"
