r"""
PyTorch's default beside LeCun's and He's
=========================================

*A linear layer of PyTorch is initialised with* ``kaiming_uniform_(a=sqrt(5))``. *What does that do to a deep ReLU
network, beside LeCun's and He's schemes?*

With :math:`a = \sqrt{5}` the variance of a weight is 1/(3 fan-in), so :math:`C_W = 1/3`; LeCun's scheme has
:math:`C_W = 1`, He's :math:`C_W = 2`. A ReLU layer multiplies squared gradients by :math:`\chi_\perp = C_W/2` and maps
kernels by :math:`K' = C_b + C_W K/2`.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import symres as sr

# %%
# The two lines of theory
# -----------------------

theory = sr.derive("relu")
print("K'       =", theory.kernel_map.expr)
print("chi_perp =", theory.chi_perp.expr)

# %%
# Theory and networks over the depth
# ----------------------------------
# PyTorch's default also draws biases, of variance 1/(3 fan-in). Dots are 20 networks of width 200 and 50 layers.

width, depth, networks = 200, 50, 20


def draw(scheme):
    """A linear layer with one of the three schemes."""
    layer = torch.nn.Linear(width, width)  # PyTorch's default
    if scheme == "LeCun":
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="linear")
    if scheme == "He":
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    if scheme != "default":
        torch.nn.init.zeros_(layer.bias)
    return layer.double()


def simulate(scheme):
    """Kernels and squared gradients at every fifth layer, for each network."""
    kernels, gradients = [], []
    for _ in range(networks):
        start = torch.randn(1, width, dtype=torch.float64)
        z = (start / start.pow(2).mean().sqrt()).requires_grad_()
        stream = [z]
        for _ in range(depth):
            stream.append(draw(scheme)(torch.relu(stream[-1])))
        kernels.append([layer.pow(2).mean().item() for layer in stream[::5]])
        last = stream[-1]
        vectors = torch.randn(20, 1, width, dtype=torch.float64)
        back = torch.autograd.grad(last, stream[::5], vectors, is_grads_batched=True)
        gradients.append([derivative.pow(2).mean().item() for derivative in back])
    return np.array(kernels), np.array(gradients)


torch.manual_seed(0)
schemes = {"default": ("1/3", 1 / (3 * width)), "LeCun": (1, 0), "He": (2, 0)}
plt.style.use("tableau-colorblind10")
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.8), layout="constrained")
for (name, (C_W, C_b)), marker in zip(schemes.items(), "o^s", strict=True):
    K = [float(value) for value in theory.kernels(depth, 1, C_W=C_W, C_b=C_b)]
    J = [
        float(theory.jacobian(layer, depth, 1, C_W=C_W, C_b=C_b))
        for layer in range(0, depth + 1, 5)
    ]
    kernels, gradients = simulate(name)
    (line,) = left.semilogy(K, label=f"{name}, $C_W$ = {C_W}")
    left.semilogy(range(0, depth + 1, 5), kernels.mean(0), marker, color=line.get_color())
    right.semilogy(range(0, depth + 1, 5), J, color=line.get_color())
    right.semilogy(
        range(0, depth + 1, 5), gradients.mean(0), marker, color=line.get_color()
    )
    print(f"{name:8} K = {K[-1]:.4g}, networks {kernels[:, -1].mean():.4g};", end=" ")
    print(f"squared gradient {J[0]:.4g}, networks {gradients[:, 0].mean():.4g}")
    for layer in (
        10,
        25,
        50,
    ):  # relative errors, theory's squared gradients are those towards the output
        ratios = kernels[:, layer // 5] / K[layer]
        assert abs(ratios.mean() - 1) < 4 * ratios.std() / networks**0.5
        ratios = gradients[:, -1 - layer // 5] / J[-1 - layer // 5]
        assert abs(ratios.mean() - 1) < 4 * ratios.std() / networks**0.5
left.set(xlabel="layer", ylabel="kernel", title="forward")
right.set(xlabel="layer", ylabel="squared gradient, last layer to here", title="backward")
figure.legend(loc="outside lower center", ncols=3)

# %%
# **What it shows**: on average He's scheme keeps both. LeCun's halves both in each layer, to
# :math:`2^{-50} = 9 \cdot 10^{-16}`. With the default kernels stay at the size of the biases, so activations look
# harmless, while squared gradients lose a factor of 6 a layer, :math:`6^{-50} = 10^{-39}` in all: the output hardly
# depends on the input. Lines are theory, markers are networks.

assert np.isclose(float(theory.jacobian(0, depth, 1, C_W="1/3", C_b=0)), 6.0**-50)
