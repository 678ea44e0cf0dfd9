"""This engine against sympy.integrate on ten Gaussian averages: ``python tests/bench/bench_averages.py [seconds]``.

Each runs alone in a process of its own, which is killed at the limit. What comes back is compared with quadrature from
the declared functions at two points: a closed form may be wrong. Seconds are those of the derivation,
without the import; for this engine they include its own verification.
"""

import subprocess
import sys
import time
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

import symres as sr
from tests.oracles.average import average_of, average_of_pair

LIMIT = 60.0
K, K1, K2 = (sp.Symbol(name, positive=True) for name in ("K", "K1", "K2"))
C = sp.Symbol("C", real=True)


# averages of one input, with the places where the integrand is not smooth
FORMULAS: dict[str, tuple[float, ...]] = {
    "sin(z)^2": (),
    "(z*exp(-z^2/2))^2": (),
    "snake(z)^2": (),
    "relu(z)^4": (0.0,),
    "erf(z)^2": (),
    "gelu(z)^2": (),
    "(Phi(z) + z*exp(-z^2/2)/sqrt(2*pi))^2": (),  # the slope of gelu
    "where(z > 0, z, exp(z) - 1)^2": (0.0,),
    "hard_tanh(z)^2": (-1.0, 1.0),
}
PAIR = "relu relu, two inputs"
POINTS = ({K: 0.7}, {K: 3.0})
PAIRS = ({K1: 0.7, K2: 1.9, C: 0.6}, {K1: 2.5, K2: 0.3, C: -0.8})
HEAD = "import time\nfrom sympy import *\n"
OURS = """
import symres as sr
start = time.perf_counter()
quantity = {0}
value = quantity.expr
print(time.perf_counter() - start, quantity.status.name, srepr(value), sep="\\n")
"""
THEIRS = """
z = Symbol("z", real=True)
K = Symbol("K", positive=True)
start = time.perf_counter()
value = integrate({0}*exp(-z**2/(2*K))/sqrt(2*pi*K), (z, -oo, oo))
print(time.perf_counter() - start, "", srepr(value), sep="\\n")
"""
THEIRS_OF_TWO = """
x, y = symbols("x y", positive=True)
K1, K2 = symbols("K1 K2", positive=True)
C = Symbol("C", real=True)
D = K1*K2 - C**2
start = time.perf_counter()
value = integrate(x*y*exp(-(K2*x**2 - 2*C*x*y + K1*y**2)/(2*D))/(2*pi*sqrt(D)), (x, 0, oo), (y, 0, oo))
print(time.perf_counter() - start, "", srepr(value), sep="\\n")
"""


def run(script: str, limit: float) -> tuple[float, str, sp.Expr | None]:
    """Seconds, a word about the outcome, and the result if there is one."""
    start = time.perf_counter()
    try:
        done = subprocess.run([sys.executable, "-c", HEAD + script], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return time.perf_counter() - start, "timeout", None
    if done.returncode != 0:
        return time.perf_counter() - start, done.stderr.strip().splitlines()[-1][:60], None
    seconds, status, text = done.stdout.strip().splitlines()[-3:]
    return float(seconds), status, sp.sympify(text)


def exact(formula: str, point: dict) -> Any:
    """The average by quadrature from the functions themselves."""
    if formula == PAIR:
        relu = lambda x: np.maximum(x, 0.0)  # noqa: E731
        return average_of_pair(relu, relu, *(point[s] for s in (K1, K2, C)))
    return average_of(sr.activation(formula).expr, point[K], FORMULAS[formula])


def verdict(formula: str, word: str, result: sp.Expr | None) -> str:
    """Closed, unevaluated, WRONG, or why there is nothing."""
    if result is None:
        return word
    if result.has(sp.Integral):
        return "unevaluated"
    for point in PAIRS if formula == PAIR else POINTS:
        named = {s: point[k] for s in result.free_symbols for k in point if k.name == s.name}
        known = exact(formula, point)
        value = sp.N(result.subs(named), 15)
        if not value.is_number or abs(complex(value) - complex(known)) > 1e-10 * abs(known):
            return f"WRONG: {sp.N(value, 8)} instead of {mp.nstr(known, 8)} at {named}"
    return f"closed {word}".strip()


def main(limit: float) -> None:
    """Print the table."""
    print(f"seconds to derive an average in closed form; limit {limit:g} s")
    print(f"{'average':40}{'symres':>9}  {'':16}{'sympy':>9}")
    for formula in (*FORMULAS, PAIR):
        is_pair = formula == PAIR
        ours = run(OURS.format("sr.expect2('relu', 'relu')" if is_pair else f"sr.expect('{formula}')"), limit)
        theirs = run(THEIRS_OF_TWO if is_pair else THEIRS.format(f"({sp.srepr(sr.activation(formula).expr)})"), limit)
        first, second = (verdict(formula, word, result) for _, word, result in (ours, theirs))
        print(f"{formula:40}{ours[0]:9.2f}  {first:16}{theirs[0]:9.2f}  {second}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else LIMIT)
