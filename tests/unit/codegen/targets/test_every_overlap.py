"""Overlaps of softmax vectors in generated code: values, slopes and what is no overlap, in every language."""

import json
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import C, K
from symres.functions.records.softmax_family import SoftmaxOverlap
from symres.results.quantity import Quantity, Status
from tests.languages import ALL, DIFFERENTIABLE, lanes, language

# compilers of Numba and JAX take half a minute; the theory takes 0.1 seconds for each overlap
SLOW = {"numba", "jax"}
MOST = {*ALL} - {"numpy"}
ROWS = json.loads((Path(__file__).parents[3] / "oracles" / "positions.json").read_text())
T, ratio = sp.Symbol("T", integer=True, positive=True), sp.Symbol("ratio", positive=True)
ORDERS = {None: (0, 0, 0), "S1": (1, 0, 0), "S2": (0, 1, 0), "k": (0, 0, 1)}
# K, its share that C is, S2/S1, T
PLACES = [(0.5, 0.5, 1.0, 16), (0.5, 1.0, 1.0, 16), (0.5, -0.7, 1.0, 16), (4.0, 0.7, 1.0, 16), (30.0, 0.9, 1.0, 16)]
PLACES += [
    (30.0, 1.0, 1.0, 4096),
    (1.0, 1e-7, 1.0, 16),
    (30.0, -1e-9, 1.0, 3),
    (1e-6, 0.3, 1.0, 64),
    (0.0, 0.0, 1.0, 5),
]
PLACES += [(0.3, 0.5, 60.0, 16), (1.0, -0.9, 2.0, 1), (3.0, 0.2, 4.0, 1000), (1e-5, 0.5, 1e5, 2), (8.0, 0.0, 2.0, 16)]
MAPS = ("kernel_map", "covariance_map", "chi_perp", "tangent_map", "chi_parallel")
STREAM = np.array([(1.0, 0.5), (2.0, -0.1), (3.0, 3.0), (0.7, 0.6999)]).T
NUMBERS = {"C_1": 1.3, "C_2": 0.8, "C_A": 1.1}
MOVED = {"t": 0.9, "s": 0.2}


def overlap(orders=(0, 0, 0), keys=T):
    formula = SoftmaxOverlap(K, ratio * K, C, keys, *(orders if any(orders) else ()))
    symbols = (K, C, ratio, *([T] if keys is T else []))
    return Quantity("overlap", symbols, formula, formula, Status.NUMERIC, reason="it has none")


def at(function, other, keys, K, C):
    return function(K, C, other, keys)


@cache
def transformer():
    return sr.derive("gelu", layer="transformer", positions=sr.Tokens(16))


@cache
def exact_values(name):
    quantity = getattr(transformer(), name)
    numbers = {s.name: (NUMBERS | MOVED)[s.name] for s in quantity.symbols[2:]}
    return np.array([float(quantity.evalf(12, K=k, C=c, **numbers)) for k, c in STREAM[:, :3].T])


def called(module, name, theory, **changed):
    """The value of a function of the module at arrays, its parameters passed in their order."""
    quantity = getattr(theory, name)
    numbers = NUMBERS | MOVED | changed
    return lambda K, C: getattr(module, name)(K, C, *(numbers[s.name] for s in quantity.symbols[2:]))


@pytest.mark.parametrize("variable", lanes(*ORDERS, slow={"S1", "S2"}))
@pytest.mark.parametrize("target", lanes(*ALL, slow=MOST))
def test_overlaps_and_slopes_have_12_digits_of_what_is_larger_value_or_mean_weight(target, variable):
    module = language(target).load(overlap(ORDERS[variable]))
    for S, share, other, keys in PLACES:
        c = share * S
        exact = sr.softmax_overlap(S, S * other, c, keys, derivative=variable)
        found = language(target).value(partial(at, module.overlap, other, keys), np.array([S]), np.array([c]))
        assert found[0] == pytest.approx(exact, rel=1e-12, abs=1e-12 / keys)


@pytest.mark.parametrize("target", lanes(*ALL, slow=SLOW))
def test_what_is_no_overlap_is_nan(target):
    """Covariances beyond variances, negative variances, broken numbers of keys, sums that are too long; no rounding."""
    module = language(target).load(overlap())
    K = np.array([0.5, 0.5, 1e5, np.nan])
    C = np.array([0.5 * (1 + 2e-16), -0.5, 1.0, 0.1])
    found = language(target).value(lambda k, c: module.overlap(k, c, 1.0, 16), K, C)
    assert list(np.isnan(found)) == [False, False, True, True]
    assert np.isnan(language(target).value(lambda k, c: module.overlap(k, c, 0.5, 16), np.ones(2), np.ones(2))).all()
    assert np.isnan(language(target).value(lambda k, c: module.overlap(k, c, 1.0, 2.5), np.ones(2), np.ones(2))).all()


@pytest.mark.parametrize("target", lanes(*ALL, slow={*ALL}))
def test_maps_of_a_transformer_are_those_of_the_theory(target):
    theory = transformer()
    module = language(target).load({name: getattr(theory, name) for name in MAPS})
    for name in MAPS:
        function, stream = called(module, name, theory), STREAM[:, :3]
        assert language(target).value(function, *stream) == pytest.approx(exact_values(name), rel=2e-12)
        narrow = language(target).value(function, *stream, kind=np.float32)
        assert narrow == pytest.approx(exact_values(name), rel=2e-4)


def test_signs_of_terms_with_overlaps_are_cheap():
    """Whether terms may cancel takes sums in double precision: those of 128 bits take minutes."""
    theory = transformer()
    with sr.budget(0.05):
        found = sr.export(theory.chi_parallel).load().chi_parallel(2.0, -0.1, 1.1)
    assert found == pytest.approx(float(theory.chi_parallel.evalf(12, K=2, C=-0.1, C_A=1.1)), rel=1e-12)


@pytest.mark.parametrize("target", lanes(*ALL, slow={*ALL} - {"torch"}))
def test_a_block_of_gelu_has_its_reference_values(target):
    theory, block = transformer(), {"C_1": 1.0, "C_2": 1.0, "C_A": 1.0, "t": 1.0, "s": 0.0}
    names = {"q": "kernel_map", "p": "covariance_map", "t": "tangent_map", "s": "tangent_covariance_map"}
    module = language(target).load({name: getattr(theory, name) for name in names.values()})
    for letter, name in names.items():
        (row,) = (row for row in ROWS if row["id"] == f"pre_gelu_{letter}_1")
        found = language(target).value(called(module, name, theory, **block), np.array([1.0]), np.array([0.5]))
        assert found[0] == pytest.approx(row["value"], rel=1e-12)


@pytest.mark.parametrize("target", lanes(*DIFFERENTIABLE, slow=SLOW))
def test_gradients_of_maps_are_derived_slopes_and_differences(target):
    """Of the kernel and the covariance, once and twice: the slope of an overlap is an overlap."""
    theory, stream, step = transformer(), STREAM[:, :2], 1e-5
    for name in MAPS[:2]:
        quantity = getattr(theory, name)
        function = called(language(target).load(quantity), name, theory)
        slopes = language(target).slopes(function, *stream)
        for axis, symbol in enumerate((K, C)):
            formula = quantity.expr.diff(symbol)
            derived = replace(quantity, name="slope", steps=(), definition=formula, body=formula)
            exact = [float(derived.evalf(12, K=k, C=c, **NUMBERS)) for k, c in stream.T]
            assert slopes[axis] == pytest.approx(np.array(exact), rel=1e-11)
            up, down = (language(target).value(function, *moved(stream, axis, d)) for d in (step, -step))
            assert slopes[axis] == pytest.approx((up - down) / (2 * step), rel=1e-7)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", DIFFERENTIABLE)
def test_second_derivatives_are_differences_of_first_ones(target):
    theory, stream, step = transformer(), STREAM[:, :2], 1e-5
    function = called(language(target).load(theory.covariance_map), "covariance_map", theory)
    bends = language(target).bends(function, *stream)
    for axis in (0, 1):
        up, down = (language(target).slopes(function, *moved(stream, axis, d)) for d in (step, -step))
        for slope in (0, 1):
            assert bends[slope][axis] == pytest.approx((up[slope] - down[slope]) / (2 * step), rel=1e-6, abs=1e-8)


def moved(stream, axis, step):
    out = stream.copy()
    out[axis] += step
    return out
