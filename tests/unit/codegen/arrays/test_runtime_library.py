"""Run-time functions: definitions of one name are alike, numbers and roundings right, and threads given back.

Averages of signs in generated modules are compared with their balls: values and gradients.
"""

import ast
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier, get_ident

import jax
import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch
from flint import arb, ctx
from threadpoolctl import ThreadpoolController

import symres as sr
from symres.codegen import targets
from symres.codegen.arrays.array_target import FEATURE_ROWS, HERMITE, SEARCHES, SHARED, SLOPED
from symres.codegen.arrays.feature_rows import single_blas
from symres.codegen.arrays.feature_rows.kernels_of_rows import _kernels_of_rows
from symres.codegen.arrays.runtime import gauss_legendre
from symres.codegen.arrays.runtime_library import RuntimeLibrary
from symres.codegen.planning.network_plan import INPUTS
from symres.codegen.targets.c import binding
from symres.codegen.targets.jax import TARGET as JAX
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.codegen.targets.torch import TARGET as TORCH
from symres.core.errors import SymresError
from symres.core.symbols import K1, K2, C
from symres.functions.records.gaussian_signs import Q2, S2, S4, T4
from symres.numerics.plackett import four_signs, two_signs, two_tails
from symres.results.quantity import Quantity, Status
from tests.shared import runtime


@pytest.mark.parametrize(
    "text", ["for x in (1, 2):\n    pass\n", "a = b = 1\n", "def f(): ...\n\n\ndef _alone(): ...\n"]
)
def test_what_is_no_definition_of_one_name_is_refused(tmp_path, text):
    (tmp_path / "a_file.py").write_text("def _alone(x): ...\n")
    (tmp_path / "b_file.py").write_text(text)
    with pytest.raises(SymresError, match=r"it is not a definition of one name|_alone is defined twice"):
        RuntimeLibrary.read(tmp_path)


@pytest.mark.parametrize("target", [NUMPY, TORCH], ids=lambda target: target.name)
def test_definitions_of_one_name_take_the_same_arguments(target):
    """A target's own function replaces the shared one wherever that is called."""

    def arguments(text):
        node = ast.parse(text).body[0]
        return [a.arg for a in node.args.args] if isinstance(node, ast.FunctionDef) else None

    shared = RuntimeLibrary.read(SHARED, SEARCHES).texts
    changed = {name for name, text in target.runtime.texts.items() if shared.get(name, text) != text}
    assert changed
    for name in changed:
        assert arguments(target.runtime.texts[name]) == arguments(shared[name]), name


@pytest.mark.parametrize("target", [NUMPY, TORCH, JAX], ids=lambda target: target.name)
def test_the_search_of_the_theory_stands_in_modules_as_it_is(target):
    """Its definitions take the place of no other, and no other takes theirs."""
    search = RuntimeLibrary.read(SEARCHES).texts
    assert search.items() <= target.runtime.texts.items()
    others = [SHARED, HERMITE, SLOPED, FEATURE_ROWS, *Path(targets.__file__).parent.glob("*/runtime")]
    assert not search.keys() & {name for place in others for name in RuntimeLibrary.read(place).texts}


def test_generating_for_pytorch_does_not_import_it():
    code = "import sys; sys.modules['torch'] = None; import symres as sr; print(sr.export(sr.expect('relu'), 'torch'))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "import torch" in out and "as PyTorch was not installed" in " ".join(out.split())


# ---- the functions themselves ------------------------------------------------------------------------------------
def test_nodes_and_weights_are_correctly_rounded():
    nodes, weights, count = gauss_legendre._GAUSS_NODES, gauss_legendre._GAUSS_WEIGHTS, 40
    assert len(nodes) == len(weights) == count
    with mp.workdps(40):
        for node, weight in zip(nodes, weights, strict=True):
            x = mp.findroot(lambda y: mp.legendre(count, y), 2 * mp.mpf(node) - 1)
            slope = count * (mp.legendre(count - 1, x) - x * mp.legendre(count, x)) / (1 - x * x)
            assert node == float((1 + x) / 2)
            assert weight == float(1 / ((1 - x * x) * slope**2))


BLAS = ThreadpoolController().select(user_api="blas")


def threads():
    return {library.num_threads for library in BLAS.lib_controllers}


@pytest.fixture
def two_threads():
    with BLAS.limit(limits=2):
        yield


def test_blas_has_its_threads_back_when_the_last_context_ends(two_threads):
    with ExitStack() as second:
        with single_blas._single_blas() as free:
            assert free == 2 and threads() == {1}
            assert second.enter_context(single_blas._single_blas()) == 1
        assert threads() == {1}
    assert threads() == {2}


def test_errors_end_it_too(two_threads):
    with pytest.raises(ValueError), single_blas._single_blas():
        _kernels_of_rows(np.ones((2, 0)), None, np.dtype(float))
    assert threads() == {2}


def test_networks_multiply_features_so(two_threads, monkeypatch):
    class Nothing:
        def of_arrays(self, name):
            return lambda *arguments: 0

    def seen(X1, X2, kind, each):
        assert threads() == {1}
        assert len(set(each(lambda _: (meeting.wait(10), get_ident())[1], range(2)))) == 2
        return _kernels_of_rows(X1, X2, kind, each)

    meeting = Barrier(2)
    monkeypatch.setattr(single_blas, "_kernels_of_rows", seen)
    binding.network_of(Nothing(), (), 1, INPUTS)["dual_kernel_matrix"](np.ones((3, 2)))
    assert threads() == {2} and not meeting.broken


@pytest.mark.parametrize("others", [None, 130])
def test_blocks_in_any_order_are_the_product(others):
    rng = np.random.default_rng(0)
    X1, X2 = rng.standard_normal((300, 7)), None if others is None else rng.standard_normal((others, 7))
    backwards = _kernels_of_rows(X1, X2, np.dtype(float), lambda function, blocks: map(function, reversed(blocks)))
    whole, part = X1 @ (X1 if X2 is None else X2).T / 7, np.triu if X2 is None else np.asarray
    np.testing.assert_allclose(part(backwards[2]), part(whole), rtol=0, atol=1e-14)


GENERATOR = np.random.default_rng(1)


def space(target, *names):
    found = runtime(target, *names)
    return [found[name] for name in names]


def corners(count):
    """Thresholds of all sizes, many alike, and legs of angles near 0 and pi."""
    h, k = GENERATOR.choice([-1, 1], (2, count)) * 10 ** GENERATOR.uniform(-9, 1.6, (2, count))
    alike = GENERATOR.random(count) < 0.4
    k[alike] = (h * (1 + 10 ** GENERATOR.uniform(-12, 0, count)))[alike]
    k[::17] = h[::17]
    k[::19] = -h[::19]
    k[::23] = 0.0
    y = 10 ** GENERATOR.uniform(-8, 4, count)
    return h, k, y * GENERATOR.choice([-1, 1], count) * 10 ** GENERATOR.uniform(-6, 6, count), y


def balls(function, *columns):
    with ctx.workprec(160):
        return np.array([float(function(*(arb(float(v)) for v in row)).mid()) for row in zip(*columns, strict=True)])


def with_legs(function):
    return lambda h, k, x, y: function(h, k, x / (x * x + y * y).sqrt())


@pytest.mark.exhaustive
def test_two_signs_and_tails_have_all_their_digits():
    signs, tails = space(NUMPY, "_two_signs", "_two_tails")
    columns = corners(400)
    np.testing.assert_allclose(signs(*columns), balls(with_legs(two_signs), *columns), rtol=0, atol=1e-15)
    np.testing.assert_allclose(tails(*columns), balls(with_legs(two_tails), *columns), rtol=0, atol=5e-16)


@pytest.mark.parametrize("target", [NUMPY, TORCH], ids=lambda target: target.name)
def test_both_thresholds_at_zero(target):
    """The corner is at the origin then: 2*asin(r)/pi and 1/4 + asin(r)/(2*pi), for correlations near 1 and -1 too."""
    signs, tails = space(target, "_two_signs", "_two_tails")
    made = np.asarray if target is NUMPY else torch.tensor
    x, y = np.array([0.1, 1.0, 3.0, -3.0, 1e6, -1e6]), np.array([2.0, 1.0, 0.5, 0.5, 1e-3, 1e-3])
    angle = np.arctan2(x, y)
    for h in (0.0, -0.0, 1e-300):
        places = np.full(6, h)
        columns = [made(v) for v in (places, places, x, y)]
        np.testing.assert_allclose(np.asarray(signs(*columns)), 2 * angle / np.pi, rtol=0, atol=5e-16)
        np.testing.assert_allclose(np.asarray(tails(*columns)), 0.25 + angle / (2 * np.pi), rtol=0, atol=5e-16)


def test_small_averages_of_two_signs_keep_their_digits():
    (signs,) = space(NUMPY, "_two_signs")
    h, k, x, y = corners(600)
    x = y * np.sign(x) * 10 ** GENERATOR.uniform(-9, 0, 600)
    h, k = np.clip(h, -0.5, 0.5), np.clip(k, -0.5, 0.5)
    exact = balls(with_legs(two_signs), h, k, x, y)
    angle = np.abs(np.arctan2(x, y))  # what the derivative in the correlation times the correlation is of the order of
    assert (np.abs(signs(h, k, x, y) - exact) <= 2e-15 * np.maximum(np.abs(exact), angle)).all()


@pytest.mark.exhaustive
def test_tails_far_out_keep_their_digits():
    (tails,) = space(NUMPY, "_two_tails")
    h, k, x, y = corners(400)
    h, k = np.minimum(np.abs(h), 25), np.minimum(np.abs(k), 25)
    exact = balls(with_legs(two_tails), h, k, x, y)
    some = exact > 1e-250
    size = np.maximum(1.0, (h * h + k * k)[some]) * (1 + np.abs(x / y)[some] * (x < 0)[some])  # of the exponent
    assert some.sum() > 200
    assert (
        np.abs(tails(h, k, x, y)[some] / exact[some] - 1) < 1e-14 * np.maximum(1, -np.log(exact[some])) * size
    ).all()


def correlations(count):
    out = []
    while len(out) < count:
        rows = GENERATOR.standard_normal((4, 6))
        matrix = rows @ rows.T
        size = np.sqrt(np.diag(matrix))
        out.append((matrix / np.outer(size, size))[np.triu_indices(4, 1)])
    return np.array(out).T


def test_four_signs():
    four, equal = space(NUMPY, "_four_signs", "_equal_signs")
    r = correlations(60)
    np.testing.assert_allclose(four(*r), balls(lambda *v: four_signs(v), *r), rtol=0, atol=1e-13)
    r = np.linspace(-0.33, 1.0, 40)
    np.testing.assert_allclose(equal(r), balls(lambda v: four_signs((v,) * 6), r), rtol=2e-15, atol=0)


def test_gradients_in_torch():
    signs, tails, four, equal, alike = space(TORCH, "_two_signs", "_two_tails", "_four_signs", "_equal_signs", "_alike")

    def tensors(*columns):
        return [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in columns]

    plane = tensors([0.3, -0.7, 1.5, 0.0], [0.8, 0.9, -1.1, 0.6], [0.5, -0.4, 2.0, 1.0], [1.0, 0.3, 0.7, 0.2])
    for function in (signs, tails):
        assert torch.autograd.gradcheck(function, plane)
        assert torch.autograd.gradgradcheck(function, plane)
    assert torch.autograd.gradcheck(equal, tensors([0.3, -0.2, 0.9]))
    assert torch.autograd.gradcheck(four, tensors(*correlations(3)))
    assert [t.shape for t in alike(0.5, torch.zeros(3))] == [(3,), (3,)]


# ---- in modules --------------------------------------------------------------------------------------------------
def quantity(body):
    return Quantity("kernel", (K1, K2, C), body, body, Status.EXACT)


RHO = C / sp.sqrt((1 + K1) * (1 + K2))
FORMS = {
    S2: 2 * S2(1 / sp.sqrt(1 + K1), sp.Rational(1, 2), RHO),
    Q2: Q2(sp.Rational(1, 3), 1 / sp.sqrt(1 + K2), RHO),
    S4: S4(K1 / (1 + K1), RHO, RHO, RHO, RHO, K2 / (1 + K2)),
    T4: T4(RHO**2 / 2),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("function", FORMS, ids=lambda f: f.__name__)
def test_modules_with_special_functions(function):
    closed = quantity(FORMS[function])
    f, g, h = (sr.export(closed, target).load().kernel for target in ("numpy", "torch", "jax"))
    k1, k2, c = np.array([0.7, 1e-3, 30.0]), np.array([1.2, 2e-3, 20.0]), np.array([0.6, -1e-3, 24.0])
    exact = [float(closed.evalf(17, K1=a, K2=b, C=v)) for a, b, v in zip(k1, k2, c, strict=True)]
    np.testing.assert_allclose(f(k1, k2, c), exact, rtol=1e-14)
    tensors = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (k1, k2, c)]
    np.testing.assert_allclose(g(*tensors).detach(), exact, rtol=1e-14)
    assert torch.autograd.gradcheck(g, tensors, eps=1e-7, rtol=1e-5)
    g(*tensors).sum().backward()
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(h)(k1, k2, c), exact, rtol=1e-14)
        slopes = jax.grad(lambda *at: h(*at).sum(), argnums=(0, 1, 2))(*map(jax.numpy.asarray, (k1, k2, c)))
        np.testing.assert_allclose(slopes, [tensor.grad for tensor in tensors], rtol=1e-12)


@pytest.mark.exhaustive
def test_gelu_squared_has_a_module():
    closed = sr.expect2("gelu(z)^2", "gelu(z)^2")
    assert closed.body.has(S4)
    f = sr.export(closed).load().expect2
    for k1, k2, c in ((1e-8, 1e-8, 9e-9), (0.7, 1.3, -0.8), (1e4, 9e3, 9.4e3)):
        assert f(k1, k2, c) == pytest.approx(float(closed.evalf(16, K1=k1, K2=k2, C=c)), rel=1e-13)
