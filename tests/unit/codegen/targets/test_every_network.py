"""Networks in every language against recursions by hand in 50 digits: parallel inputs, matrices, parameters, slopes."""

import itertools
from functools import cache

import numpy as np
import pytest

import symres as sr
from symres.codegen.strategy import choose
from tests.languages import ALL, DIFFERENTIABLE, SLOW, lanes, language
from tests.oracles.deep import STEPS, declared, errors, iterate, near, slopes_of_sums

GAPS = (0.0, 1e-15, 1e-13, 1e-11, 1e-8, 1e-6, 9e-6, 1.1e-5, 1e-4, 0.01, 0.5)
OTHERWISE = (1e-6, 9e-6, 1.1e-5)  # around the gap from which on angles are known well enough without determinants
KERNELS = ((1.0, 1.0), (1.0, 1.0 + 1e-8), (1.0, 2.0))
PLACES = [(k, gap, sign) for k, gap, sign in itertools.product(KERNELS, GAPS, (1, -1))]
POINTS = [(*k, near(*k, gap, sign)) for k, gap, sign in PLACES]
WEIGHTS = {"C_W": 1.3, "C_b": 0.1, "gamma": 0.6}
# activation, layer, depth, weights, what rounding may cost; kinks of the last two are not where inputs are parallel
DEEP = [
    *(
        ("relu", "residual", depth, w, b, most)
        for depth, most in ((5, 5e-14), (100, 2e-11))
        for w, b in ((2, 0), (1.5, 0.1))
    ),
    *(("erf", "residual", depth, 1.3, 0.1, most) for depth, most in ((5, 5e-14), (100, 2e-11))),
    *(("erf", layer, depth, 0.8, 0.1, 2e-14) for layer in STEPS if layer != "residual" for depth in (2, 20)),
]
LOST = {"post_ln": 2e-13, "pre_ln": 2e-13, "ln_act": 2e-12, "rms_after": 2e-13, "glu": 1e-9, "two_layers": 1e-8}
DEEP += [("relu", layer, depth, 0.8, 0.1, most) for layer, most in LOST.items() for depth in (2, 20)]


@cache
def network(target, name, depth, layer="residual"):
    return language(target).load(sr.derive(declared(layer, name)).network(depth))


@cache
def exactly(*given):
    return iterate(*given)


# deep ones take minutes to compile
CASES = [(target, *row) for target in ALL for row in DEEP if target not in ("jax", "numba") or row[2] <= 5]


@pytest.mark.sample(1, every="target")
@pytest.mark.parametrize(
    ("target", "name", "layer", "depth", "w", "b", "most"),
    [pytest.param(*case, marks=[pytest.mark.exhaustive] if case[0] in SLOW else []) for case in CASES],
)
def test_nearly_parallel_and_opposite_inputs_keep_their_digits(target, name, layer, depth, w, b, most):
    """Rounding of C between layers costs others 1e-8 of the tangent kernel here."""
    f = network(target, name, depth, layer).dual_kernel
    found = language(target).value(f, *np.transpose(POINTS), C_W=w, C_b=b, gamma=0.6)
    scale = exactly(name, depth, 1.0, 1.0, 1.0, 0.6, w, b, layer)
    for row, (point, (_, gap, _)) in enumerate(zip(POINTS, PLACES, strict=True)):
        room = 1 if target in ("numpy", "torch") and gap not in OTHERWISE else 2  # compilers sum in orders of their own
        expected = exactly(name, depth, *point, 0.6, w, b, layer)
        assert errors(found[:, row], expected, scale) < room * most, point
    if most > 1e-10 and target in ("numpy", "torch"):
        assert "1e-8 of the tangent kernel of nearly parallel inputs may be lost" in " ".join(f.__doc__.split())


@pytest.mark.sample(1, every="target")
@pytest.mark.parametrize("target", lanes(*ALL))
@pytest.mark.parametrize("name", ["relu", "erf", "gelu"])
def test_matrices_of_features(name, target):
    """Symmetric; equal rows have the kernel of one; parts are those of the whole, entries those of pairs."""
    x = np.random.default_rng(3).standard_normal((40, 4))
    x[1], x[2], x[3], x[4] = x[0], -x[0], 2 * x[0], x[0] * (1 + 1e-9)
    tool, module = language(target), network(target, name, 5)
    found = tool.value(lambda x: module.dual_kernel_matrix(x, **WEIGHTS), x)
    part = tool.value(lambda x, y: module.dual_kernel_matrix(x, y, **WEIGHTS), x[:10], x[5:])
    np.testing.assert_allclose(part, found[:, :10, 5:], rtol=1e-14)
    K, C = (x * x).sum(1) / 4, x @ x.T / 4
    for whole in found:
        assert np.array_equal(whole, whole.T) and whole[0, 0] == whole[0, 1] == whole[1, 1]
        assert np.linalg.eigvalsh(whole[5:, 5:]).min() > 0
    for i, j in itertools.combinations_with_replacement(range(9), 2):
        same = i == j or (i, j) == (0, 1)
        expected = exactly(
            name, 5, K[i], K[j], K[i] if same else C[i, j], *[WEIGHTS[p] for p in ("gamma", "C_W", "C_b")]
        )
        assert errors(found[:, i, j], expected, expected) < (1e-14 if same else 1e-7)  # products are rounded


@pytest.mark.parametrize("target", lanes(*ALL))
def test_parameters_may_differ_from_layer_to_layer_and_every_layer_is_shown(target):
    f, gammas = network(target, "relu", 3).dual_kernel, [0.5, 0.9, 0.1]
    plain = sr.derive(sr.residual("relu")).dual_kernels(3, 1, 2, "0.3", gamma=gammas, C_W="1.3", C_b="0.1")
    with language(target).target.in_double_precision():
        every = np.array(f(1.0, 2.0, 0.3, 1.3, 0.1, gammas, every_layer=True))
        np.testing.assert_allclose(every, [[float(p.C) for p in plain], [float(p.Theta) for p in plain]], rtol=1e-14)
        np.testing.assert_allclose(np.array(f(1.0, 2.0, 0.3, 1.3, 0.1, gammas)), every[:, -1], rtol=1e-15)
        with pytest.raises(ValueError, match=r"2 values.* network has 3 layers"):
            f(1.0, 2.0, 0.3, 1.3, 0.1, gammas[:2])


@pytest.mark.sample(1, every="target")
@pytest.mark.parametrize("target", DIFFERENTIABLE)
@pytest.mark.parametrize(
    ("name", "layer"), [*((n, "residual") for n in ("relu", "gelu", "erf")), *(("relu", s) for s in LOST)]
)
def test_gradients_of_matrices_are_differences_of_the_recursion(name, layer, target):
    """Of parallel and other rows; where rows are equal they are finite."""
    rows = np.array([[1.0, 2.0, -0.5], [0.25, -1.0, 0.25], [2.0, 4.0, -1.0]])
    module, expected = network(target, name, 3, layer), slopes_of_sums(rows, name, 3, 0.6, 1.2, 0.1, layer)
    for which in (0, 1):
        total = lambda x, which=which: module.dual_kernel_matrix(x, C_W=1.2, C_b=0.1, gamma=0.6)[which]  # noqa: E731
        np.testing.assert_allclose(language(target).slopes(total, rows)[0], expected[which], rtol=1e-9, atol=1e-9)
        assert np.isfinite(language(target).slopes(total, rows[[0, 1, 2, 0]])[0]).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["torch", "c", "numba", "jax"])
def test_networks_of_series_are_those_of_numpy(target, monkeypatch):
    """Matrices, parts of them, pairs behind every layer, float32 and slopes, for averages without a closed form."""
    monkeypatch.setattr(choose, "_measured_in", lambda component, target: component)
    tool, layers = language(target), sr.network([sr.mlp("tanh"), sr.mlp("relu"), sr.mlp("silu")])
    mine, theirs = tool.load(layers), language("numpy").load(layers)
    rng, own = np.random.default_rng(0), {"C_W": 1.7, "C_b": 0.1}
    x, k1, k2 = rng.normal(size=(90, 9)), *rng.uniform(0.1, 3, (2, 300))
    x[3], x[5] = x[0], -x[4]
    square, part = (
        tool.value(lambda *x: mine.dual_kernel_matrix(*x, **own), *given) for given in ((x,), (x, x[:50] + 0.25))
    )
    np.testing.assert_allclose(square, theirs.dual_kernel_matrix(x, **own), atol=1e-12)
    np.testing.assert_allclose(part, theirs.dual_kernel_matrix(x, x[:50] + 0.25, **own), atol=1e-12)
    assert all(np.array_equal(a, a.T) for a in square)
    single = tool.value(lambda x: mine.dual_kernel_matrix(x, **own)[0], x, kind=np.float32)
    np.testing.assert_allclose(single, square[0], atol=2e-6)
    call = lambda module: lambda *k: module.dual_kernel(*k, [1.5, 1.6, 1.7], 0.1, every_layer=True)  # noqa: E731
    pairs = (k1, k2, 0.4 * np.sqrt(k1 * k2))
    np.testing.assert_allclose(tool.value(call(mine), *pairs), call(theirs)(*pairs), rtol=1e-12)
    if target in DIFFERENTIABLE:
        move, step = rng.normal(size=x.shape), 1e-5
        move[3], move[5] = move[0], -move[4]
        (slopes,) = tool.slopes(lambda x: mine.dual_kernel_matrix(x, **own)[1], x)
        up, down = (theirs.dual_kernel_matrix(x + s * move, **own)[1].sum() for s in (step, -step))
        assert (slopes * move).sum() == pytest.approx((up - down) / (2 * step), rel=1e-8)
