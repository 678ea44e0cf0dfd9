"""A sympy expression compiled to a straight-line program over its distinct nodes.

The program runs on real balls (``arb``) and on complex ones (``acb``), for which every instruction honours the
``analytic`` flag of ``acb.integral``. Some sums are rewritten on the way, because they cancel or make balls overflow
although the function is harmless: ``log(1 + exp(u))``, ``c*exp(u) - c``, ``c - c*erf(u)``, ``c - c*tanh(u)**2``,
``c + c*tanh(u)``; quotients, roots, logarithms and inverse functions of sums of exponentials.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce

import sympy as sp
from flint import acb, arb, ctx, fmpq
from sympy.core.relational import Relational

from ...core.atoms import Enclosable, Opaque
from ...core.errors import DeclarationError
from ...core.symbols import z
from ...core.words import abbreviated
from ...core.work_budget import spend
from ...numerics.ball_functions import Ball, half_integer_power, integer_power, real_power
from ..companions import Log1p, Softplus, one_plus_exp
from ..function_record import cancelling, record_of
from ..removable import quotient_beside_zero
from .exponential_forms import HALF_LINE, TwoForms, exponential_forms, group_exponentials
from .far_form import FAR, by_half_angle, error_arguments, far_form, needs_far_form, scaled_tail

_SPARE = 12  # bits for each power of e that a ball is near 0: terms as large as z**-8 cancel
_MOST_SPARE = 2000  # bits, of places nearer to 0 than counts in any average
_FAR_TAIL = 100  # an argument of erfc from which exp(u**2)*erfc(u) is enclosed by D
_LONG = 512  # bits: beyond, a ball operation takes longer in proportion to them


def compile_ball(expr: sp.Expr, arguments: Sequence[sp.Symbol]) -> CompiledExpression:
    """Compile an expression for repeated evaluation.

    Args:
        expr: the expression.
        arguments: its free symbols, in the order in which the program takes their balls.

    Raises:
        DeclarationError: a free symbol that is no argument, or a function unknown here.
    """
    return _compiled(sp.sympify(expr), tuple(arguments))


class CompiledExpression:
    """A straight-line program: registers hold the arguments, then one ball per instruction.

    Args:
        expr: the expression.
        arguments: its free symbols in the order of the balls to come.
        far_forms: whether formulas of error functions are rewritten far out; False for what has been rewritten.
        half_lines: whether formulas of exponentials are rewritten on either side of 0; False likewise.
    """

    def __init__(
        self, expr: sp.Expr, arguments: Sequence[sp.Symbol], far_forms: bool = True, half_lines: bool = True
    ) -> None:
        self._expr = expr
        self._half_lines = half_lines
        self._far_forms = far_forms
        self._arguments = tuple(arguments)
        self._registers: dict[Hashable, int] = {symbol: i for i, symbol in enumerate(self._arguments)}
        self._instructions: list[tuple[Callable, Callable, tuple[int, ...]]] = []
        self._needs_complex = expr.has(sp.I)
        removable = far_forms and half_lines and self._arguments == (z,) and quotient_beside_zero(expr, z)
        if removable:
            beside = _BesideZero(expr, *removable)
            self._result = self._emit(("removable", expr), beside.real, beside.complex_, 0)
        else:
            self._result = self._visit(expr)

    def __call__(self, values: Sequence[Ball], analytic: bool = False) -> Ball:
        """Run on balls, in the current ``flint.ctx`` precision.

        Args:
            values: one arb or acb per argument.
            analytic: for acb: answer nan unless the function is analytic on the whole ball.
        """
        spend(len(self._instructions) * (1 + ctx.prec // _LONG))
        registers = list(values)
        append = registers.append
        if self._needs_complex or acb in map(type, values):
            for _, operation, operands in self._instructions:
                if len(operands) == 2:  # without a list of operands: this is called a million times
                    append(operation(analytic, registers[operands[0]], registers[operands[1]]))
                elif len(operands) == 1:
                    append(operation(analytic, registers[operands[0]]))
                else:
                    append(operation(analytic, *[registers[i] for i in operands]))
        else:
            for operation, _, operands in self._instructions:
                if len(operands) == 2:
                    append(operation(registers[operands[0]], registers[operands[1]]))
                elif len(operands) == 1:
                    append(operation(registers[operands[0]]))
                else:
                    append(operation(*[registers[i] for i in operands]))
        return registers[self._result]

    def _emit(self, key: Hashable, real: Callable, complex_: Callable, *operands: int) -> int:
        if key not in self._registers:
            self._instructions.append((real, complex_, operands))
            self._registers[key] = len(self._arguments) + len(self._instructions) - 1
        return self._registers[key]

    def _visit(self, node: sp.Basic) -> int:
        if node not in self._registers:
            self._registers[node] = self._lower(node)
        return self._registers[node]

    def _lower(self, node: sp.Basic) -> int:
        """The register of a node that has none yet: the first rule that knows it emits its instructions."""
        if isinstance(node, Enclosable):
            operands = map(self._visit, _operands(node))
            real = lambda *balls: node._ball([*map(_real_part, balls)], ctx.prec)  # noqa: E731
            return self._emit(("node", node), real, lambda analytic, *balls: real(*balls), *operands)
        if isinstance(node, sp.log) and (exponent := one_plus_exp(node.args[0])) is not None:
            return self._visit(Softplus(exponent))
        if self._far_forms and isinstance(node, sp.acos | sp.asin) and error_arguments(node):
            return self._visit(by_half_angle(node))
        if self._far_forms and isinstance(node, sp.Mul) and (scaled := scaled_tail(node)) is not None:
            return self._lower_scaled_tail(node, *scaled)
        if self._far_forms and needs_far_form(node):
            far_out = _far_out(node)
            return self._emit(("far out", node), far_out.real, far_out.complex_, self._visit(far_out.symbol))
        if self._half_lines and (exponential := exponential_forms(node)) is not None:
            function = _on_half_lines(exponential[1])
            return self._emit(("exponential", node), function.real, function.complex_, self._visit(exponential[0]))
        if isinstance(node, sp.Add):
            return self._lower_add(node)
        if isinstance(node, sp.Mul):
            return self._lower_product(node)
        if isinstance(node, sp.Pow):
            return self._power(node)
        terms = sp.Add.make_args(node.args[0]) if isinstance(node, sp.log) else ()
        # unless another term cancels the 1, as in 1 - tanh(u)**2 = sech(u)**2
        if sp.S.One in terms and all(partner != 1 for term in terms for partner, *_ in cancelling(term)):
            return self._visit(Log1p(node.args[0] - 1))
        if isinstance(node, sp.Piecewise):
            return self._lower_piecewise(node)
        record = record_of(node)
        if record is not None and record.ball is not None:
            arguments = [self._visit(a) for a in node.args]
            if isinstance(node, sp.Max | sp.Min):
                return self._fold(node, arguments, *record.ball)
            return self._emit((record.kind, *node.args), *record.ball, *arguments)
        if record is not None and record.definition is not None:
            return self._visit(record.definition(*node.args))
        if isinstance(node, sp.ComplexRootOf) and node.is_real:
            return self._emit(("root", node), lambda: _real_root(node), lambda analytic: acb(_real_root(node)))
        if not node.args and (constant := constant_ball(node)) is not None:
            return self._emit(("constant", node), constant, lambda analytic: acb(constant()))
        if isinstance(node, sp.Symbol):
            raise self._refused(f"no number for {node}", f"pass {node}=...")
        remedy = "use elementary functions, or derive the node from core.atoms.Enclosable"
        raise self._refused(f"{node.func.__name__} has no ball evaluation", remedy)

    def _refused(self, found: str, remedy: str) -> DeclarationError:
        return DeclarationError(f"the value of {abbreviated(self._expr, 80)}", found, remedy)

    def _fold(self, node: sp.Basic, operands: list[int], real: Callable, complex_: Callable | None = None) -> int:
        """The register of operands joined one by one; complex balls have the rule of real ones if there is no other."""
        complex_ = complex_ or (lambda analytic, a, b: real(a, b))
        total = operands[0]
        for count, operand in enumerate(operands[1:]):
            total = self._emit(("fold", node, count), real, complex_, total, operand)
        return total

    def _lower_product(self, node: sp.Mul) -> int:
        factors = group_exponentials(node.args) if self._half_lines else node.args
        return self._fold(node, [self._visit(a) for a in factors], operator.mul)

    def _lower_scaled_tail(self, node: sp.Mul, u: sp.Expr, far: sp.Expr) -> int:
        """The product as it is written, and far out the other form."""
        symbols = tuple(sorted(node.free_symbols, key=str))
        program = _compiled(far, symbols)

        def real(u: arb, direct: arb, *values: arb) -> Ball:
            return program(values) if u > _FAR_TAIL else direct

        def complex_(analytic: bool, u: Ball, direct: Ball, *values: Ball) -> Ball:
            return program(values, analytic) if acb(u).real > _FAR_TAIL else direct

        operands = [self._visit(u), self._lower_product(node), *map(self._visit, symbols)]
        return self._emit(("far tail", node), real, complex_, *operands)

    def _lower_add(self, node: sp.Add) -> int:
        """A sum, pairs of terms that cancel written without cancellation."""
        terms, registers = list(node.args), []
        for term in node.args:
            if term not in terms:
                continue
            for partner, coefficient, complement in cancelling(term):
                if partner in terms:
                    terms.remove(term)
                    terms.remove(partner)
                    factors = [self._visit(coefficient), self._visit(complement)]
                    registers.append(self._fold((complement, coefficient), factors, operator.mul))
                    break
        registers += [self._visit(term) for term in terms]
        return self._fold(node, registers, operator.add)

    def _power(self, node: sp.Pow) -> int:
        """A power: integers and halves have rules of their own, which keep the sign of wide balls."""
        key, base, exponent = ("power", node), self._visit(node.base), node.exp
        if exponent.is_Integer:
            return self._emit(key, *integer_power(int(exponent)), base)
        if exponent.is_Rational and exponent.q == 2:
            return self._emit(key, *half_integer_power(int(exponent.p)), base)
        complex_power = lambda analytic, x, y: acb(x).pow(y, analytic)  # noqa: E731
        return self._emit(key, real_power, complex_power, base, self._visit(exponent))

    def _lower_piecewise(self, node: sp.Piecewise) -> int:
        """The union of all branches that may hold on a real ball; on a complex one the branch that does, or nan."""
        operands = [self._visit(value) for value, _ in node.args]  # and after them what conditions need
        tests = [self._condition(condition, operands) for _, condition in node.args]

        def possible(balls: Sequence[arb]) -> Iterator[tuple[int, int]]:
            """The branches that hold, or may, up to the first that does."""
            for branch, test in enumerate(tests):
                if (verdict := test(balls)) >= 0:
                    yield branch, verdict
                if verdict > 0:
                    break

        def real(*balls: arb) -> arb:
            values = [balls[branch] for branch, _ in possible(balls)]
            return reduce(arb.union, values) if values else arb.nan()

        def complex_(analytic: bool, *balls: Ball) -> acb:
            branch, verdict = next(possible([acb(b).real for b in balls]), (0, 0))
            return acb(balls[branch] if verdict > 0 else arb.nan())

        return self._emit(("piecewise", node), real, complex_, *operands)

    def _condition(self, node: sp.Basic, operands: list[int]) -> Callable[[Sequence[arb]], int]:
        """A test on the balls of ``operands``, to which it appends what it needs: 1 holds, -1 does not, 0 is open."""
        if node in (sp.true, sp.false):
            verdict = 1 if node == sp.true else -1
            return lambda balls: verdict
        if isinstance(node, sp.Not | sp.And | sp.Or):
            inners = [self._condition(a, operands) for a in node.args]
            joined = _LOGIC[node.func]
            return lambda balls: joined([inner(balls) for inner in inners])
        if isinstance(node, Relational):
            difference, (holds, fails) = len(operands), _RELATIONS[node.rel_op]
            operands.append(self._visit(node.lhs - node.rhs))
            return lambda balls: bool(holds(balls[difference], 0)) - bool(fails(balls[difference], 0))
        raise self._refused(f"the condition {node}", "use inequalities between real formulas")


_compiled = lru_cache(maxsize=512)(CompiledExpression)


def _real_part(ball: Ball) -> arb:
    """The real part of what is real, though written with the imaginary unit; nan of what is not."""
    if type(ball) is not acb:
        return ball
    return ball.real if ball.imag.contains(0) else arb.nan()


class _OnHalfLines:
    """A function of u by its forms on both half-lines; of a ball around 0 the union of the values on its two halves.

    On a wide ball ``f(m) + (u - m)*f'(ball)`` has a bound where the argument of an arctangent surrounds branch points.
    """

    def __init__(self, forms: TwoForms) -> None:
        self._programs = [_compiled(form, HALF_LINE, True, False) for form in (forms.left, forms.right)]
        self._slope = None if forms.slope is None else _on_half_lines(forms.slope)

    def _on_side(self, analytic: bool, u: Ball, right: bool) -> Ball:
        v = -u if right else u
        return self._programs[right]([v, v.exp()], analytic)

    def _direct(self, analytic: bool, u: Ball) -> Ball:
        x = u.real if isinstance(u, acb) else u
        if not x.contains(0) or x.is_exact():
            return self._on_side(analytic, u, not x < 0)
        halves = x.lower().union(0), x.upper().union(0)
        left, right = (acb(half, u.imag) if isinstance(u, acb) else half for half in halves)
        return self._on_side(analytic, left, False).union(self._on_side(analytic, right, True))

    def real(self, u: arb) -> arb:
        """On a real ball."""
        return self._direct(False, u)

    def complex_(self, analytic: bool, u: Ball) -> acb:
        """On a complex ball."""
        u = acb(u)
        direct = acb(self._direct(analytic, u))
        if self._slope is None or direct.is_finite() or not u.is_finite():
            return direct
        middle = u.real.mid()
        return self.real(middle) + (u - middle) * self._slope.complex_(True, u.union(acb(middle)))


_on_half_lines = lru_cache(maxsize=512)(_OnHalfLines)


class _BesideZero:
    """A formula that is 0/0 at 0 as it is written; ``above/below`` holds its values on convex sets around 0."""

    def __init__(self, formula: sp.Expr, above: sp.Expr, below: sp.Expr) -> None:
        self._direct = CompiledExpression(formula, (z,), half_lines=False)
        self._above, self._below = (compile_ball(part, (z,)) for part in (above, below))

    def real(self, x: arb) -> arb:
        """On a real ball."""
        return self._tighter(False, x, arb(0))

    def complex_(self, analytic: bool, x: Ball) -> acb:
        """On a complex ball."""
        return self._tighter(analytic, acb(x), acb(0))

    def _tighter(self, analytic: bool, x: Ball, zero: Ball) -> Ball:
        """The value from the formula as it is written, with more bits where its terms cancel, or from the quotient."""
        nearest = x.abs_lower()
        lost = -_SPARE * math.log(float(nearest)) if 0 < nearest < 1 else 0
        with ctx.workprec(ctx.prec + min(int(lost), _MOST_SPARE)):
            direct = self._direct([x], analytic)
        if nearest > 1:
            return direct
        hull = x.union(zero)
        beside = self._above([hull], analytic) / self._below([hull], analytic)
        return beside if not direct.is_finite() or beside.rad() < direct.rad() else direct


class _FarOut:
    """A formula of error functions of one symbol, written as it is good for a ball of that symbol."""

    def __init__(self, node: sp.Expr) -> None:
        self._node = node
        (self.symbol,) = node.free_symbols
        self._arguments = [compile_ball(u, (self.symbol,)) for u in error_arguments(node)]

    def real(self, x: arb) -> arb:
        """On a real ball."""
        sides = tuple((u > FAR) - (u < -FAR) for u in (program([x]) for program in self._arguments))
        return self._program(sides, x)([x])

    def complex_(self, analytic: bool, x: Ball) -> Ball:
        """On a complex ball."""
        x = acb(x)
        arguments = [acb(program([x])) for program in self._arguments]
        inside = [u.imag.abs_upper() < u.real.abs_lower() for u in arguments]  # where D is bounded
        sides = tuple(((u.real > FAR) - (u.real < -FAR)) * near for u, near in zip(arguments, inside, strict=True))
        return self._program(sides, x.real)([x], analytic)

    def _program(self, sides: tuple[int, ...], x: arb) -> CompiledExpression:
        node = far_form(self._node, sides, (x > 0) - (x < 0)) if any(sides) else self._node
        return _compiled(node, (self.symbol,), False)


_far_out = lru_cache(maxsize=512)(_FarOut)


def constant_ball(node: sp.Basic) -> Callable[[], Ball] | None:
    """What makes the ball of a number in the current precision; None for what is no number that has a name."""
    if isinstance(node, sp.Integer):
        exact = arb(int(node))
        return lambda: exact
    if isinstance(node, sp.Rational):
        ratio = _ratio(node)
        return lambda: arb(ratio)
    if isinstance(node, sp.Float):
        value = from_binary_float(node._mpf_)
        return lambda: value
    return _CONSTANTS.get(node)


def _real_root(node: sp.ComplexRootOf) -> arb:
    """A real root of a polynomial, to the working precision."""
    width = abs(sp.Rational(node.n(5))) / 2**ctx.prec
    middle = node.eval_rational(width)
    return arb(_ratio(middle), arb(_ratio(width)))


def _ratio(number: sp.Rational) -> fmpq:
    return fmpq(int(number.p), int(number.q))


_CONSTANTS: Mapping[sp.Basic, Callable[[], Ball]] = {
    sp.pi: arb.pi,
    sp.E: arb.const_e,
    sp.EulerGamma: arb.const_euler,
    sp.Catalan: arb.const_catalan,
    sp.GoldenRatio: lambda: (1 + arb(5).sqrt()) / 2,
    sp.I: lambda: acb(0, 1),
    sp.oo: arb.pos_inf,
    sp.S.NegativeInfinity: arb.neg_inf,
    sp.nan: arb.nan,
    sp.zoo: arb.nan,
}


_RELATIONS = {
    ">": (operator.gt, operator.le),
    ">=": (operator.ge, operator.lt),
    "<": (operator.lt, operator.ge),
    "<=": (operator.le, operator.gt),
    "==": (operator.eq, operator.ne),
    "!=": (operator.ne, operator.eq),
}  # a comparison and its opposite: of balls both are false where it is not decided
_LOGIC: Mapping[type, Callable[[Sequence[int]], int]] = {sp.Not: lambda verdicts: -verdicts[0], sp.And: min, sp.Or: max}


@lru_cache(maxsize=4096)
def symbols_of(node: sp.Basic) -> frozenset[sp.Symbol]:
    """Symbols that need a value; an opaque node hides its bound variables."""
    return frozenset({node} if isinstance(node, sp.Symbol) else ()).union(*map(symbols_of, _operands(node)))


def _operands(node: sp.Basic) -> tuple[sp.Basic, ...]:
    if isinstance(node, sp.ComplexRootOf):  # a number: the variable of its polynomial needs no value
        return ()
    return node._ball_arguments if isinstance(node, Opaque) else node.args


def from_binary_float(mpf: tuple[int, int, int, int]) -> arb:
    """The exact ball of a binary floating point number in mpmath's raw form."""
    sign, mantissa, exponent, _ = mpf
    return arb((-int(mantissa) if sign else int(mantissa), int(exponent)))
