"""Quantities that somebody has typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.errors import DeclarationError

if TYPE_CHECKING:
    from ...results.observable import Observable
    from ...theory.theory import Theory


def observable(theory: Theory, name: str) -> Observable:
    """The record of an observable that somebody has typed."""
    from ...activations.formula_parser import nearest

    known: dict[str, Observable] = {**theory.observables, **theory.depth_observables}
    if name not in known:
        printed = next((key for key, record in known.items() if name in record.sign), None)
        guess = f"did you mean {printed}?" if printed else nearest(name, list(known))
        listed = f"{guess} choose from {', '.join(known)}".strip()
        raise DeclarationError(f"--quantity {name}", "unknown quantity", listed)
    return known[name]
