r"""
Gradients of generated code at equal inputs
===========================================

*I turned a formula with a square root or a case distinction into a PyTorch function. Why are its gradients nan, and can
they be right?*

The kernel of two inputs has :math:`\sqrt{K_1 K_2 - C^2}` and :math:`\arccos` in it. Where the inputs are equal, their
derivatives are infinite one by one, and only their sum is finite: automatic differentiation of the formula as it is
written gives nan.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import symres as sr

# %%
# The formula as it is written, and exported code
# -----------------------------------------------


def as_written(K1, K2, C):
    """Twice the mean of relu(x) relu(y)."""
    root = torch.sqrt(K1 * K2)
    return (C * (torch.pi - torch.arccos(C / root)) + torch.sqrt(K1 * K2 - C**2)) / torch.pi


module = sr.export(sr.derive("relu"), target="torch").load()


def exported(K1, K2, C):
    """The same by symres."""
    return module.covariance_map(K1, K2, C, C_W=2.0, C_b=0.0)


def slopes(function, cosines):
    """The derivative in the covariance of inputs of variance 1."""
    C = torch.tensor(cosines, dtype=torch.float64, requires_grad=True)
    K1, K2 = torch.ones(2, len(cosines), dtype=torch.float64)
    return torch.autograd.grad(function(K1, K2, C).sum(), C)[0].numpy()


print(
    "derivative at equal inputs: as written",
    slopes(as_written, [1.0])[0],
    "  exported",
    slopes(exported, [1.0])[0],
)
assert np.isnan(slopes(as_written, [1.0])[0])
assert slopes(exported, [1.0])[0] == 1.0

# %%
# Towards equal inputs
# --------------------
# The derivative is :math:`1 - \theta/\pi` by hand, with :math:`\theta` the angle.

distances = np.geomspace(1e-17, 1e-1, 33)
cosines = 1 - distances
by_hand = 1 - 2 * np.arcsin(np.sqrt((1 - cosines) / 2)) / np.pi
errors = {
    name: abs(slopes(f, cosines) - by_hand)
    for name, f in (("as written", as_written), ("exported", exported))
}
for name, error in errors.items():
    print(
        f"{name}: {np.isnan(error).sum()} of {len(cosines)} are nan, the largest other error is {np.nanmax(error):.1e}"
    )
assert errors["exported"].max() < 1e-14

figure, axes = plt.subplots(figsize=(6.2, 4), layout="constrained")
for (name, error), colour, marker in zip(
    errors.items(), ("#D55E00", "#0072B2"), "so", strict=True
):
    lost = np.isnan(error)
    axes.plot(
        distances[~lost],
        np.maximum(error, 1e-17)[~lost],
        marker,
        color=colour,
        ms=5,
        label=name,
    )
    if lost.any():
        axes.plot(
            distances[lost],
            np.full(lost.sum(), 3e-9),
            "x",
            color=colour,
            label=f"{name}: nan",
        )
axes.set(
    xscale="log",
    yscale="log",
    xlabel="1 - cosine of the inputs",
    ylabel="error of the derivative",
    ylim=(3e-18, 1e-7),
)
axes.legend(frameon=False, loc="center right")

# %%
# **What it shows**: the formula as it is written loses digits when inputs come close, and
# ends in nan (crosses) where they are equal in floating point. Exported code is right to rounding errors at every
# distance.
