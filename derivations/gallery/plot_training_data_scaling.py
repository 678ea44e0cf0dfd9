r"""
Layers scaled by data, and what they leave out
==============================================

*LSUV scales each layer until its outputs have variance 1 on a batch. What does a theory give beyond that?*

Unit variance is a statement about the mean over the batch. For GELU the scale it asks for is the forward gain; whether
single inputs stay at 1, and whether gradients do, is decided by :math:`\chi_\parallel` and :math:`\chi_\perp` there. At
the critical point both are 1.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import symres as sr
import symres.torch as st

# %%
# Two gains
# ---------

lsuv, critical = st.gain("gelu", "forward"), st.gain("gelu", "critical")
for gain in (lsuv, critical):
    print(f"C_W = {gain.C_W:.5f}, C_b = {gain.C_b:.5f}, K = {gain.K:.5f}:", end=" ")
    print(f"chi_perp = {gain.chi_perp:.5f}, chi_parallel = {gain.chi_parallel:.5f}")

# %%
# A batch of five inputs
# ----------------------
# Their mean squares are 0.8 to 1.2 of the mean of the batch. The theory of LSUV: in each layer :math:`C_W` is such that
# kernels of the batch have the mean 1.

module = sr.export(sr.derive("gelu"), target="numpy").load()
depth, sizes = 20, np.linspace(0.8, 1.2, 5)


def derived(by_data):
    """Kernels of the inputs, shape (depth + 1, inputs), and squared gradients from the input to each layer."""
    K, J = [sizes if by_data else sizes * critical.K], [np.ones(5)]
    for _ in range(depth):
        C_W, C_b = critical.C_W, critical.C_b
        if by_data:
            C_W, C_b = 1 / module.kernel_map(K[-1], C_W=1, C_b=0).mean(), 0.0
        J.append(J[-1] * module.chi_perp(K[-1], C_W=C_W))
        K.append(module.kernel_map(K[-1], C_W=C_W, C_b=C_b))
    return np.array(K) / K[0].mean(), np.array(J)


def simulate(by_data, width=600, networks=12):
    """The same of networks that are really scaled layer by layer, without symres; means and errors."""
    kernels, gradients = [], []
    for _ in range(networks):
        z = torch.randn(5, width)
        z *= torch.tensor(sizes if by_data else sizes * critical.K).float().sqrt()[:, None]
        start, stream = z.requires_grad_(), [z]
        for _ in range(depth):
            hidden, weight = (
                torch.nn.functional.gelu(stream[-1]),
                torch.randn(width, width) / width**0.5,
            )
            if by_data:
                stream.append(
                    hidden @ (weight / (hidden @ weight).detach().pow(2).mean().sqrt())
                )
            else:
                stream.append(
                    critical.C_W**0.5 * hidden @ weight
                    + critical.C_b**0.5 * torch.randn(width)
                )
        kernels.append(
            torch.stack([layer.detach().pow(2).mean(1) for layer in stream[::5]]).numpy()
        )
        back = []
        for layer in stream[::5]:
            vectors = torch.randn(20, 5, width)
            (derivative,) = torch.autograd.grad(
                layer, start, vectors, retain_graph=True, is_grads_batched=True
            )
            back.append(derivative.pow(2).mean((0, 2)).numpy())
        gradients.append(back)
    results = np.array(kernels) / (1 if by_data else critical.K), np.array(gradients)
    return [(numbers.mean(0), numbers.std(0) / networks**0.5) for numbers in results]


torch.manual_seed(0)
figure, grid = plt.subplots(
    2, 2, figsize=(7, 5.6), sharex=True, sharey="row", layout="constrained"
)
colors = plt.get_cmap("viridis")(np.linspace(0, 0.85, 5))
for column, (name, by_data) in enumerate((("LSUV", True), ("critical", False))):
    results = zip(grid[:, column], derived(by_data), simulate(by_data), strict=True)
    for axes, curves, (means, errors) in results:
        for index in range(5):
            axes.semilogy(
                curves[:, index], color=colors[index], label=f"{sizes[index]:.1f}"
            )
            points = {"fmt": "o", "markersize": 4, "color": colors[index]}
            axes.errorbar(
                range(0, depth + 1, 5), means[:, index], errors[:, index], **points
            )
        print(
            f"{name:8} in layer 10: theory {curves[10].round(3)}, networks {means[2].round(3)} +- {errors[2].round(3)}"
        )
        assert np.all(abs(means[2] - curves[10]) < 4 * errors[2])
    grid[0, column].set_title(name)
    grid[1, column].set_xlabel("layer")
grid[0, 0].set_ylabel("kernel, relative")
grid[1, 0].set_ylabel("squared gradient from the input")
handles, labels = grid[0, 1].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside right center", title="input")

# %%
# **What it shows**: LSUV keeps the mean of the batch at 1 and drives its inputs apart: in 20 layers of infinite width
# (lines) the largest kernel grows by a factor of 2.5 and the smallest falls by more than 100, with squared gradients
# that grow by a factor of 9 or fall by one of 40. Networks (markers, means with standard errors) do the same, and
# scatter in the last layers. At the critical point kernels and gradients of all five inputs stay.
