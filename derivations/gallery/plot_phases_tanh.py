r"""
Order and chaos of deep tanh networks
=====================================

*Which variances of weights and biases let a deep tanh network pass signals, and which destroy them?*

Two inputs that differ a little become equal with depth in the ordered phase, and different beyond recognition in the
chaotic phase. The perpendicular susceptibility :math:`\chi_\perp = C_W \langle \phi'(z)^2 \rangle_{K^*}` at the fixed
point of the kernel decides: squared gradients shrink by this factor in every layer where it is below 1, and grow by it
where it is above. Here :math:`C_W` is fan_in times the variance of a weight, and :math:`C_b` the variance of a bias.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import symres as sr

# %%
# The phase diagram
# -----------------
# ``sr.phase_diagram`` takes the name of an activation, a formula or a layer. Colours show :math:`\chi_\perp` at the end
# of the network; the line is where it is 1.

diagram = sr.phase_diagram("tanh", x=("C_W", 0.5, 4), y=("C_b", 0, 1), points=150)
figure, axes = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
diagram.plot(axes)

# %%
# **What it shows**: the ordered phase lies at small weights, the chaotic phase at large ones, and biases shift the line
# between them to larger weights. On the line kernels end at a positive :math:`K^*` and squared gradients keep their
# size. At its foot, :math:`C_W = 1` without biases, the kernel itself decays, but only like a power of the depth. At
# :math:`C_b = 0.05` the line is crossed at :math:`C_W = 1.76095`:

theory = sr.derive("tanh")
(fixed,) = theory.fixed_points(C_W="1.76095", C_b="0.05")
print(fixed)
assert abs(fixed.chi_perp - 1) < 1e-5

# %%
# Two inputs through depth
# ------------------------
# Networks of PyTorch, 40 layers of width 500, draw two inputs of cosine 0.9. Squared norms and inner products are
# averaged over networks one by one, for a mean of cosines is biased; the standard error leaves out one network at a
# time (jackknife).

BIAS, WIDTH, DEPTH, NETWORKS = 0.05, 500, 40, 30
torch.manual_seed(0)


def cosine(products):
    """The cosine, from mean products of shape (..., 2, 2)."""
    return products[..., 0, 1] / (products[..., 0, 0] * products[..., 1, 1]) ** 0.5


def simulate(C_W):
    """Cosines behind each layer and their standard errors."""
    products = torch.empty(NETWORKS, DEPTH, 2, 2)
    for network in range(NETWORKS):
        first, second = torch.randn(2, WIDTH)
        h = torch.stack([first, 0.9 * first + (1 - 0.9**2) ** 0.5 * second])
        for layer in range(DEPTH):
            h = torch.tanh(h) @ torch.randn(WIDTH, WIDTH) * (
                C_W / WIDTH
            ) ** 0.5 + BIAS**0.5 * torch.randn(WIDTH)
            products[network, layer] = h @ h.T / WIDTH
    without_one = cosine((products.sum(0) - products) / (NETWORKS - 1))
    return cosine(products.mean(0)), (
        (NETWORKS - 1) * without_one.var(0, unbiased=False)
    ) ** 0.5


module = sr.export(theory, target="numpy").load()


def derive_cosines(C_W):
    """Cosines behind each layer at infinite width."""
    K, C, cosines = 1.0, 0.9, []
    for _ in range(DEPTH):
        K, C = (
            module.kernel_map(K, C_W=C_W, C_b=BIAS),
            module.covariance_map(K, K, C, C_W=C_W, C_b=BIAS),
        )
        cosines.append(C / K)
    return np.array(cosines)


figure, axes = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for C_W, name, colour, marker in (
    (1.2, "ordered", "#0072B2", "o"),
    (3, "chaotic", "#D55E00", "s"),
):
    derived, (means, errors) = derive_cosines(C_W), simulate(C_W)
    some = slice(1, None, 3)
    axes.plot(
        range(1, DEPTH + 1),
        derived,
        color=colour,
        label=f"infinite width, $C_W = {C_W}$, {name}",
    )
    axes.errorbar(
        range(1, DEPTH + 1)[some],
        means[some],
        2 * errors[some],
        color=colour,
        fmt=marker,
        ms=4,
        label="networks",
    )
    print(
        f"C_W = {C_W}: cosine {means[-1]:.5f} +- {errors[-1]:.5f} behind {DEPTH} layers, theory {derived[-1]:.5f}"
    )
    assert (abs(means.numpy() - derived) < 4 * errors.numpy() + 1e-4).all()
(limit,) = (float(c) for c in theory.correlation_fixed_points(C_W=3, C_b=BIAS) if c < 1)
axes.axhline(limit, color="#D55E00", linestyle=":", label=f"$c^* = {limit:.3f}$")
axes.set(
    xlabel="layer", ylabel="cosine of two inputs", xlim=(0, DEPTH + 0.5), ylim=(0, 1.03)
)
axes.legend(loc="lower left", frameon=False, ncols=2)

# %%
# **What it shows**: at :math:`C_W = 1.2` the two inputs become one, and at :math:`C_W = 3` they end near the cosine
# :math:`c^*`, whatever they were. Networks (dots, bars of two standard errors) follow the theory of infinite width.
