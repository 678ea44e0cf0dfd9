"""Infinitely wide networks with an infinite batch of inputs."""

from __future__ import annotations

import numpy as np

from .limit_net import LimitNet
from .random_field import Affine, Operand, OracleLimit, RandomField, at_input
from .source_law import Rules


class ExchangeableNet(LimitNet):
    """A network at n = infinity whose inputs belong to infinite batches of exchangeable ones.

    Every source is the sum of a part that a whole batch shares and of parts of the single inputs: the average over the
    batch of a linear form is its shared part.
    """

    _common: frozenset[int] = frozenset()  # sources that whole batches share

    def batch(self, u: Operand) -> Operand:
        """Average over the batch, for every neuron.

        Raises:
            OracleLimit: ``u`` is no linear form: its average is a function of the shared parts that has no formula.
        """
        return self._common_part(u, "a batch")

    def _common_part(self, u: Operand, axis: str) -> Operand:
        """What all members share of a linear form."""
        if not isinstance(u, RandomField):
            return at_input(u, -1)
        if not isinstance(u, Affine):
            found = "its argument is not linear"
            raise OracleLimit(f"an average over {axis} at infinite width", found, "rely on simulation")
        same = np.ones(self._inputs)
        shared = {s: c[-1] * same for s, c in u.coefficients.items() if s in self._common}
        return Affine(shared, u.constant[-1] * same)

    def _shared(self, covariance: np.ndarray) -> np.ndarray:
        """The covariance of what the batches of any two inputs share."""
        raise NotImplementedError

    def _drawn(self, covariance: np.ndarray, differences: np.ndarray, sizes: np.ndarray) -> Affine:
        shared = self._shared(covariance)
        apart = np.diag(shared)[:, None] + np.diag(shared) - 2 * shared
        common = super()._drawn(shared, apart, np.abs(shared))
        self._common |= common.coefficients.keys()
        return super()._drawn(covariance - shared, differences - apart, sizes).plus(common)


class LimitBatch(ExchangeableNet):
    """A network with one batch. One input is added, the last one, a member of the batch like the others.

    What it has in common with the first is what any two members have: the covariance ``shared``, between 0 and the
    kernel. Further arguments are those of ``LimitNet``, over the inputs that are looked at.
    """

    def __init__(
        self, covariance: np.ndarray, shared: float, rules: Rules, differences: np.ndarray | None = None
    ) -> None:
        covariance = np.asarray(covariance, dtype=float)
        kernel = covariance[0, 0]
        if differences is not None:
            differences = _with_member(np.asarray(differences, dtype=float), 2 * (kernel - shared), 0.0)
        super().__init__(_with_member(covariance, shared, kernel), rules, differences)

    def _representative(self, a: int, b: int) -> tuple[int, int]:
        if a == b:
            return 0, 0
        return (a, b) if a < self._inputs - 1 else (a, 0)

    def _shared(self, covariance: np.ndarray) -> np.ndarray:
        return np.full_like(covariance, covariance[0, -1])


class CoupledBatch(ExchangeableNet):
    """Two networks whose weights have a correlation below 1, and the same batch in both (see ``CoupledNet``).

    Inputs 0 and 1 are two inputs of the first network, input 2 is a further one in the second network; where it is
    asked for, input 3 is input 0 in the second network.

    Args:
        kernel: of the stream.
        shared: the covariance of any two inputs in one network.
        lost: by how much covariances between networks are smaller.
        fall: 1 minus the correlation of the weights.
        rules: of integration.
        same: whether the last input is the first one.
    """

    def __init__(self, kernel: float, shared: float, lost: float, fall: float, rules: Rules, same: bool) -> None:
        size = 4 if same else 3
        self._across, self._fall = _ACROSS[:size, :size], 0.0  # the stream is as it was given
        halves = np.array([0.0, kernel - shared, kernel - shared + lost, lost])
        apart = halves[np.array(_ALIKE)[:size, :size]]
        super().__init__(kernel - apart, rules, 2 * apart)
        self._fall = fall

    def _representative(self, a: int, b: int) -> tuple[int, int]:
        return _ALIKE[a][b], 0

    def _shared(self, covariance: np.ndarray) -> np.ndarray:
        _, own, across, *_ = covariance[0]
        return np.where(self._across, across, own)

    def _drawn(self, covariance: np.ndarray, differences: np.ndarray, sizes: np.ndarray) -> Affine:
        fallen = self._fall * np.where(self._across, covariance, 0.0)
        return super()._drawn(covariance - fallen, differences + 2 * fallen, sizes)


_ALIKE = ((0, 1, 2, 3), (1, 0, 2, 2), (2, 2, 0, 1), (3, 2, 1, 0))  # of two of the four: the first's partner like them
_ACROSS = np.array([[False, False, True, True]] * 2 + [[True, True, False, False]] * 2)


def _with_member(matrix: np.ndarray, mixed: float, variance: float) -> np.ndarray:
    size = len(matrix)
    result = np.full((size + 1, size + 1), mixed)
    result[:size, :size] = matrix
    result[size, size] = variance
    return result
