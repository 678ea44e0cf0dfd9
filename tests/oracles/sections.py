"""Functions given piece by piece, as material for quadrature to 30 digits; nothing here comes from symres.

``CATALOGUE`` holds every activation that symres knows by name, typed from the papers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from operator import add, mul
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp
from flint import arb, ctx

from .panels30 import BITS, ball, fraction, real

x = sp.Symbol("x", real=True)
R = sp.Rational

Number = Callable[[arb], arb]


@dataclass(frozen=True)
class Sections:
    """A function that is smooth between its breaks.

    Args:
        breaks: rational numbers in increasing order.
        parts: one formula in ``x`` more than there are breaks.
    """

    breaks: tuple[sp.Rational, ...]
    parts: tuple[sp.Expr, ...]

    def __post_init__(self) -> None:
        assert len(self.parts) == len(self.breaks) + 1
        assert list(self.breaks) == sorted(set(self.breaks))

    @property
    def slope(self) -> Sections:
        """The derivative between the breaks."""
        return Sections(self.breaks, tuple(sp.diff(part, x) for part in self.parts))

    def __pow__(self, power: int) -> Sections:
        return Sections(self.breaks, tuple(part**power for part in self.parts))

    def __mul__(self, other: Sections) -> Sections:
        breaks = tuple(sorted({*self.breaks, *other.breaks}))
        starts = [breaks[0] - 1 if breaks else R(0), *breaks]
        parts = ((f.parts[sum(bool(b <= start) for b in f.breaks)] for f in (self, other)) for start in starts)
        return Sections(breaks, tuple(one * two for one, two in parts))

    @property
    def mirrored(self) -> Sections:
        """The function of -x."""
        return Sections(tuple(-b for b in reversed(self.breaks)), tuple(p.subs(x, -x) for p in reversed(self.parts)))

    def jumps(self) -> list[tuple[sp.Rational, sp.Expr]]:
        """(place, height) where the function is discontinuous."""
        heights = [
            (right - left).subs(x, b) for b, left, right in zip(self.breaks, self.parts, self.parts[1:], strict=False)
        ]
        return [(b, height) for b, height in zip(self.breaks, heights, strict=True) if abs(sp.N(height, 40)) > 1e-30]

    def as_piecewise(self, z: sp.Symbol) -> sp.Expr:
        """One expression in another variable."""
        pairs = [(part, x < b) for part, b in zip(self.parts, self.breaks, strict=False)]
        return sp.Piecewise(*pairs, (self.parts[-1], True)).subs(x, z)

    def value(self, place: sp.Rational) -> mp.mpf:
        """At a place, to 30 digits and more; where the function jumps the mean of both sides."""
        sides = {sum(bool(b < place) for b in self.breaks), sum(bool(b <= place) for b in self.breaks)}
        with ctx.workprec(8 * BITS):  # sympy writes erfc(-u) as 2 - erfc(u), of which 1200 bits cancel at z = -40
            values = [compiled(self.parts[side])(ball(fraction(place))) for side in sides]
            return real(sum(values, arb(0)) / len(values))

    def in_floats(self, z: np.ndarray) -> np.ndarray:
        """At places where no part overflows."""
        side = np.searchsorted(np.array(self.breaks, dtype=float), z, side="right")
        return np.choose(side, [sp.lambdify(x, part, ["scipy", "numpy"])(z) + 0 * z for part in self.parts])

    def __str__(self) -> str:
        return " | ".join(f"{part} | {b}" for part, b in zip(self.parts, self.breaks, strict=False)) + (
            f" | {self.parts[-1]}" if self.breaks else str(self.parts[0])
        )


# ---- evaluation ----------------------------------------------------------------------------------------------------

_FUNCTIONS: dict[type[sp.Basic], Callable[[arb], arb]] = {
    sp.Abs: abs,
    sp.exp: arb.exp,
    sp.log: arb.log,
    sp.tanh: arb.tanh,
    sp.sin: arb.sin,
    sp.cos: arb.cos,
    sp.erf: arb.erf,
    sp.erfc: arb.erfc,
}


@cache
def compiled(expr: sp.Expr) -> Number:
    """The formula as a function of a ball."""
    if expr == x:
        return lambda v: v
    if expr.is_Rational:
        number = fraction(expr)
        return lambda v: ball(number)
    if expr == sp.pi:
        return lambda v: arb.pi()
    if expr.is_Add or expr.is_Mul:
        parts = [compiled(a) for a in expr.args]
        joint = add if expr.is_Add else mul
        return lambda v: reduce(joint, [part(v) for part in parts])
    if expr.is_Pow and expr.base != sp.E:
        base, exponent = compiled(expr.base), expr.exp
        if exponent.is_Integer:
            return lambda v: _power(base(v), int(exponent))
        assert exponent in (R(1, 2), R(-1, 2)), expr
        return (lambda v: base(v).sqrt()) if exponent > 0 else (lambda v: 1 / base(v).sqrt())
    function, inner = _FUNCTIONS[type(expr)], compiled(expr.args[0])
    return lambda v: function(inner(v))


def _power(base: arb, exponent: int) -> arb:
    """By products: flint takes the logarithm of a ball around 0, which is no number."""
    product = reduce(mul, [base] * abs(exponent))
    return product if exponent > 0 else 1 / product


# ---- the catalogue -------------------------------------------------------------------------------------------------


def _smooth(expr: sp.Expr) -> Callable[..., Sections]:
    return lambda **values: Sections((), (expr.subs({sp.Symbol(k): v for k, v in values.items()}),))


def _elu(alpha: sp.Expr, scale: sp.Expr) -> Sections:
    return Sections((R(0),), (scale * alpha * (sp.exp(x) - 1), scale * x))


def _two_slopes(left: sp.Expr, right: sp.Expr) -> Sections:
    return Sections((R(0),), (left * x, right * x))


def _clipped(left: sp.Expr, middle: sp.Expr, right: sp.Expr, low: int, high: int) -> Callable[..., Sections]:
    return lambda: Sections((R(low), R(high)), tuple(map(sp.sympify, (left, middle, right))))


_sigmoid = 1 / (1 + sp.exp(-x))
_softplus = sp.log(1 + sp.exp(x))
_beta = sp.Symbol("beta")

CATALOGUE: dict[str, Callable[..., Sections]] = {
    "relu": lambda: _two_slopes(R(0), R(1)),
    "leaky_relu": lambda slope: _two_slopes(slope, R(1)),
    "scale_invariant": lambda a_plus, a_minus: _two_slopes(a_minus, a_plus),
    "abs": lambda: _two_slopes(R(-1), R(1)),
    "linear": _smooth(x),
    "sign": lambda: Sections((R(0),), (R(-1), R(1))),
    "step": lambda: Sections((R(0),), (R(0), R(1))),
    "erf": _smooth(sp.erf(x)),
    "gelu": _smooth(x * sp.erfc(-x / sp.sqrt(2)) / 2),
    "gelu_tanh": _smooth(x / 2 * (1 + sp.tanh(sp.sqrt(2 / sp.pi) * (x + R(44715, 10**6) * x**3)))),
    "tanh": _smooth(sp.tanh(x)),
    "sigmoid": _smooth(_sigmoid),
    "silu": _smooth(x * _sigmoid),
    "swish": _smooth(x / (1 + sp.exp(-_beta * x))),
    "softplus": _smooth(_softplus),
    "log_sigmoid": _smooth(-sp.log(1 + sp.exp(-x))),
    "mish": _smooth(x * sp.tanh(_softplus)),
    "elu": lambda alpha: _elu(alpha, R(1)),
    "selu": lambda: _elu(R("1.6732632423543772848170429916717"), R("1.0507009873554804934193349852946")),
    "celu": lambda alpha: Sections((R(0),), (alpha * (sp.exp(x / alpha) - 1), x)),
    "sin": _smooth(sp.sin(x)),
    "cos": _smooth(sp.cos(x)),
    "snake": _smooth(x + sp.sin(x) ** 2),
    "gaussian_slope": _smooth(x * sp.exp(-(x**2) / 2)),
    "bell": _smooth(sp.exp(-(x**2) / 2)),
    "hard_tanh": _clipped(R(-1), x, R(1), -1, 1),
    "relu6": _clipped(R(0), x, R(6), 0, 6),
    "hard_sigmoid": _clipped(R(0), (x + 3) / 6, R(1), -3, 3),
    "hard_swish": _clipped(R(0), x * (x + 3) / 6, x, -3, 3),
    "hardshrink": lambda threshold: Sections((-threshold, threshold), (x, R(0), x)),
    "softshrink": lambda threshold: Sections((-threshold, threshold), (x + threshold, R(0), x - threshold)),
    "tanhshrink": _smooth(x - sp.tanh(x)),
    "threshold": lambda level, value: Sections((level,), (value, x)),
    "softsign": lambda: Sections((R(0),), (x / (1 - x), x / (1 + x))),
    "square": _smooth(x**2),
    "cube": _smooth(x**3),
}

PARAMETERS: dict[str, dict[str, sp.Rational]] = {
    "leaky_relu": {"slope": R(3, 17)},
    "scale_invariant": {"a_plus": R(7, 5), "a_minus": R(-3, 11)},
    "swish": {"beta": R(9, 7)},
    "elu": {"alpha": R(13, 10)},
    "celu": {"alpha": R(8, 5)},
    "hardshrink": {"threshold": R(13, 9)},
    "softshrink": {"threshold": R(13, 9)},
    "threshold": {"level": R(-5, 8), "value": R(3, 7)},
}


def sections(name: str) -> Sections:
    """A catalogue activation at the parameters above."""
    return CATALOGUE[name](**PARAMETERS.get(name, {}))


# what is averaged of a function and its slope, over one input and over two
OF_ONE: dict[str, Callable[..., Any]] = {
    "f": lambda phi, slope: phi,
    "f^2": lambda phi, slope: phi**2,
    "f'^2": lambda phi, slope: slope**2,
    "f^4": lambda phi, slope: phi**4,
}
OF_TWO: dict[str, Callable[..., Any]] = {
    "f f": OF_ONE["f"],
    "f' f'": lambda phi, slope: slope,
    "f^2 f^2": OF_ONE["f^2"],
}
