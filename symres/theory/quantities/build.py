"""From unevaluated averages to a verified Quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

import sympy as sp

from ...activations.validation import require_distinct
from ...core.errors import NoClosedForm
from ...core.proof import Proof, insertion
from ...core.symbols import K1, K2, C, K, place
from ...core.words import Obstruction, Reason
from ...functions.balls import enclose, evaluate, value_and_radius
from ...functions.records.softmax_family import SoftmaxEntropy, SoftmaxOverlap
from ...gaussian.calculus.expectation import Expectation
from ...gaussian.closed_form.verification import MIRRORED, Enclosure, Values, verify
from ...results.quantity import NamedStep, Quantity, Status
from ..walk.assignments import Assignment, total_derivative
from .closed_forms import ClosedFormSubstitution
from .expansion import expansion

_POINTS = 2
_INFINITE = Reason(
    "the mean square of a slope",
    "is infinite where a function jumps or is at least as steep as a square root is at 0",
    Obstruction.INFINITE,
)
_OF_SOFTMAX = {
    SoftmaxOverlap: Reason("the overlap B of two softmax vectors", "has no closed form"),
    SoftmaxEntropy: Reason("the entropy H of a softmax vector", "has no closed form"),
}
_DIGITS, _BITS, _TOLERANCE = 25, 100, 1e-20  # of a verification
_FEW_DIGITS, _FEW_TOLERANCE = 12, 1e-11  # where softmax is averaged: more digits of its sums take minutes


class RecordWords(TypedDict, total=False):
    """What a quantity says of itself, as its record does."""

    notation: str  # LaTeX of the left-hand side
    meaning: str  # one line that says what it is
    unit: str  # in which it is measured
    source: str  # document and equation that it generalises


def build(
    name: str,
    arguments: tuple[sp.Symbol, ...],
    definition: sp.Expr,
    assignments: Sequence[Assignment] = (),
    *,
    parameters: Sequence[sp.Symbol] = (),
    within: tuple[tuple[sp.Symbol, int, int], ...] = (),
    **words: Unpack[RecordWords],
) -> Quantity:
    """Close what closes, verify it, and say what it is.

    Args:
        name: name of the quantity.
        arguments: the kernels; parameters are appended in a fixed order.
        definition: the result in unevaluated averages and assigned symbols.
        assignments: the walk's straight-line list; only those that the result needs are kept, and those that do not
            stand inside another average are inlined.
        parameters: of the layer, whether or not this quantity depends on them.
        within: (symbol, low, high) of symbols that must lie strictly between two numbers.
        words: what it says of itself; its notation is its name if there is none.

    Raises:
        DeclarationError: values cannot be given by name: two symbols have the same one.
    """
    words.setdefault("notation", name)
    definition, kept = inlined(definition, assignments)
    free = set().union(definition.free_symbols, *(d.free_symbols for _, d in kept)) - {s for s, _ in kept}
    symbols = (*arguments, *sorted(free - set(arguments), key=place))
    require_distinct(words.get("meaning") or name, {*symbols, *parameters, *(step for step, _ in kept)})
    closer = ClosedFormSubstitution()
    steps, inner = [], []
    for symbol, meaning_of_step in kept:
        proof = closer.prove(meaning_of_step)
        steps.append(NamedStep(symbol, meaning_of_step, proof.result))
        inner.append((symbol, proof))
    proof = closer.prove(definition)
    of_softmax = [reason for kind, reason in _OF_SOFTMAX.items() if _has(kind, proof.result, steps)]
    quantity = Quantity(
        name=name,
        symbols=symbols,
        unused=tuple(s for s in parameters if s not in symbols),
        definition=definition,
        body=proof.result,
        status=Status.NUMERIC if closer.open or of_softmax else Status.EXACT,
        steps=tuple(steps),
        proof=_with_steps(proof, inner),
        verifications=tuple(closer.verifications),
        reason=_INFINITE if proof.result.has(sp.oo) else Reason.listed([*(a.reason for a in closer.open), *of_softmax]),
        expansion=expansion if arguments == (K,) else None,
        within=within,
        **words,
    )
    return _verified(quantity)


def has_softmax(body: sp.Expr, steps: Sequence[NamedStep]) -> bool:
    """Whether it is made of averages over softmax vectors, which have no closed form."""
    return any(_has(kind, body, steps) for kind in _OF_SOFTMAX)


def _has(kind: type[sp.Expr], body: sp.Expr, steps: Sequence[NamedStep]) -> bool:
    return any(e.has(kind) for e in (body, *(step.expr for step in steps)))


def derivative(quantity: Quantity, s: sp.Symbol) -> Quantity:
    """The derivative of a quantity in a kernel, a mean or another parameter: averages again, closed where they close.

    Raises:
        NoClosedForm: the quantity is unknown.
    """
    if quantity.status is Status.UNKNOWN:
        raise NoClosedForm(f"a derivative of {quantity.name}", f"it is unknown ({quantity.reason})", "take another one")
    assignments = [(step.symbol, step.definition) for step in quantity.steps]
    return build(
        f"d{quantity.name}_d{s}",
        tuple(k for k in (K, K1, K2, C) if k in quantity.symbols),
        total_derivative(quantity.definition, assignments, s),
        assignments,
        meaning=f"derivative in {s} of: {quantity.meaning}",
        parameters=quantity.symbols,
    )


def unknown(name: str, arguments: tuple[sp.Symbol, ...], reason: str, **words: Unpack[RecordWords]) -> Quantity:
    """A quantity that does not exist or could not be found, with the reason."""
    return Quantity(name, arguments, sp.nan, sp.nan, Status.UNKNOWN, reason=reason, **words)


def _with_steps(proof: Proof, inner: Sequence[tuple[sp.Symbol, Proof]]) -> Proof:
    """Append the insertion of the named steps, so that the proof ends in one expression."""
    state, steps = proof.result, list(proof.steps)
    for symbol, own in reversed(inner):
        statement = f"{symbol} = {own.start} = {own.result}"
        steps.append(insertion("named step", statement, state, symbol, own, is_told=False))
        state = steps[-1].after
    return Proof(proof.start, tuple(steps))


def inlined(definition: sp.Expr, assignments: Sequence[Assignment]) -> tuple[sp.Expr, list[Assignment]]:
    """The definition with the steps written out that stand inside of no average, and the assignments that are left."""
    pending = dict(assignments)
    for symbol, value in reversed(list(assignments)):
        users = [definition, *(d for s, d in pending.items() if s != symbol)]
        if not any(node.has(symbol) for e in users for node in e.atoms(Expectation)):
            definition = definition.xreplace({symbol: value})
            pending = {s: d.xreplace({symbol: value}) for s, d in pending.items() if s != symbol}
    # a step that nothing uses any more was inlined everywhere or never needed
    kept: list[Assignment] = []
    for symbol, value in reversed(list(pending.items())):
        if definition.has(symbol) or any(d.has(symbol) for _, d in kept):
            kept.insert(0, (symbol, value))
    return definition, kept


def _verified(quantity: Quantity) -> Quantity:
    """Compare the assembled closed form with its definition, averages by quadrature, at random points.

    Each closed average has been verified by itself; this guards what happened since: substitution, canonical form.
    """
    if quantity.status is not Status.EXACT or quantity.body.has(sp.oo):
        return quantity
    if isinstance(quantity.definition, Expectation) and quantity.definition.covariance in ((K,), (K1, C, K2)):
        return quantity  # a single average, which has been verified as it stands
    if quantity.body == 0 and {v.oracle for v in quantity.verifications} == {MIRRORED}:
        return quantity  # quadrature uses the same symmetry, and would confirm nothing

    is_quick = not quantity.defined.has(*_OF_SOFTMAX)
    digits = _DIGITS if is_quick else _FEW_DIGITS

    def measure(values: Values) -> Enclosure:
        numbers = quantity.defined.subs(values)
        if quantity.body == 0:  # no relative accuracy is worth more precision
            return value_and_radius(enclose(numbers, {}, _BITS))
        return evaluate(numbers, {}, digits)

    try:
        verification = verify(
            quantity.name,
            quantity.proof.result,
            measure,
            quantity.symbols,
            oracle="quadrature",
            points=_POINTS,
            tolerance=_TOLERANCE if is_quick else _FEW_TOLERANCE,
            digits=digits,
            within=quantity.within,
        )
    except NoClosedForm as error:
        return replace(quantity, body=quantity.definition, status=Status.NUMERIC, reason=error.found)
    return replace(quantity, verifications=(*quantity.verifications, verification))
