r"""
Constants of networks without normalisation
===========================================

*Networks without normalisation, such as NFNets, multiply activations by constants that were sampled. What are they
exactly?*

If the weights of a neuron add up to 0 over its inputs, the mean of the activations has no effect, and what counts is
their variance. The constant is :math:`\gamma = 1/\sqrt{\langle \phi^2 \rangle - \langle \phi \rangle^2}` at
:math:`K = 1`: the centred gain.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
from scipy import integrate

import symres as sr
import symres.torch as st

# %%
# Exact constants beside the published ones
# -----------------------------------------
# The published ones are those of the NFNet models of DeepMind and of the collections that took them over.

published = {
    "elu": 1.2716004848480225,
    "celu": 1.270926833152771,
    "gelu": 1.7015043497085571,
    "leaky_relu(z, 0.01)": 1.70590341091156,
    "relu": 1.7139588594436646,
    "relu6": 1.7131484746932983,
    "selu": 1.0008515119552612,
    "sigmoid": 4.803835391998291,
    "silu": 1.7881293296813965,
    "softsign": 2.338853120803833,
    "softplus": 1.9203323125839233,
    "tanh": 1.5939117670059204,
}
formulas = {"elu": "elu(z, 1)", "celu": "elu(z, 1)", "relu6": "min(max(z, 0), 6)"}
exact = {name: float(st.gain(formulas.get(name, name), "centred")) for name in published}
for name in published:
    print(f"{name:20} {exact[name]:.9f}   {published[name]:.9f}")

# %%
# Some have a formula.

print("<relu> =", sr.expect("relu").expr, "   <relu^2> =", sr.expect("relu(z)^2").expr)
assert abs(exact["relu"] - (1 / 2 - 1 / (2 * np.pi)) ** -0.5) < 1e-12

# %%
# The picture
# -----------

plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
deviations = [1000 * (published[name] / exact[name] - 1) for name in published]
rows = -np.arange(len(published))
axes.hlines(rows, 0, deviations, color="C0")
axes.plot(deviations, rows, "o", color="C0")
axes.axvline(0, color="k", lw=0.8)
axes.set_yticks(rows, [name.split("(")[0].replace("_", " ") for name in published])
axes.set(xlabel="published constant relative to the exact one, per mille")
axes.grid(axis="x", alpha=0.3)

# %%
# **What it shows**: all published constants are too large, by 0.07 to 0.86 per mille. ELU and CELU with
# :math:`\alpha = 1` are one function, and their constants differ by half a per mille: that is the error of sampling.

assert all(0 < deviation < 1 for deviation in deviations)

# %%
# By quadrature
# -------------
# SciPy, from definitions written anew.

definitions = {
    "gelu": lambda z: z * (1 + np.vectorize(math.erf)(z / 2**0.5)) / 2,
    "silu": lambda z: z / (1 + np.exp(-z)),
    "softplus": lambda z: np.log1p(np.exp(z)),
    "elu": lambda z: np.where(z > 0, z, np.expm1(z)),
    "tanh": np.tanh,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
}
for name, function in definitions.items():

    def moment(power, function=function):
        """The average of a power of the activation over a standard normal variable."""
        return integrate.quad(
            lambda z: function(z) ** power * np.exp(-(z**2) / 2) / (2 * np.pi) ** 0.5,
            -12,
            12,
        )[0]

    assert abs((moment(2) - moment(1) ** 2) ** -0.5 - exact[name]) < 1e-8, name
