"""Advice on initialisation, held in networks with real weights that share no code with symres."""

import numpy as np
import pytest
from scipy import special

import symres as sr
from tests.oracles.sections import PARAMETERS, sections

DEPTH, WIDTH, SEEDS, FACTOR = 50, 512, 10, 5
z = sr.z

# not in the catalogue: formula, and the function by hand
TYPED = {
    "star_relu": ("0.8944*max(z,0)^2 - 0.4472", lambda u: 0.8944 * np.maximum(u, 0) ** 2 - 0.4472),
    "squared_relu": ("max(z,0)^2", lambda u: np.maximum(u, 0) ** 2),
    "log_cosh": ("log(cosh(z))", lambda u: np.logaddexp(u, -u) - np.log(2)),
    "quick_gelu": ("z*sigmoid(1.702*z)", lambda u: u * special.expit(1.702 * u)),
    "pade": ("(z + z^2/2 + z^3/10)/(1 + z^2/5)", lambda u: (u + u**2 / 2 + u**3 / 10) / (1 + u**2 / 5)),
}
LAYERS = {
    "mlp": ("mlp", {}, sr.mlp),
    "residual, gamma = 1": ("residual", {"gamma": 1.0}, lambda phi: sr.residual(phi, gamma=1)),
    "residual, gamma = 1/2": ("residual", {"gamma": 0.5}, lambda phi: sr.residual(phi, gamma="1/2")),
    "residual": ("residual", {}, sr.residual),
    "pre_ln with skip": ("pre_ln", {"gamma": 1.0}, lambda phi: sr.pre_ln(phi, gamma=1)),
    "pre_ln": ("pre_ln", {"gamma": 0.0}, sr.pre_ln),
    "two_layer_block": ("block", {}, sr.two_layer_block),
    "glu": ("glu", {"gamma": 1.0}, lambda phi: sr.Layer(z + sr.Dense(phi(sr.Dense(z)) * sr.Dense(z)))),
    "glu, gamma = 1/2": ("glu", {"gamma": 0.5}, lambda phi: sr.Layer(z / 2 + sr.Dense(phi(sr.Dense(z)) * sr.Dense(z)))),
}
FAST = [
    ("gelu", "mlp"),
    ("star_relu", "mlp"),
    ("tanh", "residual, gamma = 1"),
]
EVERY = [(name, layer) for name in (*sr.activations, *TYPED) for layer in LAYERS]


def chosen(name):
    """The activation, and the same by hand."""
    if name in TYPED:
        formula, function = TYPED[name]
        return sr.activation(formula), function
    return sr.activation(name).subs(**PARAMETERS.get(name, {})), sections(name).in_floats


def tried(name, layer):
    """Advice, and kernels and squared gradients of networks drawn with it; None where there is no advice."""
    phi, function = chosen(name)
    built, values, make = LAYERS[layer]
    advice = sr.derive(make(phi)).advice(depth=DEPTH, width=WIDTH)
    if not advice.holds:
        return advice, None
    return advice, paths(built, function, advice, values | advice.parameters, DEPTH, WIDTH, SEEDS)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "layer"), [*FAST, *(pytest.param(*c, marks=pytest.mark.exhaustive) for c in EVERY if c not in FAST)]
)
def test_advice_holds_or_says_that_it_does_not(name, layer):
    advice, found = tried(name, layer)
    if found is None:
        assert advice.reasons[0].startswith(
            ("Every setting that was tried changes", "On average over networks", "No advice")
        )
        return
    kernels, gradients = found
    assert change(kernels) < FACTOR and change(gradients) < FACTOR
    assert np.mean(kernels[:, 0]) == pytest.approx(advice.kernel, rel=0.08)  # four standard errors


STEP = 1e-5  # of a central difference, relative to the scale of the inputs


def layer_norm(u):
    return (u - u.mean(axis=0)) / u.std(axis=0)


NETWORKS = {
    "mlp": lambda z, phi, dense, p: dense(phi(z)),
    "residual": lambda z, phi, dense, p: p["gamma"] * z + dense(phi(z)),
    "pre_ln": lambda z, phi, dense, p: p["gamma"] * z + dense(phi(layer_norm(z))),
    "block": lambda z, phi, dense, p: z + p["xi"] * dense(phi(dense(z))),
    "glu": lambda z, phi, dense, p: p["gamma"] * z + dense(phi(dense(z)) * dense(z)),
}


def paths(layer, phi, advice, values, depth, width, seeds, inputs=300):
    """Kernels K^0..K^L and squared derivatives along one direction, divided by the first, for each seed.

    Inputs of dimension ``inputs`` and mean square ``advice.inputs_kernel`` go through a dense layer first.
    """
    kernels, gradients = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(1000 + seed)

        def dense(u, rng=rng):
            weights = rng.standard_normal((width, len(u))) * np.sqrt(advice.C_W / len(u))
            return weights @ u + np.sqrt(advice.C_b) * rng.standard_normal((width, 1))

        x = rng.standard_normal(inputs)
        x *= np.sqrt(advice.inputs_kernel / np.mean(x**2))
        z = dense(x[:, None])
        along = rng.choice([-1.0, 1.0], size=(width, 1))
        step = STEP * np.sqrt(np.mean(z**2))
        z = np.concatenate([z, z + step * along, z - step * along], axis=1)
        own, slopes = [], []
        for place in range(depth + 1):
            if place:
                z = NETWORKS[layer](z, phi, dense, values)
            own.append(np.mean(z[:, 0] ** 2))
            slopes.append(np.mean(((z[:, 1] - z[:, 2]) / (2 * step)) ** 2))
        kernels.append(own)
        gradients.append(slopes)
    return np.array(kernels), np.array(gradients)


def change(values):
    """The largest over the smallest along the depth of what is averaged over the seeds."""
    mean = np.asarray(values).mean(axis=0)
    return mean.max() / mean.min() if np.all(np.isfinite(mean)) and mean.min() > 0 else np.inf
