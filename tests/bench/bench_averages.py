"""This engine against sympy.integrate on ten Gaussian averages: ``python tests/bench/bench_averages.py [seconds]``.

Each runs alone in a process of its own, which is killed at the limit. What comes back is compared with quadrature by
mpmath from the declared function at two points: a closed form may be wrong. Seconds are those of the derivation,
without the import; for this engine they include its own verification.
"""

import subprocess
import sys
import time
from dataclasses import dataclass

import mpmath as mp
import sympy as sp

from tests.oracles.average import average_of

LIMIT = 60.0
K, K1, K2 = (sp.Symbol(name, positive=True) for name in ("K", "K1", "K2"))
C = sp.Symbol("C", real=True)


@dataclass(frozen=True)
class Case:
    """An average.

    Args:
        name: to print.
        ours: the expression of symres.
        theirs: the integrand of sympy without the normal density, in z.
        value: the function itself for mpmath; None for the average over two inputs.
        breaks: where it is not smooth.
    """

    name: str
    ours: str
    theirs: str
    value: object = None
    breaks: tuple[float, ...] = ()


def _gelu(x):
    return x * mp.ncdf(x)


def _gelu_slope(x):
    return mp.ncdf(x) + x * mp.npdf(x)


CASES = (
    Case("sin^2", "sr.expect('sin(z)^2')", "sin(z)**2", lambda x: mp.sin(x) ** 2),
    Case("(z exp(-z^2/2))^2", "sr.expect('(z*exp(-z^2/2))^2')", "z**2*exp(-z**2)", lambda x: x**2 * mp.exp(-x * x)),
    Case("snake^2", "sr.expect('snake(z)^2')", "(z + sin(z)**2)**2", lambda x: (x + mp.sin(x) ** 2) ** 2),
    Case("relu^4", "sr.expect('relu(z)^4')", "Max(z, 0)**4", lambda x: max(x, 0) ** 4, (0.0,)),
    Case("erf^2", "sr.expect('erf(z)^2')", "erf(z)**2", lambda x: mp.erf(x) ** 2),
    Case("gelu^2", "sr.expect('gelu(z)^2')", "(z*(1 + erf(z/sqrt(2)))/2)**2", lambda x: _gelu(x) ** 2),
    Case(
        "gelu'^2",
        "sr.expect('((1 + erf(z/sqrt(2)))/2 + z*exp(-z^2/2)/sqrt(2*pi))^2')",
        "((1 + erf(z/sqrt(2)))/2 + z*exp(-z**2/2)/sqrt(2*pi))**2",
        lambda x: _gelu_slope(x) ** 2,
    ),
    Case(
        "elu^2",
        "sr.expect('where(z>0, z, exp(z)-1)^2')",
        "Piecewise((z**2, z > 0), ((exp(z) - 1)**2, True))",
        lambda x: (x if x > 0 else mp.expm1(x)) ** 2,
        (0.0,),
    ),
    Case(
        "hard_tanh^2",
        "sr.expect('hard_tanh(z)^2')",
        "Max(-1, Min(1, z))**2",
        lambda x: max(-1, min(1, x)) ** 2,
        (-1.0, 1.0),
    ),
    Case("relu relu, two inputs", "sr.expect2('relu', 'relu')", ""),
)
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


def exact(case: Case, point: dict) -> mp.mpf:
    """The average by quadrature from the function itself; for two rectifiers from the angle between the inputs."""
    with mp.workdps(25):
        if case.value is None:
            k1, k2, c = (mp.mpf(point[s]) for s in (K1, K2, C))
            rho = c / mp.sqrt(k1 * k2)  # polar coordinates: the radius by hand, the angle by quadrature
            angles = mp.quad(lambda t: mp.sin(2 * t) / (1 - rho * mp.sin(2 * t)) ** 2, [0, mp.pi / 4, mp.pi / 2])
            return mp.sqrt(k1 * k2) * (1 - rho**2) ** 1.5 * angles / (2 * mp.pi)
        return average_of(case.value, point[K], case.breaks)


def verdict(case: Case, word: str, result: sp.Expr | None) -> str:
    """Closed, unevaluated, WRONG, or why there is nothing."""
    if result is None:
        return word
    if result.has(sp.Integral):
        return "unevaluated"
    for point in PAIRS if case.value is None else POINTS:
        named = {s: point[k] for s in result.free_symbols for k in point if k.name == s.name}
        known = exact(case, point)
        value = sp.N(result.subs(named), 15)
        if not value.is_number or abs(complex(value) - complex(known)) > 1e-10 * abs(known):
            return f"WRONG: {sp.N(value, 8)} instead of {mp.nstr(known, 8)} at {named}"
    return f"closed {word}".strip()


def main(limit: float) -> None:
    """Print the table."""
    print(f"seconds to derive an average in closed form; limit {limit:g} s")
    print(f"{'average':24}{'symres':>9}  {'':16}{'sympy':>9}")
    for case in CASES:
        ours = run(OURS.format(case.ours), limit)
        theirs = run(THEIRS.format(case.theirs) if case.theirs else THEIRS_OF_TWO, limit)
        first, second = (verdict(case, word, result) for _, word, result in (ours, theirs))
        print(f"{case.name:24}{ours[0]:9.2f}  {first:16}{theirs[0]:9.2f}  {second}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else LIMIT)
