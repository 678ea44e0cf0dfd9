r"""
A narrow tanh network for a differential equation
=================================================

*Networks for differential equations are often eight tanh layers of width 20, without skip connections. Is that too deep
for the width?*

At finite width the kernel of one network scatters around its mean, with a relative variance that grows in proportion to
depth/width. Roberts, Yaida and Hanin derive a ratio :math:`r^*` that is best: far below it networks behave like
infinitely wide ones, far above it they differ strongly from draw to draw.
"""

import matplotlib.pyplot as plt
import numpy as np

import symres as sr

# %%
# The optimal ratio of depth and width
# ------------------------------------

theory = sr.derive("tanh")
best = float(theory.aspect_ratio.evalf(8, n_L=1))
print(
    f"r* = {theory.aspect_ratio.expr}: {best:.4f} for one output, so {best * 20:.1f} layers of width 20;"
)
print(f"eight layers of width 20 have 8/20 = 0.4, and should be {8 / best:.0f} wide")

# %%
# The scatter of networks
# -----------------------
# ``kernel_fluctuation`` is :math:`n` times the variance of the kernel, to leading order. Markers are networks of
# NumPy at the critical point :math:`C_W = 1`.

depth = 8
mean = np.array(theory.kernels(depth, 1, C_W=1, C_b=0), dtype=float)
variance = np.array(theory.kernel_fluctuation(depth, 1, C_W=1, C_b=0), dtype=float)
rng = np.random.default_rng(0)


def simulate(width, networks):
    """Kernels of each network: variances of the next preactivations, given the weights before."""
    z = rng.standard_normal((networks, width))
    kernels = [np.ones(networks)]
    for _ in range(depth):
        hidden = np.tanh(z)
        kernels.append((hidden**2).mean(1))
        weights = (
            rng.standard_normal((networks, width, width), dtype=np.float32) / width**0.5
        )
        z = np.einsum("ni,nij->nj", hidden, weights)
    return np.array(kernels)


plt.style.use("tableau-colorblind10")
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.9), layout="constrained")
layers = np.arange(depth + 1)
for width, networks, color, marker in ((20, 4000, "C1", "^"), (160, 400, "C0", "o")):
    kernels = simulate(width, networks)
    left.semilogy(layers, kernels[:, :15], color=color, lw=0.7, alpha=0.6)
    scatter = kernels.std(1) / kernels.mean(1)
    right.plot(
        layers, 100 * np.sqrt(variance / width) / mean, color=color, label=f"width {width}"
    )
    right.plot(layers, 100 * scatter, marker, color=color)
    print(
        f"width {width}: scatter {scatter[-1]:.3f}, theory {(variance[-1] / width) ** 0.5 / mean[-1]:.3f}"
    )
left.semilogy(layers, mean, "k", lw=1.5)
left.set(xlabel="layer", ylabel="kernel", title="15 networks of each width")
right.set(xlabel="layer", ylabel="scatter of the kernel in percent", title="all networks")
figure.legend(loc="outside lower center", ncols=2)

# %%
# **What it shows**: after eight layers the kernels of 15 networks of width 20 (thin lines on the left) differ from each
# other by a factor of 5, and the scatter of all is half of the mean; theory (lines on the right) and networks (markers)
# agree. At width 160, where depth/width is far below :math:`r^*`, it is a fifth.

squares = (kernels[-1] - kernels[-1].mean()) ** 2  # of width 160
error = squares.std() / len(squares) ** 0.5
assert abs(squares.mean() - variance[-1] / 160) < 4 * error
