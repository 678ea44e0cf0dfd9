"""Kernels of infinitely wide networks for scikit-learn: Gaussian processes, support vector machines.

Examples:
    >>> from symres.kernels.sklearn import NeuralKernel
    >>> kernel = NeuralKernel("relu", depth=1, kernel="nngp", C_W=1, C_b=1)
    >>> kernel(np.array([[1.0, 1.0]])).round(6).tolist()  # C_b + C_W (C_b + C_W)/2
    [[2.0]]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..core.errors import DeclarationError
from ..core.scalars import number
from ..theory.depth.network import Network
from .kernel_arguments import (
    Declared,
    declared_network,
    function_of,
    loaded_export,
    parameter_values,
    parameters_of,
    require,
    require_inputs,
    require_kernel,
)
from .kernel_gradient import Seed, kernel_and_gradient

require("symres.kernels.sklearn", "sklearn", "sklearn")

from sklearn.gaussian_process.kernels import Hyperparameter, Kernel  # noqa: E402 (its absence has been named before)

Value: TypeAlias = float | Sequence[float] | np.ndarray
Bounds: TypeAlias = str | Sequence[Any]  # "fixed", or the least and the largest value

WIDE = (1e-5, 1e5)
_INPUTS = "input_variances"


class NeuralKernel(Kernel):
    """The kernel of an infinitely wide network.

    Inputs x have kernels ``x.x'/n0``, with input variances v ``sum_d v_d x_d x'_d/n0``. Tangent kernels are those of
    the NTK parametrisation. Their sizes are those of the network: ``ConstantKernel() * NeuralKernel(...)`` scales them,
    ``+ WhiteKernel()`` adds noise.

    Args:
        network: a Network; or a layer, an activation or its name, ``depth`` of which stand behind a read-in
            ``Dense(z)``.
        depth: the number of layers behind the read-in; None for a Network.
        kernel: "tangent", that of gradient descent, or "nngp", that of the Gaussian process.
        C_W: fan_in times the variance of a weight: a number, or one for each layer, the read-in included.
        C_b: variance of a bias, likewise.
        parameters: values of further parameters of the layers and activations, by name.
        input_variances: n0 numbers, one for each feature, by which weights of the read-in that see this feature have
            larger variances (automatic relevance determination); None for 1 that is fixed.
        C_W_bounds: between which values an optimiser looks, or "fixed".
        C_b_bounds: likewise.
        parameters_bounds: likewise by name; what is not named is fixed.
        input_variances_bounds: likewise, a pair for all features or one for each.
        target: the target of the generated code by which kernels are evaluated.

    Hyperparameters are positive, and optimised by their logarithms; what shall be 0 or negative has to be fixed.
    Derivatives in them are exact; for these alone PyTorch is needed.

    Raises:
        DeclarationError: no such network, or a tangent kernel that is infinite for equal inputs; when it is used: a
            parameter without a value, a value or bounds that have no logarithm.
        SymresError: derivatives were asked for, and PyTorch is not installed.

    Examples:
        >>> from sklearn.gaussian_process import GaussianProcessRegressor
        >>> from symres.kernels.sklearn import NeuralKernel
        >>> inputs, targets = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, -1.0])
        >>> process = GaussianProcessRegressor(NeuralKernel("erf", depth=1, kernel="nngp"), optimizer=None)
        >>> process.fit(inputs, targets).predict(inputs).round(6).tolist()
        [1.0, -1.0]
    """

    def __init__(
        self,
        network: Declared = "relu",
        depth: int | None = None,
        *,
        kernel: str = "tangent",
        C_W: Value = 2.0,
        C_b: Value = 0.1,
        parameters: Mapping[str, Value] | None = None,
        input_variances: Sequence[float] | np.ndarray | None = None,
        C_W_bounds: Bounds = WIDE,
        C_b_bounds: Bounds = WIDE,
        parameters_bounds: Mapping[str, Bounds] | None = None,
        input_variances_bounds: Bounds = WIDE,
        target: str = "numpy",
    ) -> None:
        self.network = network
        self.depth = depth
        self.kernel = kernel
        self.C_W = C_W
        self.C_b = C_b
        self.parameters = parameters
        self.input_variances = input_variances
        self.C_W_bounds = C_W_bounds
        self.C_b_bounds = C_b_bounds
        self.parameters_bounds = parameters_bounds
        self.input_variances_bounds = input_variances_bounds
        self.target = target
        if depth is not None or isinstance(network, Network):
            require_kernel(self._network, kernel)

    # ---- what scikit-learn asks for ---------------------------------------------------------------------------------
    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """C_W, C_b, the further parameters that have bounds, and last the input variances, if there are some."""
        bounds = {"C_W": self.C_W_bounds, "C_b": self.C_b_bounds, **(self.parameters_bounds or {})}
        bounds[_INPUTS] = self.input_variances_bounds
        return [_hyperparameter(name, value, bounds.get(name, "fixed")) for name, value in self._numbers.items()]

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the hyperparameters that are not fixed."""
        values = self._numbers
        free = [np.ravel(_floats(values[h.name], h.name)) for h in self.hyperparameters if not h.fixed]
        return np.log(np.concatenate(free)) if free else np.array([])

    @theta.setter
    def theta(self, theta: np.ndarray) -> None:
        free = [h for h in self.hyperparameters if not h.fixed]
        if len(theta) != sum(h.n_elements for h in free):
            found = f"it has {sum(h.n_elements for h in free)} free ones"
            raise DeclarationError(f"{len(theta)} hyperparameters of {self!r}", found, "pass as many logarithms")
        further, start = dict(self.parameters or {}), 0
        for h in free:
            part = np.exp(np.asarray(theta[start : start + h.n_elements], dtype=np.float64))
            value: Value = part if np.ndim(self._numbers[h.name]) else float(part[0])
            start += h.n_elements
            if h.name in ("C_W", "C_b", _INPUTS):
                setattr(self, h.name, value)
            else:
                further[h.name] = value
                self.parameters = further

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """The kernel matrix.

        Args:
            X: inputs of shape (N, n0).
            Y: others, of shape (M, n0); None stands for ``X``.
            eval_gradient: whether to return derivatives as well; of ``X`` with itself only.

        Returns:
            the matrix (N, M), and with ``eval_gradient`` its derivatives in theta, of shape (N, N, len(theta)).
        """
        place, values = require_kernel(self._network, self.kernel), self._checked
        first, second = self._inputs(X, "X"), None if Y is None else self._inputs(Y, "Y")
        if second is not None and second.shape[1] != first.shape[1]:
            found = f"X has {first.shape[1]} features, Y {second.shape[1]}"
            raise DeclarationError("the kernel matrix of X and Y", found, "pass inputs with the same features")
        if not eval_gradient:
            return np.asarray(self._function("dual_kernel_matrix")(first, second, **values)[place])
        if Y is not None:
            found = "it exists for one set of inputs, not two"
            raise DeclarationError("the gradient of a kernel matrix", found, "pass X alone")
        # parameters of the network that are differentiated, in the order of theta
        seeds: list[Seed] = []
        for h in self.hyperparameters:
            if not (h.fixed or h.name == _INPUTS):
                several = bool(np.ndim(self._values[h.name]))
                seeds += [(h.name, place if several else None) for place in range(h.n_elements)]
        is_relevance = any(h.name == _INPUTS and not h.fixed for h in self.hyperparameters)
        matrix, *slopes = kernel_and_gradient(self._network, place, first, values, seeds, in_features=is_relevance)
        # in logarithms: times the values, which the features have already
        slopes[0] = slopes[0] * np.exp(self.theta[: len(seeds)])
        return matrix, np.concatenate(slopes, axis=-1)

    def diag(self, X: Any) -> np.ndarray:
        """The diagonal of the kernel matrix, of shape (N,)."""
        place, values, first = require_kernel(self._network, self.kernel), self._checked, self._inputs(X, "X")
        K = np.einsum("ij,ij->i", first, first) / first.shape[1]
        return np.asarray(self._function("dual_kernel")(K, K, K, **values)[place])

    def is_stationary(self) -> bool:
        """No: it depends on the sizes of the inputs and their angle."""
        return False

    def __repr__(self) -> str:
        settings = {"depth": self.depth, "kernel": self.kernel, **self._numbers}
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in settings.items() if value is not None)
        named = repr(self.network) if isinstance(self.network, str) else str(self.network)
        return f"{type(self).__name__}({named}, {shown})"

    # ---- the network ------------------------------------------------------------------------------------------------
    @property
    def _network(self) -> Network:
        return declared_network(self.network, self.depth)

    @property
    def _values(self) -> dict[str, Value]:
        """The parameters by name; C_W and C_b only of networks that have them."""
        declared = {symbol.name for theory in self._network.layers for symbol in theory.layer.parameters}
        variances = {"C_W": self.C_W, "C_b": self.C_b}
        return {name: value for name, value in variances.items() if name in declared} | dict(self.parameters or {})

    @property
    def _numbers(self) -> dict[str, Value]:
        """The parameters by name, and the input variances."""
        return self._values | ({} if self.input_variances is None else {_INPUTS: self.input_variances})

    def _inputs(self, X: Any, name: str) -> np.ndarray:
        """Inputs as floats, each feature times the root of its variance.

        Raises:
            DeclarationError: they are no inputs, or have another number of features.
        """
        rows = np.asarray(X)
        require_inputs(rows, name)
        rows = rows.astype(np.float64, copy=False)
        if self.input_variances is None:
            return rows
        features, variances = rows.shape[1], np.ravel(_floats(self.input_variances, _INPUTS))
        if variances.shape != (features,) or not (variances >= 0).all():
            asked = f"{len(variances)} input variances for {features} features"
            remedy = f"pass {features}: input_variances=numpy.ones({features})"
            raise DeclarationError(asked, "each feature needs one that is not negative", remedy)
        return rows * np.sqrt(variances)

    @property
    def _checked(self) -> dict[str, float | list[float]]:
        """The parameters of the network as its module takes them."""
        network = self._network
        return parameter_values(parameters_of(loaded_export(network, self.target)), self._values, network)

    def _function(self, name: str) -> Any:
        return function_of(loaded_export(self._network, self.target), name)


def _hyperparameter(name: str, value: Value, bounds: Bounds) -> Hyperparameter:
    """What scikit-learn knows of a parameter.

    Raises:
        DeclarationError: it is to be optimised, and has no logarithm.
    """
    size = int(np.size(value)) if np.ndim(value) else 1
    if isinstance(bounds, str):
        if bounds != "fixed":
            raise DeclarationError(f"the bounds {bounds!r} of {name}", "not a pair", 'pass a pair, or "fixed"')
        return Hyperparameter(name, "numeric", bounds, size)
    try:
        limits = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        limits = np.array([])
    if limits.shape not in ((2,), (1, 2), (size, 2)) or not ((limits > 0) & np.isfinite(limits)).all():
        found = "they are not positive numbers"
        raise DeclarationError(f"the bounds {bounds} of {name}", found, 'pass a pair, or "fixed"')
    if not (np.asarray(_floats(value, name)) > 0).all():
        raise DeclarationError(f"{name} = {value} as a hyperparameter", "it has no logarithm", f'{name}_bounds="fixed"')
    return Hyperparameter(name, "numeric", bounds, size)


def _floats(value: Value, name: str) -> float | list[float]:
    """A parameter as generated modules take it."""
    if isinstance(value, Sequence | np.ndarray) and np.ndim(value):
        return [float(number(entry, name)) for entry in value]
    return float(number(value, name))


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, np.ndarray | list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
