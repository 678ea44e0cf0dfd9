r"""
A leaky ReLU that is made for 50 layers
=======================================

*Deep ReLU networks make all inputs alike: their correlations go to 1. Which slope on the negative side is enough to
keep inputs apart over a given depth?*

With inputs at right angles, correlation 0, and :math:`C_W = 2/(1 + s^2)`, which keeps their size, the correlation
behind 49 layers is a function of the slope :math:`s`. ``sr.solve`` finds where it is .9, as Zhang, Botev and Martens
(arXiv:2203.08120) do for their tailored rectifiers.
"""

import matplotlib.pyplot as plt
import numpy as np

import symres as sr

# %%
# The slope
# ---------
# One solution is below 1. The other is its inverse: the same function, stretched and turned around.

depth, wanted = 49, 0.9
theory = sr.derive("leaky_relu")
answer = sr.solve(
    theory, {f"correlation(0, {depth})": wanted}, unknown={"slope": (0, 4)}, C_b=0
)
print(answer)
tailored = answer.solutions[0].values["slope"]

# %%
# Theory and networks over the depth
# ----------------------------------
# Dots are the mean of 20 networks of width 500.

width, networks = 500, 20


def of_theory(slope):
    """Correlations of the two inputs behind each layer."""
    values = {"slope": slope, "C_W": 2 / (1 + slope**2), "C_b": 0}
    cosines = [0.0]
    for _ in range(depth):
        cosines.append(
            float(theory.covariance_map.evalf(15, K1=1, K2=1, C=cosines[-1], **values))
        )
    return cosines


def of_networks(slope, rng):
    """The same in random networks: rows are networks."""
    cosines = []
    for _ in range(networks):
        z = np.linalg.qr(rng.normal(size=(width, 2)))[0] * np.sqrt(width)
        row = [0.0]
        for _ in range(depth):
            weights = rng.normal(size=(width, width)) * np.sqrt(2 / (1 + slope**2) / width)
            z = weights @ np.where(z > 0, z, slope * z)
            row.append(
                z[:, 0] @ z[:, 1] / np.linalg.norm(z[:, 0]) / np.linalg.norm(z[:, 1])
            )
        cosines.append(row)
    return np.array(cosines)


plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
rng = np.random.default_rng(0)
for slope, name in ((0.01, "usual, s = 0.01"), (tailored, f"tailored, s = {tailored:.4f}")):
    theory_cosines, cosines = of_theory(slope), of_networks(slope, rng)
    (line,) = axes.plot(theory_cosines, label=name)
    axes.plot(range(0, depth + 1, 7), cosines.mean(0)[::7], "o", color=line.get_color())
    errors = cosines.std(0) / np.sqrt(networks)
    finite_width = (
        3 / width
    )  # means of finite networks are off by terms of order 1/n, which add up over the depth
    assert np.all(
        np.abs(cosines.mean(0) - theory_cosines)[1:]
        < 4 * errors[1:] + depth * finite_width / 10
    )
axes.axhline(wanted, color="grey", linewidth=0.8)
axes.set(xlabel="layer", ylabel="correlation of two inputs", ylim=(0, 1.02))
axes.legend()

# %%
# **What it shows**: the usual slope of .01 lets inputs at right angles reach a correlation of .99 within 49 layers;
# with the tailored one it is .9 there, as asked for. Lines are theory, dots are networks.

assert np.isclose(of_theory(tailored)[-1], wanted, rtol=0, atol=1e-10)
