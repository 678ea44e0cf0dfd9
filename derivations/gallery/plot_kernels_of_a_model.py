r"""
The tangent kernel of a model
=============================

*How far is the tangent kernel of my own finite network, in PyTorch's own parametrisation, from the infinite one?*

The tangent kernel :math:`\Theta(x, y) = \sum_p \frac{\partial f(x)}{\partial \theta_p} \frac{\partial f(y)}{\partial
\theta_p}` says how outputs move in a step of gradient descent. In PyTorch's parametrisation weights have no factors
:math:`1/\sqrt{n}`, so that it grows with the width :math:`n`.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
import torch

import symres.torch as st


def build(width):
    """Two hidden layers of GELU, with Kaiming's weights and no biases at first."""
    layers = [
        torch.nn.Linear(*sizes) for sizes in ((10, width), (width, width), (width, 1))
    ]
    for layer in layers:
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        torch.nn.init.zeros_(layer.bias)
    return torch.nn.Sequential(
        layers[0], torch.nn.GELU(), layers[1], torch.nn.GELU(), layers[2]
    )


torch.manual_seed(0)
inputs = torch.randn(6, 10)

# %%
# One network beside the theory
# -----------------------------
# The theory reads the variances of the weights from the model; the scatter is that of networks drawn afresh.

model = build(512)
kernel = st.tangent_kernel(model, inputs, progress=False)
print(kernel)
picture = kernel.plot()

# %%
# **What it shows**: on the left the kernel of this network for six inputs; on the right its 36 entries against those
# of infinite width. They scatter around the diagonal by about as much as the bars, one standard deviation of networks
# of this width, say they should.
#
# The same by hand: one backward pass for each input, and products of all gradients.


def gradient(x):
    """All derivatives of the output, in a row."""
    parts = torch.autograd.grad(model(x[None]).squeeze(), list(model.parameters()))
    return torch.cat([part.flatten() for part in parts])


rows = torch.stack([gradient(x) for x in inputs])
by_hand = (rows @ rows.T).numpy()
assert np.allclose(kernel.matrix, by_hand, rtol=1e-4)

# %%
# Error against width
# -------------------
# Relative errors in the Frobenius norm, for forty networks of each width. The theory of a width is computed once, from
# the variances of its first network.

widths, networks = (32, 64, 128, 256, 512), 40
errors = np.empty((len(widths), networks))
for row, width in enumerate(widths):
    theory = np.asarray(
        st.tangent_kernel(build(width), inputs, networks=0, progress=False).theory
    )
    for column in range(networks):
        matrix = st.tangent_kernel(
            build(width), inputs, theory=False, progress=False
        ).matrix
        errors[row, column] = np.linalg.norm(matrix - theory) / np.linalg.norm(theory)
means, spread = errors.mean(1), errors.std(1, ddof=1) / networks**0.5
slope = np.polyfit(np.log(widths), np.log(means), 1)[0]
slope_error = np.sqrt(((spread / means) ** 2).mean() / np.var(np.log(widths)) / len(widths))
print(f"the error falls like width^({slope:.3f} +- {slope_error:.3f})")
assert abs(slope + 0.5) < 4 * slope_error

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.errorbar(
    widths,
    means,
    2 * spread,
    fmt="o",
    color="#0072B2",
    label="networks, mean and 2 standard errors",
)
axes.plot(
    widths,
    means[-1] * (widths[-1] / np.array(widths)) ** 0.5,
    color="#D55E00",
    label=r"$\propto 1/\sqrt{n}$",
)
axes.set(
    xscale="log",
    yscale="log",
    xlabel="width $n$",
    ylabel="relative error of the tangent kernel",
)
axes.set_xticks(widths, [str(width) for width in widths])
axes.set_yticks([0.1, 0.2, 0.4, 0.8], ["0.1", "0.2", "0.4", "0.8"])
axes.minorticks_off()
axes.legend(frameon=False)

# %%
# **What it shows**: the distance of a single network from infinite width falls like the inverse square root of the
# width. A network four times as wide has half the error.
