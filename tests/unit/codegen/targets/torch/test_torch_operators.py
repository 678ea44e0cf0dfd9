"""Averages by quadrature inside of torch.compile and torch.func: an operator that belongs to its module alone.

Closed forms and networks never wait for a GPU, which is seen without one, on tensors that have no data. Whoever asks
for a number of them is refused. Values are computed on tensors that believe to lie on a GPU, which shows copies to it;
gradients and networks on tensors of no device, since PyTorch's engine and its indexing look for one.
"""

import importlib.util
import inspect
import sys

import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

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
@pytest.mark.parametrize("how", [lambda f: f, compiled], ids=["eager", "compiled"])
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


class Copies(TorchDispatchMode):
    """Refuses copies from one device to another that the program waits for."""

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function is torch.ops.aten._to_copy.default and not options.get("non_blocking"):
            assert options.get("device", arguments[0].device) == arguments[0].device, "a copy between devices"
        return function(*arguments, **options)


def on_gpu(run):
    with FakeTensorMode(), Copies(), torch.no_grad():
        run(lambda *shape: torch.rand(shape, dtype=torch.float64, device="cuda"))


def without_data(run):
    run(lambda *shape: torch.rand(shape, dtype=torch.float64, device="meta", requires_grad=True))


def value_and_gradients(function, *tensors, **numbers):
    found = function(*tensors, **numbers)
    if tensors[0].requires_grad:
        sum(a.sum() for a in (found if isinstance(found, tuple) else (found,))).backward()


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["gelu", "relu", "erf", "sin", "abs", "cos", "hard_sigmoid"])
def test_closed_forms(name):
    module = sr.export(derived(name).covariance_map, "torch").load()
    numbers = dict.fromkeys(list(inspect.signature(module.covariance_map).parameters)[3:], 0.5)
    for place in (on_gpu, without_data):
        place(lambda new: value_and_gradients(module.covariance_map, new(4, 1), new(4), new(4, 4), **numbers))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["relu", "gelu", "erf", "sin"])
def test_networks(name):
    module = sr.export(derived(name).network(2), "torch").load()
    without_data(lambda new: value_and_gradients(module.dual_kernel_matrix, new(4, 3), new(2, 3), C_W=1.5, C_b=0.1))
    without_data(lambda new: value_and_gradients(module.dual_kernel, new(4, 1), new(4), new(4, 4), C_W=1.5, C_b=0.1))


@pytest.mark.parametrize(
    "wait", [lambda a: torch.tensor(1.0, device=a.device), lambda a: bool((a > 0.5).any()), lambda a: a.nonzero()]
)
def test_what_waits_is_seen(wait):
    with pytest.raises((AssertionError, DataDependentOutputException, RuntimeError)):
        on_gpu(lambda new: wait(new(3)))
