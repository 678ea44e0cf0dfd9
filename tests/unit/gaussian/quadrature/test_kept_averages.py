"""Averages are computed once, and never given for another law, function, precision or budget."""

import pytest
import sympy as sp
from flint import arb, ctx

from symres.activations.piecewise import PiecewiseFunction, split
from symres.core.cache.disk_cache import DiskCache, caching
from symres.core.errors import SymresError
from symres.core.symbols import z
from symres.core.work_budget import panel_budget
from symres.gaussian.quadrature import average_ball as module
from symres.gaussian.quadrature.average_ball import average_ball


@pytest.fixture
def computed(monkeypatch):
    """The arguments of every average that is computed."""
    calls, compute = [], module._computed

    def counting(*arguments):
        calls.append(arguments)
        return compute(*arguments)

    module._kept.cache_clear()
    monkeypatch.setattr(module, "_computed", counting)
    yield calls
    module._kept.cache_clear()


def same(one, other):
    return one.mid() == other.mid() and one.rad() == other.rad()


def test_an_average_is_computed_once(computed):
    first, second = (average_ball((split(sp.tanh(z) ** 2),), (arb(3) / 7,), 60) for _ in range(2))
    assert same(first, second)
    assert len(computed) == 1


def test_other_arguments_have_averages_of_their_own(computed):
    sigmoid, tanh = split(z / (1 + sp.exp(-z))), split(sp.tanh(z) ** 2)
    third = arb(1) / 3
    asked = [
        ((tanh,), (third,), 60),
        ((sigmoid,), (third,), 60),
        ((tanh,), (arb(third.mid(), 1e-9),), 60),
        ((tanh,), (-(-third).lower(),), 60),
        ((tanh,), (third,), 40),
        ((tanh, sigmoid), (third, third / 2, third), 40),
        ((sigmoid, tanh), (third, third / 2, third), 40),
    ]
    found = [average_ball(*arguments) for arguments in asked]
    with ctx.workprec(100):
        found.append(average_ball(*asked[0]))
    assert len(computed) == len(asked) + 1
    for arguments, ball in zip(asked, found, strict=False):
        assert same(ball, module._computed(*arguments))


def test_what_a_large_budget_allows_is_refused_to_a_small_one(computed):
    function, law = (split(sp.sin(300 * z) ** 2),), (arb(1),)
    with panel_budget(5000):
        average_ball(function, law, 30)
    for _ in range(2):  # a refusal is none of the results
        with panel_budget(5), pytest.raises(SymresError):
            average_ball(function, law, 30)
    assert len(computed) == 3


def test_averages_of_very_many_digits_are_not_kept(computed, monkeypatch):
    monkeypatch.setattr(module, "_MOST_BITS", 50)
    for _ in range(2):
        average_ball((split(z**2),), (arb(1),), 51)
    assert len(computed) == 2


def test_averages_from_disk_are_those_that_were_computed(computed, tmp_path):
    functions = split(sp.tanh(z) ** 2), split(sp.Max(z - 1, 0)), split(z / (1 + sp.exp(-z)))
    third = arb(1) / 3
    asked = [((f,), (law,), bits) for f in functions for law in (third, arb(10**9)) for bits in (24, 200)]
    asked.append(((functions[0], functions[2]), (third, third / 2, third), 40))
    runs = []
    for _ in range(2):
        with caching(DiskCache(tmp_path)):
            runs.append([average_ball(*arguments) for arguments in asked])
        module._kept.cache_clear()
    assert len(computed) == len(asked)
    for first, second in zip(*runs, strict=True):
        assert first.mid() == second.mid()
        assert first.rad() <= second.rad() <= first.rad() * (1 + 1e-8)


def test_a_function_with_code_of_its_own_is_not_kept_on_disk(computed, tmp_path):
    class Bent(sp.Function):
        pass

    assert module._subject((split(sp.tanh(z)),)) is not None
    assert module._subject((split(sp.tanh(z)), PiecewiseFunction((), (Bent(z),)))) is None
