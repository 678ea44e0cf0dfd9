"""What a generated module computes, before any language: functions that call components.

A quantity is a polynomial in C_W, C_b, gamma ... whose coefficients depend on kernels only. Those coefficients, and
the averages without a closed form, are the components: each is computed, stabilised, fitted and measured once, and
called by every function that contains it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import sympy as sp

from ...core.atoms import AverageNode
from ...core.errors import DeclarationError, NoClosedForm
from ...core.symbols import C_W, K1, K2, P1, P2, C, C_b, E, K, Theta, Theta_E, gamma, n, n_L, r, s, t, variables, xi
from ...functions.balls import evaluate
from ...results.quantity import Quantity, Status
from ..averages.average_code import averages
from ..emission.emitter import argument, distinct
from ..fits.chebyshev import Fit
from ..price.fixed_sum import FixedSum
from ..stable.angles import AngleForm
from ..stable.kernel_powers import reduced
from ..stable.positive_terms import positive
from ..stable.primitives import EXPONENTIALS, GeneratedSymbol, determinant
from ..stable.rewrites import stabilise
from .decomposition import adds_up, decompose, normalised_products, of_angles, scaling
from .guards import Guards

KERNELS = (K, K1, K2)  # what is no variance below 0
INSIDE = {C_W, C_b}  # what fresh neurons bring into averages
GLOBAL = {Theta, Theta_E, t, s, C_W, C_b, gamma, xi, n, n_L, r}  # no variance or covariance of a neuron
INACCURATE = 1e-6  # a larger error is announced
FEW_DIGITS = 1e-13  # a larger error of a closed form in special functions, and its average is integrated instead
ACCURATE = 2e-14  # a closed form of one kernel with a larger error in floats is replaced by a fit


@dataclass(frozen=True)
class ParameterRange:
    """Where code is right to six digits.

    Args:
        symbol: a parameter.
        low: the least value.
        high: the largest.
        whole: whether these are the ends of what is measured.
    """

    symbol: sp.Symbol
    low: float
    high: float
    whole: bool


@dataclass(frozen=True)
class MeasuredErrors:
    """What was measured on the code of a component, and where.

    Args:
        error: the largest one, relative to max(abs(F), abs(v*dF/dv)), v = C or K; for quadrature relative to the
            geometric mean of the two diagonal values.
        worst: where it was found, as text.
        error_over_max: for a function that is accurate beside its largest value only: its error relative to that.
        max_kernel: the largest kernel for which an average has numbers, with the parameters that it is measured at; the
            largest one depends on the parameters, and the code finds it at run time.
        reason: why there are no numbers beyond the largest kernel.
        gap: of a pair, its value at K1 = K2 = C = 0 and its limit there along the diagonal, if they differ.
        next_to_zero: of a pair by quadrature, the error relative to the value itself at tiny covariances.
        undefined: of a pair, where the code has no value in spite of its guards, as text.
        elsewhere: what was measured with other parameters of the activation, as text; empty if there are none.
        ranges: where the code is right, for each parameter.
        language: the name of the language on whose code all this was measured.
    """

    error: float = 0.0
    worst: str = ""
    error_over_max: float | None = None
    max_kernel: float = math.inf
    reason: str = ""
    gap: tuple[float, float] | None = None
    next_to_zero: float = 0.0
    undefined: str = ""
    elsewhere: str = ""
    ranges: tuple[ParameterRange, ...] = ()
    language: str = ""

    @property
    def is_inaccurate(self) -> bool:
        """Whether some values have so few digits that nobody should use them unwarned."""
        return self.error > INACCURATE


@dataclass(frozen=True)
class Component:
    """A function of one kernel (K), or of two kernels and their covariance (K1, K2, C), and of parameters.

    Args:
        name: of the generated function.
        symbols: its arguments.
        formula: what it computes: a closed form, or an unevaluated average.
        code: how it is computed: an expression in stable functions, a fit, or None for quadrature at run time.
        form: the closed form written with angles, where it is of that shape.
        fallback_integral: the formula in averages, which are integrated where terms of the closed form cancel.
        mended: whether averages take the place of a closed form where its terms cancel, or nowhere have to.
        guards: what is done where the code has no number.
        measured: the errors of the code.
    """

    name: str
    symbols: tuple[sp.Symbol, ...]
    formula: sp.Expr
    code: sp.Expr | Fit | None
    form: AngleForm | None = None
    fallback_integral: sp.Expr | None = None
    mended: bool = True
    guards: Guards = field(default_factory=Guards)
    measured: MeasuredErrors = field(default_factory=MeasuredErrors)

    def guarded(self, **changes: Any) -> Component:
        """The same component with some of its guards changed."""
        return replace(self, guards=replace(self.guards, **changes))

    def with_measured(self, **changes: Any) -> Component:
        """The same component with some of what was measured changed."""
        return replace(self, measured=replace(self.measured, **changes))

    @property
    def by_value(self) -> bool:
        """Whether the error of a function of one kernel is relative to its value alone."""
        decays = isinstance(self.code, Fit) and self.code.shape.decay > 0
        return decays or bool(averages(self.formula))

    @property
    def last(self) -> float:
        """The largest kernel for which there are numbers with the parameters that errors are measured at."""
        return min(self.guards.largest, self.measured.max_kernel)

    @property
    def is_pair(self) -> bool:
        """Whether it depends on two inputs."""
        return C in self.symbols

    @property
    def kernels(self) -> tuple[sp.Symbol, ...]:
        """The kernels among its arguments."""
        return (K1, K2) if self.is_pair else (K,)

    @property
    def is_plain(self) -> bool:
        """Whether the code of a function of two inputs may stand in a formula as it is, with nothing that guards it."""
        bare = self.fallback_integral is None and self.guards == Guards()
        return self.is_pair and isinstance(self.code, sp.Expr) and not self.has_sum and bare

    @property
    def has_sum(self) -> bool:
        """Whether its code contains fixed sums."""
        return isinstance(self.code, sp.Expr) and self.code.has(FixedSum)

    @property
    def is_pair_average(self) -> bool:
        """Whether it is made of averages of two inputs: its error is relative to the root of <f**2> <g**2>."""
        return self.is_pair and bool(averages(self.formula))

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """The arguments that are no kernels."""
        return self.symbols[3 if self.is_pair else 1 :]

    @property
    def steepest(self) -> float:
        """The largest power of kernels in its code, if that can be no float of a narrow type where the value is; or 0.

        Then code for narrow types computes in a wider one, or with kernels of order 1 and powers of 2 apart.
        """
        codes = [e for _, e in self.code.shape.steps] if isinstance(self.code, Fit) else [self.code]
        forms = (reduced(e) for e in codes if e is not None)
        return float(max((r.steepest for r in forms if r.leaves_range), default=0))

    @property
    def call(self) -> Callable[..., sp.Expr]:
        """The undefined sympy function that stands for it in expressions."""
        return sp.Function(self.name)


@dataclass(frozen=True)
class Function:
    """A function of the module: straight-line results, the last of which is returned.

    Args:
        quantity: what it computes.
        lines: (variable, expression in earlier names, arguments and component calls); the last is "return".
        names: symbol -> variable for arguments and earlier lines.
        components: those that it calls.
    """

    quantity: Quantity
    lines: tuple[tuple[str, sp.Expr], ...]
    names: tuple[tuple[sp.Symbol, str], ...]
    components: tuple[Component, ...]

    @property
    def arguments(self) -> tuple[sp.Symbol, ...]:
        """The kernels, the parameters that the value depends on, and, optional, those of the layer that it ignores.

        One rule for every target: all functions of a layer can be called with the same names.
        """
        return (*self.quantity.symbols, *self.quantity.unused)

    @property
    def takes_matrices(self) -> bool:
        """Whether it is a function of two inputs."""
        return {K1, K2, C} <= set(self.arguments)

    @property
    def both_kernels(self) -> tuple[sp.Symbol, sp.Symbol] | None:
        """The kernels of two inputs whose covariance is an argument: K of both where all inputs have one."""
        if C not in self.arguments:
            return None
        return (K1, K2) if self.takes_matrices else (K, K)

    @property
    def amplifies(self) -> bool:
        """Whether exponentials make much of a covariance that rounding has brought above sqrt(K1*K2)."""
        codes = (c.code for c in self.components if c.is_pair)
        return self.takes_matrices and any(isinstance(e, sp.Expr) and e.has(*EXPONENTIALS) for e in codes)

    @property
    def idle_kernels(self) -> tuple[sp.Symbol, ...]:
        """The kernels that stand in no line: the value does not tell whether they are possible."""
        return tuple(s for s in self.idle if s in KERNELS)

    @property
    def idle(self) -> tuple[sp.Symbol, ...]:
        """The arguments that stand in no line: they lend the result their shape only."""
        used = set().union(*(e.free_symbols for _, e in self.lines))
        return tuple(s for s in self.arguments if s not in used)


@dataclass
class Planner:
    """Finds the components of quantities; equal ones are shared between the functions of one module.

    Args:
        build: makes and measures a component from its name, arguments and formula, and the latter in averages.
    """

    build: Callable[..., Component]
    components: dict[tuple[sp.Expr, tuple[sp.Symbol, ...]], Component] = field(default_factory=dict)

    def function(self, quantity: Quantity) -> Function:
        """Plan one quantity.

        Raises:
            NoClosedForm: the quantity is unknown.
        """
        if quantity.status is Status.UNKNOWN:
            raise NoClosedForm(
                f"code for {quantity.name}", f"it is unknown ({quantity.reason})", "export another quantity"
            )
        splitting = _Splitting(self, quantity)
        arguments = (*quantity.symbols, *quantity.unused)
        distinct(arguments, argument)
        names = distinct(arguments)
        lines = []
        for step in quantity.steps:
            names[step.symbol] = step.symbol.name
            lines.append((names[step.symbol], splitting.split(step.expr, step.definition)))
        lines.append(("return", splitting.split(quantity.body, quantity.definition)))
        unknown = sorted({str(s) for _, e in lines for s in e.free_symbols if s not in (*names, determinant)})
        if unknown:
            raise DeclarationError(
                f"code for {quantity.name}", f"{', '.join(unknown)} is not an argument of it", "give it a value first"
            )
        return Function(quantity, tuple(lines), tuple(names.items()), tuple(splitting.used.values()))


class _Splitting:
    """The formulas of one quantity with calls of components in the place of what depends on kernels."""

    def __init__(self, planner: Planner, quantity: Quantity) -> None:
        self._planner = planner
        self._parameters = frozenset(quantity.symbols) - GLOBAL - {K, K1, K2, C, P1, P2, E}
        self._triples = _triples(quantity)
        self.used: dict[str, Component] = {}  # by name, as they are found

    def split(self, expr: sp.Expr, definition: sp.Expr) -> sp.Expr:
        """The expression with everything that depends on kernels alone replaced by calls.

        Args:
            expr: closed forms, and averages that have none.
            definition: the same in averages; where terms of a closed form cancel, they are integrated.
        """
        nested = [a for a in averages(expr) if not all(c.is_Symbol for c in a.covariance)]
        held = {node: sp.Dummy(f"average{i}") for i, node in enumerate(nested)}
        opaque = expr.xreplace(held)
        others = (opaque.free_symbols & GLOBAL) | set(held.values())
        parts = decompose(opaque, others | self._parameters)
        if parts is None and decompose(opaque, others) is None:
            normalised = normalised_products(expr)
            if normalised is not None:
                products = ([factor.as_base_exp() for factor in factors] for factors in normalised)
                return sp.Add(*(sp.Mul(*(self.split(base, base) ** p for base, p in powers)) for powers in products))
            others -= INSIDE
        integrals: dict[sp.Expr, sp.Expr] = {}
        may_cancel = self._parameters and not averages(opaque)
        if parts is None or (may_cancel and not adds_up(parts)):
            parts = decompose(opaque, others) or {sp.Integer(1): opaque}
            if all(c.is_Symbol for a in averages(definition) for c in a.covariance):
                integrals = decompose(definition.xreplace(held), others) or {}
        out = sp.Add(*(m * self._kernel_function(f, integrals.get(m)) for m, f in parts.items()))
        return out.xreplace({dummy: self._average(node) for node, dummy in held.items()})

    def _kernel_function(self, expr: sp.Expr, fallback_integral: sp.Expr | None = None) -> sp.Expr:
        """Calls of components for a function of kernels and parameters, which may be known in averages too."""
        open_ = averages(expr)
        if not open_ and expr.is_polynomial(*expr.free_symbols):
            return expr
        variables = expr.free_symbols
        parameters = self._parameters | GLOBAL  # the latter where they stand inside of averages
        single = variables - parameters
        if len(single) == 1:
            (v,) = single
            integral = fallback_integral and fallback_integral.xreplace({v: K})
            return self._call(expr.xreplace({v: K}), (K,), (v,), integral)
        if open_:
            held = {node: sp.Dummy(f"average{i}") for i, node in enumerate(open_)}
            parts = decompose(expr.xreplace(held), held.values())
            if parts is None:
                raise NoClosedForm(f"code for {expr}", "it has averages inside of functions", "export it to LaTeX")
            out = sp.Add(*(m * self._kernel_function(f) for m, f in parts.items()))
            return out.xreplace({dummy: self._average(node) for node, dummy in held.items()})
        for first, both, second in self._triples:
            if both in variables and variables <= {first, both, second} | parameters:
                canonical = {first: K1, both: C, second: K2}
                integral = fallback_integral and fallback_integral.xreplace(canonical)
                return self._call(expr.xreplace(canonical), (K1, K2, C), (first, second, both), integral)
        if isinstance(expr, sp.Add):  # functions of different kernels: one at a time
            groups: dict[frozenset, list[sp.Expr]] = {}
            for term in expr.args:
                groups.setdefault(frozenset(term.free_symbols), []).append(term)
            if len(groups) > 1:
                return sp.Add(*(self._kernel_function(sp.Add(*g)) for g in groups.values()))
        return stabilise(expr)

    def _average(self, node: AverageNode) -> sp.Expr:
        """A call of the component of an average without a closed form; kernels in its integrand become parameters."""
        if not node.free_symbols - {*variables}:
            return sp.Float(evaluate(node, {}, 20)[0], 20)
        inside = node.integrand.free_symbols - {*variables}
        given = {s: GeneratedSymbol(f"{s}_given", **s.assumptions0) for s in inside - self._parameters}
        integrand, back = node.integrand.xreplace(given), {name: s for s, name in given.items()}
        if node.dimension == 1:  # the variance of one input given the other is a determinant over a kernel
            variance = positive(node.covariance[0], (K1, C, K2))
            return self._call(node.func(integrand, K), (K,), (variance,)).xreplace(back)
        if node.dimension == 2:
            k1, c, k2 = node.covariance
            return self._call(node.func(integrand, K1, C, K2), (K1, K2, C), (k1, k2, c)).xreplace(back)
        raise NoClosedForm(f"code for {node}", "it is an average over more than two variables", "export it to LaTeX")

    def _call(
        self,
        expr: sp.Expr,
        kernels: tuple[sp.Symbol, ...],
        arguments: tuple[sp.Expr, ...],
        fallback_integral: sp.Expr | None = None,
    ) -> sp.Expr:
        """A call of the component for a function of kernels and parameters; mere scales stay outside."""
        parameters = sorted(expr.free_symbols - set(kernels), key=str)
        angles, rest = of_angles(expr) if kernels == (K1, K2, C) else (None, expr)
        if angles is not None:
            first, second, _ = arguments
            return self._call(angles, kernels, arguments) / (sp.sqrt(first) * sp.sqrt(second)) + rest
        if len(parameters) == 1:
            (p,) = parameters
            law = scaling(expr, kernels, p)
            if law is not None:
                m, s = law
                component = self._component(expr.xreplace({p: sp.Integer(1)}), kernels)
                return p**m * component.call(*(p**s * a for a in arguments))
        symbols = (*kernels, *parameters)
        if (
            fallback_integral == expr
            or fallback_integral is None
            or not parameters
            or not fallback_integral.free_symbols <= set(symbols)
            or any(2 * a.dimension - 1 != len(kernels) for a in averages(fallback_integral))
        ):
            fallback_integral = None
        component = self._component(expr, symbols, fallback_integral)
        return component.call(*arguments, *parameters)

    def _component(
        self, expr: sp.Expr, symbols: tuple[sp.Symbol, ...], fallback_integral: sp.Expr | None = None
    ) -> Component:
        components, key = self._planner.components, (expr, symbols)
        if key not in components:
            distinct(symbols)
            name = f"_average_{len(components) + 1}"
            components[key] = self._planner.build(name, symbols, expr, fallback_integral=fallback_integral)
        component = components[key]
        self.used[component.name] = component
        return component


def _triples(quantity: Quantity) -> list[tuple[sp.Symbol, sp.Symbol, sp.Symbol]]:
    """(K1, C, K2) and the like: the covariances of the quantity's averages over two variables."""
    triples = [(K1, C, K2)]
    for expr in (*(step.definition for step in quantity.steps), quantity.definition):
        for node in averages(expr):
            covariance = tuple(node.covariance)
            if len(covariance) == 3 and all(c.is_Symbol for c in covariance) and covariance not in triples:
                triples.append(covariance)
    return triples
