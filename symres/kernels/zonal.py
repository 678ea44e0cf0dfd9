"""Kernels of inputs of one norm: functions of the cosine of their angle, in a table that any depth shares."""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from ..codegen.arrays.feature_rows.kernels_of_rows import _kernels_of_rows, _real
from ..codegen.module import Module
from ..codegen.planning.guards import EXCESS
from ..core.display import Fact, Shown
from ..core.errors import DeclarationError
from ..core.scalars import Number, number
from .declared_network import function_of, loaded, parameters_of, without_tangent_kernel
from .kernel_arguments import Value, parameter_values

Floats = NDArray[np.float64]

FEWEST, MOST = 64, 1 << 17  # pieces
PLACES = 8  # of each piece at which the table is compared with the network
BETWEEN = 1.05  # the error of a spline, t**2*(1 - t)**2 along a piece, is 1.03 times as large between two of them
_PART = 1 << 16  # entries at a time
_SAME = 1e-5  # relative difference of kernels that is rounding of float32 rows, not another norm


class ZonalKernel(Shown):
    """Kernel and tangent kernel of a network for inputs of one norm, as a table in their angle.

    A value costs the same for every depth. Between nodes at equal distances of the angle the table is a cubic spline;
    the pieces are halved until it agrees with the network, at eight places of each piece, to the tolerance.

    Examples:
        >>> module = sr.export(sr.network(["relu"]))
        >>> X = np.array([[1.0, 1.0], [1.0, -1.0]])  # orthogonal inputs
        >>> C, Theta = symres.kernels.ZonalKernel(module, C_W=2, C_b=0).matrix(X)
        >>> C.round(6).tolist()
        [[1.0, 0.31831], [0.31831, 1.0]]
    """

    def __init__(
        self, module: Module | ModuleType, K: Number = 1.0, *, tolerance: float = 1e-10, **parameters: Value
    ) -> None:
        """Make the table.

        Args:
            module: the export of a network, or its module: loaded, or imported from its file.
            K: kernel x.x'/n0 of each input; K > 0.
            tolerance: the largest error of a kernel, relative to its largest value.
            parameters: C_W, C_b and others of the network: numbers, or lists of one for each layer.

        Raises:
            DeclarationError: it is no module of a network; K is not above 0; a parameter is missing or unknown; the
                tangent kernel of equal inputs is infinite; no table of 131072 pieces reaches the tolerance.
        """
        made = loaded(module)
        self._dual_kernel = function_of(made, "dual_kernel")
        self._parameters = parameter_values(parameters_of(made), parameters)
        self.K = float(number(K, "K"))
        if not self.K > 0.0:
            reason = "inputs of kernel 0 have no angle"
            raise DeclarationError(f"a table of kernels at K = {self.K:g}", reason, "pass K > 0")
        pieces = FEWEST
        while True:
            angles = np.linspace(0.0, np.pi, PLACES * pieces + 1)
            both = self._dual_kernel(self.K, self.K, self.K * np.cos(angles), **self._parameters)
            exact = np.stack([np.asarray(kernel, dtype=np.float64) for kernel in both], axis=-1)  # (angles, 2)
            if not np.isfinite(exact).all():
                if np.isfinite(exact[:, 0]).all():
                    raise without_tangent_kernel("a table of the tangent kernel", 'use matrix(..., kernel="nngp")')
                found = "some values are infinite or nan"
                raise DeclarationError(f"a table of kernels at K = {self.K:g}", found, "pass smaller K and parameters")
            self._spline = CubicSpline(angles[::PLACES], exact[::PLACES])
            scale = np.abs(exact).max(axis=0)
            scale[scale == 0.0] = 1.0
            self.error = BETWEEN * float((np.abs(self._spline(angles) - exact).max(axis=0) / scale).max())
            if self.error <= tolerance:
                break
            pieces *= 2
            if not pieces <= MOST:
                found = f"{MOST} pieces leave an error of {self.error:.1g}"
                raise DeclarationError(f"a table of kernels to {tolerance:g}", found, "pass a larger tolerance")

    def _title(self) -> str:
        return "kernels of inputs of one norm, a table over their angle"

    def _facts(self) -> list[Fact]:
        """At which kernel and parameters, and how accurate it is."""
        numbers = {"K": self.K} | self._parameters
        facts = [Fact("", f"{name} = {value}") for name, value in numbers.items()]
        return [*facts, Fact("pieces", str(len(self._spline.x) - 1)), Fact("error", f"{self.error:.1g}")]

    def __call__(self, rho: ArrayLike) -> tuple[Floats, Floats]:
        """Both kernels.

        Args:
            rho: cosines of the angle between two inputs, array_like; what is beyond -1 or 1 by up to 64 ulp of its type
                counts as that.

        Returns:
            (C, Theta): two arrays of its shape, nan for what is no cosine. That tells of an angle below 1e-8 nothing
            but that.
        """
        cosine, excess = _real(rho), EXCESS * _unit(np.asarray(rho))
        cosine = np.where(np.abs(cosine) <= 1.0 + excess, cosine, np.nan)
        found = np.empty((2, *cosine.shape))
        flat, entries = found.reshape(2, -1), cosine.reshape(-1)
        for start in range(0, entries.size, _PART):
            part = slice(start, start + _PART)
            flat[:, part] = self._spline(np.arccos(np.clip(entries[part], -1.0, 1.0))).T
        return found[0], found[1]

    def matrix(self, X1: ArrayLike, X2: ArrayLike | None = None) -> tuple[Floats, Floats]:
        """Both kernels of the rows of feature matrices.

        Args:
            X1: inputs whose kernels x.x/n0 are the table's K, of shape (N, n0).
            X2: others, of shape (M, n0); None stands for X1.

        Returns:
            (C, Theta), of shape (N, M).

        Raises:
            DeclarationError: the norms differ by more than rounding, or their kernel is another one than the table's.

        Examples:
            >>> module = sr.export(sr.network(["relu"]))
            >>> X = np.array([[1.0, 1.0], [1.0, -1.0]])  # orthogonal inputs
            >>> kernel = symres.kernels.ZonalKernel(sr.export(sr.network(["abs"])), C_W=1, C_b=0)
            >>> kernel.matrix(X)[0].round(6).tolist()  # 2/pi
            [[1.0, 0.63662], [0.63662, 1.0]]
        """
        given = [np.asarray(X) for X in (X1, X2) if X is not None]
        K1, K2, C = _kernels_of_rows(X1, X2, np.float64)  # equal rows have equal kernels, to the last bit
        if X2 is None:
            C = np.triu(C) + np.triu(C, 1).T
        every = np.concatenate([K1, K2])
        unit = max(map(_unit, given))
        if not (every > 0.0).all() or every.max() - every.min() > 64 * unit * every.max():
            found = f"their kernels x.x'/n0 go from {every.min():.6g} to {every.max():.6g}"
            remedy = "scale each row to the kernel K of the table, or call the network's module"
            raise DeclarationError("inputs of one norm", found, remedy)
        if abs(every.max() - self.K) > _SAME * self.K:
            found = f"the kernel x.x'/n0 of the rows is {every.max():.6g}"
            remedy = f"make the table with K={every.max():.6g}, or scale the rows"
            raise DeclarationError(f"a table of kernels at K = {self.K:g}", found, remedy)
        return self(C / np.sqrt(np.multiply.outer(K1, K2)))


def _unit(array: np.ndarray) -> float:
    """From 1 to the next number of the type of an array; whole numbers become float64."""
    return float(np.finfo(array.dtype if array.dtype.kind == "f" else np.float64).eps)
