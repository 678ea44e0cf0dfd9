"""The tangent kernel of a model that was read, at infinite width, in PyTorch's parametrisation.

There weights are not scaled: a dense layer of u with n inputs adds ``n <u u'>`` by its weights and 1 by its biases to
the kernel that its inputs bring along.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

import numpy as np
import sympy as sp

from ...core.errors import DeclarationError, SymresError
from ...core.symbols import K1, K2, C, K, Theta
from ...layers.layer import Layer
from ...layers.program import Draw
from ...theory.theory import derive
from ...theory.walk.tangent import tangent
from ..reading.model_reading import Reading
from ..reading.read_block import compiled_expressions

_EQUAL = 1e-12  # of 1 - the cosine of two inputs: below it is rounding
_KEPT = 64  # compiled layers: more than one model has


def tangent_theory(reading: Reading, trained: Collection[str], one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The kernel of pairs of inputs, nan for opposite ones.

    Args:
        reading: of the model.
        trained: names of the parameters that are differentiated.
        one: inputs, shape (inputs, entries).
        other: likewise.

    Raises:
        DeclarationError: parts of the model stay measured, positions are mixed, weights are shared, or parameters are
            trained that are neither weights nor biases of the layers.
    """
    asked = f"the tangent kernel of {reading.model} at infinite width"
    layers = [(reading.blocks[number], which) for number, which in reading.order]
    unknown = [block.place or block.text for block, _ in layers if not block.is_known]
    dense = {d.name for block, which in layers if block.dense for d in block.dense[which]}
    others = sorted(set(trained) - {f"{name}.{kind}" for name in dense for kind in ("weight", "bias")})
    for problem, names in (("symres has no theory for some parts", unknown), ("layers share weights", reading.shared),
                           ("some trained parameters are not of a dense layer", others)):  # fmt: skip
        if names:
            raise DeclarationError(asked, f"{problem}: {', '.join(names[:4])}", "compare with other networks instead")
    found = np.full((len(one), len(other)), np.nan)
    for i, j in np.ndindex(found.shape):
        pair = np.stack([one[i], other[j]])
        (k1, c), (_, k2) = pair @ pair.T / pair.shape[1]
        state = (float(k1), float(k2), float(c), 0.0)
        try:
            for block, which in layers:
                numbers = dict(block.numbers[which])
                for d in block.dense[which]:
                    rates = {f"weight_{d.symbols[0]}": d.fan_in * (f"{d.name}.weight" in trained)}
                    numbers |= {**rates, f"bias_{d.symbols[0]}": float(f"{d.name}.bias" in trained)}
                assert block.form is not None
                state = _Maps(block.form).step(state, numbers)
            found[i, j] = state[3]
        except SymresError:
            continue
    return found


@lru_cache(_KEPT)
class _Maps:
    """Kernels, covariance and tangent kernel behind a layer, compiled once for each."""

    def __init__(self, form: Layer) -> None:
        walks = derive(form).walks
        self._parameters: set[sp.Symbol] = set()

        def rates(draw: Draw) -> tuple[sp.Expr, sp.Expr]:
            symbol = sp.sympify(draw.C_W)
            weight, bias = (sp.Symbol(f"{kind}_{symbol}") for kind in ("weight", "bias"))
            self._parameters |= {weight, bias}
            return weight / symbol, bias / draw.C_b if draw.C_b != 0 else sp.Integer(0)

        first = walks.one.first
        alone = tangent(walks.one, first, first, Theta, rates)
        self._alone = compiled_expressions(walks.one.assignments, walks.next_kernel, alone)
        both = tangent(walks.two, 1, 2, Theta, rates)
        self._both = compiled_expressions(walks.two.assignments, walks.next_covariance, both)
        self._parameters |= set(form.parameters)

    def step(
        self, state: tuple[float, float, float, float], numbers: Mapping[str, float]
    ) -> tuple[float, float, float, float]:
        """K1, K2, C and Theta of two inputs behind the layer, from those before it."""
        k1, k2, c, theta = state
        known = {symbol: numbers[symbol.name] for symbol in self._parameters}
        after, own = self._alone({**known, K: k1, Theta: theta})
        if abs(c - (k1 * k2) ** 0.5) <= _EQUAL * abs(c) and abs(k1 - k2) <= _EQUAL * k1:
            return float(after), float(after), float(after), float(own)
        other, _ = self._alone({**known, K: k2, Theta: theta})
        covariance, kernel = self._both({**known, K1: k1, K2: k2, C: c, Theta: theta})
        return float(after), float(other), float(covariance), float(kernel)
