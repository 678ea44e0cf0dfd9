"""Networks of several widths, trained for a few steps: do activations and learning rates depend on the width?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ...core.errors import DeclarationError
from ...core.progress import Progress, reported
from ...core.scalars import whole
from ...core.words import counted
from ..models.call_arguments import CallArguments, Inputs, first_tensor, mean_square
from ..models.choosing import ModuleChoice, choose_modules
from ..models.keeping import passing, required_module, seeded
from ..models.observing import hooked
from ..tracing.recording import inputs_or_guess
from .width_scaling import OUTPUT, WidthScaling

Optimizer = Callable[[nn.Module, float], torch.optim.Optimizer]
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

_INPUTS = 16  # that are made up where none are given
_OPTIMIZERS: Mapping[str, Optimizer] = {
    "sgd": lambda model, rate: torch.optim.SGD(model.parameters(), rate),
    "adam": lambda model, rate: torch.optim.Adam(model.parameters(), rate),
}
_RATES = tuple(2.0**power for power in range(-14, 4))
_SMALL = 1 / 32  # of the best rate at any width: changes are in proportion to the rate there, no network is fitted yet


def coordinate_check(
    build: Callable[[int], nn.Module],
    inputs: Inputs | None = None,
    targets: torch.Tensor | None = None,
    *,
    widths: Sequence[int] = (128, 256, 512, 1024),
    steps: int = 4,
    rates: Sequence[float] = _RATES,
    optimizer: str | Optimizer = "adam",
    loss: Loss = functional.mse_loss,
    modules: ModuleChoice = None,
    seeds: int = 3,
    seed: int = 0,
    progress: bool | Progress = True,
) -> WidthScaling:
    """How sizes of activations after a few steps, and the best learning rate, depend on the width of a model.

    Networks of each width are trained on one batch with each learning rate; the best one has the least loss after the
    last step. Sizes are then watched at a rate that is small for all widths: 1/32 of the smallest of the best.

    Args:
        build: makes a network of a width, with new weights each time it is called.
        inputs: as for ``st.measure``; None: 16 Gaussian ones, for models that begin with an ``nn.Linear``.
        targets: of the loss; None: Gaussian numbers in the shape of the output.
        widths: at least three different ones.
        steps: of training.
        rates: learning rates that are tried, at least three.
        optimizer: "adam" or "sgd", with the same rate for all parameters, or a function of model and rate that makes
            an optimizer, with rates of their own for some layers.
        loss: of output and targets.
        modules: where activations are looked at; None: as for ``st.measure``. What the model returns is added.
        seeds: number of networks of each width.
        seed: of networks and of made up data.
        progress: whether a bar is shown, or a function that is told what is being done and which share is done.

    Returns:
        Exponents of sizes, of changes and of the best rate in the width; a verdict, a table (``frame()``) and a figure
        (``plot()``).

    Raises:
        DeclarationError: an argument cannot be used, or no rate trains a width.

    Examples:
        Adam's steps change the output in proportion to the width:

        >>> from torch.nn import Linear, ReLU, Sequential
        >>> def build(width):
        ...     return Sequential(Linear(8, width), ReLU(), Linear(width, 1))
        >>> rates = [2.0**-power for power in (10, 8, 6, 4)]
        >>> found = st.coordinate_check(build, widths=(64, 128, 256), steps=2, rates=rates, seeds=2, progress=False)
        >>> str(found.verdict), abs(found.change_exponents["output"] - 1) < 0.4
        ('standard', True)
    """
    if isinstance(build, nn.Module):
        remedy = "pass a function of the width that builds one: coordinate_check(lambda width: Net(width), inputs)"
        raise DeclarationError("a coordinate check of one model", "it compares networks of several widths", remedy)
    sizes = sorted({whole(width, "widths", 1) for width in widths})
    grid = sorted({float(rate) for rate in rates})
    if len(sizes) < 3 or len(grid) < 3 or not (grid[0] > 0 and math.isfinite(grid[-1])):
        asked = f"{counted(len(sizes), 'width')} and {counted(len(grid), 'rate')}"
        raise DeclarationError(asked, "exponents and a best rate need three of each", "pass more")
    count, networks, first = whole(steps, "steps", 1), whole(seeds, "seeds", 1), whole(seed, "seed", 0)
    make = _OPTIMIZERS.get(optimizer) if isinstance(optimizer, str) else optimizer
    if make is None:
        raise DeclarationError(f"optimizer={optimizer!r}", "unknown optimizer", "use 'adam', 'sgd' or a function")
    with seeded(first), torch.no_grad():
        model = build(sizes[0])
        required_module(model)
        most = CallArguments.of(inputs).size if inputs is not None else 1
        arguments = inputs_or_guess(model, inputs, most, _INPUTS, "coordinate_check")
        output = first_tensor(arguments.call(model))
        wanted = torch.randn(output.shape).to(output) if targets is None and output is not None else targets
    if wanted is None:
        raise DeclarationError("targets", "the model returns no floating-point numbers", "pass another model")

    def trained(width: int, number: int, rate: float, is_watched: bool = False) -> tuple[float, dict[str, np.ndarray]]:
        """The loss after the last step; of each place entries, sizes at each time, and differences from the start."""
        torch.manual_seed(first + number)
        model = build(width).train()
        places = {**choose_modules(model, modules).modules, OUTPUT: model} if is_watched else {}
        steps, left = _trained(model, arguments, wanted, loss, make(model, rate), count, places)
        numbers = {name: np.array([_sizes(tensor, each[0]) for tensor in each]) for name, each in left.items()}
        return steps[-1], numbers

    shape = len(sizes), networks
    losses = np.full((*shape, len(grid)), math.inf)
    with reported(progress, "coordinate check") as report, seeded(first), torch.enable_grad():
        for row, number in np.ndindex(shape):
            report(f"width {sizes[row]}", (row * networks + number) / losses[..., 0].size)
            losses[row, number] = [trained(sizes[row], number, rate)[0] for rate in grid]
        best = [_best_rate(width, grid, of_width) for width, of_width in zip(sizes, losses, strict=True)]
        rate = _SMALL * min(best)
        watched = [trained(sizes[row], number, rate, is_watched=True)[1] for row, number in np.ndindex(shape)]
    names = tuple(watched[0])
    numbers = np.array([[each[name] for name in names] for each in watched]).reshape(*shape, len(names), count + 1, 3)
    inside = tuple(name for place, name in enumerate(names) if len(np.unique(numbers[:, :, place, :, 0])) > 1)
    tables = numbers[..., 1], numbers[..., 2]
    return WidthScaling(tuple(sizes), names, inside, tuple(grid), rate, tuple(best), losses, *tables)


def _trained(
    model: nn.Module,
    arguments: CallArguments,
    targets: torch.Tensor,
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    steps: int,
    places: Mapping[str, nn.Module],
) -> tuple[list[float], dict[str, list[torch.Tensor]]]:
    """Train a network for a few steps, and look at what leaves modules before each step and behind the last one.

    Returns:
        The loss at each of these times, infinite from where on one is not finite; and what left each place.

    Raises:
        DeclarationError: the model returns no floating-point numbers, or raises an error of its own.
    """
    losses: list[float] = []
    left: dict[str, list[torch.Tensor]] = {}

    def leaving(name: str, module: nn.Module, args: object, kwargs: object, output: object) -> None:
        tensor = first_tensor(output)
        if tensor is not None and len(left.setdefault(name, [])) <= len(losses):  # the first call of several counts
            left[name].append(tensor.detach().clone())

    for step in range(steps + 1):
        optimizer.zero_grad()
        with hooked(places, leaving=leaving), passing(model):
            output = first_tensor(arguments.call(model))
            if output is None:
                asked, remedy = f"the training of {type(model).__name__}", "pass a model with floating-point outputs"
                raise DeclarationError(asked, "it returns no floating-point numbers", remedy)
            value = loss(output, targets)
        if not math.isfinite(float(value.detach())):
            break
        losses.append(float(value.detach()))
        if step < steps:
            value.backward()
            optimizer.step()
    return losses + [math.inf] * (steps + 1 - len(losses)), left


def _sizes(tensor: torch.Tensor, first: torch.Tensor) -> tuple[int, float, float]:
    """The number of entries, their root mean square, and that of what is added to an earlier tensor."""
    return tensor.numel(), math.sqrt(mean_square(tensor)), math.sqrt(mean_square(tensor - first))


def _best_rate(width: int, rates: Sequence[float], losses: np.ndarray) -> float:
    """Where a parabola through the least loss and its neighbours, over the logarithm of the rate, is lowest."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.log(losses).mean(axis=0)
    if not np.isfinite(mean).any():
        raise DeclarationError(f"the training at width {width}", "no loss is finite at any rate", "pass smaller rates")
    mean = np.where(np.isnan(mean), math.inf, mean)
    lowest = int(np.argmin(mean))
    x = np.log(rates)
    if not 0 < lowest < len(rates) - 1 or not np.isfinite(mean[lowest - 1 : lowest + 2]).all():
        return float(rates[lowest])
    bend, slope, _ = np.polyfit(x[lowest - 1 : lowest + 2] - x[lowest], mean[lowest - 1 : lowest + 2], 2)
    return float(math.exp(x[lowest] - slope / (2 * bend))) if bend > 0 else float(rates[lowest])
