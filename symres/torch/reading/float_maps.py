"""The maps of a layer as floats, without closed forms, which take minutes for long chains of norms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import sympy as sp

from ...core.symbols import C, K
from ...functions.floats.float_averages import CompiledExpressions
from ...layers.layer import Layer
from ...theory.observables.layer_maps import CHI_PERP, KERNEL_MAP
from ...theory.theory import derive

_OBSERVABLES = {observable.name: observable for observable in (KERNEL_MAP, CHI_PERP)}
_KEPT = 64  # layers: more than one model has


class FloatMaps:
    """Numbers of a layer in double precision, each average by quadrature.

    Args:
        form: the layer, variances being symbols.
    """

    def __init__(self, form: Layer) -> None:
        self._theory = derive(form)
        self._compiled: dict[str, CompiledExpressions] = {}

    def value(self, name: str, kernel: float, numbers: Mapping[str, float]) -> float:
        """An observable of one input; the covariance of different inputs of a batch is 0.

        Args:
            name: "kernel_map" or "chi_perp".
            kernel: of the stream that goes in.
            numbers: of the layer's parameters, by name.

        Raises:
            SymresError: it is infinite, or has no definition in averages.
        """
        if name not in self._compiled:
            self._compiled[name] = CompiledExpressions([self._definition(name)])
        known: dict[sp.Symbol, float] = {p: numbers[p.name] for p in self._theory.layer.parameters if p.name in numbers}
        return float(self._compiled[name]({K: kernel, C: 0.0, **known})[0])

    def step(self, kernel: float, numbers: Mapping[str, float]) -> tuple[float, float]:
        """The next kernel, and chi_perp.

        Raises:
            SymresError: as ``value``.
        """
        return self.value("kernel_map", kernel, numbers), self.value("chi_perp", kernel, numbers)

    def _definition(self, name: str) -> sp.Expr:
        """In unevaluated averages, named steps written out."""
        walks = self._theory.walks
        found = _OBSERVABLES[name].define(walks)
        for symbol, step in reversed(walks.one.assignments):
            found = found.xreplace({symbol: step})
        return found


float_maps = lru_cache(_KEPT)(FloatMaps)  # compiled once for all blocks that have a layer
