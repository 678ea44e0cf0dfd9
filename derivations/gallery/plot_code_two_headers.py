r"""
Two kernels in one C program
============================

*Can I call the kernels of two activations from one C program, without names that collide?*

A module of C is one source and one header, which needs nothing but the mathematical library. Names of functions begin
with the activation, or with ``prefix=``.
"""

import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import symres as sr

# %%
# Two modules and a program
# -------------------------
# A C compiler has to be installed; here it is called ``cc``.

folder = Path(tempfile.mkdtemp())
for name in ("relu", "erf"):
    sr.export(sr.derive(name), target="c").write(folder / f"{name}_kernel.c")

program = r"""
#include <stdio.h>
#include "relu_kernel.h"
#include "erf_kernel.h"

int main(void) {
    enum { ENTRIES = 41 };
    double K[ENTRIES], C[ENTRIES], relu[ENTRIES], erf_[ENTRIES];
    for (int i = 0; i < ENTRIES; i++) {
        K[i] = 1.0;
        C[i] = -1.0 + 2.0 * i / (ENTRIES - 1);
    }
    relu_covariance_map(ENTRIES, K, K, C, 2.0, 0.0, relu);
    erf_covariance_map(ENTRIES, K, K, C, 2.0, 0.0, erf_);
    for (int i = 0; i < ENTRIES; i++) printf("%.17g %.17g %.17g\n", C[i], relu[i], erf_[i]);
    return 0;
}
"""
(folder / "main.c").write_text(program)
sources = ["main.c", "relu_kernel.c", "erf_kernel.c"]
subprocess.run(
    ["cc", "-O2", "-std=c99", *sources, "-o", "kernels", "-lm"], cwd=folder, check=True
)
printed = subprocess.run(
    [str(folder / "kernels")], capture_output=True, text=True, check=True
).stdout
cosines, relu, erf = np.array(
    [line.split() for line in printed.splitlines()], dtype=float
).T

# %%
# The same by sampling
# --------------------

generator = np.random.default_rng(0)
x, noise = generator.standard_normal((2, 200_000))
series = np.polynomial.legendre.leggauss(40)


def error_function(z):
    """Of an array, by quadrature of its definition."""
    nodes, weights = (series[0] + 1) / 2, series[1] / 2
    bounded = np.clip(z, -6, 6)
    return (
        2
        / np.pi**0.5
        * bounded
        * sum(
            w * np.exp(-((t * bounded) ** 2)) for t, w in zip(nodes, weights, strict=True)
        )
    )


places = slice(0, 41, 5)
figure, axes = plt.subplots(figsize=(6.2, 4), layout="constrained")
for name, phi, values, colour, dash in (
    ("relu", lambda z: np.maximum(z, 0), relu, "#D55E00", "-"),
    ("erf", error_function, erf, "#0072B2", "--"),
):
    axes.plot(cosines, values, dash, color=colour, label=f"{name}, C program")
    means, errors = [], []
    for cosine in cosines[places]:
        products = 2 * phi(x) * phi(cosine * x + max(0, 1 - cosine**2) ** 0.5 * noise)
        means.append(products.mean())
        errors.append(products.std() / len(x) ** 0.5)
    axes.plot(cosines[places], means, "o", color=colour, ms=4, label=f"{name}, samples")
    assert (abs(np.array(means) - values[places]) <= 4 * np.array(errors) + 1e-12).all()
axes.set(xlabel="cosine of two inputs of kernel 1", ylabel="covariance of the next layer")
axes.legend(frameon=False)

# %%
# **What it shows**: one program called both kernels, at :math:`C_W = 2`. ReLU's is never negative; that of
# erf, an odd function, changes its sign with the cosine. Both agree with samples in NumPy.
