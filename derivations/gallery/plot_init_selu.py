r"""
SELU, its fixed point and truncated weights
===========================================

*For which weight variance is unit variance a fixed point of SELU networks, is it stable, and what do truncated normal
weights do to it?*

The constants of SELU were chosen such that :math:`C_W = 1`, without biases, has the fixed point :math:`K^* = 1`. Normal
numbers that are cut off at two standard deviations have only 0.774 of the variance of uncut ones, and so
:math:`C_W = 0.774` if nobody makes up for it.
"""

import math

import matplotlib.pyplot as plt
import torch

import symres as sr

# %%
# Fixed points
# ------------
# The variance of a truncated normal number is :math:`1 - 2c\,\varphi(c)/(2\Phi(c) - 1)` with :math:`c = 2`, where
# :math:`\varphi` is the normal density and :math:`\Phi` its integral.

density, mass = math.exp(-2) / math.sqrt(2 * math.pi), math.erf(math.sqrt(2))
truncated = 1 - 4 * density / mass
theory = sr.derive("selu")
settled = {}
for C_W in (1, truncated):
    settled[C_W] = theory.fixed_points(C_W=C_W, C_b=0)[-1]
    K, parallel, perp = settled[C_W].K, settled[C_W].chi_parallel, settled[C_W].chi_perp
    print(
        f"C_W = {C_W:.6f}: K* = {K:.6f}, chi_parallel = {parallel:.5f}, chi_perp = {perp:.5f}"
    )

# %%
# Both attract kernels, for :math:`\chi_\parallel < 1`: kernels are stable. Gradients are not kept: squared ones grow by
# 7.2 % a layer at :math:`K^* = 1` and by 3.1 % at the other.
#
# Flow to the fixed point
# -----------------------
# Lines are theory, markers the mean of 20 networks of PyTorch of width 300.

depth, width, networks = 30, 300, 20


def simulate(K, cut):
    """Kernels over the depth of each network, with weights truncated or not."""
    kernels = torch.empty(networks, depth + 1)
    for network in range(networks):
        z = torch.randn(width)
        z *= (K / z.pow(2).mean()).sqrt()
        for layer in range(depth + 1):
            kernels[network, layer] = z.pow(2).mean()
            weights = torch.empty(width, width)
            if cut:
                torch.nn.init.trunc_normal_(
                    weights, std=width**-0.5, a=-2 * width**-0.5, b=2 * width**-0.5
                )
            else:
                torch.nn.init.normal_(weights, std=width**-0.5)
            z = weights @ torch.selu(z)
    return kernels


torch.manual_seed(0)
plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(6.8, 4.2), layout="constrained")
for C_W, color, marker, name in (
    (1, "C0", "o", "normal weights"),
    (truncated, "C1", "^", "truncated weights"),
):
    for start in (0.05, 1, 4):
        label = name if start == 1 else None
        curve = [float(K) for K in theory.kernels(depth, start, C_W=C_W, C_b=0)]
        axes.semilogy(curve, color=color)
        kernels = simulate(start, cut=C_W != 1)
        axes.semilogy(
            range(0, depth + 1, 2),
            kernels.mean(0)[::2],
            marker,
            color=color,
            markersize=5,
            label=label,
        )
        error = kernels[:, -1].std() / networks**0.5
        print(
            f"{name} from K = {start}: {kernels[:, -1].mean():.4f} +- {error:.4f}, theory {curve[-1]:.4f}"
        )
        assert abs(kernels[:, -1].mean() - curve[-1]) < 4 * error
axes.set(xlabel="layer", ylabel="kernel $K$", yticks=(0.05, 0.1, 0.2, 0.5, 1, 2, 4))
axes.yaxis.set_major_formatter("{x:g}")
axes.yaxis.set_minor_formatter("")
axes.legend(loc="upper right")

# %%
# **What it shows**: from each start kernels flow to 1 with normal weights, and to 0.284 with truncated ones. The fixed
# point is stable there too, only the unit variance that SELU was made for is lost; weights that are 1.137 times wider
# before they are cut bring it back.

print(f"wider by {truncated**-0.5:.4f}")
assert abs(settled[1].K - 1) < 1e-6
assert abs(settled[truncated].K - 0.2843756) < 1e-5
