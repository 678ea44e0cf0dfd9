r"""
The mean of a probit log likelihood
===================================

*What is the mean of log Phi(z) for a normal z, as variational inference and message passing with probit likelihoods
need it?*

No closed form is known for :math:`\langle \log \Phi(z) \rangle` with a mean. Symres gives numbers with an error bound,
and their derivatives. At mean 0 and variance 1 the average is -1 exactly: :math:`\Phi(z)` is uniform on [0, 1] there,
and :math:`\int_0^1 \log u\, du = -1`.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.integrate import quad
from scipy.special import log_ndtr

import symres as sr

m = sp.Symbol("m", real=True)
average = sr.expect("log(Phi(z))", mean=m)
print(average.status.name, "with a relative error below", average.error_bound)
print("mean 0, variance 1:", average.evalf(15, K=1, m=0))
assert abs(average.evalf(15, K=1, m=0) + 1) < 1e-14

# %%
# Over mean and variance
# ----------------------
# Dots are SciPy's adaptive quadrature of its own ``log_ndtr``.


def by_scipy(K, mean):
    """The same average."""
    weight = lambda u: np.exp(-(u**2) / 2) / (2 * np.pi) ** 0.5  # noqa: E731
    return quad(
        lambda u: weight(u) * log_ndtr(mean + K**0.5 * u), -12, 12, epsabs=1e-13, limit=200
    )[0]


means = np.linspace(-4, 4, 17)
figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.8), layout="constrained")
slope = sr.derivative(average, "m")
for K, colour, dash in zip(
    (0.25, 1.0, 4.0), ("#0072B2", "#D55E00", "#009E73"), ("-", "--", "-."), strict=True
):
    values = np.array([float(average.evalf(K=K, m=mean)) for mean in means])
    slopes = np.array([float(slope.evalf(K=K, m=mean)) for mean in means])
    checked = np.array([by_scipy(K, mean) for mean in means])
    assert np.allclose(values, checked, rtol=1e-9)
    differences = (
        np.array([by_scipy(K, mean + 1e-4) - by_scipy(K, mean - 1e-4) for mean in means])
        / 2e-4
    )
    assert np.allclose(slopes, differences, rtol=1e-6)
    left.plot(means, values, dash, color=colour, label=f"variance {K:g}")
    left.plot(means[::2], checked[::2], "o", color=colour, ms=4)
    right.plot(means, slopes, dash, color=colour)
    right.plot(means[::2], differences[::2], "o", color=colour, ms=4)
left.plot(means, log_ndtr(means), ":", color="0.5", label="variance 0")
left.plot([0], [-1], "*", color="black", ms=11, label="-1 exactly")
left.set(xlabel="mean $m$", ylabel=r"mean of $\log \Phi(z)$")
right.set(xlabel="mean $m$", ylabel="derivative in $m$")
left.legend(frameon=False, loc="lower right")

# %%
# **What it shows**: uncertainty about z lowers the expected log likelihood, by about half the variance where z is far
# below 0 and the logarithm is a parabola. Its derivative in the mean (right) falls from values near -m to 0, and is
# what gradient steps need. Lines are derived, dots are from SciPy.
