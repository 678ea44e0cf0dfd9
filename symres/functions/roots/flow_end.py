"""The kernel in which a flow ends, as a function of parameters that the equation K' = K defines."""

from __future__ import annotations

from functools import lru_cache

import sympy as sp
from flint import arb, ctx
from sympy.printing.printer import Printer

from ...core.atoms import Opaque
from ...core.errors import DeclarationError, NoClosedForm, SymresError
from ...core.symbols import kappa
from ..balls import as_mpf, enclose, exact_middle
from .bracketing import at_kappa
from .root import Root, scanned_roots

_ASKED = "the kernel in which a deep network ends"
_SIGN_BITS = 160  # next to a zero: brackets are 2**-64 wide
_WIDER = 60  # times that an enclosure is made twice as wide until it is proved


class FlowEnd(Opaque, sp.Expr):
    """The kernel to which ``K -> K'`` flows; with numbers for all parameters it is a number.

    It solves ``K' = K``, so that its derivative in a parameter p is ``dK'/dp/(1 - dK'/dK)``.

    Args:
        flow: K' as a function of ``symbols.kappa`` and of parameters.
        start: the kernel of the input; none where all inputs end in one place.
    """

    is_commutative = True
    is_extended_real = True
    is_real = True
    is_nonnegative = True

    def __new__(cls, flow: sp.Expr, *start: sp.Expr) -> sp.Expr:
        """The node, or the number.

        Raises:
            DeclarationError: at these numbers kernels end in several places, and there is no ``start``.
            NoClosedForm: at these numbers the kernel ends in no finite one.
        """
        node = super().__new__(cls, flow, *start)
        return node if node.free_symbols else _end(flow, *start)

    @property
    def flow(self) -> sp.Expr:
        """K' as a function of kappa."""
        return self.args[0]

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The parameters."""
        return set().union(*(e.free_symbols for e in self.args)) - {kappa}

    @property
    def _ball_arguments(self) -> tuple[sp.Expr, ...]:
        return tuple(sorted(self.free_symbols, key=str))

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        """The number at the middles of all arguments, made wide enough for the others."""
        at = dict(zip(self._ball_arguments, arguments, strict=True))
        ball = enclose(self.xreplace({s: exact_middle(a) for s, a in at.items()}), {}, bits)
        if all(a.is_exact() for a in arguments):
            return ball
        with ctx.workprec(2 * bits):
            radius = ball.rad() + abs(ball.mid()) / arb(2) ** bits
            for _ in range(_WIDER):
                ends = ball.mid() - radius, ball.mid() + radius
                below, above = (enclose(self.flow - kappa, {**at, kappa: end}, 2 * bits) for end in ends)
                if ends[0] > 0 and below > 0 > above:
                    return ends[0].union(ends[1])
                radius *= 2
        return arb("nan")

    def _eval_derivative(self, s: sp.Symbol) -> sp.Expr:
        return (self.flow.diff(s) / (1 - self.flow.diff(kappa))).xreplace({kappa: self})

    def _eval_is_zero(self) -> None:
        return None

    def _sympystr(self, printer: Printer) -> str:
        return "K_star"

    def _latex(self, printer: Printer) -> str:
        return "K^*"


@lru_cache(maxsize=256)
def _end(flow: sp.Expr, start: sp.Expr | None = None) -> sp.Expr:
    """Where the kernel ends, at numbers for all parameters."""
    growth = flow / kappa - 1
    roots, unseen = scanned_roots(growth, kappa)
    roots = sorted(roots, key=sp.N)
    if unseen and not roots:
        raise NoClosedForm(_ASKED, f"not searched: {unseen}", "take other numbers")
    sign = _sign(growth, roots[0].args[1] if roots else sp.Integer(1))
    places: list[tuple[sp.Expr, bool]] = [(sp.Integer(0), sign < 0)]  # whether kernels flow there from above or below
    for root in roots:
        places.append((root, sign > 0))
        sign = -sign
    places.append((sp.oo, sign > 0))
    if start is None:
        ends = [place for place, attracts in places if attracts]
        if len(ends) > 1:
            listed = " or ".join("infinite K" if e is sp.oo else f"K = {float(e):.6g}" for e in ends)
            raise DeclarationError(_ASKED, f"it may be {listed}", "pass the kernel of the input, K=1")
        end = ends[0]
    else:
        above = next(i for i, (place, _) in enumerate(places) if place is sp.oo or sp.N(place) > start)
        end = places[above][0] if places[above][1] else places[above - 1][0]
    if end is sp.oo:
        raise NoClosedForm(_ASKED, "the kernel grows without bound at these numbers", "take smaller variances")
    if end != 0 and _slope(flow, end) < -1:
        raise NoClosedForm(_ASKED, f"it alternates around K = {float(end):.6g}, which repels it", "iterate kernels()")
    return end


def _sign(growth: sp.Expr, place: sp.Expr) -> int:
    value = at_kappa(growth, place, _SIGN_BITS)
    return 1 if value > 0 else -1


def _slope(flow: sp.Expr, place: Root) -> float:
    try:
        return float(at_kappa(flow.diff(kappa), as_mpf(place.args[1]), _SIGN_BITS))
    except SymresError:  # no slope: it does not jump there
        return 0.0
