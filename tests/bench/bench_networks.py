"""Generated functions of deep networks against naive code, in one run: ``python tests/bench/bench_networks.py``.

The naive code is the ReLU recursion of kernel and tangent kernel as papers print it, a line of NumPy for a line of the
paper. Ratios, not seconds: rounds are interleaved, and the median of the ratios of processor times of one round
counts. Nothing here uses threads, and nothing is asserted.
"""

import argparse
import time
import tracemalloc

import numpy as np

import symres as sr

C_W, C_b = 2.0, 0.1


def naive(K1, K2, C, depth):
    """Kernel and tangent kernel behind ReLU layers (Cho and Saul; Jacot, Gabriel and Hongler)."""
    Theta = np.zeros_like(C)
    for _ in range(depth):
        size = np.sqrt(K1 * K2)
        angle = np.arccos(np.clip(C / size, -1.0, 1.0))
        slope = (np.pi - angle) / (2 * np.pi)
        C = C_b + C_W * size * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
        Theta = C + C_W * slope * Theta
        K1, K2 = C_b + C_W * K1 / 2, C_b + C_W * K2 / 2
    return C, Theta


def timed(functions, rounds):
    """Processor times of interleaved runs, in seconds: name -> array."""
    found = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.process_time()
            function()
            found[name].append(time.process_time() - start)
    return {name: np.array(times) for name, times in found.items()}


def extra(function, matrix):
    """Memory allocated at the peak of a call, in matrices; the two results among it."""
    tracemalloc.start()
    function()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / matrix.nbytes


def compare(size, depth, rounds):
    """Print one line for each way of calling the function of a ReLU network."""
    module = sr.export(sr.derive("relu").network(depth)).load()
    X = np.random.default_rng(0).standard_normal((size, 2 * size))
    C = X @ X.T / X.shape[1]
    K = np.diag(C).copy()
    weights = {"C_W": C_W, "C_b": C_b}
    small = X[:, :64]
    functions = {
        "naive": lambda: naive(K[:, None], K[None, :], C, depth),
        "dual_kernel": lambda: module.dual_kernel(K[:, None], K[None, :], C, **weights),
        "dual_kernel_matrix": lambda: module.dual_kernel_matrix(small, **weights),
    }
    times = timed(functions, rounds)
    lost = np.abs(np.diag(functions["naive"]()[1]) / np.diag(functions["dual_kernel"]()[1]) - 1).max()
    for name, function in functions.items():
        ratio = np.median(times["naive"] / times[name])
        each = np.median(times[name]) / size**2 / depth * 1e9
        print(f"N = {size}, depth {depth:3}: {name:20} {ratio:5.2f} times as fast, {each:5.1f} ns per entry and layer, "
              f"{extra(function, C):4.1f} matrices")  # fmt: skip
    print(f"    the naive tangent kernel is off by {lost:.0e} on the diagonal")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for depth in (5, 20):
        compare(given.size, depth, given.rounds)


if __name__ == "__main__":
    main()
