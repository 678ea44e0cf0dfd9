r"""
Chaos in a random recurrent network
===================================

*Chaos in random recurrent networks begins at gain 1. Is that the same line as the one between order and chaos in
depth?*

In :math:`x_{t+1} = W \tanh(x_t)` with weights of variance :math:`g^2/n` the same matrix acts at every step. For large
:math:`n` the variance of neurons and the distance of two nearby states still obey the maps of a deep network with
independent matrices: :math:`C_W = g^2` and no biases, time in the place of depth.
"""

import matplotlib.pyplot as plt
import numpy as np

import symres as sr

# %%
# Theory of layers
# ----------------

theory = sr.derive("tanh")
gains = np.linspace(0.6, 2.0, 29)
kernels, growth = [], []
for gain in gains:
    end = theory.fixed_points(C_W=float(gain**2), C_b=0)[
        -1
    ]  # the largest kernel, which attracts
    kernels.append(float(end.K))
    growth.append(end.chi_perp)
assert all(
    (kernel > 0) == (gain > 1 + 1e-9) for kernel, gain in zip(kernels, gains, strict=True)
)

# %%
# Simulated recurrent networks
# ----------------------------
# Twelve networks of 1000 neurons at each gain: the variance after 60 steps, and the growth of the squared distance to a
# state that is shifted a little, over the 20 steps after that.

WIDTH, NETWORKS = 1000, 12
generator = np.random.default_rng(0)
tried = np.array([0.7, 0.9, 1.2, 1.5, 1.8])
variances, factors = np.empty((2, len(tried), NETWORKS))
for row, gain in enumerate(tried):
    for network in range(NETWORKS):
        W = (gain * generator.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5).astype(
            np.float32
        )
        x, sums = generator.standard_normal(WIDTH).astype(np.float32), []
        for _ in range(60):
            x = W @ np.tanh(x)
            sums.append(np.mean(x.astype(float) ** 2))
        shift = 1e-4 * generator.standard_normal(WIDTH) * max(sums[-1], 1e-12) ** 0.5
        near, W = x + shift, W.astype(float)
        start, x = np.sum(shift**2), x.astype(float)
        for _ in range(20):
            x, near = W @ np.tanh(x), W @ np.tanh(near)
        factors[row, network] = np.sum((near - x) ** 2) / start
        variances[row, network] = np.mean(sums[40:])

figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.7), layout="constrained")
mean_factor = factors.mean(1)
error = (
    factors.std(1, ddof=1) / NETWORKS**0.5 / mean_factor / 20
)  # of a logarithm of one step
rates, derived = np.log(mean_factor) / 20, np.interp(tried, gains, np.log(growth))
left.plot(gains, kernels, color="#0072B2", label="layers, $K^*$")
left.errorbar(
    tried,
    variances.mean(1),
    2 * variances.std(1, ddof=1) / NETWORKS**0.5,
    fmt="o",
    color="#D55E00",
    label="recurrent",
)
left.set(ylabel="variance of a neuron")
right.plot(gains, np.log(growth), color="#0072B2", label=r"layers, $\log \chi_\perp$")
right.errorbar(tried, rates, 2 * error, fmt="o", color="#D55E00", label="recurrent")
right.axhline(0, color="0.6", lw=0.8)
right.set(ylabel="growth rate of squared distances")
for axes in (left, right):
    axes.axvline(1, color="0.6", linestyle=":")
    axes.set_xlabel("gain $g$")
    axes.legend(frameon=False)
for gain, rate, spread, theirs in zip(tried, rates, error, derived, strict=True):
    print(f"g = {gain}: growth {rate:.4f} +- {spread:.4f} a step, layers {theirs:.4f}")

# %%
# **What it shows**: below gain 1 activity dies and distances shrink; above it the variance (left) and the growth of
# squared distances (right) are those of deep networks with independent layers: the same transition. Near gain 1
# networks of this size grow a little more slowly.

room = 0.02  # for effects of the finite number of neurons
assert (abs(rates - derived) < 4 * error + room).all()
deviation = variances.std(1, ddof=1) / NETWORKS**0.5
assert (
    abs(variances.mean(1) - np.interp(tried, gains, kernels)) < 4 * deviation + room
).all()
