r"""
Gated feed-forward blocks
=========================

*A SwiGLU block has three matrices. How large is each, and which of them carries the factor for the depth?*

The block is :math:`z' = z + W_3\,[\mathrm{silu}(W_1 u) \cdot W_2 u]` with :math:`u = \mathrm{RMSNorm}(z)`. It adds the
kernel :math:`C_3\,C_2\,\langle \mathrm{silu}^2 \rangle_{C_1}`: up (:math:`W_2`) and down (:math:`W_3`) enter as a
product, the gate (:math:`W_1`) does not.
"""

import matplotlib.pyplot as plt
import sympy as sp
import torch

import symres as sr
import symres.torch as st

# %%
# Three standard deviations
# -------------------------


class Gated(torch.nn.Module):
    """The block as it stands in language models."""

    def __init__(self, width, hidden):
        super().__init__()
        self.norm = torch.nn.RMSNorm(width)
        self.gate = torch.nn.Linear(width, hidden, bias=False)
        self.up = torch.nn.Linear(width, hidden, bias=False)
        self.down = torch.nn.Linear(hidden, width, bias=False)

    def forward(self, z):
        """Stream in, stream out."""
        u = self.norm(z)
        return z + self.down(torch.nn.functional.silu(self.gate(u)) * self.up(u))


depth, width, hidden = 12, 128, 344
torch.manual_seed(0)
model = torch.nn.Sequential(*[Gated(width, hidden) for _ in range(depth)])
st.init_(model, inputs=torch.randn(64, width), seed=0)
print("matrix   fan-in   standard deviation   C_W")
for name in ("gate", "up", "down"):
    matrices = torch.stack([getattr(block, name).weight for block in model])
    std, fan_in = matrices.std().item(), matrices.shape[-1]
    print(f"{name:6} {fan_in:8} {std:20.5f} {fan_in * std**2:6.4f}")

# %%
# Gate and up have :math:`C_W = 1`, down carries the factor for 12 branches, close to 1/12 = 0.083.
#
# The factor on each of the three
# -------------------------------
# Lines are theory with 1/12 in the variance of one matrix; markers are ten networks of PyTorch.

C_1, C_2, C_3 = sp.symbols("C_1:4", positive=True)
u = sr.RMSNorm(sr.z)
gated = sr.Dense(sr.activation("silu")(sr.Dense(u, C_1, 0)) * sr.Dense(u, C_2, 0), C_3, 0)
network = sr.network([sr.Layer(sr.z + gated)] * depth)
cases = {
    "none": (1, 1, 1),
    "gate": ("1/12", 1, 1),
    "up": (1, "1/12", 1),
    "down": (1, 1, "1/12"),
}


@torch.no_grad()
def simulate(on, width=256, networks=10):
    """Kernels of the stream of each network."""
    factors = [12**-0.5 if name == on else 1 for name in ("gate", "up", "down")]
    kernels = torch.empty(networks, depth + 1)
    for row in kernels:
        z = torch.randn(width)
        z /= z.pow(2).mean().sqrt()
        row[0] = 1
        for layer in range(depth):
            W = [factor * torch.randn(width, width) / width**0.5 for factor in factors]
            u = z / z.pow(2).mean().sqrt()
            z = z + W[2] @ (torch.nn.functional.silu(W[0] @ u) * (W[1] @ u))
            row[layer + 1] = z.pow(2).mean()
    return kernels


torch.manual_seed(1)
plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(6.8, 4), layout="constrained")
for (on, (C_1, C_2, C_3)), marker, style in zip(
    cases.items(), "os^D", ("-", "-", "-", "--"), strict=True
):
    K = [float(kernel) for kernel in network.kernels(1, C_1=C_1, C_2=C_2, C_3=C_3)]
    J = float(network.jacobian(0, depth, 1, C_1=C_1, C_2=C_2, C_3=C_3))
    (line,) = axes.plot(K, style, label=f"factor on {on}" if on != "none" else "no factor")
    kernels = simulate(on)
    mean, error = kernels[:, -1].mean(), kernels[:, -1].std() / 10**0.5
    axes.plot(kernels.mean(0), marker, color=line.get_color(), markersize=5)
    print(f"{on:5} K = {K[-1]:.4f}, networks {mean:.4f} +- {error:.4f}; J = {J:.4f}")
    assert abs(mean - K[-1]) < 4 * error
axes.set(xlabel="block", ylabel="kernel of the stream")
axes.legend(loc="upper left")

# %%
# **What it shows**: without a factor each block adds 0.36, and the kernel of the stream is 5.3 after 12. With 1/12 in
# the variance of up or of down all blocks together add that much, and the two lines are one: theory knows their product
# alone. By custom the factor stands on down. On the gate it makes branches smaller still, because a SiLU of small
# arguments is nearly half of them.

kernels = [
    network.kernels(1, C_1=1, C_2=C_2, C_3=C_3)[-1]
    for C_2, C_3 in ((1, "1/12"), ("1/12", 1))
]
assert abs(kernels[0] - kernels[1]) < 1e-12
