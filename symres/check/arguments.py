"""The arguments of ``check``: a wrong one is refused here, not deep inside an oracle."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

import sympy as sp

from ..activations.activation import Activation
from ..activations.formula_parser import nearest
from ..core.errors import DeclarationError, UnsupportedLayer
from ..core.foreign import THEORIES, reader_of
from ..core.scalars import Number, parameter
from ..results.observable import Observable
from ..results.quantity import Quantity
from ..results.subjects import Declaration, DerivedLayer
from .oracles.comparison import free_symbols
from .sampling.random_points import ARGUMENTS

Subject: TypeAlias = DerivedLayer | Quantity | Declaration | Activation | str  # what can be checked

ORACLES = ("quadrature", "simulation")
_ARGUMENTS = set(map(str, ARGUMENTS))


def subject_of(subject: Subject) -> DerivedLayer | Quantity:
    """What is checked: a theory, that of a layer, an activation or a text, by the room that derives; or an average.

    Raises:
        DeclarationError: it is neither.
        UnsupportedLayer: its positions have neighbours.
    """
    if isinstance(subject, str | Activation | Declaration):
        subject = reader_of(THEORIES)(subject)
    if isinstance(subject, DerivedLayer) and not subject.is_exchangeable:
        raise UnsupportedLayer(
            "the check of a theory of positions with neighbours",
            "networks are drawn of tokens, of which any two are alike",
            "check the layer with positions=sr.Tokens(16)",
        )
    if isinstance(subject, DerivedLayer | Quantity):
        return subject
    shown = repr(subject) if len(repr(subject)) <= 40 else f"this {type(subject).__name__}"
    found = "it is neither a theory nor an average"
    raise DeclarationError(f"check of {shown}", found, "pass sr.derive(layer) or sr.expect(f)")


def oracles(against: Collection[str] | str, theory: bool) -> tuple[str, ...]:
    """The names of the oracles that are asked, of a theory or, unless ``theory``, of a single average.

    An average is not a network that could be simulated.
    """
    use = f"use {' or '.join(ORACLES)}"
    names = (against,) if isinstance(against, str) else against
    if not isinstance(names, Sequence | set | frozenset) or not names:
        raise DeclarationError(f"check against {against!r}", "it is not the name of an oracle", use)
    for name in names:
        if name not in ORACLES:
            raise DeclarationError(f"check against {name}", "unknown oracle", use)
    if not theory and "quadrature" not in names:
        found = "an average is not a network"
        raise DeclarationError("check of an average against simulation", found, "use quadrature, or derive a layer")
    return tuple(name for name in ORACLES if name in names)


def chosen(names: Iterable[str] | None, theory: DerivedLayer) -> list[str]:
    """The names of the observables that are compared: these, or all that are measured if None."""
    functions = {name: theory.observables[name] for name in theory.all_quantities}
    records: dict[str, Observable] = {**functions, **theory.depth_observables}
    if names is not None and (isinstance(names, str) or not isinstance(names, Iterable)):
        found = "they are not a list of names"
        raise DeclarationError(f"check of the quantities {names!r}", found, 'pass ["chi_perp"]')
    measured = (name for name, record in records.items() if record.is_measured and record.by_default)
    asked = list(measured if names is None else dict.fromkeys(names))
    for name in asked:
        if name not in records:
            remedy = nearest(str(name), list(records)) or f"choose of: {', '.join(records)}"
            raise DeclarationError(f"check of the quantity {name}", "unknown quantity", remedy)
    if not asked:
        raise DeclarationError(
            "check of a theory", "the list of quantities is empty", f"choose of: {', '.join(records)}"
        )
    return asked


def fixed_numbers(
    values: Mapping[str, Number] | None, subject: DerivedLayer | Quantity, claims: Mapping[str, Quantity]
) -> dict[str, sp.Expr]:
    """The user's numbers for parameters of a theory or an average, by name; claims are those of the theory."""
    if values is None:
        return {}
    if not isinstance(values, Mapping) or not all(isinstance(name, str | sp.Symbol) for name in values):
        raise DeclarationError("parameters of a check", f"{values!r} is not a mapping of names", 'pass {"gamma": 0.5}')
    numbers = {str(name): parameter(value, str(name)) for name, value in values.items()}
    free = set(subject.symbols) if isinstance(subject, Quantity) else free_symbols(subject, *claims.values())
    parameters = {str(symbol): symbol for symbol in free if str(symbol) not in _ARGUMENTS}
    for name, exact in numbers.items():
        if name not in parameters:
            found = "it is an argument, which the check draws at random" if name in _ARGUMENTS else "unknown parameter"
            choice = f"the parameters are: {', '.join(sorted(parameters)) or 'none'}"
            raise DeclarationError(f"parameter {name} of a check", found, nearest(name, sorted(parameters)) or choice)
        symbol = parameters[name]
        if (symbol.is_nonnegative and exact.is_negative) or (symbol.is_negative and exact.is_positive):
            sign = "negative" if exact.is_negative else "positive"
            raise DeclarationError(f"a check at {name} = {exact}", f"it is {sign}", "change its sign")
    return numbers
