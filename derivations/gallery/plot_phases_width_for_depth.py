r"""
Width that a depth needs
========================

*How wide must my network be for its depth, and does a skip connection allow more layers?*

In a network of width :math:`n` neurons are correlated through their common kernel. At criticality the four-point
vertex :math:`V = n\,E[z_i^2 z_j^2]_c` over :math:`K^2` grows by :math:`\nu` in each layer, so that the squared
relative scatter of kernels is :math:`\nu L/n` after :math:`L` layers. The ratio of depth to width that is best by the criterion of Roberts, Yaida and
Hanin, :math:`r^\star`, falls when :math:`\nu` rises.
"""

import matplotlib.pyplot as plt
import numpy as np

import symres as sr

# %%
# Three activations
# -----------------

print("activation  nu       r*       best depth at width 128, 512, 2048")
for name in ("relu", "gelu", "tanh"):
    theory = sr.derive(name)
    ratio = float(theory.aspect_ratio.evalf(n_L=1))
    depths = ", ".join(f"{width * ratio:.0f}" for width in (128, 512, 2048))
    print(f"{name:10s}  {float(theory.nu.evalf()):.5f}  {ratio:.5f}  {depths}")

# %%
# With a skip connection
# ----------------------
# In ``z' = gamma z + Dense(relu(z))`` the weights that keep the kernel are :math:`C_W = 2 (1 - \gamma^2)`.

theory = sr.derive(sr.residual("relu"))
gammas = np.linspace(0, 0.97, 60)
ratios = [float(theory.aspect_ratio.evalf(gamma=gamma, n_L=1)) for gamma in gammas]
(best,) = theory.optimal_gamma(r="0.1", n_L=1)
print(f"30 layers of width 300 are at their best at gamma = {float(best):.4f}")

# %%
# Simulated networks
# ------------------
# Given one layer, the preactivations of the next are independent Gaussian numbers, if weights are: they can be drawn
# without drawing weights, and 8000 networks of width 1000 take seconds. Standard errors are those of 20 groups.

WIDTH, NETWORKS, DEPTH, GROUPS = 1000, 8000, 4, 20
generator = np.random.default_rng(0)


def simulate(gamma):
    """The vertex of each layer, of shape (GROUPS, DEPTH), in units of the squared kernel."""
    vertices = np.empty((GROUPS, DEPTH))
    for group in range(GROUPS):
        z = generator.standard_normal(
            (NETWORKS // GROUPS, WIDTH), dtype=np.float32
        )  # behind a read-in layer
        for layer in range(DEPTH):
            variance = 2 * (1 - gamma**2) * (np.maximum(z, 0) ** 2).mean(1, keepdims=True)
            z = gamma * z + variance**0.5 * generator.standard_normal(
                z.shape, dtype=np.float32
            )
            square, fourth = (z**2).mean(1, dtype=float), (z**4).mean(1, dtype=float)
            pairs = (WIDTH * square**2 - fourth) / (WIDTH - 1)
            vertices[group, layer] = WIDTH * (pairs.mean() / square.mean() ** 2 - 1)
    return vertices


figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.8), layout="constrained")
left.plot(gammas, ratios, color="#0072B2")
left.plot([best], [0.1], "*", color="black", ms=10)
left.annotate(f"0.1 at $\\gamma = {float(best):.3f}$", (float(best), 0.1), (0.35, 0.103))
left.set(
    xlabel=r"$\gamma$, weight of the skip connection",
    ylabel=r"best depth over width, $r^\star$",
    ylim=(0, 0.2),
)
for gamma, colour, marker in (
    (0.0, "#0072B2", "o"),
    (0.5, "#D55E00", "s"),
    (0.9, "#009E73", "^"),
):
    derived = theory.vertex(DEPTH, 1, C_W=2 * (1 - gamma**2), C_b=0, gamma=gamma)
    samples = simulate(gamma)
    means, errors = samples.mean(0), samples.std(0, ddof=1) / GROUPS**0.5
    right.plot(range(DEPTH + 1), derived, color=colour)
    right.errorbar(
        range(1, DEPTH + 1),
        means,
        2 * errors,
        fmt=marker,
        color=colour,
        label=rf"$\gamma = {gamma:g}$",
    )
    print(
        f"gamma = {gamma}: networks {means.round(2)} +- {errors.round(2)}, theory {np.round(derived[1:], 2)}"
    )
    assert (
        abs(means - derived[1:]) < 4 * errors + 0.02 * np.array(derived[1:])
    ).all()  # theory to order 1/n
right.set(xlabel="layer", ylabel="vertex $V/K^2$", xticks=range(DEPTH + 1))
right.legend(frameon=False)

# %%
# **What it shows**: without a skip connection ReLU networks are at their best at 29 times more neurons than layers. The
# skip connection first makes this worse, up to a weight of about 0.45, and then better: neurons that remember earlier
# layers add to the vertex, while each layer changes less. On the right lines are the theory, and dots with bars of two
# standard errors simulated networks.
