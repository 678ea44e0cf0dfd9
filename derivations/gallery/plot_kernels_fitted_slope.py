r"""
An activation's own parameter, fitted
=====================================

*Can the slope of a leaky ReLU be learned together with the kernel of the network that uses it?*

Generated PyTorch functions take the parameters of an activation as arguments, and gradients flow into them. With the
kernel matrix :math:`K` of the data, noise included, the log likelihood of a Gaussian process, :math:`-\frac{1}{2}
y^\top K^{-1} y - \frac{1}{2} \log \det K` up to a constant, can be climbed in the slope.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
import torch

import symres as sr

# %%
# A kernel with a free slope
# --------------------------

slope = sp.Symbol("slope", positive=True)
bent = sr.Activation("bent", sp.Max(sr.z, 0) + slope * sp.Min(sr.z, 0), parameters=(slope,))
print(sr.derive(sr.mlp(bent)).covariance_map.expr)
network = sr.network([sr.Layer(sr.Dense(sr.z)), sr.mlp(bent)])
module = sr.export(network, target="torch").load()

# %%
# Data from a network
# -------------------
# A network of PyTorch, of width 5000 and slope 0.3, answers at 300 random inputs; noise of deviation 0.01 is added.

TRUE, NOISE = 0.3, 0.01
torch.manual_seed(1)
X = torch.randn(300, 3, dtype=torch.float64)
first, last = (
    torch.randn(3, 5000, dtype=torch.float64),
    torch.randn(5000, dtype=torch.float64),
)
h = torch.nn.functional.leaky_relu(X @ first * (2 / 3) ** 0.5, TRUE)
y = h @ last * (2 / 5000) ** 0.5 + NOISE * torch.randn(300, dtype=torch.float64)


def log_likelihood(value):
    """Of the data, up to a constant, for a slope."""
    kernel, _ = module.dual_kernel_matrix(X, C_W=2.0, C_b=0.0, slope=value)
    root = torch.linalg.cholesky(kernel + NOISE**2 * torch.eye(len(X), dtype=torch.float64))
    white = torch.linalg.solve_triangular(root, y[:, None], upper=False)
    return -white.square().sum() / 2 - root.diagonal().log().sum()


# %%
# Eighty steps of Adam, from a slope of 0.8.

value = torch.tensor(0.8, dtype=torch.float64, requires_grad=True)
optimiser = torch.optim.Adam([value], lr=0.05, betas=(0.5, 0.99))
path = []
for _ in range(80):
    optimiser.zero_grad()
    loss = -log_likelihood(value)
    loss.backward()
    path.append((value.item(), -loss.item()))
    optimiser.step()
fitted = value.item()

with torch.no_grad():
    slopes = np.linspace(0.05, 0.95, 37)
    curve = np.array([log_likelihood(torch.tensor(s)).item() for s in slopes])
    step = 1e-4
    near = [
        log_likelihood(torch.tensor(fitted + d, dtype=torch.float64)).item()
        for d in (-step, 0, step)
    ]
deviation = (
    -(near[0] - 2 * near[1] + near[2]) / step**2
) ** -0.5  # of the estimate, from the curvature
print(f"fitted slope {fitted:.4f} +- {deviation:.4f}, true slope {TRUE}")
assert abs(fitted - TRUE) < 4 * deviation
assert abs(fitted - slopes[curve.argmax()]) < slopes[1] - slopes[0]
gradient = torch.autograd.grad(log_likelihood(value), value)[0].item()
assert abs(gradient - (near[2] - near[0]) / (2 * step)) < 1e-3 * (1 + abs(gradient))

figure, axes = plt.subplots(figsize=(6.2, 4), layout="constrained")
axes.plot(slopes, curve, color="#0072B2", label="log likelihood")
axes.plot(*np.array(path[::3]).T, "o", color="#D55E00", ms=4, label="steps of Adam")
axes.axvline(TRUE, color="0.5", linestyle=":", label="slope of the network")
axes.set(
    xlabel="slope for negative $z$",
    ylabel="log likelihood of the data",
    ylim=(curve.max() - 150, curve.max() + 15),
)
axes.legend(frameon=False, loc="lower center")

# %%
# **What it shows**: the likelihood has one maximum, near the slope of the network that made the data, and gradient
# ascent in the slope ends there.
