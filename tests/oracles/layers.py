"""Layers of every architecture, each with a few activations: what a check of networks should be able to say yes to."""

import sympy as sp

import symres as sr
from symres.check.rows.jacobian_rows import jacobian_rows
from symres.check.rows.simulation_case import Task
from symres.check.sampling.random_points import ORDINARY
from symres.check.simulation.width_extrapolation import Budget
from tests.oracles.kernels import FakeTheory

z, gamma, xi = sr.z, sr.gamma, sr.xi
Dense, LayerNorm, RMSNorm, erf = sr.Dense, sr.LayerNorm, sr.RMSNorm, sr.activation("erf")


BUILD = {
    "mlp": sr.mlp,
    "residual": sr.residual,
    "pre_ln": lambda phi: sr.pre_ln(phi, gamma),
    "ln_act": lambda phi: sr.ln_act(phi, gamma),
    "two_layer_block": lambda phi: sr.two_layer_block(phi, gamma),
    "batch_norm": lambda phi: sr.batch_norm(phi, gamma),
    "batch_norm, 2 units": lambda phi: sr.batch_norm(phi, gamma, units=2),
} | {
    name: lambda phi, forward=forward: sr.Layer(forward(sr.activation(phi)))
    for name, forward in {
        "post_ln": lambda phi: LayerNorm(gamma * z + Dense(phi(z))),
        "glu": lambda phi: gamma * z + Dense(phi(Dense(z)) * Dense(z)),
        "rms_before": lambda phi: gamma * z + Dense(phi(RMSNorm(z))),
        "rms_after": lambda phi: gamma * z + Dense(RMSNorm(phi(z))),
        "branch_twice": lambda phi: (lambda h: gamma * z + xi * h + Dense(erf(h)))(Dense(phi(z))),
        "of_a_sum": lambda phi: Dense(erf(gamma * z + Dense(phi(z)))),
        "gate": lambda phi: Dense(z * phi(z + Dense(z))),
        "normed_branch": lambda phi: z + LayerNorm(Dense(phi(z))),
    }.items()
}

PAIRS = [
    *(("mlp", phi) for phi in ("relu", "softplus", "sin", "leaky_relu")),
    *(("residual", phi) for phi in ("tanh", "silu", "gelu")),
    *(("pre_ln", phi) for phi in ("erf", "relu", "softplus")),
    *(("ln_act", phi) for phi in ("relu", "sin", "gelu")),
    *(("two_layer_block", phi) for phi in ("relu", "erf", "leaky_relu")),
    *(("post_ln", phi) for phi in ("tanh", "relu")),
    *(("glu", phi) for phi in ("erf", "sin")),
    *(("rms_before", phi) for phi in ("gelu", "silu")),
    *(("rms_after", phi) for phi in ("tanh", "relu")),
    *(("branch_twice", phi) for phi in ("tanh", "gelu")),
    *(("of_a_sum", phi) for phi in ("gelu", "relu")),
    *(("gate", phi) for phi in ("erf", "sin")),
    *(("normed_branch", phi) for phi in ("relu", "erf")),
    ("batch_norm", "relu"),
    ("batch_norm, 2 units", "erf"),
]


def theory(layer, phi):
    return sr.derive(BUILD[layer](phi))


VALUES = {"C_W": "1.3", "C_b": "0.2", "gamma": "0.6", "xi": "0.5", "slope": "0.3", "C": "0.4"}


def rows_about_jacobians(forward, claims, *, K="1.1", depth=2, precision=0.013, seed=0):
    """The rows of a check of ``claims`` about the Jacobians of networks of a layer, at the values above."""
    layer = sr.Layer(forward)
    symbols = {*layer.forward.free_symbols, *(s for claim in claims.values() for s in claim.symbols)} - {z, sr.K}
    numbers = {s: sp.Rational(VALUES[str(s)]) for s in sorted(symbols - {sr.K1, sr.K2}, key=str)}
    if sr.C not in claims["kernel_map"].symbols:
        numbers.pop(sr.C, None)
    task = Task(FakeTheory(layer.forward, claims), claims, numbers, seed, Budget(precision), ORDINARY, False, {})
    return jacobian_rows(task, sp.Rational(K), depth)
