"""The Gaussian averages that one asks for of an activation, and what is known of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import sympy as sp

from ..activations.activation import Activation
from ..core.errors import NoClosedForm
from ..core.symbols import K1, K2, C, K, x1, x2, z
from ..core.words import Reason
from ..gaussian.calculus.expectation import Expectation
from ..results.quantity import Quantity
from ..theory.quantities.build import unknown
from ..theory.quantities.expectations import expect, expect2


@dataclass(frozen=True)
class Known:
    """One average of an activation.

    Args:
        key: what is averaged, in ASCII: ``f^2``, ``f' f'``.
        asked: the average, unevaluated.
        quantity: what the engine says.
    """

    key: str
    asked: sp.Expr
    quantity: Quantity


def averages_of(phi: Activation) -> Iterator[Known]:
    """<f>, <f^2>, <f'^2>, <f^4> in one input and <f f>, <f' f'>, <f^2 f^2> in two.

    Args:
        phi: the activation; its parameters stay symbols.
    """
    f = phi(z)
    slope = f.diff(z)
    one = {"f": f, "f^2": f**2, "f'^2": slope**2, "f^4": f**4}
    two = {"f f": f, "f' f'": slope, "f^2 f^2": f**2}
    for key, integrand in one.items():
        asked = Expectation(integrand.subs(z, x1), K)
        yield Known(key, asked, _known(key, (K,), partial(expect, integrand)))
    for key, integrand in two.items():
        asked = Expectation(integrand.subs(z, x1) * integrand.subs(z, x2), K1, C, K2)
        yield Known(key, asked, _known(key, (K1, K2, C), partial(expect2, integrand, integrand)))


def _known(key: str, arguments: tuple[sp.Symbol, ...], ask: Callable[[], Quantity]) -> Quantity:
    """An average, or that it does not exist: powers of infinite slopes."""
    try:
        return ask()
    except NoClosedForm as error:
        return unknown(key, arguments, Reason.listed([error.found, error.remedy]))
