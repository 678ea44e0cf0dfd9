"""Generated covariance maps against sympy's lambdify, side by side in one run: ``python tests/bench/bench_kernels.py``.

Ratios, not seconds: the speed of NumPy's transcendental functions differs between machines by an order of magnitude.
"""

import sys
import time

import numpy as np
import sympy as sp

import symres as sr

ROUNDS = 7


def fastest(functions):
    """The shortest of several interleaved runs of each function, in seconds of CPU time."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(ROUNDS):
        for name, function in functions.items():
            start = time.process_time()
            function()
            best[name] = min(best[name], time.process_time() - start)
    return best


def main(size: int) -> None:
    """Print time per element and the ratio to lambdify for N x N kernel matrices."""
    inputs = np.random.default_rng(0).standard_normal((size, 2 * size))
    covariance = inputs @ inputs.T / (2 * size)
    kernel = np.diag(covariance).copy()
    first, second = kernel[:, None], kernel[None, :]
    out = np.empty_like(covariance)
    print(f"N = {size}, float64; nanoseconds per element, CPU time, best of {ROUNDS}")
    print(f"{'activation':12}{'generated':>12}{'lambdify':>12}{'ratio':>8}{'copy':>8}")
    for name in ("gelu", "erf", "relu"):
        quantity = sr.expect2(name, name)
        generated = sr.export(quantity, target="numpy").load().expect2
        naive = sp.lambdify(quantity.symbols, quantity.expr, "numpy", cse=True)
        with np.errstate(invalid="ignore"):  # lambdify makes nan on the diagonal
            times = fastest(
                {
                    "generated": lambda f=generated: f(first, second, covariance, out=out),
                    "lambdify": lambda f=naive: f(first, second, covariance),
                    "copy": lambda: np.copyto(out, covariance),
                }
            )
        each = {key: value / covariance.size * 1e9 for key, value in times.items()}
        ratio = each["lambdify"] / each["generated"]
        print(f"{name:12}{each['generated']:12.1f}{each['lambdify']:12.1f}{ratio:8.2f}{each['copy']:8.2f}")
    for name in ("tanh", "softplus", "softsign", "hard_tanh"):  # no closed form: there is nothing to lambdify
        quantity = sr.expect2(name, name)
        generated = sr.export(quantity, target="numpy").load().expect2
        (best,) = fastest({"generated": lambda f=generated: f(first, second, covariance, out=out)}).values()
        print(f"{name:12}{best / covariance.size * 1e9:12.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
