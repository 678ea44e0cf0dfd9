"""A layer of tokens with what becomes of them in deep stacks of it."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.errors import DeclarationError
from ..layers.across import Attend
from ..results.quantity import Quantity
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
            [0, C_W*(C + K)/2]
        """
        asked = f"the tangent kernel of the weights {weight}"
        if weight not in _LETTERS:
            raise DeclarationError(asked, "attention has no weights of this name", f"pass {', '.join(_LETTERS)}")
        if not any(isinstance(draw.across, Attend) for draw in self.layer.program.draws):
            raise DeclarationError(asked, f"the layer {self.layer.name} has no attention", "ask for ntk_map")
        one, two = (weight_kernel(weight, is_one_position).of(self) for is_one_position in (True, False))
        return one, two
