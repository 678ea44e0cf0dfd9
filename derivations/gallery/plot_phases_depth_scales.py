r"""
Depth scales of kernels and of correlations
===========================================

*Over how many layers do a deep network's signals forget how large its inputs were, and how far apart two of them?*

The kernel of one input approaches its fixed point like :math:`e^{-l/\xi_q}`. The cosine of two inputs approaches
:math:`c^*` like :math:`e^{-l/\xi_c}`. Networks much deeper than :math:`\xi_c` tell their last layer nothing about
angles between inputs, and hardly train (Schoenholz et al., arXiv:1611.01232).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

import symres as sr

# %%
# Three numbers for one network
# -----------------------------

theory = sr.derive("tanh")
print(theory.depth_scales(C_W=2, C_b="0.05"))
print("all fixed cosines:", theory.correlation_fixed_points(C_W=2, C_b="0.05"))

# %%
# Over the variance of the weights
# --------------------------------
# The transition at :math:`C_b = 0.05` is where :math:`\chi_\perp = 1` along the fixed point of the kernel.

critical = brentq(
    lambda C_W: theory.fixed_points(C_W=C_W, C_b="0.05")[0].chi_perp - 1, 1.5, 2
)
print(f"transition at C_W = {critical:.5f}")
weights = np.r_[0.7:1.5:8j, 1.62, 1.69, 1.73, 1.79, 1.83, 1.9, 2, 2.2, 2.5, 3, 3.5, 4]
scales = [theory.depth_scales(C_W=float(C_W), C_b="0.05") for C_W in weights]

# %%
# A second computation
# --------------------
# Gauss and Hermite's rule in two dimensions iterates two inputs in NumPy. The rates of the last layers before rounding
# errors are the depth scales.

nodes, mass = np.polynomial.hermite_e.hermegauss(60)
mass /= mass.sum()


def rates(C_W, C_b=0.05):
    """Fixed cosine, and the depth scales of kernel and cosine."""
    K, kernels = 0.5, []
    for _ in range(40):
        K = C_b + C_W * mass @ np.tanh(K**0.5 * nodes) ** 2
        kernels.append(K)
    for _ in range(400):
        K = C_b + C_W * mass @ np.tanh(K**0.5 * nodes) ** 2
    first, cosine, cosines = np.tanh(K**0.5 * nodes), 0.5, []
    for _ in range(1500):
        second = np.tanh(
            K**0.5 * (cosine * nodes[:, None] + (1 - min(cosine, 1.0) ** 2) ** 0.5 * nodes)
        )
        cosine = (C_b + C_W * (mass * first) @ second @ mass) / K
        cosines.append(cosine)
    return (
        cosine,
        scale(np.abs(np.array(kernels) - K)),
        scale(np.abs(np.array(cosines) - cosine)),
    )


def scale(distance):
    """The depth over which distances fall by a factor e, where they are smallest and still exact."""
    last = np.flatnonzero(distance > 1e-9)[-1]
    return 5 / np.log(distance[last - 5] / distance[last])


tried = (1.2, 2.0, 3.0)
checked = [rates(C_W) for C_W in tried]
for C_W, numbers in zip(tried, checked, strict=True):
    derived = theory.depth_scales(C_W=C_W, C_b="0.05")
    print(
        f"C_W = {C_W}: {np.round(numbers, 4)}, derived {derived.c:.4f} {derived.xi_q:.4f} {derived.xi_c:.4f}"
    )
    assert np.allclose(numbers, [derived.c, derived.xi_q, derived.xi_c], rtol=2e-3)

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained")
left.plot(weights, [s.c for s in scales], color="#0072B2")
right.plot(
    weights,
    [s.xi_q for s in scales],
    color="#009E73",
    linestyle="--",
    label=r"kernel, $\xi_q$",
)
for side in (weights < critical, weights > critical):  # infinite between the two
    part = [s.xi_c for s, inside in zip(scales, side, strict=True) if inside]
    label = r"cosine, $\xi_c$" if side[0] else None
    right.plot(weights[side], part, color="#0072B2", label=label)
for axes, place in ((left, (0,)), (right, (1, 2))):
    for index in place:
        label = "second computation" if index == 2 else None
        axes.plot(
            tried,
            [numbers[index] for numbers in checked],
            "o",
            color="black",
            ms=4,
            label=label,
        )
    axes.axvline(critical, color="0.6", linestyle=":")
    axes.set_xlabel("$C_W$")
left.set(ylabel="fixed cosine $c^*$", ylim=(0, 1.05))
right.set(ylabel="depth scale in layers", yscale="log", ylim=(0.7, 600))
right.legend(frameon=False, loc="upper right", fontsize=9, handlelength=1.2)

# %%
# **What it shows**: up to the transition (dotted, :math:`C_W = 1.761`) all inputs end parallel, beyond it at a cosine
# that falls with the weights. The depth scale of kernels stays below 2 layers; that of cosines grows without bound
# from both sides. Only networks near the transition carry angles through a hundred layers.

assert max(s.xi_q for s in scales) < 2
