"""Networks whose inputs have positions: how alike tokens become, gradients of one position and of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import mpmath as mp

from ...core.errors import DeclarationError
from ...core.scalars import Number, whole
from ...layers.across import Attend
from ...layers.grids import Lattice
from ...numerics.deferred_numpy import Array, ArrayLike
from ...results.annotated_numbers import EstimatedNumber
from ..grids.grid_network import GridNetwork
from ..observables.layer_maps import ATTENTION_ENTROPY
from ..observables.layer_theory import LayerTheory
from .fluctuating_network import Parameter, Values, by_layer, number_of

State = dict[str, mp.mpf]  # K, and C of a batch or of positions


class PositionNetwork:
    """A network of layers at infinite width, whose inputs may have positions.

    Args:
        layers: the theory of each layer.
    """

    layers: tuple[LayerTheory, ...]
    _kinds: tuple[LayerTheory, ...]

    def _walked(
        self, K: Number, params: Mapping[str, Parameter]
    ) -> tuple[list[tuple[LayerTheory, Values]], list[State]]:
        """Every layer with what its one-input maps depend on, and the states before and after them."""
        raise NotImplementedError

    @property
    def _grid(self) -> Lattice | None:
        """The positions that enter, if they have neighbours."""
        entering = next((layer.positions for layer in self._kinds), None)
        return entering if isinstance(entering, Lattice) else None

    def _on_grid(self, grid: Lattice, K: ArrayLike, params: Mapping[str, Parameter]) -> GridNetwork:
        """The network in arrays."""
        named = dict(params)
        apart = named.pop("M", None)
        layers = [layer.layer for layer in self.layers]
        return GridNetwork(layers, grid, K, cast(ArrayLike | None, apart), by_layer(self.layers, named, self._kinds))

    def perpendicular_modes(self, /, K: ArrayLike, **params: Parameter) -> list[Array]:
        """The perpendicular susceptibility of waves over a torus, at the kernels that enter the layers.

        A change of the stream whose variance varies over positions like ``cos(k x)``, independent at different ones,
        varies so behind the layer, with this gain. Only k = 0 can be critical: a window averages all other waves.

        Args:
            K: array of covariances over displacements that enters the first layer.
            params: numbers for all parameters, by name.

        Returns:
            For every layer an array of the shape of the torus: at ``[m1, m2]`` the gain of ``k_j = 2 pi m_j/P_j``.
            Windows that are not symmetric shift waves: their gains are complex.

        Raises:
            DeclarationError: inputs have no positions, or what is no kernel of them.
            UnsupportedLayer: positions are no torus, a layer has a stride, or moves positions together.

        Examples:
            A window of three on four pixels keeps ``(1 + 2 cos k)/3``:

            >>> net = sr.network(["Conv(z, 1, 0)"], positions=sr.Torus(4))
            >>> [round(float(gain), 4) for gain in net.perpendicular_modes([1, 0, 0, 0])[0]]
            [1.0, 0.3333, -0.3333, 0.3333]
        """
        return self._on_torus(K, params).perpendicular_waves

    def parallel_modes(self, /, K: ArrayLike, **params: Parameter) -> list[Array]:
        """The parallel susceptibility of waves over a torus, at the kernels that enter the layers.

        A small variation of the neurons' variance over positions like ``cos(k x)`` grows by this factor.

        Args:
            K: array of covariances over displacements that enters the first layer.
            params: numbers for all parameters, by name.

        Returns:
            For every layer an array of the shape of the torus, as for ``perpendicular_modes``.

        Raises:
            DeclarationError: inputs have no positions, or what is no kernel of them.
            UnsupportedLayer: positions are no torus, a layer has a stride, or moves positions together.

        Examples:
            Of ``K' = 3 K^2`` the slope is 6 K, which a window of three on four pixels keeps but for the waves:

            >>> net = sr.network(["Conv(z^2, 1, 0)"], positions=sr.Torus(4))
            >>> [round(float(gain), 4) for gain in net.parallel_modes([1, 0, 0, 0])[0]]
            [6.0, 2.0, -2.0, 2.0]
        """
        return self._on_torus(K, params).parallel_waves

    def _on_torus(self, K: ArrayLike, params: Mapping[str, Parameter]) -> GridNetwork:
        if (grid := self._grid) is None:
            remedy = "pass positions=sr.Torus(8, 8) to sr.derive or sr.network"
            raise DeclarationError("waves over positions", "inputs of the network have no neighbours", remedy)
        return self._on_grid(grid, K, params)

    def similarity(self, /, K: Number, C: Number, **params: Parameter) -> list[mp.mpf]:
        """How alike tokens are in front of every layer and behind the last: the cosine of two of them, ``C/K``.

        Args:
            K: kernel of a token that enters the first layer.
            C: covariance of two tokens.
            params: numbers for all parameters, by name; a list has one for each layer.

        Raises:
            DeclarationError: inputs have no positions.

        Examples:
            Uniform attention makes all tokens equal at once:

            >>> layer = sr.layer("Attention(z, 1, 0, 0, 1)")
            >>> [float(c) for c in sr.network([layer], positions=sr.Tokens(4)).similarity(K=1, C=0)]
            [0.0, 1.0]
        """
        self._require_positions("token similarities")
        return [_similarity(state) for state in self._walked(K, {**params, "C": C})[1]]

    def entropy(self, /, K: Number, C: Number, **params: Parameter) -> list[mp.mpf]:
        """The entropy of attention in every layer, over that of uniform weights: ``H/log(T)``.

        0 where each token attends to one, 1 where it attends to all alike, as it does when tokens have become equal.
        Of a layer with several attentions it is their mean.

        Args:
            K: kernel of a token that enters the first layer.
            C: covariance of two tokens.
            params: numbers for all parameters, by name; a list has one for each layer.

        Returns:
            One number for each layer, exact to 12 digits for many wide heads; 1 for one token.

        Raises:
            DeclarationError: inputs have no positions, or a layer has no attention.

        Examples:
            Scores between tokens that normalisation makes equally long, of variances up to ``C_Q C_K``:

            >>> layer = sr.layer("z + Attention(LayerNorm(z), 1, 0, 8, 1)")
            >>> [round(float(h), 3) for h in sr.network([layer]*3, positions=sr.Tokens(16)).entropy(K=1, C=0)]
            [0.44, 0.449, 0.46]
        """
        self._require_positions("entropies of attention")
        for layer in self.layers:
            if not any(isinstance(draw.across, Attend) for draw in layer.layer.program.draws):
                found = f"the layer {layer.layer.name} has no attention"
                raise DeclarationError("entropies of attention", found, "ask for similarity(K, C)")
        rows = self._walked(K, {**params, "C": C})[0]
        return [number_of(layer.derived(ATTENTION_ENTROPY), values) for layer, values in rows]

    def apjn(
        self,
        /,
        l0: Number,
        l: Number,  # noqa: E741 (the name in the literature)
        K: Any,
        C: Number | None = None,
        tokens: str = "one",
        **params: Parameter,
    ) -> mp.mpf | EstimatedNumber:
        """The averaged partial Jacobian norm from the stream after l0 layers to that after l.

        Args:
            l0: from the stream after so many layers; 0 is the stream of kernel K.
            l: to the stream after so many layers.
            K: kernel of a token that enters the first layer; on a Torus or Listed an array of covariances.
            C: covariance of two tokens.
            tokens: "one": the squared derivatives of a token in all of them, summed; "all": all of them are moved
                alike. Where positions differ it is the mean over those of the output.
            params: numbers, by name; of a batch on a torus also M, the covariance of two inputs, one of which is moved.

        Returns:
            A number; on a Torus or Listed with ``.error``, 0 unless scores of attention are weak or sampled.

        Raises:
            DeclarationError: inputs have no positions, l0 > l, or another word; C is missing.

        Examples:
            >>> layer = sr.layer("Attention(z, 1, 0, 0, 1)")  # the average over four tokens
            >>> net = sr.network([layer], positions=sr.Tokens(4))
            >>> [float(net.apjn(0, 1, K=1, C=0, tokens=word)) for word in ("one", "all")]
            [0.25, 1.0]
        """
        self._require_positions("gradients of tokens")
        first, last = whole(l0, "l0", 0), whole(l, "l", 0)
        if tokens not in ("one", "all"):
            found, remedy = "it is unknown", 'pass "one", or "all" for all tokens that are moved alike'
            raise DeclarationError(f"an averaged partial Jacobian norm of tokens={tokens}", found, remedy)
        if not first <= last <= len(self.layers):
            found = f"from layer {first} to layer {last} of {len(self.layers)}"
            raise DeclarationError("an averaged partial Jacobian norm", found, "pass l0 <= l <= depth")
        if (grid := self._grid) is not None:
            return self._on_grid(grid, K, params).apjn(first, last, tokens == "all")
        if C is None:
            raise DeclarationError("gradients of tokens", "C, the covariance of two, has no value", "pass C=0.5")
        change = {"t": mp.mpf(1), "s": mp.mpf(tokens == "all")}
        for layer, values in self._walked(K, {**params, "C": C})[0][first:last]:
            moved = layer.token_maps.tangents(values | change)
            if moved is None:
                maps = {"t": layer.quantity("tangent_map"), "s": layer.quantity("tangent_covariance_map")}
                moved = {name: number_of(quantity, values | change) for name, quantity in maps.items()}
            change = moved
        return change["t"]

    def _require_positions(self, asked: str) -> None:
        if not all(layer.has_positions for layer in self.layers):
            remedy = "pass positions=sr.Tokens(16) to sr.derive or sr.network"
            raise DeclarationError(asked, "inputs of the network have no positions", remedy)


def _similarity(state: State) -> mp.mpf:
    """C/K with all the digits of 1 - C/K."""
    with mp.workprec(53 + (int(mp.log(state["K"] / (state["K"] - state["C"]), 2)) if state["K"] > state["C"] else 0)):
        return state["C"] / state["K"]
