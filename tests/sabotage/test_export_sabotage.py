"""The accuracy tests of generated code can fail: wrong coefficients, signs and factors are seen."""

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from symres.errors import SymresError
from symres.export import export, quadrature
from symres.export import measure as export_measure
from symres.export.fit import fit
from symres.export.measure import build_component
from symres.export.plan import Component
from symres.export.rewrite import stabilise
from symres.symbols import K1, K2, C, K
from tests.oracles.closed_forms import KERNELS, PAIRS, covariance_map, kernel_map

WRONG = {
    "one percent": lambda e: e * sp.Rational(101, 100),
    "sign": lambda e: -e,
    "factor two": lambda e: 2 * e,
    "last digits": lambda e: e * (1 + sp.Rational(1, 10**12)),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("name", ["gelu", "relu", "erf"])
def test_wrong_code_of_a_pair_kernel_is_measured(name, wrong):
    symbols, formula = (K1, K2, C), PAIRS[name]
    honest = build_component("_average_1", symbols, formula)
    assert honest.error < 1e-14
    broken = export_measure._measured_pair(Component("_average_1", symbols, formula, wrong(honest.code)))
    assert broken.error > 5e-13


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_wrong_code_of_a_kernel_average_is_replaced_by_a_fit(wrong):
    honest = export_measure._measured_kernel(Component("_average_1", (K,), KERNELS["gelu"], stabilise(KERNELS["gelu"])))
    broken = export_measure._measured_kernel(Component("_average_1", (K,), KERNELS["gelu"], wrong(honest.code)))
    assert honest.error <= export_measure.ACCURATE < broken.error


def test_one_wrong_coefficient_of_a_fit_is_measured():
    component = build_component("_average_1", (K,), KERNELS["elu"])
    fitted = component.code
    table = [list(row) for row in fitted.table]
    table[5][1] *= 1.01
    wrong = replace(fitted, table=tuple(map(tuple, table)))
    broken = export_measure._measured_kernel(Component("_average_1", (K,), KERNELS["elu"], wrong))
    assert component.error < 1e-14 < 1e-10 < broken.error


EDITS = {
    "a constant": ("0.15915494309189535", "0.159154943091895"),
    "a sign": ("-C)", "C)"),
    "the exact determinant": ("np.maximum((p - q) + (p_error - q_error), 0.0)", "np.maximum(K1*K2 - C*C, 0.0)"),
}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=EDITS)
def test_an_edited_module_fails_the_accuracy_test(old, new):
    text = export(covariance_map(PAIRS["relu_slope"])).text
    assert text.count(old) == 1
    k, c = 0.7, -0.7 * (1 - 1e-9)
    with mp.workdps(50):
        exact = sp.lambdify((K1, K2, C), PAIRS["relu_slope"], "mpmath")(mp.mpf(k), mp.mpf(k), mp.mpf(c))
    errors = []
    for source in (text, text.replace(old, new)):
        space = {}
        exec(source, space)
        found = space["covariance_map"](k, k, c, 1.0, 0.0, 0.0)
        errors.append(float(abs(found / exact - 1)))
    assert errors[0] < 1e-15 < errors[1]


def test_a_fit_through_noise_is_refused():
    generator = np.random.default_rng(0)
    with pytest.raises(SymresError):
        fit(lambda k: 1 + mp.mpf(generator.uniform(0, 1e-6)), "noise")


def test_a_wrong_quadrature_is_refused(monkeypatch):
    from symres.declare.activation import Activation
    from symres.gaussian.expectation import Expectation
    from symres.symbols import x1, x2, z

    phi = Activation("tanh", sp.tanh(z))
    node = Expectation(phi(x1) * phi(x2), K1, C, K2)
    monkeypatch.setattr(quadrature, "LINE", 12)
    with pytest.raises(SymresError, match="off by"):
        build_component("_sabotaged", (K1, K2, C), node)


def test_a_perturbed_formula_gives_different_code():
    honest, wrong = KERNELS["erf"], KERNELS["erf"] * sp.Rational(101, 100)
    values = [export(kernel_map(f)).load().kernel_map(1.0, 1.0, 0.0, 0.0) for f in (honest, wrong)]
    assert values[1] / values[0] == pytest.approx(1.01, rel=1e-14)
