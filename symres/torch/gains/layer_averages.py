"""What a gain does to kernels and gradients of a multilayer perceptron, derived and verified."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...activations.activation import Activation
from ...activations.catalogue import Declared, activation
from ...core.errors import CheckRefuted, DeclarationError, NoClosedForm, SymresError
from ...core.scalars import Number
from ...core.words import NumbersWanted
from ...layers.architectures import mlp
from ...numerics.gauss_rules import averages
from ...results.quantity import Quantity
from ...theory.quantities.expectations import derivative, expect
from ...theory.theory import Theory, derive
from ..activations.conversion import Conversion, conversion, evaluate, is_pointwise_module, values_and_gradients

_DIGITS = 16
_VALUES = 1e-9  # relative: averages of values in float64
_SLOPES = 2.0**-21  # of gradients: kernels of PyTorch have constants in float32
_VANISHING = 1e-280  # an average with whose inverse floats still compute
_ROUNDING = 1e-12  # of a variance, relative to the mean square: less than rounding leaves of the difference
_SMALL = 1e-20  # a kernel in the place of 0
# of arguments: values and slopes
Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

_OTHER_PANELS = (-2.9, -1.7, -0.6, 0.7, 1.4, 2.7)  # where panels are divided for another value, with other errors


@dataclass(frozen=True)
class LayerAverages:
    """Averages over preactivations z ~ N(0, K), each checked.

    Args:
        K: the kernel.
        squared: ``<phi(z)^2>``; where it was asked for the variance of phi(z), 0 if it is below rounding.
        slope: ``<phi'(z)^2>``; infinite for a function that jumps, nan if not known.
        growth: of ``squared`` by K; nan if not known.
        deviation: the largest relative difference to the quadrature, its own error included.
    """

    K: float
    squared: float
    slope: float
    growth: float
    deviation: float


@dataclass(frozen=True)
class GainSubject:
    """An activation whose gains are asked for.

    Args:
        activation: without free parameters.
        source: the module that it was read from; None for a name or a formula.
    """

    activation: Activation
    source: Conversion | None

    @cached_property
    def theory(self) -> Theory:
        """Of the multilayer perceptron, ``K' = C_b + C_W <phi(z)^2>_K``."""
        return derive(mlp(self.activation))

    def averages(self, K: float, is_centred: bool = False) -> LayerAverages:
        """The averages at a kernel: derived by symres, and compared with quadrature of the module itself.

        At K = 0, the limit, only the slope is compared, and there is no variance.

        Raises:
            DeclarationError: the activation nearly vanishes at this kernel, so that no float holds its averages, or it
                varies so fast that the quadrature cannot check them.
            CheckRefuted: an average and the quadrature differ.
        """
        maps = self.theory.kernel_map, self.theory.chi_perp, self.theory.chi_parallel
        squared, slope, growth = (_number(quantity, K) for quantity in maps)
        if K and squared <= _VANISHING:
            raise DeclarationError(
                f"the gain of {self.activation.name}",
                f"the activation is almost 0 at these preactivations: <phi(z)^2> is below {_VANISHING:g} at "
                f"K = {K:.6g}, too small for weights in floating-point numbers to compensate",
                "shift or scale the activation so that it differs from 0 near z = 0",
            )
        try:
            checked = quadrature(self._values, K or _SMALL, [float(b) for b in self.activation.breakpoints])
        except SymresError as error:
            raise self._unchecked(f"at K = {K:.6g} {error.found}") from error
        of_squared, of_growth, of_slope, of_mean, of_drift = checked
        rows = [("<phi'(z)^2>", slope, of_slope, squared, _SLOPES)]
        if K:
            rows.append(("<phi(z)^2>", squared, of_squared, squared, _VALUES))
            rows.append(("d<phi(z)^2>/dK", growth, of_growth, squared, _VALUES))
        rows = [row for row in rows if math.isfinite(row[1])]
        deviation = max((self._compared(K, *row) for row in rows), default=math.nan)
        if not is_centred:
            return LayerAverages(K, squared, slope, growth, deviation)
        expected, root = expect(self.activation), math.sqrt(squared)
        mean, drift = _number(expected, K), _number(derivative(expected, "K"), K)
        of_first = self._compared(K, "<phi(z)>", mean, of_mean, root, _VALUES)
        of_second = self._compared(K, "d<phi(z)>/dK", drift, of_drift, root, _VALUES)
        variance = squared - mean**2
        variance = variance if variance > _ROUNDING * squared else 0.0
        # a relative error of <phi^2> is one of the variance, times what the mean takes away
        lost = (squared + 2 * mean**2) / variance if variance else math.inf
        deviation = max(deviation, of_first, of_second) * lost
        return LayerAverages(K, variance, slope, growth - 2 * mean * drift, deviation)

    def _values(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and slopes: of the module as PyTorch computes them in float64, of a formula to 30 digits."""
        if self.source is None:
            pieces = self.activation.pieces
            return evaluate(pieces, points), evaluate(pieces.diff(), points)
        padding = np.zeros(-len(points) % self.source.columns)  # to whole rows of what the module takes
        rows = np.concatenate([points, padding]).reshape(-1, self.source.columns)
        values, gradients = values_and_gradients(self.source.pointwise, rows)
        gradients = np.zeros_like(values) if gradients is None else gradients
        return values.reshape(-1)[: len(points)], gradients.reshape(-1)[: len(points)]

    def _compared(
        self, K: float, what: str, derived: float, integrated: tuple[float, float], size: float, limit: float
    ) -> float:
        """The relative difference, the quadrature's error included; a derivative that vanishes counts by ``size/K``."""
        number, error = integrated
        limit = limit if self.source is None else max(limit, self.source.resolution)
        scale = max(abs(derived), size / K if K else 0.0)
        if abs(number - derived) <= limit * scale < error:
            resolved = f"quadrature resolves {what} at K = {K:.6g} only to {error:.1g}"
            raise self._unchecked(f"{resolved}, too little to check {derived:.12g}")
        deviation = (abs(number - derived) + error) / scale if scale else math.inf
        if not deviation <= limit:
            raise CheckRefuted(
                f"the gain of {self.activation.name}",
                f"{what} at K = {K:.6g} is {derived:.12g}, and quadrature of the module gives {number:.12g}",
                "please report it: no gain is returned that fails its check",
            )
        return deviation

    def _unchecked(self, reason: str) -> DeclarationError:
        remedy = "take a formula that varies less within the width of its preactivations"
        return DeclarationError(f"the gain of {self.activation.name}", reason, remedy)


def subject(what: Declared, parameters: dict[str, Number]) -> GainSubject:
    """The activation of a name, a formula, a module or a function, with numbers for its parameters.

    Raises:
        DeclarationError: it is none, or a parameter has no number.
    """
    if is_pointwise_module(what):
        source = conversion(what)
        return GainSubject(source.activation.subs(**parameters), source)
    phi = activation(what, **parameters)
    if phi.parameters:
        names = tuple(map(str, phi.parameters))
        reason = f"{' and '.join(names)} {'has no number' if len(names) == 1 else 'have no numbers'}"
        raise DeclarationError(f"the gain of {phi.name}", reason, NumbersWanted(names, "gain(..., {})", "1"))
    return GainSubject(phi, None)


def _number(quantity: Quantity, K: float) -> float:
    """The quantity of a layer with C_W = 1 and C_b = 0; nan where it is not known."""
    try:
        values = {"K": K, "C_W": 1, "C_b": 0}
        return float(quantity.evalf(_DIGITS, **{s.name: values[s.name] for s in quantity.symbols}))
    except NoClosedForm:
        return math.nan


def quadrature(function: Function, kernel: float, breaks: Sequence[float]) -> list[tuple[float, float]]:
    """Averages over N(0, kernel), by a rule that knows nothing of how symres derives them.

    Args:
        function: values and slopes.
        kernel: the variance.
        breaks: where the function or its slope jump.

    Returns:
        ``<phi(z)^2>``, its derivative ``<phi(z)^2 (z^2/K - 1)>/(2K)`` in K, which counts jumps in, ``<phi'(z)^2>``,
        jumps left out, ``<phi(z)>`` and its derivative; each with its difference on other panels as its error.

    Raises:
        SymresError: the averages come from where the function leaves the range of doubles, or it varies too fast.
    """
    deviation = float(np.sqrt(kernel))
    marks = np.array(breaks, dtype=float) / deviation

    def means(power: int, has_slope: bool, is_moved: bool) -> list[tuple[float, float]]:
        """The average of a power of the values, or slopes; and its derivative in the kernel."""

        def integrand(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
            with np.errstate(over="ignore", invalid="ignore"):
                return function(deviation * places.ravel())[has_slope].reshape(places.shape) ** power

        moments = [lambda x: (x * x - 1) / (2 * kernel)] if is_moved else []
        estimates = averages(integrand, [marks, [*marks, *_OTHER_PANELS]], moments)
        return [(float(one), float(abs(one - other))) for one, other in estimates]

    estimates = [*means(2, False, True), *means(2, True, False), *means(1, False, True)]
    if not np.isfinite(estimates).all():
        why = "the integrand exceeds the range of doubles where it contributes most, or varies too fast"
        raise SymresError("quadrature in double precision", why, "take a smaller kernel")
    return estimates
