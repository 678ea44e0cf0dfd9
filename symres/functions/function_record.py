"""One record for each function that may stand in a formula, and the register of them.

A record holds what is special about its function. What follows from other fields is not written: the range of a
monotone function follows from its balls and limits, its behaviour far out from its limits, its Taylor series from its
definition or its slope, the rounding of its code from its derivative, its parity and its inverse from its class. The
algorithms that read a column stand in the modules of this room (``balls``, ``ranges``, ``tails``) and of the rooms
above it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from typing import Any, TypeVar

import sympy as sp

from ..core.errors import DeclarationError
from ..core.symbols import z
from ..numerics.ball_functions import BallRule, from_flint
from ..numerics.interval_arithmetic import LINE, Operation, Range

Formula = TypeVar("Formula", bound=sp.Basic)
_U, _E, _HERE = sp.Dummy("u", real=True), sp.Dummy("E", positive=True), sp.Rational(1, 7)


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionRecord:
    """A function of real numbers with the rules that are its own.

    Args:
        kind: its class in sympy, with its derivative.
        names: what it is called in formulas; empty for functions that occur in derived formulas only.
        definition: the function in simpler ones, an identity for all real arguments; None for a primitive one.
        is_abbreviation: whether a formula has the definition in the place of the function.
        ball: the function on real and on complex balls; None: that of the definition.
        limits: of a strictly monotone function its limits, or values, at both ends of its domain.
        domain: where it is real and finite, but for poles.
        is_smooth: whether it has neither kinks nor jumps.
        poles: what vanishes at the poles of ``f(u)``; None where it has none.
        range: the range over an interval; None: from limits and balls.
        tail: the ``Scale`` of ``f(u)`` for large arguments from that of u; None: from limits, values and definition.
        complements: ``1 - f(u)`` and ``1 + f(u)`` without cancellation; None in the place of one that has none.
        product: ``f(s + d) - f(s - d)`` without cancellation.
        spellings: templates of its code with ``{0}`` for the argument: for "arrays" (NumPy, PyTorch and JAX, with
            ``{library}`` and ``{special}`` for the names of libraries), for "scalar" code (C and Numba), and for single
            languages where theirs differs. Without one, code has the definition.
    """

    kind: type[sp.Function]
    names: tuple[str, ...] = ()
    definition: Callable[..., sp.Expr] | None = None
    is_abbreviation: bool = False
    ball: BallRule | None = None
    limits: tuple[sp.Expr, sp.Expr] | None = None
    domain: Range = LINE
    is_smooth: bool = True
    poles: Callable[[sp.Expr], sp.Expr] | None = None
    range: Operation | None = None
    tail: Callable[[Any], Any] | None = None
    complements: Callable[[sp.Expr], tuple[sp.Expr, sp.Expr | None]] | None = None
    product: Callable[[sp.Expr, sp.Expr], sp.Expr] | None = None
    spellings: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def value_at_0(self) -> sp.Expr:
        """The value at 0, which may be infinite."""
        return self.kind(0) if self.definition is None else self.definition(sp.Integer(0))

    @cached_property
    def slope_at_0(self) -> sp.Expr:
        """The derivative at 0."""
        return self.kind(_U).diff(_U).subs(_U, 0)

    @cached_property
    def is_odd(self) -> bool:
        """Whether ``f(-u) = -f(u)``, as sympy or the definition shows at a number."""
        rules: list[Callable[..., sp.Expr]] = [self.kind, *([] if self.definition is None else [self.definition])]
        return self.kind.nargs == sp.FiniteSet(1) and any(f(-_HERE) == -f(_HERE) for f in rules)

    @cached_property
    def inverse(self) -> Callable[[sp.Expr], sp.Expr] | None:
        """The argument where a monotone function has a value, as its class says; None where formulas have none."""
        if self.limits is None or not hasattr(self.kind, "inverse"):
            return None
        inverse = self.kind(_U).inverse()
        return None if inverse in RECORDS and not RECORDS[inverse].names else inverse

    @property
    def is_analytic(self) -> bool:
        """Whether it is analytic on the whole real line."""
        return self.is_smooth and self.poles is None and self.domain is LINE

    @cached_property
    def keeps_sign(self) -> bool:
        """Whether it increases, and has the sign of its argument."""
        return self.is_increasing and self.value_at_0 == 0

    @cached_property
    def is_positive(self) -> bool:
        """Whether it is known to be positive."""
        if self.limits is not None:
            return min(self.limits) == 0
        kind = (
            self.kind(_U) if self.kind.nargs == sp.FiniteSet(1) else self.kind
        )  # of several arguments the class says it
        return kind.is_positive is True

    @cached_property
    def is_exponential(self) -> bool:
        """Whether it is a rational function of ``exp(u)``."""
        if self.kind is sp.exp:
            return True
        if self.definition is None or len(signature(self.definition).parameters) != 1:
            return False
        return bool(self.definition(sp.log(_E)).is_rational_function(_E))

    @cached_property
    def is_polynomial(self) -> bool:
        """Whether its definition is a polynomial in simpler functions: sinh(u) is, tanh(u) is a quotient."""
        if self.definition is None:
            return False
        formula = self.definition(*(sp.Dummy(real=True) for _ in signature(self.definition).parameters))
        powers = [power.exp for power in formula.atoms(sp.Pow) if power.free_symbols]
        return all(exponent.is_Integer and exponent.is_nonnegative for exponent in powers)

    @property
    def is_increasing(self) -> bool:
        """Whether it increases on its whole domain."""
        return self.limits is not None and bool(self.limits[0] < self.limits[1])


RECORDS: dict[type, FunctionRecord] = {}


def called(arrays: str, scalar: str = "", library: str = "library") -> dict[str, str]:
    """The spellings of a function of one argument that array libraries and scalar code have by a name."""
    return {"arrays": f"{{{library}}}.{arrays}({{0}})", "scalar": f"{scalar or arrays}({{0}})"}


def elementary(kind: type[sp.Function], arrays: str = "", **columns: Any) -> FunctionRecord:
    """The record of a function with the name of its class in formulas, code and flint, unless columns say otherwise."""
    name = kind.__name__
    if "ball" not in columns:
        columns["ball"] = from_flint(name)
    columns = {"names": (name,), "spellings": called(arrays or name, name), **columns}
    return FunctionRecord(kind=kind, **columns)


def spelled(language: str, family: str, **libraries: str) -> dict[type, str]:
    """The templates of all functions that a language spells.

    Args:
        language: its name in records.
        family: "arrays" or "scalar".
        libraries: what stands for ``{library}`` and ``{special}``.
    """
    templates: dict[type, str] = {}
    for kind, record in RECORDS.items():
        if text := record.spellings.get(language, record.spellings.get(family, "")):
            for name, library in libraries.items():
                text = text.replace(f"{{{name}}}", library)
            templates[kind] = text
    return templates


def register(*records: FunctionRecord) -> None:
    """Add functions to those that may stand in a formula.

    Raises:
        DeclarationError: a class or a name that another function has; or a definition that is 0/0 at 0.
    """
    for record in records:
        if record.names and record.definition is not None and record.definition(sp.Integer(0)).has(sp.nan):
            asked = f"the function {record.names[0]}"
            remedy = "leave it out: give ball and spellings, and let eval of the class have the value at 0"
            raise DeclarationError(asked, "its definition is 0/0, or as undefined, at 0", remedy)
        taken = {name for other in RECORDS.values() for name in other.names}
        if record.kind in RECORDS or taken & set(record.names):
            found = "its class or one of its names is that of another function"
            raise DeclarationError(f"the function {record.kind.__name__}", found, "choose another name")
        RECORDS[record.kind] = record


def spelled_out(node: sp.Basic) -> sp.Expr | None:
    """The definition of a function that formulas may name, for code of a language without a spelling for it.

    None for others: a companion exists because code of its definition overflows or loses digits.
    """
    record = record_of(node)
    return definition_of(node) if record is not None and record.names else None


def definition_of(node: sp.Basic) -> sp.Expr | None:
    """What a function of some arguments is by its definition; None for a primitive function."""
    record = record_of(node)
    return None if record is None or record.definition is None else record.definition(*node.args)


def explained(*formulas: sp.Basic) -> list[tuple[FunctionRecord, sp.Expr]]:
    """The functions with names of their own in some formulas, each with its definition in z: for readers."""
    kinds = set().union(*map(_definitions_of_new, formulas))
    return [(r, r.definition(z)) for kind, r in RECORDS.items() if kind in kinds and r.names and r.definition]


def written_out(expr: Formula) -> Formula:
    """A formula in sympy's own functions: by their definitions where others occur."""
    definitions = _definitions_of_new(expr)
    for kind, definition in definitions.items():
        expr = expr.replace(kind, definition)
    return written_out(expr) if definitions else expr


def _definitions_of_new(formula: sp.Basic) -> dict[type, Callable[..., sp.Expr]]:
    """The definitions of those functions in a formula that sympy does not have."""
    records = [RECORDS[kind] for kind in map(type, formula.atoms(sp.Function)) if kind in RECORDS]
    return {r.kind: r.definition for r in records if r.definition and not r.kind.__module__.startswith("sympy.")}


def record_of(node: sp.Basic) -> FunctionRecord | None:
    """The record of the function that a node applies; None for what is no function with a record."""
    return RECORDS.get(type(node))


def cancelling(term: sp.Expr) -> list[tuple[sp.Expr, sp.Expr, sp.Expr]]:
    """(partner, coefficient, complement): term + partner = coefficient*complement, without cancellation."""
    pairs: list[tuple[sp.Expr, sp.Expr, sp.Expr]] = []
    for factor in sp.Mul.make_args(term):
        base, exponent = (factor, 1) if isinstance(factor, sp.exp) else factor.as_base_exp()
        record = record_of(base)
        if record is None or record.complements is None or base.has(sp.I):
            continue
        others, (less, more) = term / factor, record.complements(*base.args)
        if exponent == 1:
            pairs.append((-others, -others, less))
            pairs += [(others, others, more)] if more is not None else []
        elif isinstance(base, sp.tanh) and exponent == 2:
            pairs.append((-others, -others, sp.sech(*base.args) ** 2))
    return pairs
