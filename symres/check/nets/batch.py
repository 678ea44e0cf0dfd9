"""The infinitely wide network with an infinite batch of inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .field import Affine, Field, OracleLimit
from .limit import LimitNet


class LimitBatch(LimitNet):
    """A network at n = infinity whose inputs belong to an infinite batch of exchangeable ones.

    Every source is the sum of a part that the whole batch shares and of parts of the single inputs: the average over
    the batch of a linear form is its shared part. One input is added, the last one, a member of the batch like the
    others: what it has in common with the first is what any two members have.

    Args:
        covariance: of the stream over the inputs that are looked at, (inputs, inputs), kernels on the diagonal.
        shared: the covariance of any two members of the batch, between 0 and the kernel.
        resolution: 0 or 1, the finer one.
        differences: <(z_a - z_b)^2>, where the covariance cannot hold its digits.
    """

    def __init__(
        self, covariance: np.ndarray, shared: float, resolution: int = 1, differences: np.ndarray | None = None
    ) -> None:
        covariance = np.asarray(covariance, dtype=float)
        kernel = covariance[0, 0]
        if differences is not None:
            differences = _with_member(np.asarray(differences, dtype=float), 2 * (kernel - shared), 0.0)
        self._common: set[int] = set()
        super().__init__(_with_member(covariance, shared, kernel), resolution, differences)

    def batch(self, u: Any) -> Any:
        """Average over the batch, for every neuron.

        Raises:
            OracleLimit: ``u`` is no linear form: its average is a function of the shared parts that has no formula.
        """
        if not isinstance(u, Field):
            return u if np.ndim(u) == 0 else u[-1]
        if not isinstance(u, Affine):
            raise OracleLimit(
                "an average over a batch at infinite width", "what is averaged is not linear", "rely on simulation"
            )
        same = np.ones(self._inputs)
        shared = {s: c[-1] * same for s, c in u.coefficients.items() if s in self._common}
        return Affine(shared, u.constant[-1] * same)

    def _representative(self, a: int, b: int) -> tuple[int, int]:
        if a == b:
            return 0, 0
        return (a, b) if a < self._inputs - 1 else (a, 0)

    def _drawn(self, covariance: np.ndarray, differences: np.ndarray, sizes: np.ndarray) -> Affine:
        shared = np.full_like(covariance, covariance[0, -1])
        common = super()._drawn(shared, np.zeros_like(shared), np.abs(shared))
        self._common |= common.coefficients.keys()
        return super()._drawn(covariance - shared, differences, sizes).plus(common)


def _with_member(matrix: np.ndarray, mixed: float, own: float) -> np.ndarray:
    size = len(matrix)
    result = np.full((size + 1, size + 1), mixed)
    result[:size, :size] = matrix
    result[size, size] = own
    return result
