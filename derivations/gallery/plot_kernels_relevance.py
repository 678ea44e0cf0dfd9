r"""
Relevant features of a neural kernel
====================================

*Can a network's kernel have one variance for each input, so that a fit tells relevant features from others?*

Weights of the first layer that see feature :math:`d` have the variance :math:`v_d C_W/n_0`: inputs enter by
:math:`\sum_d v_d x_d x'_d/n_0`. The marginal likelihood of a Gaussian process fits the :math:`v_d` (automatic relevance
determination).
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel

from symres.kernels.sklearn import NeuralKernel

# %%
# Six features, of which three matter
# -----------------------------------

warnings.simplefilter(
    "ignore", ConvergenceWarning
)  # variances of irrelevant features end at their bound
generator = np.random.default_rng(0)
X = generator.standard_normal((150, 6))


def target(X):
    """A function of the first three features."""
    return np.sin(2 * X[:, 0]) + 0.6 * X[:, 1] + 0.3 * X[:, 2] ** 2


y = target(X[:100]) + 0.05 * generator.standard_normal(100)
y -= y.mean()
kernel = NeuralKernel(
    "erf",
    1,
    kernel="nngp",
    C_W=3.0,
    C_b=0.3,
    input_variances=np.ones(6),
    input_variances_bounds=(1e-4, 1e3),
)
fitted = GaussianProcessRegressor(
    kernel + WhiteKernel(0.01, (1e-8, 1)), random_state=0
).fit(X[:100], y)
variances = fitted.kernel_.k1.input_variances
print("input variances:", np.array2string(variances, precision=4, suppress_small=True))

# %%
# Does it help? The same kernel with one variance for all features, on 50 rows that were left out.

plain = GaussianProcessRegressor(
    NeuralKernel("erf", 1, kernel="nngp", C_W=3.0, C_b=0.3) + WhiteKernel(0.01, (1e-8, 1))
)
plain.fit(X[:100], y)
truth = target(X[100:]) - target(X[:100]).mean()
errors = [
    np.sqrt(np.mean((model.predict(X[100:]) - truth) ** 2)) for model in (plain, fitted)
]
print(
    f"root mean square error: {errors[0]:.3f} with one variance, {errors[1]:.3f} with six"
)
assert errors[1] < errors[0]
assert variances[:3].min() > 5 * variances[3:].max()

figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
axes.bar(range(1, 7), variances, color=["#0072B2"] * 3 + ["0.6"] * 3)
axes.set(yscale="log", xlabel="feature", ylabel="fitted input variance", ylim=(5e-5, None))
axes.set_title("blue: features that the target depends on", fontsize=10)

# %%
# **What it shows**: the three features of the target (blue) have fitted variances above those of the three others
# (grey), which the fit drives down to the lowest value that was allowed, 0.0001, or near it.
#
# The slope that the fit follows
# ------------------------------
# Derivatives of the marginal likelihood in the logarithms of all hyperparameters are exact; finite differences agree.

theta = fitted.kernel_.theta + 0.1
value, slopes = fitted.log_marginal_likelihood(theta, eval_gradient=True)
for index in (0, 2, 4):
    step = np.zeros_like(theta)
    step[index] = 1e-5
    above, below = (
        fitted.log_marginal_likelihood(theta + step),
        fitted.log_marginal_likelihood(theta - step),
    )
    assert abs((above - below) / 2e-5 - slopes[index]) < 1e-3 * (1 + abs(slopes[index]))
