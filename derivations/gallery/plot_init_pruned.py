r"""
Layers of which nine weights in ten are pruned
==============================================

*How do I initialise layers of which 90 percent of the weights are masked?*

A mask of density :math:`d` leaves :math:`d` of the variance of a neuron's input, so :math:`C_W` becomes
:math:`d\,C_W`: for ReLU with He's weights a layer multiplies kernels and squared gradients by :math:`d` instead of 1.
The weights that are left have to make up for the others, by :math:`1/\sqrt{d}`.
"""

import warnings

import matplotlib.pyplot as plt
import torch
from torch.nn.utils import prune

import symres as sr
import symres.torch as st

# %%
# A pruned network
# ----------------

depth, width, density = 30, 400, 0.1


def build():
    """He's weights, nine in ten pruned."""
    layers = []
    for _ in range(depth):
        layer = torch.nn.Linear(width, width)
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        torch.nn.init.zeros_(layer.bias)
        prune.random_unstructured(layer, "weight", amount=1 - density)
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers)


torch.manual_seed(0)
model = build()
inputs = torch.randn(64, width)
with warnings.catch_warnings(record=True) as caught:
    before = st.measure(model, inputs)
for warning in caught:
    print(warning.message)

# %%
# ``st.init_`` sees the masks
# ---------------------------

report = st.init_(model, inputs=inputs, seed=0)
print(report)
after = st.measure(model, inputs)

plt.style.use("tableau-colorblind10")
theory = sr.derive("relu")
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.8), layout="constrained")
for name, measured, C_W, marker in (
    ("He's, masked", before, 2 * density, "o"),
    ("st.init_", after, 2, "^"),
):
    frame = measured.frame()
    layers = range(1, depth + 1)
    (dots,) = left.semilogy(layers, frame["kernel"], marker, markersize=5, label=name)
    right.semilogy(
        layers, frame["apjn_backward"], marker, markersize=5, color=dots.get_color()
    )
    first = frame["kernel"].iloc[0]
    left.semilogy(
        layers,
        [float(K) for K in theory.kernels(depth - 1, first, C_W=C_W, C_b=0)],
        color=dots.get_color(),
    )
left.set(xlabel="layer", ylabel="kernel", title="forward")
right.set(xlabel="layer", ylabel="squared gradient, output to layer", title="backward")
figure.legend(loc="outside lower center", ncols=2)

# %%
# **What it shows**: with masked He weights a layer divides kernels and squared gradients by 10, as the line of theory
# for :math:`C_W = 0.2` says. After ``st.init_`` both keep their size, with the same masks.

for layer in (module for module in model if isinstance(module, torch.nn.Linear)):
    assert abs((layer.weight_mask.mean() - density).item()) < 1e-6
    assert torch.equal(layer.weight == 0, layer.weight_mask == 0)
kept = model[-2].weight[model[-2].weight_mask == 1]
C_W = width * density * kept.var().item()
print(f"C_W of the entries that are kept: {C_W:.4f}")
assert abs(C_W / 2 - 1) < 4 * (2 / len(kept)) ** 0.5
with torch.no_grad():
    first, last = model[:1](inputs).pow(2).mean(), model[:-1](inputs).pow(2).mean()
assert 1 / 5 < last / first < 5
