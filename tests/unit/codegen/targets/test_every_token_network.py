"""Networks of token blocks in every language: kernels, gradients of tokens, and the kernels of two sequences."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import symres as sr
from symres.core.errors import DeclarationError
from tests.languages import ALL, DIFFERENTIABLE, lanes, language

SLOW = {"numba", "jax", "torch", "c"}  # compilers take half a minute
ROWS = {
    row["id"]: row["value"] for row in json.loads((Path(__file__).parents[3] / "oracles/positions.json").read_text())
}
NUMBERS = {"C_1": 1.3, "C_2": 0.8, "C_A": 1.1}
ONES = dict.fromkeys(NUMBERS, 1.0)
PAIR = (1.0, 0.5, 1.5, 0.3, 0.7, 0.2)  # K1, P1, K2, P2, C, E


@cache
def blocks(depth, activation="gelu", **options):
    return sr.derive(sr.transformer(activation, **options), positions=sr.Tokens(16)).network(depth)


@cache
def exported(target, depth, **options):
    return language(target).load(blocks(depth, **options))


def given(network, numbers):
    """Parameters in the order of a module."""
    return [numbers[name] for name in sorted(network.parameter_names)]


@pytest.mark.parametrize("target", lanes(*ALL, slow=SLOW))
def test_kernels_and_gradients_of_tokens_are_those_of_the_theory(target):
    net, module, tool = blocks(2), exported(target, 2), language(target)
    K, C, own = np.array([1.0, 2.0, 0.7]), np.array([0.5, -0.1, 0.69]), given(net, NUMBERS)
    with tool.target.in_double_precision():
        every = np.array(module.kernels(tool.array(K), tool.array(C), *own, every_layer=True))
        ends = np.array(module.kernels(tool.array(K), tool.array(C), *own))
        moved = {w: np.array(module.apjn(tool.array(K), tool.array(C), *own, tokens=w)) for w in ("one", "all")}
        path = np.array(module.apjn(1.0, 0.5, *own, every_layer=True))
    np.testing.assert_array_equal(every[:, -1], ends)
    for i, (k, c) in enumerate(zip(K, C, strict=True)):
        exact = net.kernels(K=k, C=c, **NUMBERS)
        np.testing.assert_allclose(every[:, :, i].T, np.array(exact, dtype=float), rtol=1e-12)
        for word, found in moved.items():
            assert found[i] == pytest.approx(float(net.apjn(0, 2, K=k, C=c, tokens=word, **NUMBERS)), rel=1e-11)
    assert path == pytest.approx([float(net.apjn(0, n, K=1, C=0.5, **NUMBERS)) for n in range(3)], rel=1e-12)
    with pytest.raises(ValueError, match="'one' or 'all'"):
        module.apjn(1.0, 0.5, *own, tokens="some")


@pytest.mark.parametrize("target", lanes(*ALL, slow=SLOW))
def test_parameters_have_the_same_names_in_every_language(target):
    """Letters in capitals, which may be macros in C, too."""
    module, own = exported(target, 2), given(blocks(2), NUMBERS)
    with language(target).target.in_double_precision():
        np.testing.assert_array_equal(module.kernels(1.0, 0.5, **NUMBERS), module.kernels(1.0, 0.5, *own))


@pytest.mark.parametrize("target", lanes(*ALL, slow=SLOW))
def test_two_sequences(target):
    """Equal ones are one; tangent kernels are moved by the slopes of the kernels, and added to by each weight."""
    net, module, step = blocks(2), exported(target, 2), 1e-4
    own, tool = given(net, NUMBERS), language(target)
    with tool.target.in_double_precision():
        one = [float(a) for a in module.kernels(1.0, 0.5, *own)]
        both = np.array(module.dual_kernel(1.0, 0.5, 1.0, 0.5, 1.0, 0.5, *own))
        gain = float(module.apjn(1.0, 0.5, *own))

        def at(c, e, *tangents):
            start = dict(zip(("Theta", "Theta_E"), tangents, strict=False))
            return np.array(module.dual_kernel(*PAIR[:4], c, e, *own, **start))

        kernels, fresh = np.split(at(*PAIR[4:]), 2)
        for axis, start in enumerate(np.eye(2)):
            up, down = (at(*(np.array(PAIR[4:]) + n * step * start)) for n in (1, -1))
            slopes = at(*PAIR[4:], *start)[2:] - fresh
            np.testing.assert_allclose(slopes, (up - down)[:2] / (2 * step), rtol=1e-6, err_msg=str(axis))
        alone = at(PAIR[4], PAIR[4])  # alike at all positions
        with_itself = np.array(module.dual_kernel(1.0, 0.5, 1.0, 0.5, 1.0, 0.5, *own, Theta=1.0))
        every, last = np.array(module.dual_kernel(*PAIR, *own, every_layer=True)), at(*PAIR[4:])
    np.testing.assert_allclose(both[:2], one, rtol=1e-14)
    assert with_itself[2] - both[2] == pytest.approx(gain, rel=1e-12)
    assert every.shape == (4, 3) and list(every[:2, 0]) == [*PAIR[4:]] and np.array_equal(every[:, -1], last)
    assert np.isfinite(alone).all() and abs(kernels[0]) > abs(kernels[1])


@pytest.mark.parametrize("target", lanes(*ALL, slow=SLOW))
def test_one_attention_has_its_reference_values(target):
    """Its tangent kernel is that of W_Q and W_K, alike, and twice its kernel for W_V and W_O."""
    tool = language(target)
    module = tool.load(sr.network(["Attention(z, 1, 0, 1, 1)"], positions=sr.Tokens(16)))
    few = tool.load(sr.network(["Attention(z, 1, 0, 1, 1)"], positions=sr.Tokens(8)))
    with tool.target.in_double_precision():
        found = np.array(module.dual_kernel(1.0, 0.5, 1.0, 0.5, 1.0, 0.5))
        apart = np.array(few.dual_kernel(*PAIR))
    q, p = (ROWS[f"attention_{letter}_T16_q1.0_p0.5_C1_1_1_1"] for letter in "qp")
    slopes = [ROWS[f"tangent_kernel_Q_{letter}"] for letter in "ts"]
    expected = [q, p, *(2 * k + 2 * slope for k, slope in zip((q, p), slopes, strict=True))]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(apart[:2], [ROWS["two_sequences_c"], ROWS["two_sequences_e"]], rtol=1e-12)


@pytest.mark.parametrize("target", lanes(*DIFFERENTIABLE, slow={*ALL}))
def test_float32_has_its_digits_where_doubles_are_switched_off(target):
    """The default of JAX, whose sums over scores are of float32 too."""
    net, module, tool = blocks(2), exported(target, 2), language(target)
    own = given(net, NUMBERS)
    cases = [("kernels", (1.0, 0.5), {}), ("dual_kernel", PAIR, {})]
    cases += [("apjn", (1.0, 0.5), {"tokens": word}) for word in ("one", "all")]
    for name, start, words in cases:
        narrow = getattr(module, name)(*(tool.array(a, np.float32) for a in start), *own, **words)
        with tool.target.in_double_precision():
            wide = getattr(module, name)(*(tool.array(a) for a in start), *own, **words)
        np.testing.assert_allclose(np.array(narrow), np.array(wide), rtol=2e-6)


@pytest.mark.parametrize("target", lanes(*ALL, slow={*ALL}))
def test_twelve_blocks_have_their_reference_values(target):
    net, module = blocks(12), exported(target, 12)
    with language(target).target.in_double_precision():
        found = [
            *map(float, module.kernels(1.0, 0.5, *given(net, ONES))),
            float(module.apjn(1.0, 0.5, *given(net, ONES))),
        ]
    assert found == pytest.approx([ROWS[f"pre_gelu_{letter}_12"] for letter in "qpt"], rel=1e-12)


@pytest.mark.parametrize("target", lanes("c", slow=SLOW))
def test_float32_is_computed_in_double(target):
    net, module = blocks(2), exported(target, 2)
    one, own = np.ones(3, dtype=np.float32), given(net, NUMBERS)
    for name, start in (("kernels", (1, 0.5)), ("apjn", (1, 0.5)), ("dual_kernel", PAIR)):
        narrow = getattr(module, name)(*(one * np.float32(a) for a in start), *own)
        wide = getattr(module, name)(*start, *own)
        np.testing.assert_allclose(np.array(narrow)[..., 0], np.array(wide), rtol=1e-5)
        assert np.array(narrow).dtype == np.float32


@pytest.mark.parametrize("target", lanes(*DIFFERENTIABLE, slow=SLOW))
def test_gradients_are_differences(target):
    """In the kernels of tokens and of sequences, and in a parameter."""
    tool, module, own, step = language(target), exported(target, 2), given(blocks(2), NUMBERS), 1e-4
    cases = [
        (lambda K, C, w: module.kernels(K, C, w, *own[1:])[1], (1.0, 0.5, own[0])),
        (lambda K, C, w: module.apjn(K, C, *own[:2], w), (1.0, 0.5, own[2])),
        (lambda c, e, w: module.dual_kernel(*PAIR[:4], c, e, w, *own[1:])[2], (*PAIR[4:], own[0])),
    ]
    for function, start in cases:
        slopes = tool.slopes(function, *start)
        for axis in range(3):
            up, down = (np.array(start) + n * step * np.eye(3)[axis] for n in (1, -1))
            difference = (tool.value(function, *up) - tool.value(function, *down)) / (2 * step)
            assert float(slopes[axis]) == pytest.approx(float(difference), rel=1e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["tanh", "relu"])
def test_averages_that_are_no_closed_forms(name):
    net, module = blocks(2, activation=name), language("numpy").load(blocks(2, activation=name))
    found = np.array(module.kernels(1.0, 0.5, *given(net, NUMBERS), every_layer=True)).T
    np.testing.assert_allclose(found, np.array(net.kernels(K=1, C=0.5, **NUMBERS), dtype=float), rtol=1e-12)


@pytest.mark.exhaustive
def test_layers_may_differ():
    """A block, and one with gates; parameters by layer."""
    layers = [sr.transformer("erf"), sr.transformer("relu", norm="rms", place="post")]
    net = sr.network(layers, positions=sr.Tokens(4))
    module = language("numpy").load(net)
    numbers = NUMBERS | {"C_1": [0.5, 1.5]}
    found = np.array(module.kernels(1.0, 0.5, *given(net, numbers)))
    np.testing.assert_allclose(found, np.array(net.kernels(K=1, C=0.5, **numbers)[-1], dtype=float), rtol=1e-12)


def test_networks_of_pixels_are_refused():
    with pytest.raises(DeclarationError, match="have neighbours"):
        sr.export(sr.network(["Conv(relu(z), 2, 0)"], positions=sr.Torus(8)))


def test_functions_of_mixers_take_no_covariance_which_must_be_0():
    theory = sr.derive("tanh", layer="mixer")
    generated = sr.export({"kernel_map": theory.kernel_map}).load().kernel_map
    with pytest.raises(TypeError, match="C"):
        generated(1.0, C=0.5, C_1=1.0, C_2=1.0)
    expected = theory.kernel_map.evalf(K=1, C=0, C_1=1, C_2=1)
    assert generated(1.0, C_1=1.0, C_2=1.0) == pytest.approx(float(expected), rel=1e-14)
