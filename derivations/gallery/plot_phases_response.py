r"""
Branch weight of the largest response
=====================================

*Which weight of its branches makes the output of a deep residual network respond most to its input?*

With ``z' = z + xi Dense(erf(z))`` small branches leave the readout with a small kernel and with little of what branches
add; large ones drive neurons into saturation. In between is the weight at which :math:`\chi_{\mathrm{out}} = \partial
K_{\mathrm{out}}/\partial K_0` is largest (Fischer, Dahmen and Helias, arXiv:2305.07715).
"""

import matplotlib.pyplot as plt
import numpy as np

import symres as sr

theory = sr.derive(sr.residual("erf", gamma=1, xi=sr.xi))
limit = theory.branch_scale_limit("0.05", C_W=1.25, C_b=0.05)
print(f"many layers: xi = {float(limit.coefficient):.6f}/sqrt(L)")

# %%
# Three depths
# ------------
# Lines are kernels iterated in NumPy, with the average of erf(z)^2 that is known in closed form, and differentiated by
# central differences. Stars are the maxima that ``branch_scale`` finds.


def output_kernel(K, xi, depth):
    """The kernel of the output."""
    added = lambda K: 0.05 + 1.25 * 2 / np.pi * np.arcsin(2 * K / (1 + 2 * K))  # noqa: E731
    for _ in range(depth):
        K = K + xi**2 * added(K)
    return added(K)


figure, axes = plt.subplots(figsize=(6.2, 4), layout="constrained")
for depth, colour, dash in zip(
    (10, 50, 200), ("#0072B2", "#D55E00", "#009E73"), ("-", "--", "-."), strict=True
):
    xis = np.geomspace(0.005, 1, 400)
    slopes = (
        output_kernel(0.05 + 1e-6, xis, depth) - output_kernel(0.05 - 1e-6, xis, depth)
    ) / 2e-6
    best = theory.branch_scale(depth, "0.05", C_W=1.25, C_b=0.05)
    response = theory.response(depth, "0.05", xi=best, C_W=1.25, C_b=0.05).chi_out
    axes.plot(xis, slopes, dash, color=colour, label=f"{depth} layers")
    axes.plot([float(best)], [float(response)], "*", color=colour, ms=11, mec="black")
    print(
        f"{depth} layers: xi = {float(best):.6f}, response {float(response):.5f}, best of the grid {slopes.max():.5f}"
    )
    assert abs(float(best) / xis[slopes.argmax()] - 1) < 0.02  # the grid has steps of 1.3 %
    assert abs(float(response) / slopes.max() - 1) < 1e-3
axes.set(
    xscale="log",
    xlabel=r"weight of the branches, $\xi$",
    ylabel=r"response $\partial K_\mathrm{out}/\partial K_0$",
)
axes.set_ylim(0)
axes.legend(frameon=False)

# %%
# **What it shows**: each depth has one best weight, and it falls with the depth. The maximum itself changes
# little: a deep network responds as well as a shallow one, if its branches are scaled by about one over the root of
# the depth.
