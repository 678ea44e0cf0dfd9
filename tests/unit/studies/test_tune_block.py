"""Blocks that are measured and tuned (PDLT (B.45))."""

import numpy as np
import pytest

import symres as sr


def size_kept(G_RR, G_zz, G_Rz, gamma, xi):
    return xi**2 * G_RR + 2 * gamma * xi * G_Rz - (1 - gamma**2) * G_zz


@pytest.mark.parametrize(("block", "stream", "both"), [(2.0, 1.5, 0.3), (0.4, 3.0, -0.6), (1.0, 1.0, 0.0)])
def test_both_ways(block, stream, both):
    xi = sr.tune_block(block, stream, both, gamma=0.6)
    assert xi > 0
    assert size_kept(block, stream, both, 0.6, xi) == pytest.approx(0, abs=1e-14)
    gamma = sr.tune_block(block, stream, both, xi=0.5)
    assert size_kept(block, stream, both, gamma, 0.5) == pytest.approx(0, abs=1e-14)


def test_a_measured_relu_block():
    """C_W <relu^2> = C_W K/2: with C_W = 2 the block is as large as the stream, and xi^2 = 1 - gamma^2."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((2000, 8))
    R = rng.standard_normal((2000, 2000)) * np.sqrt(2 / 2000) @ np.maximum(z, 0)
    G_RR, G_zz, G_Rz = (a.T @ b / 2000 for a, b in ((R, R), (z, z), (R, z)))
    assert sr.tune_block(G_RR, G_zz, G_Rz, gamma=0.8) == pytest.approx(0.6, rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "named", "said"),
    [
        ((1, 1, 0), {}, "one of gamma and xi"),
        ((1, 1, 0), {"gamma": 0.5, "xi": 1}, "one of gamma and xi"),
        (([[1, 2, 3]], 1, 0), {"gamma": 0.5}, "1x3"),
        ((1, 1, 2), {"gamma": 0.5}, "G_Rz"),
        ((1, 1, 0), {"gamma": 1.5}, "gamma from -1 to 1"),
        ((1, 1, 0.5), {"xi": 5}, r"\|xi\| <= 1.1547"),
        ((-1, 1, 0), {"xi": 0.5}, "mean squares"),
        (([[float("nan")]], 1, 0), {"xi": 0.5}, "not finite"),
        (([[1, 0], [0, 1]], np.eye(3).tolist()), {"gamma": 0.5}, "of 2 and of 3 samples"),
    ],
)
def test_bad_input(arguments, named, said):
    with pytest.raises(sr.DeclarationError, match=said):
        sr.tune_block(*arguments, **named)
