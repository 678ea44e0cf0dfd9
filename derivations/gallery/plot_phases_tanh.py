r"""
Order and chaos of deep tanh networks
=====================================

*Which variances of weights and biases let a deep tanh network pass signals, and which destroy them?*

Two inputs that differ a little become equal with depth in the ordered phase, and different beyond recognition in the
chaotic phase. The perpendicular susceptibility :math:`\chi_\perp = C_W \langle \phi'(z)^2 \rangle_{K^*}` at the fixed
point of the kernel decides: gradients shrink by it in every layer where it is below 1, and grow where it is above.
"""

import matplotlib.pyplot as plt
import torch

import symres as sr

# %%
# The phase diagram
# -----------------
# ``sr.phase_diagram`` takes the name of an activation, a formula or a layer; colours show :math:`\chi_\perp` at the end
# of the network, the line is where it is 1.

diagram = sr.phase_diagram("tanh", x=("C_W", 0.5, 4), y=("C_b", 0, 1))
figure, axes = plt.subplots(figsize=(6, 4.5), layout="constrained")
diagram.plot(axes)

# %%
# **What it shows**: the only point from which depth changes nothing, to leading order, is the star at :math:`C_W = 1`
# without biases. Everywhere else on the line kernels stay finite and gradients keep their size.
#
# The same as numbers
# -------------------
# The line is explicit along the fixed point; at :math:`C_b = 0.05` it is crossed at

theory = sr.derive("tanh")
(fixed,) = theory.fixed_points(C_W="1.76095", C_b="0.05")
print(fixed)

# %%
# Networks agree
# --------------
# Thirty networks of PyTorch, 40 layers of width 400, at :math:`C_b = 0.05`: the cosine of two inputs is driven to 1 at
# :math:`C_W = 1.2`, and away from 1 at :math:`C_W = 3`.

torch.manual_seed(0)


def cosine(C_W, C_b=0.05, width=400, depth=40, networks=30):
    """Mean cosine of two inputs that begin at 0.9, behind the last layer."""
    cosines = []
    for _ in range(networks):
        first, second = torch.randn(2, width)
        h = torch.stack([first, 0.9 * first + (1 - 0.9**2) ** 0.5 * second])
        for _ in range(depth):
            h = torch.tanh(h) @ torch.randn(width, width) * (C_W / width) ** 0.5 + C_b**0.5 * torch.randn(width)
        cosines.append(torch.nn.functional.cosine_similarity(h[0], h[1], dim=0).item())
    return sum(cosines) / networks


ordered, chaotic = cosine(C_W=1.2), cosine(C_W=3)
print(f"C_W = 1.2: {ordered:.4f}    C_W = 3: {chaotic:.4f}")
(limit,) = (c for c in theory.correlation_fixed_points(C_W=3, C_b="0.05") if c < 1)
print(f"theory at C_W = 3: {float(limit):.4f}")
assert ordered > 0.999
assert abs(chaotic - limit) < 0.03
