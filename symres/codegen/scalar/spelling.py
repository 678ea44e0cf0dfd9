"""Sympy expressions as scalar Python: the functions of the library and of the mathematics that every language has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import sympy as sp

from ...functions.companions import Erfcx
from ...functions.function_record import spelled
from ..emission.emitter import Dialect, Emitter
from ..stable import primitives as pr
from .library_source import library

_OF_THE_LIBRARY = (
    *(pr.Distance, pr.Separation, pr.Clipped, pr.Possible, pr.CrossDifference, pr.Restored, pr.Certain, pr.TwoTails),
    *(pr.Positive, pr.AngularSum, pr.RightHalfPlaneAngle, pr.UpperHalfPlaneAngle, pr.UpperAngle),
)

SCALAR = Dialect(
    name="scalar code",
    functions={
        **spelled("scalar", "scalar"),
        **{head: head.template() for head in _OF_THE_LIBRARY},
        pr.Atan2: "angle({0}, {1})",
        pr.AbsNode: "fabs({0})",
        pr.NonzeroDivisor: "nonzero({0})",
        pr.AtLeast: "maximum({0}, {1})",
        pr.AtMost: "minimum({0}, {1})",
        pr.Chosen: "({1} if {0} == 1.0 else {2})",
        pr.Orientation: "copysign(1.0, {0})",
    },
    sqrt="sqrt({0})",
    root="sqrt({0})",
    radical="pow({0}, {1})",
    power="pow({0}, {1})",
    infinity="INFINITY",
    nan="NAN",
)
# Inside of sums: what compilers make vector code of. Arguments of erfcx are not negative there.
IN_SUMS = replace(SCALAR, functions={**SCALAR.functions, sp.erfc: "erfc_by_exp({0})", Erfcx: "erfcx_of_positive({0})"})
_HELPED = pr.determinant, pr.correlation, pr.complement  # a function of the library computes each


@cache
def standard_functions() -> frozenset[str]:
    """The functions that scalar code calls and that every language brings: those that the library does not define."""
    spelled_names = {template.partition("(")[0] for template in SCALAR.functions.values()}
    return frozenset({"copysign", "fma", "pow", "sqrt", *spelled_names} - set(library().functions))


def lines(
    names: Mapping[sp.Symbol, str],
    results: Sequence[tuple[str, sp.Expr]],
    prefix: str = "t",
    dialect: Dialect = SCALAR,
) -> list[str]:
    """Assignments that compute results, the determinant and the correlation before, where they are contained.

    A result may contain the names of those before it; intermediate results begin with the prefix.
    """
    used = set().union(*(expr.free_symbols for _, expr in results))
    before = [f"{s} = {s}(K1, K2, C)" for s in _HELPED if s in used and s not in names]
    return [*before, *Emitter(dialect, names).function(results, prefix)]
