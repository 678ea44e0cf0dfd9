"""The numbers that a user gives for the symbols of a quantity: exact, known by name, within their domains.

Where they make inputs parallel, or let them vanish, averages have a value and densities a limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy as sp
from sympy.utilities.iterables import sift

from ..core.errors import DeclarationError, NoClosedForm
from ..core.scalars import Number, is_rounded, number
from ..core.symbols import K1, K2, KERNELS, P1, P2, SHARED, C, E, K, T
from ..functions.balls import evaluate

_ROUNDED = sp.Rational(1, 2**50)  # relative: by how much floats may exceed the largest covariance
_LONGEST = 80  # characters of a call in a message
_SHORT = 12  # characters of a number
_SLACK = 1e-12  # relative, of floats
_FEW = 15  # digits of a factor whose sign alone counts


@dataclass(frozen=True)
class Arguments:
    """The symbols of a quantity, and what their values may be."""

    asked: str  # the name of the quantity, for messages
    symbols: tuple[sp.Symbol, ...]  # that need a number
    unused: tuple[sp.Symbol, ...]  # whose numbers are accepted and ignored
    directed: bool  # whether kernels must not be 0
    within: tuple[tuple[sp.Symbol, int, int], ...] = ()  # symbols that must lie strictly between two numbers
    members: sp.Expr = sp.oo  # the number of places of one input of which any two have the covariance C
    absent: tuple[sp.Symbol, ...] = ()  # covariances of two positions, which must be 0
    conditions: tuple[sp.Basic, ...] = ()  # inequalities that numbers must satisfy

    def named(self, kernels: Sequence[Number], values: Mapping[str, Number]) -> dict[str, Number]:
        """Numbers by name, where those of kernels may have been passed by position.

        Raises:
            DeclarationError: more numbers than kernels, or a kernel that is passed twice.
        """
        names = [s.name for s in (*self.symbols, *self.unused) if s in KERNELS]
        by_position = dict(zip(names, kernels, strict=False))
        if len(kernels) <= len(names) and by_position.keys().isdisjoint(values):
            return {**by_position, **values}
        asked = ", ".join([*map(str, kernels), *(f"{name}={value}" for name, value in values.items())])
        found = f"only {', '.join(names) or 'kernels'} may be passed by position, once"
        first = kernels if len(kernels) == len(self.symbols) else ("...",) * len(self.symbols)
        remedy = ", ".join(f"{s.name}={value}" for s, value in zip(self.symbols, first, strict=True))
        raise DeclarationError(f"{self.asked}({asked})"[:_LONGEST], found, f"write {self.asked}({remedy})")

    def all_of(self, values: Mapping[str, Number]) -> dict[sp.Symbol, sp.Expr]:
        """An exact number for every symbol.

        Raises:
            DeclarationError: a symbol without a value, an unknown name, a value outside of the domain.
        """
        self._require_known(values)
        missing = [s.name for s in self.symbols if s.name not in values]
        if missing:
            asked, found = f"a number for {self.asked}", f"no value was passed for {', '.join(missing)}"
            remedy = f"pass it by name, for instance {missing[0]}=1"
            if missing == [T.name]:
                found, remedy = "a number needs a number of tokens", "pass positions=Tokens(16), or T=16"
            raise DeclarationError(asked, found, remedy)
        return self._numbers(values)

    def ends_of(self, values: Mapping[str, Number]) -> dict[sp.Symbol, sp.Expr]:
        """Exact numbers, or oo, that the symbols that are named approach.

        Raises:
            DeclarationError: an unknown name, or what is not a number.
        """
        self._require_known(values)
        by_name = {s.name: s for s in self.symbols if s.name in values}
        infinite = ("oo", "inf")
        return {s: sp.oo if str(values[n]) in infinite else number(values[n], n) for n, s in by_name.items()}

    def some_of(self, values: Mapping[str, Number]) -> dict[sp.Symbol, sp.Expr]:
        """Exact numbers for the symbols that are named; a covariance together with its kernels, or not at all.

        Raises:
            DeclarationError: an unknown name, a value outside of the domain, a covariance without its kernels.
        """
        self._require_known(values)
        kernels = [s for s in (K, K1, K2, C) if s in self.symbols]
        named = [s for s in kernels if s.name in values]
        if named and named != kernels:
            names = ", ".join(s.name for s in kernels)
            raise DeclarationError(
                f"{self.asked} at {named[0]} = {values[named[0].name]}", f"{names} belong together", "pass all or none"
            )
        return self._numbers(values)

    def _require_known(self, values: Mapping[str, Number]) -> None:
        names = [s.name for s in self.symbols]
        ignored = {s.name for s in self.unused}
        for name in values:
            if name not in names and name not in ignored:
                found, choice = f"{self.asked} has no symbol {name}", ", ".join(names) or "none"
                raise DeclarationError(f"a value for {name}", found, f"its symbols are {choice}")

    def _numbers(self, values: Mapping[str, Number]) -> dict[sp.Symbol, sp.Expr]:
        by_name = {s.name: s for s in self.symbols}
        exact = {by_name[name]: number(value, name) for name, value in values.items() if name in by_name}
        for symbol, value in exact.items():
            require_range(self.asked, symbol, value)
            if self.directed and symbol in (K1, K2) and value == 0:
                raise undirected(self.asked, symbol)
        for symbol in self.absent:
            if (covariance := number(values.get(symbol.name, 0), symbol.name)) != 0:
                asked = f"{self.asked} at {symbol} = {float(covariance):.6g}"
                found = "mixing makes tokens unlike one another unless they have no covariance"
                raise DeclarationError(
                    asked, found, f"pass {symbol} = 0: centre the tokens, and take an odd activation"
                )
        self._require_covariance(exact, values)
        for symbol, low, high in self.within:
            if symbol in exact and not (exact[symbol] > low and exact[symbol] < high):
                raise DeclarationError(
                    f"{self.asked} at {symbol} = {exact[symbol]}",
                    "no layer is critical at this value",
                    f"pass {low} < {symbol} < {high}",
                )
        for condition in self.conditions:
            if condition.subs(exact) == sp.false:
                named = ", ".join(f"{s} = {exact[s]}" for s in sorted(condition.free_symbols & exact.keys(), key=str))
                raise DeclarationError(f"{self.asked} at {named}", f"it exists where {condition}", "take other numbers")
        return exact

    def _require_covariance(self, exact: dict[sp.Symbol, sp.Expr], values: Mapping[str, Number]) -> None:
        """Refuse kernels and covariances of no inputs; one that floats have rounded is put right in ``exact``."""
        if {K1, K2, C} <= exact.keys():
            largest = sp.sqrt(exact[K1] * exact[K2])
            excess = abs(exact[C]) - largest
            if excess.is_positive:
                if not (excess <= _ROUNDED * largest and any(is_rounded(values[s.name]) for s in (K1, K2, C))):
                    raise DeclarationError(
                        f"{self.asked} at C = {exact[C]}", "C**2 > K1*K2 is not a covariance", "pass |C| <= sqrt(K1*K2)"
                    )
                exact[C] = sp.sign(exact[C]) * largest  # the user's own rounding of a correlation of 1 or -1
        members = exact.get(T, self.members)
        if {K, C} <= exact.keys():
            self._require_members(exact, values, K, C, members)
        if {K1, K2, C, P1, P2, E} <= exact.keys():
            self._require_members(exact, values, K1, P1, members)
            self._require_members(exact, values, K2, P2, members)
            self._require_sequences(exact, members)

    def _require_members(
        self,
        exact: dict[sp.Symbol, sp.Expr],
        values: Mapping[str, Number],
        kernel: sp.Symbol,
        covariance: sp.Symbol,
        members: sp.Expr,
    ) -> None:
        """Refuse a kernel and a covariance that so many places cannot have; a rounded one is put right in ``exact``."""
        most = exact[kernel]
        least = -most / sp.Max(members - 1, 1) if members.is_number else -most
        nearest = sp.Min(sp.Max(exact[covariance], least), most)
        excess = abs(exact[covariance] - nearest)
        if excess.is_positive and excess <= _ROUNDED * most and is_rounded(values[covariance.name]):
            exact[covariance] = nearest
        elif excess != 0:
            is_batch = members is sp.oo
            named = f"{kernel} = {_readable(most)}, {covariance} = {_readable(exact[covariance])}"
            found = f"no {members} places have these covariances"
            raise DeclarationError(
                f"{self.asked} at {named}",
                "the mean covariance of a large batch is not negative" if is_batch else found,
                f"pass {0 if is_batch else _readable(least)} <= {covariance} <= {kernel}",
            )

    def _require_sequences(self, exact: dict[sp.Symbol, sp.Expr], members: sp.Expr) -> None:
        """Refuse covariances of two sequences whose mean tokens, or differences of tokens, have none such."""
        if not members.is_number:
            return
        one, first, two, second, same, other = (float(exact[s]) for s in (K1, P1, K2, P2, C, E))
        others = float(members) - 1
        means = (first, second, other)
        if math.isfinite(others):
            means = (one + others * first, two + others * second, same + others * other)
        for product, both in ((means[0] * means[1], means[2]), ((one - first) * (two - second), same - other)):
            if both**2 > product * (1 + _SLACK) + _SLACK * one * two:
                asked = f"{self.asked} at C = {same:g}, E = {other:g}"
                remedy = "pass C and E of sequences that there are: |C - E| <= sqrt((K1 - P1)*(K2 - P2))"
                raise DeclarationError(asked, f"no two sequences of {members} tokens have these covariances", remedy)


def undirected(asked: str, symbol: sp.Symbol) -> DeclarationError:
    """What is wrong with an input of kernel 0 where a normaliser divides by the size of inputs."""
    return DeclarationError(
        f"{asked} at {symbol} = 0",
        "this input has no direction, and a normaliser of the layer divides by its size",
        f"pass {symbol} > 0, which a read-in with biases guarantees",
    )


def require_range(asked: str, symbol: sp.Symbol, value: sp.Expr) -> None:
    """Refuse a number that a symbol does not stand for.

    Args:
        asked: what is evaluated.
        symbol: with its assumptions.
        value: a number.

    Raises:
        DeclarationError: its sign is wrong.
    """
    if symbol.is_nonnegative and value.is_negative:
        found, side = "it is negative", ">"
    elif symbol.is_nonpositive and value.is_positive:
        found, side = "it is positive", "<"
    else:
        return
    side += "" if symbol.is_nonzero and symbol not in SHARED.values() else "="  # kernels may vanish
    raise DeclarationError(f"{asked} at {symbol} = {value}", found, f"pass {symbol} {side} 0")


def value_at_the_edge(asked: str, defined: sp.Expr, exact: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """A definition where inputs become parallel, or vanish: averages have a value there, densities a limit.

    Args:
        asked: what it defines, for messages.
        defined: in unevaluated averages.
        exact: a number for every symbol.

    Raises:
        NoClosedForm: a slope is infinite there, or infinite terms of both signs meet.
    """
    along, end = _towards(defined, exact)
    fronts: dict[sp.Expr, sp.Expr] = {}
    for term in sp.Add.make_args(sp.expand_mul(along)):
        front, averages = map(sp.Mul.fromiter, sift(sp.Mul.make_args(term), _is_elementary, binary=True))
        fronts[averages] = fronts.get(averages, sp.Integer(0)) + front
    terms = [_at_end(front, averages, end, exact.get(end, end)) for averages, front in fronts.items()]
    endless = {term for term in terms if term.has(sp.nan, sp.zoo, sp.oo, -sp.oo)}
    if not endless:
        return sp.Add(*terms)
    if endless not in ({sp.oo}, {-sp.oo}):
        raise NoClosedForm(
            f"{asked} at {', '.join(f'{s} = {v}' for s, v in exact.items())}",
            "symres knows no limit of its terms there, or they diverge",
            "pass values close to it",
        )
    return endless.pop()


def _readable(value: sp.Expr) -> str:
    """A number as a short fraction, or a decimal."""
    return str(value) if len(str(value)) < _SHORT else f"{float(value):.10g}"


def _towards(defined: sp.Expr, exact: Mapping[sp.Symbol, sp.Expr]) -> tuple[sp.Expr, sp.Symbol]:
    """The definition with numbers for all symbols but one, and that: a kernel that vanishes, or the covariance."""
    vanishing = [s for s in (K1, K2) if exact.get(s) == 0]
    if not vanishing:
        return defined.subs({s: v for s, v in exact.items() if s != C}), C
    end, *equal = vanishing  # both vanish together
    numbers = {s: v for s, v in exact.items() if s not in vanishing}
    return defined.subs(numbers).subs(dict.fromkeys(equal, end)), end


def _at_end(front: sp.Expr, averages: sp.Expr, symbol: sp.Symbol, value: sp.Expr) -> sp.Expr:
    """A product at the end of the range of a symbol: the limit of what is elementary, the value of the rest."""
    averages = averages.subs(symbol, value)
    if front.has(symbol):
        try:
            front = sp.limit(front, symbol, value, "-" if value.is_positive else "+")
        except (NotImplementedError, ValueError):
            return sp.nan
    if front.is_infinite:
        averages = sp.sign(sp.Float(evaluate(averages, {}, _FEW)[0]))
    return front * averages


def _is_elementary(factor: sp.Expr) -> bool:
    """Whether a factor is made of powers and exponentials alone: densities are, and have a limit."""
    return all(isinstance(node, sp.Atom | sp.Add | sp.Mul | sp.Pow | sp.exp) for node in sp.preorder_traversal(factor))
