"""Averages that do not exist, are not known or are not understood: the call, the class of the error, what it says."""

import pytest
import sympy as sp
from flint import arb

import symres as sr
from symres.activations.piecewise import PiecewiseFunction, split
from symres.core.symbols import K1, K2, C, K, z
from symres.gaussian.closed_form.engine import closed_form
from symres.gaussian.expansions.variance_series import large_variance, small_variance
from symres.gaussian.quadrature.average_ball import average_ball

R = sp.Rational
A = sp.Symbol("a", real=True)
Declaration, NoClosedForm = sr.DeclarationError, sr.NoClosedForm
RELU, TANH = sp.Max(z, 0), split(sp.tanh(z))
sign, steep = sr.activation("sign"), sr.activation("sign(z)*abs(z)^(1/2)")
slope = sign(z).diff(z)


def exact(*factors, law=(K,)):
    return closed_form(tuple(map(split, factors)), law)


def ball(function, *law):
    function = function if isinstance(function, PiecewiseFunction) else split(function)
    return average_ball((function,) * (2 if len(law) == 3 else 1), tuple(map(arb, law)), 66)


def derivative_of(f, g, symbol, **at):
    return sr.derivative(sr.expect2(f, g), symbol).evalf(15, **at)


MEANS = [(sp.Symbol("m"), "may be complex"), (sp.I, "may be complex"), (K, "kernel"), (z, "kernel"), ("x", "number")]
QUANTITIES = [
    (lambda: sr.derivative(sr.expect("relu"), "C"), Declaration, "choose one of K"),
    (lambda: sr.derivative("relu", "K"), Declaration, r"'relu'.*it is not a quantity; pass a result"),
    (lambda: sr.expect("relu", mean="many"), Declaration, "mean"),
    *((lambda m=m: sr.expect("relu", mean=m), Declaration, said) for m, said in MEANS),
    *((lambda m=m: sr.expect2("relu", "relu", means=(0, m)), Declaration, said) for m, said in MEANS),
    *((lambda m=m: sr.expect2("relu", "relu", means=m), Declaration, "pass two") for m in ((1,), 1)),
    (lambda: sr.expect(1 / z), Declaration, "not finite at z = 0"),
    (lambda: sr.expect(sp.log(z)), Declaration, "not real at z = -1"),
    (lambda: sr.expect(sp.Symbol("z") ** 2), Declaration, "z is the preactivation"),
    (lambda: sr.expect(sp.I * z), Declaration, "contains I"),
    (lambda: sr.expect(sp.DiracDelta(z)), Declaration, "DiracDelta is not supported"),
    (
        lambda: derivative_of("where(z<0,0,sqrt(z))", "relu", "K1", K1=1, K2=4, C=2),
        NoClosedForm,
        r"at K1 = 1, K2 = 4, C = 2: .* or they diverge; pass values close to it",
    ),
    (
        lambda: sr.expect(sp.sqrt(sp.Abs(z)), mean=R(1, 2)).evalf(600, K="17/10"),
        sr.SymresError,
        "600 digits of expect: only about 15 can be computed; ask for fewer",
    ),
    (
        lambda: sr.expect("sin(z^3)^2").evalf(25, K=10**6),
        sr.SymresError,
        "the function varies too fast within the width of the Gaussian",
    ),
    (lambda: sr.expect2("tanh(z)", "tanh(z)").asymptotics(), NoClosedForm, "not a function of one kernel"),
]

DELTAS = [
    (z * slope**2, "products of delta functions"),
    (slope**3, "products of delta functions"),
    (sign(z).diff(z, 2), "derivatives of delta functions"),
    (sign(z) * slope, "jumps there"),
    (sr.activation("relu")(z).diff(z, 3), "derivatives of delta functions"),
    *((steep(z).diff(z) ** n, r"has an infinite slope; take the derivative in C") for n in (1, 2)),
]

BALLS = [
    *(
        (lambda f=f: ball(f, 2), Declaration, "outgrows the Gaussian")
        for f in (sp.exp(z**2), sp.exp(sp.Abs(z) ** 3 / 10**6), sp.exp(sp.exp(z)), sp.cosh(z**2))
    ),
    (lambda: ball(sp.exp(z**2 / 8), 4.5), Declaration, "outgrows the Gaussian"),
    (
        lambda: ball(PiecewiseFunction((sp.S.Zero,), (-1 / z, 1 / z)), 1),
        sr.SymresError,
        "integrand is infinite somewhere",
    ),
    (lambda: ball(sp.tanh(sp.Symbol("alpha", positive=True) * z), 1), Declaration, "alpha has no value"),
    (lambda: ball(TANH, -1), Declaration, "variance"),
    (lambda: ball(TANH, 1, 2, 1), Declaration, "exceeds"),
    (lambda: average_ball((TANH,) * 3, (arb(1),) * 6, 66), NoClosedForm, "3 variables"),
]

ENGINE = [
    (lambda: exact(sp.tanh(z) ** 2), "tanh"),
    (lambda: exact(1 / (1 + z**4)), "not a polynomial"),
    (lambda: exact(sp.erf(z) ** 6), "6 correlated signs centred"),
    (lambda: exact(sp.erf(z + 1) ** 3), "3 correlated signs not centred"),
    (lambda: exact(sp.erf(z + 1) * sp.erf(z), sp.Max(z, 1), law=(K1, C, K2)), "3 correlated signs not centred"),
    (lambda: exact(sp.Max(z, 1) * sp.sin(z)), "complex"),
    (lambda: exact(sp.exp(z**2), law=(sp.Integer(1),)), "converge"),
    (lambda: exact(sp.exp(z**2 / 2), sp.exp(z**2 / 2), law=(R(1, 2),) * 3), "converge"),
    (lambda: exact(z * sp.Abs(A) * sp.erf(A * z)), "sign of a"),  # not analytic in a
    (lambda: exact((1 + z) ** 1000), "not a polynomial"),
    (lambda: exact(RELU, law=(K1, K2)), "2 entries"),
    (lambda: exact(RELU, law=(sp.exp(K),)), "not a rational function"),
]

FAR_OUT = [  # no polynomial there
    (z / (1 + sp.Abs(z)) + z**2, "algebraic tails"),
    (sp.sqrt(1 + z**2), "algebraic tails"),
    (sp.log(1 + z**2), "algebraic or unknown tails"),
    (sp.atan(z) ** 2, "algebraic tails"),
    (z * sp.sin(z), "oscillates"),
    (sp.exp(z), "grows exponentially"),
    (sp.cosh(z) ** 2, "grows exponentially"),
    (sp.tanh(A * z) ** 2, "unknown sign"),
]
NOT_TAYLOR = [
    PiecewiseFunction((sp.S.Zero,), (1 / sp.sqrt(-z), 1 / sp.sqrt(z))),
    PiecewiseFunction((), (sp.log(z**2),)),
    split(z / (1 + sp.Abs(z) ** R(1, 1000))),  # too many terms
    PiecewiseFunction((), (sp.gamma(z + 1),)),
    PiecewiseFunction((A,), (z, 2 * z)),  # the side of the breakpoint is open
]

ROWS = [
    *QUANTITIES,
    *((lambda e=e: sr.expect(e), NoClosedForm, said) for e, said in DELTAS),
    *BALLS,
    *((call, NoClosedForm, said) for call, said in ENGINE),
    *((lambda f=f: large_variance(split(f), 3), NoClosedForm, said) for f, said in FAR_OUT),
    *((lambda f=f: small_variance(f, 2), NoClosedForm, "series") for f in NOT_TAYLOR),
]


@pytest.mark.parametrize(("call", "error", "said"), ROWS)
def test_it_is_refused_with_its_reason(call, error, said):
    with pytest.raises(error, match=said):
        call()
