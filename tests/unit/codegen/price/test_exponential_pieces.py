"""Pair kernels of piecewise polynomials with exponentials: jumps, other activations, breakpoints that move."""

import pytest
import sympy as sp

import symres as sr
from symres.report.export import export


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
