"""A sum over the nodes of a rule that is the same for all arguments, as a node of formulas."""

from __future__ import annotations

from functools import cache

import sympy as sp
from flint import arb, ctx

from ...numerics.gauss_rules import gauss_legendre

PLAIN, ONE_END, BOTH_ENDS = sp.Integer(0), sp.Integer(1), sp.Integer(2)  # rules, by the ends at which nodes crowd
# The plain rule is for what changes on the scale of the interval. Nodes at an end crowd by a factor of exp(CROWDING),
# so that densities of nearly parallel inputs, and exponentials of kernels of 1e6 at both ends, cost less than 1e-14.
NODES = {PLAIN: 20, ONE_END: 96, BOTH_ENDS: 176}
CROWDING = {ONE_END: 8.0, BOTH_ENDS: 12.0}
NEVER = sp.S.Zero
BITS = 120  # of nodes and weights before they are rounded
node = sp.Dummy("p", positive=True)  # where a term is taken


class FixedSum(sp.Expr):
    """The integral of a term over ``node``, by a rule whose nodes crowd at the first limit or at both.

    Called as FixedSum(term, first, second, rule, ease) with the limits of the integral, in any order; where the ease is
    1 or more, the plain rule suffices; where it is ``NEVER``, it nowhere does. ``node`` is bound.
    """

    is_commutative = True
    is_extended_real = True
    is_real = True

    @property
    def term(self) -> sp.Expr:
        """What is summed, in ``node``."""
        return self.args[0]

    @property
    def rule(self) -> sp.Integer:
        """The rule where the integral is not easy."""
        return self.args[3]

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The symbols that need a value."""
        return super().free_symbols - {node}


def rules_of(expr: sp.Expr) -> list[sp.Integer]:
    """The rules of the sums in an expression, the plain one among them."""
    rules = {total.rule for total in expr.atoms(FixedSum)}
    return sorted({PLAIN, *rules}) if rules else []


def table_name(rule: sp.Integer) -> str:
    """What the table of a rule is called in code."""
    return f"_{('PLAIN', 'ONE_END', 'BOTH_ENDS')[rule]}_RULE"


@cache
def nodes_and_weights(rule: sp.Integer) -> tuple[tuple[float, float], ...]:
    """Those of an integral from 0 to 1, correctly rounded."""
    spread = {PLAIN: _even, ONE_END: _hyperbolic, BOTH_ENDS: _logistic}[rule]
    pairs = []
    with ctx.workprec(BITS):
        for y, weight in gauss_legendre(NODES[rule], BITS):
            for x in ((1 - y) / 2, (1 + y) / 2):
                value, slope, largest = spread(x)
                pairs.append((float(value / largest), float(weight / 2 * slope / largest)))
    return tuple(sorted(pairs))


def _even(x: arb) -> tuple[arb, arb, arb]:
    """A function of x from 0 to 1 that leaves the nodes where they are: its value, its slope, its largest value."""
    return x, arb(1), arb(1)


def _hyperbolic(x: arb) -> tuple[arb, arb, arb]:
    """One that is flat at 0."""
    crowding = CROWDING[ONE_END]
    return (crowding * x).sinh(), crowding * (crowding * x).cosh(), arb(crowding).sinh()


def _logistic(x: arb) -> tuple[arb, arb, arb]:
    """One that is flat at both ends."""
    crowding = CROWDING[BOTH_ENDS]
    lowest = 1 / (1 + arb(crowding).exp())
    value = 1 / (1 + (crowding * (1 - 2 * x)).exp())
    return value - lowest, 2 * crowding * value * (1 - value), 1 - 2 * lowest
