"""An interpreter of plans: what the intermediate form of generated code means, in mpmath to any number of digits.

It reads plans and records' definitions of functions; no dialect, emitter, rewrite or run-time library has a part in it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath as mp
import sympy as sp
from sympy.core.function import AppliedUndef

from symres.codegen.fits.chebyshev import Fit
from symres.codegen.planning.network_plan import DeepLayer
from symres.codegen.planning.plan import Component, Function
from symres.codegen.planning.straight_line import (
    Assignments,
    OfBothInputs,
    Step,
    Test,
    floor,
    floor_squared,
    limits,
    origin,
    polynomial,
    steps,
    steps_of_function,
    value,
)
from symres.codegen.price.fixed_sum import PLAIN, node, nodes_and_weights
from symres.codegen.price.written_code import WrittenSum
from symres.codegen.stable import primitives as pr
from symres.codegen.stable.primitives import complement, correlation, determinant
from symres.core.symbols import K1, K2, C, K, Theta
from symres.functions.function_record import definition_of

Numbers = dict[str | sp.Dummy, Any]  # by the names of symbols, and the nodes of sums
Integrate = Callable[[sp.Expr, Mapping[sp.Symbol, Any]], Any]  # an average that has no code, at numbers


ZERO, ONE = mp.mpf(0), mp.mpf(1)


def _angle(y: Any, x: Any) -> Any:
    """Of the point (x, y) with y >= 0; a right angle at the origin."""
    return mp.pi / 2 if x == y == 0 else mp.atan2(y, x)


MEANINGS: Mapping[type, Callable[..., Any]] = {  # by the docstrings of the functions
    pr.Distance: lambda k1, k2, c: k1 + k2 - 2 * c,
    pr.Separation: lambda k1, k2, c: mp.sqrt(k1) * mp.sqrt(k2) - c,
    pr.CrossDifference: lambda x, y, u, v: x * y - u * v,
    pr.NonzeroDivisor: lambda u: u or ONE,
    pr.AbsNode: abs,
    pr.Orientation: lambda u: -ONE if u < 0 else ONE,
    pr.Positive: lambda u: max(u, mp.mpf("1e-150")),
    pr.Atan2: mp.atan2,
    pr.UpperAngle: _angle,
    pr.RightHalfPlaneAngle: lambda n, s, r: mp.atan2(n, s),
    pr.UpperHalfPlaneAngle: lambda n, s, r: _angle(s, -n),
    pr.AngularSum: lambda total, apart, m, n, s, *r: total + m * n * _angle(s, -n) if r else total,
    pr.Certain: lambda v, error: v,
    pr.Restored: lambda v, x, y, b: v,
    pr.AtLeast: lambda u, least: max(u, least),
    pr.AtMost: lambda u, most: min(u, most),
    pr.Chosen: lambda test, a, b: a if test else b,
    sp.Add: lambda *terms: mp.fsum(terms),
    sp.Mul: lambda *factors: mp.fprod(factors),
    sp.Pow: lambda base, exponent: mp.sqrt(base) if exponent == 0.5 else mp.power(base, exponent),
    sp.Abs: abs,
    sp.sign: mp.sign,
    sp.Max: max,
    sp.Min: min,
    sp.atan2: mp.atan2,
    **{
        getattr(sp, f): getattr(mp, f)
        for f in [
            "exp",
            "log",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "asin",
            "acos",
            "atan",
            "asinh",
            "erf",
            "erfc",
        ]
    },
}


class Interpreter:
    """Evaluates what a plan says.

    Args:
        components: those that may be called.
        integrate: evaluates averages without code.
    """

    def __init__(self, components: Sequence[Component], integrate: Integrate) -> None:
        self.components = {c.name: c for c in components}
        self.integrate = integrate

    def function(self, function: Function, arguments: Mapping[str, Any]) -> Any:
        """The value of a public function at arguments by name."""
        numbers: Numbers = {s.name: mp.mpf(arguments[s.name]) for s in function.arguments}
        return self.assigned(steps_of_function(function), numbers)

    def component(self, component: Component, arguments: Sequence[Any]) -> Any:
        """The value of a component: of its steps between its guards, or of an average."""
        code = component.code
        if code is None:
            return self.integrate(component.formula, dict(zip(component.symbols, arguments, strict=True)))
        numbers: Numbers = {s.name: x for s, x in zip(component.symbols, arguments, strict=True)}
        numbers |= dict.fromkeys((floor.name, floor_squared.name), ZERO)  # of numbers without rounding
        far, near = limits(component), origin(component)
        last = Assignments((("return", far.result.xreplace({value: near.result})),))
        return self.assigned((*far.before, *near.before, *steps(component, code), last), numbers, code)

    def layer(self, layer: DeepLayer, state: Sequence[Any], parameters: Mapping[str, Any]) -> tuple[Any, ...]:
        """K1, K2, C and Theta behind a layer, from those before it."""
        k1, k2, c, theta = state
        numbers: Numbers = {p.name: mp.mpf(parameters[p.name]) for p in layer.parameters}
        of_each = [{**numbers, K.name: kernel} for kernel in (k1, k2)]
        for of_one, symbols in zip(of_each, layer.symbols, strict=True):
            numbers |= {s.name: self.value(e, of_one) for s, e in zip(symbols, layer.own, strict=True)}
        numbers |= {K1.name: k1, K2.name: k2, C.name: c, Theta.name: theta}
        self.assigned((OfBothInputs((determinant,)),), numbers)
        kernels = (self.value(layer.kernels[0], of_one) for of_one in of_each)
        return *kernels, *(self.value(e, numbers) for e in (*layer.covariances, *layer.tangents))

    def assigned(self, program: Sequence[Step], numbers: Numbers, fit: Any = None) -> Any:
        """What the steps of a program do to numbers; what they return, if they do."""
        for step in program:
            match step:
                case Assignments():
                    for name, expr in step.results:
                        if expr.has(polynomial):
                            numbers[polynomial.name] = _of_fit(fit, numbers["u"])
                        numbers[name] = self.value(expr, numbers)
                case Test():
                    numbers[step.symbol.name] = all(numbers[s.name] <= step.most for s in step.variables)
                case OfBothInputs():
                    numbers |= _of_both(*(numbers[s.name] for s in (K1, K2, C)))
                case WrittenSum():
                    self.assigned((Assignments(step.outside),), numbers)
                    numbers[step.name] = self._sum(step, numbers)
        return numbers.get("return")

    def _sum(self, total: WrittenSum, numbers: Numbers) -> Any:
        first, second, ease = (numbers[name] for name in total.ends)
        rule = nodes_and_weights(PLAIN if ease >= 1 else total.rule)
        width = second - first
        return width * mp.fsum(w * self.value(total.term, {**numbers, node: first + width * x}) for x, w in rule)

    def value(self, e: sp.Expr, numbers: Numbers) -> Any:
        """The number that a formula is."""
        if isinstance(e, sp.Symbol):
            return numbers[e if isinstance(e, sp.Dummy) else e.name]
        if e.is_number and not e.has(sp.Function, sp.nan, sp.oo):
            return mp.mpf(sp.N(e, mp.mp.dps + 5))
        if not e.args:
            return {sp.nan: mp.nan, sp.oo: mp.inf, -sp.oo: -mp.inf}[e]
        if isinstance(e, pr.Chosen):  # the one that is not chosen may have no number
            test, *choices = e.args
            return self.value(choices[0 if numbers[test.name] else 1], numbers)
        arguments = [self.value(a, numbers) for a in e.args]
        if isinstance(e, AppliedUndef):
            return self.component(self.components[e.func.__name__], arguments)
        if type(e) in MEANINGS:
            return MEANINGS[type(e)](*arguments)
        symbols = [sp.Dummy(real=True) for _ in arguments]
        definition = definition_of(e.func(*symbols))
        assert definition is not None, f"no meaning of {type(e).__name__}"
        return self.value(definition, dict(zip(symbols, arguments, strict=True)))


def _of_both(k1: Any, k2: Any, c: Any) -> Numbers:
    """Determinant, correlation and its complement."""
    squared, size = max(k1 * k2 - c * c, ZERO), mp.sqrt(k1) * mp.sqrt(k2)
    rho, sine = (c / size, mp.sqrt(squared) / size) if size else (ZERO, ONE)
    return {determinant.name: squared, correlation.name: rho, complement.name: sine}


def _of_fit(fit: Fit, u: Any) -> Any:
    """The polynomial of the piece in which u is; the last one keeps its value beyond."""
    u = min(u, mp.mpf(fit.edges[-1]))
    piece = max(i for i, edge in enumerate(fit.edges[:-1]) if edge <= u or i == 0)
    low, high = map(mp.mpf, fit.edges[piece : piece + 2])
    x = (2 * u - low - high) / (high - low)
    return mp.fsum(row[piece] * mp.chebyt(n, x) for n, row in enumerate(fit.table))
