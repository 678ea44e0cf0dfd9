"""Formulas in few kinds of functions: what reads a formula later meets no others.

``2^z`` is ``exp(z*log(2))``, and so is every power whose exponent depends on z; atanh and acosh are logarithms. The
sigmoid and its integral are recognised where they are spelled out in exponentials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import sympy as sp

from ..core.errors import DeclarationError
from ..core.symbols import z
from .companions import Sigmoid, Softplus
from .function_record import RECORDS

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


def logistic(e: sp.Expr) -> sp.Expr:
    """A node with its name: ``1/(1 + exp(u))``, ``log(1 + exp(u))``, and products of the sigmoid with ``exp(u)``."""
    if isinstance(e, sp.log):
        u = one_plus_exp(e.args[0])
        return e if u is None else Softplus(u)
    if isinstance(e, sp.Pow) and e.exp.is_Integer and e.exp.is_negative:
        u = one_plus_exp(e.base)
        return e if u is None else Sigmoid(-u) ** -e.exp
    return _merged(e) if isinstance(e, sp.Mul) and e.has(Sigmoid) and e.has(sp.exp) else e


def one_plus_exp(e: sp.Basic) -> sp.Expr | None:
    """The exponent u of ``1 + exp(u)``; None for anything else."""
    if not isinstance(e, sp.Add) or len(e.args) != 2 or sp.S.One not in e.args:
        return None
    exponential = e - 1
    return exponential.exp if isinstance(exponential, sp.exp) and not exponential.has(sp.I) else None


def _merged(e: sp.Mul) -> sp.Expr:
    """exp(m*u)*sigmoid(-u)**n -> sigmoid(u)**m*sigmoid(-u)**(n-m) for integers 0 < m <= n."""
    for exponential in (f for f in e.args if isinstance(f, sp.exp)):
        for factor in e.args:
            base, n = factor.as_base_exp()
            if isinstance(base, Sigmoid) and n.is_Integer:
                u = -base.args[0]
                m = sp.cancel(exponential.exp / u)
                if m.is_Integer and 0 < m <= n:
                    others = [f for f in e.args if f not in (exponential, factor)]
                    return sp.Mul(*others, Sigmoid(u) ** m, Sigmoid(-u) ** (n - m))
    return e
