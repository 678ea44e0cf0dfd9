"""The networks that advice is asked for: how deep, how wide, with which inputs."""

from __future__ import annotations

from ...core.errors import DeclarationError
from ...core.scalars import Number, parameter, whole

_MOST = 20_000  # layers or neurons


def require_size(depth: Number, width: Number, inputs_kernel: Number | None) -> tuple[int, int, float | None]:
    """Depth, width and mean square of the inputs as numbers.

    Raises:
        DeclarationError: one of them is none, or networks of that size cannot be tried.
    """
    layers, neurons = whole(depth, "depth", 1), whole(width, "width", 2)
    for name, value in (("depth", layers), ("width", neurons)):
        if value > _MOST:
            raise DeclarationError(f"a {name} of {value}", "it is too large to be tried", f"pass {_MOST} or less")
    mean_square = None if inputs_kernel is None else float(parameter(inputs_kernel, "inputs_kernel"))
    if mean_square is not None and not mean_square > 0:
        raise DeclarationError(f"inputs of mean square {mean_square:g}", "it is not positive", "pass a number > 0")
    return layers, neurons, mean_square
