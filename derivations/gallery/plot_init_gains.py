r"""
Gains of ten activations
========================

*PyTorch's table of gains has no GELU, SiLU or Mish. Which gain do they need, and what do the table's 5/3 for tanh and
3/4 for SELU stand for?*

Weights of a layer are drawn with the standard deviation gain / sqrt(fan-in). At kernel :math:`K = 1` the forward gain
:math:`1/\sqrt{\langle \phi(z)^2 \rangle}` keeps activations, the backward gain
:math:`1/\sqrt{\langle \phi'(z)^2 \rangle}` keeps gradients. The critical gain keeps both, at a kernel of its own,
where there is one. Of the ten activations below all three agree for ReLU and leaky ReLU alone.
"""

import matplotlib.pyplot as plt
import torch

import symres as sr
import symres.torch as st

# %%
# Three gains of a module
# -----------------------
# ``st.gain`` takes a PyTorch module, a function, a name or a formula, and says why.

print(st.gain(torch.nn.GELU(), "critical").why)

activations = {
    "ReLU": torch.nn.ReLU(),
    "leaky ReLU 0.01": torch.nn.LeakyReLU(0.01),
    "GELU": torch.nn.GELU(),
    "SiLU": torch.nn.SiLU(),
    "Mish": torch.nn.Mish(),
    "ELU": torch.nn.ELU(),
    "SELU": torch.nn.SELU(),
    "tanh": torch.nn.Tanh(),
    "softsign": torch.nn.Softsign(),
    "sigmoid": torch.nn.Sigmoid(),
}
conventions = ("critical", "forward", "backward")
gains: dict[str, dict[str, float]] = {name: {} for name in activations}
for name, module in activations.items():
    for convention in conventions:
        try:
            gains[name][convention] = float(st.gain(module, convention))
        except sr.DeclarationError as refusal:  # the sigmoid has no critical point
            print(refusal)

# %%
# Beside PyTorch's table
# ----------------------

arguments = {
    "ReLU": ("relu",),
    "leaky ReLU 0.01": ("leaky_relu", 0.01),
    "SELU": ("selu",),
    "tanh": ("tanh",),
    "sigmoid": ("sigmoid",),
}
table = {name: torch.nn.init.calculate_gain(*words) for name, words in arguments.items()}

plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
rows = {name: -row for row, name in enumerate(activations)}
for convention, marker in zip(conventions, "o^v", strict=True):
    points = [
        (gains[name][convention], rows[name])
        for name in activations
        if convention in gains[name]
    ]
    axes.plot(*zip(*points, strict=True), marker, markersize=8, label=convention)
axes.plot(
    table.values(),
    [rows[name] for name in table],
    "kx",
    markersize=9,
    label="PyTorch's table",
)
axes.set(
    xlabel="gain (logarithmic)",
    xscale="log",
    xticks=(0.7, 1, 1.5, 2, 3, 4),
    xlim=(0.6, 5.3),
)
axes.xaxis.set_major_formatter("{x:g}")
axes.xaxis.set_minor_formatter("")
axes.set_yticks(list(rows.values()), list(rows))
axes.grid(alpha=0.3)
figure.legend(loc="outside upper center", ncols=4)

print("               ", *(f"{convention:>9}" for convention in conventions), "  PyTorch")
for name, values in gains.items():
    numbers = [
        f"{values[convention]:9.5f}" if convention in values else "     none"
        for convention in conventions
    ]
    print(f"{name:15}", *numbers, f"{table[name]:9.5f}" if name in table else "     none")

# %%
# **What it shows**: for ReLU and leaky ReLU the cross and the three gains agree. GELU, SiLU and Mish need about 1.41
# for criticality, like ReLU, with biases and inputs as ``why`` says, and more for one direction alone. PyTorch's 5/3
# for tanh lies above all three gains, and its 3/4 for SELU between the critical and the backward one: neither number
# is a solution of one of the conditions.
#
# What 5/3 and 3/4 do
# -------------------
# Both are gains at which kernels still settle, and where they settle gradients grow: by 21 % a layer for tanh, by
# 0.4 % for SELU, whose kernel has then fallen to 0.023.

for name, C_W in (("tanh", "25/9"), ("selu", "9/16")):
    settled = sr.derive(name).fixed_points(C_W=C_W, C_b=0)[-1]
    print(
        f"{name}: K* = {settled.K:.4f}, squared gradients times {settled.chi_perp:.4f} a layer"
    )

# %%
# Sampled
# -------
# Forward and backward gains are averages over a Gaussian; 300000 samples and PyTorch's own derivatives give the same
# within four standard errors.

torch.manual_seed(0)
for name, module in activations.items():
    z = torch.randn(300_000, dtype=torch.float64, requires_grad=True)
    output = module(z)
    (slope,) = torch.autograd.grad(output.sum(), z)
    for convention, squares in (("forward", output.detach() ** 2), ("backward", slope**2)):
        error = squares.std() / len(squares) ** 0.5
        assert abs(squares.mean() - gains[name][convention] ** -2) < 4 * error, (
            name,
            convention,
        )
