r"""
Theory as lines, networks as dots
=================================

*How well does a theory of infinitely wide networks describe networks of a hundred neurons, and how much do they
scatter?*

The kernel of a layer is the mean square of its preactivations. Over networks of width :math:`n` it has the mean
:math:`K^l` and the variance :math:`(2 (K^l)^2 + V^l)/n`: the first part is there in any sample of :math:`n` Gaussian
numbers, the second, the four-point vertex, is what neurons have in common.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import symres as sr

C_W, C_b, WIDTH, DEPTH, NETWORKS = 1.5, 0.1, 100, 20, 1000

# %%
# Theory
# ------

theory = sr.derive("tanh")
kernels = np.array(theory.kernels(DEPTH, 1, C_W=C_W, C_b=C_b), dtype=float)
vertices = np.array(theory.vertex(DEPTH, 1, C_W=C_W, C_b=C_b), dtype=float)
jacobians = np.array(
    [theory.jacobian(0, layer, 1, C_W=C_W, C_b=C_b) for layer in range(DEPTH + 1)],
    dtype=float,
)
deviations = np.sqrt((2 * kernels**2 + vertices) / WIDTH)

# %%
# Networks
# --------
# PyTorch draws networks, and multiplies their Jacobians with respect to the input layer by layer.

torch.manual_seed(0)
measured, norms = np.empty((NETWORKS, DEPTH)), np.empty((NETWORKS, DEPTH))
for network in range(NETWORKS):
    h, jacobian = torch.randn(WIDTH), torch.eye(WIDTH)
    for layer in range(DEPTH):
        weights = torch.randn(WIDTH, WIDTH) * (C_W / WIDTH) ** 0.5
        jacobian = weights @ ((1 - torch.tanh(h) ** 2)[:, None] * jacobian)
        h = weights @ torch.tanh(h) + C_b**0.5 * torch.randn(WIDTH)
        measured[network, layer] = h.square().mean()
        norms[network, layer] = jacobian.square().sum() / WIDTH

layers = np.arange(1, DEPTH + 1)
spread = norms.std(0, ddof=1)
figure, panels = plt.subplots(1, 2, figsize=(7.6, 3.8), layout="constrained")
SHOWN = 100
jitter = np.random.default_rng(0).uniform(-0.25, 0.25, SHOWN)
for axes, dots in zip(panels, (measured, norms), strict=True):
    for index in range(DEPTH):
        label = None if index else "a network"
        axes.plot(
            1 + index + jitter, dots[:SHOWN, index], ".", color="0.6", ms=2, label=label
        )
band = {"color": "#0072B2", "alpha": 0.25}
panels[0].fill_between(
    layers,
    (kernels - 2 * deviations)[1:],
    (kernels + 2 * deviations)[1:],
    label="theory, 2 deviations",
    **band,
)
panels[0].plot(range(DEPTH + 1), kernels, color="#0072B2", label="theory, mean")
panels[1].plot(range(DEPTH + 1), jacobians, color="#0072B2", label="theory, mean")
error_bars = {"fmt": "o", "ms": 4, "color": "#D55E00", "label": "mean of networks"}
panels[0].errorbar(
    layers, measured.mean(0), 2 * measured.std(0, ddof=1) / NETWORKS**0.5, **error_bars
)
panels[1].errorbar(layers, norms.mean(0), 2 * spread / NETWORKS**0.5, **error_bars)
panels[0].set(xlabel="layer", ylabel="kernel", ylim=(0, 1.6))
panels[1].set(xlabel="layer", ylabel="squared Jacobian norm", yscale="log")
panels[0].legend(frameon=False, loc="upper right")
panels[1].legend(frameon=False, loc="lower left")

# %%
# **What it shows**: means over networks (orange, bars of two standard errors) lie on the lines of infinite width, to
# corrections of order 1/n. Single networks (grey) scatter as the band says. Without the four-point vertex it would be
# too narrow: their variance is 1.35 times that of 100 independent numbers.

inside = (abs(measured - kernels[1:]) < 2 * deviations[1:]).mean()
print(f"{inside:.1%} of the kernels are within the band")
variances = measured.var(0, ddof=1)
ratio = (variances / deviations[1:] ** 2).mean()  # each layer's has an error of 4.5 %
alone = (variances * WIDTH / (2 * kernels[1:] ** 2)).mean()
print(f"variance over theory: {ratio:.3f}; over that of independent neurons: {alone:.3f}")
assert abs(ratio - 1) < 0.06 and alone > 1.25
correction = 3 * kernels[1:] / WIDTH  # room for corrections of order 1/n
assert (
    abs(measured.mean(0) - kernels[1:]) < 4 * measured.std(0) / NETWORKS**0.5 + correction
).all()
assert (
    abs(norms.mean(0) - jacobians[1:])
    < 4 * spread / NETWORKS**0.5 + layers / WIDTH * jacobians[1:]
).all()
