"""A derived quantity: an expression, what is known about it, and a way to evaluate it to any precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from operator import methodcaller
from types import MappingProxyType

import mpmath as mp
import sympy as sp

from ..core.display import Fact, Shown
from ..core.errors import DeclarationError, NoClosedForm, SymresError
from ..core.proof import Proof, Step
from ..core.scalars import Number, whole
from ..core.symbols import K1, KERNELS, K
from ..functions.balls import evaluate
from ..functions.ranges import admissible
from ..functions.records.special_function import digits_of_floats
from ..notation import latex
from ..notation.facts import equation, is_short
from .arguments_of_quantities import Arguments, value_at_the_edge

_FEW = 15  # digits that any value should have
_NEARBY = sp.Rational(1, 10**9)  # to a limit, relative


class Status(Enum):
    """What a quantity is: a closed form, a truncated series, numbers with an error bound, or unknown.

    Examples:
        >>> [str(sr.expect(f).status) for f in ("erf(z)^2", "tanh(z)^2")]
        ['EXACT', 'NUMERIC']
        >>> str(sr.expect("tanh(z)^2").series(2).status)
        'SERIES'
    """

    EXACT = "EXACT"
    SERIES = "SERIES"
    NUMERIC = "NUMERIC"
    UNKNOWN = "UNKNOWN"

    def __str__(self) -> str:
        return self.value


_ENCLOSED = "a number for every kernel: evalf(15, ...) encloses it, to as many digits as are asked for"


@dataclass(frozen=True)
class Verification:
    """One numerical comparison that a result passed before it was returned.

    Args:
        oracle: what it was compared with.
        points: at how many random parameter points.
        worst: largest deviation that was seen, relative; absolute where the result is 0.
    """

    oracle: str
    points: int
    worst: float

    def __str__(self) -> str:
        deviation = f" to 1e{int(mp.ceil(mp.log10(self.worst)))}" if self.worst else ", without deviation"
        return f"verified at {self.points} points{deviation}: {self.oracle}"


@dataclass(frozen=True)
class NamedStep:
    """An intermediate result of a straight-line derivation, ``symbol = definition = expr``."""

    symbol: sp.Symbol
    definition: sp.Expr
    expr: sp.Expr

    @property
    def sides(self) -> tuple[sp.Expr, sp.Expr]:
        """The definition and what it is in closed form."""
        return self.definition, self.expr


@dataclass(frozen=True, repr=False)
class Quantity(Shown):
    """A result of symres.

    Args:
        name: the field's name of the quantity; the name of its function in generated modules.
        symbols: the arguments, in the order of generated functions.
        definition: the quantity in unevaluated Gaussian averages, and in the symbols of ``steps``.
        body: ``definition`` with every average that closes in closed form.
        status: EXACT, SERIES, NUMERIC or UNKNOWN.
        steps: named intermediate results, in order; later ones may contain the symbols of earlier ones.
        notation: LaTeX of the left-hand side.
        meaning: one line that says what it is.
        unit: in which it is measured, in powers of the kernel of the preactivations; "1" for a number.
        source: document and equation that it generalises.
        proof: the derivation of ``body`` from ``definition``.
        verifications: comparisons that it passed.
        reason: for NUMERIC and UNKNOWN, why there is no closed form.
        unused: parameters of the layer on which the quantity does not depend; ``evalf`` accepts and ignores them.
        expansion: makes the series in the kernel, small or large, for quantities that have one.
        directed: whether kernels must not be 0: a normaliser needs the direction of an input.
        within: (symbol, low, high) of symbols that must lie strictly between two numbers.
        members: where one input has a kernel K and a covariance C, the number of places of which any two have it.
        absent: covariances of two positions that must be 0: weights mix tokens that have none.
        conditions: inequalities between its symbols where it exists.

    Examples:
        >>> average = sr.expect("exp(z)")
        >>> average.expr, average(K=2), str(average.status)
        (exp(K/2), 2.718281828459045, 'EXACT')
        >>> [symbol.name for symbol in sr.derive("relu").covariance_map.symbols]
        ['K1', 'K2', 'C', 'C_W', 'C_b']
    """

    _names = MappingProxyType(
        {
            "result": ("expr", "defined", "status", "symbols", "unused", "conditions", "reason", "latex"),
            "numbers": ("evalf", "enclosure", "error_bound", "at", "limit", "series", "asymptotics"),
            "words": ("name", "meaning", "notation", "unit", "source"),
            "derivation": ("definition", "body", "steps", "proof", "verified", "verifications"),
        }
    )

    name: str
    symbols: tuple[sp.Symbol, ...]
    definition: sp.Expr
    body: sp.Expr
    status: Status
    steps: tuple[NamedStep, ...] = ()
    notation: str = ""
    meaning: str = ""
    unit: str = ""
    source: str = ""
    proof: Proof = field(default_factory=lambda: Proof(None))
    verifications: tuple[Verification, ...] = ()
    reason: str = ""
    unused: tuple[sp.Symbol, ...] = ()
    expansion: Callable[..., Quantity] | None = None
    directed: bool = False
    within: tuple[tuple[sp.Symbol, int, int], ...] = ()
    members: sp.Expr = sp.oo
    absent: tuple[sp.Symbol, ...] = ()
    conditions: tuple[sp.Basic, ...] = ()

    def __repr__(self) -> str:
        arguments = ", ".join(s.name for s in self.symbols)
        return f"<{self.name}({arguments}) = {self.expr} [{self.status}]>"

    def _title(self) -> str:
        return f"{self.meaning or self.name} [{self.status}]"

    def _facts(self) -> list[Fact]:
        """The result, or its definition where it is unknown or too long; its source, what it lacks, its check."""
        left = self.notation or rf"\mathrm{{{self.name.replace('_', chr(92) + '_')}}}"
        name = f"{self.name}({', '.join(s.name for s in self.symbols)})" if self.symbols else self.name
        side = self.expr if self.expr is not None and is_short(self.expr) else self.defined
        return [
            Fact("", f"{name} is unknown") if side.has(sp.nan) else equation(name, left, side),
            *(Fact(label, text) for label, text in (("source", self.source), ("reason", self.reason)) if text),
            *([] if self.verified is None else [Fact("", str(self.verified))]),
            *([Fact("", _ENCLOSED)] if self.status is Status.NUMERIC else []),
        ]

    @cached_property
    def expr(self) -> sp.Expr | None:
        """The result as one expression, closed where EXACT, with unevaluated averages where NUMERIC.

        Examples:
            >>> sr.expect("step(z - 1)").expr  # the probability of z > 1
            erfc(sqrt(2)/(2*sqrt(K)))/2
        """
        if self.status is Status.UNKNOWN:
            return None
        result = self.body
        for step in reversed(self.steps):
            result = result.xreplace({step.symbol: step.expr})
        return result

    @cached_property
    def defined(self) -> sp.Expr:
        """The definition as one expression in unevaluated averages, in which named steps are written out.

        Examples:
            >>> sr.derive("relu").kernel_map.defined
            C_W*<relu(z)**2>_{K} + C_b
        """
        result = self.definition
        for step in reversed(self.steps):
            result = result.xreplace({step.symbol: step.definition})
        return result

    @property
    def error_bound(self) -> float:
        """Largest relative error of ``evalf()``, which is 0 for a closed form and 1e-15 where numbers are enclosed.

        Examples:
            >>> sr.expect("relu").error_bound, sr.expect("tanh(z)^2").error_bound
            (0.0, 1e-15)
        """
        return {Status.EXACT: 0.0, Status.NUMERIC: 1e-15}.get(self.status, float("inf"))

    @property
    def verified(self) -> Verification | None:
        """All comparisons of closed forms together, with their points and the largest deviation.

        None if there was none: numbers of what is NUMERIC need none, they are enclosed.

        Examples:
            >>> found = sr.expect("z^2*exp(-z^2/2)").verified
            >>> found.points > 3, found.worst < 1e-20
            (True, True)
        """
        if not self.verifications:
            return None
        oracles = ", ".join(dict.fromkeys(v.oracle for v in self.verifications))
        return Verification(
            oracles, sum(v.points for v in self.verifications), max(v.worst for v in self.verifications)
        )

    def evalf(self, /, digits: Number = 15, **values: Number) -> mp.mpf:
        """The value to so many correct digits.

        Args:
            digits: relative accuracy 10**-digits. A value too small to be told from 0, even with 16 times the usual
                working precision, is returned as 0 (10**-542868102, for instance).
            values: one number for every symbol, by name (``K=1.7, C_W=2``): int, float (as the decimal that it
                prints), str, Fraction, mpf or sympy number. A covariance that floats have rounded to just above
                ``sqrt(K1*K2)`` means exactly that.

        Raises:
            DeclarationError: a symbol without a value, an unknown name, a value outside the symbol's domain.

        Examples:
            >>> import mpmath
            >>> mpmath.nstr(sr.expect("exp(z)").evalf(30, K=2), 30)  # e
            '2.71828182845904523536028747135'
        """
        return self.enclosure(digits, **values)[0]

    def enclosure(self, /, digits: Number = 15, **values: Number) -> tuple[mp.mpf, mp.mpf]:
        """``(value, radius)``: the true value lies within the radius, at most 10**-digits relative unless it is 0.

        An average without a closed form is integrated numerically over the bulk of the Gaussian, and its tails are
        bounded: they are followed outwards until they contribute less than about 10**(-16*digits). Farther out the
        integrand times the Gaussian is assumed to go on falling.

        Examples:
            >>> value, radius = sr.expect("tanh(z)^2").enclosure(20, K=1)
            >>> float(value), float(radius) < 1e-20
            (0.3942944903978412, True)
        """
        if self.status is Status.UNKNOWN:
            raise NoClosedForm(f"a number for {self.name}", self.reason, "use another quantity, this one is unknown")
        assert self.expr is not None
        exact = self._arguments.all_of(values)
        digits = whole(digits, "digits", 1)
        try:
            return self._enclosed(exact, digits)
        except ValueError:  # of sympy: it cannot take the root of some large numbers. Balls can
            kernels = {s: exact[s] for s in KERNELS if s in exact}
            parameters = {s: v for s, v in exact.items() if s not in kernels}
            return evaluate(self.expr.subs(parameters), kernels, digits)

    def _enclosed(self, exact: dict[sp.Symbol, sp.Expr], digits: int) -> tuple[mp.mpf, mp.mpf]:
        assert self.expr is not None
        vanishes = self.expansion is not None and exact.get(K) == 0
        expression = self._at_zero(exact) if vanishes else self.expr.subs(exact)
        if expression == sp.zoo and self.expr.is_Pow and self.expr.base.is_nonnegative:  # of 1/|x| it has a sign
            return mp.inf, mp.mpf(0)
        # inputs that are parallel, or vanish: the average itself has a value there
        if _is_undefined(expression) or (not vanishes and _has_pole(self.expr, exact)):
            expression = value_at_the_edge(self.name, self.defined, exact)
        if expression.has(sp.oo, -sp.oo):
            return mp.mpf(float(expression)), mp.mpf(0)
        try:
            return self._number(expression, exact, digits)
        except DeclarationError:
            raise
        except SymresError as error:
            raise self._beyond(digits, expression, exact, error) from None

    def _number(self, expression: sp.Expr, exact: dict[sp.Symbol, sp.Expr], digits: int) -> tuple[mp.mpf, mp.mpf]:
        try:
            return evaluate(expression, {}, digits)
        except DeclarationError:
            raise
        except SymresError:  # terms that cancel to more digits than any precision tried: the averages do not
            averages = self.defined.subs(exact)
            if averages == expression:
                raise
            return evaluate(averages, {}, digits)

    def _beyond(
        self, digits: int, expression: sp.Expr, exact: dict[sp.Symbol, sp.Expr], error: SymresError
    ) -> SymresError:
        """The error, or that only the digits asked for stand in the way: a few would do."""
        if digits <= _FEW:
            return error
        try:
            self._number(expression, exact, _FEW)
        except SymresError:
            return error
        return SymresError(f"{digits} digits of {self.name}", f"only about {_FEW} can be computed", "ask for fewer")

    def _at_zero(self, exact: dict[sp.Symbol, sp.Expr]) -> sp.Expr:
        """The limit K -> 0: a formula over K has one, from its series; without one, the formula itself."""
        kernel = self.symbols[0]
        parameters = {
            s: v for s, v in exact.items() if s != kernel
        }  # numbers also tell on which side of 0 a breakpoint is
        try:
            series = self.at(**{s.name: v for s, v in parameters.items()}).series(0, checked=False).body
        except NoClosedForm:
            value = self.expr.subs(exact) if self.expr is not None else sp.nan
            if value.has(sp.nan, sp.zoo):
                raise
            return value
        return sp.limit(series, kernel, 0, "+")

    def at(self, /, **values: Number) -> Quantity:
        """The quantity with numbers in the place of some of its symbols, a function of the others.

        Definition, result, named steps and proof all have the numbers, so that ``q.at(C_W=2).evalf(K=1)`` is
        ``q.evalf(K=1, C_W=2)``. Parameters on which nothing depends any more are among its ``unused`` ones.

        Args:
            values: numbers by name, as for ``evalf``. A covariance is given together with its kernels, or not at all.

        Raises:
            DeclarationError: an unknown name, a value outside the symbol's domain, a covariance without its kernels.
            NoClosedForm: the definition has no value there: ``evalf`` takes a limit, which is no formula.

        Examples:
            >>> sr.derive("abs").covariance_map.at(K1=1, K2=1, C=0, C_b=0).expr  # C_W <|z|>^2
            2*C_W/pi
        """
        exact = self._arguments.some_of(values)
        quantity = self._put(exact, values)
        if self.status is Status.UNKNOWN:
            return quantity
        if any(map(_is_undefined, (quantity.definition, *(s.definition for s in quantity.steps)))):
            where = ", ".join(f"{s} = {v}" for s, v in exact.items())
            raise NoClosedForm(
                f"{self.name} as a formula at {where}", "its averages are limits there", "ask for evalf() there"
            )
        closes = not any(map(_is_undefined, (quantity.body, *(s.expr for s in quantity.steps))))
        return quantity if closes or self.status is not Status.EXACT else quantity._opened()

    def _put(self, exact: dict[sp.Symbol, sp.Expr], names: Iterable[str]) -> Quantity:
        """Numbers in the place of symbols, everywhere."""
        definition, body = self.definition.subs(exact), self.body.subs(exact)
        steps = tuple(NamedStep(s.symbol, s.definition.subs(exact), s.expr.subs(exact)) for s in self.steps)
        left = [s for s in self.symbols if s not in exact]
        free = set().union(*(e.free_symbols for e in (definition, body, *(e for s in steps for e in s.sides))))
        gone = [s for s in left if not (s in free or s in KERNELS or self.status is Status.UNKNOWN)]
        return replace(
            self,
            symbols=tuple(s for s in left if s not in gone),
            unused=(*(s for s in self.unused if s.name not in names), *gone),
            definition=definition,
            body=body,
            steps=steps,
            proof=_specialised(self.proof, exact),
            conditions=tuple(c for c in (c.subs(exact) for c in self.conditions) if c != sp.true),
            expansion=self.expansion if K in left else None,
            directed=self.directed and K1 in left,
        )

    def _opened(self) -> Quantity:
        """The quantity in averages, where the closed form has no value but they have."""
        return replace(
            self,
            body=self.definition,
            steps=tuple(replace(s, expr=s.definition) for s in self.steps),
            status=Status.NUMERIC,
            reason="the closed form has no value at these numbers, but its averages have",
            proof=Proof(self.defined),
        )

    @property
    def _arguments(self) -> Arguments:
        return Arguments(
            asked=self.name,
            symbols=self.symbols,
            unused=self.unused,
            directed=self.directed,
            within=self.within,
            members=self.members,
            absent=self.absent,
            conditions=self.conditions,
        )

    def __call__(self, /, *kernels: Number, **values: Number) -> float:
        """The value as a float; of layers with attention it has twelve digits.

        Args:
            kernels: numbers for K, or for K1, K2 and C, in this order, as far as they are not passed by name.
            values: numbers for all other symbols, by name.

        Raises:
            DeclarationError: as ``evalf``; more positional numbers than kernels, or a kernel that is passed twice.

        Examples:
            >>> sr.derive("relu").kernel_map(3, C_W=2, C_b="1/2")
            3.5
        """
        digits = digits_of_floats(self.body, *(step.expr for step in self.steps))
        return float(self.evalf(digits, **self._arguments.named(kernels, values)))

    def limit(self, /, **values: Number) -> Quantity:
        """The limit where parameters approach numbers from inside of their domains, one after the other.

        Args:
            values: numbers by name, or oo; those below 0 and parameters that cannot be negative are approached from
                above at 0, all others from below.

        Raises:
            NoClosedForm: it has no closed form, and no value there either.

        Examples:
            >>> star = sr.derive("relu").at_fixed_point()
            >>> star.chi_perp.limit(C_W=2).expr, star.correlation_length.limit(C_W=2).expr
            (1, oo)
        """
        if (formula := self.expr) is None:
            raise NoClosedForm(f"a limit of {self.name}", self.reason, "use another quantity, this one is unknown")
        exact = self._arguments.ends_of(values)
        for symbol, value in exact.items():
            formula = _limit(formula, symbol, value)
        if _is_undefined(formula):
            raise NoClosedForm(f"a limit of {self.name}", "none was found", "take numbers nearby")
        left = tuple(s for s in self.symbols if s not in exact)
        conditions = tuple(c for c in self.conditions if not c.free_symbols & exact.keys())
        return replace(
            self,
            symbols=tuple(s for s in left if formula.has(s)),
            unused=(*self.unused, *(s for s in left if not formula.has(s))),
            definition=formula,
            body=formula,
            steps=(),
            proof=Proof(formula),
            conditions=conditions,
            expansion=None,
        )

    def series(self, order: Number = 3, *, checked: bool = True) -> Quantity:
        """The exact series in the kernel around K = 0, up to and including K**order.

        Args:
            order: the highest power of K.
            checked: whether to compare it with numbers; its ``reason`` then says how far it reaches.

        Returns:
            A SERIES quantity; ``evalf`` gives the truncated sum, whose distance from the quantity ``reason`` bounds.

        Raises:
            NoClosedForm: the quantity has no expansion in powers of sqrt(K), or more than one kernel.

        Examples:
            >>> sr.expect("tanh(z)^2").series(3).expr  # of z^2 - 2 z^4/3 + 17 z^6/45
            17*K**3/3 - 2*K**2 + K
        """
        return self._expanded("a series", order, False, checked)

    def asymptotics(self, order: Number = 3, *, checked: bool = True) -> Quantity:
        """The expansion in the kernel for K -> oo, down to and including ``K**-order``.

        Args:
            order: the highest power of 1/K.
            checked: whether to compare it with numbers; its ``reason`` then says from which K on it holds.

        Returns:
            A SERIES quantity, as for ``series``; coefficients without a closed form are enclosed integrals.

        Raises:
            NoClosedForm: the integrand is not polynomial far out, up to what decays exponentially, or the quantity has
                more than one kernel.

        Examples:
            Softplus is relu, but for an area of ``pi^2/6`` around 0, where the density is ``1/sqrt(2 pi K)``:

            >>> sr.expect("softplus").asymptotics(1).expr
            sqrt(2)*sqrt(K)/(2*sqrt(pi)) + sqrt(2)*pi**(3/2)/(12*sqrt(K))
        """
        return self._expanded("an expansion for large K", order, True, checked)

    def _expanded(self, asked: str, order: Number, large: bool, checked: bool) -> Quantity:
        if self.expansion is None:
            raise NoClosedForm(
                f"{asked} of {self.name}", "it is not a function of one kernel", "expand a quantity of one input"
            )
        return self.expansion(self, whole(order, "order", 0), large=large, checked=checked)

    def latex(self) -> str:
        r"""The expression as LaTeX.

        Examples:
            >>> print(sr.expect("abs(z)^3").latex())
            2 K^{3/2} \sqrt{\frac{2}{\pi}}
        """
        return latex(self.expr if self.expr is not None else self.definition)


def _specialised(proof: Proof, exact: dict[sp.Symbol, sp.Expr]) -> Proof:
    """A proof that goes on to numbers in the place of symbols."""
    if not exact or not isinstance(proof.result, sp.Expr):
        return proof
    put = methodcaller("subs", exact)
    values = ", ".join(f"{s} = {v}" for s, v in exact.items())
    return Proof(proof.start, (*proof.steps, Step("numbers", values, put, put(proof.result))))


def _limit(formula: sp.Expr, s: sp.Symbol, end: sp.Expr) -> sp.Expr:
    """The limit where a symbol approaches a number from smaller ones, 0 from larger ones; nan if none is found."""
    there = formula.subs(s, end)
    if there == sp.zoo:  # of what sign
        others = {other: admissible(other, 1, False) for other in formula.free_symbols if other != s}
        nearby = end * (1 - _NEARBY) if end else _NEARBY
        return sp.oo * (1 if evaluate(formula, {**others, s: nearby}, 2)[0] > 0 else -1)
    if not _is_undefined(there):
        return there
    try:
        return sp.limit(formula, s, end, "-" if end.is_positive else "+")
    except (NotImplementedError, ValueError):
        return sp.nan


def _is_undefined(value: sp.Expr) -> bool:
    return value.has(sp.nan, sp.zoo)


def _has_pole(formula: sp.Expr, exact: Mapping[sp.Symbol, sp.Expr]) -> bool:
    """Whether a formula divides by what is 0: sympy may let infinite parts cancel, erf(zoo) - erf(zoo) = 0."""
    return any(p.exp.is_negative and p.base.subs(exact).is_zero for p in formula.atoms(sp.Pow))
