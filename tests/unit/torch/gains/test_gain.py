"""The door: what a gain may be asked of, what it is, and that a wrong number is never returned."""

import copy
import math
import pickle
from dataclasses import replace
from functools import partial

import mpmath as mp
import pytest
import sympy as sp
import torch
from torch import nn

import symres as sr
import symres.torch as st
from symres.core.errors import CheckRefuted, DeclarationError
from symres.torch.activations.conversion import conversion
from symres.torch.gains import layer_averages


@pytest.mark.parametrize(("name", "argument"), [("conv_transpose3d", None), ("leaky_relu", 0.01)])
def test_the_table_of_torch_is_reproduced(name, argument):
    """Its other entries are in ``test_conventions``."""
    given = {} if argument is None else {"slope": argument}
    assert st.gain(name, "torch", **given) == torch.nn.init.calculate_gain(name, argument)


def by_hand(x):
    return torch.where(x > 0, x, 0.1 * x)


LEAKY = [
    *("where(z > 0, z, z/10)", nn.LeakyReLU(0.1), sr.activation("leaky_relu", slope=0.1), by_hand),
    partial(nn.functional.leaky_relu, negative_slope=0.1),
]


@pytest.mark.parametrize("what", LEAKY)
def test_all_ways_to_name_an_activation(what):
    assert st.gain(what, "forward") == pytest.approx(math.sqrt(2 / 1.01), rel=1e-15)


def test_learnable_parameters_count_as_they_are():
    module = nn.PReLU()
    before = st.gain(module)
    with torch.no_grad():
        module.weight.fill_(1.0)
    assert (before, st.gain(module)) == (pytest.approx(math.sqrt(32 / 17)), 1)
    assert st.gain("swish", "forward", beta=1) == pytest.approx(st.gain("silu", "forward"), rel=1e-14)


def test_a_jump_has_a_forward_gain_only():
    gain = st.gain("sign", "forward")
    assert gain == 1 and gain.chi_perp == math.inf and "the activation jumps" in gain.why
    for convention in ("critical", "backward"):
        with pytest.raises(DeclarationError, match="infinite"):
            st.gain("sign", convention)


def test_a_gain_is_a_number_with_a_reason():
    gain = st.gain("gelu")
    assert isinstance(gain, float) and isinstance(gain, st.Gain)
    assert gain.why.count(". ") == 1 and gain.why.endswith(".")
    assert "C_W = 1/<phi'(z)^2>_3.56155281 = 1.98305826" in gain.why
    assert type(gain * 2) is float and f"{gain:.3f}" == "1.408" and str(gain) == "1.40821101"
    assert repr(gain) == "Gain(1.4082110131076049, 'critical', 'gelu')"
    for made in (copy.deepcopy(gain), pickle.loads(pickle.dumps(gain))):
        assert (made, vars(made)) == (gain, vars(gain))
    for name in ("why", "C_W", "new"):
        with pytest.raises(AttributeError):
            setattr(gain, name, 1)


@pytest.mark.parametrize("factor", [1 + 1e-6, 1 - 1e-6])
def test_a_derived_average_that_is_wrong_is_caught(monkeypatch, factor):
    """By the quadrature of the module itself."""
    monkeypatch.setattr(
        layer_averages, "_number", lambda quantity, K, number=layer_averages._number: factor * number(quantity, K)
    )
    for convention in ("forward", "backward", "critical"):
        with pytest.raises(CheckRefuted, match="quadrature"):
            st.gain(nn.Tanh(), convention)


@pytest.mark.parametrize("change", [lambda f: f, lambda f: 1.0001 * f])
def test_a_module_that_is_another_function_is_caught(change):
    """A formula that slipped through the conversion would still meet the module here."""
    source = replace(conversion(nn.Tanh()), pointwise=lambda x: change(torch.tanh(x)))
    asked = layer_averages.GainSubject(sr.activation("tanh"), source)
    if change(1) == 1:
        assert asked.averages(1.0).deviation < 1e-14
    else:
        with pytest.raises(CheckRefuted, match="quadrature"):
            asked.averages(1.0)


def test_a_wrong_critical_point_is_caught(monkeypatch):
    point = sr.derive(sr.mlp("snake")).critical_points[0]
    for wrong in ({"C_W": point.C_W * (1 + sp.Rational(1, 10**6))}, {"K": point.K * 2}, {"C_b": point.C_b * 2}):
        found = replace(point, **wrong)
        monkeypatch.setattr("symres.torch.gains.gain.first_usable", lambda _, found=found: found)
        with pytest.raises(CheckRefuted, match="chi_perp"):
            st.gain("snake")


def test_inputs_with_the_mean_square_that_is_named_have_the_kernel():
    """A first layer of width 400000 in steps, drawn with the gain: its kernel within four standard errors."""
    found = st.gain(nn.Hardswish())
    torch.manual_seed(0)
    inputs = torch.randn(64, dtype=torch.float64)
    inputs *= (found.inputs_kernel / inputs.square().mean()).sqrt()
    weights = torch.randn(400_000, 64, dtype=torch.float64) * (found / math.sqrt(64))
    squares = (weights @ inputs + math.sqrt(found.C_b) * torch.randn(400_000, dtype=torch.float64)).square()
    assert abs(squares.mean() - found.K) < 4 * squares.std() / math.sqrt(len(squares))
    assert 4 * squares.std() / math.sqrt(len(squares)) < 0.01 * found.K  # sharp enough to see C_b missing


@pytest.mark.parametrize("convention", ["forward", "backward"])
def test_an_approximation_of_the_module_is_in_the_error(convention):
    found = st.gain(nn.Softplus(10.0, 14.0), convention)  # linear from 1.4 on, 1e-7 too early to be exact
    exact = st.gain("log(1+exp(10*z))/10", convention)
    assert 0 < abs(found - exact) + found.error < 1e-6 and found.error > 1e-9


@pytest.mark.exhaustive
def test_what_floats_cannot_hold_or_quadrature_cannot_see():
    for convention in ("critical", "forward", "backward", "torch"):
        with pytest.raises(DeclarationError, match="is almost 0 at these preactivations"):
            st.gain("relu(z - 1000)", convention)


def test_an_average_beyond_the_range_of_doubles_is_refused():
    with pytest.raises(DeclarationError, match=r"the gain of exp.*range of doubles"):
        st.gain("exp(20*z)", "forward")


exhaustive = partial(pytest.param, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize(
    ("formula", "convention", "average"),
    [
        ("relu(z - 30)", "backward", mp.ncdf(-30)),  # the tail of the normal law
        *(exhaustive(f"relu(z - {place})", "backward", mp.ncdf(-place)) for place in (10, 15)),
        exhaustive("exp(10*z)", "forward", mp.exp(200)),
        exhaustive("exp(-1e6*z^2)", "forward", 1 / mp.sqrt(4e6 + 1)),
        ("exp(-50*(z-9)^2)", "forward", mp.exp(mp.mpf(-8100) / 201) / mp.sqrt(201)),  # of variance 1/200 at 9
    ],
)
def test_the_quadrature_resolves_what_is_sharp_or_far_out(formula, convention, average):
    """A false CheckRefuted earlier."""
    assert st.gain(formula, convention) == pytest.approx(float(average ** mp.mpf("-0.5")), rel=1e-12)


@pytest.mark.parametrize(
    ("activation", "expected"),
    [("relu", math.sqrt(2 / (1 - 1 / math.pi))), (nn.ELU(), 1.2708434), ("sigmoid", 4.8013134)],
)
def test_weights_of_sum_0_keep_the_kernel_with_the_variance_of_the_activation(activation, expected):
    gain = st.gain(activation, "centred")
    assert float(gain) == pytest.approx(expected, rel=1e-7)
    source = torch.Generator().manual_seed(0)
    module = {"relu": torch.relu, "sigmoid": torch.sigmoid}.get(activation, activation)
    entering = module(torch.randn(500, 400, generator=source))
    weights = torch.randn(400, 400, generator=source) * float(gain) / 20
    weights -= weights.mean(1, keepdim=True)
    assert float((entering @ weights.T).square().mean()) == pytest.approx(gain.next_kernel, rel=0.03)
    assert gain.next_kernel == pytest.approx(1)


@pytest.mark.exhaustive
def test_a_kernel_far_out_is_integrated():
    found = st.gain(lambda x: x * torch.sigmoid(0.01 * x))  # silu's kernel 14.32 in units of beta^-2
    assert found.K == pytest.approx(143201.73618025798, rel=1e-12) and found.error < 1e-12
