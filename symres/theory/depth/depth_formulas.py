"""Closed forms in the depth, where the kernel map is affine in the kernel: ``K' = a + b*K``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import mpmath as mp
import sympy as sp

from ...core.display import Fact, Shown
from ...core.errors import DeclarationError, NoClosedForm, SymresError
from ...core.proof import Proof
from ...core.symbols import K, place
from ...functions.balls import evaluate
from ...gaussian.algebra.canonical import canonical
from ...gaussian.closed_form.verification import Enclosure, Values, verify
from ...notation.shortest import tidy_factors
from ...results.quantity import Quantity, Status, Verification
from ..criticality.at_fixed_point import affine_parts
from ..criticality.critical_conditions import affine, expression_of

LAYERS = sp.Symbol("l", integer=True, nonnegative=True)
K_FINAL = sp.Symbol("K_final", positive=True)
_ASKED = "closed forms in the depth"
_DEPTHS = (2, 5)  # at which they are compared with the recursion
_DIGITS, _TOLERANCE = 40, 1e-20  # of that comparison


@dataclass(frozen=True, repr=False)
class DepthFormulas(Shown):
    """What l equal layers make of a kernel K, as formulas in l.

    Args:
        flow: the kernel map, affine in K.
        memory: the weight with which a neuron remembers its value, ``E[z' z] = memory*K``.

    Examples:
        >>> formulas = sr.derive("z + xi*Dense(z)").in_depth()
        >>> formulas.kernel.expr
        (K + C_b/C_W)*(C_W*xi**2 + 1)**l - C_b/C_W
    """

    flow: Quantity
    memory: Quantity

    def _title(self) -> str:
        return "closed forms in the depth l"

    def _facts(self) -> Iterator[Fact]:
        for quantity in (self.kernel, self.added, self.displacement):
            yield quantity._facts()[0]

    @cached_property
    def _parts(self) -> tuple[sp.Expr, sp.Expr]:
        """Offset and slope of the kernel map.

        Raises:
            NoClosedForm: the map is not affine, or the memory depends on the kernel.
        """
        unknown = next((q for q in (self.flow, self.memory) if q.status is Status.UNKNOWN), None)
        if unknown is not None:
            raise NoClosedForm(_ASKED, f"{unknown.name} is unknown ({unknown.reason})", "iterate kernels()")
        parts = affine_parts(expression_of(self.flow))
        if parts is None or expression_of(self.memory).has(K):
            raise NoClosedForm(_ASKED, "the kernel map is not affine in K", "iterate kernels(), or ask for exponents")
        return canonical(parts[0]), canonical(parts[1])

    def _after(self, layers: sp.Expr) -> sp.Expr:
        """The kernel after so many layers."""
        offset, slope = self._parts
        if slope == 1:
            return K + offset * layers
        ends = canonical(offset / (1 - slope))
        return (K - ends) * slope**layers + ends

    @cached_property
    def kernel(self) -> Quantity:
        """The kernel after l layers."""
        return self._quantity(
            "kernel", "K^l", self._after(LAYERS), "kernel after l layers", lambda kernels, m: kernels[-1]
        )

    @cached_property
    def added(self) -> Quantity:
        """What the l-th layer, l >= 1, adds to the kernel that its skip connection carries on (Fischer et al. (64))."""
        offset, slope = self._parts
        gained = canonical(slope - expression_of(self.memory) ** 2)
        body = offset + gained * self._after(LAYERS - 1)
        if slope != 1:
            ends = canonical(offset / (1 - slope))
            body = tidy_factors(sp.factor(canonical(gained * (K - ends)))) * slope ** (LAYERS - 1)
            body += canonical(offset + gained * ends)
        meaning = "what layer l adds to the kernel"
        return self._quantity("added", "C^l", body, meaning, lambda kernels, m: kernels[-1] - m**2 * kernels[-2])

    @cached_property
    def displacement(self) -> Quantity:
        """How far the stream has moved, ``E (z^l - z^0)^2`` of one neuron (Chizat, Proposition 2.1)."""
        body = self._after(LAYERS) + K - 2 * K * expression_of(self.memory) ** LAYERS
        meaning = "squared distance of the stream from the input, for each neuron"

        def moved(kernels: list[mp.mpf], m: mp.mpf) -> mp.mpf:
            return kernels[-1] + kernels[0] - 2 * kernels[0] * m ** (len(kernels) - 1)

        return self._quantity("displacement", r"\Delta_l^2", body, meaning, moved)

    def scale_for(self, scale: str = "xi", is_deep: bool = False) -> Quantity:
        """The weight of the branch with which l layers lead from K to ``K_final`` (Fischer et al. (67)).

        Args:
            scale: name of the weight.
            is_deep: whether to take the limit of many layers, in which it falls like 1/sqrt(l) (Fischer et al. (68)).

        Raises:
            DeclarationError: the layer has no such parameter.
            NoClosedForm: the weight is not the only one that tells how fast the kernel goes to its end.

        Examples:
            >>> sr.derive("z + xi*Dense(z, C_b=0)").in_depth().scale_for().expr
            sqrt((K_final/K)**(1/l) - 1)/sqrt(C_W)
        """
        symbol = next((s for s in self.flow.symbols if s.name == scale), None)
        if symbol is None:
            raise DeclarationError(
                f"the weight {scale}", "the kernel map does not depend on it", "name one of its parameters"
            )
        offset, slope = self._parts
        square = sp.Dummy(positive=True)
        parts = affine(slope.subs(symbol**2, square), square)
        ends = sp.nan if slope == 1 else canonical(offset / (1 - slope))
        if parts is None or any(e.has(symbol, square) for e in parts) or ends.has(symbol, sp.nan):
            found = f"K* depends on {scale}, or the kernel on other powers than {scale}**2"
            raise NoClosedForm(f"{scale} for a last kernel", found, "search with branch_scale_for()")
        ratio = (K_FINAL - ends) / (K - ends)
        if is_deep and parts[0] != 1:
            raise NoClosedForm(f"{scale} for many layers", "the skip connection has not the weight 1", "take its own l")
        square = sp.log(ratio) / LAYERS if is_deep else ratio ** (1 / LAYERS) - parts[0]
        body = sp.sqrt(square) / sp.sqrt(parts[1])
        return _formula("branch_scale", rf"{scale}", body, "weight of the branch with which K becomes K_final", ())

    def _quantity(
        self, name: str, notation: str, body: sp.Expr, meaning: str, of: Callable[[list[mp.mpf], mp.mpf], mp.mpf]
    ) -> Quantity:
        """A formula, compared with the recursion."""
        verifications = []
        for depth in _DEPTHS:

            def iterated(values: Values, depth: int = depth) -> Enclosure:
                with mp.workdps(2 * _DIGITS):
                    kernels, error = [evaluate(K, values, _DIGITS)[0]], mp.mpf(0)
                    there = {s: value for s, value in values.items() if s != K}
                    defined = self.flow.defined.subs(there)
                    for _ in range(depth):
                        rational = sp.Rational(mp.nstr(kernels[-1], 2 * _DIGITS))
                        following, error = evaluate(defined.subs(K, rational), {}, _DIGITS)
                        if following <= 0:
                            raise SymresError(_ASKED, f"kernel {mp.nstr(following, 5)}", "take others")
                        kernels.append(following)
                    weight = evaluate(self.memory.defined.subs(there), {}, _DIGITS)[0]
                    return of(kernels, weight), 10 * depth * error + mp.mpf(10) ** (2 - _DIGITS) * max(kernels)

            claim = body.subs(LAYERS, depth)
            symbols = sorted(claim.free_symbols | {K}, key=place)
            verifications.append(
                verify(
                    name,
                    claim,
                    iterated,
                    symbols,
                    oracle="the recursion, by quadrature",
                    points=2,
                    tolerance=_TOLERANCE,
                    digits=_DIGITS,
                )
            )
        return _formula(name, notation, body, meaning, tuple(verifications))


def _formula(
    name: str, notation: str, body: sp.Expr, meaning: str, verifications: tuple[Verification, ...]
) -> Quantity:
    return Quantity(
        name=name,
        symbols=tuple(sorted(body.free_symbols, key=lambda s: (s not in (LAYERS, K), place(s)))),
        definition=body,
        body=body,
        status=Status.EXACT,
        notation=notation,
        meaning=meaning,
        proof=Proof(body),
        verifications=verifications,
    )
