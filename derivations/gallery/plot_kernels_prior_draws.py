r"""
Random functions of infinitely wide networks
============================================

*What do functions look like that a wide network draws before any training, by activation and by depth?*

At infinite width the outputs of an untrained network are a Gaussian process. Its draws are the Cholesky factor of the
kernel matrix times independent normal numbers.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import symres as sr

# %%
# Three activations, two depths
# -----------------------------
# Inputs are a line; :math:`C_W` and :math:`C_b` are those of all layers.

grid = np.linspace(-3, 3, 200)
settings = {"relu": (2.0, 0.2), "erf": (3.0, 0.1), "sin": (3.0, 0.1)}
generator = np.random.default_rng(4)
figure, panels = plt.subplots(2, 3, figsize=(8, 4.8), layout="constrained", sharex=True)
kernels = {}
for column, (name, (C_W, C_b)) in enumerate(settings.items()):
    for axes, depth in zip(panels[:, column], (1, 8), strict=True):
        module = sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), *[name] * depth])).load()
        kernel, _ = module.dual_kernel_matrix(grid[:, None], C_W=C_W, C_b=C_b)
        kernels[name, depth] = kernel
        assert np.linalg.eigvalsh(kernel).min() > -1e-12 * np.trace(kernel)
        root = np.linalg.cholesky(
            kernel + 1e-10 * np.trace(kernel) / len(grid) * np.eye(len(grid))
        )
        for style, colour in zip(
            ("-", "--", "-."), ("#0072B2", "#D55E00", "#009E73"), strict=True
        ):
            axes.plot(
                grid,
                root @ generator.standard_normal(len(grid)),
                style,
                color=colour,
                lw=1.2,
            )
        axes.set_title(f"{name}, {depth} layer{'s' * (depth > 1)}", fontsize=10)
for axes in panels[1]:
    axes.set_xlabel("input")
for axes in panels[:, 0]:
    axes.set_ylabel("output")

# %%
# **What it shows**: three draws in each panel. Those of ReLU are almost straight away from 0, at both depths, and bend
# near 0. Erf and sine are chaotic at :math:`C_W = 3`, so that depth makes functions rough: for erf near 0, where the
# first layer does not saturate, for sine everywhere.
#
# Drawn networks
# --------------
# Sixty networks of sine, width 400, eight layers, at two inputs: the mean products of the last hidden layer's neurons,
# times :math:`C_W`, plus :math:`C_b`, are the kernel.

torch.manual_seed(0)
x = torch.tensor([[grid[60], grid[62]]], dtype=torch.float32)
samples = []
for _ in range(60):
    h = 3.0**0.5 * torch.randn(400, 1) @ x + 0.1**0.5 * torch.randn(400, 1)
    for _ in range(7):
        h = (3.0 / 400) ** 0.5 * torch.randn(400, 400) @ torch.sin(
            h
        ) + 0.1**0.5 * torch.randn(400, 1)
    samples.append((0.1 + 3.0 * torch.sin(h).T @ torch.sin(h) / 400).numpy())
means, errors = np.mean(samples, 0), np.std(samples, 0, ddof=1) / 60**0.5
derived = kernels["sin", 8][60:63:2, 60:63:2]
print(
    f"networks: {means[0].round(3)} +- {errors[0].round(3)}    kernel: {derived[0].round(3)}"
)
assert (abs(means - derived) < 4 * errors).all()
