"""Closed forms of two inputs where a kernel vanishes, near correlation one, and in functions that a library lacks."""

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch
from scipy import special

import symres as sr
from symres.codegen.strategy import choose
from symres.codegen.strategy.choose import build_component
from symres.codegen.strategy.measured_error import deviation, round_up
from symres.codegen.targets import torch as torch_package
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.codegen.targets.torch import TARGET as TORCH
from symres.codegen.wording.docstrings import error_text
from symres.core.errors import SymresError
from symres.core.symbols import C_W, C_b, K
from symres.functions.companions import Dawson
from symres.results.quantity import Quantity, Status
from tests.shared import Lazily, altered, derived, runtime

FORMULAS = ["sign(z)+z", "sign(z)+relu(z)", "step(z)+relu(z)", "where(z>0,z+1,z)", "sign(z)*z^2+sign(z)",
            "exp(-z^2)*relu(z)+sign(z)", "sign(z)+z^3", "cos(z)+relu(z)", "exp(-z^2)*relu(z)+cos(z)"]  # fmt: skip
AT_ZERO = {  # <phi(0) phi(z)> for kernels 0 and 1 and covariance 0, and phi(0)**2 for two vanishing kernels
    "step(z)+relu(z)": (0.5 * (0.5 + 1 / (2 * np.pi) ** 0.5), 0.25),
    "where(z>0,z+1,z)": (0.25, 0.25),
    "cos(z)+relu(z)": (np.exp(-0.5) + 1 / (2 * np.pi) ** 0.5, 1.0),
    "exp(-z^2)*relu(z)+cos(z)": (np.exp(-0.5) + 1 / (3 * (2 * np.pi) ** 0.5), 1.0),
}


@pytest.fixture(scope="module")
def maps():
    return Lazily(lambda formula: derived(sr.mlp(sr.activation(formula))).covariance_map)


def called(f, target, *kernels, dtype=torch.float64):
    with np.errstate(all="raise", under="ignore"):
        if target == "numpy":
            return float(f(*kernels, 1.0, 0.0))
        return float(f(*(torch.tensor(k, dtype=dtype) for k in kernels), 1.0, 0.0))


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_vanishing_kernels_have_their_value(maps, formula, target):
    f = sr.export(maps[formula], target).load().covariance_map
    one, both = AT_ZERO.get(formula, (0.0, 0.0))
    for kernels in ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0)):
        assert called(f, target, *kernels) == pytest.approx(one, rel=1e-15, abs=0)
    assert called(f, target, 0.0, 0.0, 0.0) == both


@pytest.mark.sample(4)
@pytest.mark.parametrize("formula", FORMULAS)
def test_kernels_without_a_square_in_floats_have_their_digits(maps, formula):
    quantity = maps[formula]
    f, single = (sr.export(quantity, target).load().covariance_map for target in ("numpy", "torch"))
    for k1, k2, c in ((1e-300, 1.0, 1e-151), (1e-200, 1e-210, -3e-206), (2e-30, 1e-25, 1e-28)):
        exact = float(quantity.evalf(17, K1=mp.mpf(k1), K2=mp.mpf(k2), C=mp.mpf(c), C_W=1, C_b=0))
        assert called(f, "numpy", k1, k2, c) == pytest.approx(exact, rel=3e-15)
        if k1 > 1e-38:
            assert called(single, "torch", k1, k2, c, dtype=torch.float32) == pytest.approx(exact, rel=2e-6)


@pytest.mark.parametrize("formula", ["sign(z)+relu(z)", "step(z)+relu(z)", "sign(z)+z^3"])
@pytest.mark.parametrize("gap", [1e-10, 1e-14])
def test_kernels_near_correlation_one_keep_their_digits(maps, formula, gap):
    """The difference K1*K2 - C**2 in floats costs up to ten of them."""
    quantity = maps[formula]
    f = sr.export(quantity).load().covariance_map
    for k1, k2 in ((1e-4, 1e-2), (0.7, 0.9)):
        c = (1 - gap) * k1**0.5 * k2**0.5
        exact = float(quantity.evalf(17, K1=mp.mpf(k1), K2=mp.mpf(k2), C=mp.mpf(c), C_W=1, C_b=0))
        assert called(f, "numpy", k1, k2, c) == pytest.approx(exact, rel=2e-15)


@pytest.mark.parametrize("formula", FORMULAS)
def test_gradients_are_finite_at_vanishing_kernels_and_right_elsewhere(maps, formula):
    f = sr.export(maps[formula], "torch").load().covariance_map
    point = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.0, 0.0], [1.0, 0.0], [0.0, 0.0])]
    f(*point, 1.0, 0.0).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in point)
    point = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.7, 1.3, -0.6)]
    assert torch.autograd.gradcheck(lambda *p: f(*p, 1.0, 0.0), point, rtol=1e-7)


# ---- functions that a library lacks ------------------------------------------------------------------------------
def test_dawson_in_torch():
    x = [1e-300, 1e-9, 0.1, 0.9999999, 1.0, 1.3, 4.4, 30.0, 1e5, 1e160]
    points = torch.tensor([*x, *(-v for v in x), 0.0], dtype=torch.float64, requires_grad=True)
    found = runtime(TORCH, "_dawson(")["_dawson"](points)
    np.testing.assert_allclose(found.detach(), special.dawsn(points.detach().numpy()), rtol=2e-14)
    found[:7].sum().backward()
    np.testing.assert_allclose(points.grad[:7], [1 - 2 * v * special.dawsn(v) for v in x[:7]], rtol=1e-13, atol=1e-15)


def test_waves_beside_kinks_do_not_overflow():
    formula = "cos(z)+relu(z)"
    f = sr.export(sr.expect2(formula, formula)).load().expect2
    k, c = 3e3, 2.9e3
    exact = float(sr.expect2(formula, formula).evalf(16, K1=k, K2=k, C=c))
    with np.errstate(all="raise", under="ignore"):
        assert f(k, k, c) == pytest.approx(exact, rel=1e-14)


def lacking(target, head):
    functions = {k: v for k, v in target.dialect.functions.items() if k is not head}
    return altered(target, dialect=replace(target.dialect, functions=functions))


def test_a_closed_form_that_the_language_lacks_is_fitted():
    formula = sp.exp(-K) * sp.erfi(sp.sqrt(K))
    assert isinstance(build_component("_average_1", (K,), formula, NUMPY, NUMPY).code, sp.Expr)
    fitted = build_component("_average_1", (K,), formula, lacking(TORCH, Dawson), NUMPY)
    assert fitted.code.edges
    assert fitted.measured.error < 1e-14
    assert NUMPY.unspelled(sp.erfi(K)) == "erfi"
    assert NUMPY.unspelled(sp.exp(K) * sp.erfi(sp.Integer(2))) == ""


@pytest.mark.exhaustive
def test_an_average_whose_closed_form_the_language_lacks_is_integrated(monkeypatch):
    monkeypatch.setattr(torch_package, "TARGET", lacking(TORCH, sp.erf))
    erf = sr.expect2("hard_tanh", "z")
    assert erf.expr.has(sp.erf)
    module = sr.export(erf, "torch")
    assert "Closed form not used: the target has no function erf" in " ".join(module.text.split())
    assert "_pair_average" in module.text
    assert float(module.load().expect2(1.0, 2.0, 0.5)) == pytest.approx(float(erf.evalf(K1=1, K2=2, C=0.5)), rel=1e-14)


# ---- values beyond the floats ------------------------------------------------------------------------------------
@pytest.mark.parametrize("formula", ["exp(z)", "sinh(z)", "cosh(z)", "z*exp(z/2)", "cosh(z/4)"])
def test_exponential_growth_keeps_its_closed_form(formula):
    """exp(2K) is infinite at K = 1e4, and so is its float."""
    quantity = sr.expect(formula + f"*({formula})")
    module = sr.export(quantity)
    assert not module.warnings
    f = module.load().expect
    for k in (1e-6, 0.3, 20.0, 300.0):
        exact = float(quantity.evalf(17, K=mp.mpf(k)))
        assert f(k) == pytest.approx(exact, rel=4e-16 * max(1, 2 * k), abs=0)


def test_a_closed_form_without_digits_stays_where_a_fit_fails(monkeypatch):
    def failing(values, what):
        raise SymresError(f"a fit of {what}", "too many polynomials", "evaluate it")

    monkeypatch.setattr(choose, "fit", failing)
    component = build_component("_stays", (K,), sr.expect("(exp(z/3)*sin(z))^2").body, NUMPY, NUMPY)
    assert isinstance(component.code, sp.Expr)
    assert 1e-10 < component.measured.error < 1e-6
    assert f"at most {round_up(component.measured.error):.0e} of max(" in error_text(component)


def test_overflow_of_the_wrong_sign_is_an_error():
    grown = Quantity("kernel_map", (K, C_W, C_b), sp.exp(2 * K), sp.exp(2 * K), Status.EXACT)
    assert not sr.export(grown).warnings
    assert deviation(-sp.exp(2 * K), (1e4,), np.inf, by_value=True) == np.inf
    assert deviation(sp.exp(2 * K), (1e4,), np.inf, by_value=True) == 0.0
    assert deviation(sp.exp(2 * K), (100.0,), np.inf, by_value=True) == np.inf


@pytest.mark.parametrize(
    "quantity",
    [sr.expect2("step", "step"), sr.expect2("step", "sign(z)+1"), sr.derivative(sr.expect2("relu", "relu"), "C")],
    ids=str,
)
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_an_input_that_vanishes_is_independent_of_the_other(quantity, target):
    function = getattr(sr.export(quantity, target).load(), quantity.name)
    for point in ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (1e-300, 1.0, 0.0), (0.0, 0.0, 0.0)):
        found = function(*(torch.tensor(x, dtype=torch.float64) for x in point) if target == "torch" else point)
        assert float(found) == float(quantity.evalf(15, K1=point[0], K2=point[1], C=point[2]))
