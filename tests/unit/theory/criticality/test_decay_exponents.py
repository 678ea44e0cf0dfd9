"""The exponents of an expansion do not depend on the order of a process's sets; a scale is no part of an exponent."""

import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import K, gamma, k, x1
from symres.gaussian.calculus.expectation import Expectation
from symres.theory.criticality.kernel_flow import from_expansion
from symres.theory.criticality.parameter_effects import Unit


@pytest.mark.parametrize("degree", range(1, 11))
def test_of_two_averages_the_one_that_is_first_by_its_text_has_the_positive_sign(degree):
    """Sets of nodes come in another order in each process: ten pairs would not all fall into the right one."""
    width = sp.Symbol("w", positive=True)
    pair = [
        Expectation(sr.activation("tanh")(x1) ** power * x1**2, K * width) for power in (2 * degree, 2 * degree + 2)
    ]
    first, second = sorted(pair, key=str)
    amplitude = from_expansion(sp.Integer(2), first - 2 * second, sp.Integer(1), sp.Integer(0)).amplitude
    divisor = sp.fraction(amplitude)[1]
    assert divisor.coeff(first) == 1 and divisor.coeff(second) == -2


@pytest.mark.exhaustive
def test_the_exponents_of_swish_are_those_of_silu_in_units_of_its_scale():
    beta = sp.Symbol("beta", positive=True)
    swish, silu = (sr.derive(sr.residual(name)).exponents for name in ("swish", "silu"))
    assert (swish.kernel, silu.kernel) == (1, 1)
    assert swish.jacobian.is_number and abs(sp.N(swish.jacobian - silu.jacobian, 20)) < 1e-12
    assert swish.amplitude.free_symbols == {beta, gamma}
    ratio = (swish.amplitude * beta**2 / silu.amplitude).subs(gamma, sp.Rational(1, 3))
    assert abs(sp.N(ratio.subs(beta, 3) - 1, 20)) < 1e-12


@pytest.mark.exhaustive
def test_the_exponents_in_units_are_those_with_a_number_for_the_scale():
    named = sr.activation("swish"), sr.activation("swish", beta=3)
    symbolic, numeric = (sr.derive(sr.mlp(phi)).exponents for phi in named)
    (beta,) = symbolic.amplitude.free_symbols
    assert abs(sp.N(symbolic.jacobian / numeric.jacobian - 1, 20)) < 1e-12
    assert abs(sp.N(symbolic.amplitude.subs(beta, 3) / numeric.amplitude - 1, 20)) < 1e-12


@pytest.mark.exhaustive
def test_a_scale_of_either_sign():
    beta = sp.Symbol("beta", real=True, nonzero=True)
    both = sr.derive(sr.mlp(sr.activation("z*sigmoid(beta*z)", beta=beta)))
    point = both.critical_points[0]
    assert abs(float(point.K * beta**2) - 14.3201736180258) < 1e-12
    assert abs(sp.N(both.exponents.jacobian / sr.derive("swish").exponents.jacobian - 1, 20)) < 1e-12
    odd = sr.derive(sr.mlp(sr.activation("exp(beta*z)*z", beta=beta)))  # |beta| is the scale of K, not of the map
    assert all(sp.sympify(p.K).subs(beta, -2) == sp.sympify(p.K).subs(beta, 2) for p in odd.critical_points)


def test_a_kernel_in_units_has_a_symbol_of_its_own():
    beta = sp.Symbol("beta", positive=True)
    assert Unit(beta, -2).split(sp.Integer(1), sp.erf(beta * sp.sqrt(K))) == (1, sp.erf(sp.sqrt(k)))
    assert Unit().split(sp.Integer(2), K + 1) == (2, K + 1)
