"""Averages by quadrature inside of torch.compile and torch.func: an operator that belongs to its module alone."""

import importlib.util
import sys

import pytest
import torch

import symres as sr
from tests.shared import derived

KERNELS = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
COVARIANCES = torch.tensor([0.2, 0.3, 0.4], dtype=torch.float64)
ONE, TENTH = torch.tensor(1.0, dtype=torch.float64), torch.tensor(0.1, dtype=torch.float64)


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, backend="aot_eager", fullgraph=True)


@pytest.fixture(scope="module")
def texts():
    quantities = {name: derived(sr.mlp(name)).covariance_map for name in ("tanh", "silu")}
    return {name: sr.export(quantity, target="torch").text for name, quantity in quantities.items()}


@pytest.fixture
def tanh(texts, tmp_path, monkeypatch):
    """A module as a user imports it."""
    (tmp_path / "maps_of_tanh.py").write_text(texts["tanh"])
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("maps_of_tanh")
    del sys.modules["maps_of_tanh"]


def of_covariance(module):
    return lambda c, k=KERNELS: module.covariance_map(k, 2 * k, c, ONE, TENTH)


def slope(module):
    f, step = of_covariance(module), 1e-6
    return (f(COVARIANCES + step) - f(COVARIANCES - step)) / (2 * step)


def assert_near(found, expected, tolerance=1e-14):
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=0.0)


@pytest.mark.exhaustive
def test_files_of_one_name_have_operators_of_their_own(texts, tmp_path):
    loaded = {}
    for name, text in texts.items():
        path = tmp_path / name / "maps.py"
        path.parent.mkdir()
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("maps", path)
        loaded[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded[name])
    arguments = KERNELS, 2 * KERNELS, COVARIANCES, ONE, TENTH
    values = {name: module.covariance_map(*arguments) for name, module in loaded.items()}
    assert (values["tanh"] - values["silu"]).abs().max() > 0.01
    for name, module in loaded.items():
        assert_near(compiled(module.covariance_map)(*arguments), values[name])


@pytest.mark.exhaustive
def test_texts_that_are_executed_twice_keep_their_functions(texts):
    arguments = KERNELS, 2 * KERNELS, COVARIANCES, ONE, TENTH
    spaces = []
    for name in ("tanh", "silu", "tanh"):
        space = {}
        exec(texts[name], space)
        spaces.append(space)
    found = [compiled(space["covariance_map"])(*arguments) for space in spaces]
    for values, space in zip(found, spaces, strict=True):
        assert_near(values, space["covariance_map"](*arguments))
    assert_near(found[0], found[2])


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", [compiled, lambda f: f], ids=["compiled", "eager"])
def test_derivatives_in_both_modes(tanh, how):
    f = of_covariance(tanh)
    forward = how(lambda c: torch.func.jvp(f, (c,), (torch.ones_like(c),)))(COVARIANCES)
    assert_near(forward[0], f(COVARIANCES))
    assert_near(forward[1], slope(tanh), 1e-8)
    assert_near(how(torch.func.jacfwd(f))(COVARIANCES).diagonal(), slope(tanh), 1e-8)
    assert_near(how(torch.func.jacrev(f))(COVARIANCES).diagonal(), slope(tanh), 1e-8)


@pytest.mark.sample(1)
@pytest.mark.parametrize("how", [compiled, lambda f: f], ids=["compiled", "eager"])
def test_batches(tanh, how):
    f = of_covariance(tanh)
    assert_near(how(torch.vmap(f))(COVARIANCES, KERNELS), f(COVARIANCES))
    assert_near(how(torch.vmap(torch.func.grad(f)))(COVARIANCES, KERNELS), slope(tanh), 1e-8)
    columns = torch.stack([COVARIANCES, COVARIANCES / 2], dim=1)  # batched along another axis
    expected = torch.stack([f(COVARIANCES), f(COVARIANCES / 2)])
    assert_near(how(torch.vmap(f, in_dims=1))(columns), expected)


@pytest.mark.exhaustive
def test_slopes_of_slopes(tanh):
    place = COVARIANCES.clone().requires_grad_(True)
    (first,) = torch.autograd.grad(of_covariance(tanh)(place).sum(), place, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), place)
    f, step = of_covariance(tanh), 1e-4
    assert_near(second, (f(COVARIANCES + step) - 2 * f(COVARIANCES) + f(COVARIANCES - step)) / step**2, 1e-6)
