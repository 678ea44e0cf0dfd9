r"""
Gain and class of an invented activation
========================================

*I made up an activation, a squared ReLU whose kink is smoothed. Which gain does it need, to which class does it belong,
and can a deep network of it be initialised at all?*

The formula is :math:`\phi(z) = z\,(z + \sqrt{z^2 + 1})/2`: like :math:`z^2` on the right, and -1/4 far on the left.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
import torch

import symres as sr
import symres.torch as st

# %%
# The formula
# -----------

plt.style.use("tableau-colorblind10")
points = np.linspace(-3, 2, 200)
figure, axes = plt.subplots(figsize=(5.4, 3.2), layout="constrained")
axes.plot(points, points * (points + np.sqrt(points**2 + 1)) / 2, label="smooth")
axes.plot(points, np.maximum(points, 0) ** 2, "--", label="squared ReLU")
axes.set(xlabel="$z$", ylabel=r"$\phi(z)$")
axes.legend()

# %%
# Facts
# -----
# An activation is its formula. Everything below is derived from it.

phi = sr.Activation("smooth_squared_relu", sr.z * (sr.z + sp.sqrt(sr.z**2 + 1)) / 2)
theory = sr.derive(phi)
print("K' =", theory.kernel_map.expr, "  ", theory.kernel_map.status)
for point in theory.critical_points:
    print(f"K* = {point.K}, C_W = {point.C_W}, C_b = {point.C_b}: {point.stability}")
print("class:", theory.universality_class)

# %%
# The root has gone from the average: its product with :math:`z^3` is odd. The same by hand,
# :math:`\langle \phi^2 \rangle = \langle 2 z^4 + z^2 \rangle/4 = (6 K^2 + K)/4`.

assert sp.expand(theory.kernel_map.expr - (sr.C_b + sr.C_W * (6 * sr.K**2 + sr.K) / 4)) == 0

# %%
# The phase diagram
# -----------------

figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
sr.phase_diagram(phi, x=("C_W", 0, 6), y=("C_b", 0, 0.2)).plot(axes)

# %%
# **What it shows**: from inputs of kernel 1 kernels grow without bound wherever :math:`C_W` is above
# :math:`(1 - C_b)\,4/7`; below it gradients vanish. The critical line is there, dotted, and kernels flow away from it.
#
# One line of PyTorch
# -------------------
# ``st.gain`` reads the function itself. It refuses the unstable point; the forward gain, which keeps :math:`K = 1`, is
# :math:`\sqrt{4/7}`.


def smooth(z):
    """The activation as it stands in a model."""
    return z * (z + torch.sqrt(z**2 + 1)) / 2


try:
    st.gain(smooth, "critical")
except sr.DeclarationError as refusal:
    print(refusal)
gain = st.gain(smooth, "forward")
print(gain.why)
assert abs(gain - (4 / 7) ** 0.5) < 1e-9

# %%
# A deep network
# --------------
# The way to use an unstable point is to stay very near it: the advice has kernels of 0.001, where the activation is
# almost the line :math:`z/2`, and says what the inputs need for that. It was tried in drawn networks.

print(theory.advice(depth=50, width=512))
