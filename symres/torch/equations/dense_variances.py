"""Dense layers and convolutions among the calls of a model, and the variances of their weights."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from ..models.structures import mean_square
from ..tracing.run_record import CONVOLUTIONS, MATRIX_PRODUCTS, RecordedCall, StreamValue
from .formula_values import DenseUse, NotRead, WeightedCall

DENSE = frozenset({"linear", "addmm", *MATRIX_PRODUCTS, *CONVOLUTIONS})
_CERTAIN = 5.0  # standard errors from which on the mean of weights is not 0


def weighted(call: RecordedCall) -> WeightedCall:
    """Which weights a call multiplies what by.

    Raises:
        NotRead: both factors, or neither, depend on the input; or a kind of convolution that is no dense layer.
    """
    given = call.by_name
    if call.name in CONVOLUTIONS:
        return _convolution(call, CONVOLUTIONS[call.name])
    if call.name == "linear":
        entering, tensor, bias = given["input"], given["weight"], given.get("bias")
        transposed = False
    elif call.name == "addmm":
        if given.get("beta", 1) != 1 or given.get("alpha", 1) != 1:
            raise NotRead(call, "the operation addmm has factors alpha or beta other than 1")
        entering, tensor, bias, transposed = given["mat1"], given["mat2"], given["input"], True
    else:
        entering, tensor, bias, transposed = given["input"], given.get("other", given.get("mat2")), None, True
    if not isinstance(entering, StreamValue) or not isinstance(tensor, torch.Tensor) or tensor.ndim != 2:
        raise NotRead(call, "both factors of a matrix product depend on the input")
    if bias is not None and (not isinstance(bias, torch.Tensor) or bias.ndim != 1):
        raise NotRead(call, f"the operation {call.name} adds a tensor that is not a bias")
    return WeightedCall(call, entering.number, tensor, 1 if transposed else 0, bias, -1)


def _convolution(call: RecordedCall, dimensions: int) -> WeightedCall:
    given = call.by_name
    entering, tensor, bias = given["input"], given["weight"], given.get("bias")
    if not isinstance(entering, StreamValue) or not isinstance(tensor, torch.Tensor):
        raise NotRead(call, "the kernel of a convolution depends on the input")
    if given.get("groups", 1) != 1:
        raise NotRead(call, "a grouped convolution: an output channel sees only some of the input channels")
    size = "x".join(map(str, tensor.shape[2:]))
    remark = "" if set(tensor.shape[2:]) == {1} else f"convolution {size}: fan_in counts channels times {size}"
    if is_padded(call):
        remark += ", which is exact away from the padding"
    return WeightedCall(call, entering.number, tensor, 0, bias, -1 - dimensions, remark)


def is_padded(call: RecordedCall) -> bool:
    """Whether a call is a convolution that sees zeros beyond the border."""
    if call.name not in CONVOLUTIONS:
        return False
    padding = call.by_name.get("padding", 0)
    if isinstance(padding, str):
        return padding != "valid"
    return bool(padding) if isinstance(padding, int) else any(padding)


def share_inside(call: RecordedCall, entering: torch.Tensor) -> float:
    """Which share of the mean square that a convolution would see without zeros beyond the border it does see."""
    if not is_padded(call):
        return 1.0
    ones = torch.ones_like(call.by_name["weight"])
    seen = call.function(**(call.by_name | {"input": entering.detach().square(), "weight": ones, "bias": None}))
    return float(seen.mean() / ones[0].numel()) / mean_square(entering)


def variances(use: DenseUse) -> tuple[float, float]:
    """C_W and C_b of a draw, from the weights of the model.

    Returns:
        ``fan_in*<w^2>`` and ``<b^2>``: second moments, which are variances for the draws of mean 0 that the theory
        has. Factors and summands of a normaliser before it, which differ between neurons, are part of both.
    """
    raw = use.made.fan_in * mean_square(use.weight)
    added = 0.0 if use.bias is None else mean_square(use.bias)
    return raw * use.scale, added + raw * use.shift


def remarks(use: DenseUse) -> list[str]:
    """What about these weights the theory's draws do not have."""
    found = [use.made.remark] if use.made.remark else []
    for kind, tensor in (("weights", use.weight), ("biases", use.bias)):
        if tensor is None or tensor.numel() < 2:
            continue
        numbers = tensor.detach().double()
        mean, error = float(numbers.mean()), float(numbers.std()) / np.sqrt(numbers.numel())
        if abs(mean) > _CERTAIN * error and mean != 0:
            found.append(f"the mean of its {kind} is not 0, which the theory assumes")
    if use.scale != 1 or use.shift != 0:
        found.append("C_W and C_b contain the weights of the norm before it, which differ between neurons")
    return found


def fresh_weights(uses: Iterable[DenseUse], generator: torch.Generator) -> dict[int, torch.Tensor]:
    """Gaussian draws with the second moments of the model's weights, by the identity of the model's tensors."""
    drawn_by_tensor: dict[int, torch.Tensor] = {}
    for use in uses:
        drawn = [(use.made.tensor, use.made.rows, use.weight)]
        if use.made.bias is not None and use.bias is not None:
            drawn.append((use.made.bias, 0, use.bias))
        for tensor, rows, old in drawn:
            draws = torch.randn(old.shape, generator=generator, dtype=torch.float64).mul_(mean_square(old) ** 0.5)
            if use.part is None:
                drawn_by_tensor[id(tensor)] = draws
            else:
                whole = drawn_by_tensor.setdefault(id(tensor), tensor.detach().cpu().double().clone())
                whole.index_copy_(rows, use.made.indices(use.part).cpu(), draws)
    return drawn_by_tensor
