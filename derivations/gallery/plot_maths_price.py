r"""
Price's theorem
===============

*How does the mean of a product f(x) g(y) of normal variables change with their covariance?*

Price's theorem: its derivative in the covariance is the mean of the product of derivatives,
:math:`\partial_C \langle f(x)\, g(y) \rangle = \langle f'(x)\, g'(y) \rangle`. Two computations, one formula.
"""

import matplotlib.pyplot as plt
import numpy as np

import symres as sr

# %%
# The error function
# ------------------

mean = sr.expect2("erf", "erf")
print("mean:             ", mean.expr)
derivative = sr.derivative(mean, "C")
print("its derivative:   ", derivative.expr)
slopes = sr.expect2("2/sqrt(pi)*exp(-z^2)", "2/sqrt(pi)*exp(-z^2)")
print("mean of slopes:   ", slopes.expr)
for C in ("-9/10", "0", "1/3", "9/10"):
    one, other = derivative.evalf(30, K1=1, K2=2, C=C), slopes.evalf(30, K1=1, K2=2, C=C)
    assert abs(one - other) < 1e-28 * abs(other)

# %%
# A mean without a formula
# ------------------------
# For tanh and SiLU there are numbers on both sides: a central difference of one mean, and the mean of derivatives.

silu_slope = "sigmoid(z)*(1+z*(1-sigmoid(z)))"
step = 1e-4
means = sr.expect2("tanh", "silu")
difference = (
    means.evalf(25, K1=1, K2=2, C=0.5 + step) - means.evalf(25, K1=1, K2=2, C=0.5 - step)
) / (2 * step)
right_side = sr.expect2("1-tanh(z)^2", silu_slope).evalf(15, K1=1, K2=2, C=0.5)
print("tanh and silu:", float(difference), float(right_side))
assert abs(difference / right_side - 1) < 1e-6

# %%
# By sampling
# -----------
# Slopes of the left curve against means of slopes, from a hundred thousand pairs each.

generator = np.random.default_rng(0)
x, noise = generator.standard_normal((2, 100_000))
covariances = np.linspace(-0.9, 0.9, 7)
sampled, errors = np.empty(7), np.empty(7)
for index, covariance in enumerate(covariances):
    y = covariance * x + (1 - covariance**2) ** 0.5 * noise
    products = 4 / np.pi * np.exp(-(x**2) - y**2)
    sampled[index], errors[index] = products.mean(), products.std() / len(x) ** 0.5
fine = np.linspace(-1, 1, 201)
values, exact = (
    np.array([float(q.evalf(K1=1, K2=1, C=C)) for C in fine]) for q in (mean, derivative)
)
at_samples = np.array([float(derivative.evalf(K1=1, K2=1, C=C)) for C in covariances])
assert (abs(sampled - at_samples) < 4 * errors).all()

figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.7), layout="constrained")
left.plot(
    fine, values, color="#0072B2", label=r"mean of $\mathrm{erf}(x)\,\mathrm{erf}(y)$"
)
for C, slope in zip(covariances[1::2], sampled[1::2], strict=True):
    height = np.interp(C, fine, values)
    ends = np.array([-0.2, 0.2])
    left.plot(
        C + ends,
        height + slope * ends,
        color="#D55E00",
        lw=2.5,
        label="sampled slopes" if C == covariances[1] else None,
    )
right.plot(fine, exact, color="#0072B2", label="derivative of the mean")
right.errorbar(
    covariances,
    sampled,
    2 * errors,
    fmt="o",
    color="#D55E00",
    ms=4,
    label="sampled mean of slopes",
)
for axes in (left, right):
    axes.set_xlabel("covariance $C$, at variances of 1")
    axes.legend(frameon=False, loc="upper left")
right.set_ylim(0.4, 0.75)

# %%
# **What it shows**: on the left the mean of the product, and short lines whose slopes are sampled means of the product
# of derivatives: they are tangents. On the right the same slopes, derived as a line and sampled as dots.
