"""Expansions around 0 and far out of functions of one kernel that have no closed form."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ..core.atoms import Enclosable
from ..core.errors import NoClosedForm, OutOfBudget
from ..core.symbols import K
from ..core.words import SeriesRange
from ..core.work_budget import Stage, limited
from ..results.quantity import Quantity, Status

SMALL, LARGE = 3, 2  # orders


@dataclass(frozen=True)
class Expansion:
    """An exact expansion, truncated.

    Args:
        limit: 0 or oo, where K goes.
        body: its first terms; None where it was given up.
        reach: how far it is how good, measured; after how much work it was given up.
    """

    limit: sp.Expr
    body: sp.Expr | None
    reach: str


def expansions(q: Quantity) -> list[Expansion]:
    """The expansions whose coefficients can be written down; none where there is a closed form."""
    if q.status is not Status.NUMERIC or q.symbols != (K,):
        return []
    out = []
    for expand, order, limit in ((q.series, SMALL, sp.S.Zero), (q.asymptotics, LARGE, sp.oo)):
        try:
            with limited(Stage.EXPANSION, q.name):
                found = expand(order)
        except OutOfBudget as error:
            out.append(Expansion(limit, None, error.found))
            continue
        except NoClosedForm:
            continue
        if found.body != 0 and not any(isinstance(node, Enclosable) for node in sp.preorder_traversal(found.body)):
            out.append(
                Expansion(limit, found.body, found.reason.reach if isinstance(found.reason, SeriesRange) else "")
            )
    return out
