r"""
Spectra of tangent kernels on a circle
======================================

*Does a hat function in the place of ReLU remove the bias of training towards low frequencies?*

Gradient descent learns an eigenfunction of the tangent kernel at a rate that is its eigenvalue. On a circle the
eigenfunctions are sines and cosines of the angle, so that eigenvalues against frequency say what is learned first.
The hat is 0 outside of [0, 2] and rises to 1 at 1 (as in arXiv:2208.04924).
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import symres as sr

# %%
# Two layers on 256 points of the circle
# --------------------------------------
# A read-in without biases, the activation, and a linear output. Eigenvalues of a matrix that depends on the difference
# of angles alone are Fourier coefficients of its first row: divided by the number of points, they depend on it little.

angles = 2 * np.pi * np.arange(256) / 256
circle = 2**0.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)  # inputs of kernel 1
shapes = {"relu": "relu(z)", "hat": "relu(z) - 2*relu(z - 1) + relu(z - 2)"}
spectra, rows = {}, {}
for name, shape in shapes.items():
    network = sr.network([sr.Layer(sr.Dense(sr.z)), shape])
    _, tangent = (
        sr.export(network).load().dual_kernel_matrix(circle[:1], circle, C_W=2.0, C_b=0.0)
    )
    rows[name] = tangent[0]
    spectra[name] = np.fft.rfft(tangent[0]).real / len(angles)
    print(
        f"eigenvalue at frequency 1 over that at 40: {spectra[name][1] / spectra[name][40]:.0f}"
    )

figure, axes = plt.subplots(figsize=(6.2, 4), layout="constrained")
frequencies = np.arange(1, 41)
for (name, spectrum), colour, marker in zip(
    spectra.items(), ("#D55E00", "#0072B2"), "os", strict=True
):
    seen = spectrum[frequencies] > 1e-9
    axes.plot(
        frequencies[seen],
        spectrum[frequencies][seen],
        marker,
        color=colour,
        label=name,
        ms=4,
    )
axes.set(
    xscale="log",
    yscale="log",
    xlabel="frequency",
    ylabel="eigenvalue of the tangent kernel",
)
axes.legend(frameon=False)

# %%
# **What it shows**: in this kernel, of one hidden layer, the bias is reduced, and not removed. ReLU learns frequency 1
# some thousand times faster than frequency 40, the hat some hundred times; at high frequencies both fall like similar
# powers. All odd frequencies above 1 are missing for ReLU without biases, whose eigenvalues vanish there.

assert abs(spectra["relu"][3:40:2]).max() < 1e-4 * spectra["relu"][1]
assert (
    spectra["hat"][1] / spectra["hat"][40] < 0.2 * spectra["relu"][1] / spectra["relu"][40]
)

# %%
# By sampling
# -----------
# PyTorch differentiates 200000 hidden neurons: their mean products, and those of their slopes, make up the tangent
# kernel.

torch.manual_seed(0)
weights = torch.randn(200_000, 2, dtype=torch.float64)  # C_W / n_0 = 1
for index in (0, 20, 60, 80):
    z = (weights @ torch.tensor(circle[[0, index]]).T).requires_grad_()
    h = torch.relu(z) - 2 * torch.relu(z - 1) + torch.relu(z - 2)
    (slopes,) = torch.autograd.grad(h.sum(), z)
    inputs = 2.0 * float(circle[0] @ circle[index]) / 2  # the kernel of the preactivations
    terms = 2 * h.detach().prod(1) + 2 * slopes.prod(1) * inputs
    error = terms.std().item() / len(terms) ** 0.5
    print(f"{terms.mean().item():.4f} +- {error:.4f}, derived {rows['hat'][index]:.4f}")
    assert abs(terms.mean().item() - rows["hat"][index]) < 4 * error
