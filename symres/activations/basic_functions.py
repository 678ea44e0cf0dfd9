"""Functions that are written in others: what reads a formula later meets fewer kinds of nodes.

``2^z`` is ``exp(z*log(2))``, and so is every power whose exponent depends on z; atanh and acosh are logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import sympy as sp

from ..core.errors import DeclarationError
from ..core.symbols import z
from ..functions.function_record import RECORDS
from ..functions.logistic import logistic

Function = Callable[..., sp.Expr]


def raised(base: sp.Expr, exponent: sp.Expr, functions: Mapping[str, Function] = MappingProxyType({})) -> sp.Expr:
    """A power; an exponential where the exponent depends on z and the base may be positive.

    Args:
        base: what is raised.
        exponent: to what.
        functions: by their names, exp and log where they are not sympy's: those of an equation are activations.

    Raises:
        DeclarationError: the exponent depends on z, and the base is not positive.
    """
    if not exponent.has(z) or base in (1, sp.E):
        return base**exponent
    if base.is_nonpositive:
        found = f"the base of {base**exponent} is not positive"
        raise DeclarationError("a power", found.replace("**", "^"), "raise positive numbers to powers of z")
    logarithm = sp.log(base) if not base.has(z) else functions.get("log", sp.log)(base)
    return functions.get("exp", sp.exp)(exponent * logarithm)


def in_basic_functions(expr: sp.Expr) -> sp.Expr:
    """A formula without abbreviations and exponents that depend on z, the sigmoid and its integral by their names."""
    for kind, record in RECORDS.items():
        if record.is_abbreviation:
            expr = expr.replace(kind, record.definition)
    expr = expr.replace(lambda e: e.is_Pow and e.exp.has(z), lambda e: raised(*e.as_base_exp()))
    return expr.replace(lambda e: e.has(z) and logistic(e) != e, logistic)
