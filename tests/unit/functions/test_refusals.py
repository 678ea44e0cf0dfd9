"""What has no value: the call, the class of the error, and what it says."""

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import C_W, C_b, K, x1
from symres.functions.balls import enclose, evaluate, to_ball
from symres.functions.floats.float_averages import CompiledExpressions, FloatFunction
from symres.functions.records.gaussian_signs import Q2, S2, S4, T4
from symres.functions.roots.root import SystemRoot
from symres.gaussian.calculus.expectation import Expectation

R = sp.Rational
x, y = sp.symbols("x y", real=True)
Declaration, NoClosedForm = sr.DeclarationError, sr.NoClosedForm
exp, sin = sr.activation("exp(z)"), sr.activation("sin")

NO_NUMBERS = ["two", "", "1/0", "nan", float("nan"), float("inf"), sp.oo, sp.nan, y, None, True, "1e5e5"]
NOT_FINITE = [
    (sp.exp(sp.exp(sp.exp(x))), 1000),
    (sp.sqrt(x), -1),
    (1 / x, 0),
    (sp.log(x), 0),
    (sp.sin(sp.exp(sp.exp(x))), 1000),
    (x**1000000 * sp.exp(sp.exp(x)), "1e300"),
]
NO_CORRELATIONS = [S2(R(1), R(2), R(3, 2)), Q2(R(1), R(2), -2), T4(R(-2, 5))]
NO_CORRELATIONS += [S4(R(1, 3), R(1, 5), R(-1, 5), R(1, 7), R(1, 3), R(9, 10))]


def in_floats(function, variance):
    return CompiledExpressions([Expectation(function(x1) ** 2, K)])({K: variance})


def overflowing():
    with np.errstate(all="ignore"):
        return FloatFunction(exp.pieces)(np.array([800.0]), {})


ROWS = [
    *((lambda v=v: to_ball(v, 64), Declaration, "the value") for v in NO_NUMBERS),
    (lambda: enclose(x + y, {y: 1}, 64), Declaration, r"no number for x; pass x=\.\.\."),
    (lambda: enclose(sp.zeta(x), {x: 3}, 64), Declaration, "zeta has no ball evaluation"),
    *((lambda e=e, v=v: evaluate(e, {x: v}, 15), sr.SymresError, "15 digits of") for e, v in NOT_FINITE),
    *((lambda e=e: evaluate(e, {}, 30), Declaration, "correlation") for e in NO_CORRELATIONS),
    (lambda: SystemRoot.near((K - 1, C_W - 1, C_W**2 + C_b**2 + 1), (1.0, 1.0, 0.5)), NoClosedForm, ""),
    (overflowing, NoClosedForm, "overflow"),
    (lambda: in_floats(sin, 1e12), NoClosedForm, "oscillates"),
    (lambda: in_floats(exp, 200.0), NoClosedForm, r"beyond 38 standard deviations|overflow"),
]


@pytest.mark.parametrize(("call", "error", "said"), ROWS)
def test_it_is_refused_with_its_reason(call, error, said):
    with pytest.raises(error, match=said or None):
        call()
