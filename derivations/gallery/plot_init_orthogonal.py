r"""
Orthogonal weights and the singular values of a deep Jacobian
=============================================================

*Why orthogonal weights instead of Gaussian ones, if both have the same variance?*

Mean kernels and mean squared gradients are the same. What differs is the spread of the singular values :math:`s` of the
Jacobian. With :math:`\delta = \langle \phi'^4 \rangle/\langle \phi'^2 \rangle^2 - 1`, the relative variance of
:math:`s^2` after :math:`L` layers is :math:`L\delta` for orthogonal and :math:`L(1 + \delta)` for Gaussian weights
(Pennington, Schoenholz and Ganguli, arXiv:1711.04735).
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import symres as sr
import symres.torch as st

# %%
# Both on the critical line
# -------------------------
# tanh at the fixed point :math:`K^* = 0.05`, where :math:`\chi_\perp = 1` fixes both variances.

K = "1/20"
slopes = {
    power: float(sr.expect(f"(1 - tanh(z)^2)^{power}").evalf(15, K=K)) for power in (2, 4)
}
C_W = 1 / slopes[2]
C_b = 0.05 - C_W * float(sr.expect("tanh(z)^2").evalf(15, K=K))
delta = slopes[4] / slopes[2] ** 2 - 1
print(f"C_W = {C_W:.5f}, C_b = {C_b:.6f}, delta = {delta:.5f}")
(point,) = sr.derive("tanh").fixed_points(C_W=C_W, C_b=C_b)
assert abs(point.chi_perp - 1) < 1e-6

# %%
# Jacobians of PyTorch networks
# -----------------------------
# Eight networks of each kind, 20 layers of width 200.

depth, width, networks = 20, 200, 8


def squared_singular_values(draw):
    """Of the Jacobian from the first preactivations to those of each layer, shape (networks, depth, width)."""
    values = torch.empty(networks, depth, width, dtype=torch.float64)
    for network in range(networks):
        z = 0.05**0.5 * torch.randn(width, dtype=torch.float64)
        jacobian = torch.eye(width, dtype=torch.float64)
        for layer in range(depth):
            weight = draw(torch.empty(width, width, dtype=torch.float64)) * C_W**0.5
            jacobian = weight * (1 - torch.tanh(z) ** 2) @ jacobian
            z = weight @ torch.tanh(z) + C_b**0.5 * torch.randn(width, dtype=torch.float64)
            values[network, layer] = torch.linalg.svdvals(jacobian) ** 2
    return values.numpy()


def gaussian(weight):
    """Normal numbers of variance 1/width."""
    return torch.nn.init.normal_(weight, std=width**-0.5)


torch.manual_seed(0)
plt.style.use("tableau-colorblind10")
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 4), layout="constrained")
bins, places = np.geomspace(1e-6, 100, 60), np.arange(1, depth + 1)
kinds = (
    ("Gaussian", gaussian, 1 + delta, "o"),
    ("orthogonal", torch.nn.init.orthogonal_, delta, "^"),
)
for name, draw, slope, marker in kinds:
    values = squared_singular_values(draw)
    last = np.sqrt(values[:, -1].ravel())
    left.hist(last, bins, histtype="stepfilled", alpha=0.6, label=name)
    spreads = values.var(2) / values.mean(2) ** 2
    (line,) = right.semilogy(places, places * slope)
    right.semilogy(places, spreads.mean(0), marker, color=line.get_color(), markersize=5)
    mean, error = spreads[:, -1].mean(), spreads[:, -1].std() / networks**0.5
    print(
        f"{name:10} mean of s^2 {values[:, -1].mean():.3f}, median of s {np.median(last):.2g};",
        end=" ",
    )
    print(f"relative variance {mean:.3f} +- {error:.3f}, theory {depth * slope:.3f}")
    assert abs(mean - depth * slope) < 4 * error
left.set(
    xscale="log",
    yscale="log",
    xlabel="singular value, layer 20",
    ylabel="number in all networks",
)
right.set(xlabel="layer", ylabel="relative variance of squared singular values")
figure.legend(loc="outside lower center", ncols=2)

# %%
# **What it shows**: after 20 layers the singular values of Gaussian networks are spread over more than six decades (the
# histogram begins at :math:`10^{-6}`), nearly all of those of orthogonal networks lie between 0.1 and 1.5. On the right
# lines are the two formulas and markers are networks: the spreads differ by a factor of 76 at every depth.
#
# In a model
# ----------
# ``st.init_`` draws such weights on request.

model = torch.nn.Sequential(
    *[layer for _ in range(5) for layer in (torch.nn.Linear(width, width), torch.nn.Tanh())]
)
st.init_(model, distribution="orthogonal", seed=0)
product = model[4].weight @ model[4].weight.T
assert torch.allclose(product, product[0, 0] * torch.eye(width), atol=1e-4)
