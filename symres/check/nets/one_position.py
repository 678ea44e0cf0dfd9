"""What nodes that mix positions do in networks whose inputs have one."""

from __future__ import annotations

from typing import Generic

from ...layers.nodes import N, Scores


class OnePosition(Generic[N]):
    """Networks whose inputs have one position, to which attention is paid alone."""

    positions: float = 1

    def dense(self, u: N, C_W: float, C_b: float, width: float = 1.0) -> N:
        """A dense layer."""
        raise NotImplementedError

    def attend(self, u: N, keys: N, C_W: float, C_b: float, scores: Scores) -> N:
        """Values, and the dense layer behind them."""
        return self.dense(self.dense(keys, C_W, scores.C_bV), 1.0, C_b)

    def mix(self, u: N, C_W: float, C_b: float) -> N:
        """A dense layer: many positions without covariance are as many neurons."""
        return self.dense(u, C_W, C_b)

    def shifted(self, u: N, distance: int) -> N:
        """The neurons themselves."""
        return u

    def pool(self, u: N) -> N:
        """The neurons themselves."""
        return u
