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
        pr.Orientation: "copysign(1.0, {0})",
    },
    sqrt="sqrt({0})",
    root="sqrt({0})",
    radical="pow({0}, {1})",
    power="pow({0}, {1})",
    infinity="INFINITY",
    at_most="minimum({0}, {1})",
)
# Inside of sums: what compilers make vector code of. Arguments of erfcx are not negative there.
IN_SUMS = replace(SCALAR, functions={**SCALAR.functions, sp.erfc: "erfc_by_exp({0})", Erfcx: "erfcx_of_positive({0})"})
_HELPED = {pr.determinant: "determinant", pr.correlation: "correlation", pr.complement: "complement"}


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
    helped = {s: name for s, name in _HELPED.items() if s in used and s not in names}
    before = [f"{name} = {name}(K1, K2, C)" for name in helped.values()]
    earlier = {s: s.name for s in used if isinstance(s, pr.GeneratedSymbol) and s.name in {name for name, _ in results}}
    code = [*before, *Emitter(dialect, {**names, **helped, **earlier}).function(results, prefix)]
    name = code[-1].removeprefix("return ") if code else ""
    if len(code) > 1 and code[-2].startswith(f"{name} = "):  # a long result, which nothing else reads
        code[-2:] = [f"return {code[-2].removeprefix(f'{name} = ')}"]
    return code
