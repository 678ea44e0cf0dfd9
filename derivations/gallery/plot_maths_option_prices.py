r"""
Option prices as Gaussian averages
==================================

*Can the mean of max(0, e^z - 1) for a normal z be had as a formula, as it is needed for the price of an option?*

In the model of Black and Scholes the logarithm of a stock's price at time T is normal with variance
:math:`K = \sigma^2 T`. A call pays what the price exceeds the strike by: its value without interest is the strike times
:math:`\langle \max(0, e^z - 1) \rangle` with mean :math:`m = \log(\mathrm{spot}/\mathrm{strike}) - K/2`.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.special import ndtr

import symres as sr

# %%
# The formula
# -----------

m = sp.Symbol("m", real=True)
payoff = sr.expect("max(0,exp(z)-1)", mean=m)
print(payoff.status.name, payoff.expr)
price = sp.lambdify((sr.K, m), payoff.expr, modules=["scipy", "numpy"])

# %%
# Prices over the spot
# --------------------
# Strike 100, volatility 0.2, three times to maturity. Dots are the formula of Black and Scholes with SciPy's normal
# distribution.

STRIKE, VOLATILITY = 100.0, 0.2


def black_scholes(spot, T):
    """The price of a call without interest."""
    deviation = VOLATILITY * T**0.5
    upper = np.log(spot / STRIKE) / deviation + deviation / 2
    return spot * ndtr(upper) - STRIKE * ndtr(upper - deviation)


spots = np.linspace(60, 140, 161)
figure, axes = plt.subplots(figsize=(6.2, 4), layout="constrained")
for T, colour, dash in zip(
    (0.1, 1.0, 5.0), ("#0072B2", "#D55E00", "#009E73"), ("-", "--", "-."), strict=True
):
    K = VOLATILITY**2 * T
    values = STRIKE * price(K, np.log(spots / STRIKE) - K / 2)
    years = "1 year" if T == 1 else f"{T:g} years"
    axes.plot(spots, values, dash, color=colour, label=years)
    axes.plot(spots[::16], black_scholes(spots[::16], T), "o", color=colour, ms=4)
    assert np.allclose(values, black_scholes(spots, T), rtol=1e-9, atol=1e-9)
axes.plot(
    spots, np.maximum(spots - STRIKE, 0), color="0.6", linestyle=":", label="at maturity"
)
axes.set(xlabel="spot price of the stock", ylabel="price of the call")
axes.legend(frameon=False)

# %%
# **What it shows**: the longer an option lives, the more it is worth, most of all where spot and strike are equal.
# Lines are the Gaussian average, dots the formula of Black and Scholes.
#
# Sensitivities
# -------------
# Derivatives in m and K are formulas too. At the spot 100 and one year, the price and its slope in m:

K, mean = sp.Rational(1, 25), -sp.Rational(1, 50)
print("price:     ", 100 * payoff.evalf(15, K=K, m=mean))
print("slope in m:", 100 * sr.derivative(payoff, "m").evalf(15, K=K, m=mean))
z = float(mean) + float(K) ** 0.5 * np.random.default_rng(0).standard_normal(1_000_000)
paid = 100 * np.maximum(0, np.exp(z) - 1)
error = paid.std() / len(z) ** 0.5
print(f"a million samples: {paid.mean():.4f} +- {error:.4f}")
assert abs(paid.mean() - 100 * float(payoff.evalf(K=K, m=mean))) < 4 * error
