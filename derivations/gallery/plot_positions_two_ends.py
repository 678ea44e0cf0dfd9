r"""
Strong scores: two ends of a deep stack
=======================================

*Does a deep transformer forget how alike its tokens were at the start?*

Attention with large scores is nearly a choice: a token attends to itself and to little else, and stays what it was. So
nearly orthogonal tokens may stay apart while tokens that begin alike become equal, in the same network.
"""

import matplotlib.pyplot as plt
import torch

import symres as sr

# %%
# The ends
# --------
# A gated transformer (SwiGLU, RMSNorm) of 64 tokens whose scores have the variance 64.

numbers = {"C_A": 0.45, "C_1": 1, "C_2": 1, "C_3": 1}
block = sr.transformer("silu", norm="rms", gated=True, C_Q=8, C_K=8)
theory = sr.derive(block, positions=sr.Tokens(64))
ends = theory.similarity_fixed_points(**numbers)
for cosine, is_stable in ends:
    print(f"rho = {cosine:.4f} {'attracts' if is_stable else 'divides'}")

# %%
# Paths to them
# -------------

depth, starts = 30, (0.0, 0.3, 0.6, 0.8, 0.9)
plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
paths = {}
for start in starts:
    paths[start] = [float(c) for c in theory.similarity(depth, K=1, C=start, **numbers)]
    axes.plot(paths[start], label=f"{start:g}")
for cosine, is_stable in ends:
    axes.axhline(cosine, color="0.5", lw=1, ls="-" if is_stable else ":")
axes.set(xlabel="block", ylabel=r"cosine $\rho$ of two tokens")

# %%
# Transformers of PyTorch
# -----------------------
# One block of wide networks, written down without symres, moves tokens in the directions of the theory.

width, head, networks = 512, 64, 3


def cosine_behind(start):
    """The mean cosine of two tokens behind a block, and its standard error."""

    def dense(u, variance=1.0):
        return u @ torch.randn(width, width) * (variance / width) ** 0.5

    def norm(u):
        return u / u.pow(2).mean(-1, keepdim=True).sqrt()

    def heads(u):
        return u.unflatten(-1, (-1, head)).transpose(0, 1)

    cosines = []
    for _ in range(networks):
        axes, _ = torch.linalg.qr(torch.randn(width, 65))
        z = width**0.5 * ((1 - start) ** 0.5 * axes[:, :64].T + start**0.5 * axes[:, 64])
        u = norm(z)
        q, k, v = heads(dense(u, 8)), heads(dense(u, 8)), heads(dense(u))
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        z = z + dense(mixed.transpose(0, 1).flatten(1), 0.45)
        u = norm(z)
        z = z + dense(torch.nn.functional.silu(dense(u)) * dense(u))
        gram = z @ z.T
        cosines.append((gram.sum() - gram.trace()) / (63 * gram.trace()))
    cosines = torch.stack(cosines)
    return cosines.mean().item(), (cosines.std() / networks**0.5).item()


torch.manual_seed(0)
for start, path in paths.items():
    mean, error = cosine_behind(start)
    axes.errorbar(1, mean, error, fmt="o", ms=4, color="black")
    print(f"from {start:g}: {mean:.4f} +- {error:.4f} behind a block, theory {path[1]:.4f}")
    assert abs(mean - path[1]) < 4 * error + 0.01
axes.legend(title="at the start", loc="center left", bbox_to_anchor=(1, 0.5))

# %%
# **What it shows**: tokens that begin below the dotted line go, slowly, to a cosine of 0.05 and stay apart; those above
# it become equal. Dots are networks behind one block.

assert paths[0.6][-1] < max(paths[0.6]) and paths[0.8][-1] > paths[0.8][0]
