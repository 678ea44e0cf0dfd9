r"""
Universality classes of activations
===================================

*By which laws do signals of my activation decay at criticality, and which activations share them?*

At the critical point a kernel changes by powers of the depth, :math:`K - K^* \sim a\,l^{-p}`, and so does the squared
norm of the Jacobian, :math:`J \sim l^{-q}`. The powers depend on few properties of the activation near the critical
kernel, so that many activations share them.
"""

import matplotlib.pyplot as plt
import numpy as np

import symres as sr

# %%
# The classes of nine activations
# -------------------------------

print("activation        class             C_W       p    q")
for name in (
    "relu",
    "leaky_relu(0.1)",
    "tanh",
    "erf",
    "sin",
    "softsign",
    "gelu",
    "silu",
    "softplus",
):
    theory = sr.derive(name)
    weights = (
        f"{float(theory.critical_points[0].C_W):.6f}" if theory.critical_points else "-"
    )
    both = theory.exponents.kernel, theory.exponents.jacobian
    words = ["-" if power is None else f"{float(power):.4g}" for power in both]
    print(
        f"{name:17s} {theory.universality_class:17s} {weights:9s} {words[0]:4s} {words[1]}"
    )

# %%
# GELU and SiLU are half-stable: their powers :math:`q` of -65 and 608 hold only after some two
# thousand and some twenty-five thousand layers. Softplus has no critical point.
#
# Ten thousand layers
# -------------------
# Four of these activations, at their critical points, with averages from Gauss and Legendre's rule on either side of
# zero, in NumPy. The last thousand layers are where powers are fitted.

edges, heights = np.polynomial.legendre.leggauss(80)
nodes = np.concatenate([5 * edges - 5, 5 * edges + 5])
mass = np.concatenate([heights, heights]) * np.exp(-(nodes**2) / 2)
mass /= mass.sum()

functions = {  # with their derivatives
    "relu": (lambda z: np.maximum(z, 0), lambda z: 1.0 * (z > 0)),
    "tanh": (lambda z: np.tanh(z), lambda z: np.cosh(z) ** -2),
    "sin": (lambda z: np.sin(z), lambda z: np.cos(z)),
    "softsign": (lambda z: z / (1 + abs(z)), lambda z: (1 + abs(z)) ** -2),
}
DEPTH = 10_000


def propagate(name):
    """Kernels and squared Jacobian norms behind each layer, from an input of kernel 1."""
    phi, slope = functions[name]
    C_W = float(sr.derive(name).critical_points[0].C_W)
    kernels, jacobians = np.ones(DEPTH), np.ones(DEPTH)
    for layer in range(1, DEPTH):
        z = kernels[layer - 1] ** 0.5 * nodes
        kernels[layer] = C_W * mass @ phi(z) ** 2
        jacobians[layer] = jacobians[layer - 1] * C_W * (mass @ slope(z) ** 2)
    return kernels, jacobians


layers = np.arange(DEPTH)
shown = np.unique(np.geomspace(1, DEPTH - 1, 25).astype(int))
figure, panels = plt.subplots(1, 2, figsize=(7.4, 4), layout="constrained")
colours = ("#E69F00", "#0072B2", "#009E73", "#D55E00")
for name, colour, marker in zip(functions, colours, "os^D", strict=True):
    exponents = sr.derive(name).exponents
    powers = np.array([exponents.kernel, exponents.jacobian], dtype=float)
    amplitude = np.array(exponents.amplitude, dtype=float)
    fitted = []
    for axes, values, power in zip(panels, propagate(name), powers, strict=True):
        fitted.append(np.polyfit(np.log(layers[-1000:]), np.log(values[-1000:]), 1)[0])
        assert abs(fitted[-1] + power) < 0.02
        law = layers[10:] ** -power
        front = amplitude if axes is panels[0] and power else values[-1] / law[-1]
        axes.plot(layers[10:], front * law, color=colour)
        axes.plot(
            shown,
            values[shown],
            marker,
            color=colour,
            ms=4,
            label=f"{name}, {fitted[-1]:.3f}",
        )
    print(
        f"{name:9s} fitted powers of the depth: kernel {fitted[0]:.4f}, Jacobian {fitted[1]:.4f}"
    )
for axes, title in zip(panels, ("kernel $K$", "squared Jacobian norm $J$"), strict=True):
    axes.set(xscale="log", yscale="log", xlabel="layer", title=title, ylim=(1e-9, 5))
    axes.legend(title="fitted power", loc="lower left", frameon=False)

# %%
# **What it shows**: iterated kernels (dots) bend into the derived laws (lines) within some tens of layers. Tanh and
# sine share their powers, 1 and 1, with different amplitudes; softsign, whose second derivative jumps at zero, loses
# its signals with powers 2 and 2; ReLU keeps every kernel. Lines of kernels have derived amplitudes, such as
# :math:`\pi/(8 l^2)` for softsign; lines of Jacobians are fixed at the last dot.
