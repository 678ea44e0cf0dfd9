r"""
Predictions of infinitely wide networks
=======================================

*What does an infinitely wide network predict, how sure is it, and does it matter which of its two kernels I take?*

Untrained networks are a Gaussian process whose kernel is the NNGP kernel: its posterior is what a Bayesian network
predicts. Networks trained by gradient descent have the mean of kernel regression with the tangent kernel (NTK), and
differ from draw to draw of their first weights: their band is the scatter of such an ensemble.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import symres as sr
import symres.kernels

# %%
# Three predictions of the same data
# ----------------------------------

x = np.array([-1.8, -1.4, -1.1, -0.3, 0.1, 0.4, 1.5, 1.9])
y = np.sin(2 * x) + 0.3 * x
grid = np.linspace(-3, 3, 121)
X, tests = x[:, None], grid[:, None]

network = sr.network([sr.Layer(sr.Dense(sr.z)), "erf", "erf"])
module, scales = sr.export(network).load(), {"C_W": 2.0, "C_b": 0.5}
train, cross, test = (
    module.dual_kernel_matrix(*rows, **scales) for rows in ([X], [tests, X], [tests])
)
ensemble = symres.kernels.predict(train, cross, test, y, noise=1e-4, ridge=1e-4)
rbf = GaussianProcessRegressor(ConstantKernel(1.0) * RBF(1.0), alpha=1e-4).fit(X, y)

TIME = 40.0
predictions = {
    "NNGP posterior": ensemble.posterior(),
    f"gradient descent until t = {TIME:.0f}": ensemble.gradient_descent(TIME),
    "RBF, fitted": symres.kernels.Outputs(*rbf.predict(tests, return_cov=True)),
}
figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained", sharey=True)
for axes, (name, outputs), colour in zip(
    panels, predictions.items(), ("#0072B2", "#D55E00", "#009E73"), strict=True
):
    deviation = np.sqrt(np.maximum(np.diag(outputs.covariance), 0))
    axes.fill_between(
        grid,
        outputs.mean - 2 * deviation,
        outputs.mean + 2 * deviation,
        color=colour,
        alpha=0.25,
    )
    axes.plot(grid, outputs.mean, color=colour)
    axes.plot(x, y, "ko", ms=4)
    axes.set(title=name, xlabel="input", ylim=(-3, 3))
panels[0].set_ylabel("output, band of 2 deviations")

# %%
# **What it shows**: NNGP and RBF go through the points. Gradient descent has not come to its end at t = 40: it cuts the
# upper peak, and misses the points on the right. Beyond the points the RBF kernel turns back to 0, with a band that is
# soon wide; kernels of networks go on, with bands that widen less.
#
# Networks of PyTorch
# -------------------
# An ensemble of 40 networks of width 256 in the NTK parametrisation, trained by gradient descent on half the mean
# squared error with learning rate 0.1. Their mean and scatter at three test inputs lie within four standard errors of
# the theory.

torch.manual_seed(0)
NETWORKS, WIDTH, RATE = 40, 256, 0.1
sizes = [(1, WIDTH), (WIDTH, WIDTH), (WIDTH, 1)]
parameters = [torch.randn(NETWORKS, *size, requires_grad=True) for size in sizes]
parameters += [torch.randn(NETWORKS, 1, out, requires_grad=True) for _, out in sizes]


def forward(inputs):
    """Outputs of all networks, of shape (NETWORKS, inputs)."""
    h = inputs.expand(NETWORKS, -1, -1)
    for layer, (fan_in, _) in enumerate(sizes):
        h = torch.erf(h) if layer else h
        h = (scales["C_W"] / fan_in) ** 0.5 * h @ parameters[layer] + scales[
            "C_b"
        ] ** 0.5 * parameters[3 + layer]
    return h[..., 0]


inputs, targets = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
for _ in range(round(TIME / RATE)):
    loss = ((forward(inputs) - targets) ** 2).mean(1).sum() / 2
    with torch.no_grad():
        for parameter, slope in zip(
            parameters, torch.autograd.grad(loss, parameters), strict=True
        ):
            parameter -= RATE * slope
places = [10, 79, 114]
with torch.no_grad():
    sampled = forward(torch.tensor(tests[places], dtype=torch.float32)).numpy()
derived = ensemble.gradient_descent(TIME)
for row, place in enumerate(places):
    mean, deviation = derived.mean[place], derived.covariance[place, place] ** 0.5
    found, spread = sampled[:, row].mean(), sampled[:, row].std(ddof=1)
    print(
        f"x = {grid[place]:5.2f}: networks {found:7.3f} with scatter {spread:.3f}, theory {mean:7.3f}, {deviation:.3f}"
    )
    assert abs(found - mean) < 4 * deviation / NETWORKS**0.5
    assert abs(spread / deviation - 1) < 4 / (2 * NETWORKS) ** 0.5
