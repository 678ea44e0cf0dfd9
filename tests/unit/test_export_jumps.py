"""Gradients of pair kernels of functions that jump, against differences of the average itself."""

import mpmath as mp
import pytest
import torch

import symres as sr

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


def test_where_gradients_are_cut_off_is_said():
    quantity = sr.expect2("sign(z-1)*tanh(z)", "sign(z-1)*tanh(z)")
    said = {target: "nearer than 1e-12 of K1*K2 they are cut off" for target in ("torch", "numpy")}
    for target, text in said.items():
        assert (text in " ".join(sr.export(quantity, target).text.split())) == (target == "torch")
    assert "they are cut off" not in " ".join(sr.export(sr.expect2("tanh", "tanh"), "torch").text.split())
