"""Gains against quadrature by mpmath of formulas written here; no code of symres computes an expected number."""

import math
from functools import cache

import mpmath as mp
import pytest
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from tests.oracles.average import average_of

SCALE, ALPHA = mp.mpf("1.0507009873554804934193349852946"), mp.mpf("1.6732632423543772848170429916717")


def _sigmoid(z):
    return 1 / (1 + mp.exp(-z))


def _mish_slope(z):
    t = mp.tanh(mp.log1p(mp.exp(z)))
    return t + z * _sigmoid(z) * (1 - t**2)


# module, phi, its derivative, breakpoints: by hand
FUNCTIONS = {
    "identity": (nn.Identity(), lambda z: z, lambda z: 1, ()),
    "relu": (nn.ReLU(), lambda z: max(z, 0), lambda z: z > 0, (0,)),
    "leaky": (nn.LeakyReLU(0.2), lambda z: max(z, z / 5), lambda z: 1 if z > 0 else mp.mpf(1) / 5, (0,)),
    "tanh": (nn.Tanh(), mp.tanh, lambda z: mp.sech(z) ** 2, ()),
    "sigmoid": (nn.Sigmoid(), _sigmoid, lambda z: _sigmoid(z) * _sigmoid(-z), ()),
    "selu": (
        nn.SELU(),
        lambda z: SCALE * (z if z > 0 else ALPHA * mp.expm1(z)),
        lambda z: SCALE * (1 if z > 0 else ALPHA * mp.exp(z)),
        (0,),
    ),
    "gelu": (nn.GELU(), lambda z: z * mp.ncdf(z), lambda z: mp.ncdf(z) + z * mp.npdf(z), ()),
    "silu": (nn.SiLU(), lambda z: z * _sigmoid(z), lambda z: _sigmoid(z) * (1 + z * _sigmoid(-z)), ()),
    "mish": (nn.Mish(), lambda z: z * mp.tanh(mp.log1p(mp.exp(z))), _mish_slope, ()),
    "softplus": (nn.Softplus(), lambda z: mp.log1p(mp.exp(z)), _sigmoid, ()),
    "elu": (nn.ELU(), lambda z: z if z > 0 else mp.expm1(z), lambda z: 1 if z > 0 else mp.exp(z), (0,)),
    "hardswish": (
        nn.Hardswish(),
        lambda z: z * min(max(z + 3, 0), 6) / 6,
        lambda z: 0 if z < -3 else 1 if z > 3 else (2 * z + 3) / 6,
        (-3, 3),
    ),
}
TABLE = {
    "identity": 1.0,
    "relu": math.sqrt(2),
    "leaky": math.sqrt(2 / 1.04),
    "tanh": 5 / 3,
    "sigmoid": 1.0,
    "selu": 0.75,
}
NONE = {"sigmoid", "softplus"}  # no point with K' = K and both susceptibilities 1
SCALE_FREE = {"identity", "relu", "leaky"}
AT_ZERO = {"tanh", "selu", "elu"}
HALF_STABLE = {"gelu": "above", "silu": "below", "mish": "below", "hardswish": "below"}


@cache
def gain(name, convention):
    return st.gain(FUNCTIONS[name][0], convention)


@cache
def averages(name, kernel):
    """<phi^2>, <phi'^2> and d<phi^2>/dK over N(0, kernel); panels end where the function breaks."""
    _, phi, slope, breaks = FUNCTIONS[name]
    growth = lambda z: phi(z) ** 2 * (z**2 / mp.mpf(kernel) - 1) / (2 * mp.mpf(kernel))  # noqa: E731
    integrands = (lambda z: phi(z) ** 2, lambda z: slope(z) ** 2, growth)
    return [average_of(f, kernel, breaks) for f in integrands]


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_forward_and_backward_gains(name):
    squared, slope, growth = averages(name, 1.0)
    forward, backward = gain(name, "forward"), gain(name, "backward")
    assert forward == pytest.approx(float(1 / mp.sqrt(squared)), rel=1e-12)
    assert backward == pytest.approx(float(1 / mp.sqrt(slope)), rel=1e-12)
    assert forward.C_W == pytest.approx(float(1 / squared), rel=1e-12)
    assert forward.chi_perp == pytest.approx(float(slope / squared), rel=1e-12)
    assert forward.chi_parallel == pytest.approx(float(growth / squared), rel=1e-12)
    assert backward.next_kernel == pytest.approx(float(squared / slope), rel=1e-12)
    for found in (forward, backward):
        assert (found.K, found.C_b) == (1, 0)
        assert found.inputs_kernel == pytest.approx(1 / found.C_W)
        assert 0 <= found.error < 1e-7 * found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_torch_gains(name):
    found = gain(name, "torch")
    squared, slope, _ = averages(name, 1.0)
    rule = float(1 / mp.sqrt(squared))
    assert found == pytest.approx(TABLE.get(name, rule), rel=1e-12)
    assert found.next_kernel == pytest.approx(found**2 * float(squared), rel=1e-12)
    assert found.chi_perp == pytest.approx(found**2 * float(slope), rel=1e-12)
    assert ("It is right" in found.why) == (name in SCALE_FREE)
    assert ("has no entry" in found.why) == (name not in TABLE)
    if name in TABLE and name not in SCALE_FREE:
        assert "It is none of the gains that symres derives" in found.why
        assert f"{rule:.9g} keeps the kernel at K = 1" in found.why
        assert f"{float(1 / mp.sqrt(slope)):.9g} keeps gradients there" in found.why


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in NONE])
def test_critical_gains(name):
    found = gain(name, "critical")
    assert float(found) == pytest.approx(math.sqrt(found.C_W), rel=1e-14)
    kernel = found.K or 1e-14
    squared, slope, growth = averages(name, kernel)
    near = 1e-6 if found.K == 0 else 1e-12  # the limit K -> 0 is reached like sqrt(K) at a kink
    assert float(found.C_W * slope) == pytest.approx(1, rel=near)
    assert float(found.C_W * growth) == pytest.approx(1, rel=near)
    assert float(found.C_b + found.C_W * squared) == pytest.approx(kernel, rel=near)
    assert found.inputs_kernel == pytest.approx((found.K - found.C_b) / found.C_W, rel=1e-14)
    assert found.C_b >= 0 and 0 <= found.error < 1e-7 * found
    assert found.stability == ("neutral" if name in SCALE_FREE else "stable" if name in AT_ZERO else "half-stable")
    if name in HALF_STABLE:
        assert f"half-stable: it attracts nearby kernels from {HALF_STABLE[name]}" in found.why
    assert ("for deep networks ask theory.advice" in found.why) == (name in HALF_STABLE)


def test_critical_gains_in_closed_form():
    assert gain("tanh", "critical") == 1 and gain("elu", "critical") == 1
    assert gain("gelu", "critical").K == pytest.approx((3 + math.sqrt(17)) / 2, rel=1e-15)
    mean_of_slopes = (1 + ALPHA**2) / 2  # of both squared ones at 0
    assert gain("selu", "critical") == pytest.approx(float(1 / (SCALE * mp.sqrt(mean_of_slopes))), rel=1e-14)


@pytest.mark.parametrize("name", sorted(NONE))
def test_no_critical_gain(name):
    with pytest.raises(DeclarationError) as caught:
        gain(name, "critical")
    assert "K* = 0 is not a fixed point" in caught.value.found
    assert caught.value.remedy == "ask for convention='forward' or convention='backward'"
