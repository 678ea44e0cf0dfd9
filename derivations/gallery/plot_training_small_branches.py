r"""
Branches that start small
=========================

*The branches of my model carry a LayerScale of 1e-4, or a factor that starts at zero. What does that do, and may a new
initialisation undo it?*

Branches that start near zero make the whole network the identity: kernels and gradients of the stream stay as they are
at any depth. It is a choice about how training begins, not an error, so ``st.init_`` keeps what starts small and sets
the weights of these branches to unit size.
"""

import matplotlib.pyplot as plt
import torch

import symres.torch as st

# %%
# Three models
# ------------


class Block(torch.nn.Module):
    """A branch behind a LayerNorm, scaled by a parameter or not."""

    def __init__(self, width, scale=None):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, width), torch.nn.Linear(width, width)
        self.scale = (
            1.0 if scale is None else torch.nn.Parameter(torch.full((width,), scale))
        )

    def forward(self, z):
        """Stream in, stream out."""
        return z + self.scale * self.down(torch.nn.functional.gelu(self.up(self.norm(z))))


width, depth = 128, 24
torch.manual_seed(0)
inputs = torch.randn(64, width)
models = {
    "LayerScale 1e-4": torch.nn.Sequential(*[Block(width, 1e-4) for _ in range(depth)]),
    "LayerScale 0": torch.nn.Sequential(*[Block(width, 0.0) for _ in range(depth)]),
    "no factor": torch.nn.Sequential(*[Block(width) for _ in range(depth)]),
}
reports = {name: st.init_(model, inputs=inputs, seed=0) for name, model in models.items()}
print(reports["LayerScale 1e-4"])

# %%
# What is kept
# ------------
# The factors are left as they were. The last matrix has :math:`C_W = 1` behind them; without a factor it carries the
# branch scale :math:`\xi^2 C_W` itself.

for name, model in models.items():
    print(
        f"{name:16} C_W of the last matrix: {width * model[0].down.weight.var().item():.4f}"
    )
    if name != "no factor":
        assert all(
            torch.equal(block.scale, torch.full((width,), float(name.split()[1])))
            for block in model
        )

# %%
# The stream over the depth
# -------------------------
# By hooks of PyTorch alone; the second panel shows squared gradients of the weights in the branches for a random
# direction of the output.


@torch.no_grad()
def stream(model):
    """Mean squares behind each block."""
    z, kernels = inputs, [inputs.pow(2).mean().item()]
    for block in model:
        z = block(z)
        kernels.append(z.pow(2).mean().item())
    return kernels


def weight_gradients(model):
    """Mean squared gradients of the first matrix of each branch."""
    model.zero_grad()
    (model(inputs) * torch.randn(64, width)).sum().backward()
    return [block.up.weight.grad.pow(2).mean().item() for block in model]


plt.style.use("tableau-colorblind10")
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.9), layout="constrained")
for (name, model), marker in zip(models.items(), "o^s", strict=True):
    (line,) = left.plot(stream(model), marker, markersize=5, label=name, fillstyle="none")
    gradients = weight_gradients(model)
    print(f"{name:16} squared gradient of the first block's weights {gradients[0]:.3g}")
    if any(gradients):
        right.semilogy(
            range(1, depth + 1),
            gradients,
            marker,
            markersize=5,
            fillstyle="none",
            color=line.get_color(),
        )
left.set(xlabel="block", ylabel="kernel of the stream", ylim=(0, None))
right.set(xlabel="block", ylabel="squared gradient of weights")
figure.legend(loc="outside lower center", ncols=3)

# %%
# **What it shows**: with LayerScale the kernel stays at 1, without a factor branches of the advised scale add 0.9 in 24
# blocks. In return the weights in small branches get squared gradients that are seven decades smaller; where the factor
# starts at 0 they get none in the first step, and only the factor itself learns.

zero = models["LayerScale 0"]
assert abs(stream(models["LayerScale 1e-4"])[-1] / stream(zero)[0] - 1) < 1e-3
assert max(weight_gradients(zero)) == 0
assert min(block.scale.grad.abs().max() for block in zero) > 0
