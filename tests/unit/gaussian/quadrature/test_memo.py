"""Results at exact places are kept, and never given for another place, function or precision."""

import sympy as sp
from flint import arb, ctx

from symres.core.symbols import z
from symres.functions.balls import compile_ball
from symres.gaussian.quadrature.memo import memoised


def counted():
    calls = []

    @memoised(4)
    def value(function, place, shift=0.0):
        calls.append(place)
        return function([place + shift], False)

    return value, calls


def test_the_same_place_is_computed_once():
    value, calls = counted()
    function = compile_ball(sp.exp(z), (z,))
    assert value(function, arb(3)).mid() == value(function, arb(3)).mid()
    assert len(calls) == 1


def test_other_places_functions_shifts_and_precisions_are_their_own():
    value, calls = counted()
    exp, sin = (compile_ball(f(z), (z,)) for f in (sp.exp, sp.sin))
    for function, place, shift, bits in (
        (exp, arb(3), 0.0, 60),
        (exp, arb(-3), 0.0, 60),
        (exp, arb(6), 0.0, 60),
        (sin, arb(3), 0.0, 60),
        (exp, arb(3), 3.0, 60),
        (exp, arb(3), 0.0, 90),
    ):
        with ctx.workprec(bits):
            found = value(function, place, shift)
            fresh = function([place + shift], False)
            assert (found.mid() - fresh.mid()).is_zero()
            assert (found.rad() - fresh.rad()).is_zero()
    assert len(calls) == 6


def test_values_of_high_precision_are_not_kept():
    value, calls = counted()
    function = compile_ball(sp.exp(z), (z,))
    with ctx.workprec(1000):
        assert value(function, arb(3)).mid() == value(function, arb(3)).mid()
    assert len(calls) == 2


def test_other_callables_are_not_kept():
    value, calls = counted()
    for _ in range(2):
        value(lambda values, analytic: values[0], arb(1))
    assert len(calls) == 2
