r"""
Kernels as functions of an angle
================================

*On a sphere the kernel of a network is a function of the angle between two inputs. Which one, for one layer and for
ten?*

For ReLU the function of one layer has a closed form, the arc-cosine kernel of Cho and Saul. Deeper networks compose it
with itself, and their tangent kernels :math:`\Theta` sum products of its derivatives.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import symres as sr
import symres.kernels

# %%
# One layer, printed
# ------------------
# Inputs of kernel 1 with cosine :math:`\rho`, at :math:`C_W = 2`.

rho = sp.Symbol("rho", real=True)
theory = sr.derive("relu")
one_layer = sp.simplify(theory.covariance_map.expr).subs(
    {sr.K1: 1, sr.K2: 1, sr.C: rho, sr.C_W: 2, sr.C_b: 0}
)
print("kernel behind one layer:", one_layer)

# %%
# Deeper networks as tables
# -------------------------
# A ``ZonalKernel`` is a table over the angle, whose values cost the same for any depth. Its first network layer takes
# the kernel of the inputs; tangent kernels are those of the NTK parametrisation.

angles = np.linspace(0, np.pi, 181)
depths = (1, 3, 10)
network = [sr.Layer(sr.Dense(sr.z))]  # reads inputs in, with C_W = 1
tables = {}
for depth in depths:
    module = sr.export(sr.network(network + ["relu"] * depth))
    tables[depth] = symres.kernels.ZonalKernel(
        module, C_W=[1] + [2] * depth, C_b=0, tolerance=1e-7
    )
    print(f"depth {depth}: error of the table {tables[depth].error:.1g}")

figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.8), layout="constrained", sharey=True)
for depth, colour, dash in zip(
    depths, ("#0072B2", "#D55E00", "#009E73"), ("-", "--", "-."), strict=True
):
    for axes, values in zip(panels, tables[depth](np.cos(angles)), strict=True):
        axes.plot(
            np.degrees(angles),
            values / values[0],
            color=colour,
            linestyle=dash,
            label=f"depth {depth}",
        )
for axes, title in zip(panels, ("kernel", "tangent kernel"), strict=True):
    axes.set(xlabel="angle in degrees", title=title, xticks=range(0, 181, 45))
panels[0].set_ylabel("value, in units of that at angle 0")
panels[1].legend(frameon=False)

# %%
# **What it shows**: each layer of ReLU at :math:`C_W = 2` moves inputs towards each other, so that the kernel of depth
# 10 hardly tells angles apart. The tangent kernel of depth 10 has a sharp peak at angle 0 on a floor of 0.3 of it; that
# of depth 1 is negative for inputs further apart than 113 degrees.
#
# By hand
# -------
# The formulas of Cho and Saul, composed in NumPy.


def compose(cosine, depth):
    """Kernel and tangent kernel of inputs of kernel 1."""
    tangent = cosine
    for _ in range(depth):
        angle = np.arccos(np.clip(cosine, -1, 1))
        slope = 1 - angle / np.pi
        cosine = (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
        tangent = cosine + slope * tangent
    return cosine, tangent


cosines = np.cos(angles)
for depth in depths:
    assert np.allclose(tables[depth](cosines), compose(cosines, depth), rtol=0, atol=1e-5)
assert np.allclose(sp.lambdify(rho, one_layer)(cosines), compose(cosines, 1)[0], atol=1e-12)
tangent = tables[10](cosines)[1] / tables[10](1.0)[1]
print(
    f"tangent kernel of depth 10: {tangent[90]:.3f} at a right angle, {tangent[-1]:.3f} at 180 degrees"
)
