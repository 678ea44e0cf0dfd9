"""Equal layers have equal forms: one symbol C_W, one symbol C_b, and xi before the branch of a residual layer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy as sp

from ...core.symbols import C_W, C_b, xi, z
from ...layers.layer import Layer
from ...layers.nodes import Dense
from ...layers.normalisation import Normaliser
from ..equations.equation_state import Interpretation
from ..equations.formula_values import DenseUse, factored
from ..equations.layering import is_drawn


@dataclass(frozen=True)
class CanonicalForm:
    """A part of a model as the theory is asked about it.

    Args:
        forward: its equation, ``skip*z + xi*branch`` for residual layers.
        is_residual: whether the stream goes on beside a branch.
        is_weighted: whether xi stands in the equation.
        outer: the draws at the end of the branch, by C_W: those that xi multiplies.
        shortcut: what stands for the stream where its width changes; None where the stream itself goes on.
        stream: what goes on beside the branch, but for widths: a function of z.
        is_post_norm: whether a norm is behind the sum.
    """

    forward: sp.Expr
    is_residual: bool
    is_weighted: bool = False
    outer: frozenset[sp.Symbol] = frozenset()
    shortcut: sp.Expr | None = None
    stream: sp.Expr = z
    is_post_norm: bool = False

    @property
    def layer(self) -> Layer:
        """The layer.

        Raises:
            SymresError: it is none.
        """
        return Layer(self.forward)

    @property
    def is_linear(self) -> bool:
        """Whether it is a dense layer of the stream itself, with no activation before it."""
        return isinstance(self.forward, Dense) and self.forward.args[0] == z


def canonical_form(reading: Interpretation, has_weighted_norm: bool = False) -> CanonicalForm:
    """The form of what was read.

    Draws without biases have ``C_b = 0``, norms epsilon = 0, which is a relative error of epsilon over their variance.
    One dense layer beside a branch of several, with or without a norm behind it (the shortcut of a residual network
    where its width changes), is the stream: its variance is chosen so that it keeps kernel and Jacobian norm.

    Args:
        reading: the equation with a C_W and a C_b for each draw.
        has_weighted_norm: whether the norm that ends a branch has weights, which xi can stand for.
    """
    expression = reading.expression.replace(lambda e: isinstance(e, Normaliser), lambda e: e.func(e.args[0]))
    factor, bare = factored(expression)
    is_post_norm = isinstance(bare, Normaliser) and isinstance(bare.args[0], sp.Add)
    inner = bare.args[0] if is_post_norm else expression
    if isinstance(bare, sp.Add):
        inner = sp.Add(*(factor * term for term in bare.args))
    form = _residual(inner, reading.dense, has_weighted_norm) if isinstance(inner, sp.Add) else None
    if form is None:
        return CanonicalForm(expression.xreplace(_common(reading.dense)), False)
    if is_post_norm:
        return replace(form, forward=factor * bare.func(form.forward), is_post_norm=True)
    return form


def _residual(sum_: sp.Add, uses: tuple[DenseUse, ...], has_weighted_norm: bool) -> CanonicalForm | None:
    """A stream and a branch; None for any other sum."""
    terms = [factored(term) for term in sum_.args]
    stream = z
    if all(bare != z for _, bare in terms):  # perhaps what a function makes of it: ReLU behind the sum of two summands
        bent = [bare for _, bare in terms if not bare.has(Dense) and not isinstance(bare, Normaliser)]
        stream = bent[0] if len(bent) == 1 else z
    skip = sum((c for c, bare in terms if bare == stream), sp.Integer(0))
    shortcut: sp.Expr | None = None
    others = [(c, bare) for c, bare in terms if bare != stream]
    if skip == 0:
        projected = [(c, bare) for c, bare in others if is_drawn(bare) and len(bare.atoms(Dense)) == 1]
        if len(projected) != 1 or len(others) < 2:
            return None
        skip, shortcut = projected[0]
        (draw,) = shortcut.atoms(Dense)
        if isinstance(shortcut, Normaliser) or not draw.has(Normaliser):  # else the norm is the branch's too
            stream = draw.args[0].replace(lambda e: isinstance(e, Normaliser), lambda e: e.args[0])
        others = [term for term in others if term != projected[0]]
    branch = sum((c * bare for c, bare in others), sp.Integer(0)).xreplace(_common(uses))
    outer = frozenset(bare.args[1] for _, bare in others if isinstance(bare, Dense))
    normed = sum(isinstance(bare, Normaliser) for _, bare in others) if has_weighted_norm else 0
    if len(outer) + normed < len(others):  # the branch ends with neither a draw nor a norm that xi could multiply
        return CanonicalForm(skip * stream + branch, True, False, outer, shortcut, stream)
    return CanonicalForm(skip * stream + xi * branch, True, True, outer, shortcut, stream)


def _common(uses: tuple[DenseUse, ...]) -> dict[sp.Symbol, sp.Expr]:
    found: dict[sp.Symbol, sp.Expr] = {}
    for use in uses:
        found |= {use.C_W: C_W, use.C_b: C_b if use.made.bias is not None else sp.Integer(0)}
    return found


def largest_epsilon(found: Interpretation) -> float:
    """What the norms of a part add to variances, at most."""
    return max((float(norm.args[1]) for norm in found.expression.atoms(Normaliser)), default=0.0)
