"""K is the kernel of the stream: conditions in units, or in a variance inside of averages, have their own symbols."""

import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import C_W, K, S_in, k
from symres.theory.criticality.critical_conditions import conditions_of, nested, nested_conditions
from symres.theory.criticality.scaling_symmetry import Unit

beta = sp.Symbol("beta", positive=True)


def maps(layer):
    theory = sr.derive(layer)
    return theory.kernel_map, theory.chi_parallel, theory.chi_perp


@pytest.mark.parametrize(
    ("layer", "variable", "unit"),
    [
        ("gelu", K, 1),
        (sr.mlp(sr.activation("z*(1 + erf(beta*z))/2", beta=beta)), k, beta**-2),
    ],
)
def test_variable_of_the_conditions(layer, variable, unit):
    found = conditions_of(*maps(layer))
    assert (found.variable, found.unit.kernel) == (variable, unit)
    assert found.gap.free_symbols == {variable}
    assert all(function.free_symbols == {variable} for function in found.numbers.values())
    assert found.kernel_at(sp.Integer(3), True) == 3 * unit


def test_inner_variance_has_a_symbol_of_its_own():
    layer = sr.two_layer_block("erf", sp.Rational(1, 2), 1)
    inner, found = nested(*maps(layer)), nested_conditions(*maps(layer))
    assert not inner.perp.has(K)
    assert inner.perp.has(S_in)
    assert inner.bias.has(K, S_in)
    assert found.variable == S_in
    assert found.gap.free_symbols == {S_in}
    assert found.kernel.free_symbols - set(found.numbers) <= {S_in}
    assert not found.C_W.has(K, C_W)


def test_function_in_units():
    unit = Unit(beta, -2)
    assert unit.split(sp.Integer(1), sp.erf(beta * sp.sqrt(K))) == (1, sp.erf(sp.sqrt(k)))
    assert Unit().split(sp.Integer(2), K + 1) == (2, K + 1)
