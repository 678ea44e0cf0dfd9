r"""
Branches scaled by one over the square root of their number
===========================================================

*GPT-2 divides the last weights of each residual branch by the square root of the number of branches. Why by that, on
which matrices, and what happens without it?*

A branch behind a LayerNorm adds the same variance at each depth, whatever the stream is. Without a scale :math:`L`
branches add :math:`L` of these, with the factor :math:`1/\sqrt{L}` on the last matrix they add one in total.
"""

import matplotlib.pyplot as plt
import torch

import symres as sr

# %%
# Kernel and gradient over the depth
# ----------------------------------
# The branch is the MLP of a transformer: LayerNorm, a matrix, GELU, a matrix; here with equal widths and
# :math:`C_W = 1`.

depth = 48
text = "z + xi*Dense(phi(Dense(LayerNorm(z))))"
networks = {
    "not scaled": sr.network([sr.layer(text, phi="gelu", xi=1)] * depth),
    "times 1/sqrt(48)": sr.network([sr.layer(text, phi="gelu", xi="1/sqrt(48)")] * depth),
}
kernels = {
    name: [float(K) for K in network.kernels(1, C_W=1, C_b=0)]
    for name, network in networks.items()
}
gradients = {
    name: [
        float(network.jacobian(0, block, 1, C_W=1, C_b=0))
        for block in range(0, depth + 1, 4)
    ]
    for name, network in networks.items()
}

# %%
# Networks of PyTorch
# -------------------
# Ten networks of width 400, without symres; squared gradients are those of forty random projections of the output.


def simulate(scale, width=400, networks=10):
    """Kernels over the depth and the squared gradient from end to end, each with its standard error."""
    streams, squares = [], []
    for _ in range(networks):
        z = start = torch.randn(1, width, requires_grad=True)
        start.data /= start.data.pow(2).mean().sqrt()  # the kernel begins at 1
        stream = [1.0]
        for _ in range(depth):
            u = torch.nn.functional.layer_norm(z, (width,))
            hidden = torch.nn.functional.gelu(u @ torch.randn(width, width) / width**0.5)
            z = z + scale * hidden @ torch.randn(width, width) / width**0.5
            stream.append(z.pow(2).mean().item())
        (gradient,) = torch.autograd.grad(
            z, start, torch.randn(40, 1, width), is_grads_batched=True
        )
        streams.append(stream)
        squares.append(gradient.pow(2).mean().item())
    streams, squares = torch.tensor(streams), torch.tensor(squares)
    errors = [numbers.std(0) / networks**0.5 for numbers in (streams, squares)]
    return streams.mean(0), squares.mean(), *errors


torch.manual_seed(0)
plt.style.use("tableau-colorblind10")
figure, (left, right) = plt.subplots(
    1, 2, figsize=(7, 3.7), sharey=True, layout="constrained"
)
for (name, curve), scale, marker in zip(
    kernels.items(), (1, depth**-0.5), "os", strict=True
):
    stream, square, stream_error, square_error = simulate(scale)
    (line,) = left.plot(curve, label=name)
    left.errorbar(
        range(0, depth + 1, 6),
        stream[::6],
        stream_error[::6],
        fmt=marker,
        color=line.get_color(),
    )
    right.plot(range(0, depth + 1, 4), gradients[name], color=line.get_color())
    right.errorbar(depth, square, square_error, fmt=marker, color=line.get_color())
    print(
        f"{name}: K = {curve[-1]:.3f}, sampled {stream[-1]:.3f} +- {stream_error[-1]:.3f};",
        end=" ",
    )
    print(f"J = {gradients[name][-1]:.3f}, sampled {square:.3f} +- {square_error:.3f}")
    assert abs(stream[-1] - curve[-1]) < 4 * stream_error[-1]
    assert abs(square - gradients[name][-1]) < 4 * square_error
left.set(xlabel="branch", ylabel="kernel of the stream", title="forward")
right.set(xlabel="branch", ylabel="squared gradient from the input", title="backward")
figure.legend(loc="outside lower center", ncols=2)

# %%
# **What it shows**: without a scale the kernel grows by the same amount in each branch, to 21.4 after 48, and squared
# gradients to 26.3. With :math:`1/\sqrt{48}` both stay below 1.5. Lines are theory, markers are networks.
#
# Any depth
# ---------
# As the number of branches grows, the kernel becomes a function of :math:`\tau = \xi^2 L` alone, here :math:`\tau = 1`.
# The scale belongs on one matrix of the branch, its last: on both matrices it would act twice, and a scale in front
# of the LayerNorm is divided out again.

limit = sr.derive(sr.layer(text, phi="gelu", xi=sr.xi)).depth_limit()
print(limit.kernel(1, 1, C_W=1, C_b=0))
assert abs(float(limit.kernel(1, 1, C_W=1, C_b=0)) - kernels["times 1/sqrt(48)"][-1]) < 0.01
