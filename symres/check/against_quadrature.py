"""Rows of a report whose oracle is quadrature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mpmath as mp
import sympy as sp

from .. import symbols
from . import settings
from .average import DIGITS, average_oracle
from .claims import claimed, is_claim
from .compare import FAILURES, compared, free_symbols, reason
from .formula import any_jumps
from .progress import Progress
from .quadrature import ORACLES, QuadratureOracle
from .settings import Values
from .verdict import QUADRATURE, Verdict, inconclusive, judge

_SMALL = 1e-3  # of the natural scale


def theory_rows(theory: Any, seed: int, points: int, given: Mapping[str, sp.Expr], report: Progress) -> list[Verdict]:
    """Every quantity of a theory at some points."""
    rows = []
    quantities = {name: q for name, q in theory.quantities.items() if is_claim(q)}
    for done, (name, quantity) in enumerate(quantities.items()):
        if name not in ORACLES:
            rows.append(inconclusive(name, "quadrature", "", "there is no oracle for this quantity", seed=seed))
            continue
        rng = settings.stream(seed, "quadrature", name)
        places = _places(ORACLES[name][1], points, rng)
        for number, place in enumerate(places):
            report(f"{name} by quadrature", (done + number / len(places)) / len(quantities))
            values = settings.parameters(free_symbols(theory, quantity), rng, given)
            rows.append(_theory_row(theory, name, quantity, place, values, seed))
    return rows


def average_rows(
    quantity: Any, seed: int, points: int, given: Mapping[str, sp.Expr], report: Progress
) -> list[Verdict]:
    """A single Gaussian average at some points."""
    rng = settings.stream(seed, "quadrature", "average")
    arguments = tuple(s for s in (symbols.K1, symbols.K2, symbols.C, symbols.K) if s in quantity.symbols)
    rows = []
    places = _places(arguments, points, rng)
    for number, place in enumerate(places):
        report(f"{quantity.name} by quadrature", number / len(places))
        values = place | settings.parameters(quantity.symbols, rng, given)
        point = settings.text(values)
        try:
            claim = claimed(quantity, values, DIGITS + 5)
            found = average_oracle(quantity.definition, values, quantity.steps)
        except FAILURES as failure:
            rows.append(inconclusive(quantity.name, "quadrature", point, reason(failure), seed=seed))
            continue
        rows.append(
            judge(
                quantity.name,
                "quadrature",
                point,
                claim,
                found.value,
                found.error,
                QUADRATURE,
                scale=_SMALL * found.scale,
                seed=seed,
            )
        )
    return rows


def _places(arguments: tuple[sp.Symbol, ...], points: int, rng: Any) -> list[Values]:
    if symbols.C in arguments:
        return settings.pairs(points, rng)
    return [{symbols.K: K} for K in settings.kernels(points, rng)]


def _theory_row(theory: Any, name: str, quantity: Any, place: Values, values: Values, seed: int) -> Verdict:
    point = settings.text(place | values)
    method = ORACLES[name][0]
    try:
        claim = claimed(quantity, place | values)
        found = method(QuadratureOracle(theory.layer.forward, values), *map(float, place.values()))
    except FAILURES as failure:
        return inconclusive(name, "quadrature", point, reason(failure), seed=seed)
    jumps = mp.isinf(claim) and any_jumps(theory.layer.forward, dict(values))
    return compared(name, "quadrature", point, claim, found, QUADRATURE, _SMALL, jumps=jumps, seed=seed)
