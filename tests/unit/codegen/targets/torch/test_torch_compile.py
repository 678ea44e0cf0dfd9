"""Generated PyTorch modules under torch.compile, in one graph; closed forms that are mended where terms cancel."""

import inspect
import pickle
import sys

import numpy as np
import pytest
import torch

import symres as sr
from symres.codegen import targets
from tests.shared import Lazily, derived, runtime

ACTIVATIONS = (
    *("relu", "gelu", "erf", "sin"),  # closed forms
    *("leaky_relu", "scale_invariant"),  # mended by averages where terms cancel
    *("tanh", "silu", "swish"),  # series
    *("elu", "hard_tanh"),  # averages of functions with kinks
    *("step", "sign"),
)
NETWORKS = ("relu", "tanh", "elu", "erf", "leaky_relu", "step")
KERNELS = (0.0, 0.5, 1.0, 1.0, float("nan"), 2.0, -1.0)
COVARIANCES = (0.0, 0.25, 1.0, 0.3, 0.1, -2.0, 0.0)
PARAMETERS = {"slope": 1e-6, "alpha": 0.7, "beta": 1.3}


@pytest.fixture(scope="module")
def loaded():
    return Lazily(lambda name: sr.export(derived(name), "torch").load())


def arguments(function):
    names = inspect.signature(function).parameters
    values = {"C": COVARIANCES, "Theta": COVARIANCES, **PARAMETERS}
    return {n: torch.tensor(values.get(n, KERNELS), dtype=torch.float64, requires_grad=True) for n in names}


def value_and_gradients(function):
    given = arguments(inspect.unwrap(function))
    value = function(**given)
    (2.0 * value.nan_to_num()).sum().backward()
    return [value.detach(), *(a.grad for a in given.values())]


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", ["aot_eager", "eager"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_function_compiles_in_one_graph_and_has_the_same_numbers(loaded, name, backend):
    """To the last digit, but for fixed sums: compiled ones take the longer rule for easy entries too."""
    torch._dynamo.reset()
    module = loaded[name]
    rounding = 1e-15 if hasattr(module, "_fixed_sum") else 0.0
    for function in (getattr(module, name) for name in module.__all__):
        compiled = torch.compile(function, fullgraph=True, backend=backend)
        for found, expected in zip(value_and_gradients(compiled), value_and_gradients(function), strict=True):
            if expected is not None:
                torch.testing.assert_close(found, expected, rtol=rounding, atol=rounding, equal_nan=True)


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_compile_in_one_graph_and_know_equal_and_nearly_parallel_inputs(name):
    torch._dynamo.reset()
    function = sr.export(derived(name).network(2), "torch").load().dual_kernel_matrix
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    layer = {"C_W": 1.5, "C_b": 0.1} | {
        p: v for p, v in PARAMETERS.items() if p in inspect.signature(function).parameters
    }
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 3)))
    X[3], X[5] = X[1], X[2] * (1.0 + 1e-9)
    for given in ((X,), (X, X[1:4])):
        for found, expected in zip(compiled(*given, **layer), function(*given, **layer), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-14, atol=0.0)
    C, _ = compiled(X, **layer)
    assert C[1, 3] == C[1, 1] == C[3, 3]


@pytest.mark.exhaustive
def test_compiled_quadrature_is_not_tied_to_the_number_of_nodes(loaded):
    """Kernels for which there are other nodes than for those that it was compiled with."""
    function = loaded["tanh"].covariance_map
    compiled = torch.compile(function, fullgraph=True, backend="eager")
    for size in (1e-6, 1.0, 1e3):
        given = [torch.tensor(size * k, dtype=torch.float64) for k in (1.0, 2.0, 0.7)]
        assert compiled(*given, 1.5, 0.1) == function(*given, 1.5, 0.1)


@pytest.mark.exhaustive
def test_loaded_modules_are_kept_under_names_of_their_own(loaded):
    module = sr.export(sr.derive("relu"), "torch")
    first, second = module.load(), module.load()
    assert first is not second and first.__name__ != second.__name__
    for one in (first, second):
        assert one.__name__.isidentifier()
        assert sys.modules[one.__name__] is one
        assert pickle.loads(pickle.dumps(one.kernel_map)) is one.kernel_map
    other = sr.export({"f": sr.expect("tanh(z)**2")}).load()
    assert other.__name__ not in (first.__name__, second.__name__)
    assert np.isclose(other.f(1.0), loaded["tanh"].phi_squared(1.0), rtol=1e-14, atol=0.0)


def test_a_text_that_does_not_run_leaves_no_module_behind():
    before = set(sys.modules)
    broken = sr.export(sr.expect("relu")).__class__("broken", "numpy", "raise ValueError")
    with pytest.raises(ValueError):
        broken.load()
    assert not any("broken" in name for name in set(sys.modules) - before)


MODULE = """
def difference(a, b):
    return (a + 1.0) - (1.0 + b)

def doubt(a, b):
    return 4.0 * (1.0 + torch.abs(a) + torch.abs(b))

def rule(a, b):
    seen.append(a.shape[0])
    return a - b

def one(a, b):
    return torch.ones_like(a)

def minus_one(a, b):
    return -torch.ones_like(a)

def open_(a, b):
    return _flat(rule, 64, a, b)

def open_da(a, b):
    return _flat(one, 64, a, b)

def open_db(a, b):
    return _flat(minus_one, 64, a, b)

def mended(a, b):
    return _mended(difference, doubt, open_, (open_da, open_db), a, b)
"""
FIRST = torch.tensor([0.5, 1e-7, 3.0, 2e-9], dtype=torch.float64)
SECOND = torch.tensor([0.2, 0.7e-7, 2.0, 1e-9], dtype=torch.float64)
IN_DOUBT = 2


@pytest.fixture
def module():
    target = targets.find("torch")
    space = runtime(target, MODULE)
    exec(target.finished(MODULE), space)
    return space | {"seen": space.setdefault("seen", [])}


def given():
    return FIRST.clone().requires_grad_(), SECOND.clone().requires_grad_()


def test_entries_in_doubt_alone_are_computed_otherwise(module):
    a, b = given()
    value = module["mended"](a, b)
    assert sum(module["seen"]) == IN_DOUBT
    assert ((value - (FIRST - SECOND)).abs() <= 1e-15 * (FIRST - SECOND).abs())[1::2].all()
    assert torch.equal(value[::2], module["difference"](FIRST, SECOND)[::2])
    assert [g.tolist() for g in torch.autograd.grad(value.sum(), (a, b))] == [[1.0] * 4, [-1.0] * 4]


def test_batches(module):
    slope = torch.func.vmap(torch.func.grad(lambda a, b: 3.0 * module["mended"](a, b)))
    assert slope(FIRST, SECOND).tolist() == [3.0] * 4


def test_second_derivatives_are_those_of_the_closed_form_or_an_error(module):
    a, b = given()
    (slope,) = torch.autograd.grad(module["mended"](a, b).sum(), a, create_graph=True)
    with pytest.raises(NotImplementedError, match="first derivatives only"):
        torch.autograd.grad(slope.sum(), a)
    apart = FIRST[::2].clone().requires_grad_()
    product = module["mended"](apart, SECOND[::2]) * apart
    (slope,) = torch.autograd.grad(product.sum(), apart, create_graph=True)
    assert torch.autograd.grad(slope.sum(), apart)[0].tolist() == [2.0, 2.0]


@pytest.mark.exhaustive
def test_functions_of_many_arguments_have_derivatives_in_one_graph():
    torch._dynamo.reset()
    space = runtime(targets.find("torch"), "_sloped")

    def total(*arguments):
        return sum(n * a for n, a in enumerate(arguments))

    def slope(*arguments):
        return 7.0 * arguments[0]

    def function(*arguments):
        return space["_sloped"](total, (slope,) * len(arguments), *arguments)

    arguments = [torch.tensor(1.0 + n, dtype=torch.float64, requires_grad=True) for n in range(20)]
    for f in (function, torch.compile(function, fullgraph=True, backend="aot_eager")):
        assert all(g == 7.0 for g in torch.autograd.grad(f(*arguments), arguments))
        assert f(*(a.detach() for a in arguments)) == total(*arguments)
