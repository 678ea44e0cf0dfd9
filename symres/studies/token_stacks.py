"""A deep stack of one layer of tokens, as a page shows it."""

from __future__ import annotations

import sympy as sp

from ..core.errors import SymresError
from ..layers.positions import USUAL_TOKENS, Tokens
from ..results.token_stack import StackOfTokens, TokenRow
from ..theory.theory import Theory


def stack_of_tokens(theory: Theory, depth: int) -> StackOfTokens | None:
    """What becomes of tokens in so many layers; 16 tokens where their number is a symbol.

    Returns:
        None unless all parameters of the layer have numbers, or where maps have no numbers.
    """
    size = theory.sequence_length
    if theory.parameter_names or size in (1, sp.oo) or not theory.is_exchangeable:
        return None
    is_usual = bool(size.free_symbols)
    if is_usual:
        theory = Theory(theory.layer, Tokens(USUAL_TOKENS))
    try:
        return _measured(theory, depth, is_usual)
    except SymresError:
        return None


def _measured(theory: Theory, depth: int, is_usual: bool) -> StackOfTokens:
    kernels = theory.kernels(depth, 1, C=0)
    places = [0, *(2**k for k in range(depth.bit_length()) if 2**k < depth), depth]
    rows = tuple(
        TokenRow(layers, float(kernel), float(shared / kernel), float(theory.apjn(0, layers, 1, 0)))
        for layers, (kernel, shared) in ((place, kernels[place]) for place in places)
    )
    stack = StackOfTokens(int(theory.sequence_length), is_usual, rows)
    if theory.token_maps.is_open:  # laws of limits would take minutes
        return stack
    laws, ends = theory.rates(), theory.similarity_fixed_points()
    return StackOfTokens(
        stack.tokens, is_usual, rows, laws.kind, laws.similarity, laws.gradient, laws.angle, laws.collapse, ends
    )
