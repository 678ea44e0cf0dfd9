"""The walk: the law of the neurons carried through a program.

Every Gaussian variable is an affine form over base sources (the stream and the Draws), so covariances are dot
products. An empirical average becomes an average over the law of the forms that occur in it. Nothing here knows a
node, an activation or an architecture.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import sympy as sp

from .. import symbols
from ..declare.activation import Phi
from ..declare.program import Draw, Program
from ..errors import UnsupportedLayer
from ..gaussian.expectation import Expectation
from ..gaussian.integrand import distributed
from ..symbols import variables

Form = tuple[tuple[sp.Symbol, int, sp.Expr], ...]  # (source, input, coefficient), sorted by source name
Assignment = tuple[sp.Symbol, sp.Expr]

ONE_INPUT = {(0, 0): symbols.K}
TWO_INPUTS = {(1, 1): symbols.K1, (1, 2): symbols.C, (2, 2): symbols.K2}


@dataclass
class Walk:
    """The law of one layer's neurons, as a straight-line list of assignments.

    Args:
        program: the layer.
        kernel: covariances of the stream, {(input a, input b): symbol} with a <= b.
    """

    program: Program
    kernel: dict[tuple[int, int], sp.Expr]
    assignments: list[Assignment] = field(default_factory=list)
    _covariances: dict[tuple[sp.Symbol, int, int], sp.Expr] = field(default_factory=dict)
    _statistics: dict[tuple[sp.Symbol, int], sp.Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for (a, b), value in self.kernel.items():
            self._covariances[symbols.z, a, b] = value
        inputs = sorted({a for a, _ in self.kernel})
        for instruction in self.program.instructions:
            if isinstance(instruction, Draw):
                self._draw(instruction)
            else:
                for a in inputs:
                    self._statistics[instruction.name, a] = self.mean((instruction.integrand, a))

    @property
    def arguments(self) -> tuple[sp.Symbol, ...]:
        """The kernels: (K,) or (K1, K2, C)."""
        diagonal = [value for (a, b), value in self.kernel.items() if a == b]
        return (*diagonal, *(value for (a, b), value in self.kernel.items() if a != b))

    def _draw(self, draw: Draw) -> None:
        for a, b in self.kernel:
            name = symbols.variance(draw.name, a, b)
            self.assignments.append((name, draw.C_b + draw.C_W * self.mean((draw.u, a), (draw.u, b))))
            self._covariances[draw.name, a, b] = name

    def stream(self, a: int, b: int) -> sp.Expr:
        """The covariance of the next stream at inputs a and b."""
        c = self.program.coefficients
        return sp.Add(
            *(self.at(c[s], a) * self.at(c[s], b) * self.covariance(s, a, b) for s in self.program.sources if s in c)
        )

    def covariance(self, source: sp.Symbol, a: int, b: int) -> sp.Expr:
        """The covariance of one source at two inputs."""
        return self._covariances[source, *sorted((a, b))]

    def at(self, expression: sp.Expr, a: int) -> sp.Expr:
        """An expression with the statistics of input a."""
        return expression.xreplace({s: value for (s, b), value in self._statistics.items() if b == a})

    def mean(self, *factors: tuple[sp.Expr, int]) -> sp.Expr:
        """``<u_a v_b ...>`` for factors (u, a), (v, b), ..., in unevaluated averages.

        Raises:
            UnsupportedLayer: one product needs more than two Gaussian variables.
        """
        return _Averager(self).mean(factors)


class _Averager:
    """One average: its Gaussian variables are the distinct forms that occur in the integrand."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.forms: list[Form] = []
        self.stand_ins: list[sp.Dummy] = []

    def mean(self, factors: Iterable[tuple[sp.Expr, int]]) -> sp.Expr:
        integrand = sp.Mul(*(self._gaussian(self.walk.at(u, a), a) for u, a in factors))
        total = sp.Integer(0)
        for summand in sp.Add.make_args(distributed(integrand)):
            total += self._product(sp.Mul.make_args(summand))
        return total

    def _gaussian(self, u: sp.Expr, a: int) -> sp.Expr:
        """Replace every affine combination of sources inside an activation, and every other source, by a variable."""
        sources = set(self.walk.program.sources)
        if not u.free_symbols & sources:
            return u
        if u in sources:
            return self._variable(((u, a, sp.Integer(1)),))
        if isinstance(u, Phi) and not u.argument.has(Phi):
            form = self._form(u.argument, a)
            if form is not None:
                return u.func(u.formula, self._variable(form), *u.args[2:])
        return u.func(*(self._gaussian(argument, a) for argument in u.args))

    def _form(self, u: sp.Expr, a: int) -> Form | None:
        """The expression as a linear form in the sources, or None."""
        sources = [s for s in self.walk.program.sources if u.has(s)]
        coefficients = [u.diff(s) for s in sources]
        if any(c.free_symbols & set(sources) for c in coefficients):
            return None
        if sp.expand(u - sp.Add(*(c * s for c, s in zip(coefficients, sources, strict=True)))) != 0:
            return None
        return tuple((s, a, c) for s, c in zip(sources, coefficients, strict=True))

    def _variable(self, form: Form) -> sp.Expr:
        """The variable of a form; one that is a multiple of another is that multiple, for their law is singular."""
        for known, variable in zip(self.forms, self.stand_ins, strict=True):
            ratio = _ratio(form, known)
            if ratio is not None:
                return ratio * variable
        self.forms.append(form)
        self.stand_ins.append(sp.Dummy("w", real=True))
        return self.stand_ins[-1]

    def _product(self, factors: Iterable[sp.Expr]) -> sp.Expr:
        """The average of one product: factors of independent variables separate."""
        outside, inside = sp.Integer(1), []
        for factor in factors:
            if factor.free_symbols & set(self.stand_ins):
                inside.append(factor)
            else:
                outside *= factor
        groups: list[tuple[list[int], list[sp.Expr]]] = []
        for factor in inside:
            used = [k for k, w in enumerate(self.stand_ins) if factor.has(w)]
            merged: tuple[list[int], list[sp.Expr]] = (used, [factor])
            rest = []
            for group in groups:
                if any(self._covariance(i, j) != 0 for i in used for j in group[0]):
                    merged = (sorted({*merged[0], *group[0]}), [*group[1], *merged[1]])
                else:
                    rest.append(group)
            groups = [*rest, merged]
        return outside * sp.Mul(*(self._expectation(used, sp.Mul(*parts)) for used, parts in groups))

    def _expectation(self, used: list[int], integrand: sp.Expr) -> sp.Expr:
        if len(used) > 2:
            raise UnsupportedLayer(
                f"the average of {integrand}",
                f"it needs {len(used)} correlated Gaussian variables at once",
                "write the layer so that a product mixes at most two of them",
            )
        names = {self.stand_ins[k]: x for k, x in zip(used, variables, strict=False)}
        law = [self._covariance(i, j) for p, i in enumerate(used) for j in used[p:]]
        return Expectation(integrand.xreplace(names), *law)

    def _covariance(self, i: int, j: int) -> sp.Expr:
        return sp.Add(
            *(c * d * self.walk.covariance(s, a, b) for s, a, c in self.forms[i] for t, b, d in self.forms[j] if s == t)
        )


def _ratio(form: Form, other: Form) -> sp.Expr | None:
    """The number or parameter by which one form is another's multiple, if there is one."""
    if [place[:2] for place in form] != [place[:2] for place in other]:
        return None
    ratios = {sp.cancel(c / d) for (*_, c), (*_, d) in zip(form, other, strict=True)}
    return ratios.pop() if len(ratios) == 1 else None
