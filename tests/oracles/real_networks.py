"""Networks with real Gaussian weights in plain NumPy, written without symres: forward pass and directional derivative.

A layer is a function of a stream and of ``dense``, which draws weights and biases.
"""

from __future__ import annotations

import numpy as np

STEP = 1e-5  # of a central difference, relative to the scale of the inputs


def layer_norm(u):
    return (u - u.mean(axis=0)) / u.std(axis=0)


LAYERS = {
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
                z = LAYERS[layer](z, phi, dense, values)
            own.append(np.mean(z[:, 0] ** 2))
            slopes.append(np.mean(((z[:, 1] - z[:, 2]) / (2 * step)) ** 2))
        kernels.append(own)
        gradients.append(slopes)
    return np.array(kernels), np.array(gradients)


def change(values):
    """The largest over the smallest along the depth of what is averaged over the seeds."""
    mean = np.asarray(values).mean(axis=0)
    return mean.max() / mean.min() if np.all(np.isfinite(mean)) and mean.min() > 0 else np.inf
