"""Formulas that were refused for reasons that do not hold, with their averages; and refusals whose reasons do."""

import math

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.activations.piecewise import split
from symres.core.symbols import z
from symres.gaussian.quadrature.average_ball import average_ball
from tests.oracles.average import average_of
from tests.oracles.compositions import FUNCTIONS

DENSITY = lambda u: mp.exp(-(u**2) / 2) / mp.sqrt(2 * mp.pi)  # noqa: E731
HAZARD = "log(z*Phi(z) + exp(-z^2/2)/sqrt(2*pi))"

# formula, kernel, its average where it is known from elsewhere, the function in mpmath
FAR_OUT = [
    ("log(Phi(z))", 1, -1, lambda u: mp.log(mp.ncdf(u))),
    ("log(Phi(z))", "1/2", -0.84910372015, lambda u: mp.log(mp.ncdf(u))),
    ("log(1 - Phi(z))", 1, -1, lambda u: mp.log(mp.ncdf(-u))),
    ("Phi(z)*log(Phi(z))", 1, -0.25, lambda u: mp.ncdf(u) * mp.log(mp.ncdf(u))),
    ("exp(-z^2/2)/Phi(z)", 1, 2.26397985358, lambda u: mp.exp(-(u**2) / 2) / mp.ncdf(u)),
    ("Phi(2*z)/Phi(z)", 1, 0.771877623464, lambda u: mp.ncdf(2 * u) / mp.ncdf(u)),
    (HAZARD, "1/2", -1.06038434363, lambda u: mp.log(u * mp.ncdf(u) + DENSITY(u))),
    ("log(erfc(z/sqrt(2)))", 1, None, lambda u: mp.log(mp.erfc(u / mp.sqrt(2)))),
    ("log(erfc(z/3))", 1, None, lambda u: mp.log(mp.erfc(u / 3))),
    ("log(erfc(7*z/5))", 2, None, lambda u: mp.log(mp.erfc(7 * u / 5))),
    ("sqrt(Phi(z))", 3, None, lambda u: mp.sqrt(mp.ncdf(u))),
    ("log(Phi(z - 1) + Phi(3*z))", 1, None, lambda u: mp.log(mp.ncdf(u - 1) + mp.ncdf(3 * u))),
    ("asin(Phi(z))", 1, None, lambda u: mp.asin(mp.ncdf(u))),
    ("acos(erf(z)^2)", 1, None, lambda u: mp.acos(mp.erf(u) ** 2)),
    ("acos(1/(1 + z^2))", 1, None, lambda u: mp.acos(1 / (1 + u**2))),
    ("asin(2*z/(1 + z^2))^2", 1, None, lambda u: mp.asin(2 * u / (1 + u**2)) ** 2),
    ("atanh(z/(1 + z^2))^2", 1, None, lambda u: mp.atanh(u / (1 + u**2)) ** 2),
    ("acosh(2 + z^2)", 1, None, lambda u: mp.acosh(2 + u**2)),
    ("acosh(1 + z^2)", 1, None, lambda u: mp.acosh(1 + u**2)),
    ("softplus(exp(z))", 1, None, lambda u: mp.log1p(mp.exp(mp.exp(u)))),
    ("atanh(sigmoid(z))", 1, None, lambda u: mp.atanh(1 / (1 + mp.exp(-u)))),
    ("max(cosh(z), 2)", 1, None, lambda u: max(mp.cosh(u), 2)),
    ("2^(-z^2)*(1 + z^2)^sin(z)", 1, None, lambda u: mp.power(2, -(u**2)) * (1 + u**2) ** mp.sin(u)),
]  # fmt: skip
BREAKS = {"asin(2*z/(1 + z^2))^2": (-1, 0, 1), "max(cosh(z), 2)": (-math.acosh(2), 0, math.acosh(2))}


@pytest.mark.parametrize(("formula", "k", "known", "function"), FAR_OUT, ids=[f"{r[0]} at {r[1]}" for r in FAR_OUT])
def test_averages_of_formulas_that_cancel_or_underflow_far_out(formula, k, known, function):
    value = sr.expect(formula).evalf(15, K=k)
    assert abs(value / average_of(function, k, BREAKS.get(formula, ())) - 1) < 1e-13
    assert known is None or abs(value / known - 1) < 5e-12


@pytest.mark.parametrize("expr", [sp.atanh(z / (1 + z**2)), sp.acosh(2 + z**2), 2**z, sp.pi ** (-(z**2))], ids=str)
def test_functions_of_sympy_are_those_of_the_text(expr):
    text = str(expr).replace("**", "^")
    assert sr.Activation("a", expr).expr == sr.Activation("a", text).expr == sr.activation(text).expr


def test_the_text_of_an_activation_may_name_activations():
    assert sr.Activation("a", "relu(z)^2").expr == sr.activation("relu(z)^2").expr


OUTGROWS = [sp.exp(z**2), sp.exp(sp.exp(z)), 1 / (1 + sp.erf(z))]


@pytest.mark.parametrize("formula", OUTGROWS, ids=str)
def test_what_is_said_to_outgrow_the_weight_does(formula):
    """At the variance 2 the integrand grows."""
    from flint import arb

    with pytest.raises(sr.DeclarationError, match="outgrows the Gaussian weight"):
        average_ball((split(formula),), (arb(2),), 66)
    function = sp.lambdify(z, formula, "mpmath")
    with mp.workdps(1000):
        integrand = [max(abs(function(s * x)) for s in (-1, 1)) * mp.exp(-(mp.mpf(x) ** 2) / 4) for x in (5, 10, 20)]
    assert integrand[0] < integrand[1] < integrand[2]


def test_a_bound_that_is_not_reached_is_called_so():
    """The product decays, but its factors are beyond the range of balls far out."""
    from flint import arb

    with pytest.raises(sr.SymresError, match="its tails could not be bounded"):
        average_ball((split(sp.exp(sp.exp(z)) * sp.erfc(sp.exp(z))),), (arb(1),), 66)


def test_every_function_of_the_grammar_is_composed():
    from symres.activations.formula_parser import PARSED_FUNCTIONS

    composed = " ".join(FUNCTIONS)
    aliases = {"ln", "min"}  # log, and max of negatives
    assert not [name for name in PARSED_FUNCTIONS if f"{name}(" not in composed and name not in aliases]
