r"""
Kernel matrices on the disk
===========================

*How much memory does the kernel matrix of ten thousand rows and more need, and can I do with less?*

A matrix of :math:`N` rows has :math:`8 N^2` bytes: 0.8 GB at ten thousand rows, 80 GB at a hundred thousand.
``symres.kernels.matrix`` computes it block by block, writes blocks to a file, and resumes where it was interrupted.
Sizes here are small, so that the example takes seconds; the curves go on as they begin.
"""

import tempfile
import time
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import symres as sr
import symres.kernels

# %%
# In memory and in blocks
# -----------------------
# Kernel and tangent kernel at once come from ``dual_kernel_matrix``. Blocks of 256 rows and columns of the tangent
# kernel go to a file of NumPy's.

exported = sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), "relu", "relu"]))
module = exported.load()
X = np.random.default_rng(0).standard_normal((3072, 10))
folder = tempfile.TemporaryDirectory()


def measured(compute):
    """The most memory that arrays take meanwhile, in MB, and seconds without that count."""
    begin = time.perf_counter()
    compute("timed")
    seconds = time.perf_counter() - begin
    tracemalloc.start()
    compute("counted")
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return peak, seconds


def blocks(count, name):
    """The tangent kernel of some rows, in a file."""
    path = Path(folder.name) / f"{name}_{count}.npy"
    symres.kernels.matrix(
        exported,
        X[:count],
        chunks=256,
        out=str(path),
        scheduler="synchronous",
        progress=False,
        C_W=2.0,
        C_b=0.1,
    )
    return path


counts = (384, 768, 1536, 3072)
whole = np.array(
    [
        measured(lambda _, n=n: module.dual_kernel_matrix(X[:n], C_W=2.0, C_b=0.1))
        for n in counts
    ]
)
parts = np.array([measured(lambda name, n=n: blocks(n, name)) for n in counts])
for row, count in enumerate(counts):
    print(
        f"{count} rows: {whole[row, 0]:.0f} MB in memory, {parts[row, 0]:.0f} MB in blocks"
    )

figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.7), layout="constrained")
for axes, column, label in ((left, 0, "most memory in MB"), (right, 1, "seconds")):
    axes.plot(
        counts, whole[:, column], "o-", color="#D55E00", label="both kernels in memory"
    )
    axes.plot(
        counts, parts[:, column], "s--", color="#0072B2", label="one kernel, in blocks"
    )
    axes.set(xscale="log", yscale="log", xlabel="rows $N$", ylabel=label)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.minorticks_off()
left.plot(counts, 8e-6 * np.array(counts) ** 2, ":", color="0.5", label="$8 N^2$ bytes")
left.legend(frameon=False)
assert parts[-1, 0] < 0.1 * whole[-1, 0]
assert parts[-1, 0] < 3 * parts[0, 0]

# %%
# **What it shows**: in memory the need grows like the square of N, to a multiple of the matrix itself (dotted). In
# blocks it hardly grows, and the file holds the matrix. Blocks take more time, for files and checksums.
#
# By hand
# -------
# One entry of the file, from the formulas of Cho and Saul for ReLU.

matrix = np.load(
    blocks(3072, "counted"), mmap_mode="r"
)  # resumes: nothing is computed again
x, y = X[5], X[3000]
K1, K2, C = (2.0 * np.dot(*pair) / 10 + 0.1 for pair in ((x, x), (y, y), (x, y)))
tangent = C
for _ in range(2):
    angle = np.arccos(C / np.sqrt(K1 * K2))
    slope = 1 - angle / np.pi
    C = np.sqrt(K1 * K2) * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi + 0.1
    K1, K2 = K1 + 0.1, K2 + 0.1
    tangent = C + slope * tangent
print(
    f"entry of rows 5 and 3000: {matrix[5, 3000]:.12f} in the file, {tangent:.12f} by hand"
)
assert abs(matrix[5, 3000] / tangent - 1) < 1e-12
del matrix
folder.cleanup()
