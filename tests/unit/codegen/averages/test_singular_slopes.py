"""Gradients of pair kernels of functions that jump, against differences of the average itself."""

import warnings

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.core.symbols import z

POINTS = [("1", "1.5", "0.4"), ("1", "1", "0.9"), ("0.2", "3", "-0.6")]
FORMULAS = [
    "step(z-1)",
    "step(z-1)-step(-z-2)",
    "where(abs(z)<1,z,sign(z)*2)",
    "where(abs(z)>1,z,0)",
    "step(z)*exp(-z)",
    "sign(z-1)*tanh(z)",
]


def differences(quantity, point, place):
    """The derivative in one argument: Richardson's step from central differences of 30 digits."""
    names = ("K1", "K2", "C")
    with mp.workdps(30):
        values = {name: mp.mpf(text) for name, text in zip(names, point, strict=True)}
        centre = values[names[place]]

        def central(h):
            ends = (quantity.evalf(25, **{**values, names[place]: centre + s * h}) for s in (1, -1))
            return (next(ends) - next(ends)) / (2 * h)

        h = mp.mpf("1e-5")
        return float((4 * central(h) - central(2 * h)) / 3)


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", FORMULAS)
def test_gradients_of_functions_that_jump(formula):
    quantity = sr.expect2(formula, formula)
    module = sr.export(quantity, "torch").load()
    function = getattr(module, module.__all__[0])
    for point in POINTS:
        arguments = [torch.tensor(float(x), dtype=torch.float64, requires_grad=True) for x in point]
        found = torch.autograd.grad(function(*arguments), arguments)
        expected = [differences(quantity, point, place) for place in range(3)]
        scale = max(map(abs, expected))
        for one, other in zip(found, expected, strict=True):
            assert abs(float(one) - other) < 1e-11 * scale


@pytest.mark.exhaustive
def test_two_different_functions_and_the_diagonal():
    quantity = sr.expect2("step(z-1)", "tanh(z)")
    module = sr.export(quantity, "torch").load()
    function = getattr(module, module.__all__[0])
    for point in POINTS:
        arguments = [torch.tensor(float(x), dtype=torch.float64, requires_grad=True) for x in point]
        found = torch.autograd.grad(function(*arguments), arguments)
        for place, value in enumerate(found):
            assert abs(float(value) - differences(quantity, point, place)) < 1e-11
    square = sr.export(sr.expect2("step(z-1)", "step(z-1)"), "torch").load()
    ones = [torch.ones((), dtype=torch.float64, requires_grad=True) for _ in range(3)]
    assert all(torch.isfinite(g) for g in torch.autograd.grad(getattr(square, square.__all__[0])(*ones), ones))


@pytest.mark.exhaustive
def test_where_gradients_are_cut_off_is_said():
    quantity = sr.expect2("sign(z-1)*tanh(z)", "sign(z-1)*tanh(z)")
    said = {target: "within 1e-12 of K1*K2 they are cut off" for target in ("torch", "numpy")}
    for target, text in said.items():
        assert (text in " ".join(sr.export(quantity, target).text.split())) == (target == "torch")
    assert "they are cut off" not in " ".join(sr.export(sr.expect2("tanh", "tanh"), "torch").text.split())


# pairs, and in what their average is differentiated
SLOPES = [
    (("sign", "where(z<1,0,z)"), "K2"),  # closed, with exp(-x/determinant)/sqrt(determinant)
    (("tanh", "where(z<1,0,z)"), "C"),  # an average given one input
    (("where(z<-1,z+2,where(z<2,tanh(z),1))", "step"), "K1"),
]
ENDS = [(0.7, 0.7, 0.7), (1.0, 4.0, 2.0), (1.0, 4.0, -2.0), (1.5, 2.0, 0.7), (0.3, 30.0, 0.1), (3.0, 3.0, 3 - 3e-9)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize(("names", "symbol"), SLOPES)
def test_slopes_of_functions_that_jump_have_values_also_for_parallel_inputs(names, symbol, target):
    slope = sr.derivative(sr.expect2(*names), symbol)
    function = getattr(sr.export(slope, target).load(), slope.name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for point in ENDS:
            given = [torch.tensor(x, dtype=torch.float64) for x in point] if target == "torch" else point
            true = float(slope.evalf(20, **dict(zip(("K1", "K2", "C"), point, strict=True))))
            assert abs(float(function(*given)) - true) < 1e-13 * abs(true), point


@pytest.mark.exhaustive
def test_where_a_closed_form_has_no_value_is_said():
    met = sr.derivative(sr.expect2("where(z<1,0,z)", "where(z<1,0,z)"), "C")  # infinite where both jumps meet
    text = str(sr.export(met, "numpy"))
    assert "no value where the inputs are parallel" in text and "on the diagonal" not in text
    function = sr.export(met, "numpy").load().dexpect2_dC
    assert function(1.0, 4.0, 1.0) == pytest.approx(float(met.evalf(20, K1=1, K2=4, C=1)), rel=1e-13)


# pairs, a point where the inputs are parallel or one of them vanishes, and the derivatives in K1, K2, C there
DENSITY = 0.3989422804014327
PARALLEL = [
    (("step", "tanh"), (1, 4, 2), (-DENSITY, None, DENSITY)),
    (("where(z<1,0,z)", "where(z<1,0,z)"), (1, 4, -2), (0, 0, 0)),
    (("where(z<1,0,z)", "where(z<1,0,z)"), (1e4, 1e-8, 0.01), (0, 0, 0)),
    (("where(z<1,0,z)", "where(z<1,0,z)"), (1, 4, 2), (0.24197072451914334, 0, 0.4006259784506004)),
    (("where(z<0,1,2)", "tanh(z)^2"), (0, 1, 0), (None, 0.2726965322107306, 0)),  # the mean of both sides
    (("step(z-1)", "relu"), (1, 4, 2), (0, 0, 0.24197072451914334)),  # closed
    (("step(z-1)", "relu"), (1, 4, -2), (0, 0, 0)),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("names", "point", "expected"), PARALLEL)
def test_gradients_where_inputs_are_parallel_and_jumps_do_not_meet(names, point, expected):
    function = sr.export(sr.expect2(*names), "torch").load().expect2
    arguments = [torch.tensor(float(x), dtype=torch.float64, requires_grad=True) for x in point]
    for found, value in zip(torch.autograd.grad(function(*arguments), arguments), expected, strict=True):
        assert torch.isfinite(found)
        assert value is None or abs(float(found) - value) < 1e-14


@pytest.mark.exhaustive
def test_gradients_are_cut_off_only_where_jumps_of_both_functions_may_meet():
    for other, said in (("tanh(z)", False), ("sign(z-1)*tanh(z)", True)):
        text = " ".join(sr.export(sr.expect2("sign(z-1)*tanh(z)", other), "torch").text.split())
        assert ("they are cut off" in text) == said


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_a_covariance_whose_square_is_no_float_has_no_value_and_harms_no_other(target):
    """K1*K2 is infinite in the first entry."""
    a, b = sp.symbols("a b", positive=True)
    f = sr.Activation("f", sp.tanh(z) * sp.Heaviside(z - a, 1), (a,))
    g = sr.Activation("g", z**2 * sp.Heaviside(z + b, 1) - 3 * sp.Heaviside(-z - b, 1), (b,))
    quantity = sr.expect2(f, g)
    columns = ([1e160, 1.0], [1e160, 2.0], [1e159, 0.3])
    columns = map(np.array, columns) if target == "numpy" else (torch.tensor(c, dtype=torch.float64) for c in columns)
    found = np.asarray(sr.export(quantity, target).load().expect2(*columns, a=0.3, b=0.7))
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(float(quantity.evalf(15, K1=1, K2=2, C="0.3", a="0.3", b="0.7")), rel=1e-13)
