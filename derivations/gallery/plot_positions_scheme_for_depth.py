r"""
Output weights of a transformer, by depth
=========================================

*GPT-2 divides the last weights of each branch by the root of the number of branches; BERT and ViT do not. What does
that do to a deep transformer?*

With a norm before each branch every branch adds the same to the stream, so that its kernel grows linearly with the
depth, by :math:`C_A + C_2 M`. Dividing both variances by the number of branches :math:`2L` makes that independent of
:math:`L`, and so are gradients and the cosine of two tokens at the end.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import symres as sr

# %%
# Schemes
# -------
# Width 768, weights with a standard deviation of 0.02: :math:`C = 768 \cdot 0.02^2 = 0.307`, and four times that for the
# second weights of the MLP, whose fan-in is four times as large.

C = 768 * 0.02**2
theory = sr.derive(sr.transformer("gelu", C_Q=C, C_K=C, C_1=C), positions=sr.Tokens(64))
schemes = {
    "0.02 (BERT, ViT)": lambda depth: {"C_A": C * C, "C_2": 4 * C},
    "0.02, divided (GPT-2)": lambda depth: {
        "C_A": C * C / (2 * depth),
        "C_2": 4 * C / (2 * depth),
    },
    "last weights of variance 1": lambda depth: {"C_A": 1, "C_2": 1},
}

# %%
# Ends of stacks
# --------------
# Norm of the stream, cosine of two tokens that begin with 0.1, and squared gradients, over the depth.

depths = np.array([6, 12, 24, 48, 96])
plt.style.use("tableau-colorblind10")
figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.4), layout="constrained")
ends = {}
for name, scheme in schemes.items():
    rows = []
    for depth in depths:
        numbers = scheme(int(depth))
        q, p = theory.kernels(int(depth), K=1, C=0.1, **numbers)[-1]
        gradient = theory.apjn(0, int(depth), K=1, C=0.1, tokens="all", **numbers)
        rows.append([float(q), float(p / q), float(gradient)])
    ends[name] = np.array(rows)
    for axes, column in zip(panels, ends[name].T, strict=True):
        axes.plot(depths, column, "o-", ms=3, label=name)
titles = ("kernel of the stream", "cosine of two tokens", "squared gradient, all tokens")
for axes, title in zip(panels, titles, strict=True):
    axes.set(xlabel="blocks", title=title, xscale="log")
    axes.set_xticks(depths, depths)
    axes.minorticks_off()
panels[0].set_yscale("log")
panels[2].set_yscale("log")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)

# %%
# **What it shows**: undivided, the stream of a deep network is large, so that its last blocks hardly change it, and
# gradients grow with the depth. Divided, a network of 96 blocks begins like one of 6.
#
# Transformers of PyTorch
# -----------------------
# Twelve blocks of width 384, with weights of these variances, written down without symres.

width, heads, networks = 384, 24, 4
norm = torch.nn.LayerNorm(width, elementwise_affine=False)


def dense(u, variance):
    """A layer of random weights."""
    return u @ torch.randn(width, width) * (variance / width) ** 0.5


def attention(u, C_A):
    """Attention of random weights."""
    q, k, v = (dense(u, c).unflatten(-1, (heads, -1)).transpose(0, 1) for c in (C, C, 1))
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return dense(mixed.transpose(0, 1).flatten(1), C_A)


def simulate(C_A, C_2, first):
    """Kernel and cosine of tokens behind twelve blocks, for each network."""
    axes, _ = torch.linalg.qr(torch.randn(width, 65))
    z = width**0.5 * (0.9**0.5 * axes[:, :64].T + 0.1**0.5 * axes[:, 64])
    for _ in range(12):
        z = z + attention(norm(z), C_A)
        z = z + dense(torch.nn.functional.gelu(dense(norm(z), first)), C_2)
    gram = z @ z.T / width
    kernel = gram.trace() / 64
    return kernel, (gram.sum() - gram.trace()) / (64 * 63) / kernel


torch.manual_seed(0)
for name, scheme in schemes.items():
    drawn = torch.tensor([simulate(**scheme(12), first=C) for _ in range(networks)])
    mean, error = drawn.mean(0), drawn.std(0) / networks**0.5
    kernel, cosine, _ = ends[name][1]
    print(
        f"{name:26} kernel {mean[0]:.3f} +- {error[0]:.3f}, theory {kernel:.3f}; "
        f"cosine {mean[1]:.3f} +- {error[1]:.3f}, theory {cosine:.3f}"
    )
    assert abs(mean[0] - kernel) < 4 * error[0] + 0.03 * kernel
    assert abs(mean[1] - cosine) < 4 * error[1] + 0.02
divided = ends["0.02, divided (GPT-2)"]
assert np.ptp(divided[:, 2]) < 0.05 * divided[0, 2]
