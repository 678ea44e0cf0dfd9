"""Kernels of infinitely wide networks for GPyTorch and BoTorch, with parameters that are learned.

Examples:
    >>> from symres.kernels.gpytorch import NeuralKernel
    >>> kernel = NeuralKernel("relu", depth=1, kernel="nngp", C_W=1.0, C_b=1.0)
    >>> round(kernel(torch.ones(1, 2)).to_dense().item(), 6)  # C_b + C_W (C_b + C_W)/2
    2.0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..core.errors import DeclarationError
from ..core.scalars import Number, number
from ..theory.depth.network import Network
from .kernel_arguments import (
    Declared,
    declared_network,
    function_of,
    loaded_export,
    parameter_values,
    parameters_of,
    require,
    require_interval,
    require_kernel,
)
from .kernel_gradient import entry_derivatives, threads_for

require("symres.kernels.gpytorch", "gpytorch", "torch", "gpytorch")

import torch  # noqa: E402 (its absence has been named before)
from gpytorch.constraints import Interval, Positive  # noqa: E402
from gpytorch.kernels import Kernel  # noqa: E402
from gpytorch.priors import Prior  # noqa: E402

_INPUTS = "input_variances"
_EQUAL = 1e-12  # covariances of equal inputs differ from their kernel by rounding alone


def _parameter(name: str, meaning: str) -> Any:
    """A property that reads and sets a parameter of a kernel."""
    return property(
        lambda kernel: kernel.value(name), lambda kernel, value: kernel.set_values(**{name: value}), None, meaning
    )


class NeuralKernel(Kernel):
    """The kernel of an infinitely wide network.

    Inputs x have kernels ``x.x'/n0``, with input variances v ``sum_d v_d x_d x'_d/n0``. Tangent kernels are those of
    the NTK parametrisation. Their sizes are those of the network: ``ScaleKernel(NeuralKernel(...))`` scales them. All
    is computed in float64, and returned in the type of the inputs. Its own parameters are ``raw_C_W``, ``raw_C_b`` and
    ``raw_`` with the name of a further one, of shape ``(*batch_shape, 1, 1)``, and with ``ard_num_dims=n0``
    ``raw_input_variances`` of shape ``(*batch_shape, 1, n0)``, 1 at first; ``requires_grad_(False)`` fixes one.

    Args:
        network: a Network; or a layer, an activation or its name, ``depth`` of which stand behind a read-in
            ``Dense(z)``.
        depth: the number of layers behind the read-in; None for a Network.
        kernel: "tangent", that of gradient descent, or "nngp", that of the Gaussian process.
        C_W: fan_in times the variance of a weight, in all layers, at first.
        C_b: variance of a bias, likewise.
        parameters: first values of further parameters of the layers and activations, by name.
        input_variances: first values of the input variances, n0 numbers; then ``ard_num_dims`` may be left out.
        constraints: by name, also of C_W, C_b and input_variances; ``Positive()`` for what is not named.
        priors: by name, likewise.
        options: ``ard_num_dims``, ``batch_shape``, ``active_dims`` and others of ``gpytorch.kernels.Kernel``.

    Raises:
        DeclarationError: no such network, a tangent kernel that is infinite for equal inputs, a parameter without a
            value, a value that its constraint excludes, or a constraint that allows a sign with which the parameter is
            not declared.

    Examples:
        >>> from symres.kernels.gpytorch import NeuralKernel
        >>> kernel = NeuralKernel("abs", depth=1, kernel="nngp", C_W=1.0, C_b=0.5)
        >>> round(kernel.C_W.item(), 6), round(kernel.C_b.item(), 6)
        (1.0, 0.5)
        >>> kernel(torch.eye(2)).to_dense().requires_grad
        True
    """

    is_stationary = False
    has_lengthscale = False

    def __init__(
        self,
        network: Declared = "relu",
        depth: int | None = None,
        *,
        kernel: str = "tangent",
        C_W: Number = 2.0,
        C_b: Number = 0.1,
        parameters: Mapping[str, Number] | None = None,
        input_variances: Sequence[Number] | None = None,
        constraints: Mapping[str, Interval] | None = None,
        priors: Mapping[str, Prior] | None = None,
        **options: Any,
    ) -> None:
        if input_variances is not None:
            options.setdefault("ard_num_dims", len(input_variances))
        super().__init__(**options)
        self.network: Network = declared_network(network, depth)
        self.place = require_kernel(self.network, kernel)
        module = loaded_export(self.network, "torch")
        self.names = parameters_of(module)
        numbers: dict[str, Number] = {"C_W": C_W, "C_b": C_b}
        numbers = {name: v for name, v in numbers.items() if name in self.names} | dict(parameters or {})
        values: dict[str, Any] = dict(parameter_values(self.names, numbers, self.network))
        if self.ard_num_dims is not None:
            first = [1.0] * self.ard_num_dims if input_variances is None else input_variances
            values[_INPUTS] = [float(number(v, _INPUTS)) for v in first]
            if len(first) != self.ard_num_dims:
                asked = f"{len(first)} input variances, ard_num_dims={self.ard_num_dims}"
                raise DeclarationError(asked, "each feature needs one", "leave ard_num_dims out")
        for role, named in (("constraint", constraints or {}), ("prior", priors or {})):
            for name in named:
                if name not in values:
                    remedy = f"choose among {', '.join(values)}"
                    raise DeclarationError(f"a {role} of {name}", "the network lacks this parameter", remedy)
        for name in values:
            size = self.ard_num_dims if name == _INPUTS else 1
            self.register_parameter(f"raw_{name}", torch.nn.Parameter(torch.zeros(*self.batch_shape, 1, size)))
            constraint = (constraints or {}).get(name) or Positive()
            low, high = float(constraint.lower_bound.min()), float(constraint.upper_bound.max())
            require_interval(f"a constraint of {name}", self.network, name, low, high)
            self.register_constraint(f"raw_{name}", constraint)
            self._set(torch.as_tensor(values[name]), name)
            prior = (priors or {}).get(name)
            if prior is not None:
                get, put = partial(NeuralKernel.value, name=name), partial(NeuralKernel._set, name=name)
                self.register_prior(f"{name}_prior", prior, get, put)

    def value(self, name: str) -> torch.Tensor:
        """A parameter by name, of shape ``(*batch_shape, 1, 1)``; input variances have ``(*batch_shape, 1, n0)``.

        Raises:
            DeclarationError: the kernel has no input variances.
        """
        if name == _INPUTS and self.ard_num_dims is None:
            raise DeclarationError(_INPUTS, "it has no input variances", "pass ard_num_dims, the number of features")
        return getattr(self, f"raw_{name}_constraint").transform(getattr(self, f"raw_{name}"))

    def _set(self, value: torch.Tensor | float, name: str) -> None:
        raw, constraint = getattr(self, f"raw_{name}"), getattr(self, f"raw_{name}_constraint")
        wanted = torch.as_tensor(value, dtype=raw.dtype, device=raw.device)
        if not constraint.check(wanted):
            found = f"its constraint is {constraint}"
            raise DeclarationError(f"{name} = {wanted.tolist()}", found, "pass a value that it allows, or constraints=")
        self.initialize(**{f"raw_{name}": constraint.inverse_transform(wanted)})

    C_W = _parameter("C_W", "fan_in times the variance of a weight.")
    C_b = _parameter("C_b", "The variance of a bias.")
    input_variances = _parameter(_INPUTS, "The variance of each feature, of shape ``(*batch_shape, 1, n0)``.")

    def set_values(self, /, **values: torch.Tensor | float) -> NeuralKernel:
        """Set parameters by name, further ones too.

        Raises:
            DeclarationError: the network has no such parameter, or its constraint excludes the value.
        """
        choice = ", ".join([*self.names, *[_INPUTS] * (self.ard_num_dims is not None)])
        for name, value in values.items():
            if name not in choice.split(", "):
                raise DeclarationError(f"{name} = {value}", "the network lacks this parameter", f"set one of {choice}")
            self._set(value, name)
        return self

    def forward(
        self, x1: torch.Tensor, x2: torch.Tensor, diag: bool = False, last_dim_is_batch: bool = False, **options: Any
    ) -> torch.Tensor:
        """The kernel matrix of the rows of ``x1`` and ``x2``, in every batch.

        Args:
            x1: inputs of shape (..., N, n0).
            x2: others, of shape (..., M, n0).
            diag: whether to return the kernels of each row of ``x1`` and the same row of ``x2`` only.
            last_dim_is_batch: refused: features that are batches of their own are no inputs of a network.
            options: what other kernels take.

        Returns:
            of shape (..., N, M), or (..., N) with ``diag``.

        Raises:
            DeclarationError: ``last_dim_is_batch`` was asked for.
        """
        if last_dim_is_batch:
            found = "a network sees all features together"
            raise DeclarationError("a neural kernel of each feature", found, "use one for each, with active_dims")
        kind, features = torch.promote_types(x1.dtype, x2.dtype), x1.shape[-1]
        first, second = x1.to(torch.float64), x2.to(torch.float64)
        if self.ard_num_dims is not None:
            root = self.input_variances.to(torch.float64).sqrt()
            first, second = first * root, second * root
        values = {name: self.value(name).to(torch.float64) for name in self.names}
        function = function_of(loaded_export(self.network, "torch"), "dual_kernel")

        def evaluate(K1: torch.Tensor, K2: torch.Tensor, C: torch.Tensor, *entries: torch.Tensor) -> torch.Tensor:
            return function(K1, K2, C, **dict(zip(self.names, entries, strict=True)))[self.place]

        if diag:
            K1, K2 = ((x * x).sum(-1) / features for x in (first, second))
            C = (first * second).sum(-1) / features
            return evaluate(K1, K2, C, *(value.squeeze(-1) for value in values.values())).to(kind)
        batch = torch.broadcast_shapes(first.shape[:-2], second.shape[:-2])
        first, second = (x.expand(*batch, *x.shape[-2:]) for x in (first, second))
        with threads_for(first.shape[:-1].numel() * second.shape[-2]):
            arguments = [*_products(first, second), *values.values()]
            if not torch.is_grad_enabled():
                arguments = [a.detach() for a in arguments]
            symmetric = not (arguments[0].requires_grad or arguments[1].requires_grad) and torch.equal(first, second)
            return _Entries.apply(evaluate, symmetric, *arguments).to(kind)


class _Entries(torch.autograd.Function):
    """A matrix of entries that depend on entries, which keeps their derivatives in place of the graph."""

    @staticmethod
    def forward(
        ctx: Any, evaluate: Callable[..., torch.Tensor], symmetric: bool, *arguments: torch.Tensor
    ) -> torch.Tensor:
        matrix, slopes = entry_derivatives(evaluate, arguments, ctx.needs_input_grad[2:], symmetric)
        ctx.evaluate, ctx.depends = evaluate, [slope is not None for slope in slopes]
        ctx.save_for_backward(*arguments, *(slope for slope in slopes if slope is not None))
        return matrix

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (gradient,) = gradients
        arguments = ctx.saved_tensors[: len(ctx.depends)]
        if torch.is_grad_enabled():  # this derivative is to be differentiated too
            needed = [a for a, depends in zip(arguments, ctx.depends, strict=True) if depends]
            derivatives = torch.autograd.grad(
                ctx.evaluate(*arguments), needed, gradient, create_graph=True, allow_unused=True
            )
        else:
            slopes = ctx.saved_tensors[len(ctx.depends) :]
            shapes = [a.shape for a, depends in zip(arguments, ctx.depends, strict=True) if depends]
            with threads_for(gradient.numel()):
                derivatives = tuple(
                    (gradient * slope).sum_to_size(shape) for slope, shape in zip(slopes, shapes, strict=True)
                )
        each = iter(derivatives)
        return None, None, *(next(each) if depends else None for depends in ctx.depends)


def _products(first: torch.Tensor, second: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Kernels and covariances of inputs of shapes (..., N, n0) and (..., M, n0).

    Equal inputs have equal kernels and covariances to the last bit, whatever the order of summation: angles between
    nearly equal inputs are roots of the difference.
    """
    features = first.shape[-1]
    K1, K2 = ((x * x).sum(-1) / features for x in (first, second))
    C = first @ second.mT / features
    with torch.no_grad():
        near = (C - K1[..., :, None]).abs() <= _EQUAL * K1[..., :, None]
        near &= (C - K2[..., None, :]).abs() <= _EQUAL * K2[..., None, :]
        *batch, i, j = near.nonzero(as_tuple=True)
        equal = (first[(*batch, i)] == second[(*batch, j)]).all(-1)
        *batch, i, j = (places[equal] for places in (*batch, i, j))
        exact, same = C.clone(), K2.clone()
        exact[(*batch, i, j)] = K1[(*batch, i)]
        same[(*batch, j)] = K1[(*batch, i)]
    K2, C = K2 + (same - K2).detach(), C + (exact - C).detach()  # as numbers: gradients are those of the products
    return K1[..., :, None], K2[..., None, :], C
