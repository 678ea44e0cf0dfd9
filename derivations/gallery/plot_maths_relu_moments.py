r"""
A normal variable behind ReLU
=============================

*What are the mean and the variance of max(0, z), if z is normal with a mean that is not zero?*

Networks that propagate uncertainty without sampling need both numbers in every layer, and their slopes if they are
trained.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import symres as sr

# %%
# Formulas
# --------

m = sp.Symbol("m", real=True)
mean, square = sr.expect("relu", mean=m), sr.expect("relu(z)^2", mean=m)
print("mean:       ", mean.expr)
print("mean square:", square.expr)

# %%
# Slopes are formulas too. That of the mean is the probability that z is positive.

slope = sr.derivative(mean, "m")
print("slope:      ", slope.expr)
positive = sr.expect("step", mean=m)
assert abs(float(slope.evalf(K=2, m="0.3")) - float(positive.evalf(K=2, m="0.3"))) < 1e-14

# %%
# Over the mean
# -------------

K = 1.0
means = np.linspace(-3, 3, 121)
first = np.array([float(mean.evalf(K=K, m=value)) for value in means])
variance = np.array([float(square.evalf(K=K, m=value)) for value in means]) - first**2

generator = np.random.default_rng(0)
places = np.arange(-3, 3.5, 1.0)
count = 200_000
behind = np.maximum(
    0, places[:, None] + K**0.5 * generator.standard_normal((len(places), count))
)
averages, spreads = behind.mean(1), behind.var(1)
mean_errors = (spreads / count) ** 0.5
spread_errors = (
    (((behind - averages[:, None]) ** 2 - spreads[:, None]) ** 2).mean(1) / count
) ** 0.5

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(means, first, color="#0072B2", label="mean")
axes.plot(means, variance, color="#D55E00", linestyle="--", label="variance")
axes.plot(means, np.maximum(means, 0), color="0.6", linestyle=":", label=r"$\max(0, m)$")
axes.plot(places, averages, "o", color="#0072B2", ms=4, label="200000 samples")
axes.plot(places, spreads, "s", color="#D55E00", ms=4, label="200000 samples")
axes.set(xlabel="mean $m$ of the variable, of variance 1", ylabel="behind ReLU")
axes.legend(frameon=False)

# %%
# **What it shows**: where the variable is almost always positive, ReLU changes nothing: the mean is m, the variance 1.
# Where it is almost always negative both vanish. In between the mean is above max(0, m), by 0.4 at m = 0.

exact = np.array(
    [(float(mean.evalf(K=K, m=p)), float(square.evalf(K=K, m=p))) for p in places]
)
assert (abs(averages - exact[:, 0]) < 4 * mean_errors).all()
assert (abs(spreads - (exact[:, 1] - exact[:, 0] ** 2)) < 4 * spread_errors).all()
assert abs(first[60] - (1 / (2 * np.pi)) ** 0.5) < 1e-14
