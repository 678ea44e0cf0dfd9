"""The response of a deep network to its input kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import sympy as sp

from ...core.display import Fact, Shown
from ...notation import latex
from ...numerics.deferred_numpy import Array

Value: TypeAlias = "float | Array"


@dataclass(frozen=True, repr=False)
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
        rows = [
            ("eta", self.eta[-1], "of what the last layer adds to the kernel that its skip connection keeps"),
            ("chi", self.chi[-1], "of the kernel of the stream after the last layer"),
            ("chi_out", self.chi_out, "of the kernel of the output, after the readout"),
        ]
        facts = [fact for name, value, meaning in rows for fact in _explained(name, value, meaning)]
        return facts if self._is_single else [*facts, Fact("rows, columns", "K11, K12, K22 after and before")]

    @property
    def _is_single(self) -> bool:
        """Whether there is one input."""
        return isinstance(self.chi_out, float)


def _explained(name: str, value: Value, meaning: str) -> list[Fact]:
    """A number with its meaning behind it; a matrix row by row below."""
    if isinstance(value, float):
        return [Fact(name, f"{value:.12g}, {meaning}")]
    rows = (", ".join(f"{entry:.6g}" for entry in row) for row in value)
    return [Fact(name, meaning), *(Fact("", row) for row in rows)]


@dataclass(frozen=True, repr=False)
class ResponseDecay(Shown):
    """``eta^l ~ l**-exponent`` after many layers, whatever the kernel of the input is.

    Args:
        exponent: of eta.
        ratio: ``eta^l/chi^l ~ ratio*l**-order``.
        order: the power in that.
    """

    exponent: sp.Expr
    ratio: sp.Expr
    order: sp.Expr

    def _title(self) -> str:
        return "response after many layers l"

    def _facts(self) -> list[Fact]:
        depth = sp.Symbol("l", positive=True)
        return [
            Fact("", f"eta ~ {depth**-self.exponent}", rf"\eta \sim {latex(depth**-self.exponent)}"),
            Fact("", f"eta/chi ~ {self.ratio * depth**-self.order}"),
        ]
