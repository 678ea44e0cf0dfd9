"""Generated PyTorch modules under torch.compile, in one graph: the same numbers and gradients as without it."""

import inspect
import pickle
import sys

import numpy as np
import pytest
import torch

import symres as sr
from symres.report.export import export
from tests.shared import Lazily, derived

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
    return Lazily(lambda name: export(derived(name), "torch").load())


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
    torch._dynamo.reset()
    module = loaded[name]
    for function in (getattr(module, name) for name in module.__all__):
        compiled = torch.compile(function, fullgraph=True, backend=backend)
        for found, expected in zip(value_and_gradients(compiled), value_and_gradients(function), strict=True):
            if expected is not None:
                torch.testing.assert_close(found, expected, rtol=0.0, atol=0.0, equal_nan=True)


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_compile_in_one_graph_and_know_equal_and_nearly_parallel_inputs(name):
    torch._dynamo.reset()
    function = export(derived(name).network(2), "torch").load().dual_kernel_matrix
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
    module = export(sr.derive("relu"), "torch")
    first, second = module.load(), module.load()
    assert first is not second and first.__name__ != second.__name__
    for one in (first, second):
        assert one.__name__.isidentifier()
        assert sys.modules[one.__name__] is one
        assert pickle.loads(pickle.dumps(one.kernel_map)) is one.kernel_map
    other = export({"f": sr.expect("tanh(z)**2")}).load()
    assert other.__name__ not in (first.__name__, second.__name__)
    assert np.isclose(other.f(1.0), loaded["tanh"].phi_squared(1.0), rtol=1e-14, atol=0.0)


def test_a_text_that_does_not_run_leaves_no_module_behind():
    before = set(sys.modules)
    broken = sr.export(sr.expect("relu")).__class__("broken", "numpy", "raise ValueError")
    with pytest.raises(ValueError):
        broken.load()
    assert not any("broken" in name for name in set(sys.modules) - before)
