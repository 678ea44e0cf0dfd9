"""Gaussian averages as balls: numbers with a bound on their error. The last ones are kept, on disk too if asked for.

Scans for zeros, critical lines and their trials ask for the same average again and again: with a normalised layer, at
variance 1 nearly always.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import sympy as sp
from flint import arb, ctx

from ...activations.piecewise import PiecewiseFunction
from ...core.disk_cache import ACTIVE, Key
from ...core.errors import DeclarationError, NoClosedForm
from ...core.work_budget import MOST_PANELS
from .bivariate import bivariate_average
from .tensor_rule import ball_key, ball_of
from .univariate import univariate_average

_MOST_BITS = 4096  # beyond, a result is thousands of digits
_NOT_FINITE = ""  # on disk
_KEPT = 2**13  # results, a kilobyte each


def average_ball(factors: tuple[PiecewiseFunction, ...], covariance: tuple[arb, ...], bits: int) -> arb:
    """Enclose the average of a product of functions of jointly Gaussian centred variables.

    Args:
        factors: one function of ``z`` per variable, without parameters.
        covariance: the upper triangle of the covariance matrix, row by row: (K,) or (K1, C, K2).
        bits: relative accuracy asked for; the ball is as wide as its arguments and the functions demand.

    Raises:
        DeclarationError: a parameter without a value, an impossible covariance, or a function without an average.
        NoClosedForm: more than two variables.
    """
    for symbol in sorted(set().union(*(f.free_symbols for f in factors)), key=str):
        found = f"the parameter {symbol} has no value"
        raise DeclarationError("the number of a Gaussian average", found, f"pass {symbol}=...")
    if (len(factors), len(covariance)) not in ((1, 1), (2, 3)):
        raise NoClosedForm(
            f"the number of an average over {len(factors)} variables with {len(covariance)} covariances",
            "quadrature has rules for one and two variables",
            "split the integrand into products of functions of one or two variables",
        )
    if bits > _MOST_BITS or not all(isinstance(c, arb) and c.is_finite() for c in covariance):
        return _computed(factors, covariance, bits)
    return _kept(factors, _Covariance(tuple(map(ball_key, covariance)), covariance), bits, ctx.prec, MOST_PANELS.get())


def _computed(factors: tuple[PiecewiseFunction, ...], covariance: tuple[arb, ...], bits: int) -> arb:
    """The average by quadrature, over one variable or two."""
    if len(factors) == 1:
        (factor,), (variance,) = factors, covariance
        return univariate_average(factor, variance, bits)
    (one, other), (K1, C, K2) = factors, covariance
    return bivariate_average((one, other), (K1, C, K2), bits)


@dataclass(frozen=True)
class _Covariance:
    """The entries of a covariance matrix: their digits, by which they are known again, and the balls themselves."""

    digits: tuple[tuple[int, ...], ...]
    balls: tuple[arb, ...] = field(compare=False)


@lru_cache(maxsize=_KEPT)
def _kept(
    factors: tuple[PiecewiseFunction, ...], covariance: _Covariance, bits: int, precision: int, most_panels: int
) -> arb:
    """The average, with all arguments that it depends on; whether there is one depends on the budget of panels."""
    cache, subject = ACTIVE.get(), _subject(factors)
    if cache is None or subject is None:
        return _computed(factors, covariance.balls, bits)
    computed: list[arb] = []

    def compute() -> str:
        computed.append(_computed(factors, covariance.balls, bits))
        return _in_words(ball_key(computed[0])) if computed[0].is_finite() else _NOT_FINITE

    name = _in_words(*covariance.digits, (bits, precision, most_panels))
    words = cache.recall(subject, name, compute)
    if computed:
        return computed[0]
    if words == _NOT_FINITE:
        return _computed(factors, covariance.balls, bits)
    return ball_of(int(word, 16) for word in words.split())


@lru_cache(maxsize=256)
def _subject(factors: tuple[PiecewiseFunction, ...]) -> Key | None:
    """Functions in words that say all of them; None where one has a node that sympy does not know by its arguments."""
    formulas = [e for f in factors for e in (*f.breaks, *f.parts)]
    nodes = (node for e in formulas for node in sp.preorder_traversal(e))
    if not all(str(type(node).__module__).startswith("sympy.") for node in nodes):
        return None
    return ("average", *(sp.srepr((f.breaks, f.parts)) for f in factors))


def _in_words(*numbers: tuple[int, ...]) -> str:
    return " ".join(f"{n:x}" for group in numbers for n in group)
