r"""
Zero padding and the critical variance
======================================

*He's variance 2 keeps the signal of a ReLU network. Does it in a convolutional one?*

A window over the edge sees zeros. In a deep network every pixel is near an edge: the kernel decays by the largest
eigenvalue of the window's sums, for a window of three and :math:`P` pixels on a side

.. math:: \lambda = \frac{1 + 2\cos(\pi/(P + 1))}{3}

for each axis, and the variance that keeps signals in a deep network is :math:`2/\lambda^2`.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import symres as sr

# %%
# Kernels of an image
# -------------------

side, depth = 6, 40
conv = sr.layer("Conv(relu(z), C_W, 0)")
theory = sr.derive(conv, positions=sr.Listed(side, side))
white = np.eye(side * side)
eigenvalue = (1 + 2 * np.cos(np.pi / (side + 1))) / 3
variances = {"He, 2": 2.0, "critical here": 2 / eigenvalue**2}
means = {}
for name, C_W in variances.items():
    kernels = theory.kernels(depth, white, C_W=C_W)
    means[name] = [kernel.diagonal().mean() for kernel in kernels]
    print(f"{name:14} C_W = {C_W:.4f}: kernel {means[name][-1]:.4g} behind {depth} layers")

# %%
# Networks of PyTorch
# -------------------
# 256 channels, without symres.


def simulate(C_W, channels=256, networks=6):
    """The mean square of pixels behind each layer, and its standard error."""
    squares = []
    for _ in range(networks):
        z = torch.randn(1, channels, side, side)
        z = z * (side**2 * channels / z.pow(2).sum()) ** 0.5
        squares.append([1.0])
        for _ in range(depth):
            weight = torch.randn(channels, channels, 3, 3) * (C_W / (9 * channels)) ** 0.5
            z = torch.nn.functional.conv2d(torch.relu(z), weight, padding=1)
            squares[-1].append(z.pow(2).mean().item())
    drawn = np.array(squares)
    return drawn.mean(0), drawn.std(0, ddof=1) / networks**0.5


torch.manual_seed(0)
plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for name, curve in means.items():
    (line,) = axes.semilogy(curve, label=f"$C_W$: {name}")
    mean, error = simulate(variances[name])
    axes.errorbar(
        range(0, depth + 1, 4), mean[::4], error[::4], fmt="o", ms=3, color=line.get_color()
    )
    assert abs(mean[12] - curve[12]) < 4 * error[12] + 5 * 12 / 256 * curve[12]
axes.set(xlabel="layer", ylabel="mean square of a pixel")
axes.legend()

# %%
# **What it shows**: with He's variance an image of 6 x 6 pixels loses an eighth of its kernel in every layer, in the theory
# (lines) as in networks (dots). The factor in deep networks is the eigenvalue of the formula.

ratio = means["He, 2"][-1] / means["He, 2"][-2]
print(f"per layer {ratio:.6f}, formula {eigenvalue**2:.6f}")
assert abs(ratio - eigenvalue**2) < 1e-6
assert abs(means["critical here"][-1] / means["critical here"][-2] - 1) < 1e-6
