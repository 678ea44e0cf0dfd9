"""The recorded run of a model once more, part by part, with the weights that it has now."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ...core.errors import DeclarationError
from ..models.structures import mean_square
from ..models.wording import on_one_line
from ..tracing.run_record import RecordedCall, made_again


class Rerun:
    """Stream values of a recorded run, made anew.

    Weights are looked up when a call is repeated, so that a part may be set between two of them. Batch normalisation
    averages over the inputs of the run, as in train mode.

    Args:
        stream: the tensor that was followed.
        start: the stream value at which derivatives begin; it is cut off from what made it. None without derivatives.
    """

    def __init__(self, stream: torch.Tensor, start: int | None = None) -> None:
        self.values: dict[int, torch.Tensor] = {0: stream.detach()}
        self._start = start
        self._begin(0)

    def run(self, calls: Sequence[RecordedCall]) -> None:
        """Repeat calls, in order.

        Raises:
            DeclarationError: one of them cannot be repeated.
        """
        with torch.set_grad_enabled(self._start is not None):
            for call in calls:
                self._repeat(call)

    def mean_square(self, number: int) -> float:
        """Of the entries of a stream value."""
        return mean_square(self.values[number])

    def spread(self, number: int, axis: int) -> float:
        """The variance of each neuron of a stream value over inputs and positions, on average."""
        neurons = self.values[number].detach().double().movedim(axis, 0).flatten(1)
        return float(neurons.var(1, correction=0).mean())

    def _repeat(self, call: RecordedCall) -> None:
        try:
            results = made_again(call, self.values)
        except (NotImplementedError, RuntimeError) as error:
            reason = on_one_line(error, 160)
            raise DeclarationError(
                f"the operation {call.name} in {call.inside[-1].name or 'the model'}",
                f"symres cannot run it again on its own: {reason}",
                "initialise the module without this operation, or the model before it is compiled",
            ) from error
        for number, made in results:
            self.values[number] = made
            self._begin(number)

    def _begin(self, number: int) -> None:
        if number == self._start:
            self.values[number] = self.values[number].detach().requires_grad_()
