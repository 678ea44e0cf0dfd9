"""Generated covariance maps against sympy's lambdify, side by side in one run: ``python tests/bench/bench_kernels.py``.

Ratios, not seconds: the speed of NumPy's transcendental functions differs between machines by an order of magnitude.
Rounds are interleaved, and the median counts: both times of a ratio are of one round, for the speed of memory drifts.
The ratio is one of processor time; nothing here uses threads. Memory is what is allocated at the peak beyond the
arguments and, for the generated function, ``out``.
"""

import argparse
import time
import tracemalloc

import numpy as np
import sympy as sp

import symres as sr

ROUNDS = 15
GOAL, MEMORY = 2.5, 0.05  # how much faster than lambdify, and with how many matrices more
CLOSED = ("gelu", "erf", "relu")
OPEN = ("tanh", "softplus", "softsign", "hard_tanh", "relu6", "elu", "selu", "celu")
WEIGHTS = {"C_W": 1.7, "C_b": 0.1}


def timed(functions, rounds):
    """Processor time and time on the wall of interleaved runs, in seconds: arrays of shape (rounds, 2)."""
    found = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            wall, start = time.perf_counter(), time.process_time()
            function()
            found[name].append((time.process_time() - start, time.perf_counter() - wall))
    return {name: np.array(times) for name, times in found.items()}


def extra(function, matrix):
    """Memory allocated at the peak of a call, in matrices."""
    tracemalloc.start()
    function()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / matrix.nbytes


def covariances(size, similar):
    """A matrix of covariances of random inputs; with ``similar`` their correlations are all close to 1."""
    generator = np.random.default_rng(0)
    inputs = generator.standard_normal((size, 2 * size))
    if similar:
        inputs = generator.standard_normal((1, 2 * size)) + 0.1 * inputs
    return inputs @ inputs.T / (2 * size)


def compare(name, quantity, matrix, rounds, judged=True):
    """Print one line for a quantity of two inputs, and a word if it is judged and behind the goal."""
    kernel, out = np.diag(matrix).copy(), np.empty_like(matrix)
    arguments = kernel[:, None], kernel[None, :], matrix, *(WEIGHTS[str(s)] for s in quantity.symbols[3:])
    generated = getattr(sr.export(quantity, target="numpy").load(), quantity.name)
    naive = sp.lambdify(quantity.symbols, quantity.expr, "numpy", cse=True)
    functions = {
        "generated": lambda: generated(*arguments, out=out),
        "lambdify": lambda: naive(*arguments),
        "copy": lambda: np.copyto(out, matrix),
    }
    with np.errstate(invalid="ignore"):  # lambdify makes nan on the diagonal
        times = timed(functions, rounds)
        memory = {key: extra(functions[key], matrix) for key in ("generated", "lambdify")}
    each = {key: np.median(spent[:, 0]) / matrix.size * 1e9 for key, spent in times.items()}
    ratio, wall = np.median(times["lambdify"] / times["generated"], axis=0)
    behind = judged and (ratio < GOAL or memory["generated"] > MEMORY)
    print(
        f"{name:24}{each['generated']:11.2f}{each['lambdify']:10.2f}{each['copy']:7.2f}{ratio:8.2f}{wall:8.2f}"
        f"{memory['generated']:11.4f}{memory['lambdify']:10.2f}"
        f"{'  BEHIND THE GOAL' if behind else ''}",
        flush=True,
    )


def alone(name, quantity, matrix, rounds):
    """Print one line for what has no closed form: there is nothing to lambdify."""
    kernel, out = np.diag(matrix).copy(), np.empty_like(matrix)
    generated = sr.export(quantity, target="numpy").load().expect2
    times = timed({"generated": lambda: generated(kernel[:, None], kernel[None, :], matrix, out=out)}, rounds)
    print(f"{name:24}{np.median(times['generated'][:, 0]) / matrix.size * 1e9:11.2f}", flush=True)


def main():
    """Print time per element, the ratio to lambdify and the memory for N x N kernel matrices."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", nargs="?", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--open", action="store_true", help="also activations without a closed form, which take minutes"
    )
    options = parser.parse_args()
    matrix = covariances(options.size, similar=False)
    print(f"N = {options.size}, float64; nanoseconds of processor time per element, median of {options.rounds} rounds")
    print(f"goal: {GOAL} times as fast as lambdify, at most {MEMORY} matrices of extra memory")
    head = ("generated", "lambdify", "copy", "ratio", "wall", "matrices", "lambdify")
    print(" " * 24 + "".join(f"{text:>{width}}" for text, width in zip(head, (11, 10, 7, 8, 8, 11, 10), strict=True)))
    for name in CLOSED:
        compare(f"<{name} {name}>", sr.expect2(name, name), matrix, options.rounds)
    for name in CLOSED:
        compare(f"C' of an mlp of {name}", sr.derive(name).covariance_map, matrix, options.rounds)
    print("the same for similar inputs, where the accurate determinant decides (no goal):")
    matrix = covariances(options.size, similar=True)
    for name in CLOSED:
        compare(f"<{name} {name}>", sr.expect2(name, name), matrix, max(options.rounds // 5, 1), judged=False)
    if options.open:
        for name in OPEN:
            alone(f"<{name} {name}>", sr.expect2(name, name), covariances(options.size, False), 1)


if __name__ == "__main__":
    main()
