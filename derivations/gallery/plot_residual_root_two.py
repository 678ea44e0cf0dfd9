r"""
The sum of skip and branch divided by the root of 2
===================================================

*StyleGAN2, DiffWave and others divide the sum of skip connection and branch by* :math:`\sqrt{2}`. *Why, and when is it
right?*

In :math:`z' = (z + F(z))/\sqrt{2}` the kernel is the mean of the stream's and the branch's. It stays where both are
equal, which is a statement about the weights of the branch: He's for ReLU, :math:`C_W = 2`.
"""

import matplotlib.pyplot as plt
import torch

import symres as sr

# %%
# The equation as it is written
# -----------------------------

divided = sr.derive("(z + Dense(relu(z)))/sqrt(2)")
plain = sr.derive("z + Dense(relu(z))")
for theory in (divided, plain):
    print("K' =", theory.kernel_map.expr, "    chi_perp =", theory.chi_perp.expr)
(critical,) = divided.critical_points
print(critical)
assert (critical.C_W, critical.C_b) == (2, 0)

# %%
# Theory and networks
# -------------------
# With and without the root, with He's weights and with PyTorch's default, :math:`C_W = 1/3`; no biases. Circles are
# kernels, crosses squared gradients, means of 16 networks of PyTorch of width 200.

depth, width, networks = 24, 200, 16


def simulate(C_W, factor):
    """Kernel of the stream and squared gradient from the input, every fourth block, for each network."""
    kernels, gradients = [], []
    for _ in range(networks):
        z = torch.randn(1, width, dtype=torch.float64)
        stream = [(z / z.pow(2).mean().sqrt()).requires_grad_()]
        for _ in range(depth):
            weight = torch.randn(width, width, dtype=torch.float64) * (C_W / width) ** 0.5
            stream.append(factor * (stream[-1] + torch.relu(stream[-1]) @ weight))
        kernels.append([layer.pow(2).mean().item() for layer in stream[::4]])
        squares = []
        for layer in stream[::4]:
            vectors = torch.randn(20, 1, width, dtype=torch.float64)
            (back,) = torch.autograd.grad(
                layer, stream[0], vectors, retain_graph=True, is_grads_batched=True
            )
            squares.append(back.pow(2).mean().item())
        gradients.append(squares)
    return torch.tensor(kernels), torch.tensor(gradients)


torch.manual_seed(0)
plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(6.8, 4.3), layout="constrained")
cases = {
    "He, not divided": (plain, 2, 1),
    "default, not divided": (plain, 1 / 3, 1),
    r"He, divided by $\sqrt{2}$": (divided, 2, 2**-0.5),
    r"default, divided by $\sqrt{2}$": (divided, 1 / 3, 2**-0.5),
}
for name, (theory, C_W, factor) in cases.items():
    K = [float(kernel) for kernel in theory.kernels(depth, 1, C_W=C_W, C_b=0)]
    (line,) = axes.semilogy(K, label=name)
    results = simulate(C_W, factor)
    for numbers, marker in zip(results, ("o", "x"), strict=True):
        axes.semilogy(
            range(0, depth + 1, 4),
            numbers.mean(0),
            marker,
            color=line.get_color(),
            fillstyle="none",
        )
        mean, error = numbers[:, -1].mean(), numbers[:, -1].std() / networks**0.5
        assert abs(mean - K[-1]) < 4 * error, name
    print(
        f"{name:32} a block {K[1]:.4f}, {depth} blocks {K[-1]:.4g}, networks {results[0][:, -1].mean():.4g}"
    )
axes.set(xlabel="block", ylabel="kernel, squared gradient")
axes.legend(loc="upper left")

# %%
# **What it shows**: kernels and squared gradients coincide. With He's weights the root keeps both, and without it they
# double in each block. With PyTorch's default weights the branch adds a sixth of the stream: undivided blocks grow
# slowly, by 7/6, and the root makes the signal vanish, by 7/12 a block. It belongs to branches as large as the stream.
