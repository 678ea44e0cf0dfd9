"""Functions of one kernel that are tiny at small kernels: digits, sign, iteration, and warnings where digits lack."""

import sys

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.codegen.module import Module
from symres.core.symbols import K, z
from symres.results.quantity import Quantity, Status
from tests.command_line import run
from tests.oracles.average import average_of
from tests.shared import Lazily, derived

DEAD = {
    "softshrink": sp.Piecewise((z - 1, z > 1), (z + 1, z < -1), (0, True)),
    "one_sided": sp.Max(0, z - 1),
    "hard_shrink": sp.Piecewise((z, sp.Abs(z) > 1), (0, True)),
    "smooth_end": sp.tanh(sp.Max(0, z - 1)),
}
PLACES = [1e-3, 1.3e-3, 4e-3, 0.01, 0.07, 0.4, 1.0, 9.0, 1e2, 1e4]


def average(name, k):
    """<phi(z)**2> by mpmath in 30 digits, relative to its value."""
    with mp.workdps(60):
        k = mp.mpf(k)
        tail, bell = mp.erfc(1 / mp.sqrt(2 * k)), mp.sqrt(2 * k / mp.pi) * mp.exp(-1 / (2 * k))
        closed = {
            "softshrink": (k + 1) * tail - bell,
            "one_sided": ((k + 1) * tail - bell) / 2,
            "hard_shrink": k * tail + bell,
        }
        if name in closed:
            return closed[name]
    with mp.workdps(30):
        step = min(mp.sqrt(k), k)  # over which the law falls at z = 1
        ends = [1 + step * t for t in (0, 1, 4, 12, 30, 80)] + [1 + 80 * step + 20 * mp.sqrt(k)]
        law = mp.exp(-1 / (2 * k)) / mp.sqrt(2 * mp.pi * k)
        return law * mp.quad(lambda x: mp.tanh(x - 1) ** 2 * mp.exp((1 - x * x) / (2 * k)), ends)


@pytest.fixture(scope="module")
def maps():
    return Lazily(lambda name: derived(sr.mlp(sr.activation(DEAD[name]))).kernel_map)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DEAD)
def test_the_kernel_of_a_dead_zone_has_its_digits_however_small(maps, name):
    module = sr.export(maps[name])
    found = module.load().kernel_map(np.array(PLACES), 1.0, 0.0)
    exact = [float(average(name, k)) for k in PLACES]
    assert exact[0] < 1e-200
    np.testing.assert_allclose(found, exact, rtol=3e-13)
    assert not module.warnings


@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("name", DEAD)
def test_no_kernel_is_negative_and_iterations_have_no_nan(maps, name, target):
    f = sr.export(maps[name], target).load().kernel_map
    array = np.array if target == "numpy" else torch.tensor
    k = array([0.0, 1e-300, 1e-30, 1e-8, *np.geomspace(1e-5, 1e8, 400)])
    with np.errstate(all="raise", under="ignore"):
        for _ in range(50):
            k = f(k, 1.7, 0.0)
            assert (k >= 0).all()
            k = f((k**0.5) ** 2, 1.7, 0.0)


@pytest.mark.exhaustive
def test_the_susceptibilities_of_a_dead_zone_exist_at_tiny_kernels():
    theory = sr.derive(sr.mlp(sr.activation(DEAD["softshrink"])))
    for target, array in (("numpy", np.array), ("torch", torch.tensor)):
        module = sr.export(theory, target).load()
        for name in ("chi_parallel", "chi_perp", "h"):
            found = getattr(module, name)(array([0.0, 1e-300, 1e-120, 1e-30, 1e-5]), 1.0)
            assert (found == 0.0).all()


def test_gradients_of_a_dead_zone_are_the_slope(maps):
    f = sr.export(maps["softshrink"], "torch").load().kernel_map
    k = torch.tensor([0.0, 1e-300, 1e-4, 0.01, 0.3, 50.0], dtype=torch.float64, requires_grad=True)
    f(k, 1.0, 0.0).sum().backward()
    exact = [0.0, 0.0, 0.0, *(float(mp.erfc(1 / mp.sqrt(2 * mp.mpf(x)))) for x in (0.01, 0.3, 50.0))]
    np.testing.assert_allclose(k.grad, exact, rtol=1e-11)


@pytest.mark.exhaustive
def test_a_high_power_has_its_digits_at_both_ends():
    module = sr.export(sr.derive(sr.mlp(sr.activation("tanh(z)^9"))).kernel_map)
    f = module.load().kernel_map
    assert not module.warnings
    for k in (1e-8, 1e-3, 0.2, 5.0, 1e3):
        size = min(k, 1)  # digits of the average are those after the point
        exact = float(average_of(lambda x, c=size: mp.tanh(x) ** 18 / mp.mpf(c) ** 9, k)) * size**9
        assert f(k, 1.0, 0.0) == pytest.approx(float(exact), rel=1e-14, abs=0)
    assert f(1e-20, 1.0, 0.0) == pytest.approx(34459425e-180, rel=1e-13, abs=0)  # 17!! K**9
    assert f(1e300, 1.0, 0.0) == pytest.approx(1.0, rel=1e-15)


CANCELLING = {  # closed forms whose error functions cancel to hundreds of digits
    "relu(z-1)-2*relu(-z-3)": lambda k: _half(1, k) + 4 * _half(3, k),
    "relu(z-10)-relu(z-11)": lambda k: _half(10, k) - _half(11, k) - mp.sqrt(k) * 2 * _first(11, k),
    "step(z-1)-step(-z-2)": lambda k: (mp.erfc(1 / mp.sqrt(2 * k)) + mp.erfc(2 / mp.sqrt(2 * k))) / 2,
}


def _half(b, k):
    """<relu(z - b)^2>."""
    return (k + b * b) * mp.erfc(b / mp.sqrt(2 * k)) / 2 - b * mp.sqrt(k / (2 * mp.pi)) * mp.exp(-b * b / (2 * k))


def _first(b, k):
    """<relu(z - b)> over the deviation."""
    return mp.npdf(b / mp.sqrt(k)) - b / mp.sqrt(k) * mp.erfc(b / mp.sqrt(2 * k)) / 2


@pytest.mark.sample(2)
@pytest.mark.parametrize("formula", CANCELLING)
def test_kernels_whose_error_functions_cancel_have_their_digits(formula):
    module = sr.export(sr.derive(sr.mlp(sr.activation(formula))).kernel_map)
    assert not module.warnings
    f = module.load().kernel_map
    for k in (1e-3, 0.01, 0.07, 0.3, 1.0, 30.0):
        with mp.workdps(800):
            exact = float(CANCELLING[formula](mp.mpf(k)))
        assert f(k, 1.0, 0.0) == pytest.approx(exact, rel=1e-12, abs=1e-307)
    assert f(1.0, 1.0, 0.0) > 0


# ---- where digits lack -------------------------------------------------------------------------------------------
def slowly():
    """A function that vanishes like exp(-1/sqrt(K)) and whose formula cancels: neither code nor fit has its digits."""
    body = sp.exp(-1 / sp.sqrt(K)) * (sp.cbrt(1 + K**2) - 1)
    return Quantity("kernel_map", (K,), body, body, Status.EXACT)


@pytest.mark.exhaustive
def test_values_without_digits_are_announced_in_the_module_and_stay_positive():
    for target in ("numpy", "torch"):
        module = sr.export(slowly(), target)
        (warning,) = module.warnings
        assert warning.startswith("kernel_map: _average_1 is inaccurate: fewer than 6 digits for K in 1.5e-08..")
        assert "of the largest value" in warning
        assert f"Warning: {warning.removeprefix('kernel_map: ')}" in " ".join(module.text.split())
        k = np.geomspace(1e-8, 1e6, 500)
        found = np.asarray(module.load().kernel_map(k if target == "numpy" else torch.tensor(k)))
        assert (found >= 0).all()
        exact = np.exp(-1 / np.sqrt(k)) * np.expm1(np.log1p(k**2) / 3)
        np.testing.assert_allclose(found[k > 1], exact[k > 1], rtol=1e-12)


def test_the_command_line_warns_on_standard_error(capsys, monkeypatch):
    module = Module("kernel_map", "numpy", "text = 1\n", (), ("kernel_map: _average_1 is inaccurate: so much.",))
    monkeypatch.setattr(sys.modules["symres.report.export"], "export", lambda *_, **__: module)
    code, out, err = run(capsys, "export", "relu", "--quantity", "kernel_map")
    assert (code, out) == (0, "text = 1\n")
    assert err == "symres: warning: kernel_map: _average_1 is inaccurate: so much.\n"
