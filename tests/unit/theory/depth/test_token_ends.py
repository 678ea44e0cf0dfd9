"""Ends and laws of deep stacks of tokens against the gain of one block by quadrature, and against long stacks."""

import math
import pickle

import mpmath as mp
import numpy as np
import pytest

import symres as sr


def transformer(phi, tokens=16, **settings):
    return sr.derive(sr.transformer(phi, **settings), positions=sr.Tokens(tokens))


def branch(phi, slope, C_1, C_2):
    """Mean square of the perceptron of a normalised token and its slope for equal tokens, by quadrature."""

    def mean(f):
        return float(mp.quad(lambda x: mp.npdf(x) * f(mp.sqrt(C_1) * x) ** 2, [-9, 0, 9]))

    return C_2 * mean(phi), C_1 * C_2 * mean(slope)


GELU = (lambda x: x * mp.ncdf(x), lambda x: mp.ncdf(x) + x * mp.npdf(x))
TANH = (mp.tanh, lambda x: mp.sech(x) ** 2)


@pytest.mark.parametrize(
    ("name", "formulas"), [("gelu", GELU), pytest.param("tanh", TANH, marks=pytest.mark.exhaustive)]
)
def test_powers_of_the_depth(name, formulas):
    M, A = branch(*formulas, 0.7, 1.9)
    laws = transformer(name, 9, C_Q=2).rates(C_A=0.6, C_1=0.7, C_2=1.9)
    assert (laws.kind, laws.kernel, laws.similarity) == ("power law", 1, 1)
    assert laws.gradient == pytest.approx((0.6 + A) / (0.6 + M), rel=1e-9)
    assert laws.angle == laws.collapse == pytest.approx(A / (0.6 + M) - 1, rel=1e-9)


@pytest.mark.parametrize("place", ["pre", "post"])
def test_rates_of_layers_that_keep_kernels(place):
    g, C_A, (M, A) = 0.36, 0.8, branch(*GELU, 1.2, 1.5)
    laws = transformer("gelu", place=place, gamma="3/5").rates(C_A="4/5", C_1="6/5", C_2="3/2")
    assert (laws.kind, laws.kernel, laws.similarity) == ("exponential", 0, 1)
    if place == "post":
        gradient = math.log((g + A) / (g + M))
        angle = gradient + math.log(g / (g + C_A))
    else:
        kernel = (g * C_A + M) / (1 - g**2)
        middle = g * kernel + C_A
        gradient = math.log((g * middle + A) / (g * middle + M))
        angle = gradient + math.log(g * kernel / middle)
    assert (laws.gradient, laws.angle) == pytest.approx((gradient, angle), rel=1e-10)


def test_where_tokens_stay_apart():
    """The root of ``p' - rho q'`` of the branches, from arcsines and overlaps; both slopes by differences."""
    T, C_A, sigma, C_1, C_2 = 8, 0.06, 1.5, 0.9, 1.1

    def gain(rho):
        S = sigma * (1 - rho)
        attention = rho + sr.softmax_overlap(S, S, rho * S, T=T) - rho * sr.softmax_overlap(S, S, S, T=T)
        kappa, M = (C_2 * 2 / math.pi * math.asin(2 * C_1 * c / (1 + 2 * C_1)) for c in (rho, 1))
        return C_A * (1 - rho) * attention + kappa - rho * M

    theory, at = transformer("erf", T, C_Q=sigma), {"C_A": C_A, "C_1": C_1, "C_2": C_2}
    (end, attracts), (one, collapses) = theory.similarity_fixed_points(**at)
    assert (attracts, one, collapses) == (True, 1, False)
    assert abs(gain(end)) < 1e-12
    grown = C_A * (end + (1 - end) * sr.softmax_overlap(*[sigma * (1 - end)] * 3, T=T))
    grown += C_2 * 2 / math.pi * math.asin(2 * C_1 / (1 + 2 * C_1))
    laws = theory.rates(**at)
    assert laws.similarity == end
    assert laws.angle == pytest.approx((gain(end + 1e-3) - gain(end - 1e-3)) / 2e-3 / grown, rel=1e-4)
    assert laws.collapse > 0 > laws.angle


@pytest.mark.exhaustive
def test_strong_scores_have_two_ends():
    """SwiGLU with C_A = 0.45 and scores of variance 64: .0497 attracts, .7186 divides, 1 attracts."""
    theory = transformer("silu", 64, norm="rms", gated=True, C_Q=8, C_K=8, C_A="0.45")
    ends = theory.similarity_fixed_points(C_1=1, C_2=1, C_3=1)
    assert [(round(rho, 4), attracts) for rho, attracts in ends] == [(0.0497, True), (0.7186, False), (1, True)]
    similar = [theory.rates(similarity=rho, C_1=1, C_2=1, C_3=1).similarity for rho in (0.5, 0.8)]
    assert similar == [ends[0][0], 1]


@pytest.mark.exhaustive
def test_long_stacks_follow_the_rates():
    theory, at = transformer("gelu", place="post"), {"C_A": 1, "C_1": 1, "C_2": 1}
    similar, laws = theory.similarity(60, K=1, C=0.5, **at), theory.rates(**at)
    assert float(mp.log((1 - similar[-1]) / (1 - similar[-2]))) == pytest.approx(laws.angle, rel=1e-9)
    gradients = [theory.apjn(0, depth, K=1, C=0.5, **at) for depth in (59, 60)]
    assert float(mp.log(gradients[1] / gradients[0])) == pytest.approx(laws.gradient, rel=1e-9)


@pytest.mark.exhaustive
def test_stacks_grow_as_powers_say():
    """Local slopes in log(depth) at a kernel of 2000, where corrections are of order one over it."""
    theory, at = transformer("relu"), {"C_A": 1, "C_1": 1, "C_2": 2}
    laws, start = theory.rates(**at), 2000
    similar = theory.similarity(40, K=start, C=start - 1, **at)
    depth = start / 2 + np.array([0, 40])
    slope = float(mp.log((1 - similar[-1]) / (1 - similar[0]))) / np.log(depth[1] / depth[0])
    assert slope == pytest.approx(laws.angle, rel=0.03)
    gradient = float(mp.log(theory.apjn(0, 40, K=start, C=start - 1, tokens="all", **at)))
    assert gradient / np.log(depth[1] / depth[0]) == pytest.approx(laws.gradient, rel=0.01)


def test_kernels_that_explode():
    """Without a norm kernels grow by a factor: the average of tokens adds its own to that of a dense layer."""
    theory = sr.derive("2*z + Pool(z)", positions=sr.Tokens(4))
    laws = theory.rates()
    assert (laws.kind, laws.similarity) == ("exponential", 1)
    assert (laws.kernel, laws.gradient) == pytest.approx((math.log(9), math.log(9)), rel=1e-12)
    assert laws.collapse == pytest.approx(math.log(4 / 9), rel=1e-12)  # differences between tokens see the skip alone


def test_one_token():
    assert transformer("relu", 1).similarity_fixed_points(C_A=1, C_1=1, C_2=2) == ((1, True),)


@pytest.mark.exhaustive
def test_theories_go_to_other_processes():
    theory, at = transformer("relu", 4), {"C_A": 1, "C_1": 1, "C_2": 2}
    similar, laws = theory.similarity(2, K=1, C=0, **at), theory.rates(**at)
    copied = pickle.loads(pickle.dumps(theory))
    assert (copied.similarity(2, K=1, C=0, **at), copied.rates(**at)) == (similar, laws)


def test_no_ends():
    with pytest.raises(sr.DeclarationError, match="needs a number of tokens"):
        sr.derive("relu", layer="transformer").rates(C_A=1, C_1=1, C_2=2)
    with pytest.raises(sr.DeclarationError, match="have no positions"):
        sr.derive("relu").rates(C_W=2, C_b=0)
    with pytest.raises(sr.DeclarationError, match="C_A of the layer"):
        transformer("relu").similarity_fixed_points(C_1=1, C_2=2)


def test_laws_that_are_logarithms_have_the_exponent_zero():
    """Pixels of a convolutional residual network with ReLU: K and K - C grow by factors that tend to 1 alike."""
    laws = sr.derive(sr.conv_resnet("relu"), positions=sr.Tokens(4)).rates(C_1=2, C_2=2)
    assert laws.angle == laws.collapse == 0
