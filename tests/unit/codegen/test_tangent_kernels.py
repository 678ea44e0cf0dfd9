"""The tangent kernel of every layer as generated code: the argument Theta, the diagonal, layers in layers."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import torch

import symres as sr
from symres.core.symbols import K
from tests.oracles.layers import BUILD

LAYERS = ("residual", "two_layer_block", "post_ln", "glu")
CASES = [
    *((layer, "tanh") for layer in ("pre_ln", "post_ln", "batch_norm, 2 units")),
    *(
        (layer, "erf")
        for layer in (*LAYERS, "mlp", "pre_ln", "ln_act", "rms_after", "batch_norm", "batch_norm, 2 units")
    ),
    *((layer, "relu") for layer in (*LAYERS, "pre_ln")),
]
VALUES = {"C_W": 1.3, "C_b": 0.2, "gamma": 0.6, "xi": 0.7, "K": 2.0}
POINTS = (  # K1, K2, C, Theta
    (1.1, 0.7, 0.4, 0.3),
    (1.1, 1.1, 1.1, -0.8),
    (0.5, 2.0, 1.0, 0.5),
    (0.5, 2.0, -1.0, 0.5),
    (1.0, 1.0, 1 - 1e-9, 2.0),
    (1.0, 1.0, 1e-9 - 1, 2.0),
    (0.3, 0.3, -0.3, 0.0),
)


@cache
def quantity(layer, name):
    return sr.derive(BUILD[layer](name)).ntk_map


@cache
def function(layer, name, target):
    return sr.export(quantity(layer, name), target).load().ntk_map


def arguments(layer, name):
    """Arrays by name; batch layers have one kernel for all inputs, whose mean covariance is not negative."""
    columns = dict(zip(("K1", "K2", "C", "Theta"), np.array(POINTS).T, strict=True))
    if K in quantity(layer, name).symbols:
        columns["C"] = np.abs(columns["C"])
    return {s.name: columns.get(s.name, VALUES.get(s.name)) for s in quantity(layer, name).symbols}


def exact(layer, name):
    """Values at the same binary numbers, and their scale: terms cancel where Theta is negative."""
    found, scales, given = [], [], arguments(layer, name)
    for i in range(len(POINTS)):
        point = {k: Fraction(float(v[i])) if np.ndim(v) else v for k, v in given.items()}
        found.append(float(quantity(layer, name).evalf(17, **point)))
        apart = [quantity(layer, name).evalf(17, **(point | {"Theta": t})) for t in (0, abs(point["Theta"]))]
        scales.append(max(map(abs, map(float, apart))))
    return np.array(found), np.array(scales)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("layer", "name"), CASES)
def test_tangent_kernels_are_exact_on_the_diagonal_and_beside_it(layer, name):
    expected, scale = exact(layer, name)
    f = function(layer, name, "numpy")
    with np.errstate(all="raise"):
        found = f(**arguments(layer, name))
    assert (np.abs(found - expected) <= 3e-15 * scale).all()
    double = {k: torch.tensor(v, dtype=torch.float64, requires_grad=True) for k, v in arguments(layer, name).items()}
    value = function(layer, name, "torch")(**double)
    value.sum().backward()
    assert (np.abs(value.detach().numpy() - expected) <= 3e-15 * scale).all()
    assert all(torch.isfinite(a.grad).all() for a in double.values())
    single = function(layer, name, "torch")(**{k: v.detach().float() for k, v in double.items()})
    assert single.dtype == torch.float32
    assert (np.abs(single.numpy() - expected) <= 1e-4 * scale).all()  # 1 - 1e-9 is 1 there, and slopes have kinks


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("layer", "name"), [("residual", "relu"), ("two_layer_block", "relu"), ("post_ln", "erf"), ("glu", "erf")]
)
def test_gradients_in_all_arguments_are_those_of_the_values(layer, name):
    given = [v[:1] if np.ndim(v) else v for v in arguments(layer, name).values()]
    tensors = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in given]
    assert torch.autograd.gradcheck(function(layer, name, "torch"), tensors)


def test_theta_broadcasts_and_is_documented():
    f = function("residual", "relu", "numpy")
    single = [f(1.0, 2.0, 0.5, t, 1.3, 0.1, 0.6) for t in (-1.0, 0.0, 2.5)]
    np.testing.assert_allclose(f(1.0, 2.0, 0.5, [[-1.0], [0.0], [2.5]], 1.3, 0.1, 0.6)[:, 0], single, rtol=1e-15)
    text = sr.export(quantity("residual", "relu")).text
    assert "Theta: tangent kernel of the two inputs, of any sign" in text


@pytest.mark.parametrize("layer", ["residual", "batch_norm", "post_ln"])
def test_documents_write_the_map(layer):
    assert r"\Theta' &=" in sr.export(quantity(layer, "erf"), "latex").text


@pytest.mark.exhaustive
def test_nearly_parallel_inputs_have_numbers_in_nested_layers():
    """K1 + K2 - 2*C under a root may round to less than 0."""
    rng = np.random.default_rng(0)
    first = rng.uniform(0.1, 5, 20000)
    second = first * (1 + 10 ** rng.uniform(-17, -5, 20000))
    both = np.sqrt(first) * np.sqrt(second) * (1 - 10 ** rng.uniform(-17, -5, 20000))
    for layer in ("two_layer_block", "glu"):
        rest, f = [VALUES[s.name] for s in quantity(layer, "relu").symbols[4:]], function(layer, "relu", "numpy")
        with np.errstate(all="raise"):
            assert np.isfinite(f(first, second, both, 1.7, *rest)).all()
