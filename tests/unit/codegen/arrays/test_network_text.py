"""Networks as one generated function: against 50 digits, Network.dual_kernels, and what peers lose on the diagonal."""

import itertools
import types
import warnings
from functools import cache

import numpy as np
import pytest
import torch

import symres as sr
from symres.core.errors import DeclarationError
from tests.command_line import texts_of_seeds
from tests.languages import language
from tests.oracles.deep import MORE, PAIRS, STEPS, declared, errors, iterate, near

DEPTHS = (1, 2, 5, 20)
GAMMA = 0.6
WEIGHTS = {"C_W": 1.3, "C_b": 0.1}


@cache
def module(name, depth, target="numpy", layer="residual"):
    built = declared(layer, name) if layer in STEPS else sr.architectures[layer](name)
    return sr.export(sr.derive(built).network(depth), target).load()


# ---- accuracy ----------------------------------------------------------------------------------------------------
@pytest.mark.sample(5)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", [*PAIRS, *MORE])
@pytest.mark.parametrize("gamma", [0.0, GAMMA])
def test_the_function_agrees_with_50_digits(name, depth, gamma):
    f = module(name, depth).dual_kernel
    for point in ((1.0, 2.0, 0.3), (0.7, 0.7, 0.7), (0.5, 2.0, -0.9), (1.0, 1.0, -1.0), (30.0, 0.01, 0.1)):
        expected = iterate(name, depth, *point, gamma, **WEIGHTS)
        assert errors(f(*point, **WEIGHTS, gamma=gamma), expected, expected) < 2e-14


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize(
    "names", [("erf", "relu"), ("relu", "erf", "relu"), ("erf", "erf", "relu", "relu")], ids="-".join
)
def test_steep_layers_before_kinks_lose_nothing(names, target):
    """Where the slope of a wide error function changes within the gap of nearly parallel inputs, C tells more."""
    f = sr.export(sr.network([sr.mlp(name) for name in names]), target).load().dual_kernel
    for K, gap in itertools.product((1.0, 1e4, 1e6), (0.0, 1e-13, 1e-9, 1e-7, 1e-6, 9e-6, 1.1e-5)):
        point = (K, K, near(K, K, gap))
        expected = iterate(names, len(names), *point, 0.0, 1.3, 0.1)
        assert errors(f(*point, C_W=1.3, C_b=0.1), expected, expected) < 2e-11


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["relu", "leaky_relu", "erf", "sin"])
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_equal_inputs_keep_the_kernel_of_one(name, target):
    own = {"slope": 0.25} if name == "leaky_relu" else {}
    f, alone = module(name, 100, target).dual_kernel, sr.derive(sr.residual(name)).kernel_map
    K = np.array([1e-3, 0.7, 3.0])
    C, Theta = f(K, K, K, **WEIGHTS, gamma=GAMMA, **own, every_layer=True)
    one = sr.export(alone, target).load().kernel_map
    kernel = K if target == "numpy" else C[0]
    for step in range(100):
        kernel = one(kernel, **WEIGHTS, gamma=GAMMA, **own)
        np.testing.assert_allclose(np.asarray(C[step + 1]), np.asarray(kernel), rtol=3e-16 * (step + 1))
    if name in PAIRS:
        for k, c, theta in zip(K, C[-1], Theta[-1], strict=True):
            expected = iterate(name, 100, k, k, k, GAMMA, **WEIGHTS)
            assert errors((c, theta), expected, expected) < 3e-14


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_float32_inputs_lose_their_own_rounding_only(target):
    K1, K2, C = (np.float32(v) for v in ([1.0, 0.3], [1.0, 2.0], [1.0, -0.5]))
    f = module("relu", 100, target).dual_kernel
    found = language(target).value(f, K1, K2, C, **WEIGHTS, gamma=GAMMA, kind=np.float32)
    assert found.dtype == (np.float32 if target == "torch" else np.float64)
    for i, point in enumerate(zip(K1, K2, C, strict=True)):
        expected = iterate("relu", 100, *point, GAMMA, **WEIGHTS)
        assert errors([a[i] for a in found], expected, expected) < 1e-7


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["relu", "erf", "gelu", "tanh", "sin", "cos"])
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_gram_matrices_have_no_nan_and_warn_of_nothing(name, target):
    x = np.random.default_rng(0).standard_normal((24, 3)) * np.geomspace(1e-3, 300, 24)[:, None]
    x[0], x[5], x[6], x[7] = 0.0, x[4], -x[4], 2 * x[4]
    gram = x @ x.T
    arguments = [language(target).array(a) for a in (np.diag(gram)[:, None], np.diag(gram), gram)]
    f = module(name, 5, target).dual_kernel
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="raise"):
            found = f(*arguments, **WEIGHTS, gamma=GAMMA)
    assert all(np.isfinite(np.asarray(a)).all() for a in found)


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize(("name", "layer"), [("relu", "pre_ln"), ("erf", "pre_ln"), ("relu", "mlp"), ("erf", "mlp")])
def test_kernels_whose_products_are_no_floats_count_as_zero(name, layer, target):
    """In front of a normaliser, which does not see the scale, that is a direction that is lost; elsewhere a kernel."""
    own = WEIGHTS | ({"gamma": GAMMA} if layer == "pre_ln" else {})
    f = module(name, 1, target, layer=layer).dual_kernel
    (small, tangent), (zero, flat) = (
        (float(a) for a in language(target).value(f, K, 1.0, K / 3, **own)) for K in (1e-170, 0.0)
    )
    assert (small, tangent) == pytest.approx((zero, flat), nan_ok=True, rel=1e-15)
    assert np.isnan(small) == (layer == "pre_ln")
    kernel, tangent = (float(a) for a in language(target).value(f, 1e-140, 1e-140, 3e-141, **own))
    built = declared(layer, name) if layer in STEPS else sr.architectures[layer](name)
    exact = sr.derive(built).dual_kernels(1, "1e-140", "1e-140", "3e-141", **{k: str(v) for k, v in own.items()})
    assert (kernel, tangent) == pytest.approx((float(exact[-1].C), float(exact[-1].Theta)), rel=1e-13)


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_infinite_slopes_need_a_tangent_kernel_before_them(target):
    """Functions that jump: behind one layer the tangent kernel is that of its parameters, behind two infinite."""
    f = module("sign", 5, target, layer="mlp").dual_kernel
    _, Theta = f(1.0, 1.0, 1.0, **WEIGHTS, every_layer=True)
    assert [float(a) for a in Theta[:3]] == [0.0, pytest.approx(1.4, rel=1e-15), np.inf]
    plain = sr.derive("sign").dual_kernels(5, 1, 2, "0.3", C_W="1.3", C_b="0.1")[-1]
    assert [float(a) for a in f(1.0, 2.0, 0.3, **WEIGHTS)] == pytest.approx(
        [float(plain.C), float(plain.Theta)], rel=1e-14
    )


# ---- shapes and parameters ---------------------------------------------------------------------------------------
def test_arrays_broadcast_and_blocks_do_not_show():
    f = module("relu", 3).dual_kernel
    rng = np.random.default_rng(1)
    K1, K2 = rng.uniform(0.5, 2, (130, 1)), rng.uniform(0.5, 2, (1, 301))
    C = np.sqrt(K1 * K2) * rng.uniform(-1, 1, (130, 301))
    whole = f(K1, K2, C, **WEIGHTS, gamma=GAMMA, Theta=C)
    assert whole[0].shape == (130, 301)
    for i, j in ((0, 0), (77, 13), (129, 300)):
        alone = f(K1[i, 0], K2[0, j], C[i, j], **WEIGHTS, gamma=GAMMA, Theta=C[i, j])
        assert isinstance(alone[0], float)
        np.testing.assert_allclose([a[i, j] for a in whole], alone, rtol=1e-14)
    full = f(K1 + 0 * C, K2 + 0 * C, C, **WEIGHTS, gamma=GAMMA, Theta=C)  # the maps of one input in blocks
    np.testing.assert_allclose(full, whole, rtol=1e-14)
    assert f(np.ones((0, 3)), 1.0, 0.5, **WEIGHTS, gamma=GAMMA)[1].shape == (0, 3)
    gammas = np.array([0.1, 0.5])[:, None, None]
    stacked = f(K1, K2, C, **WEIGHTS, gamma=gammas)
    np.testing.assert_allclose([a[1] for a in stacked], f(K1, K2, C, **WEIGHTS, gamma=0.5), rtol=1e-14)


MIXED = (
    sr.Layer(sr.Dense(sr.z)),
    sr.residual("relu"),
    sr.residual("relu"),
    sr.pre_ln("tanh", sr.gamma),
    sr.Layer(sr.LayerNorm(sr.gamma * sr.z + sr.Dense(sr.activation("tanh")(sr.z)))),
    sr.two_layer_block("relu"),
    sr.Layer(sr.gamma * sr.z + sr.Dense(sr.activation("erf")(sr.Dense(sr.z)) * sr.Dense(sr.z))),
    "erf",
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_networks_of_different_layers(target):
    network = sr.network(MIXED)
    exported = sr.export(network, target)
    assert exported.functions == ("dual_kernel", "dual_kernel_matrix")
    assert exported.text.count("_pair(K1, K2, C, Theta") == 7  # equal layers have one
    f = exported.load().dual_kernel
    given, exact = {**WEIGHTS, "gamma": 0.6, "xi": 0.7}, {"C_W": "1.3", "C_b": "0.1", "gamma": "0.6", "xi": "0.7"}
    for point in ((1, 2, "0.3"), (1, 1, 1), (1, 2, "-0.4")):
        C, Theta = f(*map(float, point), **given, every_layer=True)
        for k, expected in enumerate(network.dual_kernels(*point, **exact)):
            assert float(C[k]) == pytest.approx(float(expected.C), rel=3e-15)
            assert float(Theta[k]) == pytest.approx(float(expected.Theta), rel=3e-15)


# ---- feature matrices --------------------------------------------------------------------------------------------


RELU, Z, DENSE = sr.activation("relu"), sr.z, sr.Dense
POST_LN = sr.Layer(sr.LayerNorm(sr.gamma * Z + DENSE(RELU(Z))))
KINKED = {  # kinks behind normalisers, where angles of inputs are what is known
    "pre_ln block": sr.network([sr.Layer(Z + DENSE(RELU(DENSE(sr.LayerNorm(Z)))))] * 2),
    "normed gate": sr.network([sr.Layer(Z + DENSE(RELU(DENSE(sr.RMSNorm(Z))) * DENSE(sr.RMSNorm(Z))))] * 2),
    "normed branch": sr.network([sr.Layer(Z + sr.LayerNorm(DENSE(RELU(Z))))] * 2),
    "post_ln, then mlp": sr.network([POST_LN, sr.mlp("relu")]),
    "mlp, then post_ln": sr.network([sr.mlp("relu"), POST_LN]),
}


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("name", KINKED)
def test_kinks_behind_normalisers(name, target):
    network = KINKED[name]
    f = sr.export(network, target).load().dual_kernel
    own = {"C_W": 1.1, **({"gamma": 0.5} if "post_ln" in name else {})}
    for bias, point in itertools.product((0.1, 0.0), [(1.25, 1.25, 1.25), (1.5, 0.7, 0.2), (1, 4, 2), (1, 4, -2)]):
        found = language(target).value(f, *point, **own, C_b=bias)
        expected = network.dual_kernels(*point, **own, C_b=bias)[-1]
        assert [float(a) for a in found] == pytest.approx([float(expected.C), float(expected.Theta)], rel=2e-14)


@pytest.mark.exhaustive
def test_quotients_that_vanish_for_parallel_inputs():
    """The closed form divides by a root that is 0 there."""
    network = sr.derive(sr.Layer(sr.Dense(sr.z * sr.activation("relu")(sr.z + sr.Dense(sr.z))))).network(2)
    x = np.array([[1.0, 0.25], [1.0, 0.25], [-1.0, -0.25], [2.0, 0.5], [0.25, 1.0]])  # products without rounding
    generated, gram = sr.export(network, "numpy").load(), x @ x.T / 2
    found = generated.dual_kernel_matrix(x, C_W=1.0, C_b=0.0)
    assert all(np.isfinite(a).all() for a in found)
    found = generated.dual_kernel_matrix(x, C_W=1.0, C_b=0.1)
    for j in (0, 3):
        last = network.dual_kernels(gram[0, 0], gram[j, j], gram[0, j], C_W=1, C_b=0.1)[-1]
        assert [float(a[0, j]) for a in found] == pytest.approx([float(last.C), float(last.Theta)], rel=1e-12)
    assert all(a[0, 1] == a[0, 0] == a[1, 1] for a in found)


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("name", ["relu", "erf"])
@pytest.mark.parametrize("layer", ["residual", "post_ln", "pre_ln", "ln_act", "rms_after"])
def test_inputs_of_kernel_zero_have_no_direction(layer, name, target):
    """A normaliser that divides by their size gives nan, on the diagonal too; biases before it give them one."""
    tool, columns = language(target), np.transpose([(0.0, 1.0, 0.0), (0.0, 0.0, 0.0), (1.0, 1.0, 0.5)])
    f = module(name, 2, target, layer).dual_kernel
    finite = np.isfinite(tool.value(f, *columns, **WEIGHTS, gamma=GAMMA))
    assert finite[:, 2].all()
    assert finite[:, :2].all() if layer in ("residual", "post_ln") else not finite[:, :2].any()
    theory = sr.derive(declared(layer, name))
    maps = tool.value(tool.load(theory.covariance_map).covariance_map, *columns, **WEIGHTS, gamma=GAMMA)
    np.testing.assert_array_equal(np.isfinite(maps), finite[0])
    if not finite[0, 0]:
        with pytest.raises(DeclarationError, match="no direction"):
            theory.dual_kernels(1, 0, 1, 0, **WEIGHTS, gamma=GAMMA)


@pytest.mark.sample(1)
@pytest.mark.parametrize("layers", [
    [sr.pre_ln("relu")], [sr.pre_ln("erf", sr.gamma), POST_LN], [sr.Layer(DENSE(sr.LayerNorm(Z)))],
], ids=str)  # fmt: skip
def test_an_input_of_kernel_zero_disturbs_no_other(layers):
    """Kernels that do not depend on the one before are lost too; gradients of other rows are those without it."""
    network = sr.network(layers)
    own = {"C_b": 0.1, **({"gamma": 0.5} if len(layers) > 1 else {})}
    rows = np.array([[0.0, 0.0], [1.0, 2.0], [0.5, -1.0]])
    for found in sr.export(network, "numpy").load().dual_kernel_matrix(rows, C_W=1.1, **own):
        assert np.isnan(found[0]).all() and np.isnan(found[:, 0]).all() and np.isfinite(found[1:, 1:]).all()
    gradients = []
    for given in (rows, rows[1:]):
        weight, x = torch.tensor(1.1, dtype=torch.float64, requires_grad=True), torch.tensor(given, requires_grad=True)
        C, Theta = sr.export(network, "torch").load().dual_kernel_matrix(x, C_W=weight, **own)
        assert bool(torch.isnan(C[0, 0])) == (len(given) == 3)
        gradients.append(torch.autograd.grad((C + Theta)[-2:, -2:].sum(), [weight, x]))
    (weight, x), (alone, others) = gradients
    assert float(weight) == float(alone)
    np.testing.assert_array_equal(x, torch.cat([torch.zeros(1, 2), others]))


# ---- gradients ---------------------------------------------------------------------------------------------------
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["relu", "leaky_relu", "erf", "gelu", "tanh"])
def test_gradients_are_those_of_the_function(name):
    f = module(name, 3, "torch").dual_kernel
    own = (0.25,) if name == "leaky_relu" else ()
    values = ([1.0, 0.7, 2.0], [2.0, 0.4, 2.0], [0.3, -0.5, 1.9], 1.3, 0.1, 0.6, *own)
    arguments = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]
    assert torch.autograd.gradcheck(lambda *a: f(*a), arguments)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["pre_ln block", "normed gate", "normed branch", "mlp, then post_ln"])
def test_gradients_of_mixed_networks_are_the_differences_of_numpy(name):
    plain, generated = (sr.export(KINKED[name], target).load() for target in ("numpy", "torch"))
    own = {"C_W": 1.1, "C_b": 0.1, **({"gamma": 0.5} if "post_ln" in name else {})}
    rows, step = np.array([[1.0, 2.0, -0.5], [0.25, -1.0, 0.25], [2.0, 4.0, -1.0]]), 1e-5
    for which, x in enumerate((rows, rows[:2])):  # differences of kinks between parallel rows have few digits
        given = torch.tensor(x, requires_grad=True)
        (gradient,) = torch.autograd.grad(generated.dual_kernel_matrix(given, **own)[which].sum(), given)
        for place in np.ndindex(*x.shape):
            moved = np.zeros(x.shape)
            moved[place] = step
            up, down = (plain.dual_kernel_matrix(y, **own)[which].sum() for y in (x + moved, x - moved))
            assert float(gradient[place]) == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-6)


# ---- other targets, refusals, the text ---------------------------------------------------------------------------
def test_a_document_shows_the_maps_of_distinct_layers_once():
    text = sr.export(sr.network([MIXED[0], MIXED[1], MIXED[1]]), "latex").text
    assert r"\section*{Layer 1: Dense(z)}" in text
    assert r"\section*{Layers 2 to 3: residual}" in text
    assert text.count(r"\Theta' &=") == 2


@pytest.mark.parametrize(
    ("network", "needle"),
    [
        (lambda: sr.network([sr.batch_norm("relu")]), "normalises over a batch"),
        (lambda: sr.network([]), "no layers"),
        (lambda: sr.derive("sqrt(abs(z))").network(2), "unknown"),
        (lambda: types.SimpleNamespace(layers=(sr.derive("relu"),)), "it contains no quantities"),  # no network
    ],
)
def test_networks_without_a_function_are_refused(network, needle):
    with pytest.raises(DeclarationError, match=needle):
        sr.export(network())


GENERATE = """
import symres as sr
network = sr.network([sr.residual("leaky_relu"), "erf", "erf"])
print(*(sr.export(network, target).text for target in ("numpy", "torch", "latex")))
"""


@pytest.mark.exhaustive
def test_text_does_not_depend_on_the_hash_seed():
    assert len(texts_of_seeds(GENERATE, "0", "4711")) == 1


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_the_module_imports_one_library_and_keeps_to_the_page(target):
    text = sr.export(sr.derive(sr.residual("relu")).network(20), target).text
    imports = {line.split()[1] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert imports - {"collections", "functools", "math"} == {target}
    assert max(map(len, text.splitlines())) <= 120
