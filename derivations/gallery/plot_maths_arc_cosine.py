r"""
The mean of two rectified normal variables
==========================================

*What is the mean of relu(x) relu(y) for correlated normal x and y, and how is it derived?*

It is the kernel of a layer of ReLU, up to factors the arc-cosine kernel of order one. Price's theorem gives it in two
lines: the derivative in the covariance :math:`C` is the probability that both variables are positive.
"""

import matplotlib.pyplot as plt
import numpy as np

import symres as sr

# %%
# The formula and its proof
# -------------------------
# :math:`K_1` and :math:`K_2` are the variances of the two variables, whose means are zero.

pair = sr.expect2("relu", "relu")
print(pair.proof.explain())

# %%
# The second proof of the text above, with formulas: the derivative of :math:`\langle \max(x, 0) \max(y, 0) \rangle` in
# :math:`C` is the mean of two steps,

slope = sr.derivative(pair, "C")
both_positive = sr.expect2("step", "step")
print(slope.expr, "=", both_positive.expr)
assert slope.expr == both_positive.expr

# %%
# which is a quarter at :math:`C = 0`: there the variables are independent, and each is positive with probability one
# half. Integrated from there, with :math:`\langle \max(x, 0) \rangle \langle \max(y, 0) \rangle = \sqrt{K_1 K_2}/(2
# \pi)` as the value at :math:`C = 0`, it is the formula.
#
# A million pairs
# ---------------

generator = np.random.default_rng(0)
x, noise = generator.standard_normal((2, 1_000_000))
correlations = np.linspace(-1, 1, 9)
means, errors = np.empty(9), np.empty(9)
for index, correlation in enumerate(correlations):
    products = np.maximum(x, 0) * np.maximum(
        correlation * x + (1 - correlation**2) ** 0.5 * noise, 0
    )
    means[index], errors[index] = products.mean(), products.std() / len(x) ** 0.5
exact = np.array(
    [float(pair.evalf(K1=1, K2=1, C=correlation)) for correlation in correlations]
)
print("distances in standard errors:", np.round((means - exact)[1:] / errors[1:], 2))
assert (abs(means - exact) <= 4 * errors).all()

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained")
some = slice(1500)
y = 0.5 * x + 0.75**0.5 * noise  # of correlation 1/2
counted = (x > 0) & (y > 0)
left.plot(x[some][~counted[some]], y[some][~counted[some]], ".", color="0.7", ms=3)
left.plot(x[some][counted[some]], y[some][counted[some]], ".", color="#0072B2", ms=3)
left.set(
    xlabel="$x$",
    ylabel="$y$",
    xlim=(-3.5, 3.5),
    ylim=(-3.5, 3.5),
    aspect="equal",
    title="correlation 0.5",
)
share = float(both_positive.evalf(K1=1, K2=1, C=0.5))
left.text(3.3, -3.3, f"blue: probability {share:.4f}", ha="right")
fine = np.linspace(-1, 1, 201)
right.plot(
    fine,
    [float(pair.evalf(K1=1, K2=1, C=c)) for c in fine],
    color="#0072B2",
    label="formula",
)
right.plot(correlations, means, "o", color="#D55E00", label="a million pairs")
right.set(xlabel="correlation", ylabel=r"mean of relu$(x)$ relu$(y)$")
right.legend(frameon=False)
assert abs(counted.mean() - share) < 4 * (share * (1 - share) / len(x)) ** 0.5

# %%
# **What it shows**: on the left the pairs that count, a third of all at correlation one half; on the right the mean of
# their products, from 0 for opposite variables to 1/2 for equal ones, and samples on the curve.
