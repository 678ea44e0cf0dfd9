"""Averages as fixed sums: the same in every language, far out too, with slopes, and that a wrong term is noticed."""

import jax
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.activations.piecewise import split
from symres.codegen.planning.plan import Component
from symres.codegen.price import exponential_pieces, polynomial_pieces
from symres.codegen.price.pair_average import pair_average, summed_averages
from symres.codegen.strategy.measured_error import measured_quadrature
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.core.symbols import K1, K2, C, z
from symres.functions.balls import evaluate
from tests.languages import language

A = sp.Symbol("a", positive=True)
NAMES = ("hard_tanh", "relu6", "hard_sigmoid", "hard_swish", "elu", "selu", "celu", "exp(-abs(z))", "where(z>1,z^2,0)")
LANGUAGES = ("numpy", "torch", "jax", "c", "numba")
POINTS = [
    (k1, k2, rho * k1**0.5 * k2**0.5)
    for k1, k2 in ((1e-8, 1e-8), (1e-8, 1e-4), (1e-6, 1e3), (0.3, 0.3), (1.0, 30.0), (1e3, 1.01e3), (1e6, 1e6))
    for rho in (0.0, 0.4, -0.97, 1 - 1e-5, 1e-5 - 1, 1 - 1e-12, 1e-12 - 1)
]


def exactly(quantity, *kernels):
    """A pair kernel, parameters 1."""
    parameters = dict.fromkeys(map(str, quantity.symbols[3:]), 1)
    at = dict(zip(("K1", "K2", "C"), map(sp.Rational, kernels), strict=True))
    return float(quantity.evalf(17, **at, **parameters))


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", NAMES)
def test_values_from_tiny_to_huge_kernels_up_to_parallel_inputs_in_every_language(name):
    quantity = sr.expect2(name, name)
    exact = [exactly(quantity, *point) for point in POINTS]
    diagonal = {k: exactly(quantity, k, k, k) for point in POINTS for k in point[:2]}
    sizes = [(diagonal[k1] * diagonal[k2]) ** 0.5 for k1, k2, _ in POINTS]
    # fourteen digits up to kernels of 1e4, where errors are measured
    allowed = [size * (1e-14 if max(k1, k2) <= 1e4 else 1e-13) for size, (k1, k2, _) in zip(sizes, POINTS, strict=True)]
    for target in LANGUAGES:
        tool, others = language(target), [1.0] * (len(quantity.symbols) - 3)
        numbers = tool.value(tool.load(quantity).expect2, *np.transpose(POINTS), *others)
        errors = np.abs(numbers - exact)
        assert (errors <= allowed).all(), (target, POINTS[int(np.argmax(errors / sizes))])


SLOPED = ("hard_tanh", "hard_swish", "elu", "exp(-abs(z))", "where(z>1,z,0)")
ORDINARY = [(0.3, 0.3, 0.2), (2.0, 7.0, -3.1), (1e-4, 3.0, 0.009), (40.0, 41.0, 40.4)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SLOPED)
def test_slopes_are_those_of_the_closed_form(name):
    quantity = sr.expect2(name, name)
    others = [1.0] * (len(quantity.symbols) - 3)
    call, traced = (sr.export(quantity, target).load().expect2 for target in ("torch", "jax"))
    for point in ORDINARY:
        k1, k2, _ = point
        size = (exactly(quantity, k1, k1, k1) * exactly(quantity, k2, k2, k2)) ** 0.5
        units = size / k1, size / k2, size / (k1 * k2) ** 0.5
        at = dict(zip((K1, K2, C), map(sp.Rational, point), strict=True)) | dict.fromkeys(
            quantity.symbols[3:], sp.S.One
        )
        exact = [float(evaluate(quantity.body.diff(s), at, 17)[0]) for s in (K1, K2, C)]
        expected = [pytest.approx(e, abs=1e-11 * unit) for e, unit in zip(exact, units, strict=True)]
        tensors = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in point]
        call(*tensors, *others).backward()
        assert [float(t.grad) for t in tensors] == expected
        assert list(map(float, jax.grad(lambda p: traced(*p, *others))(list(point)))) == expected


@pytest.mark.parametrize(
    ("formula", "parameters"),
    [
        pytest.param(  # its derivative in a has no sum
            *(sp.Piecewise((sp.sign(z), sp.Abs(z) > 1), (A * z, True)), {A: 0.7}), marks=pytest.mark.exhaustive
        ),
        (sp.Piecewise((z + 1, z > 1), (z, True)), {}),  # its slope is a constant without breakpoints
    ],
    ids=str,
)
def test_slopes_without_a_sum_are_those_of_the_sum(formula, parameters):
    phi = sr.Activation("phi", formula, tuple(parameters))
    quantity = sr.expect2(phi, phi)
    point, step = [1.3, 0.8, 0.4, *parameters.values()], 1e-5
    call = sr.export(quantity, "torch").load().expect2
    tensors = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in point]
    call(*tensors).backward()
    reference = sr.export(quantity, "numpy").load().expect2
    for n, tensor in enumerate(tensors):
        up, down = (reference(*(x + side * step * (n == m) for m, x in enumerate(point))) for side in (1, -1))
        assert float(tensor.grad) == pytest.approx((up - down) / (2 * step), rel=1e-8)


@pytest.mark.exhaustive
def test_every_language_has_what_the_others_have():
    layer = sr.derive("hard_sigmoid")
    assert not any(sr.export(layer, target).missing for target in LANGUAGES)


@pytest.mark.parametrize(
    ("formula", "has_sum"),
    [
        (sp.Max(-1, sp.Min(1, z)), True),
        (z * sp.Max(0, sp.Min(6, z + 3)), True),
        (sp.Piecewise((sp.exp(z) - 1, z < 0), (z, True)), True),
        (sp.exp(-sp.Abs(z)), True),
        (sp.Max(1 - z**2, 0), False),  # an inner piece of a degree above the outer ones by three
        (sp.Piecewise((z, z < 0), (sp.exp(z), True)), False),  # it grows
        (sp.Piecewise((z * sp.exp(z), z < 0), (z, True)), False),
        (sp.Piecewise((sp.exp(z - 1), z < 1), (z, True)), False),  # it breaks elsewhere than at 0
        (sp.tanh(sp.Max(z, 0)), False),
    ],
    ids=str,
)
def test_which_averages_are_fixed_sums(formula, has_sum):
    f = split(formula)
    assert (pair_average(f, f) is not None) == has_sum


@pytest.mark.parametrize(
    ("name", "module", "part"),
    [
        ("hard_tanh", polynomial_pieces, "covariance_left"),
        ("hard_swish", polynomial_pieces, "covariance_slope"),
        ("relu6", polynomial_pieces, "density_slope"),
        ("elu", exponential_pieces, "covariance_slope"),
        ("selu", exponential_pieces, "density_slope"),
    ],
)
def test_a_wrong_part_is_noticed_in_the_measurement(monkeypatch, name, module, part):
    formula = sr.expect2(*[sr.activation(name, alpha=1) if name == "elu" else name] * 2).definition
    monkeypatch.setattr(module, part, getattr(module, part) * (1 + sp.Rational(1, 10**6)))
    pair_average.cache_clear()
    broken = Component("_average_1", (K1, K2, C), formula, summed_averages(formula))
    assert measured_quadrature(broken, NUMPY).measured.error > 1e-10
    pair_average.cache_clear()
