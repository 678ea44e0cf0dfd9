"""The response of a deep network to its input kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.display import Fact, Shown

Value = float | NDArray[np.float64]


@dataclass(frozen=True)
class Response(Shown):
    """Derivatives in the kernel of the input, from layer to layer (Fischer, Dahmen, Helias (51) to (55)).

    Of one input numbers; of two inputs arrays of shape (3, 3): row and column are K11, K12 and K22.

    Args:
        eta: ``[1, eta^1, ..., eta^L]``, of what the layer adds to the stream's kernel, ``K^l - gamma^2 K^{l-1}``.
        chi: ``[1, chi^1, ..., chi^L]``, of the stream's kernel, ``dK^l/dK^0``.
        chi_out: of the kernel of the output, after the readout.
    """

    eta: list[Value]
    chi: list[Value]
    chi_out: Value

    @property
    def parts(self) -> tuple[list[Value], list[Value], Value]:
        """(eta, chi, chi_out)."""
        return self.eta, self.chi, self.chi_out

    def _title(self) -> str:
        return f"response of {len(self.chi) - 1} layers to the kernel of their input"

    def _facts(self) -> list[Fact]:
        return [
            Fact("eta", f"{self.eta[-1]} in the last layer"),
            Fact("chi", f"{self.chi[-1]} after the last layer"),
            Fact("chi_out", str(self.chi_out)),
        ]
