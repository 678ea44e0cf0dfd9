r"""
Gradients that vary over an image
=================================

*A convolutional network is critical. Do all its gradients survive?*

A change whose variance varies over pixels like a wave :math:`\cos kx` is averaged by every window: for three pixels its
gain is :math:`(1 + 2\cos k)/3` times that of the dense network. Only :math:`k = 0` can be critical.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import symres as sr

# %%
# Gains
# -----
# A ring of 24 pixels, ReLU, and the critical variance 2.

pixels = 24
plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
waves = 2 * np.pi * np.fft.rfftfreq(pixels)
gains = {}
for size in (3, 5, 9):
    network = sr.network([f"Conv(relu(z), 2, 0, {size})"], positions=sr.Torus(pixels))
    (row,) = network.perpendicular_modes([1.0] + (pixels - 1) * [0.0])
    gains[size] = row[: pixels // 2 + 1]
    axes.plot(waves, gains[size], label=f"window of {size}")

# %%
# A network of PyTorch
# --------------------
# Squared gradients of all outputs with respect to each pixel, from random directions; their waves are compared.


def measured_gains(size, channels=300, networks=24):
    """By how much waves of squared gradients shrink in a layer, and standard errors."""
    rows = []
    for _ in range(networks):
        weight = torch.randn(channels, channels, size) * (2 / (size * channels)) ** 0.5
        z = torch.randn(1, channels, pixels, requires_grad=True)
        padded = torch.nn.functional.pad(torch.relu(z), (size // 2,) * 2, mode="circular")
        out = torch.nn.functional.conv1d(padded, weight)
        directions = torch.zeros(8, *out.shape)
        directions[..., 0] = torch.randn(8, 1, channels)  # of one pixel of the output
        (gradient,) = torch.autograd.grad(out, z, directions, is_grads_batched=True)
        squares = gradient.pow(2).sum(2).mean((0, 1)) / channels
        rows.append(torch.fft.rfft(squares).real.numpy())
    drawn = np.array(rows)
    return drawn.mean(0), drawn.std(0, ddof=1) / networks**0.5


torch.manual_seed(0)
for size, (line, row) in zip(
    gains, zip(axes.get_lines(), gains.values(), strict=True), strict=True
):
    mean, error = measured_gains(size)
    axes.errorbar(waves, mean, error, fmt="o", ms=3, color=line.get_color())
    assert np.all(np.abs(mean - row) < 4.5 * error)
axes.axhline(0, color="0.7", lw=0.8, zorder=0)
axes.set(xlabel="wave number k", ylabel="gain of squared gradients in a layer")
axes.legend()

# %%
# **What it shows**: lines are the theory, dots networks. What differs between pixels in the gradient is gone after few
# layers: a deep network feels an image as a whole. Windows may even change the sign of a wave.

assert np.allclose(gains[3], (1 + 2 * np.cos(waves)) / 3)
assert np.allclose(gains[5], (1 + 2 * np.cos(waves) + 2 * np.cos(2 * waves)) / 5)
