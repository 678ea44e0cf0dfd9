"""Kernels that grow without bound, but slower than exponentially: residual branches of weight 1.

``K' - K ~ rate*K**power`` with power < 1 gives ``K ~ ((1 - power) rate l)**(1/(1 - power))``; and with
``chi_perp - 1 ~ excess*K**-decay`` the logarithm of the Jacobian is a sum of ``l**-(decay/(1 - power))``: it converges,
or grows like log l (a power law), or like a power of l (a stretched exponential).
"""

from __future__ import annotations

import sympy as sp

from ...core.errors import NoClosedForm, SymresError
from ...core.symbols import C_W, C_b, K
from ...functions.balls import enclose
from ...functions.ranges import parameter_grid
from ...functions.roots.bracketing import GRID
from ...results.critical_point import KernelGrowth
from ...results.quantity import Quantity
from ..quantities.expansion import terms_of
from .conditions.parameter_signs import at_reference

_ORDERS = (sp.Integer(2), sp.Rational(1, 2), sp.Integer(0))  # of the expansions in 1/K; algebraic tails know few terms
_STEP = 6  # of the grid of kernels at which K' > K is tested
_LEAST = sp.Rational(1, 10**20)  # a variance of biases: its part of K' - K hides no other
_BITS = (60, 240)  # the second where K' and K are nearly equal


def growth(kernel_map: Quantity, perp: Quantity) -> KernelGrowth | None:
    """How the kernel grows where it has no fixed point, whatever its parameters; None if it does not, or too fast.

    Args:
        kernel_map: K'(K).
        perp: chi_perp(K).
    """
    flow = _beyond(kernel_map, sp.Integer(-1))
    if flow is None or not _grows(kernel_map):
        return None
    chi = _beyond(perp, sp.Integer(0))
    return None if chi is None else KernelGrowth(flow[1], -flow[0], chi[1], chi[0])


def _beyond(quantity: Quantity, first: sp.Expr) -> tuple[sp.Expr, sp.Expr] | None:
    """The second term in powers of 1/K, exponent and coefficient; None if the first is not ``(1/K)**first``."""
    for order in _ORDERS:
        try:
            terms = terms_of(quantity, order, large=True)
        except NoClosedForm:
            continue
        rest = {e: c for e, c in terms.items() if e != first and c != 0}
        if sp.expand(terms.get(first, sp.Integer(0)) - 1) != 0 or any(e < first for e in rest):
            return None
        if rest or order == _ORDERS[0]:
            return min(rest.items(), default=(sp.oo, sp.Integer(0)))
    return None


def _grows(kernel_map: Quantity) -> bool:
    """Whether K' > K at kernels of all magnitudes, for next to no biases and all kinds of other parameters."""
    written = [e for e in (kernel_map.expr, kernel_map.defined) if e is not None]  # exp(2*K)*erfc(sqrt(2*K)) is lost
    increments = [at_reference((e - K).subs({C_W: 1, C_b: _LEAST})) for e in written]
    names = sorted(set().union(*(e.free_symbols for e in increments)) - {K}, key=str)
    return all(
        any(_positive(e.subs(numbers), k, bits) for e in increments for bits in _BITS)
        for numbers in parameter_grid(names)
        for k in GRID[::_STEP]
    )


def _positive(increment: sp.Expr, kernel: sp.Expr, bits: int) -> bool:
    try:
        return bool(enclose(increment, {K: kernel}, bits) > 0)
    except SymresError:
        return False
