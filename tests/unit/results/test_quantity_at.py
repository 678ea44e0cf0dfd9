"""Numbers in the place of symbols: every part of a quantity has them, so that its values stay the same."""

import pickle

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres import Status
from symres.core.errors import DeclarationError, NoClosedForm
from symres.core.symbols import C_W, C_b, K, gamma, xi
from symres.results.quantity import Quantity
from symres.theory.criticality.kernel_flow import without_bias

SKIP = sr.residual("gelu", xi=xi)
EXACT = sr.derive(SKIP).kernel_map
NUMERIC = sr.derive(sr.mlp("tanh")).kernel_map
SERIES = sr.derive("gelu").kernel_map.series(2, checked=False)
PAIR = sr.derive("erf").covariance_map
STEPS = sr.derive(sr.pre_ln("relu")).kernel_map
BLOCK = sr.derive(sr.two_layer_block("erf", 1, 1)).kernel_map
VALUES = {"K": "0.7", "K1": "0.7", "K2": "1.3", "C": "0.4", "C_W": "1.9", "C_b": "0.3", "gamma": "0.6", "xi": "1.1"}


@pytest.mark.parametrize(
    ("quantity", "status"),
    [(EXACT, "EXACT"), (NUMERIC, "NUMERIC"), (SERIES, "SERIES"), (PAIR, "EXACT"), (STEPS, None), (BLOCK, None)],
)
def test_value_is_that_with_the_number_given(quantity, status):
    """For every parameter: value, averages and the end of the proof agree with the quantity itself."""
    assert status is None or str(quantity.status) == status
    values = {s.name: VALUES[s.name] for s in quantity.symbols}
    expected = quantity.evalf(20, **values)
    for name in {s.name for s in quantity.symbols} - {"K", "K1", "K2", "C"}:
        found = quantity.at(**{name: values[name]})
        rest = {other: value for other, value in values.items() if other != name}
        assert {s.name for s in found.symbols} == set(rest)
        assert found.status is quantity.status
        assert mp.almosteq(found.evalf(20, **rest), expected, 1e-18)
        numbers = {s: sp.Rational(rest[s.name]) for s in found.symbols}
        assert abs(sp.N((found.expr - found.proof.result).subs(numbers), 20)) < 1e-15
        assert found.proof.replay() == found.proof.result
        if quantity.status is not Status.SERIES:
            averages = Quantity("same", found.symbols, found.defined, found.defined, Status.NUMERIC)
            assert mp.almosteq(averages.evalf(20, **rest), expected, 1e-18)


def test_a_quantity_without_biases_has_none():
    """Its expression had them once: evalf(K=1, C_W=1, C_b=5) was 5.46 for K' without biases."""
    kernel_map = sr.derive("gelu").kernel_map
    found = without_bias(kernel_map)
    assert found.symbols == (K, C_W)
    assert not found.expr.has(C_b)
    assert found(K=1, C_W=1) == kernel_map(K=1, C_W=1, C_b=0)
    with pytest.raises(DeclarationError, match="a value for C_b: kernel_map has no symbol C_b"):
        found(K=1, C_W=1, C_b=5)


def test_parameters_that_nothing_depends_on_any_more_are_unused():
    found = EXACT.at(xi=0)
    assert found.symbols == (K, gamma)
    assert set(found.unused) == {C_W, C_b}
    assert found(K=2, gamma="1/2", C_W=7) == 0.5
    unused = sr.derive("relu").chi_perp
    assert C_b in unused.unused
    assert unused.at(C_b=1).unused == ()


def test_series_of_a_specialised_quantity():
    series = sr.derive("gelu").kernel_map.at(C_W=2, C_b=0).series(2, checked=False)
    assert series.symbols == (K,)
    assert sp.expand(series.expr - K / 2 - 3 * K**2 / sp.pi) == 0


def test_kernels_of_inputs_are_given_together():
    found = PAIR.at(K1=1, K2=1, C="1/2")
    assert found.symbols == (C_W, C_b)
    assert mp.almosteq(found.evalf(C_W=2, C_b=0), PAIR.evalf(K1=1, K2=1, C="1/2", C_W=2, C_b=0), 1e-14)
    with pytest.raises(DeclarationError, match="K1, K2, C belong together"):
        PAIR.at(C=1)
    with pytest.raises(DeclarationError, match="is not a covariance"):
        PAIR.at(K1=1, K2=1, C=2)
    alone = EXACT.at(K=1)
    assert K not in alone.symbols
    with pytest.raises(NoClosedForm, match="it is not a function of one kernel"):
        alone.series(1)


def test_unknown_names_and_values_out_of_range_are_refused():
    with pytest.raises(DeclarationError, match="a value for beta: kernel_map has no symbol beta"):
        EXACT.at(beta=1)
    with pytest.raises(DeclarationError, match="it is negative"):
        EXACT.at(C_W=-1)


def test_a_closed_form_without_a_value_gives_way_to_averages():
    """A factor that cancels has no value at C_W = 1, though the average has."""
    average = sr.expect("erf(z)^2")
    masked = sp.Mul(average.body, C_W - 1, sp.Pow(C_W - 1, -1, evaluate=False), evaluate=False)
    found = Quantity("f", (K, C_W), average.definition, masked, Status.EXACT).at(C_W=1)
    assert found.status is Status.NUMERIC
    assert mp.almosteq(found.evalf(K=1), average.evalf(K=1), 1e-14)
    with pytest.raises(NoClosedForm, match="are limits there"):
        Quantity("g", (K, C_W), K / (C_W - 1), K / (C_W - 1), Status.EXACT).at(C_W=1)


def test_an_unknown_quantity_keeps_its_reason():
    lost = Quantity("h", (K, C_W), sp.nan, sp.nan, Status.UNKNOWN, reason="why")
    assert (lost.at(C_W=1).symbols, lost.at(C_W=1).reason) == ((K,), "why")


def test_it_pickles():
    found = EXACT.at(C_W=2)
    again = pickle.loads(pickle.dumps(found))
    assert (again.expr, again.symbols, again.proof.replay()) == (found.expr, found.symbols, found.proof.result)
