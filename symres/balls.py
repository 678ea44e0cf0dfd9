"""Ball arithmetic: rigorous evaluation of sympy expressions with python-flint.

A ball ``[m +/- r]`` contains the exact value of the expression for every point of the balls put in. An expression is
compiled once to a straight-line program over its distinct nodes; the program runs on real balls (``arb``) and on
complex ones (``acb``), for which every instruction honours the ``analytic`` flag of ``acb.integral``.

Some sums are rewritten on the way, because they cancel or make balls overflow although the function is harmless:
``log(1 + exp(u))``, ``1/(1 + exp(u))``, ``c*exp(u) - c``, ``c - c*erf(u)``, ``c - c*tanh(u)**2``, ``c + c*tanh(u)``.

A real formula is taken at its word: where a ball sticks out of the domain of a root or an inverse sine (``sqrt`` of
``0 +/- 1e-20``), only the part inside the domain can hold the true point, and only that part is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath
import sympy as sp
from flint import acb, arb, ctx, fmpq
from mpmath.libmp import from_man_exp
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanFalse, BooleanTrue

from .errors import DeclarationError, SymresError

Ball = Any  # arb or acb
Number = Any  # arb, int, Fraction, float, str, mpmath.mpf or a sympy number

GUARD = 16  # bits beyond the digits asked for, spent on ordinary rounding
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,18})?)(?:/(\d+))?")

DOUBLINGS = 5  # evaluate() gives up after this many doublings of the precision


# ---------------------------------------------------------------------------------------------------- entry points
def enclose(expr: sp.Expr, values: Mapping[sp.Symbol, Number], bits: int) -> arb:
    """Evaluate a real expression in ball arithmetic.

    Args:
        expr: the expression; nodes with a method ``_ball(arguments, bits)`` are asked for their own enclosure, of
            the arguments named by their ``_ball_arguments`` (default: all).
        values: a number for every free symbol. Floats are exact binary numbers, strings exact decimals or ratios.
        bits: working precision.

    Returns:
        A ball that contains the exact value; it may be infinite or nan where the function is.

    Raises:
        DeclarationError: a symbol without a value, a value that is no number, or a function unknown here.
    """
    expr = sp.sympify(expr)
    symbols = tuple(sorted(_free_symbols(expr), key=str))
    missing = [str(s) for s in symbols if s not in values]
    if missing:
        raise DeclarationError(
            f"the value of {_short(expr)}",
            f"no number for {', '.join(missing)}",
            "pass " + ", ".join(f"{name}=..." for name in missing),
        )
    with ctx.workprec(bits):
        result = compile_ball(expr, symbols)([to_ball(values[s], bits) for s in symbols])
    if not isinstance(result, acb):
        return result
    if result.imag.contains(0):  # the formula is real, its pieces (sin x step: erf of a complex number) are not
        return result.real
    raise DeclarationError(f"the value of {_short(expr)}", "it is not real", "use the formula inside its real domain")


@lru_cache(maxsize=512)
def compile_ball(expr: sp.Expr, arguments: tuple[sp.Symbol, ...]) -> Program:
    """Compile an expression for repeated evaluation.

    Args:
        expr: the expression.
        arguments: its free symbols, in the order in which the program takes their balls.

    Raises:
        DeclarationError: a free symbol that is no argument, or a function unknown here.
    """
    return Program(sp.sympify(expr), arguments)


def evaluate(expr: sp.Expr, values: Mapping[sp.Symbol, Number], digits: int = 15) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Evaluate to a relative accuracy, raising the working precision as far as needed.

    Args:
        expr: the expression.
        values: a number for every free symbol.
        digits: decimal digits asked for.

    Returns:
        (value, radius): the exact value lies within ``value +/- radius`` and ``radius <= 10**-digits * abs(value)``.
        A value that stays indistinguishable from zero is returned as 0 with the radius reached.

    Raises:
        SymresError: the value is not finite, or the accuracy was out of reach.
    """
    bits = first = int(digits * 3.3219281) + 1 + GUARD
    for attempt in range(DOUBLINGS):
        ball = enclose(expr, values, bits)
        if ball.is_finite():
            value, radius = _mpf(ball.mid()), _mpf(ball.rad())
            if radius <= abs(value) / mpmath.mpf(10) ** digits:
                return value, radius
            # Cancellation by 3*first bits beyond the digits asked for is a zero in all but proof.
            if attempt >= 2 and ball.contains(0) and ball.abs_upper() < arb(2) ** (-3 * first):
                return mpmath.mpf(0), _mpf(ball.abs_upper())
        bits *= 2
    found = "it is not finite" if not ball.is_finite() else f"{bits // 2} bits only give {ball.str(5)}"
    raise SymresError(f"{digits} digits of {_short(expr)}", found, "ask for fewer digits or check the values")


def to_ball(value: Number, bits: int) -> Ball:
    """A ball around a number: floats are exact binary numbers, strings exact decimals or ratios.

    Raises:
        DeclarationError: the value is no finite real number.
    """
    with ctx.workprec(bits):
        if isinstance(value, arb | acb):
            return value
        if isinstance(value, bool):
            raise DeclarationError(f"the value {value}", "it is a truth value", "pass a number")
        if isinstance(value, str):
            return _parse(value)
        if isinstance(value, int):
            return arb(value)
        if isinstance(value, Fraction):
            return arb(fmpq(value.numerator, value.denominator))
        if isinstance(value, float):
            value = mpmath.mpf(value)
        if isinstance(value, mpmath.mpf) and mpmath.isfinite(value):
            return _binary(value._mpf_)
        try:
            value = sp.sympify(value)
        except (TypeError, ValueError, sp.SympifyError):
            value = sp.nan
        if not isinstance(value, sp.Expr) or value.free_symbols or value.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
            raise DeclarationError(f"the value {value!r}", "it is no finite number", "pass a number")
        return enclose(value, {}, bits)


def _parse(text: str) -> arb:
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise DeclarationError(
            f"the value {text!r}", "it is no number", "write a decimal such as 0.1 or a ratio such as 1/3"
        )
    numerator, denominator = match.groups()
    return arb(numerator) / arb(denominator or 1)  # flint's parser, not Fraction: 1e-999999999 must not fill the memory


def _binary(mpf: tuple[int, int, int, int]) -> arb:
    sign, mantissa, exponent, _ = mpf
    return arb((-int(mantissa) if sign else int(mantissa), int(exponent)))


def _mpf(ball: arb) -> mpmath.mpf:
    mantissa, exponent = ball.man_exp()
    return mpmath.mp.make_mpf(from_man_exp(int(mantissa), int(exponent)))


def _short(expr: sp.Expr) -> str:
    text = str(expr)
    return text if len(text) <= 80 else text[:77] + "..."


def _free_symbols(expr: sp.Basic) -> set[sp.Symbol]:
    """Symbols that need a value; a node with ``_ball_arguments`` hides its bound variables."""
    found, seen, stack = set(), set(), [expr]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, sp.Symbol):
            found.add(node)
        stack.extend(_operands(node))
    return found


def _operands(node: sp.Basic) -> tuple[sp.Basic, ...]:
    return getattr(node, "_ball_arguments", node.args)


# ---------------------------------------------------------------------------------------------------- the program
class Program:
    """A straight-line program: registers hold the arguments, then one ball per instruction.

    Args:
        expr: the expression.
        arguments: its free symbols in the order of the balls to come.
    """

    def __init__(self, expr: sp.Expr, arguments: Sequence[sp.Symbol]) -> None:
        self._expr = expr
        self._arguments = tuple(arguments)
        self._registers: dict[Any, int] = {symbol: i for i, symbol in enumerate(self._arguments)}
        self._instructions: list[tuple[Callable, Callable, tuple[int, ...]]] = []
        self._needs_complex = expr.has(sp.I)
        self._result = self._visit(expr)

    def __call__(self, values: Sequence[Ball], analytic: bool = False) -> Ball:
        """Run on balls, in the current ``flint.ctx`` precision.

        Args:
            values: one arb or acb per argument.
            analytic: for acb: answer nan unless the function is analytic on the whole ball.
        """
        registers = list(values)
        complex_ = self._needs_complex
        for value in values:
            complex_ = complex_ or type(value) is acb
        if complex_:
            for _, operation, operands in self._instructions:
                registers.append(operation(analytic, *[registers[i] for i in operands]))
        else:
            for operation, _, operands in self._instructions:
                registers.append(operation(*[registers[i] for i in operands]))
        return registers[self._result]

    def _emit(self, key: Any, real: Callable, complex_: Callable, *operands: int) -> int:
        if key not in self._registers:
            self._instructions.append((real, complex_, operands))
            self._registers[key] = len(self._arguments) + len(self._instructions) - 1
        return self._registers[key]

    def _call(self, name: str, *nodes: sp.Expr) -> int:
        """A function of the table below, of sub-expressions."""
        return self._emit((name, *nodes), *_FUNCTIONS[name], *map(self._visit, nodes))

    def _visit(self, node: sp.Basic) -> int:
        if node not in self._registers:
            self._registers[node] = self._lower(node)
        return self._registers[node]

    def _lower(self, node: sp.Basic) -> int:
        if hasattr(node, "_ball"):
            operands = tuple(map(self._visit, _operands(node)))
            real = lambda *balls: node._ball(list(balls), ctx.prec)  # noqa: E731
            return self._emit(("node", node), real, lambda analytic, *balls: real(*balls), *operands)
        if isinstance(node, sp.Add):
            return self._lower_add(node)
        if isinstance(node, sp.Mul):
            return self._fold(node, [self._visit(a) for a in node.args], lambda a, b: a * b)
        if isinstance(node, sp.Pow):
            return self._lower_power(*node.as_base_exp())
        if isinstance(node, sp.log) and (exponent := _one_plus_exp(node.args[0])) is not None:
            return self._call("softplus", exponent)
        if isinstance(node, sp.log) and isinstance(node.args[0], sp.Add) and sp.S.One in node.args[0].args:
            return self._call("log1p", node.args[0] - 1)
        if isinstance(node, sp.Heaviside):
            return self._emit(("heaviside", node), *_FUNCTIONS["heaviside"], *map(self._visit, node.args))
        if isinstance(node, sp.Max | sp.Min):
            name = "max" if isinstance(node, sp.Max) else "min"
            return self._fold(node, [self._visit(a) for a in node.args], *_FUNCTIONS[name])
        if isinstance(node, sp.Piecewise):
            return self._lower_piecewise(node)
        if node.func.__name__ in _FUNCTIONS and node.args and not isinstance(node, Relational):
            return self._call(node.func.__name__, *node.args)
        if not node.args and (constant := _constant(node)) is not None:
            return self._emit(("constant", node), constant, lambda analytic: acb(constant()))
        if isinstance(node, sp.Symbol):
            raise DeclarationError(f"the value of {_short(self._expr)}", f"no number for {node}", f"pass {node}=...")
        raise DeclarationError(
            f"the value of {_short(self._expr)}",
            f"{node.func.__name__} has no ball evaluation",
            "use elementary functions, or give the node a method _ball(arguments, bits)",
        )

    def _fold(self, node: sp.Basic, operands: list[int], real: Callable, complex_: Callable | None = None) -> int:
        complex_ = complex_ or (lambda analytic, a, b: real(a, b))
        total, *rest = operands
        for place, operand in enumerate(rest):
            total = self._emit(("fold", node, place), real, complex_, total, operand)
        return total

    def _lower_add(self, node: sp.Add) -> int:
        terms, registers = list(node.args), []
        for term in node.args:
            if term not in terms:
                continue
            for partner, coefficient, name, argument in _cancelling(term):
                if partner in terms:
                    terms.remove(term)
                    terms.remove(partner)
                    value = self._call(name, argument)
                    factor = self._visit(coefficient)
                    registers.append(self._fold((name, argument, coefficient), [factor, value], lambda a, b: a * b))
                    break
        registers += [self._visit(term) for term in terms]
        return self._fold(node, registers, lambda a, b: a + b)

    def _lower_power(self, base: sp.Expr, exponent: sp.Expr) -> int:
        if base is sp.S.Exp1:
            return self._call("exp", exponent)
        inner = _one_plus_exp(base)
        if inner is not None and exponent.is_Integer and exponent.is_negative:
            return self._power(self._call("logistic", inner), -exponent, (base, exponent))
        if isinstance(base, sp.cosh) and exponent.is_Integer and exponent.is_negative:
            return self._power(self._call("sech", base.args[0]), -exponent, (base, exponent))
        return self._power(self._visit(base), exponent, (base, exponent))

    def _power(self, base: int, exponent: sp.Expr, key: Any) -> int:
        if exponent == 1:
            return base
        if exponent.is_Integer:
            power = int(exponent)
            return self._emit(("power", key), _integer_power(power), lambda a, x: x**power, base)
        if exponent.is_Rational and exponent.q == 2:
            real, complex_ = _half_integer_power(int(exponent.p))
            return self._emit(("power", key), real, complex_, base)
        return self._emit(
            ("power", key), _real_power, lambda analytic, x, y: acb(x).pow(y, analytic), base, self._visit(exponent)
        )

    def _lower_piecewise(self, node: sp.Piecewise) -> int:
        operands, tests = [], []
        for value, condition in node.args:
            operands.append(self._visit(value))
            tests.append(self._condition(condition, operands))
        first = [operands.index(self._visit(value)) for value, _ in node.args]

        def real(*balls: arb) -> arb:
            result = None
            for place, test in zip(first, tests, strict=True):
                verdict = test(balls)
                if verdict is not False:
                    result = balls[place] if result is None else result.union(balls[place])
                if verdict is True:
                    break
            return arb.nan() if result is None else result

        def complex_(analytic: bool, *balls: Ball) -> acb:
            for place, test in zip(first, tests, strict=True):
                verdict = test([acb(b).real for b in balls])
                if verdict is True:
                    return acb(balls[place])
                if verdict is None:
                    break
            return acb(arb.nan())

        return self._emit(("piecewise", node), real, complex_, *operands)

    def _condition(self, node: sp.Basic, operands: list[int]) -> Callable[[Sequence[arb]], bool | None]:
        """A three-valued test on the balls of ``operands``, to which it appends what it needs."""
        if isinstance(node, BooleanTrue | BooleanFalse):
            answer = bool(node)
            return lambda balls: answer
        if isinstance(node, sp.Not):
            inner = self._condition(node.args[0], operands)
            return lambda balls: None if (v := inner(balls)) is None else not v
        if isinstance(node, sp.And | sp.Or):
            inners = [self._condition(a, operands) for a in node.args]
            decisive = isinstance(node, sp.Or)

            def combined(balls: Sequence[arb]) -> bool | None:
                verdicts = [inner(balls) for inner in inners]
                if decisive in verdicts:
                    return decisive
                return None if None in verdicts else not decisive

            return combined
        if isinstance(node, Relational):
            place = len(operands)
            operands.append(self._visit(node.lhs - node.rhs))
            return lambda balls: _compare(node.rel_op, balls[place])
        raise DeclarationError(
            f"the value of {_short(self._expr)}", f"the condition {node}", "use inequalities between real formulas"
        )


def _one_plus_exp(node: sp.Basic) -> sp.Expr | None:
    """The exponent u of ``1 + exp(u)``, else None."""
    if isinstance(node, sp.Add) and len(node.args) == 2 and sp.S.One in node.args:
        (other,) = (a for a in node.args if a != 1)
        if isinstance(other, sp.exp) and not other.has(sp.I):
            return other.args[0]
    return None


def _cancelling(term: sp.Expr) -> list[tuple[sp.Expr, sp.Expr, str, sp.Expr]]:
    """(partner, coefficient, function, argument): term + partner = coefficient*function(argument)."""
    found = []
    for factor in sp.Mul.make_args(term):
        base, exponent = (factor, 1) if isinstance(factor, sp.exp) else factor.as_base_exp()
        if not isinstance(base, sp.exp | sp.erf | sp.tanh) or base.has(sp.I):
            continue
        rest, u = term / factor, base.args[0]
        if isinstance(base, sp.exp):
            found.append((-rest, rest, "expm1", u))
        elif isinstance(base, sp.erf) and exponent == 1:
            found += [(-rest, -rest, "erfc", u), (rest, rest, "erfc", -u)]
        elif isinstance(base, sp.tanh) and exponent == 1:
            found += [(-rest, -2 * rest, "logistic", 2 * u), (rest, 2 * rest, "logistic", -2 * u)]
        elif isinstance(base, sp.tanh) and exponent == 2:
            found.append((-rest, -rest, "sech_squared", u))
    return found


def _constant(node: sp.Basic) -> Callable[[], Ball] | None:
    if isinstance(node, sp.Integer):
        exact = arb(int(node))
        return lambda: exact
    if isinstance(node, sp.Rational):
        ratio = fmpq(int(node.p), int(node.q))
        return lambda: arb(ratio)
    if isinstance(node, sp.Float):
        binary = _binary(node._mpf_)
        return lambda: binary
    return _CONSTANTS.get(node)


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


def _compare(relation: str, difference: arb) -> bool | None:
    """Whether ``difference relation 0`` holds: True, False, or None if the ball does not decide."""
    if difference.is_nan():
        return None
    positive, negative, zero = difference > 0, difference < 0, difference.is_zero()
    if relation in ("==", "!="):
        answer = True if zero else False if positive or negative else None
        return answer if relation == "==" or answer is None else not answer
    if relation in ("<", "<="):
        positive, negative = negative, positive
    if positive:
        return True
    if zero:
        return relation in (">=", "<=")
    if negative or (relation in (">", "<") and _one_sided(difference, relation)):
        return False
    return True if relation in (">=", "<=") and _one_sided(-difference, relation) else None


def _one_sided(difference: arb, relation: str) -> bool:
    return bool(difference <= 0 if relation in (">", ">=") else difference >= 0)


# ---------------------------------------------------------------------------------------------------- the functions
def _restricted(function: Callable[[arb], arb], low: arb | int | None, high: arb | int | None) -> Callable[[arb], arb]:
    """A monotone real function, on the part of a ball inside its domain [low, high]; wide balls by their ends."""

    def restricted(x: arb) -> arb:
        result = function(x)
        if result.is_finite() or not x.is_finite():
            return result
        left, right = x.lower(), x.upper()
        if (low is not None and right < low) or (high is not None and left > high):
            return result
        left = arb(low) if low is not None and left < low else left
        right = arb(high) if high is not None and right > high else right
        return function(left).union(function(right))

    return restricted


_sqrt = _restricted(arb.sqrt, 0, None)


def _integer_power(power: int) -> Callable[[arb], arb]:
    if power == 2:
        return lambda x: x * x if not x.contains(0) else abs(x) * abs(x)
    if power == -1:
        return lambda x: 1 / x
    if power % 2:
        return lambda x: x**power
    return lambda x: abs(x) ** power  # the square of a ball around 0 is not negative


def _half_integer_power(numerator: int) -> tuple[Callable, Callable]:
    if numerator == 1:
        return _sqrt, lambda analytic, x: acb(x).sqrt(analytic)
    if numerator < 0:
        return lambda x: x.rsqrt() ** -numerator, lambda analytic, x: acb(x).rsqrt(analytic) ** -numerator
    return lambda x: _sqrt(x) ** numerator, lambda analytic, x: acb(x).sqrt(analytic) ** numerator


def _real_power(x: arb, y: arb) -> arb:
    result = x**y
    if result.is_finite() or not y > 0 or x < 0 or not x.is_finite():
        return result
    return arb(0).union(x.upper() ** y)  # increasing in x from 0


def _softplus(u: arb) -> arb:
    """log(1 + exp(u)); increasing, so a wide ball is enclosed by its two ends."""
    if u.rad() > 0.01:
        return _softplus(u.lower()).union(_softplus(u.upper()))
    return u + (-u).exp().log1p() if u > 0 else u.exp().log1p()


def _complex_softplus(analytic: bool, u: acb) -> acb:
    # The principal logarithm jumps at Im u = pi for Re u > 0, the function continued from the real line does not.
    u = acb(u)
    if u.real > 0:
        return u + (-u).exp().log1p()
    return _cut(acb.log1p, lambda w: w.real < -1)(analytic, u.exp())


def _logistic(u: arb) -> arb:
    """1/(1 + exp(u)), decreasing."""
    if u.rad() > 0.01:
        return _logistic(u.lower()).union(_logistic(u.upper()))
    return 1 / (1 + u.exp())


def _complex_logistic(analytic: bool, u: acb) -> acb:
    u = acb(u)
    if u.real > 0:  # exp(u) of a wide ball surrounds -1, exp(-u) does not
        decay = (-u).exp()
        return decay / (1 + decay)
    return 1 / (1 + u.exp())


def _cut(function: Callable[[acb], acb], on_cut: Callable[[acb], Any]) -> Callable[[bool, acb], acb]:
    """A complex function with branch cuts on the real line; ``on_cut`` may be true only where it is not analytic.

    It is given the real ends of the ball, one after the other.
    """

    def guarded(analytic: bool, x: acb) -> acb:
        x = acb(x)
        if analytic and x.imag.contains(0) and (on_cut(acb(x.real.lower())) or on_cut(acb(x.real.upper()))):
            return acb(arb.nan())
        return function(x)

    return guarded


def _turned(function: Callable[[bool, acb], acb]) -> Callable[[bool, acb], acb]:
    """A cut on the real line turned onto the imaginary one."""
    return lambda analytic, x: -acb(0, 1) * function(analytic, acb(0, 1) * acb(x))


def _same(name: str) -> tuple[Callable, Callable]:
    real, complex_ = getattr(arb, name), getattr(acb, name)
    return real, lambda analytic, x: complex_(acb(x))


def _sech(x: arb) -> arb:
    """1/cosh(x), decreasing in |x|."""
    if x.rad() > 0.01:
        return _sech(x.abs_lower()).union(_sech(x.abs_upper()))
    return x.sech()


def _heaviside(x: arb, at_zero: arb) -> arb:
    if x > 0:
        return arb(1)
    if x < 0:
        return arb(0)
    return at_zero if x.is_zero() else arb(0).union(1).union(at_zero)


def _real_only(real: Callable) -> Callable:
    """Constant or selecting functions of acb, usable where the real parts decide."""

    def guarded(analytic: bool, *values: Ball) -> acb:
        values = tuple(acb(v) for v in values)
        if analytic or not all(v.imag.is_zero() for v in values):
            return acb(arb.nan())
        return acb(real(*(v.real for v in values)))

    return guarded


_outside = lambda w: abs(w.real) >= 1  # noqa: E731
_atanh = _cut(acb.atanh, _outside)

_asinh = _turned(_cut(acb.asin, _outside))


def _complex_asinh(analytic: bool, x: acb) -> acb:
    x = acb(x)
    if x.real < -1:
        return -_complex_asinh(analytic, -x)
    if x.real > 1:  # a wide ball far from 0: 1 + x**2 may surround 0, 1 + x**-2 does not
        return x.log() + (1 + 1 / (x * x)).sqrt(analytic).log1p()
    return _asinh(analytic, x)


_FUNCTIONS: Mapping[str, tuple[Callable, Callable]] = {
    **{
        name: _same(name)
        for name in ["exp", "expm1", "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "coth", "csch", "erfi"]
    },
    "sech": (_sech, lambda analytic, x: acb(x).sech()),
    **{
        name: (_restricted(getattr(arb, name), None, None), _same(name)[1])  # monotone
        for name in ("tanh", "erf", "erfc")
    },
    "log": (arb.log, lambda analytic, x: acb(x).log(analytic)),
    "log1p": (arb.log1p, _cut(acb.log1p, lambda w: w.real <= -1)),
    "softplus": (_softplus, _complex_softplus),
    "logistic": (_logistic, _complex_logistic),
    "sech_squared": (lambda x: _sech(x) ** 2, lambda analytic, x: acb(x).sech() ** 2),
    "asin": (_restricted(arb.asin, -1, 1), _cut(acb.asin, _outside)),
    "acos": (_restricted(arb.acos, -1, 1), _cut(acb.acos, _outside)),
    "atan": (arb.atan, _turned(_atanh)),
    "asinh": (_restricted(arb.asinh, None, None), _complex_asinh),
    "acosh": (_restricted(arb.acosh, 1, None), _cut(acb.acosh, lambda w: w.real <= 1)),
    "atanh": (_restricted(arb.atanh, None, None), _atanh),
    "gamma": _same("gamma"),
    "atan2": (arb.atan2, _real_only(arb.atan2)),
    "Abs": (abs, lambda analytic, x: acb(x).real_abs(analytic)),
    "sign": (arb.sgn, lambda analytic, x: acb(x).real_sgn(analytic)),
    "heaviside": (_heaviside, _real_only(_heaviside)),
    "max": (arb.max, lambda analytic, x, y: acb(x).real_max(acb(y), analytic)),
    "min": (arb.min, lambda analytic, x, y: acb(x).real_min(acb(y), analytic)),
    "erfinv": (arb.erfinv, _real_only(arb.erfinv)),
    "erfcinv": (arb.erfcinv, _real_only(arb.erfcinv)),
}
