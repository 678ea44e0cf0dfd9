r"""
Where in a model the signal dies
================================

*My deep model does not train. In which layer do its activations and its gradients vanish?*

``st.measure`` runs a model on a batch and reports, at every place, the kernel (the mean square of activations) and the
averaged partial Jacobian norm :math:`J`: the squared norm of the derivative between that place and the input, or the
output, for each neuron. A network that can be trained keeps :math:`J` near 1 over its whole depth.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import torch

import symres as sr
import symres.torch as st

# %%
# Measure
# -------
# The model is 40 layers of GELU, width 128, as PyTorch initialises them.

torch.manual_seed(0)
width, depth = 128, 40
model = torch.nn.Sequential(
    *[
        module
        for _ in range(depth)
        for module in (torch.nn.Linear(width, width), torch.nn.GELU())
    ]
)
inputs = torch.randn(64, width)
measured = st.measure(model, inputs)
figure = measured.plot()

# %%
# **What it shows**: the kernel falls to 0.003 within four layers and then stays, held up by the biases alone. The
# Jacobian norm from the input falls along a straight line on the logarithmic axis, by the same factor in each layer,
# and so does the one to the output: no layer in particular is to blame.
#
# The verdict in words
# --------------------

print(measured.fit())

# %%
# The theory has the same factor. Kernels are so small that GELU is the line :math:`z/2` with slope 1/2, hence
# :math:`\chi_\perp \approx C_W/4`, and PyTorch's default is :math:`C_W = 1/3`.

(settled,) = sr.derive("gelu").fixed_points(C_W="1/3", C_b=1 / (3 * width))
print(f"K* = {settled.K:.5f}, squared gradients times {settled.chi_perp:.5f} a layer")

# %%
# What mends it
# -------------

st.init_(model, inputs=inputs, seed=0)
mended = st.measure(model, inputs)

plt.style.use("tableau-colorblind10")
picture, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name, result, marker in (
    ("PyTorch's default", measured, "o"),
    ("st.init_", mended, "s"),
):
    frame = result.frame()
    axes.semilogy(
        range(1, depth + 1), frame["apjn_backward"], marker, markersize=4, label=name
    )
axes.set(xlabel="layer", ylabel="squared gradient, output to layer")
axes.legend(loc="lower right")

# %%
# **What it shows**: with weights for this depth the squared gradient that arrives in the first layer is within a factor
# of 2 of the one in the last; with the defaults it is smaller by 42 orders of magnitude.

backward = mended.frame()["apjn_backward"].to_numpy()
assert 1 / 2 < backward[0] / backward[-1] < 2

# %%
# By automatic differentiation
# ----------------------------
# One network of PyTorch without symres: the derivative of a random combination of outputs in the activations behind the
# first layer.

torch.manual_seed(0)
default = torch.nn.Sequential(
    *[
        module
        for _ in range(depth)
        for module in (torch.nn.Linear(width, width), torch.nn.GELU())
    ]
).double()
state = torch.randn(64, width, dtype=torch.float64, requires_grad=True)
output = default(state)
(gradient,) = torch.autograd.grad((output * torch.randn_like(output)).sum(), state)
rate = (gradient.pow(2).sum(1).mean() / width) ** (1 / depth)
print(f"squared gradient: a factor {rate:.4f} a layer")
assert abs(rate - settled.chi_perp) < 0.003
