"""Conditions that a formula must satisfy to be an activation."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, reduce
from itertools import combinations, product

import sympy as sp

from ..core.errors import DeclarationError
from ..core.symbols import PARAMETERS, SHARED, z
from ..functions.function_record import RECORDS, record_of
from ..functions.ranges import samples
from ..functions.tails import TailGrowth, tail, wider
from .domain_proof import require_finite
from .piecewise import PiecewiseFunction

EVALF_ARGUMENTS = {"digits"}  # arguments of evalf beside the values of symbols
MAX_POWER = 64  # of a formula, counted through nested powers: beyond it exact averages explode
_STRUCTURE = (
    sp.Add,
    sp.Mul,
    sp.Pow,
    sp.Symbol,
    sp.Rational,
    sp.core.relational.Relational,
    sp.logic.boolalg.Boolean,
    sp.Piecewise,
    sp.functions.elementary.piecewise.ExprCondPair,
)


def validate(name: str, pieces: PiecewiseFunction) -> TailGrowth:
    """Prove that a formula is real and finite on the whole line and has an average under every Gaussian.

    Returns:
        How fast it grows on either side.

    Raises:
        DeclarationError: the formula is not real or not finite somewhere (the message says where), the proof failed,
            or the formula grows like ``exp(c*z**2)`` or faster.
    """
    for part, start, end in zip(pieces.parts, (None, *pieces.breaks), (*pieces.breaks, None), strict=True):
        require_finite(f"activation {name}", part, start, end)
    growth = _tail_growth(pieces)
    fast = {side: scale for side, scale in zip(("-oo", "oo"), growth, strict=True) if not scale.has_average}
    if fast:
        # for which kernels there is no average, if known, and the growth of the formula
        rates = [scale.rate if scale.order == 2 else sp.oo for scale in fast.values()]
        phrase = ": it may grow like exp(c*z^2) or faster"
        if not pieces.free_symbols and sp.oo not in rates:
            rate = max(rates)
            phrase = f" for K >= {1 / (2 * rate)}: it may grow like exp({rate * z**2})".replace("**", "^")
        found = f"it has no Gaussian average{phrase} for z -> {' and '.join(fast)}"
        remedy = "give a formula that grows more slowly, for instance at most like exp(z)"
        raise DeclarationError(f"activation {name}", found, _missing_signs(pieces) or remedy)
    return growth


def _tail_growth(pieces: PiecewiseFunction) -> TailGrowth:
    """How fast a formula grows on either side, whatever values its parameters have."""
    choices = list(samples(sorted(pieces.free_symbols, key=str)))
    left, right = pieces.parts[0].xreplace({z: -z}), pieces.parts[-1]
    return TailGrowth(*(reduce(wider, (tail(side.xreplace(values)) for values in choices)) for side in (left, right)))


def _missing_signs(pieces: PiecewiseFunction) -> str:
    """A remedy that names parameters whose signs would give the formula an average; empty if there are none."""
    free = [p for p in sorted(pieces.free_symbols, key=str) if p.is_nonnegative is None and p.is_nonpositive is None]
    for count in (1, 2):
        for chosen in combinations(free, count):
            for signs in product(("positive", "negative"), repeat=count):
                declared = {p: sp.Symbol(p.name, **{sign: True}) for p, sign in zip(chosen, signs, strict=True)}
                if all(scale.has_average for scale in _tail_growth(pieces.subs(declared))):
                    named = (f"{p} = Symbol('{p}', {sign}=True)" for p, sign in zip(chosen, signs, strict=True))
                    return f"declare the sign of the parameter: {', '.join(named)}"
    return ""


def require_distinct(asked: str, symbols: Iterable[sp.Symbol]) -> None:
    """Refuse symbols that print alike: values are given by name, and to sympy other assumptions are another symbol.

    Raises:
        DeclarationError: two symbols of one name, or one that has the name of a shared symbol and is another.
    """
    by_name: dict[str, sp.Symbol] = {}
    for symbol in sorted(symbols, key=sp.default_sort_key):
        if SHARED.get(symbol.name, symbol) != symbol or symbol.name in EVALF_ARGUMENTS:
            remedy = "choose another name" + (f", or use sr.{symbol}" if SHARED.get(symbol.name) in PARAMETERS else "")
            raise DeclarationError(asked, f"the name {symbol} is taken by symres", remedy)
        if by_name.setdefault(symbol.name, symbol) != symbol:
            found = f"there are two symbols called {symbol} with different assumptions"
            raise DeclarationError(asked, found, "rename one of them, or make the symbol once and use it everywhere")


def require_supported(name: str, expr: sp.Expr) -> None:
    """Refuse functions that symres does not know, complex and infinite numbers, and powers beyond the limit.

    Raises:
        DeclarationError: the first such thing found.
    """
    for node in sp.preorder_traversal(expr):
        if node.has(sp.I, sp.oo, sp.nan, sp.zoo) and not node.args:
            reason = f"the formula contains {node}"
            raise DeclarationError(f"activation {name}", reason, "give a formula that is real and finite")
        record = record_of(node)
        is_function = record is not None and record.names != ()
        if not (is_function or isinstance(node, _STRUCTURE) or node in (sp.pi, sp.E)):
            supported = {kind.__name__ for kind, record in RECORDS.items() if record.names}
            reason = f"the function {type(node).__name__} is not supported"
            advice = f"use powers and {', '.join(sorted({*supported, 'Piecewise'}, key=str.lower))}"
            raise DeclarationError(f"activation {name}", reason, advice)
    for constant in expr.atoms(sp.Function):
        if constant.is_number and not is_evaluated(constant):
            found, remedy = f"the value of {constant!s:.40} is too large or too small to be computed", "write the value"
            raise DeclarationError(f"activation {name}", found, remedy)
    power = power_bound(expr)
    if power > MAX_POWER:
        reason = f"a power of {power} is beyond the limit of {MAX_POWER}"
        raise DeclarationError(f"activation {name}", reason, "use a lower power")


def is_evaluated(constant: sp.Expr) -> bool:
    """Whether mpmath finds the value of a constant: of erfc(1e300) it does not."""
    try:
        return bool(sp.N(constant, 15).is_real)
    except OverflowError:
        return False


@lru_cache(maxsize=4096)
def power_bound(node: sp.Basic) -> sp.Rational:
    """The highest power in a formula, counted through nested powers and products: the size of what it expands to."""
    inner = [power_bound(argument) for argument in node.args]
    if isinstance(node, sp.Pow) and node.exp.is_Rational:
        return inner[0] * abs(node.exp)
    if isinstance(node, sp.Mul):
        return sp.Add(*inner)
    return sp.Integer(1) if isinstance(node, sp.Symbol) else max(inner, default=sp.Integer(0))
