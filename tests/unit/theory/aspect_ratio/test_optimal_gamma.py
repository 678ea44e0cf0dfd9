"""The inverse of the aspect ratio, against a scan of closed forms written by hand: every branch, both ends."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

import symres as sr
from tests.oracles.two_times import nu_of_slopes
from tests.shared import derived


def nu_at_zero(gamma):
    """Nu where kernels flow to 0, whatever the odd function is."""
    return 2 / 3 * (1 - gamma) * (1 + gamma) * (1 + gamma**2)


NU = {
    "relu": partial(nu_of_slopes, 1.0, 0.0),
    "where(z < 0, z/4, z)": partial(nu_of_slopes, 1.0, 0.25),
    "abs": partial(nu_of_slopes, 1.0, -1.0),
    "where(z < 0, -z/2, z)": partial(nu_of_slopes, 1.0, -0.5),
    "tanh": nu_at_zero,
    "erf": nu_at_zero,
}
GRID = [*np.linspace(0, 0.9375, 151).tolist(), *(1 - 2.0**-k for k in np.linspace(4, 14, 41)[1:])]


def ratio(name, outputs, gamma):
    return float(4 / ((20 + 3 * outputs) * NU[name](gamma)))


def scanned(name, r, outputs):
    """Every gamma with this ratio, by signs on a fine grid."""
    excess = [ratio(name, outputs, gamma) - r for gamma in GRID]
    return [
        brentq(lambda g: ratio(name, outputs, g) - r, low, high, xtol=1e-15, rtol=1e-15)
        for (low, high), (a, b) in zip(pairwise(GRID), pairwise(excess), strict=True)
        if a * b < 0
    ]


@pytest.mark.parametrize(
    ("r", "outputs", "expected"), [(1, 10, 0.997281211598), (10, 1, 0.999410845235), (10, 10, 0.999729118181)]
)
def test_ordinary_arguments(r, outputs, expected):
    assert float(derived(sr.residual("relu")).optimal_gamma(r, outputs)) == pytest.approx(expected, abs=6e-13)


@pytest.mark.exhaustive
@pytest.mark.parametrize("outputs", [1, 2, 10, 100])
@pytest.mark.parametrize("name", NU)
def test_every_gamma_of_a_ratio(name, outputs):
    """Ratios from just above the least to just below the largest, those of gamma = 0 and of turns among them."""
    theory, heights = derived(sr.residual(name)), [ratio(name, outputs, gamma) for gamma in GRID]
    vanilla, deepest, least = heights[0], heights[-1], min(heights)
    for r in (1.001 * least, 0.999 * vanilla, 1.001 * vanilla, 3 * vanilla, 0.1, 1, 5, 0.999 * deepest):
        expected = scanned(name, r, outputs)
        if least < r < deepest:
            found = theory.optimal_gamma(repr(float(r)), outputs)
            assert len(found) == len(expected)
            for gamma, other in zip(found, expected, strict=True):
                assert gamma == pytest.approx(other, rel=1e-11)
                assert 1 - gamma == pytest.approx(1 - other, rel=1e-9)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NU)
def test_both_ends(name):
    """At gamma = 0 and at the turn the ratio is taken; below the least and beyond the largest it is refused."""
    theory = derived(sr.residual(name))
    curve = theory.aspect_ratio_curve(1)
    heights = [ratio(name, 1, gamma) for gamma in GRID]
    assert curve.least[1] == pytest.approx(min(heights), rel=1e-4)
    assert curve.least[1] <= min(heights) * (1 + 1e-12)
    vanilla = theory.aspect_ratio.evalf(20, gamma=0, n_L=1)
    assert min(theory.optimal_gamma(vanilla, 1)) == pytest.approx(0, abs=1e-7)
    assert list(theory.optimal_gamma(repr(curve.least[1]), 1)) == pytest.approx([curve.least[0]], abs=1e-6)
    assert theory.optimal_gamma(repr(ratio(name, 1, 1 - 2.0**-14) * (1 - 1e-12)), 1)[-1] == pytest.approx(1 - 2.0**-14)
    with pytest.raises(sr.DeclarationError, match="smallest optimal ratio"):
        theory.optimal_gamma(repr(curve.least[1] * (1 - 1e-9)), 1)
    with pytest.raises(sr.DeclarationError, match=r"too close to 1"):
        theory.optimal_gamma(repr(ratio(name, 1, 1 - 2.0**-14) * 1.001), 1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_generated_searches(name):
    module = sr.export(derived(sr.residual(name)).optimal_gamma_procedure).load()
    heights = [ratio(name, 10, gamma) for gamma in GRID]
    for r in (1.001 * min(heights), (0.9 * heights[0] + 0.1 * min(heights)) * (1 + 1e-9), 1.001 * heights[0], 1, 5):
        found, expected = module.optimal_gamma(r, 10).tolist(), scanned(name, r, 10)
        flat = name == "tanh" and min(expected) < 0.1  # 1 - gamma^4 is 1 - 1e-9 there: floats tell gamma to 1e-7
        assert found == pytest.approx(expected, rel=1e-7 if flat else 1e-11)
        assert [ratio(name, 10, gamma) for gamma in found] == pytest.approx([r] * len(found), rel=1e-14)
