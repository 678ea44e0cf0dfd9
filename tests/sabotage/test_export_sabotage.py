"""The accuracy tests of generated code can fail: wrong coefficients, signs and factors are seen."""

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from symres.activations.activation import Activation
from symres.codegen.fits.chebyshev import fit
from symres.codegen.planning.plan import ACCURATE, Component
from symres.codegen.stable.rewrites import stabilise
from symres.codegen.strategy import measured_error
from symres.codegen.strategy.choose import build_component
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.core.errors import SymresError
from symres.core.symbols import K1, K2, C, K, x1, x2, z
from symres.gaussian.calculus.expectation import Expectation
from symres.report.export import export
from tests.oracles.closed_forms import KERNELS, PAIRS, covariance_map
from tests.shared import altered

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
    honest = build_component("_average_1", symbols, formula, NUMPY, NUMPY)
    assert honest.measured.error < 1e-14
    broken = measured_error.measured_pair(Component("_average_1", symbols, formula, wrong(honest.code)), NUMPY)
    assert broken.measured.error > 5e-13


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_wrong_code_of_a_kernel_average_is_replaced_by_a_fit(wrong):
    honest = measured_error.measured_kernel(
        Component("_average_1", (K,), KERNELS["gelu"], stabilise(KERNELS["gelu"])), NUMPY
    )
    broken = measured_error.measured_kernel(Component("_average_1", (K,), KERNELS["gelu"], wrong(honest.code)), NUMPY)
    assert honest.measured.error <= ACCURATE < broken.measured.error


def test_one_wrong_coefficient_of_a_fit_is_measured():
    component = build_component("_average_1", (K,), KERNELS["elu"], NUMPY, NUMPY)
    fitted = component.code
    table = [list(row) for row in fitted.table]
    table[5][1] *= 1.01
    wrong = replace(fitted, table=tuple(map(tuple, table)))
    broken = measured_error.measured_kernel(Component("_average_1", (K,), KERNELS["elu"], wrong), NUMPY)
    assert component.measured.error < 1e-14 < 1e-10 < broken.measured.error


EDITS = {
    "a constant": ("0.15915494309189535", "0.159154943091895"),
    "a sign": ("-C)", "C)"),
    "the exact determinant": ("(p - q) + (p_error - q_error)", "p - q"),
}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=EDITS)
def test_an_edited_module_fails_the_accuracy_test(old, new):
    text = export(covariance_map(PAIRS["relu_slope"])).text
    assert old in text  # on both paths, perhaps: the point below takes the accurate one
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


SHORT_ROAD = {  # edits of the tiles alone, where the inputs are not nearly parallel
    "a constant": ("a2 = 0.15915494309189535", "a2 = 0.159154943091893", 0.3),
    "a sign": ("np.subtract(scratch[2], scratch[0]", "np.add(scratch[2], scratch[0]", 0.3),
    "a guard that lets lost digits pass": (
        "(scratch[2] >= 0.125) & (scratch[1] <= 0.5)",
        "scratch[2] >= 1e-12",
        -(1 - 1e-9),
    ),
}


@pytest.mark.parametrize(("old", "new", "rho"), SHORT_ROAD.values(), ids=SHORT_ROAD)
def test_an_edited_tile_fails_the_accuracy_test(old, new, rho):
    text = export(covariance_map(PAIRS["relu"])).text
    head, tile = text.split("def _average_1_axes")
    assert old in tile
    k, c = 0.7, 0.7 * rho
    with mp.workdps(50):
        formulas = (PAIRS["relu"], C * PAIRS["relu"].diff(C))
        exact, sensitivity = sp.lambdify((K1, K2, C), formulas, "mpmath")(mp.mpf(k), mp.mpf(k), mp.mpf(c))
    errors = []
    for changed in (tile, tile.replace(old, new)):
        space = {}
        exec(head + "def _average_1_axes" + changed, space)
        found = space["covariance_map"](k, k, np.full((64, 64), c), 1.0, 0.0, 0.0)
        error = max(abs(f - exact) for f in set(found.ravel()))
        errors.append(float(error / max(abs(exact), abs(sensitivity))))
    assert errors[0] < 1e-15 < errors[1]


@pytest.mark.exhaustive
def test_a_fit_through_noise_is_refused():
    generator = np.random.default_rng(0)
    with pytest.raises(SymresError):
        fit(lambda k: 1 + mp.mpf(generator.uniform(0, 1e-6)), "noise")


OPEN = {
    "tanh": sp.tanh(z),
    "hard_tanh": sp.Max(-1, sp.Min(1, z)),
    "softsign": z / (1 + sp.Abs(z)),
    "hard_swish": z * sp.Max(0, sp.Min(6, z + 3)) / 6,
    "softshrink": z + sp.Max(-1, sp.Min(1, -z)),
}
WRONG_AVERAGES = {  # of the helpers that compute averages of two variables at run time
    "a coefficient": ("softsign", "_moments", "math.sqrt(n + 1)", "math.sqrt(n + 1.0001)"),
    "a bound that is too loose": ("hard_tanh", "_pair_average", "** terms <= 4e-16", "** terms <= 0.01"),
    "weights beyond all kinks": ("softsign", "_half_line", "(1.0 + fall)", "(1.0 + 0.999 * fall)"),
    "weights between kinks": ("softshrink", "_interval", "share * (1.0 - share)", "share * (1.001 - share)"),
    "a kink elsewhere": (
        "softsign",
        "_kinked_plane",
        "[(a[..., None] - d * v) / c",
        "[(a[..., None] - 0.9 * d * v) / c",
    ),
    "the diagonal": ("hard_tanh", "_pair_average", "one[..., None] * rule[0]", "1.000001 * one[..., None] * rule[0]"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OPEN)
def test_honest_averages_of_two_variables_are_accurate(name):
    limit = 1e-13 if name == "softshrink" else 4e-15  # kernels of 2e-3, where a value turns with its 500th power
    component = measured_error.measured_quadrature(open_component(name), NUMPY)
    assert component.measured.error < limit and math.isinf(component.guards.largest)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "helper", "old", "new"), WRONG_AVERAGES.values(), ids=WRONG_AVERAGES)
def test_wrong_averages_of_two_variables_are_measured(name, helper, old, new):
    text = NUMPY.runtime.texts[helper]
    assert text.count(old) == 1
    broken = altered(NUMPY, definitions={helper: text.replace(old, new)})
    try:
        component = measured_error.measured_quadrature(open_component(name), broken)
    except SymresError as refusal:
        assert "off by" in str(refusal)
    else:  # an error, or an end before the kernel where it would be large
        end, reason = component.guards.largest, component.measured.reason
        assert component.measured.error > 1e-13 or (end < 1e4 and "off by" in reason)


def open_component(name):
    phi = Activation(name, OPEN[name])
    return Component("_average_1", (K1, K2, C), Expectation(phi(x1) * phi(x2), K1, C, K2), None)
