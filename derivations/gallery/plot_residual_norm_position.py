r"""
LayerNorm before the branch or after the sum
============================================

*Pre-LN or post-LN: which of them loses gradients with depth, and why?*

Before the branch, :math:`z' = z + F(\mathrm{LN}(z))`, the skip connection hands gradients on as they are. After the
sum, :math:`z' = \mathrm{LN}(z + F(z))`, each norm divides them by the standard deviation of the sum: a layer multiplies
squared gradients by :math:`(1 + \chi_F)/(1 + K_F)`, where :math:`K_F` is the variance that the branch adds and
:math:`\chi_F` what it adds to squared gradients. Depth is harmless only where the two are equal.
"""

import matplotlib.pyplot as plt
import torch

import symres as sr

# %%
# Four networks
# -------------
# The branch is an MLP with one hidden layer and :math:`C_W = 1`; in the last network its biases have variance 0.1.

depth = 48
before, after = "z + Dense(phi(Dense(LayerNorm(z))))", "LayerNorm(z + Dense(phi(Dense(z))))"
cases = {
    "before, GELU": (before, "gelu", 0),
    "after, GELU": (after, "gelu", 0),
    "after, ReLU": (after, "relu", 0),
    "after, ReLU, biases": (after, "relu", 0.1),
}
curves = {}
for name, (text, phi, C_b) in cases.items():
    network = sr.network([sr.layer(text, phi=phi)] * depth)
    curves[name] = [
        float(network.jacobian(layer, depth, 1, C_W=1, C_b=C_b))
        for layer in range(0, depth + 1, 4)
    ]
    print(f"{name:20} {curves[name][0]:.4g} over {depth} blocks")

# %%
# Networks of PyTorch
# -------------------
# Ten networks of width 300 without symres.


def simulate(text, phi, C_b, width=300, networks=10):
    """Squared gradient from the output to the input, and its standard error."""
    function, bias = getattr(torch.nn.functional, phi), C_b**0.5
    squares = []

    def dense(u):
        return u @ torch.randn(width, width) / width**0.5 + bias * torch.randn(width)

    def norm(u):
        return torch.nn.functional.layer_norm(u, (width,))

    for _ in range(networks):
        z = start = norm(torch.randn(1, width)).requires_grad_()
        for _ in range(depth):
            z = (
                z + dense(function(dense(norm(z))))
                if text == before
                else norm(z + dense(function(dense(z))))
            )
        (gradient,) = torch.autograd.grad(
            z, start, torch.randn(40, 1, width), is_grads_batched=True
        )
        squares.append(gradient.pow(2).mean().item())
    squares = torch.tensor(squares)
    return squares.mean().item(), (squares.std() / networks**0.5).item()


torch.manual_seed(0)
plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(6.8, 4.2), layout="constrained")
for (name, curve), marker in zip(curves.items(), "os^D", strict=True):
    (line,) = axes.semilogy(range(0, depth + 1, 4), curve, label=name)
    square, error = simulate(*cases[name])
    axes.errorbar(0, square, error, fmt=marker, color=line.get_color())
    print(f"{name:20} {square:.4g} +- {error:.2g} in networks")
    assert (
        abs(square - curve[0]) < 4 * error + 0.02 * curve[0]
    )  # corrections of order depth/width
axes.set(xlabel="block", ylabel="squared gradient, output to block")
figure.legend(loc="outside upper center", ncols=2)

# %%
# **What it shows**: from the right, the output, to the left. Before the branch gradients grow, fastest in the first
# blocks, whose stream is still small. After the sum they move by a fixed factor a block: slowly up for GELU, not at all
# for ReLU, and down by a factor of 100 for ReLU with biases, which add to the variance but not to the gradient.
#
# The factor of a block
# ---------------------

for phi, C_b in (("gelu", 0), ("relu", 0), ("relu", 0.1)):
    block = sr.derive(sr.layer(after, phi=phi))
    print(f"{phi}, C_b = {C_b}: {float(block.chi_perp.evalf(8, K=1, C_W=1, C_b=C_b)):.6f}")

# by hand: ReLU halves, so the branch adds C_W (C_b + C_W/2 K) = C_b 3/2 + 1/2 and the gradient 1/2
factor = float(block.chi_perp.evalf(8, K=1, C_W=1, C_b=0.1))
assert abs(factor - (1 + 1 / 2) / (1 + 1 / 2 + 1.5 / 10)) < 1e-8
assert abs(factor**depth - curves["after, ReLU, biases"][0]) < 1e-6
