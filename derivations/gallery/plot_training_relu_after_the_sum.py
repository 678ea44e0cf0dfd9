r"""
ReLU after the sum of skip and branch
=====================================

*In the first ResNets the ReLU stands behind the sum,* :math:`z' = \mathrm{relu}(z + F(z))`. *Which scale of the
branches keeps the kernel over the depth?*

A theory of Gaussian streams does not cover this block: the stream is never negative, and symres refuses the equation
with that reason. What is not derived can be measured.
"""

import matplotlib.pyplot as plt
import torch

import symres as sr
import symres.torch as st

# %%
# Refused
# -------

try:
    print(sr.derive("relu(z + Dense(relu(Dense(z))))").kernel_map.expr)
except sr.SymresError as refusal:
    print(refusal)

# %%
# Measured
# --------
# The branch gives back the mean square of the stream, and has a factor in front. Four networks for each factor.

depth, width = 24, 256


class Block(torch.nn.Module):
    """ReLU after the sum."""

    def __init__(self, scale):
        super().__init__()
        self.up, self.down = torch.nn.Linear(width, width), torch.nn.Linear(width, width)
        for layer in (self.up, self.down):
            torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            torch.nn.init.zeros_(layer.bias)
        torch.nn.init.normal_(self.down.weight, std=width**-0.5)
        self.scale = scale

    def forward(self, z):
        """Stream in, stream out."""
        return torch.relu(z + self.scale * self.down(torch.relu(self.up(z))))


scales = {"1": 1, "1/sqrt(24)": 24**-0.5, "1/24": 1 / 24}
torch.manual_seed(0)
inputs = torch.randn(32, width).abs()
plt.style.use("tableau-colorblind10")
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.9), layout="constrained")
growth = {}
for (name, scale), marker in zip(scales.items(), "o^s", strict=True):

    def build(scale=scale):
        """One network."""
        return torch.nn.Sequential(*[Block(scale) for _ in range(depth)])

    frame = st.measure(build, inputs, seeds=4, progress=False).frame()
    (line,) = left.semilogy(
        range(depth + 1),
        frame["kernel"],
        marker + "-",
        markersize=4,
        label=f"branches times {name}",
    )
    right.semilogy(
        range(depth + 1),
        frame["apjn_backward"],
        marker + "-",
        markersize=4,
        color=line.get_color(),
    )
    growth[name] = frame["kernel"].iloc[-1] / frame["kernel"].iloc[0]
    gradient = frame["apjn_backward"].iloc[0]
    print(
        f"branches times {name:10} kernel times {growth[name]:.4g}, squared gradient {gradient:.4g}"
    )
left.set(xlabel="block", ylabel="mean square of the stream", title="forward")
right.set(xlabel="block", ylabel="squared gradient, output to block", title="backward")
figure.legend(loc="outside lower center", ncols=3)

# %%
# **What it shows**: with full branches the stream grows by a factor of 1.75 a block. Branches times one over the root
# of their number leave squared gradients near 1 and let the stream grow to 2.4 times its first mean square; branches
# times one over their number change hardly anything. The root of the number is the right scale here too.
#
# Without symres
# --------------
# The growth for :math:`1/\sqrt{24}` in a loop of PyTorch, 16 networks.

torch.manual_seed(1)
sizes = torch.empty(16)
with torch.no_grad():
    for network in range(16):
        z = inputs
        for _ in range(depth):
            up, down = torch.randn(2, width, width) / width**0.5
            z = torch.relu(z + 24**-0.5 * torch.relu(z @ up * 2**0.5) @ down)
        sizes[network] = z.pow(2).mean() / inputs.pow(2).mean()
error = (
    sizes.std().item() * (1 / 16 + 1 / 4) ** 0.5
)  # of the difference to the mean of four networks
print(f"{sizes.mean():.3f} +- {error:.3f}, measured above {growth['1/sqrt(24)']:.3f}")
assert abs(sizes.mean() - growth["1/sqrt(24)"]) < 4 * error
