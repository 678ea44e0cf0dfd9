"""The critical conditions K' = K, chi_parallel = 1, chi_perp = 1, solved for the variances of weights and biases.

Biases may stand inside of the averages, all over one inner variance, as in blocks of several Dense and in GLU. With the
inner variance S_in = a + b C_b in the place of C_b the susceptibilities do not depend on K, and K' is linear in K:
critical points and lines are roots of functions of S_in alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import C_W, C_b, K, S_in
from ...functions.balls import enclose
from ...functions.roots.root import ImplicitNumber
from ...gaussian.algebra.canonical import canonical
from ...gaussian.calculus.expectation import Expectation
from ...notation.shortest import tidy_factors
from ...results.quantity import Quantity
from ..quantities.closed_forms import closed
from .parameter_effects import ONE, Unit, at_generic, unit_of

Maps = tuple[Quantity, Quantity, Quantity]  # kernel_map, chi_parallel, chi_perp

_BITS = 60
_DIGITS, _REAL = 30, 1e-20  # of a root, and how small its imaginary part is if there is none
_DEPTHS = (1, 2, 3, 4)  # how many Dense may stand one inside the other
_APART = (sp.Rational(4, 5), sp.Rational(13, 7))


@dataclass(frozen=True)
class Conditions:
    """The critical conditions of a layer that is affine in C_W and in C_b.

        chi_perp = p0 + p1 C_W = 1,    chi_parallel = q0 + q1 C_W = 1,    K' = k0 + k1 C_b = K

    All are functions of one ``variable``: the kernel K, the kernel k in units, or the variance S_in inside of averages.
    """

    C_W: sp.Expr  # the solution, with ``numbers`` standing for functions of the variable alone
    C_b: sp.Expr
    numbers: dict[sp.Symbol, sp.Expr]  # {stand-in: function}: parameters then factor visibly, (1 - gamma**2)*number
    gap: sp.Expr  # it vanishes where both susceptibilities can be 1 together
    unit: Unit = ONE  # of kernels, 1 unless the variable is k
    variable: sp.Symbol = K
    kernel: sp.Expr = K  # of the stream

    def kernel_at(self, value: sp.Expr, exact: bool) -> sp.Expr:
        """The kernel of the stream where the variable has a value."""
        return value * self.unit.kernel if self.variable != S_in else self.at(self.kernel, value, exact)

    def at(self, solution: sp.Expr, value: sp.Expr, exact: bool) -> sp.Expr:
        """A solution at one value of the variable: functions of it in canonical form where they are closed."""
        values = {s: f.subs(self.variable, value) for s, f in self.numbers.items()}
        closed_forms = {s: canonical(e) for s, e in values.items() if exact and not e.has(ImplicitNumber)}
        return tidy_factors(solution.subs(self.variable, value).xreplace(values | closed_forms))


@dataclass(frozen=True)
class NoConditions:
    """That the critical conditions cannot be solved for C_W and C_b in this form."""

    reason: str
    asks_for_numbers: bool = False  # whether the reason names parameters, with which numbers would help


def conditions_of(maps: Maps) -> Conditions | NoConditions:
    """C_W and C_b of every kernel from chi_perp = 1 and K' = K, which are linear in them; or why there is no such form.

    What remains is one condition on K, ``gap = 0``. A parameter that only sets the unit of kernels leaves it.
    """
    kernel_map, parallel, perp = maps
    if C_b not in (*kernel_map.symbols, *kernel_map.unused):
        return NoConditions("C_b has a value")
    in_weight = [affine(expression_of(q), C_W) for q in (perp, parallel)]
    in_bias = affine(expression_of(kernel_map), C_b)
    pairs = [pair for pair in (*in_weight, in_bias) if pair is not None and pair[1] != 0]
    if len(pairs) < 3 or any(e.has(C_b) for pair in pairs for e in pair):
        return NoConditions("the maps are not linear in C_W and C_b")
    (p0, p1), (q0, q1), (k0, k1) = pairs
    gap = gap_of((p0, p1), (q0, q1), K)
    unit = ONE
    if gap.free_symbols - {K}:
        if canonical(sp.expand(gap)) == 0:
            gap = sp.Integer(0)
        elif (scale := unit_of(gap)) is not None and _measured_in(scale, (p0, p1), (k0, k1)):
            unit, gap = scale, scale.measured(gap)
        else:
            names = ", ".join(sorted(s.name for s in gap.free_symbols - {K}))
            return NoConditions(f"the condition on K contains {names}; set numbers for them", asks_for_numbers=True)
    numbers: dict[sp.Symbol, sp.Expr] = {}
    offset, slope = affine(k0, C_W) or (k0, sp.Integer(0))
    weight = (1 - p0) / stand_in(p1, unit, numbers)
    excess = (K - offset).subs(K, unit.variable * unit.kernel)
    bias = _grouped(sp.factor((excess - stand_in(slope, unit, numbers) * weight) / k1), {unit.variable, *numbers})
    return Conditions(weight, bias, numbers, gap, unit, unit.variable, unit.variable * unit.kernel)


def gap_of(perp: tuple[sp.Expr, sp.Expr], parallel: tuple[sp.Expr, sp.Expr], variable: sp.Symbol) -> sp.Expr:
    """The function that vanishes where ``p0 + p1*w = 1`` and ``q0 + q1*w = 1`` have the same solution w.

    Factors that do not have the variable, K or another variance, are left out.
    """
    (p0, p1), (q0, q1) = perp, parallel
    # with equal skip parts the parameters drop out
    gap = canonical(q1 - p1) if sp.expand(p0 - q0) == 0 else canonical((1 - p0) * q1 - (1 - q0) * p1)
    gap = _separated(gap, variable)[1]
    return _separated(sp.factor(gap), variable)[1] if gap.free_symbols - {variable} else gap


def stand_in(
    expression: sp.Expr, unit: Unit, numbers: dict[sp.Symbol, sp.Expr], inside: sp.Symbol | None = None
) -> sp.Expr:
    """The expression with a symbol in the place of the factor that depends on the kernel, or on ``inside``, alone.

    The symbol and its meaning are added to ``numbers``; ``unit`` is that of the kernel.
    """
    coefficient, function = _separated(expression, inside or K)
    if inside is None:
        coefficient, function = unit.split(coefficient, function)
    if function.free_symbols != {inside or unit.variable}:
        return coefficient * function
    name = sp.Dummy("number", real=True)
    numbers[name] = function
    return coefficient * name


def _measured_in(unit: Unit, perp: tuple[sp.Expr, sp.Expr], kernel_map: tuple[sp.Expr, sp.Expr]) -> bool:
    """Whether C_W and C_b are powers of the parameter times functions of the kernel in units: one sign for all."""
    (p0, p1), (k0, k1) = perp, kernel_map
    offset, slope = affine(k0, C_W) or (k0, sp.nan)
    if {unit.parameter, K} & (p0.free_symbols | k1.free_symbols | sp.cancel(offset / K).free_symbols):
        return False
    powers = []
    for coefficient, function in (_separated(e, K) for e in (p1, slope)):
        weight = unit.weight(function)
        if weight is None:
            return False
        powers.append(weight * coefficient.as_independent(unit.parameter, as_Add=False)[1])
    return sp.powsimp(powers[1] / powers[0] / unit.kernel) == 1


def _separated(expression: sp.Expr, variable: sp.Symbol) -> tuple[sp.Expr, sp.Expr]:
    """A common factor of parameters alone, such as xi**2, and the rest, which has the variable."""
    return sp.factor_terms(expression).as_independent(variable, as_Add=False)


def _grouped(product: sp.Expr, kernels: set[sp.Symbol]) -> sp.Expr:
    """The factors in parameters alone multiplied out: (1 - gamma**2) instead of -(gamma - 1)*(gamma + 1)."""
    parameters = [f for f in sp.Mul.make_args(product) if not f.free_symbols & kernels]
    varying = [f for f in sp.Mul.make_args(product) if f.free_symbols & kernels]
    return sp.Mul(*varying) * sp.factor_terms(sp.expand(sp.Mul(*parameters)))


def affine(expression: sp.Expr, s: sp.Symbol) -> tuple[sp.Expr, sp.Expr] | None:
    """``(a, b)`` of an expression ``a + b*s``, None if it is no such expression."""
    slope = expression.diff(s) if expression.has(s) else sp.Integer(0)
    if slope.has(s):
        if _varies(slope, s):
            return None
        slope = sp.expand(slope)
        if slope.has(s):
            return None
    return expression.subs(s, 0), slope


def _varies(expression: sp.Expr, s: sp.Symbol) -> bool:
    """Whether numbers show that an expression depends on a symbol: expanding a large one could take minutes."""
    others = {t: sp.Rational(7 + k, 10) for k, t in enumerate(sorted(expression.free_symbols - {s}, key=str))}
    try:
        one, other = (enclose(expression.subs({**others, s: value}), {}, _BITS) for value in _APART)
    except SymresError:
        return False
    return not one.overlaps(other)


def power_form(chi: sp.Expr) -> tuple[int, sp.Expr, sp.Expr] | None:
    """``(n, p, q)`` of an expression ``p + q*C_W**n``, None if it is no such expression."""
    alone = chi.subs(C_W, 0)
    varying = sp.expand(chi - alone)
    slopes = ((n, sp.expand(varying / C_W**n)) for n in _DEPTHS)
    return next(((n, alone, slope) for n, slope in slopes if not slope.has(C_W)), None)


def positive_root(value: sp.Expr, coefficient: sp.Expr, n: int) -> sp.Expr:
    """The positive w of ``coefficient*w**n = value``, with common factors such as xi**2 outside of the root."""
    parts = [factor ** sp.Rational(1, n) for factor in sp.Mul.make_args(sp.factor_terms(coefficient))]
    return sp.factor_terms(value) ** sp.Rational(1, n) / sp.Mul(*parts)


def solved(equation: sp.Expr) -> list[sp.Expr]:
    """The solutions for C_W; of p + q*C_W^n = 0 the positive one, as (1 - gamma**2)/number rather than expanded."""
    if not equation.has(C_W):
        return []
    form = power_form(sp.expand(equation))
    if form is not None:
        return [sp.factor_terms(positive_root(-form[1], form[2], form[0]))]
    return [sp.factor_terms(w) for w in sp.solve(equation, C_W) if _is_real(w)]


def _is_real(solution: sp.Expr) -> bool:
    """Whether a formula with roots is real at generic parameters: those of a cubic equation show no assumption."""
    if not solution.has(sp.I):
        return True
    _, imaginary = sp.N(at_generic(solution), _DIGITS).as_real_imag()
    return bool(abs(imaginary) < _REAL)


def expression_of(quantity: Quantity) -> sp.Expr:
    """The expression of a quantity that is known."""
    expr = quantity.expr
    assert expr is not None
    return expr


@dataclass(frozen=True)
class Nested:
    """The maps of a layer with one inner variance, as functions of S_in, of C_W and of parameters."""

    perp: sp.Expr
    parallel: sp.Expr
    offset: sp.Expr  # of ``K' - K = offset + slope*K``
    slope: sp.Expr
    bias: sp.Expr  # C_b, a function of K too

    @property
    def kernel(self) -> sp.Expr:
        """The kernel of the stream that is kept."""
        return -self.offset / self.slope


def nested(maps: Maps) -> Nested | None:
    """The maps in the inner variance; None for other layers."""
    kernel_map, parallel, perp = maps
    definitions = [q.defined for q in (kernel_map, perp, parallel)]
    law = inner_law(*definitions)
    inner = None if law is None else affine(law, C_b)
    if law is None or inner is None or inner[1] == 0 or not inner[0].has(K):
        return None
    bias = (S_in - inner[0]) / inner[1]
    flow, perp_map, parallel_map = (closed(sp.expand(e.xreplace({law: S_in}).subs(C_b, bias))) for e in definitions)
    change = affine(flow - K, K)
    if change is None or change[1] == 0 or any(e.has(K, C_b) for e in (*change, perp_map, parallel_map)):
        return None
    return Nested(perp_map, parallel_map, *change, bias)


def inner_law(*definitions: sp.Expr) -> sp.Expr | None:
    """The variance over which all averages are, where there is only one, and another than K."""
    laws = {e.covariance for definition in definitions for e in definition.atoms(Expectation)}
    return laws.pop()[0] if len(laws) == 1 and all(len(law) == 1 and law[0] != K for law in laws) else None


def nested_conditions(of: Maps) -> Conditions | None:
    """The critical conditions ``p + q(S_in) C_W^n = 1`` and K' = K solved; None for other layers."""
    if (maps := nested(of)) is None:
        return None
    if (one := power_form(maps.perp)) is None or (other := power_form(maps.parallel)) is None:
        return None
    (n, p0, p1), (m, q0, q1) = one, other
    gap = gap_of((p0, p1), (q0, q1), S_in)
    if n != m or gap.free_symbols - {S_in}:
        return None
    numbers: dict[sp.Symbol, sp.Expr] = {}
    weight = positive_root(1 - p0, stand_in(p1, ONE, numbers, S_in), n)
    offset, slope = affine(maps.offset, C_W) or (maps.offset, sp.Integer(0))
    kept = (offset + stand_in(slope, ONE, numbers, S_in) * C_W) / -maps.slope
    kernel = sp.factor_terms(kept.subs(C_W, weight))
    return Conditions(weight, maps.bias.subs(K, kernel).subs(C_W, weight), numbers, gap, ONE, S_in, kernel)
