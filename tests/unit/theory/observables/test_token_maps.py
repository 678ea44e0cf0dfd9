"""Compiled maps of tokens against the quantities that they are made of, and where tokens are nearly equal."""

import time

import mpmath as mp
import pytest

import symres as sr

NAMES = ("kernel_map", "covariance_map", "tangent_map", "tangent_covariance_map")
AT = {"K": 1.3, "C": 0.4, "t": 1.1, "s": 0.3, "C_A": 0.7, "C_1": 1.2, "C_2": 0.9, "C_3": 1.5, "beta": 1.4}


def transformer(phi, **settings):
    return sr.derive(sr.transformer(phi, **settings), positions=sr.Tokens(16))


def by_quantities(theory, values):
    found = []
    for name in NAMES:
        quantity = theory.quantity(name)
        names = {s.name for s in (*quantity.symbols, *quantity.unused)}
        found.append(quantity.evalf(12, **{name: x for name, x in values.items() if name in names}))
    return found


@pytest.mark.parametrize(
    "theory",
    [
        transformer("gelu"),
        transformer("relu", place="post"),
        transformer("erf", norm="rms", gated=True),
        sr.derive("z + Dense(Pool(z), C_2, 0)", positions=sr.Tokens(5)),
    ],
    ids=lambda theory: theory.layer.text[:60],
)
def test_numbers_are_those_of_quantities(theory):
    found = [*theory.token_maps.kernels(AT).values(), *theory.token_maps.tangents(AT).values()]
    assert [float(x) for x in found] == pytest.approx([float(x) for x in by_quantities(theory, AT)], rel=2e-12)


def test_scores_that_depend_on_overlaps():
    """Two attentions in one layer without a norm between them, and in two layers."""
    both, first, second = (
        sr.derive(text, positions=sr.Tokens(16))
        for text in (
            "Attention(Dense(z + Attention(z, C_A, 0), 1, 0), 1, 0)",
            "Dense(z + Attention(z, C_A, 0), 1, 0)",
            "Attention(z, 1, 0)",
        )
    )
    middle = dict(zip(("K", "C", "t", "s"), by_quantities(first, AT), strict=True))
    found = [*both.token_maps.kernels(AT).values(), *both.token_maps.tangents(AT).values()]
    assert [float(x) for x in found] == pytest.approx([float(x) for x in by_quantities(second, middle)], rel=2e-12)


def test_what_is_left_to_quantities():
    """Parameters inside of averages without closed form, any number of tokens, slopes of infinite mean square."""
    swish = transformer("swish")
    assert swish.token_maps.kernels(AT) is None
    assert transformer("step").token_maps.tangents(AT) is None
    assert sr.derive("relu", layer="transformer").token_maps.kernels(AT) is None
    with pytest.raises(sr.DeclarationError, match="no 16 places"):
        transformer("relu").token_maps.kernels(AT | {"C": 1.4})
    with pytest.raises(sr.DeclarationError, match="C_A"):
        transformer("relu").token_maps.kernels({name: x for name, x in AT.items() if name != "C_A"})


@pytest.mark.parametrize("distance", ["1e-3", "1e-15", "1e-40", "1e-300"])
def test_nearly_equal_tokens_keep_their_distance(distance):
    """Post-LN ReLU with C_A = 1, C_1 C_2 = 2 halves it, ``(1 + A)/((1 + M)(1 + C_A))``, less a part of its root."""
    with mp.workdps(400):
        gap = mp.mpf(distance)
        state = {"K": mp.mpf(1), "C": 1 - gap, "C_A": 1, "C_1": 1, "C_2": 2}
        after = transformer("relu", place="post").token_maps.kernels(state)
        factor = (after["K"] - after["C"]) / gap
    assert float(factor) == pytest.approx(0.5, rel=float(gap) ** 0.5 + 1e-12)
    assert after["K"] == 1


def test_equal_tokens_stay_equal():
    after = transformer("gelu").token_maps.kernels(AT | {"C": 1.3})
    assert after["K"] == after["C"] > 1.3
    assert transformer("gelu").similarity(3, K=1, C=1, C_A=1, C_1=1, C_2=1) == [1, 1, 1, 1]


def test_tokens_without_covariance_stay_so():
    mixer = sr.derive(sr.mixer("erf"), positions=sr.Tokens("oo"))
    assert mixer.similarity(3, K=1, C=0, C_1=2, C_2=2) == [0, 0, 0, 0]


@pytest.mark.exhaustive
def test_a_thousand_layers_in_a_minute():
    """One that keeps the distance of tokens by a power law, and one after which it is 1e-292."""
    at = {"K": 1, "C": 0.5, "C_A": 1, "C_1": 1, "C_2": 1}
    started = time.process_time()
    theory = transformer("gelu")
    similar, gradient = theory.similarity(1000, **at), theory.apjn(0, 1000, **at)
    assert time.process_time() - started < 60
    assert float(similar[-1]) == pytest.approx(0.99620942753498, rel=1e-12)  # by evalf of the quantities
    assert float(gradient) == pytest.approx(270.462335217598, rel=1e-11)
    collapsed = transformer("gelu", place="post").similarity(1000, **at)
    rate = mp.log((1 - collapsed[-1]) / (1 - collapsed[-2]))
    assert float(rate) == pytest.approx(-0.671883891478495, rel=1e-12)
