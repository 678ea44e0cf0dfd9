r"""
Tokens that become equal
========================

*How deep may a transformer be before its tokens are all alike, and does it matter where the norms are?*

Attention averages tokens, which makes them more alike; the dense half of a block takes some of that back. The cosine
:math:`\rho` of two tokens follows from the kernels of one token, :math:`q`, and of two, :math:`p`.
"""

import matplotlib.pyplot as plt
import torch

import symres as sr

# %%
# Three stacks
# ------------
# Sixteen tokens that begin with a cosine of 0.2, GELU, and all variances 1.

depth, tokens = 32, sr.Tokens(16)
numbers = {"C_A": 1, "C_1": 1, "C_2": 1}
stacks = {
    "norm before the branch": sr.transformer("gelu"),
    "before, skip weight 3/4": sr.transformer("gelu", gamma=0.75),
    "norm after the sum": sr.transformer("gelu", place="post"),
}
theories = {name: sr.derive(block, positions=tokens) for name, block in stacks.items()}
curves = {
    name: [float(rho) for rho in theory.similarity(depth, K=1, C=0.2, **numbers)]
    for name, theory in theories.items()
}
for name, theory in theories.items():
    laws = theory.rates(**numbers)
    print(f"{name:24} {laws.kind}: 1 - rho goes with {laws.angle:.4g}")

# %%
# Transformers of PyTorch
# -----------------------
# Width 384 with 24 heads, written down without symres.

width, heads, networks = 384, 24, 4


def simulate(place, gamma):
    """The mean cosine of two tokens in front of each block, and its standard error."""
    norm = torch.nn.LayerNorm(width, elementwise_affine=False)

    def dense(u):
        return u @ torch.randn(width, width) / width**0.5

    def attention(u):
        q, k, v = (dense(u).unflatten(-1, (heads, -1)).transpose(0, 1) for _ in range(3))
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return dense(mixed.transpose(0, 1).flatten(1))

    def cosine(z):
        gram = z @ z.T
        return (gram.sum() - gram.trace()) / (15 * gram.trace())

    cosines = []
    for _ in range(networks):
        axes, _ = torch.linalg.qr(torch.randn(width, 17))
        z = width**0.5 * (0.8**0.5 * axes[:, :16].T + 0.2**0.5 * axes[:, 16])
        cosines.append([cosine(z)])
        for _ in range(depth):
            if place == "post":
                z = norm(gamma * z + attention(z))
                z = norm(gamma * z + dense(torch.nn.functional.gelu(dense(z))))
            else:
                z = gamma * z + attention(norm(z))
                z = gamma * z + dense(torch.nn.functional.gelu(dense(norm(z))))
            cosines[-1].append(cosine(z))
    cosines = torch.tensor(cosines)
    return cosines.mean(0), cosines.std(0) / networks**0.5


torch.manual_seed(0)
plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
settings = {"norm before the branch": ("pre", 1), "norm after the sum": ("post", 1)}
for name, curve in curves.items():
    (line,) = axes.semilogy([1 - rho for rho in curve], label=name)
    if name in settings:
        mean, error = simulate(*settings[name])
        axes.errorbar(
            range(depth + 1), 1 - mean, error, fmt="o", ms=3, color=line.get_color()
        )
        at = 8
        print(f"{name:24} {mean[at]:.4f} +- {error[at]:.4f}, theory {curve[at]:.4f}")
        assert abs(mean[at] - curve[at]) < 4 * error[at] + 0.01
axes.set(xlabel="block", ylabel=r"$1 - \rho$, tokens apart", ylim=(1e-6, 1))
axes.legend()

# %%
# **What it shows**: dots are networks, lines the theory. With the norm before the branch the stream grows, a block adds
# less and less to it, and tokens come together by a power of the depth. A norm after the sum, or a skip connection
# below 1, makes them equal by a factor in every block: a deep one has one token.
#
# The law by hand
# ---------------
# Nearly equal tokens come together like :math:`l^{A/(1 + M) - 1}` where :math:`M` is the mean square of the dense
# branch and :math:`A` its slope: for GELU and variances 1, :math:`M = 0.42522` and :math:`A = 0.45586`.

square = torch.distributions.Normal(0.0, 1.0)
z = torch.linspace(-12, 12, 200_001, dtype=torch.float64, requires_grad=True)
gelu = torch.nn.functional.gelu(z)
(slope,) = torch.autograd.grad(gelu.sum(), z)
density = torch.exp(-z * z / 2) / (2 * torch.pi) ** 0.5
M, A = (torch.trapezoid(f * f * density, z).item() for f in (gelu, slope))
print(f"M = {M:.5f}, A = {A:.5f}, exponent {A / (1 + M) - 1:.5f}")
assert (
    abs(theories["norm before the branch"].rates(**numbers).angle - (A / (1 + M) - 1))
    < 1e-6
)
