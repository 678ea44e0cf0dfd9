"""A layer of tokens with what becomes of them in deep stacks of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import mpmath as mp
import sympy as sp

from ..core.errors import DeclarationError
from ..core.scalars import Number, number
from ..layers.across import Attend
from ..results.quantity import Quantity
from .depth.token_ends import BITS, StackRates, TokenStack
from .finite_width_theory import FiniteWidthTheory
from .observables.layer_maps import weight_kernel

_LETTERS = ("Q", "K", "V", "O")


@dataclass(frozen=True)
class TokenTheory(FiniteWidthTheory):
    """Tangent kernels of the weights of attention, and the ends of deep stacks of layers with tokens."""

    def tangent_kernel_of(self, weight: str) -> tuple[Quantity, Quantity]:
        """What one weight of the attention of the layer adds to its tangent kernel, in the NTK parametrisation.

        With several attentions, what the weights of that letter add together.

        Args:
            weight: "Q", "K", "V" or "O".

        Returns:
            (t, s): Quantities in K, C and the parameters of the layer, at one position and at two, in units of K.

        Raises:
            DeclarationError: another letter, or a layer without attention.

        Examples:
            Queries of equal scores have no gradient; outputs and values have that of the average over all tokens:

            >>> theory = sr.layer("Attention(z, C_W, 0, 0, 1)").derive(positions=sr.Tokens(2))
            >>> [theory.tangent_kernel_of(letter)[0].expr for letter in "QV"]
            [0, C_W*(C/2 + K/2)]
        """
        asked = f"the tangent kernel of the weights {weight}"
        if weight not in _LETTERS:
            raise DeclarationError(asked, "attention has no weights of this name", f"pass {', '.join(_LETTERS)}")
        if not any(isinstance(draw.across, Attend) for draw in self.layer.program.draws):
            raise DeclarationError(asked, f"the layer {self.layer.name} has no attention", "ask for ntk_map")
        one, two = (weight_kernel(weight, is_one_position).of(self) for is_one_position in (True, False))
        return one, two

    def similarity_fixed_points(self, /, **params: Number) -> tuple[tuple[float, bool], ...]:
        """The similarities of tokens that deep stacks of this layer keep: their ends, and what divides these.

        A stack whose tokens are less alike than an end that attracts, and more than what divides, goes there.

        Args:
            params: a number for every parameter of the layer, by name.

        Returns:
            (rho, whether it attracts), from the least similar to 1, where all tokens are equal.

        Raises:
            DeclarationError: a parameter without a value, inputs without positions, or any number of tokens.
            NoClosedForm: kernels have no place at some similarity, or a map has no number there.

        Examples:
            Attention that is weak beside a perceptron leaves tokens apart, and collapse repels them:

            >>> theory = sr.derive("erf", layer="transformer", positions=sr.Tokens(16))
            >>> ends = theory.similarity_fixed_points(C_A="1/20", C_1=1, C_2=1)
            >>> [(round(rho, 6), attracts) for rho, attracts in ends]
            [(0.3473, True), (1.0, False)]
        """
        with mp.workprec(BITS):
            ends = self._stack(params).ends
            return tuple((float(1 - x), attracts) for x, attracts in reversed(ends))

    def rates(self, /, similarity: Number = 0, **params: Number) -> StackRates:
        """How squared gradients, angles between tokens and kernels go in deep stacks of this layer.

        With a skip connection of weight 1 around normalised branches they follow powers of the depth, else they are
        exponential in it. A single layer says less: its gradients start from single tokens, whose differences die.

        Args:
            similarity: of the tokens that enter, which decides between several ends.
            params: a number for every parameter of the layer, by name.

        Returns:
            StackRates(kind, similarity, gradient, angle, kernel, collapse).

        Raises:
            DeclarationError: a parameter without a value, inputs without positions, or any number of tokens.
            NoClosedForm: kernels have no place at some similarity, or a map has no number there.

        Examples:
            Half of what ReLU adds to the squared norm comes from attention, in which tokens have a common part:

            >>> theory = sr.derive("relu", layer="transformer", positions=sr.Tokens(16))
            >>> laws = theory.rates(C_A=1, C_1=1, C_2=2)
            >>> laws.kind, round(laws.gradient, 9), round(laws.angle, 9), laws.kernel
            ('power law', 1.0, -0.5, 1.0)
        """
        with mp.workprec(BITS):
            return self._stack(params).rates(1 - mp.mpf(float(number(similarity, "similarity"))))

    @cached_property
    def _stacks(self) -> dict[frozenset[tuple[sp.Symbol, sp.Expr]], TokenStack]:
        return {}

    def _stack(self, params: dict[str, Number]) -> TokenStack:
        """The deep stack of this layer, whose ends are looked for once."""
        values = self._numbers(params, but=set())
        if (key := frozenset(values.items())) not in self._stacks:
            self._stacks[key] = TokenStack(self, values)
        return self._stacks[key]
