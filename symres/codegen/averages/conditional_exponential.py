"""Averages over two variables, one of them in closed form: piecewise polynomials plus decaying exponentials.

Under a normal law of mean m and deviation s, ``exp(c*z)`` on the side of a breakpoint where it decays has an average in
erfcx, without overflow. Where c*s is so small that it cancels against the polynomials, Taylor's series at every
breakpoint makes the function a piecewise polynomial (conditional_polynomial.py) beside its smooth pieces.

One quadrature over z1 remains, on intervals between the points where its integrand changes: kinks of f, the places
where the mean of z2 crosses a kink of g, with the deviation of z2 on both sides, and the ends of exponentials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import sympy as sp

from ...core.symbols import z
from ..emission.emitter import Dialect, Emitter, literal, variable
from .conditional_polynomial import ClosedAverageCode, closed_average_code, has_closed_average
from .features import vanishes
from .integrands import PiecewiseIntegrand

ORDER = 9  # of Taylor's series
STEEPEST, FLATTEST = 100, sp.Rational(1, 100)  # rates of exponentials

TILTED = '''
def _tilted(f, g, K1, K2, C, parameters):
    """<f(z1) g(z2)> for piecewise polynomials and decaying exponentials: the average of g given z1, then over z1."""
    first = np.sqrt(np.clip(K1, 1e-280, None))
    spread = np.clip(np.sqrt(_determinant(K1, K2, C))/first, 1e-280, None)
    slope = C/first  # of the mean of z2, per standard deviation of z1
    steep = np.where(C < 0.0, -1.0, 1.0)*np.clip(np.abs(slope), 1e-140, None)
    reach = _reach(f[5] + g[5])
    places = [p/first for p in f[1]]
    places += [f[1][k]/first - side*38.0/(rate*first) for side, rate, k, _ in f[7][0]]
    for b in g[1]:
        places += [(b + shift*spread)/steep for shift in (-8.5, 0.0, 8.5)]
    places += [(g[1][k] - side*38.0/rate)/steep for side, rate, k, _ in g[7][0]]
    places = _sorted([np.clip(p, -reach, reach) for p in [*places, 0.0*K1 - reach, 0.0*K1, 0.0*K1 + reach]])
    edges = np.stack(places, -1)
    left, length = edges[..., :-1], edges[..., 1:] - edges[..., :-1]
    whole = length > 0.0
    entry = (_count(first.shape[0], first)[:, None] + 0*whole)[whole]
    nodes, weights = _strip(first)
    x = left[whole][..., None] + length[whole][..., None]*nodes
    first, slope, spread = first[entry], slope[entry], spread[entry]
    f = (f[0], [b[entry] for b in f[1]])
    edges, own = [b[entry] for b in g[1]], [p[entry] for p in parameters]
    inner = _tilted_average(g[7], edges, slope[..., None]*x, spread, own)
    value = (_whole(f[0], f[1], first[..., None]*x, own)*inner*np.exp(-0.5*x*x)*weights).sum(-1)
    return np.bincount(entry, 0.3989422804014327*value*length[whole], minlength=whole.shape[0])


def _tilted_average(tilt, edges, mean, spread, parameters):
    """<g(mean + spread*y)> over a standard normal y."""
    exponentials, largest, polynomial, series = tilt
    narrow = spread*largest <= 0.05
    out = 0.0*mean
    for some, closed in ((narrow, series), (~narrow, polynomial)):
        if not bool(some.any()):
            continue
        b, own, m = [e[some] for e in edges], [p[some] for p in parameters], mean[some]
        s = spread[some][..., None] + 0.0*m
        value = _averaged((None, b, None, None, None, None, closed), m, s, own)
        if closed is polynomial:
            for side, rate, k, height in exponentials:
                value = value + _wide(height(*own) + 0.0*b[k], m)*_exponential(m, s, side, rate, _wide(b[k], m))
        out[some] = value
    return out


def _exponential(mean, spread, side, rate, edge):
    """The average of exp(side*rate*(z - edge)) where side*(z - edge) < 0."""
    distance = side*(mean - edge)/spread
    t = distance + rate*spread
    tail = np.exp(-0.5*distance*distance)*special.erfcx(0.7071067811865476*np.abs(t))
    inside = 2.0*np.exp(np.clip(rate*spread*(distance + 0.5*rate*spread), None, 0.0))
    return 0.5*np.where(t < 0.0, inside - tail, tail)
'''


@dataclass(frozen=True)
class Tilt:
    """A function in two parts.

    Args:
        polynomials: the part in pieces that are polynomials.
        exponentials: (side, rate, k, height): height*exp(side*rate*(z - b_k)) on that side of the k-th breakpoint on
            which it decays, the left one for side = 1.
    """

    polynomials: PiecewiseIntegrand
    exponentials: tuple[tuple[int, sp.Expr, int, sp.Expr], ...]


@cache
def tilt(factor: PiecewiseIntegrand) -> Tilt | None:
    """The parts of a function, or None if it is not of this kind."""
    if not factor.breaks or vanishes(factor):
        return None
    last, parts, found = len(factor.parts) - 1, [], []
    for place, part in enumerate(factor.parts):
        rest = sp.Integer(0)
        for term in sp.Add.make_args(sp.expand(part)):
            if term.is_polynomial(z):
                rest += term
                continue
            height, exponential = term.as_independent(z, as_Add=False)
            rate = sp.diff(exponential.args[0], z) if isinstance(exponential, sp.exp) else sp.nan
            if not rate.is_number or not rate.is_real or place not in (0, last):
                return None
            side = 1 if place == 0 else -1
            k = 0 if place == 0 else last - 1
            if not FLATTEST <= side * rate <= STEEPEST:
                return None
            found.append((side, side * rate, k, height * exponential.subs(z, factor.breaks[k])))
        parts.append(rest)
    polynomials = replace(factor, parts=tuple(parts))
    return Tilt(polynomials, tuple(found)) if has_closed_average(polynomials) else None


def split_code(
    factor: PiecewiseIntegrand, name: str, parameters: Sequence[sp.Symbol], dialect: Dialect
) -> ClosedAverageCode:
    """The code of both parts, and of Taylor's series.

    Args:
        factor: the function.
        name: prefix of the functions in the code.
        parameters: their last arguments.
        dialect: NumPy or PyTorch.
    """
    found = tilt(factor)
    assert found is not None
    polynomial = closed_average_code(found.polynomials, f"{name}_flat", parameters, dialect)
    preamble, tables = list(polynomial.preamble), list(polynomial.tables)
    texts = []
    listed = ", ".join(variable(p) for p in parameters)
    names = {p: variable(p) for p in parameters}
    for n, (side, rate, k, height) in enumerate(found.exponentials, 1):
        lines = Emitter(dialect, names).function([("return", height)])
        preamble.append("\n".join([f"def {name}_height_{n}({listed}):", *(f"    {line}" for line in lines)]))
        texts.append(f"({side}, {literal(rate)!r}, {k}, {name}_height_{n}), ")
    if not texts:
        return ClosedAverageCode(f"((), 0.0, {polynomial.text}, {polynomial.text})", tuple(preamble), tuple(tables))
    largest = max(literal(rate) for _, rate, _, _ in found.exponentials)
    series = closed_average_code(factor, f"{name}_series", parameters, dialect, ORDER)
    text = f"(({''.join(texts).strip()}), {largest!r}, {polynomial.text}, {series.text})"
    return ClosedAverageCode(text, (*preamble, *series.preamble), (*tables, *series.tables))
