r"""
Singular kernel matrices
========================

*Why does my kernel regression end in nan, with equal or zero rows in the data or by taking gradients?*

Two causes are mixed up in practice. A kernel of rows that are equal needs care in floating point: :math:`\sqrt{K_1 K_2
- C^2}` of numbers that are equal up to rounding may be the root of a negative one. And a kernel matrix with equal rows
is singular, in exact arithmetic too.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_iris

import symres as sr
import symres.kernels

# %%
# Iris has equal rows
# -------------------
# A zero row and an opposite one are added here.

X, labels = load_iris(return_X_y=True)
X = np.vstack([X, np.zeros((1, 4)), -X[:1]])
y = np.append(labels == 1, [0, 0]).astype(float)
repeated = len(X) - len(np.unique(X, axis=0))
network = sr.network([sr.Layer(sr.Dense(sr.z)), "relu", "relu"])
module, scales = sr.export(network).load(), {"C_W": 2.0, "C_b": 0.0}
kernel, tangent = module.dual_kernel_matrix(X, **scales)
print(
    f"{repeated} repeated row; all entries finite: {np.isfinite(kernel).all() and np.isfinite(tangent).all()}"
)
assert np.isfinite(kernel).all() and np.isfinite(tangent).all()

# %%
# The formula as it stands in papers, in NumPy, is not finite on the same data.

C = X @ X.T / 4 * 2
K = np.diag(C)
with np.errstate(invalid="ignore", divide="ignore"):
    naive = (
        C * (np.pi - np.arccos(C / np.sqrt(np.outer(K, K))))
        + np.sqrt(np.outer(K, K) - C**2)
    ) / np.pi
print(
    f"the formula of papers has {np.isnan(naive).sum()} entries that are nan, those of the zero row among them"
)
assert np.isnan(naive).any()

# %%
# The eigenvalues
# ---------------

values = np.linalg.eigvalsh(tangent)[::-1]
rounding = np.finfo(float).eps * len(X) * values[0]
figure, axes = plt.subplots(figsize=(6.2, 3.9), layout="constrained")
axes.plot(
    range(1, len(X) + 1),
    np.maximum(abs(values), 1e-17 * values[0]),
    ".",
    color="#0072B2",
    label="tangent kernel",
)
axes.plot(
    range(1, len(X) + 1),
    values + 1e-6,
    color="#D55E00",
    linestyle="--",
    label=r"with ridge $10^{-6}$",
)
axes.axhline(rounding, color="0.5", linestyle=":", label="rounding errors")
axes.set(yscale="log", xlabel="eigenvalue number", ylabel="absolute value")
axes.legend(frameon=False)

# %%
# **What it shows**: the last two eigenvalues of the tangent kernel are rounding errors: one for the repeated row, one
# for the zero row, whose kernel without biases is 0. A ridge lifts them.
#
# The remedy
# ----------
# Predictions without a ridge are refused, with the eigenvalues and the ridge that is enough.

train, test = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
seen, unseen, targets = X[[*train, 0]], X[test], y[[*train, 0]]  # row 0 twice
rows_of_blocks = ([seen], [unseen, seen], [unseen])
inner, cross, outer = (
    module.dual_kernel_matrix(*rows, **scales) for rows in rows_of_blocks
)
try:
    symres.kernels.predict(inner, cross, outer, targets).gradient_descent()
except sr.DeclarationError as error:
    print(error)
mean = (
    symres.kernels.predict(inner, cross, outer, targets, ridge=1e-6).gradient_descent().mean
)
print(f"accuracy with a ridge of 1e-6: {((mean > 0.5) == (y[test] > 0.5)).mean():.3f}")
by_hand = cross[1] @ np.linalg.solve(inner[1] + 1e-6 * np.eye(len(targets)), targets)
assert np.allclose(mean, by_hand, atol=1e-5)

# %%
# Gradients
# ---------
# Derivatives of the whole tangent kernel in the data are finite too.

data = torch.tensor(X, requires_grad=True)
_, Theta = sr.export(network, target="torch").load().dual_kernel_matrix(data, **scales)
(slopes,) = torch.autograd.grad(Theta.sum(), data)
assert torch.isfinite(slopes).all()
