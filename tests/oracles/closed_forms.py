"""Known closed forms, written by hand, as quantities: material for tests of the export room alone."""

from collections.abc import Callable
from functools import cache

import mpmath as mp
import sympy as sp

from symres.core.symbols import C_W, K1, K2, C, C_b, K, gamma
from symres.results.quantity import Quantity, Status

_ab = (1 + K1) * (1 + K2)
PAIRS = {
    "gelu": C / 4
    + C * sp.asin(C / sp.sqrt(_ab)) / (2 * sp.pi)
    + (K1 * K2 * _ab + C**2 * (1 - K1 * K2)) / (2 * sp.pi * _ab * sp.sqrt(_ab - C**2)),
    "relu": C / 4 + (C * sp.asin(C / sp.sqrt(K1 * K2)) + sp.sqrt(K1 * K2 - C**2)) / (2 * sp.pi),
    "relu_slope": sp.Rational(1, 4) + sp.asin(C / sp.sqrt(K1 * K2)) / (2 * sp.pi),
    "leaky": C / 2 - (C * sp.asin(C / sp.sqrt(K1 * K2)) + sp.sqrt(K1 * K2 - C**2)) / sp.pi,
    "erf": 2 / sp.pi * sp.asin(2 * C / sp.sqrt((1 + 2 * K1) * (1 + 2 * K2))),
    "sin": sp.exp(-(K1 + K2) / 2) * sp.sinh(C),
    "cos": sp.exp(-(K1 + K2) / 2) * sp.cosh(C),
    "snake": C + (1 - sp.exp(-2 * K1) - sp.exp(-2 * K2) + sp.exp(-2 * K1 - 2 * K2) * sp.cosh(4 * C)) / 4,
    "square": K1 * K2 + 2 * C**2,
}
WILLIAMS = 2 / sp.pi * sp.asin(C / sp.sqrt((1 + K1) * (1 + K2)))  # of erf(z/sqrt(2)): Williams, 1997
PAIRS["two angles"] = PAIRS["relu"] + 3 * PAIRS["gelu"] + PAIRS["square"]
KERNELS = {
    "gelu": K / 4 + K * (sp.asin(K / (K + 1)) + 2 * K / ((K + 1) * sp.sqrt(2 * K + 1))) / (2 * sp.pi),
    "relu": K / 2,
    "erf": 2 / sp.pi * sp.asin(2 * K / (1 + 2 * K)),
    "sin": (1 - sp.exp(-2 * K)) / 2,
    "cos": (1 + sp.exp(-2 * K)) / 2,
    "elu": K / 2
    + sp.Rational(1, 2)
    + sp.exp(2 * K) * sp.erfc(sp.sqrt(2 * K)) / 2
    - sp.exp(K / 2) * sp.erfc(sp.sqrt(K / 2)),
    "hard_tanh": 1 + (K - 1) * sp.erf(1 / sp.sqrt(2 * K)) - sp.sqrt(2 * K / sp.pi) * sp.exp(-1 / (2 * K)),
    "snake": K + sp.Rational(3, 8) - sp.exp(-2 * K) / 2 + sp.exp(-8 * K) / 8,
    "gaussian_slope": K / (1 + 2 * K) ** sp.Rational(3, 2),
}


def covariance_map(kernel: sp.Expr) -> Quantity:
    """C_b + gamma^2 C + C_W F(K1, K2, C)."""
    body = C_b + gamma**2 * C + C_W * kernel
    return _exact("covariance_map", (K1, K2, C, C_W, C_b, gamma), body, "covariance of the next layer, two inputs")


def kernel_map(average: sp.Expr) -> Quantity:
    """C_b + gamma^2 K + C_W f(K)."""
    body = C_b + gamma**2 * K + C_W * average
    return _exact("kernel_map", (K, C_W, C_b, gamma), body, "kernel of the next layer, one input")


def theory(name: str) -> dict[str, Quantity]:
    """Maps and a susceptibility of one of the activations above."""
    slope = gamma**2 + C_W * KERNELS[name].diff(K)
    return {
        "kernel_map": kernel_map(KERNELS[name]),
        "covariance_map": covariance_map(PAIRS[name]),
        "chi_parallel": _exact("chi_parallel", (K, C_W, gamma), slope, "parallel susceptibility"),
    }


def in_50_digits(expr: sp.Expr, **values: float) -> mp.mpf:
    """The formula by mpmath, from the inputs as the binary numbers that they are."""
    names, function = _by_mpmath(expr)
    with mp.workdps(70):
        return function(*(mp.mpf(values[name]) for name in names))


def pair_error(name: str, found: float, k1: float, k2: float, c: float) -> float:
    """Relative to the larger of |F| and |C dF/dC|: what the rounding of C alone can do."""
    point = {"K1": k1, "K2": k2, "C": c}
    exact = in_50_digits(PAIRS[name], **point)
    slope = in_50_digits(PAIRS[name].diff(C), **point)
    return float(abs(mp.mpf(found) - exact) / max(abs(exact), abs(c * slope)))


@cache
def _by_mpmath(expr: sp.Expr) -> tuple[list[str], Callable[..., mp.mpf]]:
    symbols = sorted(expr.free_symbols, key=str)
    return [str(s) for s in symbols], sp.lambdify(symbols, expr, "mpmath", cse=True)


def _exact(name: str, symbols: tuple[sp.Symbol, ...], body: sp.Expr, meaning: str) -> Quantity:
    notation = {"kernel_map": "K'", "covariance_map": "C'", "chi_parallel": r"\chi_\parallel"}[name]
    return Quantity(name, symbols, body, body, Status.EXACT, notation=notation, meaning=meaning, source="by hand")
