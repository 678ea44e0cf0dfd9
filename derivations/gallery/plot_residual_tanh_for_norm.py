r"""
A bounded function instead of LayerNorm
=======================================

*Transformers without normalisation put tanh or erf of* :math:`\alpha z` *where LayerNorm was. How do gradients grow
with depth then, and which* :math:`\alpha` *is small enough?*

In the block :math:`z' = z + W_2\,\mathrm{relu}(W_1\,\mathrm{erf}(\alpha z))` the kernel of the stream grows linearly,
and the mean squared derivative of erf falls like its inverse root. LayerNorm's falls faster, like the inverse kernel.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
import torch

import symres as sr

# %%
# A law with the depth
# --------------------

alpha = sp.Symbol("alpha", positive=True)
theory = sr.derive(sr.layer("z + Dense(relu(Dense(erf(alpha*z))))", alpha=alpha))
print("chi_perp =", theory.chi_perp.expr)
print(theory.exponents)

# %%
# The logarithm of :math:`J` grows like the root of the depth, in proportion to :math:`\alpha`: a stretched exponential.
# By hand: the squared derivative of erf has the mean :math:`4\alpha^2/(\pi\sqrt{1 + 4\alpha^2 K})`, half of which
# passes the ReLU.

K, C_W = sr.K, sr.C_W
by_hand = 1 + C_W**2 * 2 * alpha**2 / (sp.pi * sp.sqrt(1 + 4 * alpha**2 * K))
assert sp.simplify(theory.chi_perp.expr - by_hand) == 0

# %%
# Three slopes and LayerNorm
# --------------------------
# Lines are theory with :math:`C_W = 1`, markers six networks of PyTorch of width 250.

depth = 400
marked = (4, 16, 36, 64)


def growth(layer_theory, **values):
    """J from the input to each layer, the product of susceptibilities along the kernels."""
    module = sr.export(layer_theory, target="numpy").load()
    K, J = 1.0, [1.0]
    for _ in range(depth):
        J.append(J[-1] * module.chi_perp(K, C_W=1, C_b=0, **values))
        K = module.kernel_map(K, C_W=1, C_b=0, **values)
    return np.array(J)


def simulate(function, width=250, networks=6):
    """Squared gradients from the marked layers to the input."""
    results = np.empty((networks, len(marked)))
    for network in range(networks):
        z = torch.randn(1, width)
        z = start = (z / z.pow(2).mean().sqrt()).requires_grad_()
        for layer in range(1, marked[-1] + 1):
            hidden = torch.relu(function(z) @ torch.randn(width, width) / width**0.5)
            z = z + hidden @ torch.randn(width, width) / width**0.5
            if layer in marked:
                vectors = torch.randn(10, 1, width)
                (back,) = torch.autograd.grad(
                    z, start, vectors, retain_graph=True, is_grads_batched=True
                )
                results[network, marked.index(layer)] = back.pow(2).mean()
    return results.mean(0), results.std(0) / networks**0.5


torch.manual_seed(0)
norm = sr.derive(sr.layer("z + Dense(relu(Dense(LayerNorm(z))))"))
cases = {
    r"$\alpha = 1$": (growth(theory, alpha=1), torch.erf),
    r"$\alpha = 1/2$": (growth(theory, alpha=0.5), lambda z: torch.erf(z / 2)),
    r"$\alpha = 1/20$": (growth(theory, alpha=0.05), lambda z: torch.erf(z / 20)),
    "LayerNorm": (growth(norm), lambda z: torch.nn.functional.layer_norm(z, z.shape[-1:])),
}
plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
for (name, (curve, function)), marker in zip(cases.items(), "o^sD", strict=True):
    (line,) = axes.semilogy(np.sqrt(np.arange(depth + 1)), curve, label=name)
    squares, errors = simulate(function)
    axes.errorbar(np.sqrt(marked), squares, errors, fmt=marker, color=line.get_color())
    print(
        f"{name:16} J(64) = {curve[64]:.4g}, networks {squares[-1]:.4g} +- {errors[-1]:.2g}; J(400) = {curve[400]:.4g}"
    )
    assert abs(squares[-1] - curve[64]) < 4 * errors[-1]
axes.set(xlabel="root of the layer", ylabel="squared gradient from the input to the layer")
axes.legend(loc="upper left")

# %%
# **What it shows**: over the root of the layer the curves of erf become straight, with slopes in proportion to
# :math:`\alpha`, while LayerNorm's bends, for its :math:`J` is a power of the depth. At 400 blocks :math:`\alpha = 1`
# has multiplied squared gradients by 60 million and :math:`\alpha = 1/20`, one over the root of the depth, by less
# than 2.

assert cases[r"$\alpha = 1/20$"][0][400] < 2
