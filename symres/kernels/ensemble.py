"""What infinitely wide networks predict: while they are trained, when they are, and as a Gaussian process.

A network of infinite width, trained by gradient descent, moves as its linearisation at initialisation does (Lee and
others, arXiv:1902.06720). With the tangent kernel Theta and outputs f_0 of a Gaussian process of kernel K at first,
gradient flow on

    1/(2 m) * sum_i |f(x_i) - y_i|^2 + ridge/(2 m) * |theta - theta_0|^2,        m = number of target values,

has the solution f(x) = f_0(x) + Theta(x, X) a, where a' = -(eta/m) ((Theta + ridge) a + f_0(X) - y): with
A_t = (Theta + ridge)^{-1} (1 - exp(-eta t (Theta + ridge)/m)), a(t) = A_t (y - f_0(X)). Its mean and covariance over
initialisations follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, prod
from types import ModuleType
from typing import NamedTuple

from ..core.errors import DeclarationError
from ..core.scalars import Number, number
from .kernel_arguments import KERNELS, Array, as_array, is_finite, namespace_of, place_of, without_tangent_kernel

Pair = tuple[Array, Array]  # kernel of the Gaussian process and tangent kernel, as dual_kernel_matrix returns them

SINGULAR = 500  # an eigenvalue of so many units in the last place of the largest is rounding


class Outputs(NamedTuple):
    """The outputs of networks at test inputs, over initialisations.

    Args:
        mean: of shape (..., M, outputs), or (..., M) where the targets are a vector.
        covariance: of any output, of shape (..., M, M); outputs are independent of each other, and all have this one.

    Examples:
        >>> K, cross, test = np.diag([2.0, 2.0]), np.array([[1.0, 1.0]]), np.array([[2.0]])
        >>> ensemble = symres.kernels.predict((K, K), (cross, cross), (test, test), np.array([1.0, 3.0]))
        >>> outputs = ensemble.gradient_descent(0.0)
        >>> outputs.mean.tolist(), outputs.covariance.tolist()  # before training
        ([0.0], [[2.0]])
    """

    mean: Array
    covariance: Array


def predict(
    kernel_train_train: Pair,
    kernel_test_train: Pair,
    kernel_test_test: Pair,
    y_train: Array,
    *,
    ridge: Number = 0,
    noise: Number = 0,
    learning_rate: Number = 1,
) -> Ensemble:
    """What infinitely wide networks predict at test inputs, in closed form.

    Args:
        kernel_train_train: kernel and tangent kernel of the N training inputs, each of shape (N, N), as
            ``module.dual_kernel_matrix(X, ...)`` returns them: arrays of NumPy, PyTorch or another library.
        kernel_test_train: those of M test inputs and the training inputs, each of shape (M, N).
        kernel_test_test: those of the test inputs, each of shape (M, M).
        y_train: targets, of shape (N,) or (N, outputs).
        ridge: weight of the squared distance of the parameters to their first values, in the unit of the tangent
            kernel: it is added to its diagonal.
        noise: variance of the noise of the targets, for the posterior of the Gaussian process.
        learning_rate: factor of the time.

    Returns:
        Ensemble, whose methods give mean and covariance.

    Raises:
        DeclarationError: shapes that do not fit, arrays of several libraries, numbers that are negative or not
            finite, or kernels of inputs with themselves that are not symmetric.

    Examples:
        Two training inputs of kernel 2, and a test input of covariance 1 with either:

        >>> K, cross, test = np.diag([2.0, 2.0]), np.array([[1.0, 1.0]]), np.array([[2.0]])
        >>> ensemble = symres.kernels.predict((K, K), (cross, cross), (test, test), np.array([1.0, 3.0]))
        >>> ensemble.gradient_descent().mean.tolist()  # (1 + 3)/2
        [2.0]
    """
    for name, kernels in (
        ("kernel_train_train", kernel_train_train),
        ("kernel_test_train", kernel_test_train),
        ("kernel_test_test", kernel_test_test),
    ):
        if not isinstance(kernels, tuple | list) or len(kernels) != 2:
            remedy = "pass what dual_kernel_matrix returns: kernel and tangent kernel"
            raise DeclarationError(f"predictions from {name}", "it is not a pair of matrices", remedy)
    xp = namespace_of(*kernel_train_train, *kernel_test_train, *kernel_test_test, y_train)
    train, cross, test = (
        tuple(as_array(xp, k) for k in kernels) for kernels in (kernel_train_train, kernel_test_train, kernel_test_test)
    )
    y = as_array(xp, y_train, train[1].dtype)
    inputs, tests = train[0].shape[0], test[0].shape[0]
    for name, found, wanted in (
        *(("kernel_train_train", k.shape, (inputs, inputs)) for k in train),
        *(("kernel_test_train", k.shape, (tests, inputs)) for k in cross),
        *(("kernel_test_test", k.shape, (tests, tests)) for k in test),
        ("y_train", y.shape[:1], (inputs,)),
    ):
        if tuple(found) != wanted:
            raise DeclarationError(f"predictions from {name}", f"its shape is {tuple(found)}", f"pass {wanted}")
    if len(y.shape) > 2 or 0 in y.shape:
        shape = tuple(y.shape)
        raise DeclarationError("predictions from y_train", f"its shape is {shape}", "pass (N,) or (N, outputs)")
    added = {name: float(number(value, name)) for name, value in (("ridge", ridge), ("noise", noise))}
    for name, value in (("ridge", ridge), ("noise", noise)):  # a negative one is refused as it was written
        if added[name] < 0:
            raise DeclarationError(f"{name} = {value}", "it is negative", f"pass {name} >= 0")
    rate = float(number(learning_rate, "learning_rate"))
    if rate <= 0:
        raise DeclarationError(f"the learning rate {learning_rate}", "it is not positive", "pass a rate such as 1")
    return Ensemble(train, cross, test, y, added["ridge"], added["noise"], rate)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Networks of infinite width, over all initialisations; made by ``predict``.

    Args:
        train: kernel and tangent kernel of the training inputs.
        cross: those of test and training inputs.
        test: those of the test inputs.
        y: targets.
        ridge: what is added to the diagonal of the tangent kernel.
        noise: what is added to that of the kernel of the Gaussian process.
        learning_rate: factor of the time.

    Raises:
        DeclarationError: numbers that are not finite, or kernels of inputs with themselves that are not symmetric.

    Examples:
        >>> K, cross, test = np.diag([2.0, 2.0]), np.array([[1.0, 1.0]]), np.array([[2.0]])
        >>> ensemble = symres.kernels.predict((K, K), (cross, cross), (test, test), np.array([1.0, 3.0]))
        >>> ensemble.posterior().covariance.tolist()  # 2 - 1/2 - 1/2
        [[1.0]]
    """

    train: Pair
    cross: Pair
    test: Pair
    y: Array
    ridge: float
    noise: float
    learning_rate: float

    def __post_init__(self) -> None:
        xp = self._library
        squares = (("kernel_train_train", self.train, True), ("kernel_test_test", self.test, True))
        for name, kernels, symmetric in (*squares, ("kernel_test_train", self.cross, False)):
            if symmetric and is_finite(xp, kernels[0]) and not is_finite(xp, kernels[1]):
                remedy = 'pass the nngp kernel in its place too, and ask for posterior("nngp")'
                raise without_tangent_kernel(f"predictions from the tangent kernel of {name}", remedy)
            for place, kernel in enumerate(kernels):
                _require_sound(xp, kernel, f"the {KERNELS[place]} kernel of {name}", symmetric)
        _require_sound(xp, self.y, "y_train", False)

    def gradient_descent(self, t: float | Array = inf) -> Outputs:
        """Outputs after training for a time.

        Args:
            t: the time of gradient flow on the mean squared error (see the module): a number, ``math.inf``, or an array
                of numbers, whose shape leads those of the outputs. Steps of gradient descent with a small learning rate
                eta take the time eta each; t = 0 are the untrained networks.

        Raises:
            DeclarationError: a negative time; or infinite time and a singular tangent kernel, without ``ridge``.

        Examples:
            >>> K, cross, test = np.diag([2.0, 2.0]), np.array([[1.0, 1.0]]), np.array([[2.0]])
            >>> ensemble = symres.kernels.predict((K, K), (cross, cross), (test, test), np.array([1.0, 3.0]))
            >>> mean = ensemble.gradient_descent(1.0).mean  # 2*(1 - exp(-1)): targets are approached at the rate 2/2
            >>> mean.round(6).tolist()
            [1.264241]
        """
        xp = self._library
        times = xp.asarray(t, dtype=self.y.dtype, device=self.y.device)
        if bool(xp.any(times < 0)) or bool(xp.any(xp.isnan(times))):
            raise DeclarationError(f"networks at the time {t}", "training begins at 0", "pass t >= 0, or math.inf")
        rates, vectors = self._tangent_spectrum
        if bool(xp.any(times == inf)):
            _require_regular(
                rates, "networks after infinite time", "tangent", "ridge", self.ridge, ", or a finite time"
            )
        # A_t, an eigenvalue e at a time: (1 - exp(-s e))/e, and s where e vanishes or is a rounding error below 0
        scale = (times * (self.learning_rate / prod(self.y.shape)))[..., None]
        moves = rates > 0
        safe = xp.where(moves, rates, xp.ones_like(rates))
        exponents = xp.where(moves, scale, xp.zeros_like(scale)) * safe
        trained = -xp.expm1(-exponents) / safe
        factors = xp.where(moves, trained, scale)
        projected = self.cross[1] @ vectors
        weights = (projected * factors[..., None, :]) @ vectors.mT  # Theta(x, X) A_t
        mixed = weights @ self.cross[0].mT
        covariance = self.test[0] - mixed - mixed.mT + weights @ self.train[0] @ weights.mT
        return Outputs(weights @ self.y, covariance)

    def posterior(self, kernel: str = "nngp") -> Outputs:
        """The posterior of a Gaussian process: of networks of which all but the last layer is random, at ``nngp``.

        Args:
            kernel: "nngp", the kernel of the networks at initialisation, with ``noise``; or "tangent", the tangent
                kernel as that of a process, with ``ridge``: its mean is that of ``gradient_descent()``.

        Raises:
            DeclarationError: there is no such kernel, or it is singular, without ``noise`` or ``ridge``.

        Examples:
            >>> K, cross, test = np.diag([2.0, 2.0]), np.array([[1.0, 1.0]]), np.array([[2.0]])
            >>> ensemble = symres.kernels.predict((K, K), (cross, cross), (test, test), np.array([1.0, 3.0]))
            >>> ensemble.posterior().mean.tolist()
            [2.0]
        """
        place = place_of(kernel)
        rates, vectors = (self._kernel_spectrum, self._tangent_spectrum)[place]
        name, value = (("noise", self.noise), ("ridge", self.ridge))[place]
        _require_regular(rates, f"the posterior of the kernel {kernel}", KERNELS[place], name, value)
        projected = self.cross[place] @ vectors
        weights = (projected / rates) @ vectors.mT
        return Outputs(weights @ self.y, self.test[place] - weights @ self.cross[place].mT)

    @property
    def _library(self) -> ModuleType:
        return namespace_of(self.y)

    @cached_property
    def _kernel_spectrum(self) -> Pair:
        """Eigenvalues and eigenvectors of the kernel of the training inputs with noise."""
        values, vectors = self._library.linalg.eigh(self.train[0])
        return values + self.noise, vectors

    @cached_property
    def _tangent_spectrum(self) -> Pair:
        """Those of the tangent kernel with the ridge."""
        values, vectors = self._library.linalg.eigh(self.train[1])
        return values + self.ridge, vectors


def _require_sound(xp: ModuleType, values: Array, name: str, symmetric: bool) -> None:
    """Refuse numbers that are not finite, and matrices that are symmetric by no rounding: half of one would be used."""
    asked = f"predictions from {name}"
    if not is_finite(xp, values):
        raise DeclarationError(asked, "it has entries that are nan or infinite", "leave these inputs out")
    if symmetric:
        apart, largest = float(xp.max(xp.abs(values - values.mT))), float(xp.max(xp.abs(values)))
        if apart > float(xp.finfo((1.0 * values).dtype).eps) ** 0.5 * largest:
            found = f"it is not symmetric: entries differ from their mirror images by up to {apart:.2g}"
            raise DeclarationError(asked, found, "pass what dual_kernel_matrix(X) returns")


def _require_regular(values: Array, asked: str, kernel: str, name: str, present: float, otherwise: str = "") -> None:
    """Refuse to divide by eigenvalues of a kernel that are rounding errors.

    ``name`` is what is added to the diagonal of the kernel, ``present`` how much; ``otherwise`` is a further remedy.
    """
    least, largest = float(values.min()), float(values.max())
    needed = SINGULAR * float(namespace_of(values).finfo(values.dtype).eps) * largest
    if not least > needed:
        found = f"the {kernel} kernel of the training inputs is singular: eigenvalues from {least:.2g} to {largest:.2g}"
        enough = present + 2 * (needed - least)  # with a margin: what is printed is rounded
        said = f"pass {name}={enough:.1e} or more" + f" in the place of {present:g}" * bool(present)
        raise DeclarationError(asked, found, said + otherwise)
