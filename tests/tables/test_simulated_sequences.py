"""Layers with tokens beside networks of real heads, windows and pools: every map, and derivatives of three layers."""

import numpy as np
import pytest

import symres as sr
from symres.check import Budget, check

PRE = "h = z + Attention({norm}(z), C_A, 0, {scores}); h + Dense(phi(Dense({norm}(h), C_1, 0)), C_2, 0)"
POST = "h = LayerNorm(z + Attention(z, C_A, 0, {scores})); LayerNorm(h + Dense(phi(Dense(h, C_1, 0)), C_2, 0))"
BLOCKS = {
    "pre-LN": ("gelu", PRE.format(norm="LayerNorm", scores="1, 1"), 16),
    "pre-LN, strong scores": ("relu", PRE.format(norm="LayerNorm", scores="4, 2"), 8),
    "pre-RMS, two tokens": ("silu", PRE.format(norm="RMSNorm", scores="2, 1"), 2),
    "post-LN": ("gelu", POST.format(scores="1, 1"), 8),
    "gated": ("silu", "transformer(norm=rms, gated)", 8),
    "biases": ("tanh", "z/2 + Attention(phi(z), C_A, C_b, 4, 1, C_bQ=1, C_bV=0.5)", 12),
    "tied": ("gelu", 'z + Attention(phi(z), C_A, 0, 2, 1, tied=True, scale="1/d")', 8),
    "other keys": ("relu", "h = Dense(phi(z), C_1, 0); z/2 + Attention(z, C_A, 0, 2, 1, keys=h)", 6),
    "convolution": ("relu", "gamma*z + Conv(phi(LayerNorm(z)), C_W, C_b, 3)", 12),
    "window with shares": ("erf", "z/2 + Conv(phi(z), C_W, C_b, window=[1, 2, 1])", 9),
    "mixer": ("erf", "mixer", "oo"),
    "pool": ("gelu", "z/2 + Dense(Pool(phi(z)), C_W, C_b)", 9),
    "norm over positions": ("relu", "z/2 + Dense(phi(LayerNorm(z, positions)), C_W, C_b)", 5),
}

BUDGET = Budget(precision=0.0018)  # at most 1 % of error for gradients of three post-LN blocks too


def theory(activation, equation, tokens, **numbers):
    if equation.startswith("transformer("):
        layer = sr.transformer(activation, norm="rms", gated=True)
    elif equation == "mixer":
        layer = sr.mixer(activation)
    else:
        layer = sr.layer(equation, phi=activation, **numbers)
    return layer.derive(positions=sr.Tokens(tokens))


def agreeing(rows):
    """The rows as lines, having been seen to agree with errors of 1 % at most: of derivatives, of the change t = 1."""
    for row in rows:
        print(f"{row.quantity:<24}{float(row.claimed):>12.6g}{float(row.value):>12.6g}{row.z:>7.2f}  {row.point}")
        size = max(abs(float(row.value)), abs(float(row.claimed)), 1.0 if row.quantity == "apjn" else 0.0)
        assert abs(row.z) < 4.5
        assert row.error <= 0.01 * size or "scale" in row.reason, row
    return len(rows)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name):
    assert agreeing(check(theory(*BLOCKS[name]), "simulation", budget=BUDGET, progress=False).verdicts) >= 9


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20))
def test_drawn_blocks(seed):
    """The block, its activation, the number of tokens and all variances at random."""
    rng = np.random.default_rng(seed)
    scores = f"{rng.uniform(0.2, 4):.2f}, {rng.uniform(0.5, 2):.2f}"
    equation = (PRE, POST)[rng.integers(2)].format(norm=rng.choice(["LayerNorm", "RMSNorm"]), scores=scores)
    tokens, activation = int(rng.integers(2, 20)), rng.choice(["gelu", "relu", "erf", "tanh"])
    wanted = ["kernel_map", "covariance_map", "chi_perp"]
    rows = check(theory(activation, equation, tokens), "simulation", seed, quantities=wanted, progress=False).verdicts
    assert agreeing(rows) >= 4
