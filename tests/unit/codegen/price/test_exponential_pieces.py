"""Pair kernels of piecewise polynomials with exponentials: accuracy everywhere, speed, gradients."""

import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.report.export import export

NAMES = ("hard_tanh", "selu", "celu", "elu", "relu6", "hard_swish", "hard_sigmoid")
POINTS = [
    (k1, k2, rho)
    for k1, k2 in ((1e-8, 1e-8), (1e-8, 1e-4), (1e-3, 2e-3), (0.7, 0.7), (1.0, 30.0), (1e4, 9e3), (1.0, 1e4))
    for rho in (0.6, -0.9, 0.999, 1 - 1e-12, 1e-12 - 1)
]


def arguments(quantity):
    return [1.0] * (len(quantity.symbols) - 3)


@pytest.fixture(scope="module", params=NAMES)
def kernel(request):
    quantity = sr.expect2(request.param, request.param)
    return quantity, export(quantity).load().expect2


@pytest.mark.sample(1)
def test_values_have_14_digits_up_to_parallel_inputs(kernel):
    quantity, f = kernel
    rest = {str(s): 1 for s in quantity.symbols[3:]}
    for k1, k2, rho in POINTS:
        c = rho * k1**0.5 * k2**0.5
        exact = float(quantity.evalf(17, K1=sp.Rational(k1), K2=sp.Rational(k2), C=sp.Rational(c), **rest))
        size = (f(k1, k1, k1, *arguments(quantity)) * f(k2, k2, k2, *arguments(quantity))) ** 0.5
        found = f(k1, k2, c, *arguments(quantity))
        assert abs(found - exact) <= 1e-14 * size, (k1, k2, rho)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["elu", "selu", "hard_swish"])
def test_torch_has_the_same_values_and_their_slopes(name):
    quantity = sr.expect2(name, name)
    rest = arguments(quantity)
    f, g = (export(quantity, target).load().expect2 for target in ("torch", "numpy"))
    point = [[0.7, 1.3, 40.0, 1e-3], [1.1, 0.8, 50.0, 2e-3], [0.6, 0.99, 40.0, -1.3e-3]]
    tensors = [torch.tensor(v, dtype=torch.float64) for v in point]
    np.testing.assert_allclose(f(*tensors, *rest), g(*map(np.array, point), *rest), rtol=1e-13)
    some = [t[:3].clone().requires_grad_() for t in tensors]
    assert torch.autograd.gradcheck(lambda *v: f(*v, *rest), some, rtol=1e-6)


@pytest.mark.exhaustive
def test_jumps_of_any_height_are_averaged_in_double_precision():
    """In PyTorch the height of a jump was once rounded to float32."""
    quantity = sr.expect2("where(z>1,z/3,z/7)", "where(z>1,z/3,z/7)")
    f, g = (export(quantity, target).load().expect2 for target in ("torch", "numpy"))
    exact = float(quantity.evalf(17, K1=1.3, K2=0.8, C=0.99))
    assert g(1.3, 0.8, 0.99) == pytest.approx(exact, rel=1e-14)
    assert float(f(1.3, 0.8, 0.99)) == pytest.approx(exact, rel=1e-14)


@pytest.mark.exhaustive
def test_an_activation_of_this_kind_that_no_catalogue_has():
    formula = "where(z>1/2,z+exp(1-2*z),exp(3*z-3/2)+exp(z-1/2))"
    quantity = sr.expect2(formula, "hard_tanh")
    f = export(quantity).load().expect2
    for k1, k2, rho in ((1e-4, 1e-4, 0.9999), (1.0, 2.0, -0.99), (20.0, 1.0, 1 - 1e-9)):
        c = rho * (k1 * k2) ** 0.5
        exact = float(quantity.evalf(17, K1=sp.Rational(k1), K2=sp.Rational(k2), C=sp.Rational(c)))
        assert f(k1, k2, c) == pytest.approx(exact, rel=1e-13, abs=5e-14)  # both signs, of functions of order one


SHIFT, MEAN = sp.Symbol("b", real=True), sp.Symbol("c", real=True)
SHIFTED = {
    "means": lambda: sr.expect2(*[sr.activation("elu", alpha=1)] * 2, means=(SHIFT, MEAN)),
    "cusp": lambda: sr.expect2(sr.activation("exp(-abs(z-b))", b=SHIFT), "relu"),
    "beside a steep one": lambda: sr.expect2(
        sr.activation("exp(-abs(z-b))", b=SHIFT), sr.activation("tanh(c*z)", c=MEAN)
    ),
    "layer": lambda: sr.derive(sr.mlp(sr.activation("elu(z-b,1)", b=SHIFT))).covariance_map,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("name", SHIFTED)
def test_breakpoints_may_move(name, target):
    """A shift stands inside of the exponential, but changes its height alone."""
    quantity = SHIFTED[name]()
    function = getattr(export(quantity, target).load(), quantity.name)
    rest = {n: v for n, v in {"b": 0.3, "c": -0.7, "C_W": 1.5, "C_b": 0.1}.items() if n in names(quantity)}
    for k1, k2, c in ((1.3, 0.6, 0.4), (100.0, 30.0, -50.0), (5.0, 5.0, 5.0 * (1 - 1e-9)), (2.0, 8.0, 4.0)):
        point = {"K1": k1, "K2": k2, "C": c, **rest}
        assert float(function(**point)) == pytest.approx(float(quantity.evalf(17, **point)), rel=1e-14)


def names(quantity):
    return {s.name for s in quantity.symbols}
